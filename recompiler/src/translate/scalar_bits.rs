//! Scalar instructions that look at a number quad by quad or spread its bits.

use super::operand::Wide;
use super::{Taken, Translator};
use crate::decode::op;
use crate::ir::{Op, Type, Value};

impl Translator<'_> {
    pub(super) fn scalar_bits(&mut self) -> Taken {
        let instruction = self.instruction;
        let a = instruction.src[0];
        match instruction.opcode() {
            op::S_QUADMASK_B32 => {
                let a = self.raw(a)?;
                let any = self.any_of_quad(a);
                let mask = self.gather_quads(any);
                self.set_scalars(instruction.dst, &[mask])?;
                self.scc_non_zero(mask);
            }
            op::S_QUADMASK_B64 => {
                let [low, high] = self.pair(a, Wide::Unsigned)?;
                let (low, high) = (self.any_of_quad(low), self.any_of_quad(high));
                let (low, high) = (self.gather_quads(low), self.gather_quads(high));
                let (eight, zero) = (self.v.word(8), self.v.word(0));
                let high = self.u(Op::Shl, &[high, eight]);
                let mask = self.u(Op::Or, &[low, high]);
                self.set_scalars(instruction.dst, &[mask, zero])?;
                self.scc_non_zero(mask);
            }
            op::S_BITREPLICATE_B64_B32 => {
                let a = self.raw(a)?;
                let sixteen = self.v.word(16);
                let high = self.u(Op::Shr, &[a, sixteen]);
                let words = [self.spread(a), self.spread(high)];
                self.set_scalars(instruction.dst, &words)?;
            }
            op::S_FLBIT_I32_I64 => {
                let [low, high] = self.pair(a, Wide::Unsigned)?;
                // Bits that differ from the sign, counted as in an unsigned number.
                let top = self.v.word(31);
                let sign = self.u(Op::Sar, &[high, top]);
                let (low, high) = (self.u(Op::Xor, &[low, sign]), self.u(Op::Xor, &[high, sign]));
                let value = self.leading_of_pair(low, high);
                self.set_scalars(instruction.dst, &[value])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Bit 0 of each group of four is set where any of them was.
    fn any_of_quad(&mut self, word: Value) -> Value {
        let [one, two, lowest] = [1, 2, 0x1111_1111].map(|bits| self.v.word(bits));
        let next = self.u(Op::Shr, &[word, one]);
        let pairs = self.u(Op::Or, &[word, next]);
        let next = self.u(Op::Shr, &[pairs, two]);
        let quads = self.u(Op::Or, &[pairs, next]);
        self.u(Op::And, &[quads, lowest])
    }

    /// Bits 0, 4, 8 … next to each other.
    fn gather_quads(&mut self, mut word: Value) -> Value {
        for (shift, mask) in [(3, 0x0303_0303), (6, 0x000f_000f), (12, 0xff)] {
            let (shift, mask) = (self.v.word(shift), self.v.word(mask));
            let next = self.u(Op::Shr, &[word, shift]);
            let both = self.u(Op::Or, &[word, next]);
            word = self.u(Op::And, &[both, mask]);
        }
        word
    }

    /// All four bits of each group in which any was set.
    pub(super) fn whole_quads(&mut self, word: Value) -> Value {
        let any = self.any_of_quad(word);
        let fifteen = self.v.word(15);
        self.u(Op::Mul, &[any, fifteen])
    }

    /// Each of the low 16 bits twice.
    fn spread(&mut self, word: Value) -> Value {
        let low = self.v.word(0xffff);
        let mut word = self.u(Op::And, &[word, low]);
        for (shift, mask) in [
            (8, 0x00ff_00ff),
            (4, 0x0f0f_0f0f),
            (2, 0x3333_3333),
            (1, 0x5555_5555),
        ] {
            let (shift, mask) = (self.v.word(shift), self.v.word(mask));
            let next = self.u(Op::Shl, &[word, shift]);
            let both = self.u(Op::Or, &[word, next]);
            word = self.u(Op::And, &[both, mask]);
        }
        let three = self.v.word(3);
        self.u(Op::Mul, &[word, three])
    }

    /// Zeros above the highest set bit of 64, all ones where there is none.
    pub(super) fn leading_of_pair(&mut self, low: Value, high: Value) -> Value {
        let [zero, word, none] = [0, 32, u32::MAX].map(|bits| self.v.word(bits));
        let (in_low, in_high) = (self.leading(low, false), self.leading(high, false));
        let shifted = self.u(Op::Add, &[in_low, word]);
        let empty_low = self.b(Op::Equal, &[low, zero]);
        let lower = self.select(empty_low, none, shifted);
        let empty_high = self.b(Op::Equal, &[high, zero]);
        self.select(empty_high, lower, in_high)
    }

    pub(super) fn scc_non_zero(&mut self, value: Value) {
        let ty = self.v.function.ty(value);
        debug_assert!(matches!(ty, Type::U32 | Type::U64), "SCC of a number");
        let zero = self.v.constant(ty, 0);
        let truth = self.b(Op::NotEqual, &[value, zero]);
        self.set_scc(truth);
    }
}
