//! Buffers and the flat block.

use super::atomic::Place;
use super::view::View;
use super::{Emitted, Emitter, Texel};
use crate::binary::{Features, StageRegisters};
use crate::ir::{AccessKind, BufferWidth, Inst, Op, Type, Value};
use crate::plan::AccessFlags;
use crate::refusal::Reason;
use crate::specialization::FlatLocation;
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Decoration, MemorySemantics, Op as S, Scope, StorageClass, Word};

/// Flat words that a block of push constants has as members; more are an array.
const FEW_MEMBERS: u32 = 2;

/// Where a buffer access starts.
#[derive(Clone, Copy)]
pub(super) struct Address {
    base: Base,
    /// Dwords from there.
    further: u32,
}

#[derive(Clone, Copy)]
enum Base {
    Start,
    Dword(Word),
    Byte(Word),
}

impl Emitter<'_> {
    /// A word of the flat block; loaded once a block.
    pub(super) fn flat(&mut self, index: u32) -> Emitted {
        if let Some(&id) = self.flat_values.get(&index) {
            return Ok(id);
        }
        let word = self.u32();
        let words = self.program.plan.flat_words();
        let push = match self.specialization.flat {
            FlatLocation::PushConstants { offset } => {
                if offset + 4 * words > self.program.profile.max_push_constants {
                    return Err(Reason::Specialization(format!(
                        "{words} flat words from byte {offset} exceed the {} bytes of push constants",
                        self.program.profile.max_push_constants
                    )));
                }
                Some(offset)
            }
            FlatLocation::UniformBuffer => None,
        };
        let variable = match self.flat_variable {
            Some(variable) => variable,
            None => {
                let variable = self.flat_block(push, words);
                self.flat_variable = Some(variable);
                variable
            }
        };
        let class = if push.is_some() {
            StorageClass::PushConstant
        } else {
            StorageClass::Uniform
        };
        let pointer = self.pointer_to(class, word);
        let zero = self.word(0);
        let chain = if push.is_some() {
            let member = self.word(index);
            if words > FEW_MEMBERS {
                self.op(S::AccessChain, pointer, &[variable, zero, member])?
            } else {
                self.op(S::AccessChain, pointer, &[variable, member])?
            }
        } else {
            let (row, column) = (self.word(index / 4), self.word(index % 4));
            self.op(S::AccessChain, pointer, &[variable, zero, row, column])?
        };
        let value = self.op(S::Load, word, &[chain])?;
        self.flat_values.insert(index, value);
        Ok(value)
    }

    fn flat_block(&mut self, push: Option<u32>, words: u32) -> Word {
        let word = self.u32();
        if let Some(offset) = push.filter(|_| words > FEW_MEMBERS) {
            let length = self.word(words);
            let array = self.b.type_array(word, length);
            self.b
                .decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
            let block = self.b.type_struct([array]);
            self.b
                .member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(offset)]);
            self.b.decorate(block, Decoration::Block, Vec::new());
            return self.global_variable(block, StorageClass::PushConstant);
        }
        if let Some(offset) = push {
            let members: Vec<Word> = (0..words).map(|_| word).collect();
            let block = self.b.type_struct(members);
            for index in 0..words {
                self.b.member_decorate(
                    block,
                    index,
                    Decoration::Offset,
                    [Operand::LiteralBit32(offset + 4 * index)],
                );
            }
            self.b.decorate(block, Decoration::Block, Vec::new());
            return self.global_variable(block, StorageClass::PushConstant);
        }
        let (vector, rows) = (self.vector(Type::U32, 4), self.word(words.div_ceil(4).max(1)));
        let array = self.b.type_array(vector, rows);
        self.b
            .decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(16)]);
        let block = self.b.type_struct([array]);
        self.b
            .member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        self.b.decorate(block, Decoration::Block, Vec::new());
        let variable = self.global_variable(block, StorageClass::Uniform);
        let binding = self.specialization.binding_base + self.program.plan.descriptors.len() as u32;
        self.b
            .decorate(variable, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        self.b
            .decorate(variable, Decoration::Binding, [Operand::LiteralBit32(binding)]);
        variable
    }

    /// The buffer's variable for a view.
    fn buffer_view(&mut self, descriptor: u32, view: View) -> Word {
        if let Some(&id) = self.buffers.get(&(descriptor, view)) {
            return id;
        }
        let block = self.storage_block(view);
        let variable = self.global_variable(block, StorageClass::StorageBuffer);
        self.b
            .decorate(variable, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        let binding = self.specialization.binding_base + descriptor;
        self.b
            .decorate(variable, Decoration::Binding, [Operand::LiteralBit32(binding)]);
        let access = self.program.plan.descriptors[descriptor as usize].access;
        if !access.intersects(AccessFlags::WRITE | AccessFlags::ATOMIC) {
            self.b.decorate(variable, Decoration::NonWritable, Vec::new());
        }
        if self.program.interface.writes_memory {
            // Guest V#s may overlap each other, and views share the binding.
            self.b.decorate(variable, Decoration::Aliased, Vec::new());
        }
        self.buffers.insert((descriptor, view), variable);
        variable
    }

    fn view_element(&mut self, view: View) -> Word {
        match view {
            View::U8 => self.int(8),
            View::U16 => self.int(16),
            View::U32 => self.u32(),
            View::U64 => self.int(64),
            View::F32 => self.f32(),
            View::U32x4 => self.vector(Type::U32, 4),
            View::F32x4 => self.vector(Type::F32, 4),
        }
    }

    /// A storage block. There is one for each kind of element: rspirv merges equal types, and decorations come once.
    pub(super) fn storage_block(&mut self, view: View) -> Word {
        if let Some(&block) = self.block_types.get(&view) {
            return block;
        }
        let element = self.view_element(view);
        let array = self.b.type_runtime_array(element);
        self.b.decorate(
            array,
            Decoration::ArrayStride,
            [Operand::LiteralBit32(view.bytes())],
        );
        let block = self.b.type_struct([array]);
        self.b
            .member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        self.b.decorate(block, Decoration::Block, Vec::new());
        self.block_types.insert(view, block);
        block
    }

    fn element(&mut self, descriptor: u32, view: View, index: Word) -> Emitted {
        self.part(descriptor, view, index, None)
    }

    /// Pointer to an element, or to a component of it.
    pub(super) fn part(
        &mut self,
        descriptor: u32,
        view: View,
        index: Word,
        component: Option<Word>,
    ) -> Emitted {
        let variable = self.buffer_view(descriptor, view);
        let element = match (view, component) {
            (View::U32x4, Some(_)) => self.u32(),
            (View::F32x4, Some(_)) => self.f32(),
            _ => self.view_element(view),
        };
        let pointer = self.pointer_to(StorageClass::StorageBuffer, element);
        let zero = self.word(0);
        let mut operands = vec![variable, zero, index];
        operands.extend(component);
        self.op(S::AccessChain, pointer, &operands)
    }

    fn storage_place(&mut self, descriptor: u32, numbers: Type, index: Word) -> Result<Place, Reason> {
        let view = if numbers == Type::U64 {
            View::U64
        } else {
            View::U32
        };
        Ok(Place {
            pointer: self.element(descriptor, view, index)?,
            class: StorageClass::StorageBuffer,
            element: self.ty(numbers),
            numbers,
        })
    }

    pub(super) fn fold2(&mut self, opcode: S, a: Word, b: Word) -> Emitted {
        let known = (self.known(a), self.known(b));
        if let (Some(x), Some(y)) = known {
            let folded = match opcode {
                S::IAdd => Some(x.wrapping_add(y)),
                S::IMul => Some(x.wrapping_mul(y)),
                S::ShiftRightLogical => Some(x >> (y & 31)),
                S::ShiftLeftLogical => Some(x << (y & 31)),
                S::BitwiseAnd => Some(x & y),
                _ => None,
            };
            if let Some(bits) = folded {
                return Ok(self.word(bits));
            }
        }
        match (opcode, known) {
            (S::IAdd, (_, Some(0))) | (S::IMul, (_, Some(1))) => return Ok(a),
            (S::IAdd, (Some(0), _)) => return Ok(b),
            (S::ShiftRightLogical | S::ShiftLeftLogical, (_, Some(0))) => return Ok(a),
            _ => {}
        }
        let word = self.u32();
        self.op(opcode, word, &[a, b])
    }

    /// Byte offset into the binding: index * stride + offset, swizzled where the V# says so, plus the residual of a
    /// misaligned base.
    fn buffer_offset(&mut self, descriptor: u32, index: Option<Word>, offset: Word) -> Emitted {
        let shape = self.buffer_shapes.get(&descriptor).copied().unwrap_or_default();
        let mut index = index;
        if shape.add_thread_id {
            let lane = self.lane_number()?;
            index = Some(match index {
                Some(index) => self.fold2(S::IAdd, index, lane)?,
                None => lane,
            });
        }
        // What components of one element share comes first: it is computed once.
        let mut shared = self.residual(descriptor, shape.misaligned)?;
        let mut offset = offset;
        match index {
            Some(index) if shape.swizzled => {
                // ((i / s) * stride + (o / e) * e) * s + (i % s) * e + o % e, with elements of 4 bytes.
                let group = shape.index_stride.max(8);
                let [shift, low, stride, records, two, three, rest] =
                    [group.trailing_zeros(), group - 1, shape.stride, group, 2, 3, !3]
                        .map(|bits| self.word(bits));
                let outer = self.fold2(S::ShiftRightLogical, index, shift)?;
                let outer = self.fold2(S::IMul, outer, stride)?;
                let element = self.fold2(S::BitwiseAnd, offset, rest)?;
                let outer = self.fold2(S::IAdd, outer, element)?;
                let outer = self.fold2(S::IMul, outer, records)?;
                let inner = self.fold2(S::BitwiseAnd, index, low)?;
                let inner = self.fold2(S::ShiftLeftLogical, inner, two)?;
                let byte = self.fold2(S::BitwiseAnd, offset, three)?;
                let inner = self.fold2(S::IAdd, inner, byte)?;
                offset = self.fold2(S::IAdd, outer, inner)?;
            }
            Some(index) => {
                let stride = self.word(shape.stride);
                let start = self.fold2(S::IMul, index, stride)?;
                shared = self.fold2(S::IAdd, start, shared)?;
            }
            None => {}
        }
        self.fold2(S::IAdd, shared, offset)
    }

    /// What a misaligned base leaves over, in bytes: 0 for others.
    fn residual(&mut self, descriptor: u32, misaligned: bool) -> Emitted {
        if !misaligned {
            return Ok(self.word(0));
        }
        let number = self.program.plan.descriptors[..descriptor as usize]
            .iter()
            .filter(|d| d.kind == crate::plan::DescriptorKind::Buffer)
            .count() as u32;
        // Kept beside the flat words of the block, under numbers that no word has.
        let key = u32::MAX - number;
        Ok(match self.flat_values.get(&key) {
            Some(&residual) => residual,
            None => {
                let packed = self.flat(self.program.plan.flat.len() as u32 + number / 4)?;
                let (word, shift, eight) = (self.u32(), self.word(8 * (number % 4)), self.word(8));
                let residual = self.op(S::BitFieldUExtract, word, &[packed, shift, eight])?;
                self.flat_values.insert(key, residual);
                residual
            }
        })
    }

    pub(super) fn dword_index(&mut self, address: Word) -> Emitted {
        let two = self.word(2);
        self.fold2(S::ShiftRightLogical, address, two)
    }

    /// Where an access starts: whole dwords where record and offset are, bytes elsewhere.
    fn address(&mut self, descriptor: u32, index: Option<Word>, offset: Word) -> Result<Address, Reason> {
        let shape = self.shape(descriptor);
        let known = self.known(offset).filter(|bytes| bytes.is_multiple_of(4));
        match (known, index) {
            (Some(bytes), None) if self.is_plain(descriptor) => Ok(Address {
                base: Base::Start,
                further: bytes / 4,
            }),
            (Some(bytes), Some(index)) if self.is_plain(descriptor) && shape.stride.is_multiple_of(4) => {
                let units = self.word(shape.stride / 4);
                Ok(Address {
                    base: Base::Dword(self.fold2(S::IMul, index, units)?),
                    further: bytes / 4,
                })
            }
            // Components of one element differ by a constant: what they share is computed once.
            (Some(bytes), _) if !shape.swizzled => {
                let zero = self.word(0);
                Ok(Address {
                    base: Base::Byte(self.buffer_offset(descriptor, index, zero)?),
                    further: bytes / 4,
                })
            }
            _ => Ok(Address {
                base: Base::Byte(self.buffer_offset(descriptor, index, offset)?),
                further: 0,
            }),
        }
    }

    /// Index of the dword some dwords behind an address. It does not wrap where the address would: what lies past the
    /// end of 32 bits lies past the end of the binding.
    fn dword_at(&mut self, address: Address, further: u32) -> Emitted {
        let further = self.word(address.further + further);
        match address.base {
            Base::Start => Ok(further),
            Base::Dword(index) => self.fold2(S::IAdd, index, further),
            Base::Byte(byte) => {
                let index = self.dword_index(byte)?;
                self.fold2(S::IAdd, index, further)
            }
        }
    }

    /// An address in bytes.
    pub(super) fn byte_at(&mut self, address: Address) -> Emitted {
        let further = self.word(4 * address.further);
        let byte = match address.base {
            Base::Start => return Ok(further),
            Base::Dword(index) => {
                let two = self.word(2);
                self.fold2(S::ShiftLeftLogical, index, two)?
            }
            Base::Byte(byte) => byte,
        };
        self.fold2(S::IAdd, byte, further)
    }

    /// The dword `further` behind an address, as a float where that is wanted and seen.
    pub(super) fn load_dword(
        &mut self,
        descriptor: u32,
        address: Address,
        further: u32,
        float: bool,
    ) -> Emitted {
        let index = self.dword_at(address, further)?;
        let view = self.dword_view(descriptor, float);
        let component = match view {
            View::U32x4 | View::F32x4 => {
                // Reached by no load that names its dword: those are loaded four at a time.
                return Err(Reason::Internal(String::from("a dword of a buffer of fours")));
            }
            view => self.view_element(view),
        };
        let pointer = self.element(descriptor, view, index)?;
        let value = self.op(S::Load, component, &[pointer])?;
        if view == View::F32 {
            self.floats.insert(value);
        }
        Ok(value)
    }

    /// A scalar load's dword: 0 where it is one of the binding's last dwords and straddles the V#'s end.
    fn load_scalar(&mut self, descriptor: u32, address: Address, float: bool) -> Emitted {
        let ragged = self.shape(descriptor).ragged;
        let value = self.load_dword(descriptor, address, 0, float)?;
        if ragged == 0 {
            return Ok(value);
        }
        let (word, truth) = (self.u32(), self.truth());
        let is_float = self.floats.contains(&value);
        let view = self.dword_view(descriptor, float);
        let variable = self.buffer_view(descriptor, view);
        let length = vec![Operand::IdRef(variable), Operand::LiteralBit32(0)];
        let length = self.op_with(S::ArrayLength, word, length)?;
        let (index, tail) = (self.dword_at(address, 0)?, self.word(u32::from(ragged)));
        let end = self.fold2(S::IAdd, index, tail)?;
        let inside = self.op(S::ULessThan, truth, &[end, length])?;
        let ty = if is_float { Type::F32 } else { Type::U32 };
        let (zero, ty) = (self.constant(ty, 0), self.ty(ty));
        let value = self.op(S::Select, ty, &[inside, value, zero])?;
        if is_float {
            self.floats.insert(value);
        }
        Ok(value)
    }

    /// What a load that is the same for all lanes gives; where helpers read 0, they take it from a pixel that is drawn.
    pub(super) fn for_helpers(&mut self, ty: Word, value: Word) -> Emitted {
        let pixel = matches!(self.program.stage, StageRegisters::Pixel { .. });
        if !pixel || !self.program.profile.helpers_load_zero {
            return Ok(value);
        }
        self.need("GroupNonUniformBallot", Capability::GroupNonUniformBallot);
        self.subgroup(S::GroupNonUniformBroadcastFirst, ty, &[value])
    }

    pub(super) fn store_dword(
        &mut self,
        descriptor: u32,
        address: Address,
        further: u32,
        value: Word,
    ) -> Result<(), Reason> {
        let index = self.dword_at(address, further)?;
        let view = self.dword_view(descriptor, self.floats.contains(&value));
        let value = if view == View::F32 {
            self.as_float(value)?
        } else {
            self.as_word(value)?
        };
        let pointer = self.element(descriptor, view, index)?;
        self.act(S::Store, vec![Operand::IdRef(pointer), Operand::IdRef(value)])
    }

    fn narrow(&mut self, bits: u32) -> Result<(), Reason> {
        if bits == 8 {
            self.need_feature(Features::STORAGE8, "8-bit storage buffer access")?;
            self.need("StorageBuffer8BitAccess", Capability::StorageBuffer8BitAccess);
            if !self.extensions.contains(&"SPV_KHR_8bit_storage") {
                self.extensions.push("SPV_KHR_8bit_storage");
            }
        } else {
            self.need_feature(Features::STORAGE16, "16-bit storage buffer access")?;
            self.need("StorageBuffer16BitAccess", Capability::StorageBuffer16BitAccess);
        }
        Ok(())
    }

    pub(super) fn store_narrow(
        &mut self,
        descriptor: u32,
        address: Word,
        bits: u32,
        value: Word,
    ) -> Result<(), Reason> {
        self.narrow(bits)?;
        let shift = self.word(u32::from(bits == 16));
        let index = self.fold2(S::ShiftRightLogical, address, shift)?;
        let view = if bits == 8 { View::U8 } else { View::U16 };
        let pointer = self.element(descriptor, view, index)?;
        let ty = self.int(bits);
        let value = self.op(S::UConvert, ty, &[value])?;
        self.act(S::Store, vec![Operand::IdRef(pointer), Operand::IdRef(value)])
    }

    fn load_narrow(&mut self, descriptor: u32, address: Word, bits: u32) -> Emitted {
        self.narrow(bits)?;
        let shift = self.word(u32::from(bits == 16));
        let index = self.fold2(S::ShiftRightLogical, address, shift)?;
        let view = if bits == 8 { View::U8 } else { View::U16 };
        let pointer = self.element(descriptor, view, index)?;
        let (ty, word) = (self.int(bits), self.u32());
        let value = self.op(S::Load, ty, &[pointer])?;
        self.op(S::UConvert, word, &[value])
    }

    pub(super) fn memory(&mut self, value: Value, inst: &Inst) -> Emitted {
        let x: Vec<Word> = inst.operands.iter().map(|operand| self.id(*operand)).collect();
        match inst.op {
            Op::Barrier => return self.barrier(),
            Op::LoadShared => return self.load_shared(x[0]),
            Op::StoreShared => {
                self.store_shared(x[0], x[1])?;
                return Ok(0);
            }
            Op::LoadScratch => {
                let (word, pointer) = (self.u32(), self.private_element(x[0])?);
                return self.op(S::Load, word, &[pointer]);
            }
            Op::StoreScratch => {
                let pointer = self.private_element(x[0])?;
                self.act(S::Store, vec![Operand::IdRef(pointer), Operand::IdRef(x[1])])?;
                return Ok(0);
            }
            Op::AtomicShared | Op::AtomicShared64 => return self.atomic_shared(inst, &x),
            _ => {}
        }
        let access = self.access_of(inst)?;
        let kind = access.kind.clone();
        let descriptor = *access
            .descriptors
            .first()
            .ok_or_else(|| Reason::Internal(String::from("a buffer access without a descriptor")))?;
        if inst.op == Op::LoadScalarBuffer {
            let mask = self.word(!3);
            let offset = self.fold2(S::BitwiseAnd, x[0], mask)?;
            let float = inst.ty == Type::F32;
            let loaded = match self.known(offset) {
                Some(bytes) => self.load_of_quad(descriptor, None, bytes / 4)?,
                None => None,
            };
            if let Some(loaded) = loaded {
                return self.as_type(loaded, inst.ty);
            }
            let address = self.scalar_address(descriptor, offset)?;
            let loaded = self.load_scalar(descriptor, address, float)?;
            let is_float = self.floats.contains(&loaded);
            let ty = self.ty(if is_float { Type::F32 } else { Type::U32 });
            let loaded = self.for_helpers(ty, loaded)?;
            if is_float {
                self.floats.insert(loaded);
            }
            return self.as_type(loaded, inst.ty);
        }
        let AccessKind::Buffer {
            width,
            indexed,
            formatted,
            components,
            d16,
            atomic,
        } = kind
        else {
            return Err(Reason::Internal(String::from(
                "a buffer operation without a buffer access",
            )));
        };
        let index = indexed.then_some(x[0]);
        let address = self.address(descriptor, index, x[1])?;
        match inst.op {
            Op::LoadBuffer => match width {
                BufferWidth::Dword => {
                    let named = if indexed { Some(inst.operands[0]) } else { None };
                    let loaded = match self.known(x[1]) {
                        Some(bytes) => self.load_of_quad(descriptor, named, bytes / 4)?,
                        None => None,
                    };
                    let loaded = match loaded {
                        Some(loaded) => loaded,
                        None => self.load_dword(descriptor, address, 0, inst.ty == Type::F32)?,
                    };
                    self.as_type(loaded, inst.ty)
                }
                BufferWidth::Byte | BufferWidth::Short => {
                    let bits = if width == BufferWidth::Byte { 8 } else { 16 };
                    let byte = self.byte_at(address)?;
                    self.load_narrow(descriptor, byte, bits)
                }
            },
            Op::StoreBuffer => {
                match width {
                    BufferWidth::Dword => self.store_dword(descriptor, address, 0, x[2])?,
                    BufferWidth::Byte | BufferWidth::Short => {
                        let bits = if width == BufferWidth::Byte { 8 } else { 16 };
                        let byte = self.byte_at(address)?;
                        self.store_narrow(descriptor, byte, bits, x[2])?;
                    }
                }
                Ok(0)
            }
            Op::LoadBufferFormat => {
                let named = if indexed { Some(inst.operands[0]) } else { None };
                let quads = self.known(x[1]).map(|bytes| (named, bytes / 4));
                let parts =
                    self.load_format((descriptor, address), quads, formatted.flatten(), components, d16)?;
                self.texels.insert(value, Texel::Parts(parts));
                Ok(0)
            }
            Op::StoreBufferFormat => {
                self.store_format(
                    descriptor,
                    address,
                    formatted.flatten(),
                    components,
                    d16,
                    &x[2..6],
                )?;
                Ok(0)
            }
            Op::AtomicBuffer => {
                let atomic =
                    atomic.ok_or_else(|| Reason::Internal(String::from("an atomic without operation")))?;
                let index = self.dword_at(address, 0)?;
                let place = self.storage_place(descriptor, Type::U32, index)?;
                self.atomic(atomic, place, x[2], x[3])
            }
            _ => {
                let atomic =
                    atomic.ok_or_else(|| Reason::Internal(String::from("an atomic without operation")))?;
                self.need_feature(Features::BUFFER_INT64_ATOMICS, "64-bit buffer atomics")?;
                self.need("Int64Atomics", Capability::Int64Atomics);
                self.need("Int64", Capability::Int64);
                let (dword, one) = (self.dword_at(address, 0)?, self.word(1));
                let index = self.fold2(S::ShiftRightLogical, dword, one)?;
                let place = self.storage_place(descriptor, Type::U64, index)?;
                self.atomic(atomic, place, x[2], x[3])
            }
        }
    }

    /// Scalar loads know neither stride nor swizzle.
    fn scalar_address(&mut self, descriptor: u32, offset: Word) -> Result<Address, Reason> {
        let shape = self.shape(descriptor);
        let plain = crate::specialization::BufferShape {
            misaligned: shape.misaligned,
            ..Default::default()
        };
        self.buffer_shapes.insert(descriptor, plain);
        let address = self.address(descriptor, None, offset);
        self.buffer_shapes.insert(descriptor, shape);
        address
    }

    fn barrier(&mut self) -> Emitted {
        let semantics = MemorySemantics::ACQUIRE_RELEASE
            | MemorySemantics::UNIFORM_MEMORY
            | MemorySemantics::WORKGROUP_MEMORY
            | MemorySemantics::IMAGE_MEMORY;
        let (scope, semantics) = (self.word(Scope::Workgroup as u32), self.word(semantics.bits()));
        let operands = vec![
            Operand::IdScope(scope),
            Operand::IdScope(scope),
            Operand::IdMemorySemantics(semantics),
        ];
        self.act(S::ControlBarrier, operands)?;
        Ok(0)
    }
}
