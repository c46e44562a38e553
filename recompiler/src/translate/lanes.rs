//! What reads other lanes.

use super::variables::Variable;
use super::{Taken, Translator};
use crate::binary::Stage;
use crate::decode::{Form, Operand, op};
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

/// Mark on a shuffle that stays within groups of four lanes: the selectors are in the low byte.
pub(crate) const QUAD: u64 = 0x100;

impl Translator<'_> {
    pub(super) fn lanes(&mut self) -> Taken {
        let instruction = self.instruction;
        match instruction.opcode() {
            op::V_READFIRSTLANE_B32 => {
                let (value, exec) = (self.raw(instruction.src[0])?, self.v.read(Variable::Exec));
                let value = self.u(Op::ReadFirstLane, &[value, exec]);
                self.set_scalars(instruction.dst, &[value])?;
            }
            op::V_READLANE_B32 => {
                let (value, lane) = (self.all_lanes(instruction.src[0])?, self.raw(instruction.src[1])?);
                let mask = self.v.word(self.wave - 1);
                let lane = self.u(Op::And, &[lane, mask]);
                let value = self.u(Op::ReadLane, &[value, lane]);
                self.set_scalars(instruction.dst, &[value])?;
            }
            op::V_WRITELANE_B32 => {
                let (value, lane) = (self.raw(instruction.src[0])?, self.raw(instruction.src[1])?);
                let mask = self.v.word(self.wave - 1);
                let lane = self.u(Op::And, &[lane, mask]);
                let own = self.lane_id();
                let here = self.b(Op::Equal, &[own, lane]);
                let Operand::Vector(register) = instruction.dst else {
                    return Ok(false);
                };
                // Written whether the lane is on or off.
                let old = self.v.read(Variable::Vector(register));
                let value = self.select(here, value, old);
                self.v.write(Variable::Vector(register), value);
            }
            op::V_MBCNT_LO_U32_B32 | op::V_MBCNT_HI_U32_B32 => {
                let (mask, base) = (self.raw(instruction.src[0])?, self.raw(instruction.src[1])?);
                let count = self.lanes_below(mask, instruction.opcode() == op::V_MBCNT_HI_U32_B32);
                let value = self.u(Op::Add, &[count, base]);
                self.set_vector(instruction.dst, 0, value)?;
            }
            op::V_PERMLANE16_B32 | op::V_PERMLANEX16_B32 => {
                let value = self.all_lanes(instruction.src[0])?;
                let (first, second) = (self.raw(instruction.src[1])?, self.raw(instruction.src[2])?);
                let own = self.lane_id();
                let [seven, eight, four, sixteen] = [7, 8, 4, 16].map(|bits| self.v.word(bits));
                let in_row = self.u(Op::And, &[own, seven]);
                let shift = self.u(Op::Mul, &[in_row, four]);
                let upper = self.u(Op::And, &[own, eight]);
                let zero = self.v.word(0);
                let is_upper = self.b(Op::NotEqual, &[upper, zero]);
                let table = self.select(is_upper, second, first);
                let selector = self.u(Op::FieldU, &[table, shift, four]);
                let rest = self.v.word(!15);
                let row = self.u(Op::And, &[own, rest]);
                let mut lane = self.u(Op::Or, &[row, selector]);
                if instruction.opcode() == op::V_PERMLANEX16_B32 {
                    lane = self.u(Op::Xor, &[lane, sixteen]);
                }
                let fetch_inactive = instruction.modifiers.op_sel & 1 != 0;
                let bound_control = instruction.modifiers.op_sel & 2 != 0;
                let old = if bound_control {
                    zero
                } else {
                    self.raw(instruction.dst)?
                };
                let active = if fetch_inactive {
                    self.v.truth(true)
                } else {
                    self.v.read(Variable::Exec)
                };
                let value = self
                    .v
                    .emit(Op::Shuffle, Type::U32, &[value, old, lane, active], 0);
                self.set_vector(instruction.dst, 0, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Number of this lane in its wave.
    pub(super) fn lane_id(&mut self) -> Value {
        if self.stage() == Stage::Compute {
            let index = self.v.emit(Op::LocalIndex, Type::U32, &[], 0);
            let mask = self.v.word(self.wave - 1);
            return self.u(Op::And, &[index, mask]);
        }
        self.v.emit(Op::LaneId, Type::U32, &[], u64::from(self.wave))
    }

    /// Set bits of one half of a mask that stand for lanes below this one.
    fn lanes_below(&mut self, mask: Value, high: bool) -> Value {
        let own = self.lane_id();
        let limit = self.v.word(32);
        let in_low = self.u(Op::MinU, &[own, limit]);
        let below = if high {
            self.u(Op::Sub, &[own, in_low])
        } else {
            in_low
        };
        if self.v.function.constant(mask) == Some(0xffff_ffff) {
            return below;
        }
        let zero = self.v.word(0);
        // A field of `below` bits from bit 0; 32 bits are the whole word.
        let field = self.u(Op::FieldU, &[mask, zero, below]);
        self.u(Op::BitCount, &[field])
    }

    /// The first source of a DPP instruction: the value of the lane that the control selects.
    pub(super) fn cross_lane_source(&mut self, value: Value) -> Result<Value, Reason> {
        let zero = self.v.word(0);
        // A source lane outside the row gives 0 under bound control; without, the lane is not written at all.
        let mut exists = self.v.truth(true);
        let (lane, quad, fetch_inactive) = match self.instruction.form {
            Form::Dpp16(dpp) if dpp.control < 0x100 => {
                // The control says it all: no lane number is needed.
                (zero, QUAD | u64::from(dpp.control), dpp.fetch_inactive)
            }
            Form::Dpp16(dpp) => {
                let (lane, valid) = self.dpp_lane(dpp.control)?;
                exists = valid;
                (lane, 0, dpp.fetch_inactive)
            }
            Form::Dpp8 {
                selectors,
                fetch_inactive,
            } => {
                let own = self.lane_id();
                let [seven, three, table, rest] = [7, 3, selectors, !7].map(|bits| self.v.word(bits));
                let in_group = self.u(Op::And, &[own, seven]);
                let shift = self.u(Op::Mul, &[in_group, three]);
                let selector = self.u(Op::FieldU, &[table, shift, three]);
                let group = self.u(Op::And, &[own, rest]);
                (self.u(Op::Or, &[group, selector]), 0, fetch_inactive)
            }
            _ => return Err(Reason::Internal(String::from("no DPP control"))),
        };
        let active = if fetch_inactive {
            self.v.truth(true)
        } else {
            self.v.read(Variable::Exec)
        };
        let value = self
            .v
            .emit(Op::Shuffle, Type::U32, &[value, zero, lane, active], quad);
        Ok(self.select(exists, value, zero))
    }

    /// Source lane of a row control, and whether the lane exists.
    fn dpp_lane(&mut self, control: u16) -> Result<(Value, Value), Reason> {
        let own = self.lane_id();
        let count = self.v.word(u32::from(control & 15));
        let [fifteen, rest] = [15, !15].map(|bits| self.v.word(bits));
        let in_row = self.u(Op::And, &[own, fifteen]);
        let row = self.u(Op::And, &[own, rest]);
        let always = self.v.truth(true);
        Ok(match control {
            0x101..=0x10f => {
                let lane = self.u(Op::Add, &[own, count]);
                let shifted = self.u(Op::Add, &[in_row, count]);
                let valid = self.b(Op::LessEqualU, &[shifted, fifteen]);
                (lane, valid)
            }
            0x111..=0x11f => {
                let lane = self.u(Op::Sub, &[own, count]);
                let valid = self.b(Op::LessEqualU, &[count, in_row]);
                (lane, valid)
            }
            0x121..=0x12f => {
                let turned = self.u(Op::Sub, &[in_row, count]);
                let turned = self.u(Op::And, &[turned, fifteen]);
                (self.u(Op::Or, &[row, turned]), always)
            }
            0x140 => (self.u(Op::Xor, &[own, fifteen]), always),
            0x141 => {
                let seven = self.v.word(7);
                (self.u(Op::Xor, &[own, seven]), always)
            }
            0x150..=0x15f => (self.u(Op::Or, &[row, count]), always),
            0x160..=0x16f => (self.u(Op::Xor, &[own, count]), always),
            _ => return Err(Reason::Unsupported("this DPP control")),
        })
    }

    /// Lanes that a DPP instruction writes beside EXEC: rows and banks of the masks, and, without bound control,
    /// lanes whose source lane exists and is on. `None` is all.
    pub(super) fn cross_lane_writes(&mut self) -> Result<Option<Value>, Reason> {
        let Form::Dpp16(dpp) = self.instruction.form else {
            return Ok(None);
        };
        let mut writes = None;
        let mut and = |this: &mut Self, truth: Value| {
            writes = Some(match writes {
                Some(old) => this.b(Op::LAnd, &[old, truth]),
                None => truth,
            });
        };
        let zero = self.v.word(0);
        for (mask, shift) in [(dpp.row_mask, 4), (dpp.bank_mask, 2)] {
            if mask != 15 {
                let own = self.lane_id();
                let operands = [own, self.v.word(shift), self.v.word(2)];
                let index = self.u(Op::FieldU, &operands);
                let mask = self.v.word(u32::from(mask));
                let one = self.v.word(1);
                let bit = self.u(Op::Shr, &[mask, index]);
                let bit = self.u(Op::And, &[bit, one]);
                let truth = self.b(Op::NotEqual, &[bit, zero]);
                and(self, truth);
            }
        }
        if !dpp.bound_control {
            let (lane, quad) = if dpp.control < 0x100 {
                (zero, QUAD | u64::from(dpp.control))
            } else {
                let (lane, valid) = self.dpp_lane(dpp.control)?;
                if self.v.function.constant(valid) != Some(1) {
                    and(self, valid);
                }
                (lane, 0)
            };
            let exec = self.v.read(Variable::Exec);
            if !dpp.fetch_inactive && self.v.function.constant(exec) != Some(1) {
                let (word, always) = (self.truth_word(exec), self.v.truth(true));
                let there = self
                    .v
                    .emit(Op::Shuffle, Type::U32, &[word, zero, lane, always], quad);
                let truth = self.b(Op::NotEqual, &[there, zero]);
                and(self, truth);
            }
        }
        Ok(writes)
    }
}
