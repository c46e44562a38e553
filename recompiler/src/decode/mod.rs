//! Machine words to instructions.

pub(crate) mod operand;
pub(crate) mod print;
mod reserved;
pub mod table;

pub(crate) use operand::Operand;
pub(crate) use table::{Encoding, Opcode, Row, op};

use crate::binary::Dialect;
use crate::refusal::{ProgramCounter, Reason};

/// How a vector instruction is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The short form.
    Short,
    /// VOP3.
    Long,
    /// Sub-dword addressing.
    Sdwa(Sdwa),
    /// Data-parallel primitives over 16 lanes.
    Dpp16(Dpp16),
    /// Data-parallel primitives over 8 lanes: eight 3-bit selectors.
    Dpp8 { selectors: u32, fetch_inactive: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sdwa {
    pub dst_sel: u8,
    pub dst_unused: u8,
    pub src_sel: [u8; 2],
    pub src_sext: [bool; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Dpp16 {
    pub control: u16,
    pub row_mask: u8,
    pub bank_mask: u8,
    pub bound_control: bool,
    pub fetch_inactive: bool,
}

/// Source and result modifiers of a vector instruction. Bit n is source n.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Modifiers {
    pub negate: u8,
    pub absolute: u8,
    /// VOP3: bit 3 is the destination. VOP3P: low halves.
    pub op_sel: u8,
    /// VOP3P: high halves.
    pub op_sel_hi: u8,
    /// VOP3P: negation of the high halves.
    pub negate_hi: u8,
    pub clamp: bool,
    /// Interpolation: the parameter's high half.
    pub high: bool,
    /// 1: times 2, 2: times 4, 3: divided by 2.
    pub output: u8,
}

/// Fields of memory, image and export instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Memory {
    /// Byte offset; for DS the two 8-bit offsets, first in the low byte.
    pub offset: i32,
    pub offset_enable: bool,
    pub index_enable: bool,
    pub glc: bool,
    pub slc: bool,
    pub dlc: bool,
    pub lds: bool,
    pub tfe: bool,
    pub lwe: bool,
    pub gds: bool,
    /// MTBUF's unified format.
    pub format: u8,
    pub dmask: u8,
    pub dim: u8,
    pub unnormalised: bool,
    pub r128: bool,
    pub a16: bool,
    pub d16: bool,
    /// MIMG: address registers; with `nsa` not in sequence.
    pub nsa: u8,
    pub addresses: [u8; 13],
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub program_counter: ProgramCounter,
    pub dialect: Dialect,
    /// Length in dwords.
    pub length: u8,
    pub words: [u32; 5],
    pub row: &'static Row,
    pub form: Form,
    pub dst: Operand,
    /// VOP3's second, scalar destination.
    pub scalar_dst: Operand,
    pub src: [Operand; 3],
    pub immediate: u16,
    pub modifiers: Modifiers,
    pub memory: Memory,
}

impl Instruction {
    pub fn opcode(&self) -> Opcode {
        self.row.opcode
    }

    pub fn next(&self) -> ProgramCounter {
        ProgramCounter(self.program_counter.0 + 4 * u32::from(self.length))
    }

    /// Byte a SOPP branch leads to, from the program's start.
    pub fn branch_target(&self) -> i64 {
        i64::from(self.next().0) + 4 * i64::from(self.immediate.cast_signed())
    }
}

struct Reader<'a> {
    code: &'a [u32],
    at: usize,
    read: u8,
    words: [u32; 5],
}

impl Reader<'_> {
    fn word(&mut self) -> Result<u32, Reason> {
        let word = *self
            .code
            .get(self.at + usize::from(self.read))
            .ok_or(Reason::CodeEnds)?;
        self.words[usize::from(self.read)] = word;
        self.read += 1;
        Ok(word)
    }
}

fn bits(word: u32, low: u32, count: u32) -> u32 {
    (word >> low) & ((1 << count) - 1)
}

fn bit(word: u32, at: u32) -> bool {
    word >> at & 1 != 0
}

