//! Vector comparisons. The opcode's number says the type, the relation and whether EXEC is the destination.

use super::operand::Wide;
use super::variables::Variable;
use super::{Taken, Translator};
use crate::decode::Operand;
use crate::decode::is_cmpx;
use crate::decode::operand::inline_f16;
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    F16,
    F32,
    F64,
    Int16 { signed: bool },
    Int32 { signed: bool },
    Int64 { signed: bool },
    Class16,
    Class32,
    Class64,
}

/// Type and relation (0..=15 for floats, 0..=7 for integers) of a comparison, its EXEC bit cleared.
fn describe(number: u16) -> Option<(Compared, u16)> {
    let low = number & 0xf;
    Some(match number & 0xe0 {
        0x00 => (Compared::F32, low),
        0x20 => (Compared::F64, low),
        0x80 => match low {
            0..=7 => (Compared::Int32 { signed: true }, low),
            8 => (Compared::Class32, 0),
            9..=14 => (Compared::Int16 { signed: true }, low - 8),
            _ => (Compared::Class16, 0),
        },
        0xa0 => match low {
            0..=7 => (Compared::Int64 { signed: true }, low),
            8 => (Compared::Class64, 0),
            9..=14 => (Compared::Int16 { signed: false }, low - 8),
            _ => return None,
        },
        0xc0 if low < 8 => (Compared::Int32 { signed: false }, low),
        0xc0 => (Compared::F16, low - 8),
        0xe0 if low < 8 => (Compared::Int64 { signed: false }, low),
        0xe0 => (Compared::F16, low),
        _ => return None,
    })
}

