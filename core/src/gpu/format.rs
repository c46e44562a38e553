//! The unified format table, which buffer descriptors (7 bits) and image descriptors (9 bits) share.
//!
//! Components are listed from the lowest bit up. Sources: Mesa's `gfx10_format_table` for the numbers, the Vulkan
//! registry for the twins.

/// Number in the unified format table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(transparent)]
pub struct GuestFormat(pub u16);

/// How a component's bits become a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NumberClass {
    /// 0 to 1.
    Unorm,
    /// -1 to 1.
    Snorm,
    /// Unsigned integer read as a float.
    Uscaled,
    /// Signed integer read as a float.
    Sscaled,
    /// Unsigned integer.
    Uint,
    /// Signed integer.
    Sint,
    /// Float of the component's width.
    Float,
    /// First three components with the sRGB curve, the fourth linear.
    Srgb,
    /// Three 9-bit mantissas with one 5-bit exponent.
    SharedExponent,
}

impl NumberClass {
    /// Whether shaders read the components as integers.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::Uint | Self::Sint)
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// Its number.
    pub format: GuestFormat,
    /// Bits of each component from the lowest bit up, 0 where there is none. All 0 for block-compressed formats.
    pub components: [u8; 4],
    /// How the components are read.
    pub class: NumberClass,
    /// Bytes of a texel, or of a 4x4 block.
    pub bytes: u8,
    /// Texels a block is wide and high: 1, or 4 when block-compressed.
    pub block: u8,
    /// `VkFormat` with the same bits and meaning, 0 where Vulkan has none and the shader converts.
    pub vulkan: u32,
}

impl FormatInfo {
    /// How many components there are; 4 for block-compressed formats.
    #[must_use]
    pub fn component_count(&self) -> usize {
        if self.block > 1 {
            4
        } else {
            self.components.iter().filter(|bits| **bits > 0).count()
        }
    }
}

const fn row(number: u16, components: [u8; 4], class: NumberClass, vulkan: u32) -> FormatInfo {
    let total = components[0] as u16 + components[1] as u16 + components[2] as u16 + components[3] as u16;
    FormatInfo {
        format: GuestFormat(number),
        components,
        class,
        bytes: (total / 8) as u8,
        block: 1,
        vulkan,
    }
}

const fn block(number: u16, bytes: u8, class: NumberClass, vulkan: u32) -> FormatInfo {
    FormatInfo {
        format: GuestFormat(number),
        components: [0; 4],
        class,
        bytes,
        block: 4,
        vulkan,
    }
}

use NumberClass::{Float, SharedExponent, Sint, Snorm, Srgb, Sscaled, Uint, Unorm, Uscaled};

