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

fn is_sampled(op: ImageOp) -> bool {
    matches!(op, ImageOp::Sample { .. } | ImageOp::QueryLod)
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
            if has("CL") {
                return Err(Reason::Unsupported("a clamp of the level"));
            }
            ImageOp::Sample {
                level: if has("LZ") {
                    Level::Zero
                } else if has("L") {
                    Level::Explicit
                } else if has("B") {
                    Level::Bias
                } else if has("D") || has("CD") {
                    // Coarse gradients may be less exact, not more.
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
        if memory.tfe || memory.lwe || memory.r128 {
            return Err(Reason::Unsupported("images with TFE, LWE or R128"));
        }
        if memory.a16 && (has("B") || op == ImageOp::Size) {
            return Err(Reason::Unsupported("a 16-bit bias or level alone"));
        }
        let mut operands = Vec::with_capacity(24);
        for index in 0..8 {
            operands.push(self.raw_at(instruction.src[1], index)?);
        }
        if is_sampled(op) {
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
        let first = if is_sampled(op) { 12 } else { 8 };
        if memory.a16 || has("G16") {
            let whole = usize::from(has("O")) + usize::from(has("C"));
            let addresses = operands.split_off(first);
            let rest = self.unpack_addresses(&addresses, whole, op, dim, has("G16"))?;
            operands.extend(rest);
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

    /// Address words where some are pairs of 16-bit numbers: gradients, each direction in words of its own, and with A16
    /// coordinates and level. The first `whole` are words.
    fn unpack_addresses(
        &mut self,
        addresses: &[Value],
        whole: usize,
        op: ImageOp,
        dim: ImageDim,
        short_gradients: bool,
    ) -> Result<Vec<Value>, Reason> {
        let too_few = || Reason::Internal(String::from("an image has too few addresses"));
        let sampled = is_sampled(op);
        let mut list = addresses.get(..whole).ok_or_else(too_few)?.to_vec();
        let mut at = whole;
        let gradient = matches!(
            op,
            ImageOp::Sample {
                level: Level::Gradient,
                ..
            }
        );
        let directions = if gradient { 2 } else { 0 };
        for _ in 0..directions {
            let count = gradients(dim);
            let words = if short_gradients { count.div_ceil(2) } else { count };
            let part = addresses.get(at..at + words).ok_or_else(too_few)?;
            at += words;
            if short_gradients {
                self.unpack_halves(part, count, true, &mut list);
            } else {
                list.extend(part);
            }
        }
        let rest = addresses.get(at..).ok_or_else(too_few)?;
        if !self.instruction.memory.a16 {
            list.extend(rest);
            return Ok(list);
        }
        let level = matches!(
            op,
            ImageOp::Sample {
                level: Level::Explicit,
                ..
            } | ImageOp::Load { mip: true }
                | ImageOp::Store { mip: true }
        );
        let count = coordinates(dim) + usize::from(level);
        if 2 * rest.len() < count {
            return Err(too_few());
        }
        self.unpack_halves(rest, count, sampled, &mut list);
        Ok(list)
    }

    /// The first `count` halves of words, as floats or as unsigned numbers.
    fn unpack_halves(&mut self, words: &[Value], count: usize, floats: bool, list: &mut Vec<Value>) {
        for index in 0..count {
            let word = words[index / 2];
            let high = index % 2 == 1;
            list.push(if floats {
                let op = if high {
                    Op::UnpackHalfHigh
                } else {
                    Op::UnpackHalfLow
                };
                let value = self.f(op, &[word]);
                self.u(Op::BitcastU32, &[value])
            } else {
                let operands = [word, self.v.word(if high { 16 } else { 0 }), self.v.word(16)];
                self.u(Op::FieldU, &operands)
            });
        }
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
