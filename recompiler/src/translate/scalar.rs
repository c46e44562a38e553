//! Scalar arithmetic. 64-bit logic (32-bit in waves of 32 lanes) works on words and lane masks at once.

use super::operand::Wide;
use super::variables::Variable;
use super::{Taken, Translator};
use crate::decode::{Encoding, Operand, op};
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Logic {
    And,
    Or,
    Xor,
    AndNot,
    OrNot,
    /// Not a, and b.
    NotAnd,
    NotOr,
    Nand,
    Nor,
    Xnor,
}

impl Translator<'_> {
    pub(super) fn scalar(&mut self) -> Taken {
        let instruction = self.instruction;
        match instruction.row.encoding {
            Encoding::Sop2 => self.two_sources(),
            Encoding::Sop1 => self.one_source(),
            Encoding::Sopc => self.scalar_compare(),
            _ => self.immediate(),
        }
    }

    pub(super) fn set_scalar(&mut self, value: Value) -> Result<(), Reason> {
        self.set_scalars(self.instruction.dst, &[value])
    }

    fn set_scalar_u64(&mut self, value: Value) -> Result<(), Reason> {
        let words = [self.u(Op::Low64, &[value]), self.u(Op::High64, &[value])];
        self.set_scalars(self.instruction.dst, &words)
    }

    pub(super) fn set_scc(&mut self, value: Value) {
        self.v.write(Variable::Scc, value);
    }

    pub(super) fn u64(&mut self, op: Op, operands: &[Value]) -> Value {
        self.v.emit(op, Type::U64, operands, 0)
    }

    fn logic(&mut self, logic: Logic, a: Value, b: Value) -> Value {
        let ty = self.v.function.ty(a);
        let (and, or, xor, not) = if ty == Type::Bool {
            (Op::LAnd, Op::LOr, Op::LXor, Op::LNot)
        } else {
            (Op::And, Op::Or, Op::Xor, Op::Not)
        };
        let mut e = |op: Op, operands: &[Value]| self.v.emit(op, ty, operands, 0);
        match logic {
            Logic::And => e(and, &[a, b]),
            Logic::Or => e(or, &[a, b]),
            Logic::Xor => e(xor, &[a, b]),
            Logic::AndNot => {
                let b = e(not, &[b]);
                e(and, &[a, b])
            }
            Logic::OrNot => {
                let b = e(not, &[b]);
                e(or, &[a, b])
            }
            Logic::NotAnd => {
                let a = e(not, &[a]);
                e(and, &[a, b])
            }
            Logic::NotOr => {
                let a = e(not, &[a]);
                e(or, &[a, b])
            }
            Logic::Nand => {
                let x = e(and, &[a, b]);
                e(not, &[x])
            }
            Logic::Nor => {
                let x = e(or, &[a, b]);
                e(not, &[x])
            }
            Logic::Xnor => {
                let x = e(xor, &[a, b]);
                e(not, &[x])
            }
        }
    }

    /// Whether a mask was made from a number, so that its words are the truth about it.
    pub(super) fn is_number(&self, mask: Value) -> bool {
        self.v.function.inst(mask).op == Op::InverseBallot
    }

    fn words_of(&mut self, operand: Operand, bits: u32) -> Result<Vec<Value>, Reason> {
        Ok(if bits == 64 {
            self.pair(operand, Wide::Unsigned)?.to_vec()
        } else {
            vec![self.raw(operand)?]
        })
    }

    /// Writes both faces of a result and SCC from whichever face is the original one.
    fn set_faces(
        &mut self,
        mask: Option<Value>,
        words: &[Value],
        scc: bool,
        number: bool,
    ) -> Result<(), Reason> {
        match (self.instruction.dst, mask) {
            (Operand::Scalar(126), Some(mask)) => self.v.write(Variable::Exec, mask),
            (Operand::Scalar(register), Some(mask)) if register < 124 => {
                self.v.write_faces(register, mask, words);
            }
            (dst, _) => self.set_scalars(dst, words)?,
        }
        if !scc {
            return Ok(());
        }
        match mask {
            Some(mask) if !number => {
                let any = self.any_lane(mask);
                self.set_scc(any);
            }
            _ => {
                let mut all = words[0];
                for &word in &words[1..] {
                    all = self.u(Op::Or, &[all, word]);
                }
                self.scc_non_zero(all);
            }
        }
        Ok(())
    }

    fn logic_op(&mut self, logic: Logic, bits: u32) -> Taken {
        let [a, b, _] = self.instruction.src;
        let (wa, wb) = (self.words_of(a, bits)?, self.words_of(b, bits)?);
        let words: Vec<_> = wa
            .into_iter()
            .zip(wb)
            .map(|(a, b)| self.logic(logic, a, b))
            .collect();
        let mut number = true;
        let mask = if bits == self.wave {
            let (a, b) = (self.mask(a)?, self.mask(b)?);
            number = self.is_number(a) || self.is_number(b);
            Some(self.logic(logic, a, b))
        } else {
            None
        };
        self.set_faces(mask, &words, true, number)?;
        Ok(true)
    }

    fn save_exec(&mut self, logic: Logic, keep: bool) -> Taken {
        let source = self.mask(self.instruction.src[0])?;
        let old = self.v.read(Variable::Exec);
        let new = self.logic(logic, source, old);
        if keep {
            self.set_mask(self.instruction.dst, old);
        } else {
            self.set_mask(self.instruction.dst, new);
        }
        self.v.write(Variable::Exec, new);
        let any = self.any_lane(new);
        self.set_scc(any);
        Ok(true)
    }

    fn two_sources(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        let logic = match opcode {
            op::S_AND_B32 | op::S_AND_B64 => Some(Logic::And),
            op::S_OR_B32 | op::S_OR_B64 => Some(Logic::Or),
            op::S_XOR_B32 | op::S_XOR_B64 => Some(Logic::Xor),
            op::S_ANDN2_B32 | op::S_ANDN2_B64 => Some(Logic::AndNot),
            op::S_ORN2_B32 | op::S_ORN2_B64 => Some(Logic::OrNot),
            op::S_NAND_B32 | op::S_NAND_B64 => Some(Logic::Nand),
            op::S_NOR_B32 | op::S_NOR_B64 => Some(Logic::Nor),
            op::S_XNOR_B32 | op::S_XNOR_B64 => Some(Logic::Xnor),
            _ => None,
        };
        if let Some(logic) = logic {
            return self.logic_op(logic, if instruction.row.width('d') == 2 { 64 } else { 32 });
        }
        let [a, b, _] = instruction.src;
        if instruction.row.width('d') == 2 {
            return self.two_sources_64();
        }
        if opcode == op::S_CSELECT_B32 {
            let scc = self.v.read(Variable::Scc);
            let words = [self.raw(a)?, self.raw(b)?];
            let word = self.select(scc, words[0], words[1]);
            let mask = if self.wave == 32 {
                let (a, b) = (self.mask(a)?, self.mask(b)?);
                Some(self.select(scc, a, b))
            } else {
                None
            };
            self.set_faces(mask, &[word], false, false)?;
            return Ok(true);
        }
        let (a, b) = (self.raw(a)?, self.raw(b)?);
        let zero = self.v.word(0);
        let result = match opcode {
            op::S_ADD_U32 => {
                let sum = self.u(Op::Add, &[a, b]);
                let carry = self.b(Op::LessU, &[sum, a]);
                self.set_scc(carry);
                sum
            }
            op::S_SUB_U32 => {
                let borrow = self.b(Op::LessU, &[a, b]);
                self.set_scc(borrow);
                self.u(Op::Sub, &[a, b])
            }
            op::S_ADD_I32 => {
                let sum = self.u(Op::Add, &[a, b]);
                let (x, y) = (self.u(Op::Xor, &[a, sum]), self.u(Op::Xor, &[b, sum]));
                let both = self.u(Op::And, &[x, y]);
                let overflow = self.b(Op::LessS, &[both, zero]);
                self.set_scc(overflow);
                sum
            }
            op::S_SUB_I32 => {
                let difference = self.u(Op::Sub, &[a, b]);
                let (x, y) = (self.u(Op::Xor, &[a, b]), self.u(Op::Xor, &[a, difference]));
                let both = self.u(Op::And, &[x, y]);
                let overflow = self.b(Op::LessS, &[both, zero]);
                self.set_scc(overflow);
                difference
            }
            op::S_ADDC_U32 => {
                let scc = self.v.read(Variable::Scc);
                let carry_in = self.truth_word(scc);
                let sum = self.u(Op::Add, &[a, b]);
                let first = self.b(Op::LessU, &[sum, a]);
                let total = self.u(Op::Add, &[sum, carry_in]);
                let second = self.b(Op::LessU, &[total, sum]);
                let carry = self.b(Op::LOr, &[first, second]);
                self.set_scc(carry);
                total
            }
            op::S_SUBB_U32 => {
                let scc = self.v.read(Variable::Scc);
                let borrow_in = self.truth_word(scc);
                let difference = self.u(Op::Sub, &[a, b]);
                let first = self.b(Op::LessU, &[a, b]);
                let second = self.b(Op::LessU, &[difference, borrow_in]);
                let borrow = self.b(Op::LOr, &[first, second]);
                self.set_scc(borrow);
                self.u(Op::Sub, &[difference, borrow_in])
            }
            op::S_MIN_I32 | op::S_MAX_I32 | op::S_MIN_U32 | op::S_MAX_U32 => {
                let (op, less, swap) = match opcode {
                    op::S_MIN_I32 => (Op::MinS, Op::LessS, false),
                    op::S_MAX_I32 => (Op::MaxS, Op::LessS, true),
                    op::S_MIN_U32 => (Op::MinU, Op::LessU, false),
                    _ => (Op::MaxU, Op::LessU, true),
                };
                // SCC: the first source was taken.
                let first = self.b(less, &if swap { [b, a] } else { [a, b] });
                self.set_scc(first);
                self.u(op, &[a, b])
            }
            op::S_LSHL_B32 | op::S_LSHR_B32 | op::S_ASHR_I32 => {
                let op = match opcode {
                    op::S_LSHL_B32 => Op::Shl,
                    op::S_LSHR_B32 => Op::Shr,
                    _ => Op::Sar,
                };
                let value = self.u(op, &[a, b]);
                self.scc_non_zero(value);
                value
            }
            op::S_BFM_B32 => {
                let mask = self.v.word(31);
                let (count, offset) = (self.u(Op::And, &[a, mask]), self.u(Op::And, &[b, mask]));
                let one = self.v.word(1);
                let field = self.u(Op::Shl, &[one, count]);
                let field = self.u(Op::Sub, &[field, one]);
                self.u(Op::Shl, &[field, offset])
            }
            op::S_BFE_U32 | op::S_BFE_I32 => {
                let value = self.scalar_field(a, b, opcode == op::S_BFE_I32);
                self.scc_non_zero(value);
                value
            }
            op::S_MUL_I32 => self.u(Op::Mul, &[a, b]),
            op::S_MUL_HI_U32 => self.u(Op::MulHighU, &[a, b]),
            op::S_MUL_HI_I32 => self.u(Op::MulHighS, &[a, b]),
            op::S_ABSDIFF_I32 => {
                let (x, y) = (self.u(Op::Sub, &[a, b]), self.u(Op::Sub, &[b, a]));
                let less = self.b(Op::LessS, &[a, b]);
                let value = self.select(less, y, x);
                self.scc_non_zero(value);
                value
            }
            op::S_LSHL1_ADD_U32 | op::S_LSHL2_ADD_U32 | op::S_LSHL3_ADD_U32 | op::S_LSHL4_ADD_U32 => {
                let count = u32::from(opcode.number() - op::S_LSHL1_ADD_U32.number()) + 1;
                let shift = self.v.word(count);
                let shifted = self.u(Op::Shl, &[a, shift]);
                let sum = self.u(Op::Add, &[shifted, b]);
                // The carry counts the bits that the shift dropped.
                let back = self.v.word(32 - count);
                let lost = self.u(Op::Shr, &[a, back]);
                let lost = self.b(Op::NotEqual, &[lost, zero]);
                let carry = self.b(Op::LessU, &[sum, b]);
                let scc = self.b(Op::LOr, &[lost, carry]);
                self.set_scc(scc);
                sum
            }
            op::S_PACK_LL_B32_B16 | op::S_PACK_LH_B32_B16 | op::S_PACK_HH_B32_B16 => {
                let (sixteen, low) = (self.v.word(16), self.v.word(0xffff));
                let a = if opcode == op::S_PACK_HH_B32_B16 {
                    self.u(Op::Shr, &[a, sixteen])
                } else {
                    self.u(Op::And, &[a, low])
                };
                let b = if opcode == op::S_PACK_LL_B32_B16 {
                    self.u(Op::Shl, &[b, sixteen])
                } else {
                    let high = self.v.word(0xffff_0000);
                    self.u(Op::And, &[b, high])
                };
                self.u(Op::Or, &[a, b])
            }
            _ => return Ok(false),
        };
        self.set_scalar(result)?;
        Ok(true)
    }

    /// Bits b[22:16] of a from bit b[4:0]. A field that runs past the top ends there.
    fn scalar_field(&mut self, a: Value, b: Value, signed: bool) -> Value {
        let [five, sixteen, seven, zero, limit] = [31, 16, 0x7f, 0, 32].map(|bits| self.v.word(bits));
        let offset = self.u(Op::And, &[b, five]);
        let count = self.u(Op::Shr, &[b, sixteen]);
        let count = self.u(Op::And, &[count, seven]);
        let room = self.u(Op::Sub, &[limit, offset]);
        let count = self.u(Op::MinU, &[count, room]);
        let field = self.u(if signed { Op::FieldS } else { Op::FieldU }, &[a, offset, count]);
        let none = self.b(Op::Equal, &[count, zero]);
        self.select(none, zero, field)
    }

    fn two_sources_64(&mut self) -> Taken {
        let instruction = self.instruction;
        let [a, b, _] = instruction.src;
        let result = match instruction.opcode() {
            op::S_CSELECT_B64 => {
                let scc = self.v.read(Variable::Scc);
                let (x, y) = (self.pair(a, Wide::Unsigned)?, self.pair(b, Wide::Unsigned)?);
                let words = [self.select(scc, x[0], y[0]), self.select(scc, x[1], y[1])];
                let mask = if self.wave == 64 {
                    let (a, b) = (self.mask(a)?, self.mask(b)?);
                    Some(self.select(scc, a, b))
                } else {
                    None
                };
                self.set_faces(mask, &words, false, false)?;
                return Ok(true);
            }
            op::S_LSHL_B64 | op::S_LSHR_B64 | op::S_ASHR_I64 => {
                let a = self.pair_u64(a, Wide::Signed)?;
                let (b, mask) = (self.raw(b)?, self.v.word(63));
                let count = self.u(Op::And, &[b, mask]);
                let op = match instruction.opcode() {
                    op::S_LSHL_B64 => Op::Shl,
                    op::S_LSHR_B64 => Op::Shr,
                    _ => Op::Sar,
                };
                let value = self.u64(op, &[a, count]);
                self.scc_non_zero(value);
                value
            }
            op::S_BFM_B64 => {
                let (a, b, mask) = (self.raw(a)?, self.raw(b)?, self.v.word(63));
                let (count, offset) = (self.u(Op::And, &[a, mask]), self.u(Op::And, &[b, mask]));
                let one = self.v.constant(Type::U64, 1);
                let field = self.u64(Op::Shl, &[one, count]);
                let field = self.u64(Op::Sub, &[field, one]);
                self.u64(Op::Shl, &[field, offset])
            }
            op::S_BFE_U64 | op::S_BFE_I64 => {
                // Up and down again drops what lies outside the field.
                let a = self.pair_u64(a, Wide::Unsigned)?;
                let b = self.raw(b)?;
                let [six, sixteen, seven, limit, zero] = [63, 16, 0x7f, 64, 0].map(|bits| self.v.word(bits));
                let offset = self.u(Op::And, &[b, six]);
                let count = self.u(Op::Shr, &[b, sixteen]);
                let count = self.u(Op::And, &[count, seven]);
                let room = self.u(Op::Sub, &[limit, offset]);
                let count = self.u(Op::MinU, &[count, room]);
                let above = self.u(Op::Sub, &[room, count]);
                let up = self.u64(Op::Shl, &[a, above]);
                let down = self.u(Op::Sub, &[limit, count]);
                let op = if instruction.opcode() == op::S_BFE_I64 {
                    Op::Sar
                } else {
                    Op::Shr
                };
                let field = self.u64(op, &[up, down]);
                let none = self.b(Op::Equal, &[count, zero]);
                let nothing = self.v.constant(Type::U64, 0);
                let value = self.select(none, nothing, field);
                self.scc_non_zero(value);
                value
            }
            _ => return Ok(false),
        };
        self.set_scalar_u64(result)?;
        Ok(true)
    }

    fn one_source(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        let a = instruction.src[0];
        if self.scalar_bits()? {
            return Ok(true);
        }
        match opcode {
            op::S_MOV_B64 | op::S_MOV_B32 | op::S_WQM_B64 | op::S_WQM_B32 | op::S_NOT_B64 | op::S_NOT_B32 => {
                let bits = if instruction.row.width('d') == 2 { 64 } else { 32 };
                let words = self.words_of(a, bits)?;
                let mut mask = if bits == self.wave {
                    Some(self.mask(a)?)
                } else {
                    None
                };
                let mut words: Vec<_> = words;
                let name = instruction.row.name;
                let number = mask.is_none_or(|mask| self.is_number(mask));
                if name.starts_with("S_NOT") {
                    words = words.into_iter().map(|word| self.u(Op::Not, &[word])).collect();
                    mask = mask.map(|mask| self.b(Op::LNot, &[mask]));
                }
                // Of a mask of lanes, whole quads run anyway: the device keeps helper lanes for derivatives.
                if name.starts_with("S_WQM") && number {
                    words = words.into_iter().map(|word| self.whole_quads(word)).collect();
                    mask = None;
                }
                self.set_faces(mask, &words, !name.starts_with("S_MOV"), number)?;
            }
            op::S_AND_SAVEEXEC_B64 | op::S_AND_SAVEEXEC_B32 => return self.save_exec(Logic::And, true),
            op::S_OR_SAVEEXEC_B64 | op::S_OR_SAVEEXEC_B32 => return self.save_exec(Logic::Or, true),
            op::S_XOR_SAVEEXEC_B64 | op::S_XOR_SAVEEXEC_B32 => return self.save_exec(Logic::Xor, true),
            op::S_ANDN2_SAVEEXEC_B64 | op::S_ANDN2_SAVEEXEC_B32 => {
                return self.save_exec(Logic::AndNot, true);
            }
            op::S_ORN2_SAVEEXEC_B64 | op::S_ORN2_SAVEEXEC_B32 => return self.save_exec(Logic::OrNot, true),
            op::S_NAND_SAVEEXEC_B64 | op::S_NAND_SAVEEXEC_B32 => return self.save_exec(Logic::Nand, true),
            op::S_NOR_SAVEEXEC_B64 | op::S_NOR_SAVEEXEC_B32 => return self.save_exec(Logic::Nor, true),
            op::S_XNOR_SAVEEXEC_B64 | op::S_XNOR_SAVEEXEC_B32 => return self.save_exec(Logic::Xnor, true),
            op::S_ANDN1_SAVEEXEC_B64 | op::S_ANDN1_SAVEEXEC_B32 => {
                return self.save_exec(Logic::NotAnd, true);
            }
            op::S_ORN1_SAVEEXEC_B64 | op::S_ORN1_SAVEEXEC_B32 => return self.save_exec(Logic::NotOr, true),
            op::S_ANDN1_WREXEC_B64 | op::S_ANDN1_WREXEC_B32 => return self.save_exec(Logic::NotAnd, false),
            op::S_ANDN2_WREXEC_B64 | op::S_ANDN2_WREXEC_B32 => return self.save_exec(Logic::AndNot, false),
            op::S_CMOV_B32 => {
                let scc = self.v.read(Variable::Scc);
                let (new, old) = (self.raw(a)?, self.raw(instruction.dst)?);
                let value = self.select(scc, new, old);
                self.set_scalar(value)?;
            }
            op::S_CMOV_B64 => {
                let scc = self.v.read(Variable::Scc);
                let (new, old) = (
                    self.pair(a, Wide::Unsigned)?,
                    self.pair(instruction.dst, Wide::Unsigned)?,
                );
                let words = [self.select(scc, new[0], old[0]), self.select(scc, new[1], old[1])];
                let (x, y) = (self.mask(a)?, self.mask(instruction.dst)?);
                let mask = (self.wave == 64).then(|| self.select(scc, x, y));
                self.set_faces(mask, &words, false, false)?;
            }
            op::S_BREV_B32 => {
                let a = self.raw(a)?;
                let value = self.u(Op::BitReverse, &[a]);
                self.set_scalar(value)?;
            }
            op::S_BREV_B64 => {
                let [low, high] = self.pair(a, Wide::Unsigned)?;
                let words = [self.u(Op::BitReverse, &[high]), self.u(Op::BitReverse, &[low])];
                self.set_scalars(instruction.dst, &words)?;
            }
            op::S_BCNT0_I32_B32 | op::S_BCNT1_I32_B32 | op::S_BCNT0_I32_B64 | op::S_BCNT1_I32_B64 => {
                let mut words = self.words_of(a, 32 * u32::from(instruction.row.width('a')))?;
                if matches!(opcode, op::S_BCNT0_I32_B32 | op::S_BCNT0_I32_B64) {
                    words = words.into_iter().map(|word| self.u(Op::Not, &[word])).collect();
                }
                let mut count = self.v.word(0);
                for word in words {
                    let ones = self.u(Op::BitCount, &[word]);
                    count = self.u(Op::Add, &[count, ones]);
                }
                self.set_scalar(count)?;
                self.scc_non_zero(count);
            }
            op::S_FF0_I32_B32 | op::S_FF1_I32_B32 => {
                let mut a = self.raw(a)?;
                if opcode == op::S_FF0_I32_B32 {
                    a = self.u(Op::Not, &[a]);
                }
                let value = self.u(Op::FindLow, &[a]);
                self.set_scalar(value)?;
            }
            op::S_FF0_I32_B64 | op::S_FF1_I32_B64 => {
                let [mut low, mut high] = self.pair(a, Wide::Unsigned)?;
                if opcode == op::S_FF0_I32_B64 {
                    low = self.u(Op::Not, &[low]);
                    high = self.u(Op::Not, &[high]);
                }
                let [zero, word, none] = [0, 32, u32::MAX].map(|bits| self.v.word(bits));
                let (in_low, in_high) = (self.u(Op::FindLow, &[low]), self.u(Op::FindLow, &[high]));
                let shifted = self.u(Op::Add, &[in_high, word]);
                let empty_high = self.b(Op::Equal, &[high, zero]);
                let upper = self.select(empty_high, none, shifted);
                let empty_low = self.b(Op::Equal, &[low, zero]);
                let value = self.select(empty_low, upper, in_low);
                self.set_scalar(value)?;
            }
            op::S_FLBIT_I32_B32 | op::S_FLBIT_I32 => {
                let a = self.raw(a)?;
                let value = self.leading(a, opcode == op::S_FLBIT_I32);
                self.set_scalar(value)?;
            }
            op::S_FLBIT_I32_B64 => {
                let [low, high] = self.pair(a, Wide::Unsigned)?;
                let value = self.leading_of_pair(low, high);
                self.set_scalar(value)?;
            }
            op::S_SEXT_I32_I8 | op::S_SEXT_I32_I16 => {
                let operands = [
                    self.raw(a)?,
                    self.v.word(0),
                    self.v.word(if opcode == op::S_SEXT_I32_I8 { 8 } else { 16 }),
                ];
                let value = self.u(Op::FieldS, &operands);
                self.set_scalar(value)?;
            }
            op::S_BITSET0_B32 | op::S_BITSET1_B32 => {
                let (a, old, one) = (self.raw(a)?, self.raw(instruction.dst)?, self.v.word(1));
                let bit = self.u(Op::Shl, &[one, a]);
                let value = self.logic(
                    if opcode == op::S_BITSET0_B32 {
                        Logic::AndNot
                    } else {
                        Logic::Or
                    },
                    old,
                    bit,
                );
                self.set_scalar(value)?;
            }
            op::S_BITSET0_B64 | op::S_BITSET1_B64 => {
                let (a, old) = (self.raw(a)?, self.pair_u64(instruction.dst, Wide::Unsigned)?);
                let (mask, one) = (self.v.word(63), self.v.constant(Type::U64, 1));
                let count = self.u(Op::And, &[a, mask]);
                let bit = self.u64(Op::Shl, &[one, count]);
                let value = self.logic(
                    if opcode == op::S_BITSET0_B64 {
                        Logic::AndNot
                    } else {
                        Logic::Or
                    },
                    old,
                    bit,
                );
                self.set_scalar_u64(value)?;
            }
            op::S_ABS_I32 => {
                let (a, zero) = (self.raw(a)?, self.v.word(0));
                let negative = self.u(Op::Sub, &[zero, a]);
                let value = self.u(Op::MaxS, &[a, negative]);
                self.set_scalar(value)?;
                self.scc_non_zero(value);
            }
            op::S_GETPC_B64 => {
                let base = [
                    self.v.emit(Op::ShaderBase, Type::U32, &[], 0),
                    self.v.emit(Op::ShaderBase, Type::U32, &[], 1),
                ];
                let next = self.v.word(instruction.next().0);
                let low = self.u(Op::Add, &[base[0], next]);
                let carry = self.b(Op::LessU, &[low, next]);
                let carry = self.truth_word(carry);
                let high = self.u(Op::Add, &[base[1], carry]);
                self.set_scalars(instruction.dst, &[low, high])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Zeros (or sign bits) above the highest set (or differing) bit, all ones where there is none.
    pub(super) fn leading(&mut self, a: Value, signed: bool) -> Value {
        let position = self.u(if signed { Op::FindHighS } else { Op::FindHighU }, &[a]);
        let [top, none] = [31, u32::MAX].map(|bits| self.v.word(bits));
        let count = self.u(Op::Sub, &[top, position]);
        let empty = self.b(Op::Equal, &[position, none]);
        self.select(empty, none, count)
    }
}