/// Decodes the instruction at `program_counter`.
///
/// # Errors
/// Words that are no instruction, or the end of the code.
pub(crate) fn decode(
    code: &[u32],
    program_counter: ProgramCounter,
    dialect: Dialect,
) -> Result<Instruction, Reason> {
    let mut reader = Reader {
        code,
        at: (program_counter.0 / 4) as usize,
        read: 0,
        words: [0; 5],
    };
    let word = reader.word()?;
    let (encoding, number) = classify(word);
    let unknown =
        |reader: &Reader<'_>| Reason::UnknownEncoding(reader.words[..usize::from(reader.read)].to_vec());
    let Some(encoding) = encoding else {
        return Err(unknown(&reader));
    };
    let mut number = number;
    let second = matches!(
        encoding,
        Encoding::Smem
            | Encoding::Vop3
            | Encoding::Vop3p
            | Encoding::Ds
            | Encoding::Flat
            | Encoding::Scratch
            | Encoding::Global
            | Encoding::Mubuf
            | Encoding::Mtbuf
            | Encoding::Mimg
            | Encoding::Exp
    );
    let high = if second { reader.word()? } else { 0 };
    if encoding == Encoding::Mtbuf {
        number |= bits(high, 21, 1) << 3;
    }
    let row = if encoding == Encoding::Vop3 {
        match number {
            0..0x100 => table::find(Encoding::Vopc, number, dialect).filter(|row| row.has_form('3')),
            0x100..0x140 => {
                table::find(Encoding::Vop2, number - 0x100, dialect).filter(|row| row.has_form('3'))
            }
            0x180..0x200 => {
                table::find(Encoding::Vop1, number - 0x180, dialect).filter(|row| row.has_form('3'))
            }
            _ => table::find(Encoding::Vop3, number, dialect),
        }
    } else {
        table::find(encoding, number, dialect)
    };
    let Some(row) = row else {
        return Err(unknown(&reader));
    };
    let mut out = Instruction {
        program_counter,
        dialect,
        length: 0,
        words: [0; 5],
        row,
        form: Form::Short,
        dst: Operand::None,
        scalar_dst: Operand::None,
        src: [Operand::None; 3],
        immediate: 0,
        modifiers: Modifiers::default(),
        memory: Memory::default(),
    };
    match encoding {
        Encoding::Sop2 => {
            out.dst = Operand::scalar(bits(word, 16, 7));
            out.src[0] = Operand::source(bits(word, 0, 8));
            out.src[1] = Operand::source(bits(word, 8, 8));
        }
        Encoding::Sop1 => {
            out.dst = Operand::scalar(bits(word, 16, 7));
            if row.width('a') > 0 {
                out.src[0] = Operand::source(bits(word, 0, 8));
            }
        }
        Encoding::Sopc => {
            out.src[0] = Operand::source(bits(word, 0, 8));
            out.src[1] = Operand::source(bits(word, 8, 8));
        }
        Encoding::Sopk => {
            out.dst = Operand::scalar(bits(word, 16, 7));
            out.immediate = bits(word, 0, 16) as u16;
            if row.opcode == op::S_SETREG_IMM32_B32 {
                out.src[0] = Operand::Literal(reader.word()?);
            }
        }
        Encoding::Sopp => out.immediate = bits(word, 0, 16) as u16,
        Encoding::Smem => {
            out.src[0] = Operand::scalar(bits(word, 0, 6) << 1);
            out.dst = Operand::scalar(bits(word, 6, 7));
            out.src[1] = Operand::scalar(bits(high, 25, 7));
            out.memory.dlc = bit(word, 14);
            out.memory.glc = bit(word, 16);
            // A signed field of 21 bits.
            out.memory.offset = ((high << 11).cast_signed()) >> 11;
        }
        Encoding::Vop2 | Encoding::Vop1 | Encoding::Vopc => {
            short_vector(encoding, word, &mut reader, &mut out)?;
        }
        Encoding::Vop3 => long_vector(word, high, &mut out),
        Encoding::Vop3p => {
            out.form = Form::Long;
            out.dst = Operand::vector(bits(word, 0, 8));
            out.modifiers.negate_hi = bits(word, 8, 3) as u8;
            out.modifiers.op_sel = bits(word, 11, 3) as u8;
            out.modifiers.clamp = bit(word, 15);
            out.modifiers.op_sel_hi = (bits(high, 27, 2) | bits(word, 14, 1) << 2) as u8;
            out.modifiers.negate = bits(high, 29, 3) as u8;
            three_sources(high, &mut out);
        }
        Encoding::Vintrp => {
            out.dst = Operand::vector(bits(word, 18, 8));
            out.src[0] = Operand::vector(bits(word, 0, 8));
            // Attribute number in bits 7:2, channel in bits 1:0.
            out.immediate = bits(word, 8, 8) as u16;
        }
        Encoding::Ds => {
            out.memory.offset = bits(word, 0, 16).cast_signed();
            out.memory.gds = bit(word, 17);
            out.src[0] = Operand::vector(bits(high, 0, 8));
            out.src[1] = Operand::vector(bits(high, 8, 8));
            out.src[2] = Operand::vector(bits(high, 16, 8));
            out.dst = Operand::vector(bits(high, 24, 8));
        }
        Encoding::Flat | Encoding::Scratch | Encoding::Global => {
            out.memory.offset = if encoding == Encoding::Flat {
                bits(word, 0, 11).cast_signed()
            } else {
                (word << 20).cast_signed() >> 20
            };
            out.memory.dlc = bit(word, 12);
            out.memory.lds = bit(word, 13);
            out.memory.glc = bit(word, 16);
            out.memory.slc = bit(word, 17);
            out.src[0] = Operand::vector(bits(high, 0, 8));
            out.src[1] = Operand::vector(bits(high, 8, 8));
            out.src[2] = Operand::scalar(bits(high, 16, 7));
            out.dst = Operand::vector(bits(high, 24, 8));
        }
        Encoding::Mubuf | Encoding::Mtbuf => {
            out.memory.offset = bits(word, 0, 12).cast_signed();
            out.memory.offset_enable = bit(word, 12);
            out.memory.index_enable = bit(word, 13);
            out.memory.glc = bit(word, 14);
            out.memory.dlc = bit(word, 15);
            if encoding == Encoding::Mubuf {
                out.memory.lds = bit(word, 16);
            } else {
                out.memory.format = bits(word, 19, 7) as u8;
            }
            out.src[0] = Operand::vector(bits(high, 0, 8));
            out.dst = Operand::vector(bits(high, 8, 8));
            out.src[1] = Operand::scalar(bits(high, 16, 5) << 2);
            out.memory.slc = bit(high, 22);
            out.memory.tfe = bit(high, 23);
            if row.operands().next().is_some() {
                out.src[2] = Operand::source(bits(high, 24, 8));
            }
        }
        Encoding::Mimg => image(word, high, &mut reader, &mut out)?,
        Encoding::Exp => {
            out.memory.dmask = bits(word, 0, 4) as u8;
            out.immediate = bits(word, 4, 6) as u16;
            // Compressed, done and valid mask, in this order from bit 0.
            out.memory.dim = bits(word, 10, 3) as u8;
            for (i, address) in out.memory.addresses.iter_mut().take(4).enumerate() {
                *address = bits(high, 8 * i as u32, 8) as u8;
            }
        }
    }
    if second || encoding <= Encoding::Vopc {
        literals(&mut reader, &mut out)?;
    }
    if out
        .src
        .iter()
        .any(|source| matches!(source, Operand::Reserved(_)))
        || reserved::is_set(&out, [word, reader.words[1]])
    {
        return Err(unknown(&reader));
    }
    out.length = reader.read;
    out.words = reader.words;
    Ok(out)
}

