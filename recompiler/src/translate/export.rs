//! Exports, and the parameters that pixel programs interpolate.

use super::variables::Variable;
use super::{Taken, Translator};
use crate::binary::{Stage, StageRegisters};
use crate::decode::{Operand, op};
use crate::ir::{AccessKind, Op, Type, Value};
use crate::refusal::Reason;

/// How a pixel input is interpolated, in an attribute's immediate.
pub(crate) mod interpolation {
    /// Perspective, at the pixel's centre.
    pub(crate) const CENTER: u64 = 0;
    /// Perspective, per sample.
    pub(crate) const SAMPLE: u64 = 1;
    /// Perspective, at the centroid.
    pub(crate) const CENTROID: u64 = 2;
    /// Without perspective; added to one of the above.
    pub(crate) const LINEAR: u64 = 4;
    /// The provoking vertex's value.
    pub(crate) const FLAT: u64 = 8;
}

/// Targets of vertex exports in an access: what PA_CL_VS_OUT_CNTL leaves open is decided.
pub(crate) mod targets {
    /// Point size and layer.
    pub(crate) const MISC: u8 = 13;
    /// Clip and cull distances 0..=3; 4..=7 follow.
    pub(crate) const DISTANCES: u8 = 14;
}

/// SPI_SHADER_COL_FORMAT: red and alpha, 32 bits each.
const FORMAT_32_AR: u32 = 3;
/// SPI_SHADER_Z_FORMAT: unsigned 16-bit halves.
const FORMAT_UINT16: u32 = 7;

fn export_format(col_format: u32, target: u8) -> u32 {
    col_format >> (4 * u32::from(target)) & 15
}

/// Colour target that the pixel export `slot` reaches: the n-th slot with a format feeds the n-th target that
/// CB_SHADER_MASK names. `None` where there is no such target.
fn colour_target(col_format: u32, shader_mask: u32, slot: u8) -> Option<u8> {
    if export_format(col_format, slot) == 0 {
        return None;
    }
    let rank = (0..slot)
        .filter(|before| export_format(col_format, *before) != 0)
        .count();
    (0..8)
        .filter(|target| shader_mask >> (4 * target) & 15 != 0)
        .nth(rank)
        .map(|target: u32| target as u8)
}

/// A vector behind the position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PositionVector {
    /// Point size, edge flag, layer, viewport.
    Misc,
    /// Clip and cull distances, the lower (0) or upper (1) four.
    Distances(u8),
}

/// The vector that the position export `number` (0 is the first behind the position) holds. Enabled vectors are
/// packed without holes.
fn position_vector(vs_out_cntl: u32, number: u8) -> Option<PositionVector> {
    let misc = vs_out_cntl >> 21 & 1 != 0 || vs_out_cntl & 0x001f_0000 != 0;
    [
        misc.then_some(PositionVector::Misc),
        (vs_out_cntl >> 22 & 1 != 0).then_some(PositionVector::Distances(0)),
        (vs_out_cntl >> 23 & 1 != 0).then_some(PositionVector::Distances(1)),
    ]
    .into_iter()
    .flatten()
    .nth(usize::from(number))
}

