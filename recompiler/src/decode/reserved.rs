//! Bits that have to be zero: fields that an instruction does not have. Some are ignored by the assembler's tables, and
//! so here; where they are not, a set bit makes the words no instruction.

use super::print::{image_address_most, image_data_registers};
use super::{Encoding, Form, Instruction, Operand, bit, bits, op};

/// Whether a field that the instruction lacks is set.
pub(super) fn is_set(out: &Instruction, words: [u32; 2]) -> bool {
    let [word, high] = words;
    let row = out.row;
    if leaves_its_file(out) {
        return true;
    }
    let lacks = |slot: char, field: u32| row.width(slot) == 0 && field != 0;
    // Swaps write their source, and a first lane is one of a VGPR.
    match row.opcode {
        op::V_SWAP_B32 | op::V_SWAPREL_B32 if !matches!(out.src[0], Operand::Vector(_)) => return true,
        op::V_READFIRSTLANE_B32 if matches!(out.src[0], Operand::Special(235..=253)) => return true,
        _ => {}
    }
    match row.encoding {
        Encoding::Ds => {
            let nothing = row.opcode == op::DS_NOP && word & 0x2_ffff != 0;
            nothing
                || lacks('a', bits(high, 0, 8))
                || lacks('b', bits(high, 8, 8))
                || lacks('c', bits(high, 16, 8))
                || lacks('d', bits(high, 24, 8))
        }
        Encoding::Sopp => row.operands().next().is_none() && row.opcode != op::S_ENDPGM && word & 0xffff != 0,
        Encoding::Global if row.opcode == op::GLOBAL_ATOMIC_CSUB && !out.memory.glc => true,
        Encoding::Flat => bit(word, 13) || bits(high, 16, 8) != 0x7d,
        Encoding::Global => bit(word, 13) || bit(high, 23) || !is_global_base(bits(high, 16, 7)),
        Encoding::Scratch => bit(word, 13) || bit(high, 23),
        Encoding::Mubuf => {
            if row.operands().next().is_none() {
                word & 0x1_f000 != 0
            } else {
                out.memory.lds && !row.has_form('l')
                    || out.memory.dlc && row.name.contains("ATOMIC")
                    || row.opcode == op::BUFFER_ATOMIC_CSUB && !out.memory.glc
            }
        }
        Encoding::Mimg => {
            let most = image_address_most(row.name);
            lacks('c', bits(high, 21, 5))
                || usize::from(out.memory.nsa) > (most.max(2) - 1).div_ceil(4)
                || out.memory.d16 && row.has_form('n')
        }
        Encoding::Vop3p => long(out, word, high, true),
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc if out.form == Form::Long => {
            long(out, word, high, false)
        }
        Encoding::Vop3 => long(out, word, high, false),
        Encoding::Vop1 if row.operands().next().is_none() => word & 0x1fe_01ff != 0,
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => short(out, high),
        _ => false,
    }
}

/// Whether a tuple of registers runs past the end of its register file.
fn leaves_its_file(out: &Instruction) -> bool {
    let row = out.row;
    let past = |operand: Operand, width: u8| match operand {
        _ if width < 2 => false,
        Operand::Vector(first) => u32::from(first) + u32::from(width) > 256,
        Operand::Scalar(first) => match (first, width) {
            (125, _) => width > 4,
            (106 | 126, 2) => false,
            // Drivers let the last tuple go on into VCC.
            (108..=123, _) => u32::from((first - 108) & !(alignment(width) - 1)) + u32::from(width) > 16,
            (0..=107, 3..) | (0..=105, _) => {
                u32::from(first & !(alignment(width) - 1)) + u32::from(width) > 108
            }
            _ => true,
        },
        // Direct LDS reads are one word wide.
        Operand::Special(254) => true,
        _ => false,
    };
    let slots = [
        ('d', out.dst),
        ('a', out.src[0]),
        ('b', out.src[1]),
        ('c', out.src[2]),
    ];
    let counted = !matches!(
        row.encoding,
        Encoding::Mimg
            | Encoding::Exp
            | Encoding::Vintrp
            | Encoding::Flat
            | Encoding::Scratch
            | Encoding::Global
    );
    match row.encoding {
        Encoding::Mimg => {
            let data = image_data_registers(out);
            past(out.dst, data)
                || past(out.src[1], if row.name.contains("BVH") { 4 } else { 8 })
                || past(out.src[2], row.width('c'))
        }
        Encoding::Flat | Encoding::Global => {
            let base = if out.src[2] == Operand::Scalar(125) || row.encoding == Encoding::Flat {
                2
            } else {
                1
            };
            past(out.src[0], base)
                || past(out.src[1], row.width('b'))
                || past(out.dst, row.width('d'))
                || row.encoding == Encoding::Global && past(out.src[2], 2)
        }
        Encoding::Scratch => past(out.src[1], row.width('b')) || past(out.dst, row.width('d')),
        Encoding::Mubuf | Encoding::Mtbuf => {
            let address = u8::from(out.memory.index_enable) + u8::from(out.memory.offset_enable);
            row.operands().next().is_some()
                && (past(out.src[0], address) || past(out.src[1], 4) || past(out.dst, row.width('d')))
        }
        _ => {
            counted
                && slots
                    .iter()
                    .any(|&(slot, operand)| past(operand, row.width(slot)))
        }
    }
}