/// Replaces the literal marker by the word that follows, which is read once.
fn literals(reader: &mut Reader<'_>, out: &mut Instruction) -> Result<(), Reason> {
    let named = out.row.operands().any(|operand| operand == "l1") && out.row.opcode != op::S_SETREG_IMM32_B32;
    if !named && !out.src.contains(&Operand::LiteralFollows) {
        return Ok(());
    }
    let literal = Operand::Literal(reader.word()?);
    for source in &mut out.src {
        if *source == Operand::LiteralFollows {
            *source = literal;
        }
    }
    if named {
        // The literal is the second factor (madmk) or the addend (madak); sources come in the order of use.
        if out.row.operands().nth(2) == Some("l1") {
            out.src[2] = out.src[1];
            out.src[1] = literal;
        } else {
            out.src[2] = literal;
        }
    }
    Ok(())
}

fn short_vector(
    encoding: Encoding,
    word: u32,
    reader: &mut Reader<'_>,
    out: &mut Instruction,
) -> Result<(), Reason> {
    let source = bits(word, 0, 9);
    let register = match encoding {
        Encoding::Vop1 => bits(word, 17, 8),
        Encoding::Vop2 => bits(word, 17, 8),
        _ => 0,
    };
    if encoding != Encoding::Vopc {
        out.dst = if out.row.is_scalar_slot('d') {
            Operand::scalar(register & 127)
        } else {
            Operand::vector(register)
        };
    }
    if encoding != Encoding::Vop1 {
        out.src[1] = Operand::vector(bits(word, 9, 8));
    }
    let implied = Operand::scalar(106);
    if encoding == Encoding::Vopc {
        out.dst = if is_cmpx(out.row) {
            Operand::scalar(126)
        } else {
            implied
        };
    }
    if out.row.operands().any(|operand| operand == "vcc") && encoding == Encoding::Vop2 {
        out.src[2] = implied;
        out.scalar_dst = implied;
    }
    match source {
        249 if out.row.has_form('s') => {
            let control = reader.word()?;
            let register = |scalar: bool, number: u32| {
                if scalar {
                    Operand::source(number)
                } else {
                    Operand::vector(number)
                }
            };
            out.src[0] = register(bit(control, 23), bits(control, 0, 8));
            if encoding != Encoding::Vop1 {
                out.src[1] = register(bit(control, 31), bits(word, 9, 8));
            }
            out.modifiers.negate = (bits(control, 20, 1) | bits(control, 28, 1) << 1) as u8;
            out.modifiers.absolute = (bits(control, 21, 1) | bits(control, 29, 1) << 1) as u8;
            let mut sdwa = Sdwa {
                dst_sel: 6,
                dst_unused: 0,
                src_sel: [bits(control, 16, 3) as u8, bits(control, 24, 3) as u8],
                src_sext: [bit(control, 19), bit(control, 27)],
            };
            if encoding == Encoding::Vopc {
                if bit(control, 15) && !is_cmpx(out.row) {
                    out.dst = Operand::scalar(bits(control, 8, 7));
                }
            } else {
                sdwa.dst_sel = bits(control, 8, 3) as u8;
                sdwa.dst_unused = bits(control, 11, 2) as u8;
                out.modifiers.clamp = bit(control, 13);
                out.modifiers.output = bits(control, 14, 2) as u8;
            }
            out.form = Form::Sdwa(sdwa);
        }
        250 if out.row.has_form('d') => {
            let control = reader.word()?;
            out.src[0] = Operand::vector(bits(control, 0, 8));
            out.modifiers.negate = (bits(control, 20, 1) | bits(control, 22, 1) << 1) as u8;
            out.modifiers.absolute = (bits(control, 21, 1) | bits(control, 23, 1) << 1) as u8;
            out.form = Form::Dpp16(Dpp16 {
                control: bits(control, 8, 9) as u16,
                row_mask: bits(control, 28, 4) as u8,
                bank_mask: bits(control, 24, 4) as u8,
                bound_control: bit(control, 19),
                fetch_inactive: bit(control, 18),
            });
        }
        233 | 234 if out.row.has_form('d') => {
            let control = reader.word()?;
            out.src[0] = Operand::vector(bits(control, 0, 8));
            out.form = Form::Dpp8 {
                selectors: control >> 8,
                fetch_inactive: source == 234,
            };
        }
        _ if out.row.width('a') > 0 => out.src[0] = Operand::source(source),
        _ => {}
    }
    Ok(())
}

