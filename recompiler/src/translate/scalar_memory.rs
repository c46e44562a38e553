//! Scalar loads. Each dword is a value of its own: descriptors are followed word by word.

use super::{Taken, Translator};
use crate::decode::{Operand, op};
use crate::ir::{AccessKind, Op, Type};
use crate::refusal::Reason;

impl Translator<'_> {
    pub(super) fn scalar_memory(&mut self) -> Taken {
        let instruction = self.instruction;
        match instruction.opcode() {
            op::S_DCACHE_INV | op::S_DCACHE_WB | op::S_GL1_INV => return Ok(true),
            op::S_LOAD_DWORD
            | op::S_LOAD_DWORDX2
            | op::S_LOAD_DWORDX4
            | op::S_LOAD_DWORDX8
            | op::S_LOAD_DWORDX16
            | op::S_BUFFER_LOAD_DWORD
            | op::S_BUFFER_LOAD_DWORDX2
            | op::S_BUFFER_LOAD_DWORDX4
            | op::S_BUFFER_LOAD_DWORDX8
            | op::S_BUFFER_LOAD_DWORDX16 => {}
            _ => return Ok(false),
        }
        let count = instruction.row.width('d');
        let base = instruction.src[0];
        let offset = match instruction.src[1] {
            Operand::Scalar(125) => self.word(0),
            register => self.raw(register)?,
        };
        let mut words = Vec::with_capacity(usize::from(count));
        if instruction.row.name.starts_with("S_BUFFER") {
            let mut descriptor = Vec::with_capacity(4);
            for index in 0..4 {
                descriptor.push(self.raw_at(base, index)?);
            }
            if instruction.memory.offset < 0 {
                return Err(Reason::Unsupported("a negative offset into a V#"));
            }
            for index in 0..u32::from(count) {
                let immediate = self.word(instruction.memory.offset.cast_unsigned() + 4 * index);
                let offset = self.u(Op::Add, &[offset, immediate]);
                let mut operands = descriptor.clone();
                operands.push(offset);
                let access = self.access(AccessKind::ScalarBuffer);
                words.push(self.v.emit(Op::LoadScalarBuffer, Type::U32, &operands, access));
            }
        } else {
            let (low, high) = (self.raw_at(base, 0)?, self.raw_at(base, 1)?);
            for index in 0..i32::from(count) {
                let immediate = self.word((instruction.memory.offset + 4 * index).cast_unsigned());
                let offset = self.u(Op::Add, &[offset, immediate]);
                let access = self.access(AccessKind::ScalarAddress);
                words.push(
                    self.v
                        .emit(Op::LoadAddress, Type::U32, &[low, high, offset], access),
                );
            }
        }
        self.set_scalars(instruction.dst, &words)?;
        Ok(true)
    }
}
