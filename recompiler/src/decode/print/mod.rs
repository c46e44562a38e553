//! Instructions as text, in the syntax of LLVM's assembler.

mod formats;
mod image;
mod memory;
mod scalar;

pub(crate) use image::{image_address_count, image_address_most, image_data_registers};

use super::operand::inline_f16;
use super::{Encoding, Form, Instruction, Operand, is_cmpx, op};
use memory::parameter_point;
use scalar::{hardware_register, sopk_immediate};
use std::fmt::{self, Write as _};

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.name(&mut text)?;
        let mut operands = Vec::new();
        let mut tail = String::new();
        match self.row.encoding {
            Encoding::Sopp => self.program_control(&mut tail)?,
            Encoding::Exp => self.export(&mut operands, &mut tail)?,
            Encoding::Mimg => self.image(&mut operands, &mut tail)?,
            Encoding::Mubuf | Encoding::Mtbuf => self.buffer(&mut operands, &mut tail)?,
            Encoding::Flat | Encoding::Scratch | Encoding::Global => self.flat(&mut operands, &mut tail)?,
            Encoding::Ds => self.data_share(&mut operands, &mut tail)?,
            Encoding::Vintrp => self.interpolation(&mut operands),
            _ => self.arithmetic(&mut operands, &mut tail)?,
        }
        f.write_str(&text)?;
        if !operands.is_empty() {
            write!(f, " {}", operands.join(", "))?;
        }
        f.write_str(tail.trim_end())
    }
}

impl Instruction {
    fn name(&self, text: &mut String) -> fmt::Result {
        text.push_str(&self.row.name.to_ascii_lowercase());
        match self.form {
            Form::Sdwa(_) => text.push_str("_sdwa"),
            Form::Dpp16(_) | Form::Dpp8 { .. } => text.push_str("_dpp"),
            Form::Long
                if self.row.operands().next().is_some()
                    && matches!(
                        self.row.encoding,
                        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc
                    ) =>
            {
                text.push_str("_e64");
            }
            Form::Short
                if (self.row.has_form('3') || self.row.has_form('d'))
                    && self.row.operands().next().is_some() =>
            {
                text.push_str("_e32");
            }
            Form::Short if self.row.encoding == Encoding::Vintrp => text.push_str("_e32"),
            _ => {}
        }
        Ok(())
    }

    fn width(&self, slot: char) -> u8 {
        self.row.width(slot)
    }

    /// Whether a source is a 16-bit integer, whose constants are printed as bits.
    fn is_short_integer(&self, index: usize) -> bool {
        let name = self.row.name;
        let from = matches!(
            self.row.encoding,
            Encoding::Vop2 | Encoding::Vop3 | Encoding::Vopc
        ) && ["_I16", "_U16", "_B16"].iter().any(|ty| name.ends_with(ty))
            && !name.starts_with("V_SAD");
        match self.opcode() {
            op::V_CVT_F16_U16 | op::V_CVT_F16_I16 => true,
            op::V_MAD_U32_U16 | op::V_MAD_I32_I16 => index < 2,
            _ if self.row.encoding == Encoding::Vop3p => {
                name.ends_with("16") && !name.ends_with("F16") && !name.starts_with("V_DOT")
            }
            _ => from,
        }
    }

    /// Whether a source is 16 bits wide, so that of a literal only the low half counts.
    fn is_short(&self, index: usize) -> bool {
        let name = self.row.name;
        let last = name.rsplit('_').next().unwrap_or_default();
        self.is_short_integer(index) && self.row.encoding != Encoding::Vop3p
            || last == "F16"
                && !matches!(
                    self.opcode(),
                    op::V_CVT_F16_F32 | op::V_CVT_PKRTZ_F16_F32 | op::V_LDEXP_F16 | op::V_PK_FMAC_F16
                )
                && self.row.encoding != Encoding::Vop3p
            || self.opcode() == op::V_LDEXP_F16 && index == 0
    }

    fn source(&self, index: usize) -> String {
        let width = self.width(['a', 'b', 'c'][index]);
        let wide = width == 2;
        let bit = 1 << index;
        let operand = self.src[index];
        let mut text = match operand {
            Operand::Float(code) if self.is_short_integer(index) => format!("{:#x}", inline_f16(code)),
            Operand::Literal(word) if self.is_short(index) => format!("{:#x}", word & 0xffff),
            _ => register(operand, width.max(1), self.row.name.ends_with("F64") || wide),
        };
        let modifiers = &self.modifiers;
        if let Form::Sdwa(sdwa) = self.form
            && index < 2
            && sdwa.src_sext[index]
            && !self.row.has_modifier(char::from(b'0' + index as u8))
        {
            return format!("sext({text})");
        }
        let mixes = self.row.name.starts_with("V_FMA_MIX");
        let packed = self.row.encoding == Encoding::Vop3p && !mixes;
        let absolute = modifiers.absolute & bit != 0;
        if absolute || mixes && modifiers.negate_hi & bit != 0 {
            text = format!("|{text}|");
        }
        if modifiers.negate & bit != 0 && !packed {
            // A minus before a number would be the number's own.
            let number = matches!(
                operand,
                Operand::Literal(_) | Operand::Integer(_) | Operand::Float(_)
            );
            text = if number && !absolute {
                format!("neg({text})")
            } else {
                format!("-{text}")
            };
        }
        text
    }

