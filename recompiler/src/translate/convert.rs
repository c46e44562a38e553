//! Conversions between vector numbers.

use super::{Taken, Translator};
use crate::decode::{Form, op};
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

impl Translator<'_> {
    pub(super) fn convert(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        match opcode {
            op::V_CVT_F32_I32 | op::V_CVT_F32_U32 => {
                let a = self.int(0)?;
                let value = self.f(
                    if opcode == op::V_CVT_F32_I32 {
                        Op::S32ToF32
                    } else {
                        Op::U32ToF32
                    },
                    &[a],
                );
                self.set_float32(value)?;
            }
            op::V_CVT_F32_UBYTE0 | op::V_CVT_F32_UBYTE1 | op::V_CVT_F32_UBYTE2 | op::V_CVT_F32_UBYTE3 => {
                let byte = u32::from(opcode.number() - op::V_CVT_F32_UBYTE0.number());
                let operands = [self.int(0)?, self.v.word(8 * byte), self.v.word(8)];
                let byte = self.u(Op::FieldU, &operands);
                let value = self.f(Op::U32ToF32, &[byte]);
                self.set_float32(value)?;
            }
            op::V_CVT_U32_F32 | op::V_CVT_I32_F32 => {
                let a = self.float32(0)?;
                let value = self.u(
                    if opcode == op::V_CVT_I32_F32 {
                        Op::F32ToS32
                    } else {
                        Op::F32ToU32
                    },
                    &[a],
                );
                self.set_word(value)?;
            }
            op::V_CVT_RPI_I32_F32 | op::V_CVT_FLR_I32_F32 => {
                let mut a = self.float32(0)?;
                if opcode == op::V_CVT_RPI_I32_F32 {
                    let half = self.float_constant(0x3f00_0000);
                    a = self.f(Op::FAdd, &[a, half]);
                }
                let a = self.f(Op::Floor, &[a]);
                let value = self.u(Op::F32ToS32, &[a]);
                self.set_word(value)?;
            }
            op::V_CVT_F32_F16 => {
                let a = self.float16(0)?;
                self.set_float32(a)?;
            }
            op::V_CVT_PKRTZ_F16_F32 => {
                let (a, b) = (self.float32(0)?, self.float32(1)?);
                let [a, b] = [a, b].map(|value| self.output_modifiers(value, Type::F32));
                let value = self.u(Op::PackHalfZero, &[a, b]);
                self.set_word(value)?;
            }
            op::V_CVT_PKNORM_I16_F32
            | op::V_CVT_PKNORM_U16_F32
            | op::V_CVT_PKNORM_I16_F16
            | op::V_CVT_PKNORM_U16_F16 => {
                let signed = matches!(opcode, op::V_CVT_PKNORM_I16_F32 | op::V_CVT_PKNORM_I16_F16);
                let (a, b) = if matches!(opcode, op::V_CVT_PKNORM_I16_F32 | op::V_CVT_PKNORM_U16_F32) {
                    (self.float32(0)?, self.float32(1)?)
                } else {
                    (self.float16(0)?, self.float16(1)?)
                };
                let value = self.normalised(a, b, signed);
                self.set_word(value)?;
            }
            op::V_CVT_NORM_I16_F16 | op::V_CVT_NORM_U16_F16 => {
                let (a, zero) = (self.float16(0)?, self.float_constant(0));
                let value = self.normalised(a, zero, opcode == op::V_CVT_NORM_I16_F16);
                self.set_half(value)?;
            }
            op::V_CVT_OFF_F32_I4 => {
                // Sixteenths, from -8 to 7.
                let operands = [self.int(0)?, self.v.word(0), self.v.word(4)];
                let number = self.u(Op::FieldS, &operands);
                let (number, sixteenth) = (self.f(Op::S32ToF32, &[number]), self.float_constant(0x3d80_0000));
                let value = self.f(Op::FMul, &[number, sixteenth]);
                self.set_float32(value)?;
            }
            op::V_CVT_F16_U16 | op::V_CVT_F16_I16 => {
                let signed = opcode == op::V_CVT_F16_I16;
                let a = self.int16(0, signed)?;
                let value = self.f(if signed { Op::S32ToF32 } else { Op::U32ToF32 }, &[a]);
                self.set_float16(value)?;
            }
            op::V_CVT_F16_F32 => {
                let value = self.float32(0)?;
                self.set_float16(value)?;
            }
            op::V_CVT_U16_F16 | op::V_CVT_I16_F16 => {
                let signed = opcode == op::V_CVT_I16_F16;
                let a = self.float16(0)?;
                let value = self.u(if signed { Op::F32ToS32 } else { Op::F32ToU32 }, &[a]);
                let value = self.clamp16(value, signed, true);
                self.set_half(value)?;
            }
            op::V_PACK_B32_F16 => {
                let (a, b) = (self.half_bits(0)?, self.half_bits(1)?);
                let sixteen = self.v.word(16);
                let high = self.u(Op::Shl, &[b, sixteen]);
                let value = self.u(Op::Or, &[a, high]);
                self.set_word(value)?;
            }
            _ => return Ok(false),
        }
        if matches!(instruction.form, Form::Dpp8 { .. }) && instruction.modifiers.output != 0 {
            return Err(Reason::Unsupported("output modifiers beside DPP8"));
        }
        Ok(true)
    }

    /// The bits of a binary16 source that is moved, with its modifiers.
    fn half_bits(&mut self, index: usize) -> Result<Value, Reason> {
        let mut value = self.int16(index, false)?;
        let modifiers = self.instruction.modifiers;
        if modifiers.absolute >> index & 1 != 0 {
            let mask = self.v.word(0x7fff);
            value = self.u(Op::And, &[value, mask]);
        }
        if modifiers.negate >> index & 1 != 0 {
            let sign = self.v.word(0x8000);
            value = self.u(Op::Xor, &[value, sign]);
        }
        Ok(value)
    }

    /// Two normalised 16-bit numbers. NaN becomes 0.
    fn normalised(&mut self, a: Value, b: Value, signed: bool) -> Value {
        let zero = self.float_constant(0);
        let [a, b] = [a, b].map(|value| {
            if self.v.function.constant(value).is_some() {
                return value;
            }
            let nan = self.b(Op::IsNan, &[value]);
            self.select(nan, zero, value)
        });
        self.u(if signed { Op::PackSnorm16 } else { Op::PackUnorm16 }, &[a, b])
    }
}