fn three_sources(high: u32, out: &mut Instruction) {
    for (index, slot) in ['a', 'b', 'c'].into_iter().enumerate() {
        if out.row.width(slot) > 0 {
            out.src[index] = Operand::source(bits(high, 9 * index as u32, 9));
        }
    }
}

fn long_vector(word: u32, high: u32, out: &mut Instruction) {
    out.form = Form::Long;
    three_sources(high, out);
    let row = out.row;
    let second_dst = row.operands().any(|operand| operand == "e2")
        || (row.encoding == Encoding::Vop2 && row.operands().nth(1) == Some("vcc"));
    let destination = bits(word, 0, 8);
    out.dst = if row.encoding == Encoding::Vopc || row.is_scalar_slot('d') {
        Operand::scalar(destination & 127)
    } else {
        Operand::vector(destination)
    };
    if second_dst {
        out.scalar_dst = Operand::scalar(bits(word, 8, 7));
    } else {
        out.modifiers.absolute = bits(word, 8, 3) as u8;
        out.modifiers.op_sel = bits(word, 11, 4) as u8;
    }
    if row.operands().any(|operand| operand == "attr") {
        out.immediate = (bits(high, 0, 6) << 2 | bits(high, 6, 2)) as u16;
        out.modifiers.high = bit(high, 8);
        // The point of a move, where others have a register.
        out.memory.offset = bits(high, 9, 9).cast_signed();
    }
    out.modifiers.clamp = bit(word, 15);
    out.modifiers.output = bits(high, 27, 2) as u8;
    out.modifiers.negate = bits(high, 29, 3) as u8;
    // Where the short form reads VCC, the long form names a scalar register.
    if row.encoding == Encoding::Vop2 && row.operands().last() == Some("vcc") {
        out.src[2] = Operand::source(bits(high, 18, 9));
    }
    if is_cmpx(row) {
        out.dst = Operand::scalar(126);
    }
}

