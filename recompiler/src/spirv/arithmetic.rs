//! Pure operations.

use super::{Emitted, Emitter};
use crate::binary::Features;
use crate::ir::{Inst, Op, Type};
use crate::refusal::Reason;
use rspirv::spirv::{GlslStd450Op as GLOp, Op as S, Word};

impl Emitter<'_> {
    pub(super) fn arithmetic(&mut self, inst: &Inst) -> Emitted {
        if matches!(inst.ty, Type::U64) {
            self.need_feature(Features::INT64, "64-bit integers")?;
        }
        if matches!(inst.ty, Type::F64) {
            self.need_feature(Features::FLOAT64, "64-bit floats")?;
        }
        let x: Vec<Word> = inst.operands.iter().map(|operand| self.id(*operand)).collect();
        let ty = self.ty(inst.ty);
        if let Some(opcode) = plain(inst.op) {
            return self.op(opcode, ty, &x);
        }
        if let Some(instruction) = extended(inst.op) {
            return self.ext(ty, instruction, &x);
        }
        let wide = matches!(inst.ty, Type::U64 | Type::F64);
        match inst.op {
            Op::Pack64 => {
                let pair = self.vector(Type::U32, 2);
                let vector = self.op(S::CompositeConstruct, pair, &x)?;
                self.op(S::Bitcast, ty, &[vector])
            }
            Op::Low64 => self.op(S::UConvert, ty, &x),
            Op::High64 => {
                let (long, shift) = (self.ty(Type::U64), self.word(32));
                let high = self.op(S::ShiftRightLogical, long, &[x[0], shift])?;
                self.op(S::UConvert, ty, &[high])
            }
            Op::Shl | Op::Shr | Op::Sar => {
                let opcode = match inst.op {
                    Op::Shl => S::ShiftLeftLogical,
                    Op::Shr => S::ShiftRightLogical,
                    _ => S::ShiftRightArithmetic,
                };
                let limit = if wide { 63 } else { 31 };
                let count = match self.known(x[1]) {
                    Some(count) => self.word(count & limit),
                    None => {
                        let (word, mask) = (self.u32(), self.word(limit));
                        self.op(S::BitwiseAnd, word, &[x[1], mask])?
                    }
                };
                self.op(opcode, ty, &[x[0], count])
            }
            Op::MulHighU | Op::MulHighS => {
                let pair = self.b.type_struct([ty, ty]);
                let opcode = if inst.op == Op::MulHighU {
                    S::UMulExtended
                } else {
                    S::SMulExtended
                };
                let both = self.op(opcode, pair, &x)?;
                let operands = vec![
                    rspirv::dr::Operand::IdRef(both),
                    rspirv::dr::Operand::LiteralBit32(1),
                ];
                self.op_with(S::CompositeExtract, ty, operands)
            }
            Op::Saturate => {
                let (zero, one) = if inst.ty == Type::F64 {
                    (
                        self.constant(Type::F64, 0),
                        self.constant(Type::F64, 1.0_f64.to_bits()),
                    )
                } else {
                    (self.float(0.0), self.float(1.0))
                };
                self.ext(ty, GLOp::NClamp, &[x[0], zero, one])
            }
            Op::FrexpMantissa | Op::FrexpExponent => {
                // The mantissa lies in 0.5..1, as on the guest; infinities and NaN pass through there.
                let source = self.function.ty(inst.operands[0]);
                let (float, word) = (self.ty(source), self.u32());
                let pair = self.b.type_struct([float, word]);
                let both = self.ext(pair, GLOp::FrexpStruct, &x)?;
                let index = u32::from(inst.op == Op::FrexpExponent);
                let operands = vec![
                    rspirv::dr::Operand::IdRef(both),
                    rspirv::dr::Operand::LiteralBit32(index),
                ];
                let part = self.op_with(S::CompositeExtract, ty, operands)?;
                // The guest's exponent of what is infinite or no number is 0, and its mantissa is the number; SPIR-V
                // leaves both undefined.
                let truth = self.truth();
                let size = self.ext(float, GLOp::FAbs, &x)?;
                let infinity = match source {
                    Type::F64 => self.constant(Type::F64, f64::INFINITY.to_bits()),
                    _ => self.float(f32::INFINITY),
                };
                let finite = self.op(S::FOrdLessThan, truth, &[size, infinity])?;
                let otherwise = if index == 1 { self.word(0) } else { x[0] };
                self.op(S::Select, ty, &[finite, part, otherwise])
            }
            Op::Fract => {
                // x - floor(x), kept below 1.
                let floor = self.ext(ty, GLOp::Floor, &x)?;
                let rest = self.op(S::FSub, ty, &[x[0], floor])?;
                // Of an infinity it is NaN.
                let (one, below) = if wide {
                    let one = 1.0_f64;
                    (
                        self.constant(Type::F64, one.to_bits()),
                        self.constant(Type::F64, one.next_down().to_bits()),
                    )
                } else {
                    (self.float(1.0), self.constant(Type::F32, 0x3f7f_ffff))
                };
                let truth = self.truth();
                let reached = self.op(S::FOrdGreaterThanEqual, truth, &[rest, one])?;
                self.op(S::Select, ty, &[reached, below, rest])
            }
            Op::F32ToU32 | Op::F32ToS32 | Op::F64ToU32 | Op::F64ToS32 => self.saturating_integer(inst, x[0]),
            Op::PackHalf | Op::PackSnorm16 | Op::PackUnorm16 => {
                let pair = self.vector(Type::F32, 2);
                let vector = self.op(S::CompositeConstruct, pair, &x)?;
                let instruction = match inst.op {
                    Op::PackHalf => GLOp::PackHalf2x16,
                    Op::PackSnorm16 => GLOp::PackSnorm2x16,
                    _ => GLOp::PackUnorm2x16,
                };
                self.ext(ty, instruction, &[vector])
            }
            Op::PackHalfZero => self.pack_toward_zero(&x),
            Op::UnpackHalfLow | Op::UnpackHalfHigh => {
                let index = u32::from(inst.op == Op::UnpackHalfHigh);
                self.unpack_half(x[0], index)
            }
            _ => Err(Reason::Internal(format!("`{}` has no SPIR-V", inst.op.text()))),
        }
    }

    /// Two halves, rounded toward zero: rounded somehow, and one unit less where that went away from zero. That holds for
    /// denormal halves, and for numbers too large.
    fn pack_toward_zero(&mut self, x: &[Word]) -> Emitted {
        let (floats, words, word) = (self.vector(Type::F32, 2), self.vector(Type::U32, 2), self.u32());
        let truth = self.truth();
        let truths = self.vector_of(truth, 2);
        let both = self.op(S::CompositeConstruct, floats, x)?;
        let packed = self.ext(word, GLOp::PackHalf2x16, &[both])?;
        let back = self.ext(floats, GLOp::UnpackHalf2x16, &[packed])?;
        let (size, back) = (
            self.ext(floats, GLOp::FAbs, &[both])?,
            self.ext(floats, GLOp::FAbs, &[back])?,
        );
        let away = self.op(S::FOrdLessThan, truths, &[size, back])?;
        let (zero, low, high) = (self.word(0), self.word(1), self.word(1 << 16));
        let units = self.b.constant_composite(words, [low, high]);
        let none = self.b.constant_composite(words, [zero, zero]);
        let less = self.op(S::Select, words, &[away, units, none])?;
        let mut result = packed;
        for index in 0..2 {
            let operands = vec![
                rspirv::dr::Operand::IdRef(less),
                rspirv::dr::Operand::LiteralBit32(index),
            ];
            let unit = self.op_with(S::CompositeExtract, word, operands)?;
            result = self.op(S::ISub, word, &[result, unit])?;
        }
        Ok(result)
    }

    /// The half in the low (index 0) or high bits of a word. The high one is shifted down first: Mesa 22.3 folds the
    /// second component of UnpackHalf2x16 of a constant to 0.
    pub(super) fn unpack_half(&mut self, word: Word, index: u32) -> Emitted {
        let (pair, float) = (self.vector(Type::F32, 2), self.f32());
        let mut word = word;
        if index == 1 {
            let (ty, sixteen) = (self.u32(), self.constant(Type::U32, 16));
            word = self.op(S::ShiftRightLogical, ty, &[word, sixteen])?;
        }
        let both = self.ext(pair, GLOp::UnpackHalf2x16, &[word])?;
        let operands = vec![
            rspirv::dr::Operand::IdRef(both),
            rspirv::dr::Operand::LiteralBit32(0),
        ];
        self.op_with(S::CompositeExtract, float, operands)
    }

    /// Saturating conversion; NaN becomes 0. SPIR-V leaves values out of range undefined.
    fn saturating_integer(&mut self, inst: &Inst, x: Word) -> Emitted {
        let source = self.function.ty(inst.operands[0]);
        let signed = matches!(inst.op, Op::F32ToS32 | Op::F64ToS32);
        let (float, word, truth) = (self.ty(source), self.u32(), self.truth());
        let constant = |this: &mut Self, value: f64| match source {
            Type::F64 => this.constant(Type::F64, value.to_bits()),
            _ => this.float(value as f32),
        };
        let (low, high, over) = if signed {
            (-2_147_483_648.0, 2_147_483_648.0, 0x7fff_ffff)
        } else {
            (0.0, 4_294_967_296.0, u32::MAX)
        };
        let (low, high, zero) = (constant(self, low), constant(self, high), self.word(0));
        let clamped = self.ext(float, GLOp::NMax, &[x, low])?;
        let converted = self.op(
            if signed { S::ConvertFToS } else { S::ConvertFToU },
            word,
            &[clamped],
        )?;
        let too_high = self.op(S::FOrdGreaterThanEqual, truth, &[x, high])?;
        let over = self.word(over);
        let limited = self.op(S::Select, word, &[too_high, over, converted])?;
        if !signed {
            // NMax took NaN to 0 already.
            return Ok(limited);
        }
        let nan = self.op(S::IsNan, truth, &[x])?;
        self.op(S::Select, word, &[nan, zero, limited])
    }
}

