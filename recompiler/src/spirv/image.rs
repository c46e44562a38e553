//! Images and samplers.
//!
//! Cube maps are bound as arrays of their faces: the guest computes face and coordinates itself.

use super::atomic::Place;
use super::{Emitted, Emitter, Texel};
use crate::binary::Features;
use crate::ir::{AccessKind, ImageOp, Inst, Level, Type, Value};
use crate::plan::{AccessFlags, ImageDim};
use crate::refusal::Reason;
use crate::specialization::NumericClass;
use crate::translate::image::{coordinates, gradients};
use rspirv::dr::Operand;
use rspirv::spirv::{
    Capability, Decoration, Dim, GlslStd450Op as GLOp, ImageFormat, ImageOperands, Op as S, StorageClass,
    Word,
};

impl Emitter<'_> {
    fn component_type(&mut self, class: NumericClass) -> Word {
        match class {
            NumericClass::Float => self.f32(),
            NumericClass::Uint => self.u32(),
            NumericClass::Sint => self.signed(),
        }
    }

    fn image_type(&mut self, descriptor: u32) -> Result<Word, Reason> {
        let source = &self.program.plan.descriptors[descriptor as usize];
        let (storage, atomic) = (
            source.access.contains(AccessFlags::STORAGE),
            source.access.contains(AccessFlags::ATOMIC),
        );
        let dim = source.dim.unwrap_or(ImageDim::D2);
        let shape = self.image_shapes.get(&descriptor).copied().unwrap_or_default();
        let component = self.component_type(shape.class);
        let (kind, arrayed, multisampled) = match dim {
            ImageDim::D1 => (Dim::Dim1D, 0, 0),
            ImageDim::D1Array => (Dim::Dim1D, 1, 0),
            ImageDim::D2 => (Dim::Dim2D, 0, 0),
            ImageDim::D2Array | ImageDim::Cube => (Dim::Dim2D, 1, 0),
            ImageDim::D3 => (Dim::Dim3D, 0, 0),
            ImageDim::D2Msaa => (Dim::Dim2D, 0, 1),
            ImageDim::D2MsaaArray => (Dim::Dim2D, 1, 1),
        };
        if kind == Dim::Dim1D {
            if storage {
                self.need("Image1D", Capability::Image1D);
            } else {
                self.need("Sampled1D", Capability::Sampled1D);
            }
        }
        if storage && multisampled == 1 {
            return Err(Reason::Unsupported("multisampled storage images"));
        }
        let format = match (atomic, shape.class) {
            (true, NumericClass::Uint) => ImageFormat::R32ui,
            (true, NumericClass::Sint) => ImageFormat::R32i,
            (true, NumericClass::Float) => {
                return Err(Reason::Specialization(String::from(
                    "an image atomic on a float view",
                )));
            }
            _ => ImageFormat::Unknown,
        };
        let sampled = if storage { 2 } else { 1 };
        Ok(self
            .b
            .type_image(component, kind, 0, arrayed, multisampled, sampled, format, None))
    }

    fn resource(&mut self, descriptor: u32, ty: Word) -> Word {
        if let Some(&id) = self.images.get(&descriptor) {
            return id;
        }
        let variable = self.global_variable(ty, StorageClass::UniformConstant);
        let binding = self.specialization.binding_base + descriptor;
        self.b
            .decorate(variable, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
        self.b
            .decorate(variable, Decoration::Binding, [Operand::LiteralBit32(binding)]);
        self.images.insert(descriptor, variable);
        variable
    }

    fn join(&mut self, ty: Type, signed: bool, words: &[Word]) -> Emitted {
        if let [one] = words {
            return Ok(*one);
        }
        let vector = if signed {
            let element = self.signed();
            self.vector_of(element, words.len() as u32)
        } else {
            self.vector(ty, words.len() as u32)
        };
        self.op(S::CompositeConstruct, vector, words)
    }

    fn floats(&mut self, words: &[Word]) -> Result<Vec<Word>, Reason> {
        words.iter().map(|&word| self.as_float(word)).collect()
    }

    /// One component of what an image read or a formatted load gave.
    pub(super) fn extract(&mut self, inst: &Inst) -> Emitted {
        let (source, index) = (inst.operands[0], inst.immediate as u32);
        let texel = self.texels.get(&source).copied();
        let value = match texel {
            Some(Texel::Parts(parts)) => parts[index as usize & 3],
            Some(Texel::Vector(vector, class)) => self.component_of(vector, class, index)?,
            None => {
                let vector = self.id(source);
                self.component_of(vector, NumericClass::Uint, index)?
            }
        };
        self.as_type(value, inst.ty)
    }

    fn component_of(&mut self, vector: Word, class: NumericClass, index: u32) -> Emitted {
        let ty = self.component_type(class);
        let operands = vec![Operand::IdRef(vector), Operand::LiteralBit32(index)];
        let part = self.op_with(S::CompositeExtract, ty, operands)?;
        match class {
            NumericClass::Float => {
                self.floats.insert(part);
                Ok(part)
            }
            NumericClass::Uint => Ok(part),
            NumericClass::Sint => {
                let word = self.u32();
                self.op(S::Bitcast, word, &[part])
            }
        }
    }

    /// Keeps what a read gave; its components are taken one by one.
    fn texel(&mut self, value: Value, texel: Texel) -> Emitted {
        self.texels.insert(value, texel);
        Ok(0)
    }

    pub(super) fn image(&mut self, value: Value, inst: &Inst) -> Emitted {
        let access = self.access_of(inst)?;
        let AccessKind::Image {
            op,
            dim,
            dmask,
            unnormalised,
        } = access.kind.clone()
        else {
            return Err(Reason::Internal(String::from(
                "an image operation without image access",
            )));
        };
        let descriptors = access.descriptors.clone();
        let Some(&descriptor) = descriptors.first() else {
            return Err(Reason::Internal(String::from(
                "an image operation without a descriptor",
            )));
        };
        let ty = self.image_type(descriptor)?;
        let class = self
            .image_shapes
            .get(&descriptor)
            .copied()
            .unwrap_or_default()
            .class;
        let variable = self.resource(descriptor, ty);
        let x: Vec<Word> = inst.operands.iter().map(|operand| self.id(*operand)).collect();
        match op {
            ImageOp::Sample {
                level,
                compare,
                offset,
                gather,
            } => {
                if unnormalised {
                    return Err(Reason::Unsupported("unnormalised coordinates"));
                }
                let offset = if offset {
                    Some(self.constant_offset(inst, dim)?)
                } else {
                    None
                };
                let Some(&sampler) = descriptors.get(1) else {
                    return Err(Reason::Internal(String::from("a sample without a sampler")));
                };
                let combined = self.combine(ty, variable, sampler)?;
                let texel = self.sample(
                    &x,
                    combined,
                    class,
                    dim,
                    Sample {
                        level,
                        compare,
                        offset,
                        gather,
                        dmask,
                    },
                )?;
                self.texel(value, texel)
            }
            ImageOp::QueryLod => {
                let Some(&sampler) = descriptors.get(1) else {
                    return Err(Reason::Internal(String::from("a query without a sampler")));
                };
                self.need("ImageQuery", Capability::ImageQuery);
                let combined = self.combine(ty, variable, sampler)?;
                let words = self.floats(&x[..gradients(dim).min(x.len())])?;
                let coordinate = self.join(Type::F32, false, &words)?;
                let (pair, float) = (self.vector(Type::F32, 2), self.f32());
                let lod = self.op(S::ImageQueryLod, pair, &[combined, coordinate])?;
                let mut parts = Vec::new();
                for index in 0..2 {
                    let operands = vec![Operand::IdRef(lod), Operand::LiteralBit32(index)];
                    let part = self.op_with(S::CompositeExtract, float, operands)?;
                    self.floats.insert(part);
                    parts.push(part);
                }
                let zero = self.word(0);
                self.texel(value, Texel::Parts([parts[0], parts[1], zero, zero]))
            }
            ImageOp::Load { mip } => {
                let texel = self.load_texel(&x, ty, variable, class, dim, mip)?;
                self.texel(value, Texel::Vector(texel, class))
            }
            ImageOp::Store { mip } => {
                if mip {
                    return Err(Reason::Unsupported("stores to a level that the address names"));
                }
                self.store_texel(&x, ty, variable, class, dim)
            }
            ImageOp::Atomic(atomic) => {
                let count = coordinates(dim);
                let coordinate = self.join(Type::U32, false, &x[..count])?;
                let component = self.component_type(class);
                let pointer_type = self.pointer_to(StorageClass::Image, component);
                let zero = self.word(0);
                let place = Place {
                    pointer: self.op(S::ImageTexelPointer, pointer_type, &[variable, coordinate, zero])?,
                    class: StorageClass::Image,
                    element: component,
                    numbers: Type::U32,
                };
                let old = self.atomic(atomic, place, x[count], x[count + 1])?;
                let vector = self.vector(Type::U32, 4);
                self.op(S::CompositeConstruct, vector, &[old, zero, zero, zero])
            }
            ImageOp::Size => {
                let parts = self.size(ty, variable, dim, x[0])?;
                self.texel(value, Texel::Parts(parts))
            }
        }
    }

    fn combine(&mut self, image_type: Word, image: Word, sampler: u32) -> Emitted {
        let sampler_type = self.b.type_sampler();
        let sampler = self.resource(sampler, sampler_type);
        let image = self.op(S::Load, image_type, &[image])?;
        let sampler = self.op(S::Load, sampler_type, &[sampler])?;
        let combined = self.b.type_sampled_image(image_type);
        self.op(S::SampledImage, combined, &[image, sampler])
    }

    /// The packed offsets of an `_o` instruction: six signed bits in each byte. SPIR-V takes constants only.
    fn constant_offset(&mut self, inst: &Inst, dim: ImageDim) -> Emitted {
        let Some(bits) = inst
            .operands
            .first()
            .and_then(|first| self.function.constant(*first))
        else {
            return Err(Reason::Unsupported("a texel offset that is not constant"));
        };
        let signed = self.signed();
        let count = gradients(dim);
        let mut parts = Vec::new();
        for index in 0..count {
            let field = ((bits as u32) >> (8 * index)) & 63;
            let value = ((field << 26).cast_signed() >> 26).cast_unsigned();
            parts.push(self.b.constant_bit32(signed, value));
        }
        if let [one] = parts[..] {
            return Ok(one);
        }
        let vector = self.vector_of(signed, count as u32);
        Ok(self.b.constant_composite(vector, parts))
    }

    fn sample(
        &mut self,
        x: &[Word],
        image: Word,
        class: NumericClass,
        dim: ImageDim,
        sample: Sample,
    ) -> Result<Texel, Reason> {
        let mut at = usize::from(sample.offset.is_some());
        let mut take = |count: usize| {
            let list = x.get(at..at + count).map(<[Word]>::to_vec);
            at += count;
            list.ok_or_else(|| Reason::Internal(String::from("an image instruction has too few addresses")))
        };
        let bias = if sample.level == Level::Bias {
            Some(take(1)?[0])
        } else {
            None
        };
        let reference = if sample.compare { Some(take(1)?[0]) } else { None };
        let slopes = if sample.level == Level::Gradient {
            Some(take(2 * gradients(dim))?)
        } else {
            None
        };
        let place = take(coordinates(dim))?;
        let lod = if sample.level == Level::Explicit {
            Some(take(1)?[0])
        } else {
            None
        };

        let mut place = self.floats(&place)?;
        let float = self.f32();
        if dim == ImageDim::Cube {
            self.cube_layers(&mut place)?;
        }
        let coordinate = self.join(Type::F32, false, &place)?;
        let mut flags = ImageOperands::empty();
        let mut extra: Vec<Operand> = Vec::new();
        if let Some(bias) = bias {
            let bias = self.as_float(bias)?;
            flags |= ImageOperands::BIAS;
            extra.push(Operand::IdRef(bias));
        }
        // Only pixel programs have derivatives; elsewhere the implicit level is the base level.
        let pixel = self.program.stage.stage() == crate::binary::Stage::Pixel;
        let explicit = match sample.level {
            Level::Explicit => lod,
            Level::Zero => Some(self.word(0)),
            Level::Implicit if !pixel && !sample.gather => Some(self.word(0)),
            _ => None,
        };
        if let Some(lod) = explicit
            && !sample.gather
        {
            let lod = self.as_float(lod)?;
            flags |= ImageOperands::LOD;
            extra.push(Operand::IdRef(lod));
        }
        if let Some(slopes) = slopes {
            let slopes = self.floats(&slopes)?;
            let half = slopes.len() / 2;
            let dx = self.join(Type::F32, false, &slopes[..half])?;
            let dy = self.join(Type::F32, false, &slopes[half..])?;
            flags |= ImageOperands::GRAD;
            extra.extend([Operand::IdRef(dx), Operand::IdRef(dy)]);
        }
        if let Some(offset) = sample.offset {
            flags |= ImageOperands::CONST_OFFSET;
            extra.push(Operand::IdRef(offset));
        }
        let explicit = flags.intersects(ImageOperands::LOD | ImageOperands::GRAD);
        let component = self.component_type(class);
        let vector = self.vector_of(component, 4);
        let reference = match reference {
            Some(reference) => Some(self.as_float(reference)?),
            None => None,
        };
        if sample.gather && !matches!(sample.level, Level::Zero | Level::Implicit) {
            return Err(Reason::Unsupported("gathers with a level or bias"));
        }
        let (opcode, result) = match (sample.gather, reference.is_some(), explicit) {
            (true, true, _) => (S::ImageDrefGather, vector),
            (true, false, _) => (S::ImageGather, vector),
            (false, true, true) => (S::ImageSampleDrefExplicitLod, float),
            (false, true, false) => (S::ImageSampleDrefImplicitLod, float),
            (false, false, true) => (S::ImageSampleExplicitLod, vector),
            (false, false, false) => (S::ImageSampleImplicitLod, vector),
        };
        let mut operands = vec![Operand::IdRef(image), Operand::IdRef(coordinate)];
        if let Some(reference) = reference {
            operands.push(Operand::IdRef(reference));
        } else if sample.gather {
            let component = self.word(u32::from(sample.dmask).trailing_zeros().min(3));
            operands.push(Operand::IdRef(component));
        }
        if !flags.is_empty() {
            operands.push(Operand::ImageOperands(flags));
            operands.extend(extra);
        }
        let texel = self.op_with(opcode, result, operands)?;
        if result == float {
            self.floats.insert(texel);
            let zero = self.word(0);
            return Ok(Texel::Parts([texel, zero, zero, zero]));
        }
        Ok(Texel::Vector(texel, class))
    }

    /// Face coordinates lie in 1..2 and the face number counts 8 a layer on the guest.
    fn cube_layers(&mut self, place: &mut [Word]) -> Result<(), Reason> {
        let float = self.f32();
        let (one, eighth, six, eight) = (
            self.float(1.0),
            self.float(0.125),
            self.float(6.0),
            self.float(8.0),
        );
        for coordinate in place.iter_mut().take(2) {
            *coordinate = self.op(S::FSub, float, &[*coordinate, one])?;
        }
        let face = place[2];
        let layer = self.op(S::FMul, float, &[face, eighth])?;
        let layer = self.ext(float, GLOp::Floor, &[layer])?;
        let skipped = self.op(S::FMul, float, &[layer, eight])?;
        let face = self.op(S::FSub, float, &[face, skipped])?;
        let start = self.op(S::FMul, float, &[layer, six])?;
        place[2] = self.op(S::FAdd, float, &[start, face])?;
        Ok(())
    }

    fn load_texel(
        &mut self,
        x: &[Word],
        ty: Word,
        variable: Word,
        class: NumericClass,
        dim: ImageDim,
        mip: bool,
    ) -> Emitted {
        let multisampled = matches!(dim, ImageDim::D2Msaa | ImageDim::D2MsaaArray);
        let count = coordinates(dim) - usize::from(multisampled);
        let image = self.op(S::Load, ty, &[variable])?;
        let coordinate = self.join(Type::U32, false, &x[..count])?;
        let component = self.component_type(class);
        let vector = self.vector_of(component, 4);
        let mut operands = vec![Operand::IdRef(image), Operand::IdRef(coordinate)];
        if multisampled {
            operands.push(Operand::ImageOperands(ImageOperands::SAMPLE));
            operands.push(Operand::IdRef(x[count]));
        } else {
            let level = if mip { x[count] } else { self.word(0) };
            operands.push(Operand::ImageOperands(ImageOperands::LOD));
            operands.push(Operand::IdRef(level));
        }
        self.op_with(S::ImageFetch, vector, operands)
    }

    fn store_texel(
        &mut self,
        x: &[Word],
        ty: Word,
        variable: Word,
        class: NumericClass,
        dim: ImageDim,
    ) -> Emitted {
        self.need_feature(
            Features::IMAGE_WRITE_WITHOUT_FORMAT,
            "image stores without a format",
        )?;
        self.need(
            "StorageImageWriteWithoutFormat",
            Capability::StorageImageWriteWithoutFormat,
        );
        let count = coordinates(dim);
        let image = self.op(S::Load, ty, &[variable])?;
        let coordinate = self.join(Type::U32, false, &x[..count])?;
        let component = self.component_type(class);
        let vector = self.vector_of(component, 4);
        let mut data = Vec::new();
        for &word in &x[count..count + 4] {
            data.push(match class {
                NumericClass::Float => self.as_float(word)?,
                NumericClass::Uint => self.as_word(word)?,
                NumericClass::Sint => self.op(S::Bitcast, component, &[word])?,
            });
        }
        let texel = self.op(S::CompositeConstruct, vector, &data)?;
        self.act(
            S::ImageWrite,
            vec![
                Operand::IdRef(image),
                Operand::IdRef(coordinate),
                Operand::IdRef(texel),
            ],
        )?;
        Ok(0)
    }

    fn size(&mut self, ty: Word, variable: Word, dim: ImageDim, level: Word) -> Result<[Word; 4], Reason> {
        self.need("ImageQuery", Capability::ImageQuery);
        let word = self.u32();
        let image = self.op(S::Load, ty, &[variable])?;
        let parts = match dim {
            ImageDim::D1 => 1,
            ImageDim::D2 | ImageDim::D2Msaa | ImageDim::D1Array => 2,
            ImageDim::D3 | ImageDim::Cube | ImageDim::D2Array | ImageDim::D2MsaaArray => 3,
        };
        let vector = self.vector(Type::U32, parts);
        let multisampled = matches!(dim, ImageDim::D2Msaa | ImageDim::D2MsaaArray);
        // llvmpipe takes the level of one lane for all: what lanes may disagree on is shifted instead.
        let fixed = self.known(level);
        let (asked, zero) = (level, self.word(0));
        let level = if fixed.is_some() { level } else { zero };
        let (size, levels) = if multisampled {
            (self.op(S::ImageQuerySize, vector, &[image])?, self.word(1))
        } else {
            (
                self.op(S::ImageQuerySizeLod, vector, &[image, level])?,
                self.op(S::ImageQueryLevels, word, &[image])?,
            )
        };
        let zero = self.word(1);
        let mut words = [zero, zero, zero, levels];
        if parts == 1 {
            words[0] = size;
        } else {
            for (index, slot) in words.iter_mut().enumerate().take(parts as usize) {
                let operands = vec![Operand::IdRef(size), Operand::LiteralBit32(index as u32)];
                *slot = self.op_with(S::CompositeExtract, word, operands)?;
            }
        }
        let edges = match dim {
            ImageDim::D1 | ImageDim::D1Array => 1,
            ImageDim::D3 => 3,
            _ => 2,
        };
        if fixed.is_none() && !multisampled {
            let (one, mask) = (self.word(1), self.word(31));
            let count = self.op(S::BitwiseAnd, word, &[asked, mask])?;
            for edge in words.iter_mut().take(edges) {
                let part = self.op(S::ShiftRightLogical, word, &[*edge, count])?;
                *edge = self.ext(word, GLOp::UMax, &[part, one])?;
            }
        }
        if dim == ImageDim::D1Array {
            // Layers are the third number on the guest.
            words.swap(1, 2);
        }
        Ok(words)
    }
}

#[derive(Clone, Copy)]
struct Sample {
    level: Level,
    compare: bool,
    offset: Option<Word>,
    gather: bool,
    dmask: u8,
}