impl Translator<'_> {
    pub(super) fn compare(&mut self) -> Taken {
        let instruction = self.instruction;
        let Some((ty, relation)) = describe(instruction.opcode().number() & !0x10) else {
            return Ok(false);
        };
        let truth = match ty {
            Compared::F32 => {
                let (a, b) = (self.float32(0)?, self.float32(1)?);
                self.float_relation(relation, a, b)
            }
            Compared::F16 => {
                let (a, b) = (self.float16(0)?, self.float16(1)?);
                self.float_relation(relation, a, b)
            }
            Compared::F64 => {
                let (a, b) = (self.float64(0)?, self.float64(1)?);
                self.float_relation(relation, a, b)
            }
            Compared::Int32 { signed } => {
                let (a, b) = (self.int(0)?, self.int(1)?);
                self.int_relation(relation, a, b, signed)
            }
            Compared::Int16 { signed } => {
                let (a, b) = (self.int16(0, signed)?, self.int16(1, signed)?);
                self.int_relation(relation, a, b, signed)
            }
            Compared::Int64 { signed } => {
                let wide = if signed { Wide::Signed } else { Wide::Unsigned };
                let (a, b) = (
                    self.pair_u64(instruction.src[0], wide)?,
                    self.pair_u64(instruction.src[1], wide)?,
                );
                self.int_relation(relation, a, b, signed)
            }
            Compared::Class32 | Compared::Class16 | Compared::Class64 => self.class(ty)?,
        };
        let exec = self.v.read(Variable::Exec);
        let mask = self.b(Op::LAnd, &[exec, truth]);
        let dst = if is_cmpx(instruction.row) {
            Operand::Scalar(126)
        } else {
            instruction.dst
        };
        self.set_mask(dst, mask);
        Ok(true)
    }

    fn float_relation(&mut self, relation: u16, a: Value, b: Value) -> Value {
        let truth = match relation & 7 {
            0 => self.v.truth(false),
            1 => self.b(Op::FLess, &[a, b]),
            2 => self.b(Op::FEqual, &[a, b]),
            3 => self.b(Op::FLessEqual, &[a, b]),
            4 => self.b(Op::FLess, &[b, a]),
            5 => self.b(Op::FNotEqual, &[a, b]),
            6 => self.b(Op::FLessEqual, &[b, a]),
            _ => {
                let (x, y) = (self.b(Op::IsNan, &[a]), self.b(Op::IsNan, &[b]));
                let either = self.b(Op::LOr, &[x, y]);
                self.b(Op::LNot, &[either])
            }
        };
        // The upper eight relations are the negated ones in mirrored order: u, nge, nlg, ngt, nle, neq, nlt, true.
        if relation < 8 {
            return truth;
        }
        let base = match relation & 7 {
            0 => 7,
            1 => 6,
            2 => 5,
            3 => 4,
            4 => 3,
            5 => 2,
            6 => 1,
            _ => 0,
        };
        let truth = self.float_relation(base, a, b);
        self.b(Op::LNot, &[truth])
    }

    fn int_relation(&mut self, relation: u16, a: Value, b: Value, signed: bool) -> Value {
        let (less, equal) = if signed {
            (Op::LessS, Op::LessEqualS)
        } else {
            (Op::LessU, Op::LessEqualU)
        };
        match relation {
            0 => self.v.truth(false),
            1 => self.b(less, &[a, b]),
            2 => self.b(Op::Equal, &[a, b]),
            3 => self.b(equal, &[a, b]),
            4 => self.b(less, &[b, a]),
            5 => self.b(Op::NotEqual, &[a, b]),
            6 => self.b(equal, &[b, a]),
            _ => self.v.truth(true),
        }
    }

    /// Whether the float's class is among the bits of the second source: signalling NaN, quiet NaN, -inf, -normal,
    /// -denormal, -0, +0, +denormal, +normal, +inf from bit 0 up.
    fn class(&mut self, ty: Compared) -> Result<Value, Reason> {
        // The word with the sign in bit 31, what lies below it, and the layout: exponent, mantissa, quiet bit.
        let zero = self.v.word(0);
        let (mut word, below, layout) = match ty {
            Compared::Class16 => {
                let half = match self.instruction.src[0] {
                    Operand::Float(code) => self.v.word(inline_f16(code)),
                    _ => self.int16(0, false)?,
                };
                let sixteen = self.v.word(16);
                let word = self.u(Op::Shl, &[half, sixteen]);
                (word, zero, [0x7c00_0000, 0x03ff_0000, 0x0200_0000])
            }
            Compared::Class64 => {
                let [low, high] = self.pair(self.instruction.src[0], Wide::Float)?;
                (high, low, [0x7ff0_0000, 0x000f_ffff, 0x0008_0000])
            }
            _ => (
                self.source_word(0)?,
                zero,
                [0x7f80_0000, 0x007f_ffff, 0x0040_0000],
            ),
        };
        let modifiers = self.instruction.modifiers;
        if modifiers.absolute & 1 != 0 {
            let magnitude = self.v.word(0x7fff_ffff);
            word = self.u(Op::And, &[word, magnitude]);
        }
        if modifiers.negate & 1 != 0 {
            let sign = self.v.word(0x8000_0000);
            word = self.u(Op::Xor, &[word, sign]);
        }
        let wanted = self.int(1)?;
        let [exponent_mask, mantissa_mask, quiet] = layout.map(|bits| self.v.word(bits));
        let one = self.v.word(1);
        let exponent = self.u(Op::And, &[word, exponent_mask]);
        let mantissa = self.u(Op::And, &[word, mantissa_mask]);
        let mantissa = self.u(Op::Or, &[mantissa, below]);
        let magnitude = self.u(Op::Or, &[exponent, mantissa]);
        let negative = self.b(Op::LessS, &[word, zero]);
        let full = self.b(Op::Equal, &[exponent, exponent_mask]);
        let empty = self.b(Op::Equal, &[exponent, zero]);
        let has_mantissa = self.b(Op::NotEqual, &[mantissa, zero]);
        let quiet_bits = self.u(Op::And, &[word, quiet]);
        let is_quiet = self.b(Op::NotEqual, &[quiet_bits, zero]);
        let is_zero = self.b(Op::Equal, &[magnitude, zero]);
        let [
            p_inf,
            n_inf,
            p_norm,
            n_norm,
            p_den,
            n_den,
            p_zero,
            n_zero,
            quiet_nan,
            signalling,
        ] = [9, 2, 8, 3, 7, 4, 6, 5, 1, 0].map(|bits| self.v.word(bits));
        let infinite = self.select(negative, n_inf, p_inf);
        let nan = self.select(is_quiet, quiet_nan, signalling);
        let top = self.select(has_mantissa, nan, infinite);
        let normal = self.select(negative, n_norm, p_norm);
        let denormal = self.select(negative, n_den, p_den);
        let none = self.select(negative, n_zero, p_zero);
        let small = self.select(is_zero, none, denormal);
        let index = self.select(empty, small, normal);
        let index = self.select(full, top, index);
        let bit = self.u(Op::Shr, &[wanted, index]);
        let bit = self.u(Op::And, &[bit, one]);
        Ok(self.v.emit(Op::NotEqual, Type::Bool, &[bit, zero], 0))
    }
}
