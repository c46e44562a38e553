//! Guest pointers: looked up in the page table, then followed as device addresses.

use super::atomic::Place;
use super::view::View;
use super::{Emitted, Emitter};
use crate::binary::Features;
use crate::ir::{AccessKind, BufferWidth, Inst, Op, Type};
use crate::page_table::{DIRECTORY, LEAF_BITS, PAGE_BITS};
use crate::refusal::Reason;
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Decoration, MemoryAccess, Op as S, StorageClass, Word};

impl Emitter<'_> {
    /// The page table's variable: a block of 64-bit words.
    fn page_table(&mut self) -> Emitted {
        if let Some(variable) = self.page_table {
            return Ok(variable);
        }
        let binding = self.page_table_binding()?;
        self.ty(Type::U64);
        let block = self.storage_block(View::U64);
        let variable = self.global_variable(block, StorageClass::StorageBuffer);
        self.b.decorate(variable, Decoration::NonWritable, []);
        self.b
            .decorate(variable, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        self.b
            .decorate(variable, Decoration::Binding, [Operand::LiteralBit32(binding)]);
        self.need(
            "PhysicalStorageBufferAddresses",
            Capability::PhysicalStorageBufferAddresses,
        );
        self.page_table = Some(variable);
        Ok(variable)
    }

    /// Binding of the page table.
    pub(super) fn page_table_binding(&self) -> Result<u32, Reason> {
        self.program
            .page_table_binding(self.specialization.binding_base)
            .ok_or_else(|| Reason::Internal(String::from("a pointer in a program that follows none")))
    }

    fn table_word(&mut self, index: Word) -> Emitted {
        let (variable, long, zero) = (self.page_table()?, self.ty(Type::U64), self.word(0));
        let pointer = self.pointer_to(StorageClass::StorageBuffer, long);
        let place = self.op(S::AccessChain, pointer, &[variable, zero, index])?;
        self.op(S::Load, long, &[place])
    }

    /// The device's address of a guest address, and that of its page.
    fn device_address(&mut self, address: Word) -> Result<(Word, Word), Reason> {
        let (long, word) = (self.ty(Type::U64), self.u32());
        let part = |this: &mut Self, shift: u32| {
            let (shift, mask) = (this.word(shift), this.word((1 << LEAF_BITS) - 1));
            let shifted = this.op(S::ShiftRightLogical, long, &[address, shift])?;
            let part = this.op(S::UConvert, word, &[shifted])?;
            this.op(S::BitwiseAnd, word, &[part, mask])
        };
        let gib = part(self, PAGE_BITS + LEAF_BITS)?;
        let page = part(self, PAGE_BITS)?;
        let leaf = self.table_word(gib)?;
        let leaf = self.op(S::UConvert, word, &[leaf])?;
        let index = self.op(S::IAdd, word, &[leaf, page])?;
        let start = self.table_word(index)?;
        let mask = self.constant(Type::U64, (1 << PAGE_BITS) - 1);
        let inside = self.op(S::BitwiseAnd, long, &[address, mask])?;
        Ok((self.op(S::IAdd, long, &[start, inside])?, start))
    }

    pub(super) fn pointer(&mut self, inst: &Inst) -> Emitted {
        self.need_feature(Features::GUEST_POINTERS, "guest pointers through a page table")?;
        self.need_feature(Features::INT64, "64-bit integers")?;
        let AccessKind::Pointer { width, atomic } = self.access_kind(inst)? else {
            return Err(Reason::Internal(String::from("a pointer without its access")));
        };
        let x: Vec<Word> = inst.operands.iter().map(|operand| self.id(*operand)).collect();
        let (device, page) = self.device_address(x[0])?;
        let word = self.u32();
        let wide = inst.op == Op::AtomicPointer64;
        let (element, bytes) = match width {
            BufferWidth::Byte => {
                self.need_feature(Features::STORAGE8, "8-bit storage")?;
                self.need("StorageBuffer8BitAccess", Capability::StorageBuffer8BitAccess);
                (self.int(8), 1)
            }
            BufferWidth::Short => {
                self.need_feature(Features::STORAGE16, "16-bit storage")?;
                self.need("StorageBuffer16BitAccess", Capability::StorageBuffer16BitAccess);
                (self.int(16), 2)
            }
            BufferWidth::Dword if wide => {
                self.need_feature(Features::BUFFER_INT64_ATOMICS, "64-bit buffer atomics")?;
                self.need("Int64Atomics", Capability::Int64Atomics);
                (self.ty(Type::U64), 8)
            }
            BufferWidth::Dword => (word, 4),
        };
        let ty = self.pointer_to(StorageClass::PhysicalStorageBuffer, element);
        let place = self.op(S::ConvertUToPtr, ty, &[device])?;
        let aligned = [
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(bytes),
        ];
        if inst.op == Op::LoadPointer {
            let mut operands = vec![Operand::IdRef(place)];
            operands.extend(aligned);
            let value = self.op_with(S::Load, element, operands)?;
            return if bytes == 4 {
                Ok(value)
            } else {
                self.op(S::UConvert, word, &[value])
            };
        }
        // What is not mapped takes nothing.
        let nothing = self.word(DIRECTORY as u32);
        let nothing = self.table_word(nothing)?;
        let truth = self.truth();
        let mapped = self.op(S::INotEqual, truth, &[page, nothing])?;
        let (before, inside, end) = (self.block_label()?, self.b.id(), self.b.id());
        self.b
            .selection_merge(end, rspirv::spirv::SelectionControl::NONE)
            .map_err(Self::internal)?;
        self.b
            .branch_conditional(mapped, inside, end, Vec::new())
            .map_err(Self::internal)?;
        self.b.begin_block(Some(inside)).map_err(Self::internal)?;
        let result = match atomic {
            None => {
                let value = if bytes == 4 {
                    x[1]
                } else {
                    self.op(S::UConvert, element, &[x[1]])?
                };
                let mut operands = vec![Operand::IdRef(place), Operand::IdRef(value)];
                operands.extend(aligned);
                self.act(S::Store, operands)?;
                0
            }
            Some(atomic) => {
                let numbers = if wide { Type::U64 } else { Type::U32 };
                let place = Place {
                    pointer: place,
                    class: StorageClass::PhysicalStorageBuffer,
                    element,
                    numbers,
                };
                self.atomic(atomic, place, x[1], x[2])?
            }
        };
        // A loop has led to another block.
        let inside = self.block_label()?;
        self.b.branch(end).map_err(Self::internal)?;
        self.b.begin_block(Some(end)).map_err(Self::internal)?;
        if result == 0 {
            return Ok(0);
        }
        let zero = self.constant(if wide { Type::U64 } else { Type::U32 }, 0);
        self.b
            .phi(element, None, vec![(result, inside), (zero, before)])
            .map_err(Self::internal)
    }
}
