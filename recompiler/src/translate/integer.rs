//! Vector integer arithmetic, moves and selections.

use super::operand::Wide;
use super::variables::Variable;
use super::{Taken, Translator};
use crate::decode::{Form, Operand, op};
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

impl Translator<'_> {
    pub(super) fn integer(&mut self) -> Taken {
        if self.carries()? || self.bytes()? || self.wide_integer()? || self.short_integer()? {
            return Ok(true);
        }
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        match opcode {
            op::V_NOP | op::V_PIPEFLUSH | op::V_CLREXCP => return Ok(true),
            op::V_SWAP_B32 => {
                let (a, b) = (self.raw(instruction.dst)?, self.raw(instruction.src[0])?);
                self.set_vector(instruction.dst, 0, b)?;
                self.set_vector(instruction.src[0], 0, a)?;
                return Ok(true);
            }
            op::V_CNDMASK_B32 => {
                let condition = self.mask(instruction.src[2])?;
                // Source modifiers make the moved words floats.
                let (a, b) = if instruction.modifiers.absolute | instruction.modifiers.negate != 0 {
                    let (a, b) = (self.float32(0)?, self.float32(1)?);
                    (self.u(Op::BitcastU32, &[a]), self.u(Op::BitcastU32, &[b]))
                } else {
                    (self.int(0)?, self.int(1)?)
                };
                let value = self.select(condition, b, a);
                self.set_word(value)?;
                return Ok(true);
            }
            op::V_MOV_B32 => {
                let value = if instruction.modifiers.absolute | instruction.modifiers.negate != 0 {
                    let value = self.float32(0)?;
                    self.u(Op::BitcastU32, &[value])
                } else {
                    self.int(0)?
                };
                self.set_word(value)?;
                return Ok(true);
            }
            _ => {}
        }
        let binary = match opcode {
            op::V_ADD_NC_U32 => Some((Op::Add, false)),
            op::V_SUB_NC_U32 => Some((Op::Sub, false)),
            op::V_SUBREV_NC_U32 => Some((Op::Sub, true)),
            op::V_AND_B32 => Some((Op::And, false)),
            op::V_OR_B32 => Some((Op::Or, false)),
            op::V_XOR_B32 => Some((Op::Xor, false)),
            op::V_MIN_I32 => Some((Op::MinS, false)),
            op::V_MAX_I32 => Some((Op::MaxS, false)),
            op::V_MIN_U32 => Some((Op::MinU, false)),
            op::V_MAX_U32 => Some((Op::MaxU, false)),
            op::V_LSHLREV_B32 => Some((Op::Shl, true)),
            op::V_LSHRREV_B32 => Some((Op::Shr, true)),
            op::V_ASHRREV_I32 => Some((Op::Sar, true)),
            op::V_MUL_LO_U32 | op::V_MUL_LO_I32 => Some((Op::Mul, false)),
            op::V_MUL_HI_U32 => Some((Op::MulHighU, false)),
            op::V_MUL_HI_I32 => Some((Op::MulHighS, false)),
            _ => None,
        };
        if let Some((op, reversed)) = binary {
            let (a, b) = (self.int(0)?, self.int(1)?);
            let (a, b) = if reversed { (b, a) } else { (a, b) };
            let mut value = self.u(op, &[a, b]);
            // Unsigned additions saturate under clamp.
            if instruction.modifiers.clamp {
                let (less, limit) = match op {
                    Op::Add => (self.b(Op::LessU, &[value, a]), u32::MAX),
                    Op::Sub => (self.b(Op::LessU, &[a, b]), 0),
                    _ => return Err(Reason::Unsupported("clamp on this integer operation")),
                };
                let limit = self.v.word(limit);
                value = self.select(less, limit, value);
            }
            self.set_word(value)?;
            return Ok(true);
        }
        let value = match opcode {
            op::V_XNOR_B32 => {
                let (a, b) = (self.int(0)?, self.int(1)?);
                let value = self.u(Op::Xor, &[a, b]);
                self.u(Op::Not, &[value])
            }
            op::V_NOT_B32 => {
                let a = self.int(0)?;
                self.u(Op::Not, &[a])
            }
            op::V_BFREV_B32 => {
                let a = self.int(0)?;
                self.u(Op::BitReverse, &[a])
            }
            op::V_FFBL_B32 => {
                let a = self.int(0)?;
                self.u(Op::FindLow, &[a])
            }
            op::V_FFBH_U32 | op::V_FFBH_I32 => {
                let a = self.int(0)?;
                self.leading(a, opcode == op::V_FFBH_I32)
            }
            op::V_BCNT_U32_B32 => {
                let (a, b) = (self.int(0)?, self.int(1)?);
                let count = self.u(Op::BitCount, &[a]);
                self.u(Op::Add, &[count, b])
            }
            op::V_MUL_U32_U24 | op::V_MUL_I32_I24 => {
                let signed = opcode == op::V_MUL_I32_I24;
                let (a, b) = (self.low24(0, signed)?, self.low24(1, signed)?);
                self.u(Op::Mul, &[a, b])
            }
            op::V_MAD_U32_U24 | op::V_MAD_I32_I24 => {
                let signed = opcode == op::V_MAD_I32_I24;
                let (a, b) = (self.low24(0, signed)?, self.low24(1, signed)?);
                self.narrow_mad(a, b, signed)?
            }
            op::V_MAD_U32_U16 | op::V_MAD_I32_I16 => {
                let signed = opcode == op::V_MAD_I32_I16;
                let (a, b) = (self.int16(0, signed)?, self.int16(1, signed)?);
                self.narrow_mad(a, b, signed)?
            }
            op::V_MUL_HI_U32_U24 | op::V_MUL_HI_I32_I24 => {
                let signed = opcode == op::V_MUL_HI_I32_I24;
                let (a, b) = (self.low24(0, signed)?, self.low24(1, signed)?);
                self.u(if signed { Op::MulHighS } else { Op::MulHighU }, &[a, b])
            }
            op::V_ADD_NC_I32 | op::V_SUB_NC_I32 => self.signed_sum(opcode == op::V_SUB_NC_I32)?,
            op::V_BFE_U32 | op::V_BFE_I32 => {
                let (a, b, c) = (self.int(0)?, self.int(1)?, self.int(2)?);
                let [five, limit, zero] = [31, 32, 0].map(|bits| self.v.word(bits));
                let offset = self.u(Op::And, &[b, five]);
                let count = self.u(Op::And, &[c, five]);
                let room = self.u(Op::Sub, &[limit, offset]);
                let count = self.u(Op::MinU, &[count, room]);
                let field = self.u(
                    if opcode == op::V_BFE_I32 {
                        Op::FieldS
                    } else {
                        Op::FieldU
                    },
                    &[a, offset, count],
                );
                let none = self.b(Op::Equal, &[count, zero]);
                self.select(none, zero, field)
            }
            op::V_BFI_B32 => {
                let (mask, a, b) = (self.int(0)?, self.int(1)?, self.int(2)?);
                let taken = self.u(Op::And, &[mask, a]);
                let rest = self.u(Op::Not, &[mask]);
                let rest = self.u(Op::And, &[rest, b]);
                self.u(Op::Or, &[taken, rest])
            }
            op::V_BFM_B32 => {
                let (a, b, five, one) = (self.int(0)?, self.int(1)?, self.v.word(31), self.v.word(1));
                let (count, offset) = (self.u(Op::And, &[a, five]), self.u(Op::And, &[b, five]));
                let field = self.u(Op::Shl, &[one, count]);
                let field = self.u(Op::Sub, &[field, one]);
                self.u(Op::Shl, &[field, offset])
            }
            op::V_ALIGNBIT_B32 | op::V_ALIGNBYTE_B32 => {
                let (high, low, count) = (self.int(0)?, self.int(1)?, self.int(2)?);
                let count = if opcode == op::V_ALIGNBIT_B32 {
                    let five = self.v.word(31);
                    self.u(Op::And, &[count, five])
                } else {
                    let (three, eight) = (self.v.word(3), self.v.word(8));
                    let bytes = self.u(Op::And, &[count, three]);
                    self.u(Op::Mul, &[bytes, eight])
                };
                let wide = self.v.emit(Op::Pack64, Type::U64, &[low, high], 0);
                let wide = self.v.emit(Op::Shr, Type::U64, &[wide, count], 0);
                self.u(Op::Low64, &[wide])
            }
            op::V_MIN3_I32 | op::V_MIN3_U32 | op::V_MAX3_I32 | op::V_MAX3_U32 => {
                let op = match opcode {
                    op::V_MIN3_I32 => Op::MinS,
                    op::V_MIN3_U32 => Op::MinU,
                    op::V_MAX3_I32 => Op::MaxS,
                    _ => Op::MaxU,
                };
                self.three(op, op)?
            }
            op::V_MED3_I32 | op::V_MED3_U32 => {
                let (min, max) = if opcode == op::V_MED3_I32 {
                    (Op::MinS, Op::MaxS)
                } else {
                    (Op::MinU, Op::MaxU)
                };
                let (a, b, c) = (self.int(0)?, self.int(1)?, self.int(2)?);
                let (low, high) = (self.u(min, &[a, b]), self.u(max, &[a, b]));
                let upper = self.u(min, &[high, c]);
                self.u(max, &[low, upper])
            }
            op::V_ADD3_U32 => self.three(Op::Add, Op::Add)?,
            op::V_OR3_B32 => self.three(Op::Or, Op::Or)?,
            op::V_XOR3_B32 => self.three(Op::Xor, Op::Xor)?,
            op::V_AND_OR_B32 => self.three(Op::And, Op::Or)?,
            op::V_LSHL_ADD_U32 => self.three(Op::Shl, Op::Add)?,
            op::V_LSHL_OR_B32 => self.three(Op::Shl, Op::Or)?,
            op::V_ADD_LSHL_U32 => self.three(Op::Add, Op::Shl)?,
            op::V_XAD_U32 => self.three(Op::Xor, Op::Add)?,
            op::V_SAD_U32 => {
                let (a, b, c) = (self.int(0)?, self.int(1)?, self.int(2)?);
                let (high, low) = (self.u(Op::MaxU, &[a, b]), self.u(Op::MinU, &[a, b]));
                let difference = self.u(Op::Sub, &[high, low]);
                self.u(Op::Add, &[difference, c])
            }
            op::V_CVT_PK_U16_U32 | op::V_CVT_PK_I16_I32 => {
                let (a, b) = (self.int(0)?, self.int(1)?);
                let signed = opcode == op::V_CVT_PK_I16_I32;
                let clamp = |this: &mut Self, value| {
                    if signed {
                        let (low, high) = (this.v.word(0xffff_8000), this.v.word(0x7fff));
                        let value = this.u(Op::MaxS, &[value, low]);
                        this.u(Op::MinS, &[value, high])
                    } else {
                        let high = this.v.word(0xffff);
                        this.u(Op::MinU, &[value, high])
                    }
                };
                let (a, b) = (clamp(self, a), clamp(self, b));
                let (low, sixteen) = (self.v.word(0xffff), self.v.word(16));
                let a = self.u(Op::And, &[a, low]);
                let b = self.u(Op::Shl, &[b, sixteen]);
                self.u(Op::Or, &[a, b])
            }
            _ => return Ok(false),
        };
        let clamped = matches!(
            opcode,
            op::V_ADD_NC_I32
                | op::V_SUB_NC_I32
                | op::V_MAD_U32_U24
                | op::V_MAD_I32_I24
                | op::V_MAD_U32_U16
                | op::V_MAD_I32_I16
        );
        if instruction.modifiers.clamp && !clamped {
            return Err(Reason::Unsupported("clamp on this integer operation"));
        }
        self.set_word(value)?;
        Ok(true)
    }

    /// A product of short factors, added to the third source. Clamp saturates the sum.
    fn narrow_mad(&mut self, a: Value, b: Value, signed: bool) -> Result<Value, Reason> {
        let c = self.int(2)?;
        if !self.instruction.modifiers.clamp {
            let product = self.u(Op::Mul, &[a, b]);
            return Ok(self.u(Op::Add, &[product, c]));
        }
        let extend = if signed { Op::SignExtend } else { Op::ZeroExtend };
        let [a, b, c] = [a, b, c].map(|word| self.v.emit(extend, Type::U64, &[word], 0));
        let product = self.v.emit(Op::Mul, Type::U64, &[a, b], 0);
        let sum = self.v.emit(Op::Add, Type::U64, &[product, c], 0);
        let (low, high) = if signed {
            (
                i64::from(i32::MIN).cast_unsigned(),
                i64::from(i32::MAX).cast_unsigned(),
            )
        } else {
            (0, u64::from(u32::MAX))
        };
        let (least, most) = (self.v.constant(Type::U64, low), self.v.constant(Type::U64, high));
        let sum = if signed {
            let sum = self.v.emit(Op::MaxS, Type::U64, &[sum, least], 0);
            self.v.emit(Op::MinS, Type::U64, &[sum, most], 0)
        } else {
            self.v.emit(Op::MinU, Type::U64, &[sum, most], 0)
        };
        Ok(self.u(Op::Low64, &[sum]))
    }

    fn three(&mut self, first: Op, second: Op) -> Result<Value, Reason> {
        let (a, b, c) = (self.int(0)?, self.int(1)?, self.int(2)?);
        let value = self.u(first, &[a, b]);
        Ok(self.u(second, &[value, c]))
    }

    fn low24(&mut self, index: usize, signed: bool) -> Result<Value, Reason> {
        let operands = [self.int(index)?, self.v.word(0), self.v.word(24)];
        Ok(self.u(if signed { Op::FieldS } else { Op::FieldU }, &operands))
    }

    /// Signed sum or difference; clamp saturates it.
    fn signed_sum(&mut self, subtract: bool) -> Result<Value, Reason> {
        let (a, b) = (self.int(0)?, self.int(1)?);
        let sum = self.u(if subtract { Op::Sub } else { Op::Add }, &[a, b]);
        if !self.instruction.modifiers.clamp {
            return Ok(sum);
        }
        let x = self.u(Op::Xor, &[a, sum]);
        let y = self.u(Op::Xor, &if subtract { [a, b] } else { [b, sum] });
        let both = self.u(Op::And, &[x, y]);
        let [zero, top, lowest] = [0, 31, 0x8000_0000].map(|bits| self.v.word(bits));
        let overflow = self.b(Op::LessS, &[both, zero]);
        // A wrapped sum that looks negative was too large, and the other way round.
        let sign = self.u(Op::Sar, &[sum, top]);
        let limit = self.u(Op::Xor, &[sign, lowest]);
        Ok(self.select(overflow, limit, sum))
    }

    /// Additions with carry in or out.
    fn carries(&mut self) -> Taken {
        let instruction = self.instruction;
        let (subtract, reversed, carry_in) = match instruction.opcode() {
            op::V_ADD_CO_U32 => (false, false, false),
            op::V_SUB_CO_U32 => (true, false, false),
            op::V_SUBREV_CO_U32 => (true, true, false),
            op::V_ADD_CO_CI_U32 => (false, false, true),
            op::V_SUB_CO_CI_U32 => (true, false, true),
            op::V_SUBREV_CO_CI_U32 => (true, true, true),
            _ => return Ok(false),
        };
        let (a, b) = (self.int(0)?, self.int(1)?);
        let (a, b) = if reversed { (b, a) } else { (a, b) };
        let (op, less) = if subtract {
            (Op::Sub, [a, b])
        } else {
            (Op::Add, [a, a])
        };
        let mut value = self.u(op, &[a, b]);
        let mut carry = if subtract {
            self.b(Op::LessU, &less)
        } else {
            self.b(Op::LessU, &[value, a])
        };
        if carry_in {
            let mask = self.mask(instruction.src[2])?;
            let bit = self.truth_word(mask);
            let next = self.u(op, &[value, bit]);
            let second = if subtract {
                self.b(Op::LessU, &[value, bit])
            } else {
                self.b(Op::LessU, &[next, value])
            };
            carry = self.b(Op::LOr, &[carry, second]);
            value = next;
        }
        if instruction.modifiers.clamp {
            let limit = self.v.word(if subtract { 0 } else { u32::MAX });
            value = self.select(carry, limit, value);
        }
        self.set_word(value)?;
        self.set_lane_mask(instruction.scalar_dst, carry);
        Ok(true)
    }

    fn wide_integer(&mut self) -> Taken {
        let instruction = self.instruction;
        let value = match instruction.opcode() {
            op::V_LSHLREV_B64 | op::V_LSHRREV_B64 | op::V_ASHRREV_I64 => {
                let (count, mask) = (self.int(0)?, self.v.word(63));
                let count = self.u(Op::And, &[count, mask]);
                let value = self.pair_u64(instruction.src[1], Wide::Signed)?;
                let op = match instruction.opcode() {
                    op::V_LSHLREV_B64 => Op::Shl,
                    op::V_LSHRREV_B64 => Op::Shr,
                    _ => Op::Sar,
                };
                self.v.emit(op, Type::U64, &[value, count], 0)
            }
            op::V_MAD_U64_U32 | op::V_MAD_I64_I32 => {
                let signed = instruction.opcode() == op::V_MAD_I64_I32;
                let extend = if signed { Op::SignExtend } else { Op::ZeroExtend };
                let (a, b) = (self.int(0)?, self.int(1)?);
                let (a, b) = (
                    self.v.emit(extend, Type::U64, &[a], 0),
                    self.v.emit(extend, Type::U64, &[b], 0),
                );
                let c = self.pair_u64(
                    instruction.src[2],
                    if signed { Wide::Signed } else { Wide::Unsigned },
                )?;
                let product = self.v.emit(Op::Mul, Type::U64, &[a, b], 0);
                let sum = self.v.emit(Op::Add, Type::U64, &[product, c], 0);
                if instruction.scalar_dst != Operand::Scalar(125) {
                    let carry = self.b(Op::LessU, &[sum, product]);
                    self.set_lane_mask(instruction.scalar_dst, carry);
                }
                sum
            }
            _ => return Ok(false),
        };
        self.set_u64(value)?;
        Ok(true)
    }

    /// 16-bit integer arithmetic of the long form.
    fn short_integer(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        let (op, signed, reversed) = match opcode {
            op::V_ADD_NC_U16 => (Op::Add, false, false),
            op::V_SUB_NC_U16 => (Op::Sub, false, false),
            op::V_ADD_NC_I16 => (Op::Add, true, false),
            op::V_SUB_NC_I16 => (Op::Sub, true, false),
            op::V_MUL_LO_U16 => (Op::Mul, false, false),
            op::V_LSHLREV_B16 => (Op::Shl, false, true),
            op::V_LSHRREV_B16 => (Op::Shr, false, true),
            op::V_ASHRREV_I16 => (Op::Sar, true, true),
            op::V_MAX_U16 => (Op::MaxU, false, false),
            op::V_MAX_I16 => (Op::MaxS, true, false),
            op::V_MIN_U16 => (Op::MinU, false, false),
            op::V_MIN_I16 => (Op::MinS, true, false),
            op::V_MAD_U16 => (Op::Mul, false, false),
            op::V_MAD_I16 => (Op::Mul, true, false),
            op::V_MIN3_I16 => (Op::MinS, true, false),
            op::V_MAX3_I16 => (Op::MaxS, true, false),
            op::V_MIN3_U16 => (Op::MinU, false, false),
            op::V_MAX3_U16 => (Op::MaxU, false, false),
            op::V_MED3_I16 => (Op::MinS, true, false),
            op::V_MED3_U16 => (Op::MinU, false, false),
            _ => return Ok(false),
        };
        let (a, b) = (self.int16(0, signed)?, self.int16(1, signed)?);
        let (a, mut b) = if reversed { (b, a) } else { (a, b) };
        if reversed {
            let mask = self.v.word(15);
            b = self.u(Op::And, &[b, mask]);
        }
        let mut value = self.u(op, &[a, b]);
        match opcode {
            op::V_MAD_U16 | op::V_MAD_I16 => {
                let c = self.int16(2, signed)?;
                value = self.u(Op::Add, &[value, c]);
            }
            op::V_MIN3_I16 | op::V_MAX3_I16 | op::V_MIN3_U16 | op::V_MAX3_U16 => {
                let c = self.int16(2, signed)?;
                value = self.u(op, &[value, c]);
            }
            op::V_MED3_I16 | op::V_MED3_U16 => {
                let c = self.int16(2, signed)?;
                let most = if signed { Op::MaxS } else { Op::MaxU };
                let high = self.u(most, &[a, b]);
                let upper = self.u(op, &[high, c]);
                value = self.u(most, &[value, upper]);
            }
            _ => {}
        }
        if instruction.modifiers.clamp && matches!(instruction.form, Form::Long) {
            // Sums of unsigned products may look negative.
            let products = matches!(opcode, op::V_MAD_U16 | op::V_MAD_I16);
            value = self.clamp16(value, signed, products);
        }
        self.set_half(value)?;
        Ok(true)
    }

    /// A number made of extended 16-bit ones, saturated. Unsigned ones are a difference, which may be negative, or, with
    /// `large`, one of all 32 bits.
    pub(super) fn clamp16(&mut self, value: Value, signed: bool, large: bool) -> Value {
        if large && !signed {
            let high = self.v.word(0xffff);
            return self.u(Op::MinU, &[value, high]);
        }
        let (low, high) = if signed {
            (0xffff_8000, 0x7fff)
        } else {
            (0, 0xffff)
        };
        let (low, high) = (self.v.word(low), self.v.word(high));
        let value = self.u(Op::MaxS, &[value, low]);
        self.u(Op::MinS, &[value, high])
    }

    /// Reads EXEC as a per-lane truth.
    pub(super) fn active(&mut self) -> Value {
        self.v.read(Variable::Exec)
    }
}