    fn arithmetic(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        for operand in self.row.operands() {
            let text = match operand.as_bytes()[0] {
                b'd' => register(self.dst, self.width('d').max(1), false),
                b'e' => register(self.scalar_dst, 2, false),
                b'a' if operand == "attr" => self.attribute(),
                b'p' => parameter_point(self.memory.offset),
                b'a' => self.source(0),
                b'l' if self.row.opcode == op::S_SETREG_IMM32_B32 => register(self.src[0], 1, false),
                b'l' => register(
                    if self.row.operands().nth(2) == Some("l1") {
                        self.src[1]
                    } else {
                        self.src[2]
                    },
                    1,
                    false,
                ),
                b'b' if self.row.operands().nth(2) == Some("l1") => register(self.src[2], 1, false),
                b'b' => self.source(1),
                b'c' => self.source(2),
                b'k' => sopk_immediate(self),
                b'h' => hardware_register(self.immediate, self.dialect),
                b'i' => match self.dst {
                    Operand::Scalar(number) if number <= 64 => number.to_string(),
                    Operand::Scalar(number) => format!("{number:#x}"),
                    _ => continue,
                },
                b'o' => match self.src[1] {
                    Operand::Scalar(125) if self.memory.offset < 0 => format!("-{:#x}", -self.memory.offset),
                    Operand::Scalar(125) => format!("{:#x}", self.memory.offset),
                    other => register(other, 1, false),
                },
                b'v' if self.row.encoding == Encoding::Vopc => {
                    if is_cmpx(self.row) {
                        continue;
                    }
                    register(self.dst, 2, false)
                }
                b'v' if operands.len() == 1 => register(self.scalar_dst, 2, false),
                b'v' => register(self.src[2], 2, false),
                _ => continue,
            };
            operands.push(text);
        }
        self.modifiers(tail)
    }

    fn modifiers(&self, tail: &mut String) -> fmt::Result {
        let modifiers = &self.modifiers;
        let sources = self.src.iter().filter(|source| **source != Operand::None).count();
        match self.form {
            Form::Sdwa(sdwa) => {
                self.output(tail);
                let select = |code: u8| {
                    [
                        "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "?",
                    ][usize::from(code & 7)]
                };
                if self.row.encoding != Encoding::Vopc {
                    let unused = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"]
                        [usize::from(sdwa.dst_unused & 3)];
                    write!(tail, " dst_sel:{} dst_unused:{unused}", select(sdwa.dst_sel))?;
                }
                write!(tail, " src0_sel:{}", select(sdwa.src_sel[0]))?;
                if self.width('b') > 0 {
                    write!(tail, " src1_sel:{}", select(sdwa.src_sel[1]))?;
                }
            }
            Form::Dpp16(dpp) => {
                let control = u32::from(dpp.control);
                match control {
                    0..=0xff => write!(
                        tail,
                        " quad_perm:[{},{},{},{}]",
                        control & 3,
                        control >> 2 & 3,
                        control >> 4 & 3,
                        control >> 6
                    )?,
                    0x101..=0x10f => write!(tail, " row_shl:{}", control & 15)?,
                    0x111..=0x11f => write!(tail, " row_shr:{}", control & 15)?,
                    0x121..=0x12f => write!(tail, " row_ror:{}", control & 15)?,
                    0x140 => tail.push_str(" row_mirror"),
                    0x141 => tail.push_str(" row_half_mirror"),
                    0x150..=0x15f => write!(tail, " row_share:{}", control & 15)?,
                    0x160..=0x16f => write!(tail, " row_xmask:{}", control & 15)?,
                    0x130 | 0x134 | 0x138 | 0x13c => {
                        let name =
                            ["wave_shl", "wave_rol", "wave_shr", "wave_ror"][(control >> 2 & 3) as usize];
                        write!(tail, " /* {name} is not supported starting from GFX10 */")?;
                    }
                    0x142 | 0x143 => tail.push_str(" /* row_bcast is not supported starting from GFX10 */"),
                    _ => tail.push_str(" /* Invalid dpp_ctrl value */"),
                }
                write!(
                    tail,
                    " row_mask:{:#x} bank_mask:{:#x}",
                    dpp.row_mask, dpp.bank_mask
                )?;
                if dpp.bound_control {
                    tail.push_str(" bound_ctrl:1");
                }
                if dpp.fetch_inactive {
                    tail.push_str(" fi:1");
                }
            }
            Form::Dpp8 {
                selectors,
                fetch_inactive,
            } => {
                let lanes: Vec<_> = (0..8)
                    .map(|lane| (selectors >> (3 * lane) & 7).to_string())
                    .collect();
                write!(tail, " dpp8:[{}]", lanes.join(","))?;
                if fetch_inactive {
                    tail.push_str(" fi:1");
                }
            }
            Form::Long if self.row.encoding == Encoding::Vop3p => {
                let list = |field: u8| {
                    (0..sources)
                        .map(|i| (field >> i & 1).to_string())
                        .collect::<Vec<_>>()
                        .join(",")
                };
                let mix = self.row.name.starts_with("V_FMA_MIX");
                let all = (1 << sources) - 1;
                if modifiers.op_sel & all != 0 {
                    write!(tail, " op_sel:[{}]", list(modifiers.op_sel))?;
                }
                if mix && modifiers.op_sel_hi & all != 0 || !mix && modifiers.op_sel_hi & all != all {
                    write!(tail, " op_sel_hi:[{}]", list(modifiers.op_sel_hi))?;
                }
                if modifiers.negate & all != 0 && !mix {
                    write!(tail, " neg_lo:[{}]", list(modifiers.negate))?;
                }
                if modifiers.negate_hi & all != 0 && !mix {
                    write!(tail, " neg_hi:[{}]", list(modifiers.negate_hi))?;
                }
                self.output(tail);
            }
            Form::Long => {
                if modifiers.high {
                    tail.push_str(" high");
                }
                if modifiers.op_sel != 0 && self.row.has_modifier('h') {
                    let permutes = self.row.name.starts_with("V_PERMLANE");
                    let shown = if permutes { 2 } else { sources };
                    let mut list: Vec<_> = (0..shown)
                        .map(|i| (modifiers.op_sel >> i & 1).to_string())
                        .collect();
                    if !permutes {
                        list.push((modifiers.op_sel >> 3).to_string());
                    }
                    write!(tail, " op_sel:[{}]", list.join(","))?;
                }
                self.output(tail);
            }
            Form::Short => {
                if self.row.encoding == Encoding::Smem
                    && self.row.operands().any(|operand| operand == "o")
                    && !self.row.name.contains("PROBE")
                    && !self.row.name.contains("DISCARD")
                {
                    flags(tail, &[(self.memory.glc, "glc"), (self.memory.dlc, "dlc")]);
                }
            }
        }
        Ok(())
    }