/// First registers of scalar tuples are multiples of this.
fn alignment(width: u8) -> u8 {
    if width > 2 { 4 } else { 2 }
}

/// SGPRs, VCC, trap registers, EXEC and null.
fn is_global_base(register: u32) -> bool {
    !matches!(register, 124 | 127)
}

/// Sources whose sign may be changed, bit n for source n.
fn signed_sources(out: &Instruction) -> u32 {
    (0..3)
        .filter(|index| out.row.has_modifier(char::from(b'0' + *index as u8)))
        .map(|index| 1 << index)
        .sum()
}

fn long(out: &Instruction, word: u32, high: u32, packed: bool) -> bool {
    let row = out.row;
    let signs = signed_sources(out);
    let absent = |slot: char, at: u32| row.width(slot) == 0 && bits(high, at, 9) != 0;
    let interpolates = row.operands().any(|operand| operand == "attr");
    if row.opcode == op::V_READLANE_B32 {
        return bit(word, 15) || bits(high, 27, 2) != 0;
    }
    // The parameter's halves are chosen by 16-bit interpolations only.
    if interpolates && out.modifiers.high && row.encoding == Encoding::Vop3 && bits(word, 16, 10) < 0x300 {
        return true;
    }
    let fields = if row.encoding == Encoding::Vop2 && row.operands().last() == Some("vcc") {
        false
    } else if interpolates {
        absent('c', 18)
    } else {
        absent('a', 0) || absent('b', 9) || absent('c', 18)
    };
    if fields || bit(word, 15) && !row.has_modifier('c') || bits(high, 29, 3) & !signs != 0 {
        return true;
    }
    let sources = out.src.iter().filter(|source| **source != Operand::None).count() as u32;
    if packed {
        return bits(word, 8, 3) & !signs != 0 || bits(word, 11, 3) >> sources != 0;
    }
    if bits(high, 27, 2) != 0 && !row.has_modifier('o') {
        return true;
    }
    if out.scalar_dst != Operand::None {
        return false;
    }
    // The assembler ignores the absolute value of an exponent or a byte number.
    let ignored = match row.opcode {
        op::V_LDEXP_F32 | op::V_LDEXP_F16 | op::V_LDEXP_F64 | op::V_TRIG_PREOP_F64 => 2,
        op::V_CVT_PK_U8_F32 => 6,
        _ => 0,
    };
    bits(word, 8, 3) & !(signs | ignored) != 0
        || row.has_modifier('h') && row.has_modifier('c') && bits(word, 11, 3) >> sources != 0
        || row.operands().next().is_none() && bits(word, 0, 8) != 0
}

fn short(out: &Instruction, control: u32) -> bool {
    let signs = signed_sources(out);
    match out.form {
        Form::Dpp16(_) => {
            let used = u32::from(bits(control, 20, 2) != 0) | u32::from(bits(control, 22, 2) != 0) << 1;
            used & !signs != 0
        }
        Form::Sdwa(sdwa) => {
            let comparison = out.row.encoding == Encoding::Vopc;
            // Floats have signs to change, integers are extended; the selectors' last number has no meaning.
            let extended = u32::from(sdwa.src_sext[0]) | u32::from(sdwa.src_sext[1]) << 1;
            let sources = if out.row.encoding == Encoding::Vop1 { 1 } else { 2 };
            if extended & signs != 0
                || sdwa.src_sel[..sources].contains(&7)
                || sdwa.dst_sel == 7
                || sdwa.dst_unused == 3
            {
                return true;
            }
            let used = u32::from(bits(control, 20, 2) != 0) | u32::from(bits(control, 28, 2) != 0) << 1;
            used & !signs != 0 || !comparison && bits(control, 14, 2) != 0 && !out.row.has_modifier('o')
        }
        _ => false,
    }
}