impl Translator<'_> {
    pub(super) fn export(&mut self) -> Taken {
        if self.stage() == Stage::Compute {
            return Err(Reason::Unsupported("an export from compute"));
        }
        let instruction = self.instruction;
        let memory = instruction.memory;
        let (compressed, done) = (memory.dim & 1 != 0, memory.dim & 2 != 0);
        let target = instruction.immediate as u8;
        let mut mask = memory.dmask;
        let zero = self.v.word(0);
        let exec = self.v.read(Variable::Exec);
        let mut values = [zero; 4];
        if compressed {
            // Two components a register; the mask's bits come in pairs.
            for (index, slot) in values.iter_mut().enumerate() {
                if mask >> index & 1 != 0 {
                    let word = self.raw(Operand::Vector(memory.addresses[index / 2]))?;
                    *slot = self.unpack_export(target, word, index % 2)?;
                }
            }
        } else {
            for (index, slot) in values.iter_mut().enumerate() {
                if mask >> index & 1 != 0 {
                    *slot = self.raw(Operand::Vector(memory.addresses[index]))?;
                }
            }
        }
        let pixel = matches!(self.registers, StageRegisters::Pixel { .. });
        let mut output = target;
        match (target, pixel) {
            (0..=7, true) => {
                let StageRegisters::Pixel {
                    col_format,
                    shader_mask,
                    ..
                } = self.registers
                else {
                    return Ok(false);
                };
                match colour_target(col_format, shader_mask, target) {
                    Some(location) if mask != 0 => {
                        output = location;
                        self.interface.colour_outputs |= 1 << location;
                    }
                    // A slot without a format, or without a target behind it, goes nowhere.
                    _ => mask = 0,
                }
                if !compressed && export_format(col_format, target) == FORMAT_32_AR {
                    // Red and alpha come in the first two registers.
                    values = [values[0], zero, zero, values[1]];
                    mask = mask & 1 | (mask & 2) << 2;
                }
            }
            (8, true) => {
                let StageRegisters::Pixel {
                    db_shader_control,
                    z_format,
                    ..
                } = self.registers
                else {
                    return Ok(false);
                };
                if compressed && mask != 0 {
                    if z_format & 15 != FORMAT_UINT16 {
                        return Err(Reason::Unsupported("compressed depth exports"));
                    }
                    // Stencil in the upper half of the first register, the sample mask in the lower of the second.
                    mask = u8::from(mask & 3 != 0) << 1 | u8::from(mask & 12 != 0) << 2;
                    let (word, low) = (
                        self.raw(Operand::Vector(memory.addresses[1]))?,
                        self.v.word(0xffff),
                    );
                    values = [zero, zero, self.u(Op::And, &[word, low]), zero];
                }
                // Depth, stencil and sample mask are only taken where the depth block asks for them.
                if db_shader_control & 1 == 0 {
                    mask &= !1;
                }
                // Bit 1 takes the test value, bit 2 the operation's value from the same word.
                if db_shader_control & 6 == 0 {
                    mask &= !2;
                }
                if db_shader_control >> 8 & 1 == 0 {
                    mask &= !4;
                }
                mask &= 7;
                if mask & 2 != 0 {
                    return Err(Reason::Unsupported("a stencil value from the pixel program"));
                }
                self.interface.writes_depth |= mask & 1 != 0;
                self.interface.writes_sample_mask |= mask & 4 != 0;
            }
            (9, true) => mask = 0,
            (12, false) => {}
            (13..=16, false) => {
                // Which vectors follow the position, and what they hold, is for PA_CL_VS_OUT_CNTL to say.
                let StageRegisters::Vertex { vs_out_cntl, .. } = self.registers else {
                    return Ok(false);
                };
                match position_vector(vs_out_cntl, target - 13) {
                    Some(PositionVector::Misc) => {
                        output = targets::MISC;
                        mask &=
                            u8::from(vs_out_cntl >> 16 & 1 != 0) | u8::from(vs_out_cntl >> 18 & 1 != 0) << 2;
                        if vs_out_cntl >> 19 & 1 != 0 && memory.dmask & 8 != 0 {
                            return Err(Reason::Unsupported("a viewport index from the vertex program"));
                        }
                        // A layer that is always 0 is the default.
                        if self.v.function.constant(values[2]) == Some(0) {
                            mask &= !4;
                        }
                    }
                    Some(PositionVector::Distances(half)) => {
                        output = targets::DISTANCES + half;
                        let enabled = (vs_out_cntl | vs_out_cntl >> 8) >> (4 * u32::from(half));
                        mask &= enabled as u8 & 15;
                    }
                    None => mask = 0,
                }
            }
            (20, false) => mask = 0,
            (32..=63, false) => {
                self.interface.locations |= 1_u32.checked_shl(u32::from(target) - 32).unwrap_or(0);
            }
            _ => return Err(Reason::Unsupported("this export target in this stage")),
        }
        if pixel && done && self.v.function.constant(exec) != Some(1) {
            // Lanes that are off when the last export is made leave no pixel.
            let off = self.b(Op::LNot, &[exec]);
            self.v.emit(Op::Demote, Type::Void, &[off], 0);
            self.interface.uses_discard = true;
        }
        if mask == 0 {
            return Ok(true);
        }
        let access = self.access(AccessKind::Export {
            target: output,
            mask,
            compressed,
        });
        // After the last export nothing of a discarded lane counts, so it needs no guard.
        let active = if pixel && done { self.v.truth(true) } else { exec };
        let operands = [values[0], values[1], values[2], values[3], active];
        self.v.emit(Op::Export, Type::Void, &operands, access);
        Ok(true)
    }

    /// One component of a compressed export as the 32-bit word that the output takes.
    fn unpack_export(&mut self, target: u8, word: Value, half: usize) -> Result<Value, Reason> {
        let StageRegisters::Pixel { col_format, .. } = self.registers else {
            return Err(Reason::Unsupported("compressed exports outside pixel programs"));
        };
        if target > 7 {
            return Ok(word);
        }
        let field = |this: &mut Self, signed: bool| {
            let operands = [word, this.v.word(16 * half as u32), this.v.word(16)];
            this.u(if signed { Op::FieldS } else { Op::FieldU }, &operands)
        };
        let scaled = |this: &mut Self, value: Value, op: Op, scale: f32| {
            let value = this.f(op, &[value]);
            let scale = this.v.constant(Type::F32, u64::from(scale.to_bits()));
            let value = this.f(Op::FMul, &[value, scale]);
            this.u(Op::BitcastU32, &[value])
        };
        Ok(match export_format(col_format, target) {
            5 => {
                let value = field(self, false);
                scaled(self, value, Op::U32ToF32, 1.0 / 65535.0)
            }
            6 => {
                let value = field(self, true);
                scaled(self, value, Op::S32ToF32, 1.0 / 32767.0)
            }
            7 => field(self, false),
            8 => field(self, true),
            _ => {
                let float = self.before_packing(word, half).unwrap_or_else(|| {
                    self.f(
                        if half == 0 {
                            Op::UnpackHalfLow
                        } else {
                            Op::UnpackHalfHigh
                        },
                        &[word],
                    )
                });
                self.u(Op::BitcastU32, &[float])
            }
        })
    }

    /// The float that was packed into a half only to be exported: the target rounds it itself, so the detour through 16
    /// bits is left out.
    fn before_packing(&self, word: Value, half: usize) -> Option<Value> {
        let f = &self.v.function;
        let packed = f.inst(word);
        matches!(packed.op, Op::PackHalf | Op::PackHalfZero)
            .then(|| packed.operands.get(half).copied())
            .flatten()
    }

    pub(super) fn interpolate(&mut self) -> Taken {
        let instruction = self.instruction;
        let StageRegisters::Pixel { input_cntl, .. } = self.registers else {
            return Err(Reason::Unsupported("interpolation outside pixel programs"));
        };
        let (attribute, component) = (
            u32::from(instruction.immediate >> 2),
            u32::from(instruction.immediate & 3),
        );
        if attribute >= 32 {
            return Err(Reason::Unsupported("an attribute above 31"));
        }
        let control = input_cntl[attribute as usize];
        if control >> 5 & 1 != 0 {
            // No parameter feeds it: zeros, or ones in w or in all but w.
            let ones =
                [[false, false], [false, true], [true, false], [true, true]][(control >> 8 & 3) as usize];
            let bit = if component == 3 { ones[1] } else { ones[0] };
            let value = self.v.word(if bit { 0x3f80_0000 } else { 0 });
            self.set_vector(instruction.dst, 0, value)?;
            return Ok(true);
        }
        let location = u64::from(control & 31);
        let flat = control >> 10 & 1 != 0;
        let mode = match instruction.opcode() {
            op::V_INTERP_MOV_F32 => {
                if instruction.src[0] != Operand::Vector(2) {
                    return Err(Reason::Unsupported("the difference of two vertices' parameters"));
                }
                interpolation::FLAT
            }
            op::V_INTERP_P1_F32 => {
                let source = self.raw(instruction.src[0])?;
                let mark = self.v.emit(
                    Op::InterpolateP1,
                    Type::U32,
                    &[source],
                    u64::from(instruction.immediate),
                );
                // The mark means the same in lanes that are off.
                if let Operand::Vector(register) = instruction.dst {
                    self.v.write(Variable::Vector(register), mark);
                }
                return Ok(true);
            }
            op::V_INTERP_P2_F32 => {
                let first = self.raw(instruction.dst)?;
                let second = self.raw(instruction.src[0])?;
                let function = &self.v.function;
                let p1 = function.inst(first);
                let matching = p1.op == Op::InterpolateP1 && p1.immediate == u64::from(instruction.immediate);
                let (i, j) = match (matching, function.inst(second)) {
                    (true, j) if j.op == Op::Barycentric => (function.inst(p1.operands[0]), j),
                    _ => return Err(Reason::Unsupported("interpolation at computed coordinates")),
                };
                if i.op != Op::Barycentric || i.immediate + 1 != j.immediate || i.immediate & 3 != 0 {
                    return Err(Reason::Unsupported("interpolation at computed coordinates"));
                }
                match (flat, i.immediate >> 2) {
                    (true, _) => interpolation::FLAT,
                    (_, 0) => interpolation::SAMPLE,
                    (_, 1) => interpolation::CENTER,
                    (_, 2) => interpolation::CENTROID,
                    (_, 4) => interpolation::LINEAR + interpolation::SAMPLE,
                    (_, 5) => interpolation::LINEAR + interpolation::CENTER,
                    (_, 6) => interpolation::LINEAR + interpolation::CENTROID,
                    _ => return Err(Reason::Unsupported("the pull model")),
                }
            }
            _ => return Ok(false),
        };
        self.interface.locations |= 1 << location;
        let immediate = (mode << 8) | (location * 4 + u64::from(component));
        let value = self.v.emit(Op::Attribute, Type::F32, &[], immediate);
        let word = self.u(Op::BitcastU32, &[value]);
        self.set_vector(instruction.dst, 0, word)?;
        Ok(true)
    }
}
