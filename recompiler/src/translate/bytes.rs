//! Vector instructions on bytes: sums of differences, averages, permutations.

use super::operand::Wide;
use super::{Taken, Translator};
use crate::decode::op;
use crate::ir::{Op, Type, Value};
use crate::refusal::Reason;

impl Translator<'_> {
    pub(super) fn bytes(&mut self) -> Taken {
        let instruction = self.instruction;
        let value = match instruction.opcode() {
            op::V_SAD_U8 | op::V_SAD_HI_U8 | op::V_MSAD_U8 => {
                let (a, b, c) = (self.int(0)?, self.int(1)?, self.int(2)?);
                let mut sum = self.byte_differences(a, b, instruction.opcode() == op::V_MSAD_U8);
                if instruction.opcode() == op::V_SAD_HI_U8 {
                    let sixteen = self.v.word(16);
                    sum = self.u(Op::Shl, &[sum, sixteen]);
                }
                self.u(Op::Add, &[sum, c])
            }
            op::V_SAD_U16 => {
                let (a, b, c) = (self.int(0)?, self.int(1)?, self.int(2)?);
                let low = self.difference(a, b, 0, 16);
                let high = self.difference(a, b, 16, 16);
                let sum = self.u(Op::Add, &[low, high]);
                self.u(Op::Add, &[sum, c])
            }
            op::V_QSAD_PK_U16_U8 | op::V_MQSAD_PK_U16_U8 => {
                let masked = instruction.opcode() == op::V_MQSAD_PK_U16_U8;
                let value = self.quad_differences(masked)?;
                self.set_u64(value)?;
                return Ok(true);
            }
            op::V_MQSAD_U32_U8 => {
                let windows = self.pair_u64(instruction.src[0], Wide::Unsigned)?;
                let reference = self.int(1)?;
                let mut sums = Vec::new();
                for window in 0..4_u8 {
                    let shift = self.v.word(8 * u32::from(window));
                    let wide = self.v.emit(Op::Shr, Type::U64, &[windows, shift], 0);
                    let a = self.u(Op::Low64, &[wide]);
                    let sum = self.byte_differences(a, reference, true);
                    let old = self.raw_at(instruction.src[2], window)?;
                    let sum = self.u(Op::Add, &[sum, old]);
                    sums.push(if instruction.modifiers.clamp {
                        let (passed, top) = (self.b(Op::LessU, &[sum, old]), self.v.word(u32::MAX));
                        self.select(passed, top, sum)
                    } else {
                        sum
                    });
                }
                for (index, &sum) in (0_u8..).zip(&sums) {
                    self.set_vector(instruction.dst, index, sum)?;
                }
                return Ok(true);
            }
            op::V_LERP_U8 => {
                // The average of each pair of bytes, rounded up where the third source's byte is odd.
                let (a, b, c) = (self.int(0)?, self.int(1)?, self.int(2)?);
                let (both, differ) = (self.u(Op::And, &[a, b]), self.u(Op::Xor, &[a, b]));
                let [halves, ones, one] = [0x7f7f_7f7f, 0x0101_0101, 1].map(|bits| self.v.word(bits));
                let half = self.u(Op::Shr, &[differ, one]);
                let half = self.u(Op::And, &[half, halves]);
                let floor = self.u(Op::Add, &[both, half]);
                let rounds = self.u(Op::And, &[differ, c]);
                let rounds = self.u(Op::And, &[rounds, ones]);
                self.u(Op::Add, &[floor, rounds])
            }
            op::V_PERM_B32 => self.permute_bytes()?,
            op::V_SAT_PK_U8_I16 => {
                let a = self.int(0)?;
                let [zero, eight, sixteen, top] = [0, 8, 16, 255].map(|bits| self.v.word(bits));
                let clamp = |this: &mut Self, at: Value| {
                    let half = this.u(Op::FieldS, &[a, at, sixteen]);
                    let half = this.u(Op::MaxS, &[half, zero]);
                    this.u(Op::MinS, &[half, top])
                };
                let (low, high) = (clamp(self, zero), clamp(self, sixteen));
                let high = self.u(Op::Shl, &[high, eight]);
                let both = self.u(Op::Or, &[low, high]);
                self.set_half(both)?;
                return Ok(true);
            }
            op::V_CVT_PK_U8_F32 => {
                let (a, b, c) = (self.float32(0)?, self.int(1)?, self.int(2)?);
                let a = self.f(Op::RoundEven, &[a]);
                let number = self.u(Op::F32ToU32, &[a]);
                let [three, top] = [3, 255].map(|bits| self.v.word(bits));
                let byte = self.u(Op::MinU, &[number, top]);
                let place = self.u(Op::And, &[b, three]);
                let place = self.u(Op::Shl, &[place, three]);
                let (byte, mask) = (self.u(Op::Shl, &[byte, place]), self.u(Op::Shl, &[top, place]));
                let mask = self.u(Op::Not, &[mask]);
                let kept = self.u(Op::And, &[c, mask]);
                self.u(Op::Or, &[kept, byte])
            }
            _ => return Ok(false),
        };
        if instruction.modifiers.clamp {
            return Err(Reason::Unsupported("clamp on this integer operation"));
        }
        self.set_word(value)?;
        Ok(true)
    }

    /// |a - b| of a field.
    fn difference(&mut self, a: Value, b: Value, offset: u32, count: u32) -> Value {
        let (offset, count) = (self.v.word(offset), self.v.word(count));
        let (a, b) = (
            self.u(Op::FieldU, &[a, offset, count]),
            self.u(Op::FieldU, &[b, offset, count]),
        );
        let (high, low) = (self.u(Op::MaxU, &[a, b]), self.u(Op::MinU, &[a, b]));
        self.u(Op::Sub, &[high, low])
    }

    /// Sum over the bytes; with `masked` without those that are zero in the reference.
    fn byte_differences(&mut self, a: Value, reference: Value, masked: bool) -> Value {
        let (zero, eight) = (self.v.word(0), self.v.word(8));
        let mut sum = zero;
        for byte in 0..4 {
            let mut one = self.difference(a, reference, 8 * byte, 8);
            if masked {
                let offset = self.v.word(8 * byte);
                let there = self.u(Op::FieldU, &[reference, offset, eight]);
                let counts = self.b(Op::NotEqual, &[there, zero]);
                one = self.select(counts, one, zero);
            }
            sum = self.u(Op::Add, &[sum, one]);
        }
        sum
    }

    /// Four sums of differences, of four windows that begin a byte apart, added to the third source's halves.
    fn quad_differences(&mut self, masked: bool) -> Result<Value, Reason> {
        let instruction = self.instruction;
        let windows = self.pair_u64(instruction.src[0], Wide::Unsigned)?;
        let reference = self.int(1)?;
        let sums = self.pair(instruction.src[2], Wide::Unsigned)?;
        let [sixteen, top] = [16, 0xffff].map(|bits| self.v.word(bits));
        let mut halves = Vec::new();
        for window in 0..4_u32 {
            let shift = self.v.word(8 * window);
            let wide = self.v.emit(Op::Shr, Type::U64, &[windows, shift], 0);
            let a = self.u(Op::Low64, &[wide]);
            let sum = self.byte_differences(a, reference, masked);
            let operands = [sums[window as usize / 2], self.v.word(16 * (window & 1)), sixteen];
            let old = self.u(Op::FieldU, &operands);
            let sum = self.u(Op::Add, &[sum, old]);
            halves.push(self.u(Op::MinU, &[sum, top]));
        }
        let mut words = Vec::new();
        for pair in halves.chunks(2) {
            let high = self.u(Op::Shl, &[pair[1], sixteen]);
            words.push(self.u(Op::Or, &[pair[0], high]));
        }
        Ok(self.v.emit(Op::Pack64, Type::U64, &words, 0))
    }

    /// Each result byte is chosen by a selector byte: 0..=3 from source 1, 4..=7 from source 0, 8..=11 a sign, 12 zero,
    /// from 13 on ones.
    fn permute_bytes(&mut self) -> Result<Value, Reason> {
        let (high, low, selectors) = (self.int(0)?, self.int(1)?, self.int(2)?);
        let known = self.v.function.constant(selectors);
        let mut result = self.v.word(0);
        for byte in 0..4 {
            let value = match known {
                Some(selectors) => self.chosen_byte(high, low, (selectors >> (8 * byte)) as u32 & 0xff),
                None => {
                    let operands = [selectors, self.v.word(8 * byte), self.v.word(8)];
                    let selector = self.u(Op::FieldU, &operands);
                    self.byte_by(high, low, selector)
                }
            };
            let shift = self.v.word(8 * byte);
            let value = self.u(Op::Shl, &[value, shift]);
            result = self.u(Op::Or, &[result, value]);
        }
        Ok(result)
    }

    fn chosen_byte(&mut self, high: Value, low: Value, selector: u32) -> Value {
        match selector {
            n @ 0..=7 => {
                let source = if n < 4 { low } else { high };
                let operands = [source, self.v.word(8 * (n & 3)), self.v.word(8)];
                self.u(Op::FieldU, &operands)
            }
            n @ 8..=11 => {
                // The sign of bytes 1 and 3 of each source, spread.
                let source = if n < 10 { low } else { high };
                let operands = [
                    source,
                    self.v.word(if n & 1 == 0 { 15 } else { 31 }),
                    self.v.word(1),
                ];
                let sign = self.u(Op::FieldS, &operands);
                let mask = self.v.word(0xff);
                self.u(Op::And, &[sign, mask])
            }
            12 => self.v.word(0),
            _ => self.v.word(0xff),
        }
    }

    /// The byte that a selector which is not known chooses.
    fn byte_by(&mut self, high: Value, low: Value, selector: Value) -> Value {
        let both = self.v.emit(Op::Pack64, Type::U64, &[low, high], 0);
        let [seven, eight, twelve, thirteen] = [7, 8, 12, 13].map(|bits| self.v.word(bits));
        let [three, four, fifteen, one, zero, ones] = [3, 4, 15, 1, 0, 0xff].map(|bits| self.v.word(bits));
        let place = self.u(Op::And, &[selector, seven]);
        let place = self.u(Op::Shl, &[place, three]);
        let byte = self.v.emit(Op::Shr, Type::U64, &[both, place], 0);
        let byte = self.u(Op::Low64, &[byte]);
        let byte = self.u(Op::And, &[byte, ones]);
        let half = self.u(Op::And, &[selector, three]);
        let place = self.u(Op::Shl, &[half, four]);
        let place = self.u(Op::Add, &[place, fifteen]);
        let sign = self.v.emit(Op::Shr, Type::U64, &[both, place], 0);
        let sign = self.u(Op::Low64, &[sign]);
        let sign = self.u(Op::And, &[sign, one]);
        let sign = self.u(Op::Sub, &[zero, sign]);
        let sign = self.u(Op::And, &[sign, ones]);
        let from_bytes = self.b(Op::LessU, &[selector, eight]);
        let from_signs = self.b(Op::LessU, &[selector, twelve]);
        let none = self.b(Op::LessU, &[selector, thirteen]);
        let constant = self.select(none, zero, ones);
        let value = self.select(from_signs, sign, constant);
        self.select(from_bytes, byte, value)
    }
}