    fn output(&self, tail: &mut String) {
        if self.modifiers.clamp {
            tail.push_str(" clamp");
        }
        tail.push_str(["", " mul:2", " mul:4", " div:2"][usize::from(self.modifiers.output & 3)]);
    }
}

fn flags(tail: &mut String, list: &[(bool, &str)]) {
    for (set, name) in list {
        if *set {
            tail.push(' ');
            tail.push_str(name);
        }
    }
}

/// A register of `width` dwords, or a constant.
fn register(operand: Operand, width: u8, double: bool) -> String {
    let span = |prefix: &str, first: u32| {
        if width <= 1 {
            format!("{prefix}{first}")
        } else {
            format!("{prefix}[{first}:{}]", first + u32::from(width) - 1)
        }
    };
    // Pairs start at an even register and longer ones at a multiple of four; the chip does not see the low bits.
    let aligned = |first: u8| match width {
        0 | 1 => first,
        2 => first & !1,
        _ => first & !3,
    };
    let operand = match operand {
        Operand::Scalar(n @ 0..=105) => Operand::Scalar(aligned(n)),
        Operand::Scalar(n @ 108..=123) => Operand::Scalar(108 + aligned(n - 108)),
        other => other,
    };
    match operand {
        Operand::None => String::from("off"),
        Operand::Vector(n) => span("v", n.into()),
        Operand::Scalar(n) => match (n, width) {
            (0..=105, _) => span("s", n.into()),
            (106, 2) => String::from("vcc"),
            (106, _) => String::from("vcc_lo"),
            (107, _) => String::from("vcc_hi"),
            (108..=123, _) => span("ttmp", u32::from(n) - 108),
            (124, _) => String::from("m0"),
            (125, _) => String::from("null"),
            (126, 2) => String::from("exec"),
            (126, _) => String::from("exec_lo"),
            _ => String::from("exec_hi"),
        },
        Operand::Integer(n) => n.to_string(),
        Operand::Float(code) => match code {
            240 => String::from("0.5"),
            241 => String::from("-0.5"),
            242 => String::from("1.0"),
            243 => String::from("-1.0"),
            244 => String::from("2.0"),
            245 => String::from("-2.0"),
            246 => String::from("4.0"),
            247 => String::from("-4.0"),
            _ if double => String::from("0.15915494309189532"),
            _ => String::from("0.15915494"),
        },
        Operand::Special(code) => String::from(match code {
            235 => "src_shared_base",
            236 => "src_shared_limit",
            237 => "src_private_base",
            238 => "src_private_limit",
            239 => "src_pops_exiting_wave_id",
            251 => "src_vccz",
            252 => "src_execz",
            253 => "src_scc",
            _ => "src_lds_direct",
        }),
        // Numbers that need no literal are printed as if they had none, where that would mean the same.
        Operand::Literal(word) => match word.cast_signed() {
            number @ -16..=64 if width < 2 || number >= 0 => number.to_string(),
            _ => format!("{word:#x}"),
        },
        Operand::LiteralFollows => String::from("literal"),
        Operand::Reserved(code) => format!("reserved_{code}"),
    }
}
