//! FLAT and GLOBAL instructions through guest pointers.

use super::memory::atomic_named;
use super::memory::load_width;
use super::{Taken, Translator};
use crate::decode::{Encoding, Operand};
use crate::ir::{AccessKind, BufferWidth, Op, Type, Value};
use crate::refusal::Reason;

impl Translator<'_> {
    /// `what` is the name behind the encoding's: `LOAD_DWORD` and so on.
    pub(super) fn pointer(&mut self, what: &str) -> Taken {
        let instruction = self.instruction;
        let address = self.guest_address()?;
        let kind = |width, atomic| AccessKind::Pointer { width, atomic };
        if let Some(what) = what.strip_prefix("LOAD_") {
            let Some((width, signed)) = load_width(what) else {
                return Ok(false);
            };
            let mut values = Vec::new();
            for index in 0..instruction.row.width('d') {
                let place = self.further(address, u32::from(index));
                let access = self.access(kind(width, None));
                let mut value = self.v.emit(Op::LoadPointer, Type::U32, &[place], access);
                if signed {
                    let bits = if width == BufferWidth::Byte { 8 } else { 16 };
                    let operands = [value, self.v.word(0), self.v.word(bits)];
                    value = self.u(Op::FieldS, &operands);
                }
                values.push(self.place_half(what, instruction.dst, value)?);
            }
            for (index, &value) in values.iter().enumerate() {
                self.set_vector(instruction.dst, index as u8, value)?;
            }
            return Ok(true);
        }
        let active = self.active();
        if let Some(what) = what.strip_prefix("STORE_") {
            let width = match what.split('_').next() {
                Some("BYTE") => BufferWidth::Byte,
                Some("SHORT") => BufferWidth::Short,
                Some("DWORD" | "DWORDX2" | "DWORDX3" | "DWORDX4") => BufferWidth::Dword,
                _ => return Ok(false),
            };
            self.interface.writes_memory = true;
            for index in 0..instruction.row.width('b') {
                let place = self.further(address, u32::from(index));
                let mut value = self.raw_at(instruction.src[1], index)?;
                if what.ends_with("D16_HI") {
                    let sixteen = self.v.word(16);
                    value = self.u(Op::Shr, &[value, sixteen]);
                }
                let access = self.access(kind(width, None));
                self.v
                    .emit(Op::StorePointer, Type::Void, &[place, value, active], access);
            }
            return Ok(true);
        }
        let Some((atomic, wide)) = what.strip_prefix("ATOMIC_").and_then(atomic_named) else {
            return Ok(false);
        };
        self.interface.writes_memory = true;
        let access = self.access(kind(BufferWidth::Dword, Some(atomic)));
        self.flat_atomic(
            atomic,
            wide,
            access,
            [Op::AtomicPointer, Op::AtomicPointer64],
            &[address],
        )
    }

    /// The address of the first byte: a pair of VGPRs, or a scalar pair and a VGPR, and the signed immediate.
    fn guest_address(&mut self) -> Result<Value, Reason> {
        let instruction = self.instruction;
        let u64 = |this: &mut Self, op: Op, operands: &[Value]| this.v.emit(op, Type::U64, operands, 0);
        let base = match instruction.src[2] {
            scalar @ Operand::Scalar(register)
                if register != 125 && instruction.row.encoding == Encoding::Global =>
            {
                let words = [self.raw_at(scalar, 0)?, self.raw_at(scalar, 1)?];
                let base = u64(self, Op::Pack64, &words);
                let offset = self.raw(instruction.src[0])?;
                let offset = u64(self, Op::ZeroExtend, &[offset]);
                u64(self, Op::Add, &[base, offset])
            }
            _ => {
                let words = [
                    self.raw_at(instruction.src[0], 0)?,
                    self.raw_at(instruction.src[0], 1)?,
                ];
                u64(self, Op::Pack64, &words)
            }
        };
        if instruction.memory.offset == 0 {
            return Ok(base);
        }
        let immediate = i64::from(instruction.memory.offset).cast_unsigned();
        let immediate = self.v.constant(Type::U64, immediate);
        Ok(u64(self, Op::Add, &[base, immediate]))
    }

    /// The address some dwords on.
    fn further(&mut self, address: Value, dwords: u32) -> Value {
        if dwords == 0 {
            return address;
        }
        let bytes = self.v.constant(Type::U64, 4 * u64::from(dwords));
        self.v.emit(Op::Add, Type::U64, &[address, bytes], 0)
    }
}
