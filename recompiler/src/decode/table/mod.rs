//! The opcode table: one row for each instruction of the chip.
//!
//! A row is `NAME = number dialect "operands|forms";`. Operands are listed in the assembler's order, each a slot and
//! a width in dwords: `d` destination, `e` second (scalar) destination, `a`, `b`, `c` sources, `l` literal, `k`
//! 16-bit immediate, `t` branch target, `o` scalar memory offset, `hw` hardware register, `attr` parameter, `p`
//! parameter point, `vcc` implied, `m0` implied. A trailing `s` on the width marks a scalar register where the
//! encoding would have a vector register. Forms: `3` has a VOP3 form, `d` takes DPP, `s` takes SDWA. Modifiers of the
//! long form follow: `0`, `1`, `2` the sources whose sign can be changed, `c` clamp, `o` output factor, `h` op_sel.
//!
//! Rows of VOP1, VOP2 and VOPC stand for their VOP3 forms too (numbers + 0x180, 0x100 and 0).

mod compare;
mod data_share;
mod image;
mod memory;
mod scalar;
mod vector;

pub(crate) mod op {
    //! All opcodes by name.
    pub(crate) use super::compare::*;
    pub(crate) use super::data_share::*;
    pub(crate) use super::image::*;
    pub(crate) use super::memory::*;
    pub(crate) use super::scalar::*;
    pub(crate) use super::vector::*;
}

use crate::binary::Dialect;

/// Instruction formats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Encoding {
    /// Two scalar sources.
    Sop2,
    /// Scalar with immediate.
    Sopk,
    /// One scalar source.
    Sop1,
    /// Scalar comparison.
    Sopc,
    /// Program control.
    Sopp,
    /// Scalar memory.
    Smem,
    /// Two vector sources.
    Vop2,
    /// One vector source.
    Vop1,
    /// Vector comparison.
    Vopc,
    /// Three vector sources.
    Vop3,
    /// Packed vector.
    Vop3p,
    /// Interpolation.
    Vintrp,
    /// Data share.
    Ds,
    /// Flat memory.
    Flat,
    /// Scratch memory.
    Scratch,
    /// Global memory.
    Global,
    /// Untyped buffer.
    Mubuf,
    /// Typed buffer.
    Mtbuf,
    /// Image.
    Mimg,
    /// Export.
    Exp,
}

/// An opcode: encoding and number in one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Opcode(u16);

impl Opcode {
    /// The opcode `number` of an encoding.
    #[must_use]
    pub const fn new(encoding: Encoding, number: u16) -> Self {
        Self((encoding as u16) << 10 | number)
    }

    /// Number within the encoding.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0 & 0x3ff
    }
}

/// Dialects a row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowDialect {
    /// Every dialect.
    Both,
    /// gfx10.1 only.
    Gfx1013,
    /// gfx10.3 only.
    Gfx1030,
}

/// One instruction of the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Opcode.
    pub opcode: Opcode,
    /// Encoding of the short form.
    pub encoding: Encoding,
    /// Upper-case mnemonic without form suffix.
    pub name: &'static str,
    /// Dialects.
    pub dialect: RowDialect,
    signature: &'static str,
    pub(crate) shape: Shape,
}

impl Row {
    /// Operands in the assembler's order.
    pub fn operands(&self) -> impl Iterator<Item = &'static str> {
        self.signature
            .split('|')
            .next()
            .unwrap_or_default()
            .split_ascii_whitespace()
    }

    /// Whether the long form takes the modifier: a source's number for its sign, `c` clamp, `o` a factor for the
    /// result, `h` halves chosen by op_sel.
    #[must_use]
    pub fn has_modifier(&self, modifier: char) -> bool {
        self.shape.modifiers & letter(modifier as u8) != 0
    }

    /// Whether the instruction has the form: `3`, `d` or `s`; of buffer loads `l`, to the data share; of images `n`,
    /// without 16-bit data.
    #[must_use]
    pub fn has_form(&self, form: char) -> bool {
        self.shape.forms & letter(form as u8) != 0
    }

    /// Width of an operand slot in dwords, or 0 where the instruction has none.
    #[must_use]
    pub fn width(&self, slot: char) -> u8 {
        self.shape.widths[slot as usize & 31]
    }

    /// Whether the slot holds a scalar register where the encoding would have a vector register.
    #[must_use]
    pub fn is_scalar_slot(&self, slot: char) -> bool {
        self.shape.scalars & letter(slot as u8) != 0
    }
}

/// What a row's signature says, taken apart when Relic is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// By the slot's letter, `a` at 1.
    widths: [u8; 32],
    /// Sets of letters and digits.
    scalars: u128,
    forms: u128,
    modifiers: u128,
}

const fn letter(byte: u8) -> u128 {
    1 << (byte & 127)
}

