//! IR to SPIR-V.

mod arithmetic;
mod atomic;
mod exchange;
mod float_controls;
mod format;
mod image;
mod lanes;
mod memory;
mod pointer;
mod shared;
mod stage;
mod strip;
mod types;
mod view;

use crate::Program;
use crate::artifact::{Artifact, Binding, BindingKind, FlatBlock, content_hash};
use crate::binary::{Features, Stage, StageRegisters};
use crate::cfg::structured::{Merge, StructuredId};
use crate::ir::{AccessKind, Effect, Function, ImageOp, Op, Terminator, Type, Value};
use crate::plan::{AccessFlags, DescriptorKind};
use crate::refusal::{Fault, Reason};
use crate::specialization::{BufferShape, FlatLocation, ImageShape, NumericClass, Specialization};
use hashbrown::{HashMap, HashSet};
use rspirv::binary::Assemble;
use rspirv::dr::{Builder, InsertPoint, Instruction, Operand};
use rspirv::spirv::{self, Capability, Word};
use smallvec::SmallVec;
use std::collections::BTreeMap;

use view::View;

type Emitted = Result<Word, Reason>;

/// Four components.
#[derive(Clone, Copy)]
enum Texel {
    Vector(Word, NumericClass),
    Parts([Word; 4]),
}

pub(crate) struct Emitter<'a> {
    program: &'a Program,
    function: &'a Function,
    specialization: &'a Specialization,
    b: Builder,
    glsl: Word,
    /// SPIR-V id of each IR value.
    ids: Vec<Word>,
    labels: Vec<Word>,
    /// Label of the block that control leaves an IR block from: guarded operations split blocks.
    ends: Vec<Word>,
    /// Values of 32-bit constants by id.
    words: HashMap<Word, u32>,
    constants: HashMap<(Word, u64), Word>,
    types: HashMap<types::Kind, Word>,
    globals: Vec<Word>,
    inputs: HashMap<(stage::Input, u32), Word>,
    outputs: HashMap<stage::Output, Word>,
    buffers: HashMap<(u32, View), Word>,
    /// Storage blocks by their elements.
    block_types: HashMap<View, Word>,
    images: HashMap<u32, Word>,
    /// Pure instructions of the block that is open: opcode, type and operands, and the result.
    made: HashMap<(u16, Word, SmallVec<[Word; 4]>), Word>,
    made_in: (Option<usize>, Option<usize>),
    flat_variable: Option<Word>,
    flat_values: HashMap<u32, Word>,
    shared: Option<Word>,
    /// Local data share is made of 64-bit words: the program has 64-bit atomics on it.
    wide_shared: bool,
    page_table: Option<Word>,
    /// The lane's own memory.
    private: Option<Word>,
    scratch: Option<exchange::Scratch>,
    capabilities: BTreeMap<&'static str, Capability>,
    extensions: Vec<&'static str>,
    buffer_shapes: HashMap<u32, BufferShape>,
    image_shapes: HashMap<u32, ImageShape>,
    uniform_blocks: Vec<bool>,
    /// Ids of 32-bit floats.
    floats: HashSet<Word>,
    /// What image reads and formatted loads gave.
    texels: HashMap<Value, Texel>,
    views: view::Views,
    block: usize,
}

/// Emits the program for one specialization.
///
/// # Errors
/// A shape count that does not match the plan, a format without a decoder, or a missing device feature.
pub(crate) fn emit(program: &Program, specialization: &Specialization) -> Result<Artifact, Fault> {
    let function = &program.function;
    let mut emitter = Emitter {
        program,
        function,
        specialization,
        b: Builder::new(),
        glsl: 0,
        ids: vec![0; function.insts.len()],
        labels: Vec::new(),
        ends: Vec::new(),
        words: HashMap::new(),
        constants: HashMap::new(),
        types: HashMap::new(),
        globals: Vec::new(),
        inputs: HashMap::new(),
        outputs: HashMap::new(),
        buffers: HashMap::new(),
        block_types: HashMap::new(),
        images: HashMap::new(),
        made: HashMap::new(),
        made_in: (None, None),
        flat_variable: None,
        flat_values: HashMap::new(),
        shared: None,
        wide_shared: function.placed().any(|inst| inst.op == Op::AtomicShared64),
        page_table: None,
        private: None,
        scratch: None,
        capabilities: BTreeMap::new(),
        extensions: Vec::new(),
        buffer_shapes: HashMap::new(),
        image_shapes: HashMap::new(),
        uniform_blocks: crate::passes::lanes::uniform_blocks(function),
        floats: HashSet::new(),
        texels: HashMap::new(),
        views: view::Views::default(),
        block: 0,
    };
    emitter.shapes()?;
    emitter.find_views();
    emitter.b.set_version(1, 5);
    emitter.glsl = emitter.b.ext_inst_import("GLSL.std.450");
    emitter
        .b
        .memory_model(spirv::AddressingModel::Logical, spirv::MemoryModel::GLSL450);
    let main = emitter.body()?;
    emitter.finish(main)
}

