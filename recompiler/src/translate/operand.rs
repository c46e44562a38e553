//! Reading sources and writing destinations, with every modifier.

use super::Translator;
use super::variables::Variable;
use crate::decode::operand::{inline_f16, inline_f32, inline_f64};
use crate::decode::{Form, Operand};
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

/// How a constant widens to 64 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wide {
    Unsigned,
    Signed,
    /// A literal is the high half.
    Float,
}

const EXEC: u8 = 126;
const NULL: u8 = 125;

impl Translator<'_> {
    /// The 32-bit word of an operand.
    pub(super) fn raw(&mut self, operand: Operand) -> Result<Value, Reason> {
        Ok(match operand {
            Operand::Scalar(NULL) => self.v.word(0),
            Operand::Scalar(register @ (EXEC | 127)) => {
                let exec = self.v.read(Variable::Exec);
                let op = if register == EXEC {
                    Op::BallotLow
                } else {
                    Op::BallotHigh
                };
                self.v.emit(op, Type::U32, &[exec], u64::from(self.wave))
            }
            Operand::Scalar(register) => self.v.read(Variable::Scalar(register)),
            Operand::Vector(register) => {
                let value = self.v.read(Variable::Vector(register));
                self.seen_by_active(value)
            }
            Operand::Integer(value) => self.v.word(i32::from(value).cast_unsigned()),
            Operand::Float(code) => self.v.word(inline_f32(code)),
            Operand::Literal(word) => self.v.word(word),
            Operand::Special(253) => {
                let scc = self.v.read(Variable::Scc);
                self.truth_word(scc)
            }
            Operand::Special(251 | 252) => {
                let variable = if operand == Operand::Special(251) {
                    Variable::Mask(106)
                } else {
                    Variable::Exec
                };
                let mask = self.v.read(variable);
                let any = self.any_lane(mask);
                let none = self.b(Op::LNot, &[any]);
                self.truth_word(none)
            }
            Operand::Special(_) => return Err(Reason::Unsupported("apertures and direct LDS sources")),
            Operand::None | Operand::LiteralFollows | Operand::Reserved(_) => {
                return Err(Reason::Internal(format!("operand {operand:?} has no value")));
            }
        })
    }

    /// What lanes that are on find in a register: of a masked write under this EXEC, the value written. Only for
    /// uses that lanes that are off take no part in.
    fn seen_by_active(&mut self, mut value: Value) -> Value {
        let exec = self.v.read(Variable::Exec);
        for _ in 0..64 {
            let inst = self.v.function.inst(value);
            if inst.op != Op::Select || !self.implies(exec, inst.operands[0]) {
                break;
            }
            value = self.v.resolve(inst.operands[1]);
        }
        value
    }

    /// Whether `mask` is only set in lanes where `wider` is, as far as a look at its conjunctions tells.
    pub(super) fn implies(&self, mask: Value, wider: Value) -> bool {
        let mut work = vec![mask];
        let mut looked = 0;
        while let Some(value) = work.pop() {
            if value == wider {
                return true;
            }
            looked += 1;
            let inst = self.v.function.inst(value);
            if inst.op == Op::LAnd && looked < 8 {
                work.extend(inst.operands.iter().map(|operand| self.v.resolve(*operand)));
            }
        }
        false
    }

    /// A register's value in every lane, on or off.
    pub(super) fn all_lanes(&mut self, operand: Operand) -> Result<Value, Reason> {
        match operand {
            Operand::Vector(register) => Ok(self.v.read(Variable::Vector(register))),
            _ => self.raw(operand),
        }
    }

    pub(super) fn truth_word(&mut self, truth: Value) -> Value {
        let (one, zero) = (self.v.word(1), self.v.word(0));
        self.select(truth, one, zero)
    }

    /// The word `index` registers further on.
    pub(super) fn raw_at(&mut self, operand: Operand, index: u8) -> Result<Value, Reason> {
        match operand {
            Operand::Scalar(NULL) => self.raw(operand),
            Operand::Scalar(register) => self.raw(Operand::Scalar((register + index) & 127)),
            Operand::Vector(register) => self.raw(Operand::Vector(register.wrapping_add(index))),
            _ if index == 0 => self.raw(operand),
            _ => Err(Reason::Unsupported(
                "a constant where several registers are needed",
            )),
        }
    }

    /// Low and high word of a 64-bit operand.
    pub(super) fn pair(&mut self, operand: Operand, wide: Wide) -> Result<[Value; 2], Reason> {
        let words = |bits: u64| [bits as u32, (bits >> 32) as u32];
        let constant = match operand {
            Operand::Integer(value) => words(i64::from(value).cast_unsigned()),
            Operand::Float(code) => words(inline_f64(code)),
            Operand::Literal(word) => match wide {
                Wide::Unsigned => [word, 0],
                Wide::Signed => words(i64::from(word.cast_signed()).cast_unsigned()),
                Wide::Float => [0, word],
            },
            _ => return Ok([self.raw_at(operand, 0)?, self.raw_at(operand, 1)?]),
        };
        Ok(constant.map(|word| self.v.word(word)))
    }

    pub(super) fn pair_u64(&mut self, operand: Operand, wide: Wide) -> Result<Value, Reason> {
        let [low, high] = self.pair(operand, wide)?;
        Ok(self.v.emit(Op::Pack64, Type::U64, &[low, high], 0))
    }

    /// This lane's bit of a mask operand.
    pub(super) fn mask(&mut self, operand: Operand) -> Result<Value, Reason> {
        Ok(match operand {
            Operand::Scalar(EXEC) => self.v.read(Variable::Exec),
            Operand::Scalar(NULL) => self.v.truth(false),
            Operand::Scalar(register) => self.v.read(Variable::Mask(register)),
            _ => {
                let [low, high] = if self.wave == 64 {
                    self.pair(operand, Wide::Unsigned)?
                } else {
                    [self.raw(operand)?, self.v.word(0)]
                };
                self.v
                    .emit(Op::InverseBallot, Type::Bool, &[low, high], u64::from(self.wave))
            }
        })
    }

    /// Writes a lane mask to a scalar destination.
    pub(super) fn set_mask(&mut self, operand: Operand, value: Value) {
        match operand {
            Operand::Scalar(EXEC) => self.v.write(Variable::Exec, value),
            Operand::Scalar(NULL) => {}
            Operand::Scalar(register) => self.v.write_mask(register, value),
            _ => {}
        }
    }

    /// Writes words to scalar registers.
    pub(super) fn set_scalars(&mut self, operand: Operand, words: &[Value]) -> Result<(), Reason> {
        let Operand::Scalar(first) = operand else {
            return Err(Reason::Internal(String::from(
                "a scalar destination is no scalar register",
            )));
        };
        if first == NULL {
            return Ok(());
        }
        if first == EXEC || first == 127 {
            let mut both = [self.raw(Operand::Scalar(EXEC))?, self.raw(Operand::Scalar(127))?];
            for (index, &word) in words.iter().enumerate() {
                if let Some(slot) = both.get_mut(usize::from(first - EXEC) + index) {
                    *slot = word;
                }
            }
            let mask = self
                .v
                .emit(Op::InverseBallot, Type::Bool, &both, u64::from(self.wave));
            self.v.write(Variable::Exec, mask);
            return Ok(());
        }
        for (index, &word) in words.iter().enumerate() {
            self.v.write_scalar((first + index as u8) & 127, word);
        }
        Ok(())
    }

    /// A vector instruction's source as it stands after SDWA and DPP, before its type's modifiers.
    pub(super) fn source_word(&mut self, index: usize) -> Result<Value, Reason> {
        let instruction = self.instruction;
        let crosses = index == 0 && matches!(instruction.form, Form::Dpp16(_) | Form::Dpp8 { .. });
        let value = if crosses {
            self.all_lanes(instruction.src[0])?
        } else {
            self.raw(instruction.src[index])?
        };
        match instruction.form {
            Form::Sdwa(sdwa) if index < 2 => {
                let (offset, count) = match sdwa.src_sel[index] {
                    byte @ 0..=3 => (8 * u32::from(byte), 8),
                    4 => (0, 16),
                    5 => (16, 16),
                    6 => return Ok(value),
                    _ => return Err(Reason::Unsupported("a reserved SDWA selector")),
                };
                let operands = [value, self.v.word(offset), self.v.word(count)];
                let op = if sdwa.src_sext[index] {
                    Op::FieldS
                } else {
                    Op::FieldU
                };
                Ok(self.u(op, &operands))
            }
            Form::Dpp16(_) | Form::Dpp8 { .. } if index == 0 => self.cross_lane_source(value),
            _ => Ok(value),
        }
    }

    /// A 32-bit integer source.
    pub(super) fn int(&mut self, index: usize) -> Result<Value, Reason> {
        self.source_word(index)
    }

    /// The low (or, by op_sel, high) 16 bits of a source, extended.
    pub(super) fn int16(&mut self, index: usize, signed: bool) -> Result<Value, Reason> {
        let value = self.source_word(index)?;
        let high = self.instruction.form == Form::Long && self.instruction.modifiers.op_sel >> index & 1 != 0;
        let operands = [value, self.v.word(if high { 16 } else { 0 }), self.v.word(16)];
        Ok(self.u(if signed { Op::FieldS } else { Op::FieldU }, &operands))
    }

    fn float_modifiers(&mut self, index: usize, mut value: Value, ty: Type) -> Value {
        let modifiers = self.instruction.modifiers;
        if modifiers.absolute >> index & 1 != 0 {
            value = self.v.emit(Op::FAbs, ty, &[value], 0);
        }
        if modifiers.negate >> index & 1 != 0 {
            value = self.v.emit(Op::FNeg, ty, &[value], 0);
        }
        value
    }

    /// A binary32 source with its modifiers.
    pub(super) fn float32(&mut self, index: usize) -> Result<Value, Reason> {
        let word = self.source_word(index)?;
        let value = match self.facing(word) {
            Some(facing) => facing,
            None => self.f(Op::BitcastF32, &[word]),
        };
        Ok(self.float_modifiers(index, value, Type::F32))
    }

    /// The front face input read as a float. SPI_BARYC_CNTL decides whether the register holds all ones or zeros, or
    /// 1.0 or -1.0; all ones are no number, so who reads a float was compiled for the latter.
    fn facing(&mut self, word: Value) -> Option<Value> {
        let f = &self.v.function;
        let inst = f.inst(word);
        let bits = |index: usize| f.constant(inst.operands[index]);
        if inst.op != Op::Select
            || f.inst(inst.operands[0]).op != Op::FrontFacing
            || bits(1) != Some(u64::from(u32::MAX))
            || bits(2) != Some(0)
        {
            return None;
        }
        let front = inst.operands[0];
        let [ahead, back] = [1.0_f32, -1.0].map(|x| self.v.constant(Type::F32, u64::from(x.to_bits())));
        Some(self.select(front, ahead, back))
    }

    /// A binary16 source, widened, with its modifiers.
    pub(super) fn float16(&mut self, index: usize) -> Result<Value, Reason> {
        let word = match self.instruction.src[index] {
            // 16-bit instructions read inline constants in their own format.
            Operand::Float(code) => self.v.word(inline_f16(code)),
            _ => self.source_word(index)?,
        };
        let high = self.instruction.form == Form::Long && self.instruction.modifiers.op_sel >> index & 1 != 0;
        let value = self.f(
            if high {
                Op::UnpackHalfHigh
            } else {
                Op::UnpackHalfLow
            },
            &[word],
        );
        Ok(self.float_modifiers(index, value, Type::F32))
    }

    /// A binary64 source with its modifiers.
    pub(super) fn float64(&mut self, index: usize) -> Result<Value, Reason> {
        let bits = self.pair_u64(self.instruction.src[index], Wide::Float)?;
        let value = self.v.emit(Op::BitcastF64, Type::F64, &[bits], 0);
        Ok(self.float_modifiers(index, value, Type::F64))
    }

    pub(super) fn output_modifiers(&mut self, mut value: Value, ty: Type) -> Value {
        let modifiers = self.instruction.modifiers;
        let factor = match modifiers.output {
            1 => Some(2.0_f64),
            2 => Some(4.0),
            3 => Some(0.5),
            _ => None,
        };
        if let Some(factor) = factor {
            let bits = if ty == Type::F64 {
                factor.to_bits()
            } else {
                u64::from((factor as f32).to_bits())
            };
            let factor = self.v.constant(ty, bits);
            value = self.v.emit(Op::FMul, ty, &[value, factor], 0);
        }
        if modifiers.clamp {
            value = self.v.emit(Op::Saturate, ty, &[value], 0);
        }
        value
    }

    pub(super) fn set_float32(&mut self, value: Value) -> Result<(), Reason> {
        let value = self.output_modifiers(value, Type::F32);
        let word = self.u(Op::BitcastU32, &[value]);
        self.set_word(word)
    }

    /// Rounds to binary16 and writes one half of the destination; the other half stays.
    pub(super) fn set_float16(&mut self, value: Value) -> Result<(), Reason> {
        let value = self.output_modifiers(value, Type::F32);
        let zero = self.v.constant(Type::F32, 0);
        let word = self.u(Op::PackHalf, &[value, zero]);
        self.set_half(word)
    }

    /// Writes the low 16 bits of a word to the half of the destination that op_sel names.
    pub(super) fn set_half(&mut self, word: Value) -> Result<(), Reason> {
        if matches!(self.instruction.form, Form::Sdwa(_)) {
            return self.set_word(word);
        }
        let high = self.instruction.form == Form::Long && self.instruction.modifiers.op_sel & 8 != 0;
        let old = self.raw(self.instruction.dst)?;
        let (keep, shift) = if high { (0xffff, 16) } else { (0xffff_0000, 0) };
        let keep = self.v.word(keep);
        let old = self.u(Op::And, &[old, keep]);
        let low = self.v.word(0xffff);
        let half = self.u(Op::And, &[word, low]);
        let shift = self.v.word(shift);
        let half = self.u(Op::Shl, &[half, shift]);
        let value = self.u(Op::Or, &[old, half]);
        self.set_vector(self.instruction.dst, 0, value)
    }

    pub(super) fn set_float64(&mut self, value: Value) -> Result<(), Reason> {
        let value = self.output_modifiers(value, Type::F64);
        let bits = self.v.emit(Op::BitcastU64, Type::U64, &[value], 0);
        self.set_u64(bits)
    }

    pub(super) fn set_u64(&mut self, value: Value) -> Result<(), Reason> {
        let low = self.u(Op::Low64, &[value]);
        let high = self.u(Op::High64, &[value]);
        self.set_vector(self.instruction.dst, 0, low)?;
        self.set_vector(self.instruction.dst, 1, high)
    }

    /// Writes a vector instruction's 32-bit result, placing it as SDWA says.
    pub(super) fn set_word(&mut self, value: Value) -> Result<(), Reason> {
        let Form::Sdwa(sdwa) = self.instruction.form else {
            return self.set_vector(self.instruction.dst, 0, value);
        };
        let (offset, count) = match sdwa.dst_sel {
            byte @ 0..=3 => (8 * u32::from(byte), 8_u32),
            4 => (0, 16),
            5 => (16, 16),
            6 => return self.set_vector(self.instruction.dst, 0, value),
            _ => return Err(Reason::Unsupported("a reserved SDWA selector")),
        };
        let field = (1_u32 << count) - 1;
        let mask = self.v.word(field);
        let part = self.u(Op::And, &[value, mask]);
        let shift = self.v.word(offset);
        let part = self.u(Op::Shl, &[part, shift]);
        let rest = match sdwa.dst_unused {
            0 => self.v.word(0),
            1 => {
                // The sign fills what lies above; below stays zero.
                let operands = [value, self.v.word(0), self.v.word(count)];
                let signed = self.u(Op::FieldS, &operands);
                let signed = self.u(Op::Shl, &[signed, shift]);
                return self.set_vector(self.instruction.dst, 0, signed);
            }
            2 => {
                let old = self.raw(self.instruction.dst)?;
                let keep = self.v.word(!(field << offset));
                self.u(Op::And, &[old, keep])
            }
            _ => return Err(Reason::Unsupported("a reserved SDWA destination mode")),
        };
        let value = self.u(Op::Or, &[part, rest]);
        self.set_vector(self.instruction.dst, 0, value)
    }

    /// Writes a VGPR where the lane is on. DPP may turn lanes off for the write.
    pub(super) fn set_vector(&mut self, operand: Operand, index: u8, value: Value) -> Result<(), Reason> {
        let Operand::Vector(register) = operand else {
            return Err(Reason::Internal(String::from("a vector destination is no VGPR")));
        };
        let register = register.wrapping_add(index);
        let mut active = self.v.read(Variable::Exec);
        if let Some(writes) = self.cross_lane_writes()? {
            active = self.b(Op::LAnd, &[active, writes]);
        }
        let mut old = self.v.read(Variable::Vector(register));
        // A masked write that this one covers is gone.
        while let inst = self.v.function.inst(old)
            && inst.op == Op::Select
            && self.implies(inst.operands[0], active)
        {
            old = self.v.resolve(inst.operands[2]);
        }
        let value = self.select(active, value, old);
        self.v.write(Variable::Vector(register), value);
        Ok(())
    }

    /// A per-lane truth as a mask register: lanes that are off contribute 0.
    pub(super) fn set_lane_mask(&mut self, operand: Operand, truth: Value) {
        let exec = self.v.read(Variable::Exec);
        let value = self.b(Op::LAnd, &[exec, truth]);
        self.set_mask(operand, value);
    }
}
