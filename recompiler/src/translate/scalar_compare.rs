//! Scalar comparisons, and scalar instructions with an immediate.

use super::operand::Wide;
use super::variables::Variable;
use super::{Taken, Translator};
use crate::decode::{Operand, op};
use crate::ir::{Op, Value};

impl Translator<'_> {
    fn integer_relation(&mut self, name: &str, a: Value, b: Value, signed: bool) -> Option<Value> {
        let (less, equal) = if signed {
            (Op::LessS, Op::LessEqualS)
        } else {
            (Op::LessU, Op::LessEqualU)
        };
        Some(match name {
            "EQ" => self.b(Op::Equal, &[a, b]),
            "LG" => self.b(Op::NotEqual, &[a, b]),
            "GT" => self.b(less, &[b, a]),
            "GE" => self.b(equal, &[b, a]),
            "LT" => self.b(less, &[a, b]),
            "LE" => self.b(equal, &[a, b]),
            _ => return None,
        })
    }

    pub(super) fn scalar_compare(&mut self) -> Taken {
        let instruction = self.instruction;
        let [a, b, _] = instruction.src;
        let truth = match instruction.opcode() {
            op::S_BITCMP0_B32 | op::S_BITCMP1_B32 => {
                let (a, b, one) = (self.raw(a)?, self.raw(b)?, self.v.word(1));
                let bit = self.u(Op::Shr, &[a, b]);
                let bit = self.u(Op::And, &[bit, one]);
                let wanted = self.v.word(u32::from(instruction.opcode() == op::S_BITCMP1_B32));
                self.b(Op::Equal, &[bit, wanted])
            }
            op::S_BITCMP0_B64 | op::S_BITCMP1_B64 => {
                let a = self.pair_u64(a, Wide::Unsigned)?;
                let (b, mask) = (self.raw(b)?, self.v.word(63));
                let count = self.u(Op::And, &[b, mask]);
                let shifted = self.u64(Op::Shr, &[a, count]);
                let low = self.u(Op::Low64, &[shifted]);
                let one = self.v.word(1);
                let bit = self.u(Op::And, &[low, one]);
                let wanted = self.v.word(u32::from(instruction.opcode() == op::S_BITCMP1_B64));
                self.b(Op::Equal, &[bit, wanted])
            }
            op::S_CMP_EQ_U64 | op::S_CMP_LG_U64 => {
                let zero = |operand| matches!(operand, Operand::Integer(0));
                let mask = if self.wave == 64 && zero(b) {
                    Some(self.mask(a)?)
                } else {
                    None
                };
                match mask {
                    Some(mask) if !self.is_number(mask) => {
                        let any = self.any_lane(mask);
                        if instruction.opcode() == op::S_CMP_EQ_U64 {
                            self.b(Op::LNot, &[any])
                        } else {
                            any
                        }
                    }
                    _ => {
                        let (x, y) = (self.pair(a, Wide::Unsigned)?, self.pair(b, Wide::Unsigned)?);
                        let (low, high) =
                            (self.b(Op::Equal, &[x[0], y[0]]), self.b(Op::Equal, &[x[1], y[1]]));
                        let equal = self.b(Op::LAnd, &[low, high]);
                        if instruction.opcode() == op::S_CMP_EQ_U64 {
                            equal
                        } else {
                            self.b(Op::LNot, &[equal])
                        }
                    }
                }
            }
            _ => {
                let Some((relation, ty)) = instruction
                    .row
                    .name
                    .strip_prefix("S_CMP_")
                    .and_then(|rest| rest.split_once('_'))
                else {
                    return Ok(false);
                };
                let (a, b) = (self.raw(a)?, self.raw(b)?);
                match self.integer_relation(relation, a, b, ty == "I32") {
                    Some(truth) => truth,
                    None => return Ok(false),
                }
            }
        };
        self.set_scc(truth);
        Ok(true)
    }

    pub(super) fn immediate(&mut self) -> Taken {
        let instruction = self.instruction;
        let signed = self
            .v
            .word(i32::from(instruction.immediate.cast_signed()).cast_unsigned());
        let unsigned = self.v.word(u32::from(instruction.immediate));
        match instruction.opcode() {
            op::S_MOVK_I32 => self.set_scalar(signed)?,
            op::S_CMOVK_I32 => {
                let scc = self.v.read(Variable::Scc);
                let old = self.raw(instruction.dst)?;
                let value = self.select(scc, signed, old);
                self.set_scalar(value)?;
            }
            op::S_ADDK_I32 => {
                let a = self.raw(instruction.dst)?;
                let sum = self.u(Op::Add, &[a, signed]);
                let (x, y) = (self.u(Op::Xor, &[a, sum]), self.u(Op::Xor, &[signed, sum]));
                let both = self.u(Op::And, &[x, y]);
                let zero = self.v.word(0);
                let overflow = self.b(Op::LessS, &[both, zero]);
                self.set_scalar(sum)?;
                self.set_scc(overflow);
            }
            op::S_MULK_I32 => {
                let a = self.raw(instruction.dst)?;
                let product = self.u(Op::Mul, &[a, signed]);
                self.set_scalar(product)?;
            }
            _ => {
                let Some((relation, ty)) = instruction
                    .row
                    .name
                    .strip_prefix("S_CMPK_")
                    .and_then(|rest| rest.split_once('_'))
                else {
                    return Ok(false);
                };
                let a = self.raw(instruction.dst)?;
                let is_signed = ty == "I32";
                let constant = if is_signed { signed } else { unsigned };
                let Some(truth) = self.integer_relation(relation, a, constant, is_signed) else {
                    return Ok(false);
                };
                self.set_scc(truth);
            }
        }
        Ok(true)
    }
}
