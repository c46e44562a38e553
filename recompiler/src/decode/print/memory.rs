//! Buffers, flat memory, data shares and exports.

use super::formats::FORMATS;
use super::{flags, register};
use crate::binary::Dialect;
use crate::decode::{Encoding, Instruction, Operand, op};
use std::fmt::{self, Write as _};

impl Instruction {
    pub(super) fn export(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        let target = match self.immediate {
            n @ 0..=7 => format!("mrt{n}"),
            8 => String::from("mrtz"),
            9 => String::from("null"),
            n @ 12..=16 => format!("pos{}", n - 12),
            20 => String::from("prim"),
            n @ 32..=63 => format!("param{}", n - 32),
            n => format!("invalid_target_{n}"),
        };
        let compressed = self.memory.dim & 1 != 0;
        for (index, &address) in self.memory.addresses.iter().take(4).enumerate() {
            let enabled = self.memory.dmask >> index & 1 != 0;
            let address = if compressed {
                self.memory.addresses[index / 2]
            } else {
                address
            };
            let text = if enabled {
                format!("v{address}")
            } else {
                String::from("off")
            };
            operands.push(if index == 0 {
                format!("{target} {text}")
            } else {
                text
            });
        }
        flags(
            tail,
            &[
                (self.memory.dim & 2 != 0, "done"),
                (compressed, "compr"),
                (self.memory.dim & 4 != 0, "vm"),
            ],
        );
        Ok(())
    }

    pub(super) fn buffer(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        let memory = &self.memory;
        if self.row.operands().next().is_none() {
            return Ok(());
        }
        operands.push(register(self.dst, self.width('d'), false));
        let registers = u8::from(memory.index_enable) + u8::from(memory.offset_enable);
        operands.push(if registers == 0 {
            String::from("off")
        } else {
            register(self.src[0], registers, false)
        });
        operands.push(register(self.src[1], 4, false));
        let mut offset = register(self.src[2], 1, false);
        if self.row.encoding == Encoding::Mtbuf {
            let _ = match FORMATS.get(usize::from(memory.format)) {
                // What the assembler takes where no format is given.
                Some(&"8_UNORM") => Ok(()),
                Some(name) if !name.is_empty() => write!(offset, " format:[BUF_FMT_{name}]"),
                _ => write!(offset, " format:{}", memory.format),
            };
        }
        operands.push(offset);
        flags(
            tail,
            &[(memory.index_enable, "idxen"), (memory.offset_enable, "offen")],
        );
        if memory.offset != 0 {
            write!(tail, " offset:{}", memory.offset)?;
        }
        let common = [
            (memory.glc, "glc"),
            (memory.slc, "slc"),
            (memory.tfe && !self.row.name.contains("ATOMIC"), "tfe"),
            (memory.lds, "lds"),
            (memory.dlc, "dlc"),
        ];
        let ordered = [common[0], common[1], common[4], common[2], common[3]];
        flags(tail, &ordered);
        Ok(())
    }

    pub(super) fn flat(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        if self.row.name.contains("ATOMIC") && self.memory.glc && self.width('d') == 0 {
            let returned = if self.row.name.contains("CMPSWAP") {
                self.width('b') / 2
            } else {
                self.width('b')
            };
            operands.push(register(self.dst, returned, false));
        }
        for operand in self.row.operands() {
            match operand.as_bytes()[0] {
                b'd' => operands.push(register(self.dst, self.width('d'), false)),
                b'a' if self.row.encoding == Encoding::Scratch
                    && !matches!(self.src[2], Operand::Scalar(125)) =>
                {
                    operands.push(String::from("off"));
                }
                b'a' => {
                    let wide = if matches!(self.src[2], Operand::Scalar(125)) {
                        self.width('a')
                    } else {
                        1
                    };
                    operands.push(register(self.src[0], wide, false));
                }
                b'b' => operands.push(register(self.src[1], self.width('b'), false)),
                _ => {}
            }
        }
        if self.row.encoding != Encoding::Flat {
            let scratch = self.row.encoding == Encoding::Scratch;
            operands.push(match self.src[2] {
                Operand::Scalar(125) => String::from("off"),
                Operand::Scalar(127) if scratch && self.dialect == Dialect::Gfx1030 => String::from("off"),
                other => register(other, if scratch { 1 } else { 2 }, false),
            });
        }
        if self.memory.offset != 0 {
            write!(tail, " offset:{}", self.memory.offset)?;
        }
        flags(
            tail,
            &[
                (self.memory.glc, "glc"),
                (self.memory.slc, "slc"),
                (self.memory.dlc, "dlc"),
                (self.memory.lds, "lds"),
            ],
        );
        Ok(())
    }

