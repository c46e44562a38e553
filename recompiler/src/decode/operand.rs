//! Operands of instructions.

/// A register, constant or literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    /// The instruction has no such operand.
    None,
    /// Scalar registers: 0..=105 SGPRs, 106/107 VCC, 108..=123 trap registers, 124 M0, 125 null, 126/127 EXEC.
    Scalar(u8),
    /// A VGPR, the first of several where the operand is wider.
    Vector(u8),
    /// Inline integer, -16..=64.
    Integer(i8),
    /// Inline float by source code, 240..=248.
    Float(u8),
    /// Shared and private aperture, 235..=238; the exiting wave of ordered pixels, 239; VCCZ 251, EXECZ 252, SCC 253, LDS direct 254.
    Special(u8),
    /// The literal's marker, before the literal is read.
    LiteralFollows,
    /// A 32-bit literal.
    Literal(u32),
    /// A source code with no meaning here.
    Reserved(u16),
}

impl Operand {
    /// A 7-bit scalar register field.
    pub const fn scalar(number: u32) -> Self {
        Self::Scalar((number & 127) as u8)
    }

    /// An 8-bit vector register field.
    pub const fn vector(number: u32) -> Self {
        Self::Vector(number as u8)
    }

    /// A source field of 8 or 9 bits.
    pub const fn source(code: u32) -> Self {
        match code {
            0..=127 => Self::Scalar(code as u8),
            128..=192 => Self::Integer((code as i32 - 128) as i8),
            193..=208 => Self::Integer((192 - code as i32) as i8),
            235..=239 | 251..=254 => Self::Special(code as u8),
            240..=248 => Self::Float(code as u8),
            255 => Self::LiteralFollows,
            256..=511 => Self::Vector((code - 256) as u8),
            _ => Self::Reserved(code as u16),
        }
    }
}

/// Bits of an inline float constant as binary32.
pub(crate) const fn inline_f32(code: u8) -> u32 {
    match code {
        240 => 0x3f00_0000,
        241 => 0xbf00_0000,
        242 => 0x3f80_0000,
        243 => 0xbf80_0000,
        244 => 0x4000_0000,
        245 => 0xc000_0000,
        246 => 0x4080_0000,
        247 => 0xc080_0000,
        // 1 / (2 pi)
        _ => 0x3e22_f983,
    }
}

/// Bits of an inline float constant as binary16: what 16-bit instructions read.
pub(crate) const fn inline_f16(code: u8) -> u32 {
    match code {
        240 => 0x3800,
        241 => 0xb800,
        242 => 0x3c00,
        243 => 0xbc00,
        244 => 0x4000,
        245 => 0xc000,
        246 => 0x4400,
        247 => 0xc400,
        _ => 0x3118,
    }
}

/// Bits of an inline float constant as binary64.
pub(crate) const fn inline_f64(code: u8) -> u64 {
    match code {
        240 => 0x3fe0_0000_0000_0000,
        241 => 0xbfe0_0000_0000_0000,
        242 => 0x3ff0_0000_0000_0000,
        243 => 0xbff0_0000_0000_0000,
        244 => 0x4000_0000_0000_0000,
        245 => 0xc000_0000_0000_0000,
        246 => 0x4010_0000_0000_0000,
        247 => 0xc010_0000_0000_0000,
        _ => 0x3fc4_5f30_6dc9_c882,
    }
}