fn image(word: u32, high: u32, reader: &mut Reader<'_>, out: &mut Instruction) -> Result<(), Reason> {
    let memory = &mut out.memory;
    memory.nsa = bits(word, 1, 2) as u8;
    memory.dim = bits(word, 3, 3) as u8;
    memory.dlc = bit(word, 7);
    memory.dmask = bits(word, 8, 4) as u8;
    memory.unnormalised = bit(word, 12);
    memory.glc = bit(word, 13);
    memory.r128 = bit(word, 15);
    memory.tfe = bit(word, 16);
    memory.lwe = bit(word, 17);
    memory.slc = bit(word, 25);
    memory.a16 = bit(high, 30);
    memory.d16 = bit(high, 31);
    let first = bits(high, 0, 8) as u8;
    for (index, address) in memory.addresses.iter_mut().enumerate() {
        *address = first.wrapping_add(index as u8);
    }
    for group in 0..usize::from(memory.nsa) {
        let addresses = reader.word()?;
        for lane in 0..4 {
            memory.addresses[1 + 4 * group + lane] = bits(addresses, 8 * lane as u32, 8) as u8;
        }
    }
    out.dst = Operand::vector(bits(high, 8, 8));
    out.src[0] = Operand::vector(u32::from(first));
    out.src[1] = Operand::scalar(bits(high, 16, 5) << 2);
    out.src[2] = Operand::scalar(bits(high, 21, 5) << 2);
    Ok(())
}

/// Whether the comparison writes EXEC and nothing else.
pub(crate) fn is_cmpx(row: &Row) -> bool {
    row.encoding == Encoding::Vopc && row.opcode.number() & 0x10 != 0
}

fn classify(word: u32) -> (Option<Encoding>, u32) {
    if word >> 31 == 0 {
        return match word >> 25 {
            0x3f => (Some(Encoding::Vop1), bits(word, 9, 8)),
            0x3e => (Some(Encoding::Vopc), bits(word, 17, 8)),
            op => (Some(Encoding::Vop2), op),
        };
    }
    if word >> 30 == 2 {
        return match word >> 23 {
            0x17d => (Some(Encoding::Sop1), bits(word, 8, 8)),
            0x17e => (Some(Encoding::Sopc), bits(word, 16, 7)),
            0x17f => (Some(Encoding::Sopp), bits(word, 16, 7)),
            _ if word >> 28 == 0xb => (Some(Encoding::Sopk), bits(word, 23, 5)),
            _ => (Some(Encoding::Sop2), bits(word, 23, 7)),
        };
    }
    match word >> 26 {
        0x32 => (Some(Encoding::Vintrp), bits(word, 16, 2)),
        0x33 if word >> 23 == 0x198 => (Some(Encoding::Vop3p), bits(word, 16, 7)),
        0x35 => (Some(Encoding::Vop3), bits(word, 16, 10)),
        0x36 => (Some(Encoding::Ds), bits(word, 18, 8)),
        0x37 => match bits(word, 14, 2) {
            0 => (Some(Encoding::Flat), bits(word, 18, 7)),
            1 => (Some(Encoding::Scratch), bits(word, 18, 7)),
            2 => (Some(Encoding::Global), bits(word, 18, 7)),
            _ => (None, 0),
        },
        0x38 => (Some(Encoding::Mubuf), bits(word, 18, 8)),
        0x3a => (Some(Encoding::Mtbuf), bits(word, 16, 3)),
        0x3c => (Some(Encoding::Mimg), bits(word, 18, 7) | bits(word, 0, 1) << 7),
        0x3d => (Some(Encoding::Smem), bits(word, 18, 8)),
        0x3e => (Some(Encoding::Exp), 0),
        _ => (None, 0),
    }
}