    pub(super) fn data_share(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        for operand in self.row.operands() {
            match operand.as_bytes()[0] {
                b'd' => operands.push(register(self.dst, self.width('d'), false)),
                b'a' => operands.push(register(self.src[0], self.width('a'), false)),
                b'b' => operands.push(register(self.src[1], self.width('b'), false)),
                b'c' => operands.push(register(self.src[2], self.width('c'), false)),
                _ => {}
            }
        }
        let offset = self.memory.offset;
        if self.row.name.contains("2ST64")
            || self.row.name.contains("READ2_")
            || self.row.name.contains("WRITE2_")
            || self.row.name.contains("XCHG2_")
        {
            if offset & 255 != 0 {
                write!(tail, " offset0:{}", offset & 255)?;
            }
            if offset >> 8 != 0 {
                write!(tail, " offset1:{}", offset >> 8)?;
            }
        } else if offset != 0 {
            match self.opcode() {
                op::DS_SWIZZLE_B32 => tail.push_str(&swizzle(offset.cast_unsigned())),
                _ => write!(tail, " offset:{offset}")?,
            }
        }
        flags(tail, &[(self.memory.gds, "gds")]);
        Ok(())
    }

    /// Attribute and channel of an interpolation.
    pub(super) fn attribute(&self) -> String {
        let channel = ['x', 'y', 'z', 'w'][usize::from(self.immediate & 3)];
        format!("attr{}.{channel}", self.immediate >> 2)
    }

    pub(super) fn interpolation(&self, operands: &mut Vec<String>) {
        operands.push(register(self.dst, 1, false));
        operands.push(match (self.opcode(), self.src[0]) {
            (op::V_INTERP_MOV_F32, Operand::Vector(point)) => parameter_point(point.into()),
            (_, source) => register(source, 1, false),
        });
        operands.push(self.attribute());
    }
}

/// Which of a triangle's values an interpolation moves.
pub(super) fn parameter_point(point: i32) -> String {
    match point {
        0 => String::from("p10"),
        1 => String::from("p20"),
        2 => String::from("p0"),
        n => format!("invalid_param_{n}"),
    }
}

/// How lanes are exchanged by `ds_swizzle_b32`, as the assembler's macro says it.
fn swizzle(offset: u32) -> String {
    if offset & 0xff00 == 0x8000 {
        let lanes: Vec<_> = (0..4)
            .map(|lane| (offset >> (2 * lane) & 3).to_string())
            .collect();
        return format!(" offset:swizzle(QUAD_PERM,{})", lanes.join(","));
    }
    if offset & 0x8000 != 0 {
        return format!(" offset:{offset}");
    }
    let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
    if xor != 0 && and == 31 && or == 0 {
        if xor.is_power_of_two() {
            return format!(" offset:swizzle(SWAP,{xor})");
        }
        if (xor + 1).is_power_of_two() {
            return format!(" offset:swizzle(REVERSE,{})", xor + 1);
        }
    }
    let group = 32 - and;
    if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        return format!(" offset:swizzle(BROADCAST,{group},{or})");
    }
    let bits: String = (0..5)
        .rev()
        .map(|bit| {
            let at = |field: u32| field >> bit & 1 != 0;
            match (at(and), at(or), at(xor)) {
                (false, false, false) => '0',
                (false, false, true) | (_, true, false) => '1',
                (true, false, false) => 'p',
                (true, false, true) => 'i',
                (_, true, true) => '0',
            }
        })
        .collect();
    format!(" offset:swizzle(BITMASK_PERM,\"{bits}\")")
}