impl Emitter<'_> {
    fn shapes(&mut self) -> Result<(), Reason> {
        let (mut buffers, mut images) = (
            self.specialization.buffers.iter(),
            self.specialization.images.iter(),
        );
        let mismatch = |what: &str| Reason::Specialization(format!("it has too few {what} shapes"));
        for (index, descriptor) in self.program.plan.descriptors.iter().enumerate() {
            match descriptor.kind {
                DescriptorKind::Buffer => {
                    let shape = buffers.next().ok_or_else(|| mismatch("buffer"))?;
                    self.buffer_shapes.insert(index as u32, *shape);
                }
                DescriptorKind::Image => {
                    let shape = images.next().ok_or_else(|| mismatch("image"))?;
                    self.image_shapes.insert(index as u32, *shape);
                }
                DescriptorKind::Sampler => {}
            }
        }
        if buffers.next().is_some() || images.next().is_some() {
            return Err(Reason::Specialization(String::from(
                "it has more shapes than the plan has descriptors",
            )));
        }
        Ok(())
    }

    fn internal(error: impl std::fmt::Display) -> Reason {
        Reason::Internal(format!("SPIR-V builder: {error}"))
    }

    /// One instruction with a result whose operands are ids. Of address arithmetic, what the open block has already is
    /// used again.
    fn op(&mut self, opcode: spirv::Op, ty: Word, operands: &[Word]) -> Emitted {
        if !matches!(
            opcode,
            spirv::Op::IAdd
                | spirv::Op::IMul
                | spirv::Op::BitwiseAnd
                | spirv::Op::ShiftRightLogical
                | spirv::Op::AccessChain
                | spirv::Op::BitFieldUExtract
        ) {
            return self.emit(opcode, ty, operands);
        }
        let block = (self.b.selected_function(), self.b.selected_block());
        if self.made_in != block {
            self.made_in = block;
            self.made.clear();
        }
        let key = (opcode as u16, ty, operands.iter().copied().collect());
        if let Some(&id) = self.made.get(&key) {
            return Ok(id);
        }
        let id = self.emit(opcode, ty, operands)?;
        self.made.insert(key, id);
        Ok(id)
    }

    fn emit(&mut self, opcode: spirv::Op, ty: Word, operands: &[Word]) -> Emitted {
        let operands = operands.iter().map(|&id| Operand::IdRef(id)).collect();
        self.op_with(opcode, ty, operands)
    }

    fn op_with(&mut self, opcode: spirv::Op, ty: Word, operands: Vec<Operand>) -> Emitted {
        let id = self.b.id();
        self.b
            .insert_into_block(
                InsertPoint::End,
                Instruction::new(opcode, Some(ty), Some(id), operands),
            )
            .map_err(Self::internal)?;
        Ok(id)
    }

    /// One instruction without a result.
    fn act(&mut self, opcode: spirv::Op, operands: Vec<Operand>) -> Result<(), Reason> {
        self.b
            .insert_into_block(InsertPoint::End, Instruction::new(opcode, None, None, operands))
            .map_err(Self::internal)
    }

    fn ext(&mut self, ty: Word, instruction: spirv::GlslStd450Op, operands: &[Word]) -> Emitted {
        let operands: Vec<_> = operands.iter().map(|&id| Operand::IdRef(id)).collect();
        self.b
            .ext_inst(ty, None, self.glsl, instruction as Word, operands)
            .map_err(Self::internal)
    }

    fn need(&mut self, name: &'static str, capability: Capability) {
        self.capabilities.insert(name, capability);
    }

    fn need_feature(&self, feature: Features, what: &'static str) -> Result<(), Reason> {
        if self.program.profile.features.contains(feature) {
            Ok(())
        } else {
            Err(Reason::Device(what))
        }
    }

    fn id(&self, value: Value) -> Word {
        self.ids[value.0 as usize]
    }

    fn is_guarded(&self, value: Value) -> bool {
        let inst = self.function.inst(value);
        if inst.op.effect() != Effect::Writes {
            return false;
        }
        match (inst.op, inst.operands.last()) {
            (Op::Barrier, _) | (_, None) => false,
            (_, Some(&active)) => self.function.constant(active) != Some(1) || self.loops(value),
        }
    }

    /// Whether the operation becomes a loop or a test, which splits the block that it stands in.
    fn loops(&self, value: Value) -> bool {
        let inst = self.function.inst(value);
        match inst.op {
            Op::StorePointer | Op::AtomicPointer | Op::AtomicPointer64 => return true,
            // Of one half of a 64-bit word.
            Op::StoreShared | Op::AtomicShared if self.wide_shared => return true,
            Op::AtomicBuffer | Op::AtomicBuffer64 | Op::AtomicShared | Op::AtomicShared64 | Op::Image => {}
            _ => return false,
        }
        let atomic = match self.function.accesses[inst.immediate as usize].kind {
            AccessKind::Buffer { atomic, .. } => atomic,
            AccessKind::Image {
                op: ImageOp::Atomic(atomic),
                ..
            } => Some(atomic),
            _ => None,
        };
        atomic.is_some_and(|atomic| !atomic.is_native())
    }

    /// Label of the block that is open.
    fn block_label(&self) -> Emitted {
        self.b
            .selected_block()
            .and_then(|block| {
                let function = self.b.module_ref().functions.get(self.b.selected_function()?)?;
                function.blocks.get(block)?.label_id()
            })
            .ok_or_else(|| Self::internal("no current block"))
    }

    fn body(&mut self) -> Result<Word, Fault> {
        let void = self.b.type_void();
        let signature = self.b.type_function(void, Vec::new());
        let main = self
            .b
            .begin_function(void, None, spirv::FunctionControl::NONE, signature)
            .map_err(Self::internal)?;
        let function = self.function;
        for block in &function.blocks {
            let label = self.b.id();
            self.labels.push(label);
            let splits = block.insts.iter().any(|&value| self.is_guarded(value));
            let end = if splits { self.b.id() } else { label };
            self.ends.push(end);
        }
        // Phis name values that come later: every phi's id exists from the start.
        for block in &function.blocks {
            for &value in &block.insts {
                let inst = function.inst(value);
                if inst.op == Op::Phi {
                    let id = self.b.id();
                    self.ids[value.0 as usize] = id;
                    if inst.ty == Type::F32 {
                        self.floats.insert(id);
                    }
                }
            }
        }
        let needed = self.needed_blocks();
        let mut phis = Vec::new();
        for (index, block) in function.blocks.iter().enumerate() {
            if !needed[index] {
                continue;
            }
            self.block = index;
            self.flat_values.clear();
            self.enter_block(index);
            self.b
                .begin_block(Some(self.labels[index]))
                .map_err(Self::internal)?;
            let mut guards = block
                .insts
                .iter()
                .filter(|value| self.is_guarded(**value))
                .count();
            for &value in &block.insts {
                if function.inst(value).op == Op::Phi {
                    phis.push((index, value));
                    continue;
                }
                if !matches!(function.inst(value).op, Op::Export | Op::Demote)
                    && function.inst(value).op.effect() == Effect::Writes
                {
                    self.views.forget();
                }
                if self.is_guarded(value) {
                    guards -= 1;
                    let end = if guards == 0 {
                        self.ends[index]
                    } else {
                        self.b.id()
                    };
                    self.guarded(value, end)
                        .map_err(|reason| self.place(value, reason))?;
                } else {
                    let id = self.value(value).map_err(|reason| self.place(value, reason))?;
                    self.ids[value.0 as usize] = id;
                    if function.inst(value).ty == Type::F32 {
                        self.floats.insert(id);
                    }
                }
            }
            self.terminate(index)?;
        }
        self.b.end_function().map_err(Self::internal)?;
        self.insert_phis(&phis)?;
        Ok(main)
    }

    /// Adds the place of the operation to a reason, where the operation knows it.
    fn place(&self, value: Value, reason: Reason) -> Fault {
        let inst = self.function.inst(value);
        let fault = Fault::from(reason);
        match inst.op.text() {
            text if text.contains("load")
                || text.contains("store")
                || text.contains("atomic")
                || text.contains("image")
                || text == "refused" =>
            {
                match self.function.accesses.get(inst.immediate as usize) {
                    Some(access) => fault.at(access.program_counter, || access.encoded.text()),
                    None => fault,
                }
            }
            _ => fault,
        }
    }

    /// Blocks that are reached, and those that constructs name although nothing reaches them.
    fn needed_blocks(&self) -> Vec<bool> {
        let count = self.function.blocks.len();
        let mut needed = vec![false; count];
        let mut work = vec![StructuredId(0)];
        while let Some(id) = work.pop() {
            if std::mem::replace(&mut needed[id.0 as usize], true) {
                continue;
            }
            work.extend(self.function.successors(id));
            match self.function.blocks[id.0 as usize].merge {
                Merge::None => {}
                Merge::Selection(merge) => work.push(merge),
                Merge::Loop { merge, next_round } => work.extend([merge, next_round]),
            }
        }
        needed
    }

    fn terminate(&mut self, index: usize) -> Result<(), Reason> {
        let block = &self.function.blocks[index];
        let label = |this: &Self, id: StructuredId| this.labels[id.0 as usize];
        match block.merge {
            Merge::None => {}
            Merge::Selection(merge) => {
                let merge = label(self, merge);
                self.b
                    .selection_merge(merge, spirv::SelectionControl::NONE)
                    .map_err(Self::internal)?;
            }
            Merge::Loop { merge, next_round } => {
                let (merge, next_round) = (label(self, merge), label(self, next_round));
                self.b
                    .loop_merge(merge, next_round, spirv::LoopControl::NONE, Vec::new())
                    .map_err(Self::internal)?;
            }
        }
        let done = match &block.terminator {
            Terminator::Return => self.b.ret(),
            Terminator::Jump(to) => {
                let to = label(self, *to);
                self.b.branch(to)
            }
            Terminator::Branch { condition, yes, no } => {
                let (condition, yes, no) = (self.id(*condition), label(self, *yes), label(self, *no));
                self.b.branch_conditional(condition, yes, no, Vec::new())
            }
            Terminator::Switch {
                selector,
                cases,
                default,
            } => {
                let (selector, default) = (self.id(*selector), label(self, *default));
                let targets: Vec<_> = cases
                    .iter()
                    .enumerate()
                    .map(|(number, &case)| (Operand::LiteralBit32(number as u32), label(self, case)))
                    .collect();
                self.b.switch(selector, default, targets)
            }
            Terminator::Unreachable => {
                // A continue block that nothing reaches still has to lead back to its header.
                let header = self.function.blocks.iter().position(
                    |b| matches!(b.merge, Merge::Loop { next_round, .. } if next_round.0 as usize == index),
                );
                match header {
                    Some(header) => {
                        let to = self.labels[header];
                        self.b.branch(to)
                    }
                    None => self.b.unreachable(),
                }
            }
        };
        done.map_err(Self::internal)
    }

    fn insert_phis(&mut self, phis: &[(usize, Value)]) -> Result<(), Reason> {
        let function = self.function;
        let mut by_block: HashMap<Word, Vec<Instruction>> = HashMap::new();
        for &(index, value) in phis {
            let inst = function.inst(value);
            let block = &function.blocks[index];
            let ty = self.ty(inst.ty);
            let mut operands = Vec::new();
            for (operand, from) in inst.operands.iter().zip(&block.predecessors) {
                operands.push(Operand::IdRef(self.id(*operand)));
                operands.push(Operand::IdRef(self.ends[from.0 as usize]));
            }
            if let Merge::Loop { next_round, .. } = block.merge
                && !block.predecessors.contains(&next_round)
            {
                let undefined = self.b.undef(ty, None);
                operands.push(Operand::IdRef(undefined));
                operands.push(Operand::IdRef(self.ends[next_round.0 as usize]));
            }
            by_block
                .entry(self.labels[index])
                .or_default()
                .push(Instruction::new(
                    spirv::Op::Phi,
                    Some(ty),
                    Some(self.id(value)),
                    operands,
                ));
        }
        for function in &mut self.b.module_mut().functions {
            for block in &mut function.blocks {
                if let Some(phis) = block.label_id().and_then(|label| by_block.remove(&label)) {
                    block.instructions.splice(0..0, phis);
                }
            }
        }
        Ok(())
    }

    /// An operation that only lanes with their last operand set may do.
    fn guarded(&mut self, value: Value, end: Word) -> Result<(), Reason> {
        let inst = self.function.inst(value);
        let Some(&active) = inst.operands.last() else {
            return Ok(());
        };
        let (condition, inside) = (self.id(active), self.b.id());
        // The block that the guard starts in, for the phi of an atomic's result.
        let before = self.block_label()?;
        // What lanes that are off find in the result; made here, for a phi has to come first in its block.
        let used = inst.ty != Type::Void
            && self
                .function
                .insts
                .iter()
                .any(|other| other.operands.contains(&value));
        let nothing = if used {
            let ty = self.ty(inst.ty);
            Some(self.b.undef(ty, None))
        } else {
            None
        };
        self.b
            .selection_merge(end, spirv::SelectionControl::NONE)
            .map_err(Self::internal)?;
        self.b
            .branch_conditional(condition, inside, end, Vec::new())
            .map_err(Self::internal)?;
        self.b.begin_block(Some(inside)).map_err(Self::internal)?;
        let outside = self.flat_values.clone();
        let result = self.value(value)?;
        self.flat_values = outside;
        let last = self.block_label()?;
        self.b.branch(end).map_err(Self::internal)?;
        self.b.begin_block(Some(end)).map_err(Self::internal)?;
        if let Some(nothing) = nothing
            && result != 0
        {
            let ty = self.ty(inst.ty);
            let phi = self
                .b
                .phi(ty, None, vec![(result, last), (nothing, before)])
                .map_err(Self::internal)?;
            self.ids[value.0 as usize] = phi;
        }
        Ok(())
    }

    fn value(&mut self, value: Value) -> Emitted {
        let inst = self.function.inst(value);
        match inst.op {
            Op::Const => Ok(self.constant(inst.ty, inst.immediate)),
            Op::Active => Ok(self.constant(Type::Bool, 1)),
            Op::Undef => {
                let ty = self.ty(inst.ty);
                Ok(self.b.undef(ty, None))
            }
            Op::Flat => {
                let word = self.flat(inst.immediate as u32)?;
                self.as_type(word, inst.ty)
            }
            Op::LoadScalarBuffer
            | Op::LoadBuffer
            | Op::LoadBufferFormat
            | Op::StoreBuffer
            | Op::StoreBufferFormat
            | Op::AtomicBuffer
            | Op::AtomicBuffer64
            | Op::LoadShared
            | Op::StoreShared
            | Op::AtomicShared
            | Op::AtomicShared64
            | Op::LoadScratch
            | Op::StoreScratch
            | Op::Barrier => self.memory(value, inst),
            Op::LoadPointer | Op::StorePointer | Op::AtomicPointer | Op::AtomicPointer64 => {
                self.pointer(inst)
            }
            Op::Image | Op::ImageRead => self.image(value, inst),
            Op::Extract => self.extract(inst),
            Op::BallotLow
            | Op::BallotHigh
            | Op::InverseBallot
            | Op::AnyLane
            | Op::ReadFirstLane
            | Op::ReadLane
            | Op::Shuffle
            | Op::LaneId => self.lanes(inst),
            Op::Export | Op::Demote => self.export(inst),
            Op::Attribute
            | Op::WorkgroupId
            | Op::LocalId
            | Op::LocalIndex
            | Op::VertexIndex
            | Op::InstanceIndex
            | Op::FragCoord
            | Op::FrontFacing
            | Op::SampleId
            | Op::SampleMaskIn
            | Op::Layer => self.input(inst),
            Op::Barycentric | Op::InterpolateP1 => {
                Err(Reason::Unsupported("barycentric coordinates read as numbers"))
            }
            Op::ScratchStart => Err(Reason::Unsupported(
                "the wave's place in the scratch ring read as a number",
            )),
            Op::Refused => Err(Reason::Untranslated),
            Op::UserData | Op::ShaderBase | Op::LoadAddress => Err(Reason::Internal(format!(
                "`{}` is left after the resource pass",
                inst.op.text()
            ))),
            _ => self.arithmetic(inst),
        }
    }

    fn finish(mut self, main: Word) -> Result<Artifact, Fault> {
        let stage = self.program.stage.stage();
        let model = match stage {
            Stage::Compute => spirv::ExecutionModel::GLCompute,
            Stage::Vertex => spirv::ExecutionModel::Vertex,
            Stage::Pixel => spirv::ExecutionModel::Fragment,
        };
        let mut globals = std::mem::take(&mut self.globals);
        globals.sort_unstable();
        self.b.entry_point(model, main, "main", globals);
        let mut interface = self.program.interface.clone();
        match self.program.stage {
            StageRegisters::Compute { num_thread, .. } => {
                let size = num_thread.map(|n| n.max(1));
                self.b.execution_mode(main, spirv::ExecutionMode::LocalSize, size);
                interface.workgroup_size = size;
            }
            StageRegisters::Pixel { .. } => {
                self.b
                    .execution_mode(main, spirv::ExecutionMode::OriginUpperLeft, Vec::new());
                if interface.writes_depth {
                    self.b
                        .execution_mode(main, spirv::ExecutionMode::DepthReplacing, Vec::new());
                }
            }
            StageRegisters::Vertex { .. } => {}
        }
        self.float_controls(main)?;
        if self.shared.is_some() {
            interface.shared_memory = self.shared_words() * 4;
        }
        self.b.capability(Capability::Shader);
        for (&name, &capability) in &self.capabilities {
            self.b.capability(capability);
            interface.capabilities.push(name);
        }
        for extension in std::mem::take(&mut self.extensions) {
            self.b.extension(extension);
        }
        if self.specialization.names {
            self.b.name(main, "main");
        }
        let mut bindings = Vec::new();
        let base = self.specialization.binding_base;
        for (index, descriptor) in self.program.plan.descriptors.iter().enumerate() {
            bindings.push(Binding {
                binding: base + index as u32,
                descriptor: Some(index as u32),
                kind: match descriptor.kind {
                    DescriptorKind::Buffer => BindingKind::StorageBuffer,
                    DescriptorKind::Sampler => BindingKind::Sampler,
                    DescriptorKind::Image if descriptor.access.contains(AccessFlags::STORAGE) => {
                        BindingKind::StorageImage
                    }
                    DescriptorKind::Image => BindingKind::SampledImage,
                },
            });
        }
        let words = self.program.plan.flat_words();
        let mut flat = FlatBlock {
            push_constant_offset: None,
            words: 0,
        };
        if self.flat_variable.is_some() {
            flat.words = words;
            match self.specialization.flat {
                FlatLocation::PushConstants { offset } => flat.push_constant_offset = Some(offset),
                FlatLocation::UniformBuffer => bindings.push(Binding {
                    binding: base + self.program.plan.descriptors.len() as u32,
                    descriptor: None,
                    kind: BindingKind::UniformBuffer,
                }),
            }
        }
        if self.page_table.is_some() {
            bindings.push(Binding {
                binding: self.page_table_binding()?,
                descriptor: None,
                kind: BindingKind::PageTable,
            });
            self.b.memory_model(
                spirv::AddressingModel::PhysicalStorageBuffer64,
                spirv::MemoryModel::GLSL450,
            );
        }
        let mut module = self.b.module();
        strip::strip_unused(&mut module);
        let spirv = module.assemble();
        Ok(Artifact {
            content_hash: content_hash(&spirv),
            spirv,
            stage,
            bindings,
            flat,
            interface,
        })
    }

    fn access_of(&self, inst: &crate::ir::Inst) -> Result<&crate::ir::Access, Reason> {
        self.function
            .accesses
            .get(inst.immediate as usize)
            .ok_or_else(|| Reason::Internal(String::from("an operation names no access")))
    }

    fn access_kind(&self, inst: &crate::ir::Inst) -> Result<AccessKind, Reason> {
        Ok(self.access_of(inst)?.kind.clone())
    }
}
