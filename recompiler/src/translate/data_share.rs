//! Local data share: the group's shared memory, and lane permutes.

use super::lanes::QUAD;
use super::memory::atomic_named;
use super::variables::Variable;
use super::{Taken, Translator};
use crate::binary::Stage;
use crate::decode::{Operand, op};
use crate::ir::{AccessKind, Atomic, BufferWidth, Op, Type, Value};
use crate::refusal::Reason;

/// The scalar register M0.
pub(super) const M0: u8 = 124;

impl Translator<'_> {
    pub(super) fn data_share(&mut self) -> Taken {
        let instruction = self.instruction;
        let opcode = instruction.opcode();
        let name = instruction.row.name;
        if instruction.memory.gds {
            return Err(Reason::Unsupported("global data share"));
        }
        match opcode {
            op::DS_NOP => return Ok(true),
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
                // The bytes beside it may be another lane's, and are kept.
                let access = self.atomic_access(Atomic::Insert);
                let operands = [place, value, hole, active];
                self.v.emit(Op::AtomicShared, Type::U32, &operands, access);
            }
            op::DS_WRXCHG2_RTN_B32
            | op::DS_WRXCHG2ST64_RTN_B32
            | op::DS_WRXCHG2_RTN_B64
            | op::DS_WRXCHG2ST64_RTN_B64 => {
                let wide = name.ends_with("64");
                let stride = if wide { 8 } else { 4 } * if name.contains("ST64") { 64 } else { 1 };
                let mut values = Vec::new();
                for half in 0..2 {
                    let place = at(self, (offset >> (8 * half) & 255) * stride);
                    let data = self.shared_data(instruction.src[1 + half as usize], wide)?;
                    let old = self.shared_atomic(Atomic::Swap, place, data, data);
                    if wide {
                        values.extend([Op::Low64, Op::High64].map(|op| self.u(op, &[old])));
                    } else {
                        values.push(old);
                    }
                }
                for (index, &value) in values.iter().enumerate() {
                    self.set_vector(instruction.dst, index as u8, value)?;
                }
            }
            op::DS_READ_ADDTID_B32 | op::DS_WRITE_ADDTID_B32 => {
                // A dword for each lane, behind M0's low half.
                let (base, low) = (self.raw(Operand::Scalar(M0))?, self.v.word(0xffff));
                let base = self.u(Op::And, &[base, low]);
                let (lane, two) = (self.lane_id(), self.v.word(2));
                let own = self.u(Op::Shl, &[lane, two]);
                let place = self.u(Op::Add, &[base, own]);
                let bytes = self.v.word(offset);
                let place = self.u(Op::Add, &[place, bytes]);
                if opcode == op::DS_READ_ADDTID_B32 {
                    let value = self.u(Op::LoadShared, &[place]);
                    self.set_vector(instruction.dst, 0, value)?;
                } else {
                    let value = self.raw(instruction.src[1])?;
                    self.v
                        .emit(Op::StoreShared, Type::Void, &[place, value, active], 0);
                }
            }
            _ => return self.named_atomic(address, offset),
        }
        Ok(true)
    }

    /// Bits below a byte address in its dword.
    pub(super) fn byte_shift(&mut self, address: Value) -> Value {
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

    /// An atomic on a dword or, by the type of its data, on two.
    fn shared_atomic(&mut self, atomic: Atomic, place: Value, data: Value, comparand: Value) -> Value {
        let (access, active) = (self.atomic_access(atomic), self.active());
        let ty = self.v.function.ty(data);
        let op = if ty == Type::U64 {
            Op::AtomicShared64
        } else {
            Op::AtomicShared
        };
        self.v.emit(op, ty, &[place, data, comparand, active], access)
    }

    fn shared_data(&mut self, operand: Operand, wide: bool) -> Result<Value, Reason> {
        if wide {
            self.vector_u64(operand, 0)
        } else {
            self.raw(operand)
        }
    }

    /// Atomics by their names: `DS_`, what is done, perhaps `RTN` or `SRC2`, and the type.
    fn named_atomic(&mut self, address: Value, offset: u32) -> Taken {
        let instruction = self.instruction;
        let Some(rest) = instruction.row.name.strip_prefix("DS_") else {
            return Ok(false);
        };
        let mut parts = rest.split('_');
        let (Some(action), Some(ty)) = (parts.next(), parts.next_back()) else {
            return Ok(false);
        };
        let atomic = match (action, ty.as_bytes().first()) {
            ("ADD", Some(b'F')) => Atomic::FAdd,
            ("MIN", Some(b'F')) => Atomic::FMin,
            ("MAX", Some(b'F')) => Atomic::FMax,
            ("CMPST", Some(b'F')) => Atomic::FCompareSwap,
            ("MIN", Some(b'I')) => Atomic::SMin,
            ("MAX", Some(b'I')) => Atomic::SMax,
            ("MIN", _) => Atomic::UMin,
            ("MAX", _) => Atomic::UMax,
            ("CMPST", _) => Atomic::CompareSwap,
            ("WRXCHG" | "WRITE", _) => Atomic::Swap,
            ("RSUB", _) => Atomic::ReverseSub,
            ("MSKOR", _) => Atomic::Insert,
            ("WRAP", _) => Atomic::Wrap,
            ("ADD" | "SUB" | "AND" | "OR" | "XOR" | "INC" | "DEC", _) => match atomic_named(action) {
                Some((atomic, _)) => atomic,
                None => return Ok(false),
            },
            _ => return Ok(false),
        };
        let wide = ty.ends_with("64");
        if rest.contains("SRC2") {
            return self.two_places(atomic, address, offset, wide);
        }
        let bytes = self.v.word(offset);
        let place = self.u(Op::Add, &[address, bytes]);
        let first = self.shared_data(instruction.src[1], wide)?;
        let (data, comparand) = match atomic {
            // The comparand, or the bits to clear, come first.
            Atomic::CompareSwap | Atomic::FCompareSwap | Atomic::Insert => {
                (self.shared_data(instruction.src[2], wide)?, first)
            }
            Atomic::Wrap => (first, self.shared_data(instruction.src[2], wide)?),
            _ => (first, first),
        };
        let old = self.shared_atomic(atomic, place, data, comparand);
        match (instruction.row.width('d'), wide) {
            (0, _) => {}
            (_, true) => self.set_u64(old)?,
            (_, false) => self.set_vector(instruction.dst, 0, old)?,
        }
        Ok(true)
    }

    /// The data lies in local data share, too: as many dwords from the address as the offset says, with its sign.
    fn two_places(&mut self, atomic: Atomic, address: Value, offset: u32, wide: bool) -> Taken {
        if offset >> 15 & 1 != 0 {
            return Err(Reason::Unsupported("a distance in the address itself"));
        }
        let distance = ((offset << 17).cast_signed() >> 15).cast_unsigned();
        let mut words = [address; 2];
        for (index, word) in (0_u32..).zip(&mut words) {
            let bytes = self.v.word(distance.wrapping_add(4 * index));
            let place = self.u(Op::Add, &[address, bytes]);
            *word = self.u(Op::LoadShared, &[place]);
        }
        let data = if wide {
            self.v.emit(Op::Pack64, Type::U64, &words, 0)
        } else {
            words[0]
        };
        self.shared_atomic(atomic, address, data, data);
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