/// Operations that are one SPIR-V instruction on the same operands.
fn plain(op: Op) -> Option<S> {
    Some(match op {
        Op::Select => S::Select,
        Op::BitcastF32 | Op::BitcastU32 | Op::BitcastF64 | Op::BitcastU64 => S::Bitcast,
        Op::ZeroExtend => S::UConvert,
        Op::SignExtend => S::SConvert,
        Op::Add => S::IAdd,
        Op::Sub => S::ISub,
        Op::Mul => S::IMul,
        Op::And => S::BitwiseAnd,
        Op::Or => S::BitwiseOr,
        Op::Xor => S::BitwiseXor,
        Op::Not => S::Not,
        Op::FieldU => S::BitFieldUExtract,
        Op::FieldS => S::BitFieldSExtract,
        Op::BitReverse => S::BitReverse,
        Op::BitCount => S::BitCount,
        Op::Equal => S::IEqual,
        Op::NotEqual => S::INotEqual,
        Op::LessU => S::ULessThan,
        Op::LessEqualU => S::ULessThanEqual,
        Op::LessS => S::SLessThan,
        Op::LessEqualS => S::SLessThanEqual,
        Op::FEqual => S::FOrdEqual,
        Op::FNotEqual => S::FOrdNotEqual,
        Op::FLess => S::FOrdLessThan,
        Op::FLessEqual => S::FOrdLessThanEqual,
        Op::IsNan => S::IsNan,
        Op::LAnd => S::LogicalAnd,
        Op::LOr => S::LogicalOr,
        Op::LXor => S::LogicalNotEqual,
        Op::LNot => S::LogicalNot,
        Op::FAdd => S::FAdd,
        Op::FSub => S::FSub,
        Op::FMul => S::FMul,
        Op::FDiv => S::FDiv,
        Op::FNeg => S::FNegate,
        Op::U32ToF32 | Op::U32ToF64 => S::ConvertUToF,
        Op::S32ToF32 | Op::S32ToF64 => S::ConvertSToF,
        Op::F32ToF64 | Op::F64ToF32 => S::FConvert,
        _ => return None,
    })
}

/// Operations that are one instruction of the GLSL set.
fn extended(op: Op) -> Option<GLOp> {
    Some(match op {
        Op::MinU => GLOp::UMin,
        Op::MaxU => GLOp::UMax,
        Op::MinS => GLOp::SMin,
        Op::MaxS => GLOp::SMax,
        Op::FindLow => GLOp::FindILsb,
        Op::FindHighU => GLOp::FindUMsb,
        Op::FindHighS => GLOp::FindSMsb,
        Op::Fma => GLOp::Fma,
        Op::FAbs => GLOp::FAbs,
        Op::FMin => GLOp::NMin,
        Op::FMax => GLOp::NMax,
        Op::Floor => GLOp::Floor,
        Op::Ceil => GLOp::Ceil,
        Op::Trunc => GLOp::Trunc,
        Op::RoundEven => GLOp::RoundEven,
        Op::Sqrt => GLOp::Sqrt,
        Op::InverseSqrt => GLOp::InverseSqrt,
        Op::Exp2 => GLOp::Exp2,
        Op::Log2 => GLOp::Log2,
        Op::Sin => GLOp::Sin,
        Op::Cos => GLOp::Cos,
        Op::Ldexp => GLOp::Ldexp,
        _ => return None,
    })
}