impl Shape {
    pub const fn of(signature: &str) -> Self {
        let bytes = signature.as_bytes();
        let mut shape = Self {
            widths: [0; 32],
            scalars: 0,
            forms: 0,
            modifiers: 0,
        };
        let (mut at, mut part, mut slot) = (0, 0, 0);
        while at < bytes.len() {
            let byte = bytes[at];
            match (part, byte) {
                (_, b'|') => part += 1,
                (0, b' ') => slot = 0,
                (0, _) if slot == 0 => slot = byte,
                (0, b'0'..=b'9') => {
                    let width = &mut shape.widths[(slot & 31) as usize];
                    *width = 10 * *width + (byte - b'0');
                }
                (0, b's') => shape.scalars |= letter(slot),
                (1, _) => shape.forms |= letter(byte),
                (2, _) => shape.modifiers |= letter(byte),
                _ => {}
            }
            at += 1;
        }
        shape
    }
}

macro_rules! table {
    ($(#[$doc:meta])* $list:ident : $encoding:ident { $($name:ident = $number:literal $dialect:ident $signature:literal;)* }) => {
        $(pub(crate) const $name: super::Opcode = super::Opcode::new(super::Encoding::$encoding, $number);)*

        $(#[$doc])*
        pub(crate) static $list: &[super::Row] = &[
            $(super::Row {
                opcode: $name,
                encoding: super::Encoding::$encoding,
                name: stringify!($name),
                dialect: super::RowDialect::$dialect,
                signature: $signature,
                shape: super::Shape::of($signature),
            },)*
        ];
    };
}
use table;

/// Rows of an encoding, by rising number.
pub(crate) fn rows(encoding: Encoding) -> &'static [Row] {
    match encoding {
        Encoding::Sop2 => op::SOP2_ROWS,
        Encoding::Sopk => op::SOPK_ROWS,
        Encoding::Sop1 => op::SOP1_ROWS,
        Encoding::Sopc => op::SOPC_ROWS,
        Encoding::Sopp => op::SOPP_ROWS,
        Encoding::Smem => op::SMEM_ROWS,
        Encoding::Vop2 => op::VOP2_ROWS,
        Encoding::Vop1 => op::VOP1_ROWS,
        Encoding::Vopc => op::VOPC_ROWS,
        Encoding::Vop3 => op::VOP3_ROWS,
        Encoding::Vop3p => op::VOP3P_ROWS,
        Encoding::Vintrp => op::VINTRP_ROWS,
        Encoding::Ds => op::DS_ROWS,
        Encoding::Flat => op::FLAT_ROWS,
        Encoding::Scratch => op::SCRATCH_ROWS,
        Encoding::Global => op::GLOBAL_ROWS,
        Encoding::Mubuf => op::MUBUF_ROWS,
        Encoding::Mtbuf => op::MTBUF_ROWS,
        Encoding::Mimg => op::MIMG_ROWS,
        Encoding::Exp => op::EXP_ROWS,
    }
}

/// The row of opcode `number` in a dialect.
pub(crate) fn find(encoding: Encoding, number: u32, dialect: Dialect) -> Option<&'static Row> {
    let rows = rows(encoding);
    let start = rows.partition_point(|row| u32::from(row.opcode.number()) < number);
    rows[start..]
        .iter()
        .take_while(|row| u32::from(row.opcode.number()) == number)
        .find(|row| match row.dialect {
            RowDialect::Both => true,
            RowDialect::Gfx1013 => dialect == Dialect::Gfx1013,
            RowDialect::Gfx1030 => dialect == Dialect::Gfx1030,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every encoding, by discriminant.
    const ALL: [Encoding; 20] = [
        Encoding::Sop2,
        Encoding::Sopk,
        Encoding::Sop1,
        Encoding::Sopc,
        Encoding::Sopp,
        Encoding::Smem,
        Encoding::Vop2,
        Encoding::Vop1,
        Encoding::Vopc,
        Encoding::Vop3,
        Encoding::Vop3p,
        Encoding::Vintrp,
        Encoding::Ds,
        Encoding::Flat,
        Encoding::Scratch,
        Encoding::Global,
        Encoding::Mubuf,
        Encoding::Mtbuf,
        Encoding::Mimg,
        Encoding::Exp,
    ];

    #[test]
    fn rows_rise_and_names_are_unique() {
        let mut names = std::collections::HashSet::new();
        for encoding in 0..=Encoding::Exp as u8 {
            let rows = rows(ALL[encoding as usize]);
            assert!(!rows.is_empty());
            assert!(rows.is_sorted_by_key(|row| row.opcode.number()));
            for row in rows {
                assert!(names.insert(row.name), "{} stands in two rows", row.name);
            }
        }
    }

    #[test]
    fn every_row_has_a_vector_of_the_assembler() {
        let mnemonics: std::collections::HashSet<&str> = [
            include_str!("../../../tests/vectors/gfx1013.txt"),
            include_str!("../../../tests/vectors/gfx1030.txt"),
        ]
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.split_once(" = ")?.1.split(' ').next())
        .map(|name| {
            ["_e32", "_e64", "_sdwa", "_dpp"]
                .iter()
                .find_map(|form| name.strip_suffix(form))
                .unwrap_or(name)
        })
        .collect();
        let missing: Vec<_> = ALL
            .iter()
            .flat_map(|encoding| rows(*encoding))
            .map(|row| row.name.to_ascii_lowercase())
            .map(|name| name.strip_suffix("_e64").map_or(name.clone(), String::from))
            .filter(|name| !mnemonics.contains(name.as_str()))
            .collect();
        assert!(missing.is_empty(), "no vector for {missing:?}");
    }
}
