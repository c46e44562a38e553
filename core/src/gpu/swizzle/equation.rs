//! The equations: which coordinate bits make up each bit of an address inside a block.
//!
//! They are those of a gfx10.1 chip with 16 pipes and a 256-byte interleave (GB_ADDR_CONFIG 0x00100044), found by
//! asking AMD's address library for the place of every coordinate bit; read-backs from consoles agree. Coordinates
//! beyond the block take part where an equation names them.

use super::{
    Dimension::{self, D1, D2, D3},
    SwizzleMode::{
        self, Depth64KX, Display4K, Display4KX, Display64K, Display64KT, Display64KX, Display256, Render64KX,
        Standard4K, Standard4KX, Standard64K, Standard64KT, Standard64KX, Standard256,
    },
};

/// Coordinate bits that are XORed into one address bit, as masks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AddressBit {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) z: u32,
    pub(super) sample: u32,
}

impl AddressBit {
    const NONE: Self = Self {
        x: 0,
        y: 0,
        z: 0,
        sample: 0,
    };
}

/// One for each address bit of the largest block, the lowest first. Bits below the element's size are empty.
pub(super) type Equation = [AddressBit; 16];

/// Modes that share their equations: smaller blocks use the low bits.
struct Family {
    modes: &'static [SwizzleMode],
    dimensions: &'static [Dimension],
    samples_log2: u32,
    /// By log2 of the element's size; `None` where the mode does not exist.
    equations: [Option<Equation>; 5],
}

/// Reads "x0 y0 x1^y2": address bits from the element's size on, the lowest first.
#[expect(clippy::panic, reason = "while compiling")]
const fn parse(text: &str, element_log2: usize) -> Option<Equation> {
    let text = text.as_bytes();
    if text.is_empty() {
        return None;
    }
    let mut bits = [AddressBit::NONE; 16];
    let (mut at, mut bit) = (0, element_log2);
    while at + 1 < text.len() {
        let mask = 1 << (text[at + 1] - b'0');
        match text[at] {
            b'x' => bits[bit].x |= mask,
            b'y' => bits[bit].y |= mask,
            b'z' => bits[bit].z |= mask,
            b's' => bits[bit].sample |= mask,
            _ => panic!("coordinates are x, y, z and s"),
        }
        if at + 2 < text.len() && text[at + 2] == b' ' {
            bit += 1;
        }
        at += 3;
    }
    Some(bits)
}

const fn family(
    modes: &'static [SwizzleMode],
    dimensions: &'static [Dimension],
    samples_log2: u32,
    texts: [&str; 5],
) -> Family {
    let mut equations = [None; 5];
    let mut element_log2 = 0;
    while element_log2 < 5 {
        equations[element_log2] = parse(texts[element_log2], element_log2);
        element_log2 += 1;
    }
    Family {
        modes,
        dimensions,
        samples_log2,
        equations,
    }
}

const FLAT: &[Dimension] = &[D1, D2];
const VOLUME: &[Dimension] = &[D3];
const ALL: &[Dimension] = &[D1, D2, D3];

