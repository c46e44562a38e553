//! Vector floating-point arithmetic and conversions.

use super::{Taken, Translator};
use crate::decode::op;
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

const ONE: u64 = 0x3f80_0000;

impl Translator<'_> {
    pub(super) fn float(&mut self) -> Taken {
        Ok(self.float_binary()?
            || self.float_unary()?
            || self.float_three()?
            || self.half()?
            || self.double()?
            || self.convert()?)
    }

    pub(super) fn float_constant(&mut self, bits: u64) -> Value {
        self.v.constant(Type::F32, bits)
    }

    fn float_binary(&mut self) -> Taken {
        let opcode = self.instruction.opcode();
        let (op, reversed) = match opcode {
            op::V_ADD_F32 => (Op::FAdd, false),
            op::V_SUB_F32 => (Op::FSub, false),
            op::V_SUBREV_F32 => (Op::FSub, true),
            op::V_MUL_F32 => (Op::FMul, false),
            op::V_MIN_F32 => (Op::FMin, false),
            op::V_MAX_F32 => (Op::FMax, false),
            op::V_MUL_LEGACY_F32 => {
                let (a, b) = (self.float32(0)?, self.float32(1)?);
                let value = self.legacy_product(a, b);
                self.set_float32(value)?;
                return Ok(true);
            }
            op::V_LDEXP_F32 => {
                let (a, b) = (self.float32(0)?, self.int(1)?);
                let b = self.limited(b, 300);
                let value = self.f(Op::Ldexp, &[a, b]);
                self.set_float32(value)?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let (a, b) = (self.float32(0)?, self.float32(1)?);
        let (a, b) = if reversed { (b, a) } else { (a, b) };
        let value = self.f(op, &[a, b]);
        self.set_float32(value)?;
        Ok(true)
    }

    /// 0 times anything is 0.
    fn legacy_product(&mut self, a: Value, b: Value) -> Value {
        let zero = self.float_constant(0);
        let product = self.f(Op::FMul, &[a, b]);
        let (x, y) = (self.b(Op::FEqual, &[a, zero]), self.b(Op::FEqual, &[b, zero]));
        let either = self.b(Op::LOr, &[x, y]);
        self.select(either, zero, product)
    }

    fn float_unary(&mut self) -> Taken {
        let op = match self.instruction.opcode() {
            op::V_FRACT_F32 => Op::Fract,
            op::V_TRUNC_F32 => Op::Trunc,
            op::V_CEIL_F32 => Op::Ceil,
            op::V_RNDNE_F32 => Op::RoundEven,
            op::V_FLOOR_F32 => Op::Floor,
            op::V_EXP_F32 => Op::Exp2,
            op::V_LOG_F32 => Op::Log2,
            op::V_SQRT_F32 => Op::Sqrt,
            op::V_RSQ_F32 => Op::InverseSqrt,
            op::V_FREXP_MANT_F32 => Op::FrexpMantissa,
            op::V_RCP_F32 | op::V_RCP_IFLAG_F32 => {
                let (a, one) = (self.float32(0)?, self.float_constant(ONE));
                let value = self.f(Op::FDiv, &[one, a]);
                self.set_float32(value)?;
                return Ok(true);
            }
            op::V_SIN_F32 | op::V_COS_F32 => {
                let a = self.float32(0)?;
                let value = self.circular(a, self.instruction.opcode() == op::V_SIN_F32);
                self.set_float32(value)?;
                return Ok(true);
            }
            op::V_FREXP_EXP_I32_F32 => {
                let a = self.float32(0)?;
                let value = self.u(Op::FrexpExponent, &[a]);
                self.set_word(value)?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let a = self.float32(0)?;
        let value = self.f(op, &[a]);
        self.set_float32(value)?;
        Ok(true)
    }

    fn float_three(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        let value = match opcode {
            // The unfused ones round the product first.
            op::V_MAD_F32 | op::V_MADMK_F32 | op::V_MADAK_F32 | op::V_MAC_F32 => {
                let (a, b, c) = self.float_operands(opcode == op::V_MAC_F32)?;
                let product = self.f(Op::FMul, &[a, b]);
                self.f(Op::FAdd, &[product, c])
            }
            op::V_FMA_F32 | op::V_FMAMK_F32 | op::V_FMAAK_F32 | op::V_FMAC_F32 => {
                let (a, b, c) = self.float_operands(opcode == op::V_FMAC_F32)?;
                self.f(Op::Fma, &[a, b, c])
            }
            op::V_MAD_LEGACY_F32 | op::V_MAC_LEGACY_F32 => {
                let (a, b, c) = self.float_operands(opcode == op::V_MAC_LEGACY_F32)?;
                let product = self.legacy_product(a, b);
                self.f(Op::FAdd, &[product, c])
            }
            op::V_MIN3_F32 | op::V_MAX3_F32 => {
                let (a, b, c) = self.float_operands(false)?;
                let op = if opcode == op::V_MIN3_F32 {
                    Op::FMin
                } else {
                    Op::FMax
                };
                let first = self.f(op, &[a, b]);
                self.f(op, &[first, c])
            }
            op::V_MED3_F32 => {
                let (a, b, c) = self.float_operands(false)?;
                self.median(a, b, c)
            }
            op::V_CUBEID_F32 | op::V_CUBESC_F32 | op::V_CUBETC_F32 | op::V_CUBEMA_F32 => {
                let (x, y, z) = self.float_operands(false)?;
                self.cube(x, y, z)
            }
            op::V_DIV_FIXUP_F32 => {
                // With the exact quotient as the first source this is the quotient of the other two.
                let (_, denominator, numerator) = self.float_operands(false)?;
                self.f(Op::FDiv, &[numerator, denominator])
            }
            op::V_DIV_SCALE_F32 => {
                // Unscaled: the fix-up below divides exactly, so the steps between do not matter.
                let (a, _, _) = self.float_operands(false)?;
                let never = self.v.truth(false);
                self.set_mask(instruction.scalar_dst, never);
                a
            }
            op::V_MULLIT_F32 => {
                // The least number where the exponent is no use, or the third source is not positive.
                let (a, b, c) = self.float_operands(false)?;
                let [least, zero] = [0xff7f_ffff, 0].map(|bits| self.float_constant(bits));
                let product = self.legacy_product(a, b);
                let (above, positive) = (self.b(Op::FLess, &[least, b]), self.b(Op::FLess, &[zero, c]));
                let both = self.b(Op::LAnd, &[above, positive]);
                self.select(both, product, least)
            }
            op::V_DIV_FMAS_F32 => {
                let (a, b, c) = self.float_operands(false)?;
                self.f(Op::Fma, &[a, b, c])
            }
            _ => return Ok(false),
        };
        self.set_float32(value)?;
        Ok(true)
    }

    fn float_operands(&mut self, accumulates: bool) -> Result<(Value, Value, Value), Reason> {
        let (a, b) = (self.float32(0)?, self.float32(1)?);
        let c = if accumulates {
            let word = self.raw(self.instruction.dst)?;
            self.f(Op::BitcastF32, &[word])
        } else {
            self.float32(2)?
        };
        Ok((a, b, c))
    }

    /// An exponent kept where SPIR-V's operation is defined; beyond, the result is the same.
    fn limited(&mut self, exponent: Value, limit: i32) -> Value {
        if let Some(bits) = self.v.function.constant(exponent) {
            let number = (bits as u32).cast_signed().clamp(-limit, limit);
            return self.v.word(number.cast_unsigned());
        }
        let (low, high) = (
            self.v.word((-limit).cast_unsigned()),
            self.v.word(limit.cast_unsigned()),
        );
        let exponent = self.u(Op::MaxS, &[exponent, low]);
        self.u(Op::MinS, &[exponent, high])
    }

    /// Sine or cosine of a number of turns.
    fn circular(&mut self, turns: Value, sine: bool) -> Value {
        let turn = self.float_constant(0x40c9_0fdb);
        let radians = self.f(Op::FMul, &[turns, turn]);
        self.f(if sine { Op::Sin } else { Op::Cos }, &[radians])
    }

    /// The middle one of three; with a NaN among them the least of the others.
    pub(super) fn median(&mut self, a: Value, b: Value, c: Value) -> Value {
        if let Some((x, low, high)) = self.limits([a, b, c]) {
            let x = self.f(Op::FMax, &[x, low]);
            return self.f(Op::FMin, &[x, high]);
        }
        let (low, high) = (self.f(Op::FMin, &[a, b]), self.f(Op::FMax, &[a, b]));
        let upper = self.f(Op::FMin, &[high, c]);
        let middle = self.f(Op::FMax, &[low, upper]);
        let least = self.f(Op::FMin, &[low, c]);
        let [x, y, z] = [a, b, c].map(|value| self.b(Op::IsNan, &[value]));
        let any = self.b(Op::LOr, &[x, y]);
        let any = self.b(Op::LOr, &[any, z]);
        self.select(any, least, middle)
    }

    /// Where two of three are constants: the third, and the constants in order.
    fn limits(&mut self, three: [Value; 3]) -> Option<(Value, Value, Value)> {
        let number = |value: Value| {
            let bits = self.v.function.constant(value)? as u32;
            Some(f32::from_bits(bits)).filter(|number| !number.is_nan())
        };
        let [a, b, c] = three;
        for (x, k, l) in [(a, b, c), (b, a, c), (c, a, b)] {
            if let (Some(first), Some(second)) = (number(k), number(l)) {
                let (low, high) = if first <= second { (k, l) } else { (l, k) };
                return Some((x, low, high));
            }
        }
        None
    }

    /// Face number, face coordinates or twice the major axis of a cube direction.
    fn cube(&mut self, x: Value, y: Value, z: Value) -> Value {
        let [zero, one, two] = [0, ONE, 0x4000_0000].map(|bits| self.float_constant(bits));
        let (ax, ay, az) = (
            self.f(Op::FAbs, &[x]),
            self.f(Op::FAbs, &[y]),
            self.f(Op::FAbs, &[z]),
        );
        let (zx, zy) = (
            self.b(Op::FLessEqual, &[ax, az]),
            self.b(Op::FLessEqual, &[ay, az]),
        );
        let z_major = self.b(Op::LAnd, &[zx, zy]);
        let y_major = self.b(Op::FLessEqual, &[ax, ay]);
        let choose = |this: &mut Self, for_x: Value, for_y: Value, for_z: Value| {
            let rest = this.select(y_major, for_y, for_x);
            this.select(z_major, for_z, rest)
        };
        let opcode = self.instruction.opcode();
        let negative = |this: &mut Self, value: Value| this.b(Op::FLess, &[value, zero]);
        match opcode {
            op::V_CUBEMA_F32 => {
                let major = choose(self, x, y, z);
                self.f(Op::FMul, &[two, major])
            }
            op::V_CUBEID_F32 => {
                let three = self.float_constant(0x4040_0000);
                let [four, five] = [0x4080_0000, 0x40a0_0000].map(|bits| self.float_constant(bits));
                let (nx, ny, nz) = (negative(self, x), negative(self, y), negative(self, z));
                let (fx, fy, fz) = (
                    self.select(nx, one, zero),
                    self.select(ny, three, two),
                    self.select(nz, five, four),
                );
                choose(self, fx, fy, fz)
            }
            op::V_CUBESC_F32 => {
                let (minus_x, minus_z) = (self.f(Op::FNeg, &[x]), self.f(Op::FNeg, &[z]));
                let (nx, nz) = (negative(self, x), negative(self, z));
                let (sx, sz) = (self.select(nx, z, minus_z), self.select(nz, minus_x, x));
                choose(self, sx, x, sz)
            }
            _ => {
                let (minus_y, minus_z) = (self.f(Op::FNeg, &[y]), self.f(Op::FNeg, &[z]));
                let ny = negative(self, y);
                let ty = self.select(ny, minus_z, z);
                choose(self, minus_y, ty, minus_y)
            }
        }
    }

    /// 16-bit floats are computed in 32 bits and rounded once: exact for one operation.
    fn half(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        let value = match opcode {
            op::V_ADD_F16
            | op::V_SUB_F16
            | op::V_SUBREV_F16
            | op::V_MUL_F16
            | op::V_MIN_F16
            | op::V_MAX_F16 => {
                let (a, b) = (self.float16(0)?, self.float16(1)?);
                let (op, a, b) = match opcode {
                    op::V_ADD_F16 => (Op::FAdd, a, b),
                    op::V_SUB_F16 => (Op::FSub, a, b),
                    op::V_SUBREV_F16 => (Op::FSub, b, a),
                    op::V_MUL_F16 => (Op::FMul, a, b),
                    op::V_MIN_F16 => (Op::FMin, a, b),
                    _ => (Op::FMax, a, b),
                };
                self.f(op, &[a, b])
            }
            op::V_FMA_F16 | op::V_FMAMK_F16 | op::V_FMAAK_F16 => {
                let (a, b, c) = (self.float16(0)?, self.float16(1)?, self.float16(2)?);
                self.f(Op::Fma, &[a, b, c])
            }
            op::V_FMAC_F16 => {
                let (a, b, old) = (self.float16(0)?, self.float16(1)?, self.raw(instruction.dst)?);
                let c = self.f(Op::UnpackHalfLow, &[old]);
                self.f(Op::Fma, &[a, b, c])
            }
            op::V_MIN3_F16 | op::V_MAX3_F16 => {
                let (a, b, c) = (self.float16(0)?, self.float16(1)?, self.float16(2)?);
                let op = if opcode == op::V_MIN3_F16 {
                    Op::FMin
                } else {
                    Op::FMax
                };
                let first = self.f(op, &[a, b]);
                self.f(op, &[first, c])
            }
            op::V_MED3_F16 => {
                let (a, b, c) = (self.float16(0)?, self.float16(1)?, self.float16(2)?);
                self.median(a, b, c)
            }
            op::V_FRACT_F16
            | op::V_TRUNC_F16
            | op::V_CEIL_F16
            | op::V_RNDNE_F16
            | op::V_FLOOR_F16
            | op::V_EXP_F16
            | op::V_LOG_F16
            | op::V_SQRT_F16
            | op::V_RSQ_F16 => {
                let op = match opcode {
                    op::V_FRACT_F16 => Op::Fract,
                    op::V_TRUNC_F16 => Op::Trunc,
                    op::V_CEIL_F16 => Op::Ceil,
                    op::V_RNDNE_F16 => Op::RoundEven,
                    op::V_FLOOR_F16 => Op::Floor,
                    op::V_EXP_F16 => Op::Exp2,
                    op::V_LOG_F16 => Op::Log2,
                    op::V_SQRT_F16 => Op::Sqrt,
                    _ => Op::InverseSqrt,
                };
                let a = self.float16(0)?;
                let value = self.f(op, &[a]);
                if op == Op::Fract {
                    // Below 1 as a half, too.
                    let below = self.float_constant(0x3f7f_e000);
                    let reached = self.b(Op::FLess, &[below, value]);
                    self.select(reached, below, value)
                } else {
                    value
                }
            }
            op::V_RCP_F16 => {
                let (a, one) = (self.float16(0)?, self.float_constant(ONE));
                self.f(Op::FDiv, &[one, a])
            }
            op::V_LDEXP_F16 => {
                // Exponents beyond these make zero or infinity of any half.
                let (a, b) = (self.float16(0)?, self.int16(1, true)?);
                let b = self.limited(b, 64);
                self.f(Op::Ldexp, &[a, b])
            }
            op::V_SIN_F16 | op::V_COS_F16 => {
                let a = self.float16(0)?;
                self.circular(a, opcode == op::V_SIN_F16)
            }
            op::V_FREXP_MANT_F16 => {
                let a = self.float16(0)?;
                self.f(Op::FrexpMantissa, &[a])
            }
            op::V_FREXP_EXP_I16_F16 => {
                let a = self.float16(0)?;
                let value = self.u(Op::FrexpExponent, &[a]);
                self.set_half(value)?;
                return Ok(true);
            }
            op::V_DIV_FIXUP_F16 => {
                let (b, c) = (self.float16(1)?, self.float16(2)?);
                self.f(Op::FDiv, &[c, b])
            }
            _ => return Ok(false),
        };
        self.set_float16(value)?;
        Ok(true)
    }

    fn double(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        let d = Type::F64;
        let value = match opcode {
            op::V_ADD_F64 | op::V_MUL_F64 | op::V_MIN_F64 | op::V_MAX_F64 => {
                let op = match opcode {
                    op::V_ADD_F64 => Op::FAdd,
                    op::V_MUL_F64 => Op::FMul,
                    op::V_MIN_F64 => Op::FMin,
                    _ => Op::FMax,
                };
                let operands = [self.float64(0)?, self.float64(1)?];
                self.v.emit(op, d, &operands, 0)
            }
            op::V_DIV_FIXUP_F64 => {
                let operands = [self.float64(2)?, self.float64(1)?];
                self.v.emit(Op::FDiv, d, &operands, 0)
            }
            op::V_DIV_SCALE_F64 => {
                // Unscaled, as in 32 bits.
                let a = self.float64(0)?;
                let never = self.v.truth(false);
                self.set_mask(instruction.scalar_dst, never);
                a
            }
            op::V_FREXP_MANT_F64 => {
                let a = self.float64(0)?;
                self.v.emit(Op::FrexpMantissa, d, &[a], 0)
            }
            op::V_FREXP_EXP_I32_F64 => {
                let a = self.float64(0)?;
                let value = self.u(Op::FrexpExponent, &[a]);
                self.set_word(value)?;
                return Ok(true);
            }
            op::V_FMA_F64 | op::V_DIV_FMAS_F64 => {
                let operands = [self.float64(0)?, self.float64(1)?, self.float64(2)?];
                self.v.emit(Op::Fma, d, &operands, 0)
            }
            op::V_TRUNC_F64
            | op::V_CEIL_F64
            | op::V_RNDNE_F64
            | op::V_FLOOR_F64
            | op::V_FRACT_F64
            | op::V_SQRT_F64
            | op::V_RSQ_F64 => {
                let op = match opcode {
                    op::V_TRUNC_F64 => Op::Trunc,
                    op::V_CEIL_F64 => Op::Ceil,
                    op::V_RNDNE_F64 => Op::RoundEven,
                    op::V_FLOOR_F64 => Op::Floor,
                    op::V_FRACT_F64 => Op::Fract,
                    op::V_SQRT_F64 => Op::Sqrt,
                    _ => Op::InverseSqrt,
                };
                let a = self.float64(0)?;
                self.v.emit(op, d, &[a], 0)
            }
            op::V_RCP_F64 => {
                let (a, one) = (self.float64(0)?, self.v.constant(d, 1.0_f64.to_bits()));
                self.v.emit(Op::FDiv, d, &[one, a], 0)
            }
            op::V_LDEXP_F64 => {
                let (a, b) = (self.float64(0)?, self.int(1)?);
                let b = self.limited(b, 2200);
                self.v.emit(Op::Ldexp, d, &[a, b], 0)
            }
            op::V_CVT_F64_F32 => {
                let a = self.float32(0)?;
                self.v.emit(Op::F32ToF64, d, &[a], 0)
            }
            op::V_CVT_F64_I32 | op::V_CVT_F64_U32 => {
                let a = self.int(0)?;
                let op = if opcode == op::V_CVT_F64_I32 {
                    Op::S32ToF64
                } else {
                    Op::U32ToF64
                };
                self.v.emit(op, d, &[a], 0)
            }
            op::V_CVT_F32_F64 => {
                let a = self.float64(0)?;
                let value = self.f(Op::F64ToF32, &[a]);
                self.set_float32(value)?;
                return Ok(true);
            }
            op::V_CVT_I32_F64 | op::V_CVT_U32_F64 => {
                let a = self.float64(0)?;
                let op = if opcode == op::V_CVT_I32_F64 {
                    Op::F64ToS32
                } else {
                    Op::F64ToU32
                };
                let value = self.u(op, &[a]);
                self.set_word(value)?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.set_float64(value)?;
        Ok(true)
    }
}
