//! What reads other lanes: subgroup operations where the device's subgroup is the guest's wave.

use super::{Emitted, Emitter};
use crate::binary::Stage;
use crate::ir::{Inst, Op, Type};
use crate::refusal::Reason;
use crate::translate::lanes::QUAD;
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as S, Scope, StorageClass, Word};

impl Emitter<'_> {
    pub(super) fn wave(&self) -> u32 {
        self.program.stage.wave_size()
    }

    /// Whether the device's subgroups are the guest's waves.
    fn fits(&self) -> bool {
        self.program.profile.subgroup_size == self.wave()
    }

    /// Number of the lane in its wave.
    pub(super) fn lane_number(&mut self) -> Emitted {
        let word = self.u32();
        if self.program.stage.stage() == Stage::Compute {
            let (index, mask) = (self.local_index()?, self.word(self.wave() - 1));
            return self.op(S::BitwiseAnd, word, &[index, mask]);
        }
        self.subgroup_lane()
    }

    fn subgroup_lane(&mut self) -> Emitted {
        use super::stage::Input;
        use rspirv::spirv::{BuiltIn, Decoration};
        let word = self.u32();
        self.need("GroupNonUniform", Capability::GroupNonUniform);
        let key = (Input::BuiltIn, BuiltIn::SubgroupLocalInvocationId as u32);
        let variable = match self.inputs.get(&key) {
            Some(&variable) => variable,
            None => {
                let variable = self.global_variable(word, StorageClass::Input);
                let builtin = Operand::BuiltIn(BuiltIn::SubgroupLocalInvocationId);
                self.b.decorate(variable, Decoration::BuiltIn, [builtin]);
                if self.program.stage.stage() == Stage::Pixel {
                    self.b.decorate(variable, Decoration::Flat, Vec::new());
                }
                self.inputs.insert(key, variable);
                variable
            }
        };
        self.op(S::Load, word, &[variable])
    }

    pub(super) fn subgroup(&mut self, opcode: S, ty: Word, operands: &[Word]) -> Emitted {
        let scope = self.word(Scope::Subgroup as u32);
        let mut list = vec![Operand::IdScope(scope)];
        list.extend(operands.iter().map(|&id| Operand::IdRef(id)));
        self.op_with(opcode, ty, list)
    }

    pub(super) fn lanes(&mut self, inst: &Inst) -> Emitted {
        let x: Vec<Word> = inst.operands.iter().map(|operand| self.id(*operand)).collect();
        let (word, truth) = (self.u32(), self.truth());
        match inst.op {
            Op::LaneId => {
                if !self.fits() {
                    return Err(Reason::Device(
                        "subgroups as wide as the guest's waves, which this program counts in",
                    ));
                }
                self.subgroup_lane()
            }
            Op::InverseBallot => {
                let lane = self.lane_number()?;
                let (thirty_two, thirty_one, one, zero) =
                    (self.word(32), self.word(31), self.word(1), self.word(0));
                let in_low = self.op(S::ULessThan, truth, &[lane, thirty_two])?;
                let half = self.op(S::Select, word, &[in_low, x[0], x[1]])?;
                let count = self.op(S::BitwiseAnd, word, &[lane, thirty_one])?;
                let shifted = self.op(S::ShiftRightLogical, word, &[half, count])?;
                let bit = self.op(S::BitwiseAnd, word, &[shifted, one])?;
                self.op(S::INotEqual, truth, &[bit, zero])
            }
            Op::Shuffle if inst.immediate & QUAD != 0 => self.quad(&x, inst.immediate as u32 & 0xff),
            Op::BallotLow | Op::BallotHigh if self.fits() => {
                self.need("GroupNonUniformBallot", Capability::GroupNonUniformBallot);
                let vector = self.vector(Type::U32, 4);
                let ballot = self.subgroup(S::GroupNonUniformBallot, vector, &[x[0]])?;
                let operands = vec![
                    Operand::IdRef(ballot),
                    Operand::LiteralBit32(u32::from(inst.op == Op::BallotHigh)),
                ];
                self.op_with(S::CompositeExtract, word, operands)
            }
            Op::AnyLane if self.fits() => {
                self.need("GroupNonUniformVote", Capability::GroupNonUniformVote);
                self.subgroup(S::GroupNonUniformAny, truth, &[x[0]])
            }
            Op::ReadFirstLane if self.fits() => {
                self.need("GroupNonUniformBallot", Capability::GroupNonUniformBallot);
                self.subgroup(S::GroupNonUniformBroadcastFirst, word, &[x[0]])
            }
            Op::ReadLane if self.fits() => {
                self.need("GroupNonUniformShuffle", Capability::GroupNonUniformShuffle);
                self.subgroup(S::GroupNonUniformShuffle, word, &x)
            }
            Op::Shuffle if self.fits() => {
                self.need("GroupNonUniformShuffle", Capability::GroupNonUniformShuffle);
                let mask = self.word(self.wave() - 1);
                let lane = self.op(S::BitwiseAnd, word, &[x[2], mask])?;
                let value = self.subgroup(S::GroupNonUniformShuffle, word, &[x[0], lane])?;
                self.or_old(inst, &x, lane, value)
            }
            _ => self.through_workgroup(inst, &x),
        }
    }

    /// The old value where the source lane is off.
    fn or_old(&mut self, inst: &Inst, x: &[Word], lane: Word, value: Word) -> Emitted {
        if self.function.constant(inst.operands[3]) == Some(1) {
            return Ok(value);
        }
        let (word, truth) = (self.u32(), self.truth());
        let (one, zero) = (self.word(1), self.word(0));
        let flag = self.op(S::Select, word, &[x[3], one, zero])?;
        let flag = self.subgroup(S::GroupNonUniformShuffle, word, &[flag, lane])?;
        let there = self.op(S::INotEqual, truth, &[flag, zero])?;
        self.op(S::Select, word, &[there, value, x[1]])
    }

    /// Permutations within four lanes.
    fn quad(&mut self, x: &[Word], control: u32) -> Emitted {
        if self.program.profile.subgroup_size < 4 {
            return Err(Reason::Device("subgroups of four lanes"));
        }
        self.need("GroupNonUniform", Capability::GroupNonUniform);
        self.need("GroupNonUniformQuad", Capability::GroupNonUniformQuad);
        let word = self.u32();
        let swap = match control {
            0b10_11_00_01 => Some(0),
            0b01_00_11_10 => Some(1),
            0b00_01_10_11 => Some(2),
            _ => None,
        };
        if let Some(direction) = swap {
            let direction = self.word(direction);
            return self.subgroup(S::GroupNonUniformQuadSwap, word, &[x[0], direction]);
        }
        let selectors = [control & 3, control >> 2 & 3, control >> 4 & 3, control >> 6 & 3];
        let mut chosen = None;
        let (three, truth) = (self.word(3), self.truth());
        let lane = self.subgroup_lane()?;
        let lane = self.op(S::BitwiseAnd, word, &[lane, three])?;
        let mut known = [None; 4];
        for (place, &selector) in selectors.iter().enumerate() {
            let value = match known[selector as usize] {
                Some(value) => value,
                None => {
                    let index = self.word(selector);
                    let value = self.subgroup(S::GroupNonUniformQuadBroadcast, word, &[x[0], index])?;
                    known[selector as usize] = Some(value);
                    value
                }
            };
            chosen = Some(match chosen {
                None => value,
                Some(others) if others == value => value,
                Some(others) => {
                    let place = self.word(place as u32);
                    let here = self.op(S::IEqual, truth, &[lane, place])?;
                    self.op(S::Select, word, &[here, value, others])?
                }
            });
        }
        chosen.ok_or_else(|| Reason::Internal(String::from("a quad without lanes")))
    }
}