/// Every format Relic knows, by number.
pub const FORMATS: &[FormatInfo] = &[
    row(1, [8, 0, 0, 0], Unorm, 9),
    row(2, [8, 0, 0, 0], Snorm, 10),
    row(3, [8, 0, 0, 0], Uscaled, 11),
    row(4, [8, 0, 0, 0], Sscaled, 12),
    row(5, [8, 0, 0, 0], Uint, 13),
    row(6, [8, 0, 0, 0], Sint, 14),
    row(7, [16, 0, 0, 0], Unorm, 70),
    row(8, [16, 0, 0, 0], Snorm, 71),
    row(9, [16, 0, 0, 0], Uscaled, 72),
    row(10, [16, 0, 0, 0], Sscaled, 73),
    row(11, [16, 0, 0, 0], Uint, 74),
    row(12, [16, 0, 0, 0], Sint, 75),
    row(13, [16, 0, 0, 0], Float, 76),
    row(14, [8, 8, 0, 0], Unorm, 16),
    row(15, [8, 8, 0, 0], Snorm, 17),
    row(16, [8, 8, 0, 0], Uscaled, 18),
    row(17, [8, 8, 0, 0], Sscaled, 19),
    row(18, [8, 8, 0, 0], Uint, 20),
    row(19, [8, 8, 0, 0], Sint, 21),
    row(20, [32, 0, 0, 0], Uint, 98),
    row(21, [32, 0, 0, 0], Sint, 99),
    row(22, [32, 0, 0, 0], Float, 100),
    row(23, [16, 16, 0, 0], Unorm, 77),
    row(24, [16, 16, 0, 0], Snorm, 78),
    row(25, [16, 16, 0, 0], Uscaled, 79),
    row(26, [16, 16, 0, 0], Sscaled, 80),
    row(27, [16, 16, 0, 0], Uint, 81),
    row(28, [16, 16, 0, 0], Sint, 82),
    row(29, [16, 16, 0, 0], Float, 83),
    row(30, [11, 11, 10, 0], Unorm, 0),
    row(31, [11, 11, 10, 0], Snorm, 0),
    row(32, [11, 11, 10, 0], Uscaled, 0),
    row(33, [11, 11, 10, 0], Sscaled, 0),
    row(34, [11, 11, 10, 0], Uint, 0),
    row(35, [11, 11, 10, 0], Sint, 0),
    row(36, [11, 11, 10, 0], Float, 122),
    row(37, [10, 11, 11, 0], Unorm, 0),
    row(38, [10, 11, 11, 0], Snorm, 0),
    row(39, [10, 11, 11, 0], Uscaled, 0),
    row(40, [10, 11, 11, 0], Sscaled, 0),
    row(41, [10, 11, 11, 0], Uint, 0),
    row(42, [10, 11, 11, 0], Sint, 0),
    row(43, [10, 11, 11, 0], Float, 0),
    row(44, [2, 10, 10, 10], Unorm, 0),
    row(45, [2, 10, 10, 10], Snorm, 0),
    row(46, [2, 10, 10, 10], Uscaled, 0),
    row(47, [2, 10, 10, 10], Sscaled, 0),
    row(48, [2, 10, 10, 10], Uint, 0),
    row(49, [2, 10, 10, 10], Sint, 0),
    row(50, [10, 10, 10, 2], Unorm, 64),
    row(51, [10, 10, 10, 2], Snorm, 65),
    row(52, [10, 10, 10, 2], Uscaled, 66),
    row(53, [10, 10, 10, 2], Sscaled, 67),
    row(54, [10, 10, 10, 2], Uint, 68),
    row(55, [10, 10, 10, 2], Sint, 69),
    row(56, [8, 8, 8, 8], Unorm, 37),
    row(57, [8, 8, 8, 8], Snorm, 38),
    row(58, [8, 8, 8, 8], Uscaled, 39),
    row(59, [8, 8, 8, 8], Sscaled, 40),
    row(60, [8, 8, 8, 8], Uint, 41),
    row(61, [8, 8, 8, 8], Sint, 42),
    row(62, [32, 32, 0, 0], Uint, 101),
    row(63, [32, 32, 0, 0], Sint, 102),
    row(64, [32, 32, 0, 0], Float, 103),
    row(65, [16, 16, 16, 16], Unorm, 91),
    row(66, [16, 16, 16, 16], Snorm, 92),
    row(67, [16, 16, 16, 16], Uscaled, 93),
    row(68, [16, 16, 16, 16], Sscaled, 94),
    row(69, [16, 16, 16, 16], Uint, 95),
    row(70, [16, 16, 16, 16], Sint, 96),
    row(71, [16, 16, 16, 16], Float, 97),
    row(72, [32, 32, 32, 0], Uint, 104),
    row(73, [32, 32, 32, 0], Sint, 105),
    row(74, [32, 32, 32, 0], Float, 106),
    row(75, [32, 32, 32, 32], Uint, 107),
    row(76, [32, 32, 32, 32], Sint, 108),
    row(77, [32, 32, 32, 32], Float, 109),
    row(128, [8, 0, 0, 0], Srgb, 15),
    row(129, [8, 8, 0, 0], Srgb, 22),
    row(130, [8, 8, 8, 8], Srgb, 43),
    row(132, [9, 9, 9, 5], SharedExponent, 123),
    row(133, [5, 6, 5, 0], Unorm, 5),
    row(134, [5, 5, 5, 1], Unorm, 0),
    row(135, [1, 5, 5, 5], Unorm, 0),
    row(136, [4, 4, 4, 4], Unorm, 0),
    row(137, [4, 4, 0, 0], Unorm, 0),
    block(169, 8, Unorm, 133),
    block(170, 8, Srgb, 134),
    block(171, 16, Unorm, 135),
    block(172, 16, Srgb, 136),
    block(173, 16, Unorm, 137),
    block(174, 16, Srgb, 138),
    block(175, 8, Unorm, 139),
    block(176, 8, Snorm, 140),
    block(177, 16, Unorm, 141),
    block(178, 16, Snorm, 142),
    block(179, 16, Float, 143),
    block(180, 16, Float, 144),
    block(181, 16, Unorm, 145),
    block(182, 16, Srgb, 146),
];

/// Row of [`FORMATS`] for each number, 255 where there is none.
const INDEX: [u8; 192] = {
    let mut index = [255; 192];
    let mut i = 0;
    while i < FORMATS.len() {
        index[FORMATS[i].format.0 as usize] = i as u8;
        i += 1;
    }
    index
};

impl GuestFormat {
    /// What the format is, `None` for a number that is reserved or not known.
    #[must_use]
    pub fn info(self) -> Option<&'static FormatInfo> {
        FORMATS.get(usize::from(*INDEX.get(usize::from(self.0))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_found_by_their_number() {
        assert!(FORMATS.windows(2).all(|pair| pair[0].format < pair[1].format));
        for row in FORMATS {
            assert_eq!(row.format.info(), Some(row));
        }
        assert_eq!(GuestFormat(0).info(), None);
        assert_eq!(GuestFormat(511).info(), None);
    }

    /// Anchors of each run, so that a slip of one in the table shows.
    #[test]
    fn anchors() {
        for (number, components, class, vulkan) in [
            (6, [8, 0, 0, 0], Sint, 14),
            (13, [16, 0, 0, 0], Float, 76),
            (22, [32, 0, 0, 0], Float, 100),
            (29, [16, 16, 0, 0], Float, 83),
            (36, [11, 11, 10, 0], Float, 122),
            (50, [10, 10, 10, 2], Unorm, 64),
            (56, [8, 8, 8, 8], Unorm, 37),
            (71, [16, 16, 16, 16], Float, 97),
            (74, [32, 32, 32, 0], Float, 106),
            (77, [32, 32, 32, 32], Float, 109),
            (130, [8, 8, 8, 8], Srgb, 43),
        ] {
            let info = GuestFormat(number).info().unwrap();
            assert_eq!(
                (info.components, info.class, info.vulkan),
                (components, class, vulkan),
                "{number}"
            );
        }
        assert_eq!(
            GuestFormat(182).info().map(|row| (row.block, row.bytes)),
            Some((4, 16))
        );
    }
}
