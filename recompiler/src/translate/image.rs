//! Images. Address registers are sorted into a fixed order: offset, bias, comparand, gradients, coordinates, level.

use super::memory::atomic_named;
use super::{Taken, Translator};
use crate::decode::{Operand, op};
use crate::ir::{AccessKind, ImageOp, Level, Op, Type, Value};
use crate::plan::ImageDim;
use crate::refusal::Reason;

/// Coordinates of a dimension, layers and sample numbers included.
pub(crate) const fn coordinates(dim: ImageDim) -> usize {
    match dim {
        ImageDim::D1 => 1,
        ImageDim::D2 | ImageDim::D1Array => 2,
        ImageDim::D3 | ImageDim::Cube | ImageDim::D2Array | ImageDim::D2Msaa => 3,
        ImageDim::D2MsaaArray => 4,
    }
}

/// Components of one direction's gradient.
pub(crate) const fn gradients(dim: ImageDim) -> usize {
    match dim {
        ImageDim::D1 | ImageDim::D1Array => 1,
        ImageDim::D3 => 3,
        _ => 2,
    }
}

impl Translator<'_> {
    pub(super) fn image(&mut self) -> Taken {
        let instruction = self.instruction;
        let memory = instruction.memory;
        let name = instruction.row.name;
        if name.contains("BVH") {
            // Known but not translated: fine as long as nothing needs its results.
            let access = self.access(AccessKind::ScalarAddress);
            for index in 0..4 {
                let value = self.v.emit(Op::Refused, Type::U32, &[], access);
                self.set_vector(instruction.dst, index, value)?;
            }
            return Ok(true);
        }
        let dim = [
            ImageDim::D1,
            ImageDim::D2,
            ImageDim::D3,
            ImageDim::Cube,
            ImageDim::D1Array,
            ImageDim::D2Array,
            ImageDim::D2Msaa,
            ImageDim::D2MsaaArray,
        ][usize::from(memory.dim & 7)];
        let words: Vec<_> = name.split('_').skip(2).collect();
        let has = |word: &str| words.contains(&word);
        let gather = name.starts_with("IMAGE_GATHER4");
        let op = if name.starts_with("IMAGE_SAMPLE") || gather {
            if has("CL") || has("CD") || has("G16") {
                return Err(Reason::Unsupported(
                    "level clamps, coarse gradients and 16-bit gradients",
                ));
            }
            ImageOp::Sample {
                level: if has("LZ") {
                    Level::Zero
                } else if has("L") {
                    Level::Explicit
                } else if has("B") {
                    Level::Bias
                } else if has("D") {
                    Level::Gradient
                } else {
                    Level::Implicit
                },
                compare: has("C"),
                offset: has("O"),
                gather,
            }
        } else {
            match instruction.opcode() {
                op::IMAGE_LOAD => ImageOp::Load { mip: false },
                op::IMAGE_LOAD_MIP => ImageOp::Load { mip: true },
                op::IMAGE_STORE => ImageOp::Store { mip: false },
                op::IMAGE_STORE_MIP => ImageOp::Store { mip: true },
                op::IMAGE_GET_RESINFO => ImageOp::Size,
                op::IMAGE_GET_LOD => ImageOp::QueryLod,
                _ => match name.strip_prefix("IMAGE_ATOMIC_").and_then(atomic_named) {
                    Some((atomic, false)) => ImageOp::Atomic(atomic),
                    _ => return Ok(false),
                },
            }
        };
        if memory.tfe || memory.lwe || memory.a16 || memory.r128 {
            return Err(Reason::Unsupported("images with TFE, LWE, A16 or R128"));
        }
        let mut operands = Vec::with_capacity(24);
        for index in 0..8 {
            operands.push(self.raw_at(instruction.src[1], index)?);
        }
        if matches!(op, ImageOp::Sample { .. } | ImageOp::QueryLod) {
            for index in 0..4 {
                operands.push(self.raw_at(instruction.src[2], index)?);
            }
        }
        let count = crate::decode::print::image_address_count(instruction);
        let listed = 1 + 4 * usize::from(memory.nsa);
        if memory.nsa > 0 && count > listed
            || memory.nsa == 0 && usize::from(memory.addresses[0]) + count > 256
        {
            return Err(Reason::Unsupported("an image whose addresses are not all named"));
        }
        for &register in memory.addresses.iter().take(count) {
            operands.push(self.raw(Operand::Vector(register))?);
        }
        let access = self.access(AccessKind::Image {
            op,
            dim,
            dmask: memory.dmask,
            unnormalised: memory.unnormalised,
        });
        match op {
            ImageOp::Store { .. } => {
                self.interface.writes_memory = true;
                let data = self.store_data()?;
                operands.extend(data);
                let active = self.active();
                operands.push(active);
                self.v.emit(Op::Image, Type::U32x4, &operands, access);
            }
            ImageOp::Atomic(atomic) => {
                self.interface.writes_memory = true;
                let data = self.raw_at(instruction.dst, 0)?;
                let comparand = if atomic.compares() {
                    self.raw_at(instruction.dst, 1)?
                } else {
                    data
                };
                let active = self.active();
                operands.extend([data, comparand, active]);
                let old = self.v.emit(Op::Image, Type::U32x4, &operands, access);
                if memory.glc {
                    let old = self.v.emit(Op::Extract, Type::U32, &[old], 0);
                    self.set_vector(instruction.dst, 0, old)?;
                }
            }
            _ => {
                let texel = self.v.emit(Op::ImageRead, Type::U32x4, &operands, access);
                let components: Vec<u64> = if gather {
                    (0..4).collect()
                } else {
                    (0..4)
                        .filter(|component| memory.dmask >> component & 1 != 0)
                        .collect()
                };
                let mut values = Vec::new();
                for component in components {
                    values.push(self.v.emit(Op::Extract, Type::U32, &[texel], component));
                }
                self.set_texel(&values)?;
            }
        }
        Ok(true)
    }

    fn store_data(&mut self) -> Result<[Value; 4], Reason> {
        let memory = self.instruction.memory;
        if memory.d16 {
            return Err(Reason::Unsupported("image stores of 16-bit data"));
        }
        let mut data = [self.v.word(0); 4];
        let mut register = 0;
        for (component, slot) in data.iter_mut().enumerate() {
            if memory.dmask >> component & 1 != 0 {
                *slot = self.raw_at(self.instruction.dst, register)?;
                register += 1;
            }
        }
        Ok(data)
    }

    fn set_texel(&mut self, values: &[Value]) -> Result<(), Reason> {
        let dst = self.instruction.dst;
        if !self.instruction.memory.d16 {
            for (index, &value) in values.iter().enumerate() {
                self.set_vector(dst, index as u8, value)?;
            }
            return Ok(());
        }
        let zero = self.v.constant(Type::F32, 0);
        for (index, pair) in values.chunks(2).enumerate() {
            let low = self.f(Op::BitcastF32, &[pair[0]]);
            let high = match pair.get(1) {
                Some(&high) => self.f(Op::BitcastF32, &[high]),
                None => zero,
            };
            let word = self.u(Op::PackHalf, &[low, high]);
            self.set_vector(dst, index as u8, word)?;
        }
        Ok(())
    }
}
