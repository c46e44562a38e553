//! Instructions as text, in the syntax of LLVM's assembler.

use super::{Encoding, Form, Instruction, Operand, is_cmpx, op};
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
                if matches!(
                    self.row.encoding,
                    Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc
                ) =>
            {
                text.push_str("_e64");
            }
            Form::Short if self.row.has_form('3') && self.row.operands().next().is_some() => {
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

    fn source(&self, index: usize) -> String {
        let width = self.width(['a', 'b', 'c'][index]);
        let wide = width == 2;
        let bit = 1 << index;
        let mut text = register(
            self.src[index],
            width.max(1),
            self.row.name.ends_with("F64") || wide,
        );
        let modifiers = &self.modifiers;
        if let Form::Sdwa(sdwa) = self.form
            && index < 2
            && sdwa.src_sext[index]
        {
            return format!("sext({text})");
        }
        let packed = self.row.encoding == Encoding::Vop3p;
        if modifiers.absolute & bit != 0 {
            text = format!("|{text}|");
        }
        if modifiers.negate & bit != 0 && !packed {
            text = format!("-{text}");
        }
        text
    }

    fn arithmetic(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        for operand in self.row.operands() {
            let text = match operand.as_bytes()[0] {
                b'd' => register(self.dst, self.width('d').max(1), false),
                b'e' => register(self.scalar_dst, 2, false),
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
                b'h' => hardware_register(self.immediate),
                b'o' => match self.src[1] {
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
                    _ => write!(tail, " dpp_ctrl:{control:#x}")?,
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
                if modifiers.negate & all != 0 {
                    write!(tail, " neg_lo:[{}]", list(modifiers.negate))?;
                }
                if modifiers.negate_hi & all != 0 {
                    write!(tail, " neg_hi:[{}]", list(modifiers.negate_hi))?;
                }
                self.output(tail);
            }
            Form::Long => {
                if modifiers.op_sel != 0 {
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
                if self.row.encoding == Encoding::Smem {
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

    fn program_control(&self, tail: &mut String) -> fmt::Result {
        let immediate = self.immediate;
        match self.opcode() {
            op::S_WAITCNT => {
                let vector = (immediate & 15) | (immediate >> 14 & 3) << 4;
                let export = immediate >> 4 & 7;
                let scalar = immediate >> 8 & 63;
                if vector != 63 {
                    write!(tail, " vmcnt({vector})")?;
                }
                if export != 7 {
                    write!(tail, " expcnt({export})")?;
                }
                if scalar != 63 {
                    write!(tail, " lgkmcnt({scalar})")?;
                }
            }
            op::S_SENDMSG | op::S_SENDMSGHALT => match immediate {
                1 => tail.push_str(" sendmsg(MSG_INTERRUPT)"),
                3 => tail.push_str(" sendmsg(MSG_GS_DONE, GS_OP_NOP)"),
                9 => tail.push_str(" sendmsg(MSG_GS_ALLOC_REQ)"),
                _ => write!(
                    tail,
                    " sendmsg({}, {}, {})",
                    immediate & 15,
                    immediate >> 4 & 7,
                    immediate >> 8 & 3
                )?,
            },
            op::S_INST_PREFETCH
            | op::S_CLAUSE
            | op::S_WAITCNT_DEPCTR
            | op::S_ROUND_MODE
            | op::S_TTRACEDATA_IMM => {
                write!(tail, " {immediate:#x}")?;
            }
            op::S_ENDPGM if immediate != 0 => write!(tail, " {immediate}")?,
            _ if self.row.operands().next().is_some() => write!(tail, " {immediate}")?,
            _ => {}
        }
        Ok(())
    }

    fn export(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
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

    fn buffer(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        let memory = &self.memory;
        if self.row.operands().next().is_none() {
            return Ok(());
        }
        if !memory.lds {
            operands.push(register(self.dst, self.width('d') + u8::from(memory.tfe), false));
        }
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
            (memory.tfe, "tfe"),
            (memory.lds, "lds"),
            (memory.dlc, "dlc"),
        ];
        let ordered = [common[0], common[1], common[4], common[2], common[3]];
        flags(tail, &ordered);
        Ok(())
    }

    fn flat(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
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
            operands.push(match self.src[2] {
                Operand::Scalar(125) => String::from("off"),
                other => register(other, 2, false),
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
            ],
        );
        Ok(())
    }

    fn data_share(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
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
            write!(tail, " offset:{offset}")?;
        }
        flags(tail, &[(self.memory.gds, "gds")]);
        Ok(())
    }

    fn interpolation(&self, operands: &mut Vec<String>) {
        operands.push(register(self.dst, 1, false));
        operands.push(match (self.opcode(), self.src[0]) {
            (op::V_INTERP_MOV_F32, Operand::Vector(point)) => match point {
                0 => String::from("p10"),
                1 => String::from("p20"),
                2 => String::from("p0"),
                n => format!("invalid_param_{n}"),
            },
            (_, source) => register(source, 1, false),
        });
        let channel = ['x', 'y', 'z', 'w'][usize::from(self.immediate & 3)];
        operands.push(format!("attr{}.{channel}", self.immediate >> 2));
    }

    fn image(&self, operands: &mut Vec<String>, tail: &mut String) -> fmt::Result {
        let memory = &self.memory;
        let count = image_address_count(self);
        let gather = self.row.name.contains("GATHER4") || self.row.name.contains("MSAA_LOAD");
        let components = if gather {
            4
        } else {
            memory.dmask.count_ones() as u8
        };
        let bvh = self.row.name.contains("BVH");
        let registers = if bvh {
            4
        } else if self.row.name.contains("ATOMIC") && !self.row.name.contains("CMPSWAP") {
            self.width('d')
        } else {
            (if memory.d16 {
                components.div_ceil(2)
            } else {
                components
            })
            .max(1)
                + u8::from(memory.tfe || memory.lwe)
        };
        operands.push(register(self.dst, registers, false));
        operands.push(if memory.nsa > 0 {
            let list: Vec<_> = memory
                .addresses
                .iter()
                .take(count)
                .map(|a| format!("v{a}"))
                .collect();
            format!("[{}]", list.join(", "))
        } else {
            // Sequential addresses are register tuples of the sizes that exist.
            let tuple = match count {
                0..=8 => count,
                _ => 16,
            };
            register(self.src[0], tuple as u8, false)
        });
        operands.push(register(
            self.src[1],
            if memory.r128 || bvh { 4 } else { 8 },
            false,
        ));
        if self.width('c') > 0 {
            operands.push(register(self.src[2], 4, false));
        }
        if bvh {
            flags(tail, &[(memory.a16, "a16")]);
            return Ok(());
        }
        let dims = [
            "1D",
            "2D",
            "3D",
            "CUBE",
            "1D_ARRAY",
            "2D_ARRAY",
            "2D_MSAA",
            "2D_MSAA_ARRAY",
        ];
        write!(
            tail,
            " dmask:{:#x} dim:SQ_RSRC_IMG_{}",
            memory.dmask,
            dims[usize::from(memory.dim & 7)]
        )?;
        flags(
            tail,
            &[
                (memory.unnormalised, "unorm"),
                (memory.dlc, "dlc"),
                (memory.glc, "glc"),
                (memory.slc, "slc"),
                (memory.r128, "r128"),
                (memory.a16, "a16"),
                (memory.tfe, "tfe"),
                (memory.lwe, "lwe"),
                (memory.d16, "d16"),
            ],
        );
        Ok(())
    }
}

/// Number of address registers of an image instruction, from its name, dimensions and packing.
pub(crate) fn image_address_count(instruction: &Instruction) -> usize {
    let name = instruction.row.name;
    let memory = &instruction.memory;
    if name.contains("BVH") {
        let wide = usize::from(name.contains("BVH64"));
        return if memory.a16 { 8 + wide } else { 11 + wide };
    }
    let coordinates = [1, 2, 3, 3, 2, 3, 3, 4][usize::from(memory.dim & 7)];
    let gradients = [1, 2, 3, 2, 1, 2, 2, 2][usize::from(memory.dim & 7)] * 2;
    let sampled = name.contains("SAMPLE") || name.contains("GATHER4");
    let words = || name.split('_').skip(2);
    let has = |word: &str| words().any(|w| w == word);
    if !sampled {
        if name == "IMAGE_GET_RESINFO" {
            return 1;
        }
        let mip = usize::from(name.contains("MIP"));
        let count = if name == "IMAGE_GET_LOD" {
            gradients / 2 + usize::from(memory.dim == 3)
        } else {
            coordinates + mip
        };
        return if memory.a16 { count.div_ceil(2) } else { count };
    }
    let mut count = 0;
    let mut packed = coordinates + usize::from(has("L") || has("CL"));
    count += usize::from(has("O")) + usize::from(has("C"));
    // The bias is one register of its own, packed or not.
    count += usize::from(has("B"));
    if has("D") || has("CD") {
        if memory.a16 || has("G16") {
            // Each direction starts a register of its own.
            count += 2 * (gradients / 2).div_ceil(2);
        } else {
            count += gradients;
        }
    }
    if memory.a16 {
        packed = packed.div_ceil(2);
    }
    count + packed
}

fn flags(tail: &mut String, list: &[(bool, &str)]) {
    for (set, name) in list {
        if *set {
            tail.push(' ');
            tail.push_str(name);
        }
    }
}

fn sopk_immediate(instruction: &Instruction) -> String {
    match instruction.opcode() {
        op::S_CALL_B64 | op::S_SUBVECTOR_LOOP_BEGIN | op::S_SUBVECTOR_LOOP_END => {
            instruction.immediate.to_string()
        }
        _ => format!("{:#x}", instruction.immediate),
    }
}

fn hardware_register(immediate: u16) -> String {
    let names = [
        "",
        "HW_REG_MODE",
        "HW_REG_STATUS",
        "HW_REG_TRAPSTS",
        "HW_REG_HW_ID",
        "HW_REG_GPR_ALLOC",
        "HW_REG_LDS_ALLOC",
        "HW_REG_IB_STS",
    ];
    let id = usize::from(immediate & 63);
    let (offset, size) = (immediate >> 6 & 31, (immediate >> 11) + 1);
    let name = names
        .get(id)
        .filter(|name| !name.is_empty())
        .map_or_else(|| id.to_string(), |name| (*name).to_string());
    if (offset, size) == (0, 32) {
        format!("hwreg({name})")
    } else {
        format!("hwreg({name}, {offset}, {size})")
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
            251 => "src_vccz",
            252 => "src_execz",
            253 => "src_scc",
            _ => "src_lds_direct",
        }),
        Operand::Literal(word) => format!("{word:#x}"),
        Operand::LiteralFollows => String::from("literal"),
        Operand::Reserved(code) => format!("reserved_{code}"),
    }
}

/// The assembler's names of the unified buffer formats, by number.
static FORMATS: &[&str] = &[
    "INVALID",
    "8_UNORM",
    "8_SNORM",
    "8_USCALED",
    "8_SSCALED",
    "8_UINT",
    "8_SINT",
    "16_UNORM",
    "16_SNORM",
    "16_USCALED",
    "16_SSCALED",
    "16_UINT",
    "16_SINT",
    "16_FLOAT",
    "8_8_UNORM",
    "8_8_SNORM",
    "8_8_USCALED",
    "8_8_SSCALED",
    "8_8_UINT",
    "8_8_SINT",
    "32_UINT",
    "32_SINT",
    "32_FLOAT",
    "16_16_UNORM",
    "16_16_SNORM",
    "16_16_USCALED",
    "16_16_SSCALED",
    "16_16_UINT",
    "16_16_SINT",
    "16_16_FLOAT",
    "10_11_11_UNORM",
    "10_11_11_SNORM",
    "10_11_11_USCALED",
    "10_11_11_SSCALED",
    "10_11_11_UINT",
    "10_11_11_SINT",
    "10_11_11_FLOAT",
    "11_11_10_UNORM",
    "11_11_10_SNORM",
    "11_11_10_USCALED",
    "11_11_10_SSCALED",
    "11_11_10_UINT",
    "11_11_10_SINT",
    "11_11_10_FLOAT",
    "10_10_10_2_UNORM",
    "10_10_10_2_SNORM",
    "10_10_10_2_USCALED",
    "10_10_10_2_SSCALED",
    "10_10_10_2_UINT",
    "10_10_10_2_SINT",
    "2_10_10_10_UNORM",
    "2_10_10_10_SNORM",
    "2_10_10_10_USCALED",
    "2_10_10_10_SSCALED",
    "2_10_10_10_UINT",
    "2_10_10_10_SINT",
    "8_8_8_8_UNORM",
    "8_8_8_8_SNORM",
    "8_8_8_8_USCALED",
    "8_8_8_8_SSCALED",
    "8_8_8_8_UINT",
    "8_8_8_8_SINT",
    "32_32_UINT",
    "32_32_SINT",
    "32_32_FLOAT",
    "16_16_16_16_UNORM",
    "16_16_16_16_SNORM",
    "16_16_16_16_USCALED",
    "16_16_16_16_SSCALED",
    "16_16_16_16_UINT",
    "16_16_16_16_SINT",
    "16_16_16_16_FLOAT",
    "32_32_32_UINT",
    "32_32_32_SINT",
    "32_32_32_FLOAT",
    "32_32_32_32_UINT",
    "32_32_32_32_SINT",
    "32_32_32_32_FLOAT",
];