/// Modes, dimensions, log2 of the samples; then a row for elements of 1, 2, 4, 8 and 16 bytes.
static FAMILIES: [Family; 18] = [
    family(
        &[Standard256, Standard4K, Standard64K],
        FLAT,
        0,
        [
            "x0 x1 x2 x3 y0 y1 y2 y3 y4 x4 y5 x5 y6 x6 y7 x7",
            "x0 x1 x2 y0 y1 y2 x3 y3 x4 y4 x5 y5 x6 y6 x7",
            "x0 x1 y0 y1 y2 x2 y3 x3 y4 x4 y5 x5 y6 x6",
            "x0 y0 y1 x1 x2 y2 x3 y3 x4 y4 x5 y5 x6",
            "y0 y1 x0 x1 y2 x2 y3 x3 y4 x4 y5 x5",
        ],
    ),
    family(
        &[Display256, Display4K, Display64K],
        FLAT,
        0,
        [
            "x0 x1 x2 y1 y0 y2 x3 y3 y4 x4 y5 x5 y6 x6 y7 x7",
            "x0 x1 x2 y0 y1 y2 x3 y3 x4 y4 x5 y5 x6 y6 x7",
            "x0 x1 y0 y1 y2 x2 y3 x3 y4 x4 y5 x5 y6 x6",
            "x0 y0 x1 x2 y1 y2 x3 y3 x4 y4 x5 y5 x6",
            "x0 y0 x1 y1 y2 x2 y3 x3 y4 x4 y5 x5",
        ],
    ),
    family(
        &[Standard64KT],
        FLAT,
        0,
        [
            "x0 x1 x2 x3 y0 y1 y2 y3 x7^y4 x4^y7 x6^y5 x5^y6 y6 x6 y7 x7",
            "x0 x1 x2 y0 y1 y2 x3 x7^y3 x4^y6 x6^y4 x5^y5 y5 x6 y6 x7",
            "x0 x1 y0 y1 y2 x2 x6^y3 x3^y6 x5^y4 x4^y5 y5 x5 y6 x6",
            "x0 y0 y1 x1 x2 x6^y2 x3^y5 x5^y3 x4^y4 y4 x5 y5 x6",
            "y0 y1 x0 x1 x5^y2 x2^y5 x4^y3 x3^y4 y4 x4 y5 x5",
        ],
    ),
    family(
        &[Display64KT],
        FLAT,
        0,
        [
            "x0 x1 x2 y1 y0 y2 x3 y3 x7^y4 x4^y7 x6^y5 x5^y6 y6 x6 y7 x7",
            "x0 x1 x2 y0 y1 y2 x3 x7^y3 x4^y6 x6^y4 x5^y5 y5 x6 y6 x7",
            "x0 x1 y0 y1 y2 x2 x6^y3 x3^y6 x5^y4 x4^y5 y5 x5 y6 x6",
            "x0 y0 x1 x2 y1 x6^y2 x3^y5 x5^y3 x4^y4 y4 x5 y5 x6",
            "x0 y0 x1 y1 x5^y2 x2^y5 x4^y3 x3^y4 y4 x4 y5 x5",
        ],
    ),
    family(
        &[Standard4KX, Standard64KX],
        FLAT,
        0,
        [
            "x0 x1 x2 x3 y0 y1 y2 y3 x7^y4^z3 x4^y7^z2 x6^y5^z1 x5^y6^z0 y6 x6 y7 x7",
            "x0 x1 x2 y0 y1 y2 x3 x7^y3^z3 x4^y6^z2 x6^y4^z1 x5^y5^z0 y5 x6 y6 x7",
            "x0 x1 y0 y1 y2 x2 x6^y3^z3 x3^y6^z2 x5^y4^z1 x4^y5^z0 y5 x5 y6 x6",
            "x0 y0 y1 x1 x2 x6^y2^z3 x3^y5^z2 x5^y3^z1 x4^y4^z0 y4 x5 y5 x6",
            "y0 y1 x0 x1 x5^y2^z3 x2^y5^z2 x4^y3^z1 x3^y4^z0 y4 x4 y5 x5",
        ],
    ),
    family(
        &[Display4KX, Display64KX],
        FLAT,
        0,
        [
            "x0 x1 x2 y1 y0 y2 x3 y3 x7^y4^z3 x4^y7^z2 x6^y5^z1 x5^y6^z0 y6 x6 y7 x7",
            "x0 x1 x2 y0 y1 y2 x3 x7^y3^z3 x4^y6^z2 x6^y4^z1 x5^y5^z0 y5 x6 y6 x7",
            "x0 x1 y0 y1 y2 x2 x6^y3^z3 x3^y6^z2 x5^y4^z1 x4^y5^z0 y5 x5 y6 x6",
            "x0 y0 x1 x2 y1 x6^y2^z3 x3^y5^z2 x5^y3^z1 x4^y4^z0 y4 x5 y5 x6",
            "x0 y0 x1 y1 x5^y2^z3 x2^y5^z2 x4^y3^z1 x3^y4^z0 y4 x4 y5 x5",
        ],
    ),
    family(
        &[Depth64KX],
        ALL,
        0,
        [
            "x0 y0 x1 y1 x2 y2 x3 y4 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y6 x6 y7 x7",
            "x0 y0 x1 y1 x2 y2 x3 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y4 x6 y6 x7",
            "x0 y0 x1 y1 x2 y2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 x6",
            "x0 y0 x1 y1 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y2 x3 y4 x6",
            "",
        ],
    ),
    family(
        &[Depth64KX],
        FLAT,
        1,
        [
            "s0 x0 y0 x1 y1 x2 y2 x3 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y4 y6 x6 y7",
            "s0 x0 y0 x1 y1 x2 y2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 x6",
            "s0 x0 y0 x1 y1 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 y2^y7",
            "",
            "",
        ],
    ),
    family(
        &[Depth64KX],
        FLAT,
        2,
        [
            "s0 s1 x0 y0 x1 y1 x2 y2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 x6",
            "s0 s1 x0 y0 x1 y1 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 x3 y4 x6 y2^y6",
            "s0 s1 x0 y0 x1 y1 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y2^y6 x2^y7",
            "",
            "",
        ],
    ),
    family(
        &[Depth64KX],
        FLAT,
        3,
        [
            "s0 s1 s2 x0 y0 x1 y1 x2 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y6^z3 y3 x4 y6 y2^y7",
            "s0 s1 s2 x0 y0 x1 y1 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y6^z3 y3 x4 y2^y6 x2^y7",
            "s0 s1 s2 x0 y0 x1 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y2^y6 x3 y4 x2^y6 y1^y7",
            "",
            "",
        ],
    ),
    family(
        &[Render64KX],
        ALL,
        0,
        [
            "x0 x1 x2 y1 y0 y2 x3 y4 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y6 x6 y7 x7",
            "x0 x1 x2 y0 y1 y2 x3 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y4 x6 y6 x7",
            "x0 x1 y0 y1 y2 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 x6",
            "x0 y0 x1 x2 y1 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y2 x3 y4 x6",
            "x0 y0 x1 y1 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y2 x2 y3 x4",
        ],
    ),
    family(
        &[Render64KX],
        FLAT,
        1,
        [
            "x0 x1 x2 y1 y0 y2 x3 y4 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y6 x6 y7 s0^y8",
            "x0 x1 x2 y0 y1 y2 x3 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y4 x6 y6 s0^y7",
            "x0 x1 y0 y1 y2 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 y6 s0^y7",
            "x0 y0 x1 x2 y1 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y2 x3 y4 s0^y6",
            "x0 y0 x1 y1 x3^y3^z2 x4^y4^z1 x6^y5^z0 s0^x5^y6 y2 x2 y3 x4",
        ],
    ),
    family(
        &[Render64KX],
        FLAT,
        2,
        [
            "x0 x1 x2 y1 y0 y2 x3 y4 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y6 x6 s0^y7 s1^y8",
            "x0 x1 x2 y0 y1 y2 x3 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y4 x6 s0^y6 s1^y7",
            "x0 x1 y0 y1 y2 x2 x3^y3^z3 x4^y4^z2 x6^y5^z1 x5^y6^z0 y3 x4 s0^y6 s1^y7",
            "x0 y0 x1 x2 y1 x3^y3^z2 x4^y4^z1 s1^x6^y5 x5^y6^z0 y2 x3 y4 s0^y6",
            "x0 y0 x1 y1 x3^y3^z1 x4^y4^z0 s1^x6^y5 s0^x5^y6 y2 x2 y3 x4",
        ],
    ),
    family(
        &[Render64KX],
        FLAT,
        3,
        [
            "x0 x1 x2 y1 y0 y2 x3 y4 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y6^z3 y6 s0^y7 s1^y8 s2",
            "x0 x1 x2 y0 y1 y2 x3 x3^y3^z2 x4^y4^z1 x6^y5^z0 x5^y6^z3 y4 s0^y6 s1^y7 s2^y8",
            "x0 x1 y0 y1 y2 x2 x3^y3^z2 x4^y4^z1 x6^y5^z0 s2^x5^y6 y3 x4 s0^y6 s1^y7",
            "x0 y0 x1 x2 y1 x3^y3^z1 x4^y4^z0 s2^x6^y5 s1^x5^y6 y2 x3 y4 s0^y6",
            "x0 y0 x1 y1 x3^y3^z1 x4^y4^z0 s2^x6^y5 s1^x5^y6 x2 y2 x3 s0^y6",
        ],
    ),
    family(
        &[Standard4K, Standard64K],
        VOLUME,
        0,
        [
            "x0 x1 z0 y0 z1 y1 x2 z2 y2 x3 z3 y3 x4 z4 y4 x5",
            "x0 z0 y0 z1 y1 x1 z2 y2 x2 z3 y3 x3 z4 y4 x4",
            "x0 y0 z0 y1 x1 z1 y2 x2 z2 y3 x3 z3 y4 x4",
            "x0 z0 y0 x1 z1 y1 x2 z2 y2 x3 z3 y3 x4",
            "z0 y0 x0 z1 y1 x1 z2 y2 x2 z3 y3 x3",
        ],
    ),
    family(
        &[Standard64KT],
        VOLUME,
        0,
        [
            "x0 x1 z0 y0 z1 y1 x2 z2 y2 x3 x5^y4^z3 x4^y3^z4 x4 z4 y4 x5",
            "x0 z0 y0 z1 y1 x1 z2 y2 x2 x4^y4^z3 x3^y3^z4 x3 z4 y4 x4",
            "x0 y0 z0 y1 x1 z1 y2 x2 x4^y4^z2 x3^y3^z3 x3 z3 y4 x4",
            "x0 z0 y0 x1 z1 y1 x2 x4^y3^z2 x3^y2^z3 x3 z3 y3 x4",
            "z0 y0 x0 z1 y1 x1 x3^y3^z2 x2^y2^z3 x2 z3 y3 x3",
        ],
    ),
    family(
        &[Standard4KX, Standard64KX],
        VOLUME,
        0,
        [
            "x0 x1 z0 y0 z1 y1 x2 z2 x6^y2 x3^y5^z5 x5^y4^z3 x4^y3^z4 x4 z4 y4 x5",
            "x0 z0 y0 z1 y1 x1 z2 x5^y2 x2^y5^z5 x4^y4^z3 x3^y3^z4 x3 z4 y4 x4",
            "x0 y0 z0 y1 x1 z1 x5^y2^z5 x2^y5^z4 x4^y4^z2 x3^y3^z3 x3 z3 y4 x4",
            "x0 z0 y0 x1 z1 x5^y1^z5 x2^y4^z4 x4^y3^z2 x3^y2^z3 x3 z3 y3 x4",
            "z0 y0 x0 z1 x4^y1^z5 x1^y4^z4 x3^y3^z2 x2^y2^z3 x2 z3 y3 x3",
        ],
    ),
    family(
        &[Display64KX],
        VOLUME,
        0,
        [
            "x0 x1 z0 y0 y1 z1 x2 z2 x3^y3 x4^y4 x6^y2^y5 x5^y6 z3 y3 x4 z4",
            "x0 z0 y0 x1 z1 y1 z2 x3^y3 x4^y4 x6^y5^z3 x5^y2^y6 x2 z4 y3 x4",
            "x0 y0 x1 z0 y1 z1 x3^y3 x4^y4 x6^y5^z2 x5^y2^y6 x2 z3 y3 x4",
            "x0 y0 z0 x1 z1 x3^y3 x4^y4 x6^y5^z2 x5^y1^y6 x2 z3 y2 x3",
            "x0 z0 y0 z1 x3^y3 x1^x4^y4 x6^y5^z2 x5^y1^y6 x2 z3 y2 x3",
        ],
    ),
];

/// The equation of a mode, or `None` where the chip has none.
pub(super) fn find(
    mode: SwizzleMode,
    dimension: Dimension,
    samples_log2: u32,
    element_log2: u32,
) -> Option<&'static Equation> {
    FAMILIES
        .iter()
        .find(|family| {
            family.samples_log2 == samples_log2
                && family.modes.contains(&mode)
                && family.dimensions.contains(&dimension)
        })?
        .equations
        .get(element_log2 as usize)?
        .as_ref()
}
