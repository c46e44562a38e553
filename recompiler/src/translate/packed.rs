//! Packed 16-bit arithmetic and mixed-precision multiply-add.

use super::{Taken, Translator};
use crate::decode::operand::inline_f16;
use crate::decode::{Operand, op};
use crate::ir::{Op, Value};
use crate::refusal::Reason;

impl Translator<'_> {
    pub(super) fn packed(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        if matches!(
            opcode,
            op::V_FMA_MIX_F32 | op::V_FMA_MIXLO_F16 | op::V_FMA_MIXHI_F16
        ) {
            return self.mix();
        }
        let mut halves = [None; 2];
        for (half, slot) in halves.iter_mut().enumerate() {
            *slot = match opcode {
                op::V_PK_ADD_F16
                | op::V_PK_MUL_F16
                | op::V_PK_MIN_F16
                | op::V_PK_MAX_F16
                | op::V_PK_FMA_F16 => Some(self.packed_float(half)?),
                _ => self.packed_integer(half)?,
            };
        }
        let [Some(low), Some(high)] = halves else {
            return Ok(false);
        };
        let (mask, sixteen) = (self.v.word(0xffff), self.v.word(16));
        let low = self.u(Op::And, &[low, mask]);
        let high = self.u(Op::Shl, &[high, sixteen]);
        let value = self.u(Op::Or, &[low, high]);
        self.set_vector(instruction.dst, 0, value)?;
        Ok(true)
    }

    /// The one packed instruction of the short encoding: each half of the destination is its own third source.
    pub(super) fn packed_accumulate(&mut self) -> Taken {
        let instruction = self.instruction;
        if instruction.opcode() != op::V_PK_FMAC_F16 {
            return Ok(false);
        }
        let sources = [instruction.src[0], instruction.src[1], instruction.dst];
        if !matches!(sources[0], Operand::Scalar(_) | Operand::Vector(_)) {
            return Err(Reason::Unsupported("a constant as two halves"));
        }
        let mut words = Vec::new();
        for source in sources {
            words.push(self.raw(source)?);
        }
        let halves = [Op::UnpackHalfLow, Op::UnpackHalfHigh].map(|half| {
            let parts: Vec<_> = words.iter().map(|&word| self.f(half, &[word])).collect();
            self.f(Op::Fma, &parts)
        });
        let value = self.u(Op::PackHalf, &halves);
        self.set_vector(instruction.dst, 0, value)?;
        Ok(true)
    }

    /// Which half of source `index` feeds result half `half`.
    fn upper(&self, index: usize, half: usize) -> bool {
        let modifiers = self.instruction.modifiers;
        (if half == 0 {
            modifiers.op_sel
        } else {
            modifiers.op_sel_hi
        }) >> index
            & 1
            != 0
    }

    fn half_float(&mut self, index: usize, half: usize) -> Result<Value, Reason> {
        let modifiers = self.instruction.modifiers;
        let word = match self.instruction.src[index] {
            // The constant stands in both halves.
            Operand::Float(code) => self.v.word(inline_f16(code) | inline_f16(code) << 16),
            operand => self.raw(operand)?,
        };
        let value = self.f(
            if self.upper(index, half) {
                Op::UnpackHalfHigh
            } else {
                Op::UnpackHalfLow
            },
            &[word],
        );
        let negate = if half == 0 {
            modifiers.negate
        } else {
            modifiers.negate_hi
        } >> index
            & 1
            != 0;
        Ok(if negate { self.f(Op::FNeg, &[value]) } else { value })
    }

    fn packed_float(&mut self, half: usize) -> Result<Value, Reason> {
        let opcode = self.instruction.opcode();
        let (a, b) = (self.half_float(0, half)?, self.half_float(1, half)?);
        let mut value = match opcode {
            op::V_PK_ADD_F16 => self.f(Op::FAdd, &[a, b]),
            op::V_PK_MUL_F16 => self.f(Op::FMul, &[a, b]),
            op::V_PK_MIN_F16 => self.f(Op::FMin, &[a, b]),
            op::V_PK_MAX_F16 => self.f(Op::FMax, &[a, b]),
            _ => {
                let c = self.half_float(2, half)?;
                self.f(Op::Fma, &[a, b, c])
            }
        };
        if self.instruction.modifiers.clamp {
            value = self.f(Op::Saturate, &[value]);
        }
        let zero = self.v.constant(crate::ir::Type::F32, 0);
        Ok(self.u(Op::PackHalf, &[value, zero]))
    }

    fn packed_integer(&mut self, half: usize) -> Result<Option<Value>, Reason> {
        let opcode = self.instruction.opcode();
        let (op, signed, reversed) = match opcode {
            op::V_PK_ADD_U16 => (Op::Add, false, false),
            op::V_PK_ADD_I16 => (Op::Add, true, false),
            op::V_PK_SUB_U16 => (Op::Sub, false, false),
            op::V_PK_SUB_I16 => (Op::Sub, true, false),
            op::V_PK_MUL_LO_U16 | op::V_PK_MAD_U16 => (Op::Mul, false, false),
            op::V_PK_MAD_I16 => (Op::Mul, true, false),
            op::V_PK_LSHLREV_B16 => (Op::Shl, false, true),
            op::V_PK_LSHRREV_B16 => (Op::Shr, false, true),
            op::V_PK_ASHRREV_I16 => (Op::Sar, true, true),
            op::V_PK_MAX_I16 => (Op::MaxS, true, false),
            op::V_PK_MIN_I16 => (Op::MinS, true, false),
            op::V_PK_MAX_U16 => (Op::MaxU, false, false),
            op::V_PK_MIN_U16 => (Op::MinU, false, false),
            _ => return Ok(None),
        };
        let mut sources = [None; 3];
        for (index, slot) in sources.iter_mut().enumerate() {
            if self.instruction.src[index] == Operand::None {
                continue;
            }
            let word = self.raw(self.instruction.src[index])?;
            let operands = [
                word,
                self.v.word(if self.upper(index, half) { 16 } else { 0 }),
                self.v.word(16),
            ];
            *slot = Some(self.u(if signed { Op::FieldS } else { Op::FieldU }, &operands));
        }
        let [Some(a), Some(b), c] = sources else {
            return Ok(None);
        };
        let (a, mut b) = if reversed { (b, a) } else { (a, b) };
        if reversed {
            let mask = self.v.word(15);
            b = self.u(Op::And, &[b, mask]);
        }
        let mut value = self.u(op, &[a, b]);
        if let Some(c) = c {
            value = self.u(Op::Add, &[value, c]);
        }
        if self.instruction.modifiers.clamp {
            value = self.clamp16(value, signed, c.is_some());
        }
        Ok(Some(value))
    }

    fn mix(&mut self) -> Taken {
        let instruction = self.instruction;
        let modifiers = instruction.modifiers;
        let mut sources = [self.v.constant(crate::ir::Type::F32, 0); 3];
        for (index, slot) in sources.iter_mut().enumerate() {
            let word = self.raw(instruction.src[index])?;
            // op_sel_hi says that the source is a half, op_sel which one; negate_hi is the absolute value here.
            let half = modifiers.op_sel_hi >> index & 1 != 0;
            let op = match (half, modifiers.op_sel >> index & 1 != 0) {
                (false, _) => Op::BitcastF32,
                (true, false) => Op::UnpackHalfLow,
                (true, true) => Op::UnpackHalfHigh,
            };
            let mut value = self.f(op, &[word]);
            if modifiers.negate_hi >> index & 1 != 0 {
                value = self.f(Op::FAbs, &[value]);
            }
            if modifiers.negate >> index & 1 != 0 {
                value = self.f(Op::FNeg, &[value]);
            }
            *slot = value;
        }
        let mut value = self.f(Op::Fma, &sources);
        if modifiers.clamp {
            value = self.f(Op::Saturate, &[value]);
        }
        if instruction.opcode() == op::V_FMA_MIX_F32 {
            let word = self.u(Op::BitcastU32, &[value]);
            self.set_vector(instruction.dst, 0, word)?;
            return Ok(true);
        }
        let zero = self.v.constant(crate::ir::Type::F32, 0);
        let half = self.u(Op::PackHalf, &[value, zero]);
        let old = self.raw(instruction.dst)?;
        let high = instruction.opcode() == op::V_FMA_MIXHI_F16;
        let operands = [
            self.v.word(if high { 0xffff } else { 0xffff_0000 }),
            self.v.word(if high { 16 } else { 0 }),
        ];
        let kept = self.u(Op::And, &[old, operands[0]]);
        let placed = self.u(Op::Shl, &[half, operands[1]]);
        let value = self.u(Op::Or, &[kept, placed]);
        self.set_vector(instruction.dst, 0, value)?;
        Ok(true)
    }
}
