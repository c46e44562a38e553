//! Inputs and outputs of the stages.

use super::{Emitted, Emitter};
use crate::binary::{Features, StageRegisters};
use crate::ir::{AccessKind, Inst, Op, Type, Value};
use crate::refusal::Reason;
use crate::specialization::NumericClass;
use crate::translate::export::{interpolation, targets};
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Capability, Decoration, GlslStd450Op as GLOp, Op as S, StorageClass, Word};

/// A variable of the input interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Input {
    BuiltIn,
    Location,
}

/// A variable of the output interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Output {
    Position,
    PointSize,
    Layer,
    Depth,
    SampleMask,
    ClipDistance,
    CullDistance,
    Location(u32),
}

impl Emitter<'_> {
    fn global(&mut self, ty: Word, class: StorageClass) -> Word {
        let pointer = self.pointer_to(class, ty);
        // A variable made while a function is open would land in it.
        let (function, block) = (self.b.selected_function(), self.b.selected_block());
        let _ = self.b.select_function(None);
        let id = self.b.variable(pointer, None, class, None);
        let _ = self.b.select_function(function);
        let _ = self.b.select_block(block);
        self.globals.push(id);
        id
    }

    pub(super) fn global_variable(&mut self, ty: Word, class: StorageClass) -> Word {
        self.global(ty, class)
    }

    fn builtin(&mut self, builtin: BuiltIn, ty: Word) -> Word {
        if let Some(&id) = self.inputs.get(&(Input::BuiltIn, builtin as u32)) {
            return id;
        }
        let id = self.global(ty, StorageClass::Input);
        self.b
            .decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(builtin)]);
        if matches!(self.program.stage, StageRegisters::Pixel { .. })
            && matches!(builtin, BuiltIn::SampleId | BuiltIn::Layer | BuiltIn::SampleMask)
        {
            self.b.decorate(id, Decoration::Flat, Vec::new());
        }
        self.inputs.insert((Input::BuiltIn, builtin as u32), id);
        id
    }

    fn load_input(&mut self, ty: Word, pointer: Word) -> Emitted {
        self.op(S::Load, ty, &[pointer])
    }

    fn component(&mut self, base: Word, vector: Word, ty: Word, index: u32) -> Emitted {
        let whole = match self.views.inputs.get(&base) {
            Some(&whole) => whole,
            None => {
                // Inputs do not change: the whole is loaded once a block.
                let whole = self.load_input(vector, base)?;
                self.views.inputs.insert(base, whole);
                whole
            }
        };
        let operands = vec![Operand::IdRef(whole), Operand::LiteralBit32(index)];
        self.op_with(S::CompositeExtract, ty, operands)
    }

    pub(super) fn local_index(&mut self) -> Emitted {
        let word = self.u32();
        let variable = self.builtin(BuiltIn::LocalInvocationIndex, word);
        self.load_input(word, variable)
    }

    pub(super) fn input(&mut self, inst: &Inst) -> Emitted {
        let (word, float) = (self.u32(), self.f32());
        let index = inst.immediate as u32;
        match inst.op {
            Op::WorkgroupId | Op::LocalId => {
                let ty = self.vector(Type::U32, 3);
                let builtin = if inst.op == Op::WorkgroupId {
                    BuiltIn::WorkgroupId
                } else {
                    BuiltIn::LocalInvocationId
                };
                let variable = self.builtin(builtin, ty);
                self.component(variable, ty, word, index)
            }
            Op::LocalIndex => self.local_index(),
            Op::VertexIndex => {
                let variable = self.builtin(BuiltIn::VertexIndex, word);
                self.load_input(word, variable)
            }
            Op::InstanceIndex => {
                let variable = self.builtin(BuiltIn::InstanceIndex, word);
                self.load_input(word, variable)
            }
            Op::FragCoord => {
                let ty = self.vector(Type::F32, 4);
                let variable = self.builtin(BuiltIn::FragCoord, ty);
                self.component(variable, ty, float, index)
            }
            Op::FrontFacing => {
                let ty = self.truth();
                let variable = self.builtin(BuiltIn::FrontFacing, ty);
                self.load_input(ty, variable)
            }
            Op::SampleId => {
                self.need_feature(Features::SAMPLE_RATE, "sample rate shading")?;
                self.need("SampleRateShading", Capability::SampleRateShading);
                let variable = self.builtin(BuiltIn::SampleId, word);
                self.load_input(word, variable)
            }
            Op::SampleMaskIn => {
                let one = self.word(1);
                let ty = self.b.type_array(word, one);
                let variable = self.builtin(BuiltIn::SampleMask, ty);
                self.component(variable, ty, word, 0)
            }
            Op::Layer => {
                self.need("Geometry", Capability::Geometry);
                let variable = self.builtin(BuiltIn::Layer, word);
                self.load_input(word, variable)
            }
            Op::Attribute => self.attribute(inst.immediate),
            _ => Err(Reason::Internal(format!("`{}` is no input", inst.op.text()))),
        }
    }

    /// The way most accesses interpolate a location decides its variable's decorations; the others ask for their
    /// place explicitly.
    fn attribute(&mut self, immediate: u64) -> Emitted {
        let (mode, location, component) = (
            immediate >> 8,
            (immediate & 0xff) as u32 / 4,
            immediate as u32 & 3,
        );
        let own = self
            .function
            .blocks
            .iter()
            .flat_map(|block| &block.insts)
            .map(|value| self.function.inst(*value))
            .find(|inst| inst.op == Op::Attribute && (inst.immediate & 0xff) as u32 / 4 == location)
            .map_or(mode, |inst| inst.immediate >> 8);
        let (vector, float) = (self.vector(Type::F32, 4), self.f32());
        let variable = match self.inputs.get(&(Input::Location, location)) {
            Some(&variable) => variable,
            None => {
                let variable = self.global(vector, StorageClass::Input);
                self.b
                    .decorate(variable, Decoration::Location, [Operand::LiteralBit32(location)]);
                if own & interpolation::FLAT != 0 {
                    self.b.decorate(variable, Decoration::Flat, Vec::new());
                } else {
                    if own & interpolation::LINEAR != 0 {
                        self.b.decorate(variable, Decoration::NoPerspective, Vec::new());
                    }
                    match own & 3 {
                        interpolation::SAMPLE => {
                            self.need_feature(Features::SAMPLE_RATE, "sample rate shading")?;
                            self.need("SampleRateShading", Capability::SampleRateShading);
                            self.b.decorate(variable, Decoration::Sample, Vec::new());
                        }
                        interpolation::CENTROID => {
                            self.b.decorate(variable, Decoration::Centroid, Vec::new());
                        }
                        _ => {}
                    }
                }
                self.inputs.insert((Input::Location, location), variable);
                variable
            }
        };
        if mode == own {
            return self.component(variable, vector, float, component);
        }
        if (mode ^ own) & (interpolation::FLAT | interpolation::LINEAR) != 0 {
            return Err(Reason::Unsupported("one parameter interpolated in two ways"));
        }
        let pointer = self.pointer_to(StorageClass::Input, float);
        let index = self.word(component);
        let chain = self.op(S::AccessChain, pointer, &[variable, index])?;
        self.need("InterpolationFunction", Capability::InterpolationFunction);
        match mode & 3 {
            interpolation::CENTROID => self.ext(float, GLOp::InterpolateAtCentroid, &[chain]),
            interpolation::SAMPLE => {
                self.need_feature(Features::SAMPLE_RATE, "sample rate shading")?;
                self.need("SampleRateShading", Capability::SampleRateShading);
                let word = self.u32();
                let sample = self.builtin(BuiltIn::SampleId, word);
                let sample = self.load_input(word, sample)?;
                self.ext(float, GLOp::InterpolateAtSample, &[chain, sample])
            }
            _ => {
                let (pair, zero) = (self.vector(Type::F32, 2), self.float(0.0));
                let centre = self.op(S::CompositeConstruct, pair, &[zero, zero])?;
                self.ext(float, GLOp::InterpolateAtOffset, &[chain, centre])
            }
        }
    }

    fn output(&mut self, output: Output, ty: Word) -> Word {
        if let Some(&id) = self.outputs.get(&output) {
            return id;
        }
        let id = self.global(ty, StorageClass::Output);
        let builtin = match output {
            Output::Position => Some(BuiltIn::Position),
            Output::PointSize => Some(BuiltIn::PointSize),
            Output::Layer => Some(BuiltIn::Layer),
            Output::Depth => Some(BuiltIn::FragDepth),
            Output::SampleMask => Some(BuiltIn::SampleMask),
            Output::ClipDistance => Some(BuiltIn::ClipDistance),
            Output::CullDistance => Some(BuiltIn::CullDistance),
            Output::Location(location) => {
                self.b
                    .decorate(id, Decoration::Location, [Operand::LiteralBit32(location)]);
                None
            }
        };
        if let Some(builtin) = builtin {
            self.b
                .decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(builtin)]);
        }
        self.outputs.insert(output, id);
        id
    }

    fn store_output(&mut self, variable: Word, value: Word) -> Emitted {
        self.act(S::Store, vec![Operand::IdRef(variable), Operand::IdRef(value)])?;
        Ok(0)
    }

    pub(super) fn export(&mut self, inst: &Inst) -> Emitted {
        if inst.op == Op::Demote {
            return self.demote();
        }
        let AccessKind::Export { target, mask, .. } = self.access_kind(inst)? else {
            return Err(Reason::Internal(String::from("an export without its target")));
        };
        let words: Vec<Value> = inst.operands[..4].to_vec();
        let (float, vector) = (self.f32(), self.vector(Type::F32, 4));
        let pixel = matches!(self.program.stage, StageRegisters::Pixel { .. });
        if pixel && target < 8 {
            let class = self.specialization.colour[usize::from(target)];
            return self.colour(u32::from(target), class, &words);
        }
        if pixel {
            if mask & 1 != 0 {
                let depth = self.float_of(words[0])?;
                let variable = self.output(Output::Depth, float);
                self.store_output(variable, depth)?;
            }
            if mask & 4 != 0 {
                let (word, one) = (self.u32(), self.word(1));
                let array = self.b.type_array(word, one);
                let variable = self.output(Output::SampleMask, array);
                let mask = self.word_of(words[2])?;
                let value = self.op(S::CompositeConstruct, array, &[mask])?;
                self.store_output(variable, value)?;
            }
            return Ok(0);
        }
        if (targets::DISTANCES..targets::DISTANCES + 2).contains(&target) {
            return self.distances(u32::from(target - targets::DISTANCES) * 4, mask, &words);
        }
        if target == targets::MISC {
            if mask & 1 != 0 {
                let size = self.float_of(words[0])?;
                let variable = self.output(Output::PointSize, float);
                self.store_output(variable, size)?;
            }
            if mask & 4 != 0 {
                self.need_feature(Features::OUTPUT_LAYER, "a layer written by the vertex program")?;
                self.need("ShaderLayer", Capability::ShaderLayer);
                let (word, layer) = (self.u32(), self.word_of(words[2])?);
                let variable = self.output(Output::Layer, word);
                self.store_output(variable, layer)?;
            }
            return Ok(0);
        }
        let mut floats = Vec::with_capacity(4);
        for (index, word) in words.into_iter().enumerate() {
            floats.push(if mask >> index & 1 != 0 {
                self.float_of(word)?
            } else {
                self.float(if target == 12 && index == 3 { 1.0 } else { 0.0 })
            });
        }
        let value = self.op(S::CompositeConstruct, vector, &floats)?;
        let output = if target == 12 {
            Output::Position
        } else {
            Output::Location(u32::from(target).saturating_sub(32))
        };
        let variable = self.output(output, vector);
        self.store_output(variable, value)
    }

    /// Clip and cull distances `first`..`first` + 4: those enabled stand in the arrays without holes.
    fn distances(&mut self, first: u32, mask: u8, words: &[Value]) -> Emitted {
        let StageRegisters::Vertex { vs_out_cntl, .. } = self.program.stage else {
            return Err(Reason::Internal(String::from(
                "distances outside vertex programs",
            )));
        };
        let float = self.f32();
        for (output, enabled) in [
            (Output::ClipDistance, vs_out_cntl & 0xff),
            (Output::CullDistance, vs_out_cntl >> 8 & 0xff),
        ] {
            for component in (0..4_u32).filter(|component| mask >> component & 1 != 0) {
                let bit = 1 << (first + component);
                if enabled & bit == 0 {
                    continue;
                }
                if output == Output::ClipDistance {
                    self.need_feature(Features::CLIP_DISTANCE, "clip distances")?;
                    self.need("ClipDistance", Capability::ClipDistance);
                } else {
                    self.need_feature(Features::CULL_DISTANCE, "cull distances")?;
                    self.need("CullDistance", Capability::CullDistance);
                }
                let length = self.word(enabled.count_ones());
                let array = self.b.type_array(float, length);
                let variable = self.output(output, array);
                let pointer = self.pointer_to(StorageClass::Output, float);
                let index = self.word((enabled & (bit - 1)).count_ones());
                let place = self.op(S::AccessChain, pointer, &[variable, index])?;
                let value = self.float_of(words[component as usize])?;
                self.store_output(place, value)?;
            }
        }
        Ok(0)
    }

    fn colour(&mut self, location: u32, class: NumericClass, words: &[Value]) -> Emitted {
        let vector = match class {
            NumericClass::Float => self.vector(Type::F32, 4),
            NumericClass::Uint => self.vector(Type::U32, 4),
            NumericClass::Sint => {
                let signed = self.signed();
                self.vector_of(signed, 4)
            }
        };
        let mut values = Vec::with_capacity(4);
        for &word in words {
            values.push(match class {
                NumericClass::Float => self.float_of(word)?,
                NumericClass::Uint => self.word_of(word)?,
                NumericClass::Sint => {
                    let (signed, word) = (self.signed(), self.word_of(word)?);
                    self.op(S::Bitcast, signed, &[word])?
                }
            });
        }
        let value = self.op(S::CompositeConstruct, vector, &values)?;
        let variable = self.output(Output::Location(location), vector);
        self.store_output(variable, value)
    }

    /// A word's bits as a float; a constant becomes a float constant, and a float stays.
    pub(super) fn as_float(&mut self, word: Word) -> Emitted {
        if self.floats.contains(&word) {
            return Ok(word);
        }
        let float = self.f32();
        let id = match self.known(word) {
            Some(bits) => self.constant(Type::F32, u64::from(bits)),
            None => self.op(S::Bitcast, float, &[word])?,
        };
        self.floats.insert(id);
        Ok(id)
    }

    /// A word's bits, a float's too.
    pub(super) fn as_word(&mut self, value: Word) -> Emitted {
        if !self.floats.contains(&value) {
            return Ok(value);
        }
        let word = self.u32();
        self.op(S::Bitcast, word, &[value])
    }

    /// A word or float as one of them.
    pub(super) fn as_type(&mut self, value: Word, ty: Type) -> Emitted {
        if ty == Type::F32 {
            self.as_float(value)
        } else {
            self.as_word(value)
        }
    }

    fn float_of(&mut self, value: Value) -> Emitted {
        let id = self.id(value);
        self.as_float(id)
    }

    fn word_of(&mut self, value: Value) -> Emitted {
        let id = self.id(value);
        self.as_word(id)
    }

    fn demote(&mut self) -> Emitted {
        self.need_feature(Features::DEMOTE, "demotion to helper invocations")?;
        self.need(
            "DemoteToHelperInvocation",
            Capability::DemoteToHelperInvocationEXT,
        );
        if !self.extensions.contains(&"SPV_EXT_demote_to_helper_invocation") {
            self.extensions.push("SPV_EXT_demote_to_helper_invocation");
        }
        self.act(S::DemoteToHelperInvocation, Vec::new())?;
        Ok(0)
    }
}
