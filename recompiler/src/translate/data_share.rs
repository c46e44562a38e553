//! Local data share: the group's shared memory, and lane permutes.

use super::lanes::QUAD;
use super::memory::atomic_named;
use super::variables::Variable;
use super::{Taken, Translator};
use crate::binary::Stage;
use crate::decode::op;
use crate::ir::{AccessKind, Atomic, BufferWidth, Op, Type, Value};
use crate::refusal::Reason;

impl Translator<'_> {
    pub(super) fn data_share(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        let name = instruction.row.name;
        if instruction.memory.gds {
            return Err(Reason::Unsupported("global data share"));
        }
        match opcode {
            op::DS_BPERMUTE_B32 => {
                let (address, value) = (self.raw(instruction.src[0])?, self.raw(instruction.src[1])?);
                let immediate = self.v.word(instruction.memory.offset.cast_unsigned());
                let address = self.u(Op::Add, &[address, immediate]);
                let operands = [address, self.v.word(2), self.v.word(self.wave.trailing_zeros())];
                let lane = self.u(Op::FieldU, &operands);
                let (zero, exec) = (self.v.word(0), self.v.read(Variable::Exec));
                let value = self.v.emit(Op::Shuffle, Type::U32, &[value, zero, lane, exec], 0);
                self.set_vector(instruction.dst, 0, value)?;
                return Ok(true);
            }
            op::DS_SWIZZLE_B32 => return self.swizzle(),
            _ => {}
        }
        if self.stage() != Stage::Compute {
            return Err(Reason::Unsupported("local data share outside compute"));
        }
        let address = self.raw(instruction.src[0])?;
        let offset = instruction.memory.offset.cast_unsigned();
        let at = |this: &mut Self, bytes: u32| {
            let bytes = this.v.word(bytes);
            this.u(Op::Add, &[address, bytes])
        };
        let active = self.active();
        match opcode {
            op::DS_READ_B32 | op::DS_READ_B64 | op::DS_READ_B96 | op::DS_READ_B128 => {
                for index in 0..instruction.row.width('d') {
                    let place = at(self, offset + 4 * u32::from(index));
                    let value = self.u(Op::LoadShared, &[place]);
                    self.set_vector(instruction.dst, index, value)?;
                }
            }
            op::DS_WRITE_B32 | op::DS_WRITE_B64 | op::DS_WRITE_B96 | op::DS_WRITE_B128 => {
                for index in 0..instruction.row.width('b') {
                    let place = at(self, offset + 4 * u32::from(index));
                    let value = self.raw_at(instruction.src[1], index)?;
                    self.v
                        .emit(Op::StoreShared, Type::Void, &[place, value, active], 0);
                }
            }
            op::DS_READ2_B32 | op::DS_READ2_B64 | op::DS_READ2ST64_B32 | op::DS_READ2ST64_B64 => {
                let element = if name.ends_with("64") { 2 } else { 1 };
                let stride = 4 * element * if name.contains("ST64") { 64 } else { 1 };
                let mut values = Vec::new();
                for half in 0..2 {
                    let base = (offset >> (8 * half) & 255) * stride;
                    for word in 0..element {
                        let place = at(self, base + 4 * word);
                        values.push(self.u(Op::LoadShared, &[place]));
                    }
                }
                for (index, &value) in values.iter().enumerate() {
                    self.set_vector(instruction.dst, index as u8, value)?;
                }
            }
            op::DS_WRITE2_B32 | op::DS_WRITE2_B64 | op::DS_WRITE2ST64_B32 | op::DS_WRITE2ST64_B64 => {
                let element = if name.ends_with("64") { 2 } else { 1 };
                let stride = 4 * element * if name.contains("ST64") { 64 } else { 1 };
                for half in 0..2 {
                    let base = (offset >> (8 * half) & 255) * stride;
                    for word in 0..element {
                        let place = at(self, base + 4 * word);
                        let value = self.raw_at(instruction.src[1 + half as usize], word as u8)?;
                        self.v
                            .emit(Op::StoreShared, Type::Void, &[place, value, active], 0);
                    }
                }
            }
            op::DS_READ_U8
            | op::DS_READ_I8
            | op::DS_READ_U16
            | op::DS_READ_I16
            | op::DS_READ_U8_D16
            | op::DS_READ_U8_D16_HI
            | op::DS_READ_I8_D16
            | op::DS_READ_I8_D16_HI
            | op::DS_READ_U16_D16
            | op::DS_READ_U16_D16_HI => {
                let place = at(self, offset);
                let word = self.u(Op::LoadShared, &[place]);
                let shift = self.byte_shift(place);
                let bits = self.v.word(if name.contains("8") { 8 } else { 16 });
                let signed = name.starts_with("DS_READ_I");
                let value = self.u(if signed { Op::FieldS } else { Op::FieldU }, &[word, shift, bits]);
                let value = self.place_half(name, instruction.dst, value)?;
                self.set_vector(instruction.dst, 0, value)?;
            }
            op::DS_WRITE_B8 | op::DS_WRITE_B16 | op::DS_WRITE_B8_D16_HI | op::DS_WRITE_B16_D16_HI => {
                let place = at(self, offset);
                let mut value = self.raw(instruction.src[1])?;
                if name.ends_with("D16_HI") {
                    let sixteen = self.v.word(16);
                    value = self.u(Op::Shr, &[value, sixteen]);
                }
                let field = self.v.word(if name.contains("B8") { 0xff } else { 0xffff });
                let shift = self.byte_shift(place);
                let value = self.u(Op::And, &[value, field]);
                let value = self.u(Op::Shl, &[value, shift]);
                let hole = self.u(Op::Shl, &[field, shift]);
                let hole = self.u(Op::Not, &[hole]);
                // The bytes beside it may be another lane's: they are kept by changing the dword's own bits only.
                for (atomic, bits) in [(Atomic::And, hole), (Atomic::Or, value)] {
                    let access = self.atomic_access(atomic);
                    let operands = [place, bits, bits, active];
                    self.v.emit(Op::AtomicShared, Type::U32, &operands, access);
                }
            }
            op::DS_WRXCHG2_RTN_B32 | op::DS_WRXCHG2ST64_RTN_B32 => {
                let stride = 4 * if name.contains("ST64") { 64 } else { 1 };
                let mut values = Vec::new();
                for half in 0..2 {
                    let place = at(self, (offset >> (8 * half) & 255) * stride);
                    let data = self.raw(instruction.src[1 + half as usize])?;
                    let access = self.atomic_access(Atomic::Swap);
                    let operands = [place, data, data, active];
                    values.push(self.v.emit(Op::AtomicShared, Type::U32, &operands, access));
                }
                for (index, &value) in values.iter().enumerate() {
                    self.set_vector(instruction.dst, index as u8, value)?;
                }
            }
            _ => return self.shared_atomic(address, offset),
        }
        Ok(true)
    }

    /// Bits below a byte address in its dword.
    fn byte_shift(&mut self, address: Value) -> Value {
        let (three, eight) = (self.v.word(3), self.v.word(8));
        let byte = self.u(Op::And, &[address, three]);
        self.u(Op::Mul, &[byte, eight])
    }

    fn atomic_access(&mut self, atomic: Atomic) -> u64 {
        self.access(AccessKind::Buffer {
            width: BufferWidth::Dword,
            indexed: false,
            formatted: None,
            components: 1,
            d16: false,
            atomic: Some(atomic),
        })
    }

    fn shared_atomic(&mut self, address: Value, offset: u32) -> Taken {
        let instruction = self.instruction;
        let Some(rest) = instruction.row.name.strip_prefix("DS_") else {
            return Ok(false);
        };
        let mut parts = rest.split('_');
        let (Some(action), Some(ty)) = (parts.next(), parts.next_back()) else {
            return Ok(false);
        };
        let signed = ty.starts_with('I');
        let atomic = match action {
            "WRXCHG" => Some(Atomic::Swap),
            "CMPST" if ty.starts_with('B') => Some(Atomic::CompareSwap),
            "MIN" if !ty.starts_with('F') => Some(if signed { Atomic::SMin } else { Atomic::UMin }),
            "MAX" if !ty.starts_with('F') => Some(if signed { Atomic::SMax } else { Atomic::UMax }),
            "ADD" | "SUB" | "AND" | "OR" | "XOR" | "INC" | "DEC" if !ty.starts_with('F') => {
                atomic_named(action)
            }
            _ => None,
        };
        let Some(atomic) = atomic else { return Ok(false) };
        let bytes = self.v.word(offset);
        let place = self.u(Op::Add, &[address, bytes]);
        let active = self.active();
        let access = self.atomic_access(atomic);
        let returns = instruction.row.width('d') > 0;
        // Compare-and-store takes the comparand first.
        let (data, comparand) = if atomic == Atomic::CompareSwap {
            (instruction.src[2], instruction.src[1])
        } else {
            (instruction.src[1], instruction.src[1])
        };
        if ty.ends_with("64") {
            let (data, comparand) = (self.vector_u64(data, 0)?, self.vector_u64(comparand, 0)?);
            let old = self.v.emit(
                Op::AtomicShared64,
                Type::U64,
                &[place, data, comparand, active],
                access,
            );
            if returns {
                self.set_u64(old)?;
            }
        } else {
            let (data, comparand) = (self.raw(data)?, self.raw(comparand)?);
            let old = self.v.emit(
                Op::AtomicShared,
                Type::U32,
                &[place, data, comparand, active],
                access,
            );
            if returns {
                self.set_vector(instruction.dst, 0, old)?;
            }
        }
        Ok(true)
    }

    /// Swizzle modes: bit 15 a quad permutation, otherwise and/or/xor masks on the lane number in groups of 32.
    fn swizzle(&mut self) -> Taken {
        let instruction = self.instruction;
        let value = self.raw(instruction.src[0])?;
        let control = instruction.memory.offset.cast_unsigned();
        let own = self.lane_id();
        let (zero, exec) = (self.v.word(0), self.v.read(Variable::Exec));
        let (lane, quad) = if control >> 15 != 0 {
            if control & 0x7f00 != 0 {
                return Err(Reason::Unsupported("the rotating swizzle modes"));
            }
            (zero, QUAD | u64::from(control & 0xff))
        } else {
            let [and, or, xor, rest] =
                [control & 31, control >> 5 & 31, control >> 10 & 31, !31].map(|bits| self.v.word(bits));
            let lane = self.u(Op::And, &[own, and]);
            let lane = self.u(Op::Or, &[lane, or]);
            let lane = self.u(Op::Xor, &[lane, xor]);
            let group = self.u(Op::And, &[own, rest]);
            (self.u(Op::Or, &[group, lane]), 0)
        };
        let value = self
            .v
            .emit(Op::Shuffle, Type::U32, &[value, zero, lane, exec], quad);
        self.set_vector(instruction.dst, 0, value)?;
        Ok(true)
    }
}
