//! Colour target formats: the triple (format, number, swap) of CB_COLORn_INFO.

/// Format, number type and component swap of a colour target, as CB_COLORn_INFO has them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ColourFormat {
    /// Field FORMAT, 5 bits.
    pub format: u8,
    /// Field NUMBER_TYPE: 0 unorm, 1 snorm, 4 uint, 5 sint, 6 sRGB, 7 float.
    pub number: u8,
    /// Field COMP_SWAP: 0 standard, 1 alternate (BGRA), 2 and 3 the same reversed.
    pub swap: u8,
}

/// What a colour format is on the host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ColourFormatInfo {
    /// `VkFormat` with the same bits.
    pub vulkan: u32,
    /// Bytes of a texel.
    pub bytes: u8,
}

/// (format, number, swap) to (VkFormat, bytes). One row each; what is not here is refused by name.
const TABLE: &[(u8, u8, u8, u32, u8)] = &[
    (1, 0, 0, 9, 1),
    (1, 1, 0, 10, 1),
    (1, 4, 0, 13, 1),
    (1, 5, 0, 14, 1),
    (1, 6, 0, 15, 1),
    (2, 0, 0, 70, 2),
    (2, 1, 0, 71, 2),
    (2, 4, 0, 74, 2),
    (2, 5, 0, 75, 2),
    (2, 7, 0, 76, 2),
    (3, 0, 0, 16, 2),
    (3, 1, 0, 17, 2),
    (3, 4, 0, 20, 2),
    (3, 5, 0, 21, 2),
    (4, 4, 0, 98, 4),
    (4, 5, 0, 99, 4),
    (4, 7, 0, 100, 4),
    (5, 0, 0, 77, 4),
    (5, 1, 0, 78, 4),
    (5, 4, 0, 81, 4),
    (5, 5, 0, 82, 4),
    (5, 7, 0, 83, 4),
    (6, 7, 0, 122, 4),
    (9, 0, 0, 64, 4),
    (9, 4, 0, 68, 4),
    (9, 0, 1, 58, 4),
    (10, 0, 0, 37, 4),
    (10, 1, 0, 38, 4),
    (10, 4, 0, 41, 4),
    (10, 5, 0, 42, 4),
    (10, 6, 0, 43, 4),
    (10, 0, 1, 44, 4),
    (10, 6, 1, 50, 4),
    (11, 4, 0, 101, 8),
    (11, 5, 0, 102, 8),
    (11, 7, 0, 103, 8),
    (12, 0, 0, 91, 8),
    (12, 1, 0, 92, 8),
    (12, 4, 0, 95, 8),
    (12, 5, 0, 96, 8),
    (12, 7, 0, 97, 8),
    (14, 4, 0, 107, 16),
    (14, 5, 0, 108, 16),
    (14, 7, 0, 109, 16),
    (16, 0, 0, 5, 2),
];

impl ColourFormat {
    /// The fields of a CB_COLORn_INFO value; `None` when FORMAT is 0, which means no target.
    #[must_use]
    pub const fn from_register(info: u32) -> Option<Self> {
        let format = (info >> 2 & 31) as u8;
        if format == 0 {
            return None;
        }
        Some(Self {
            format,
            number: (info >> 8 & 7) as u8,
            swap: (info >> 11 & 3) as u8,
        })
    }

    /// The host's twin, `None` where there is none.
    #[must_use]
    pub fn info(self) -> Option<ColourFormatInfo> {
        TABLE
            .iter()
            .find(|row| (row.0, row.1, row.2) == (self.format, self.number, self.swap))
            .map(|row| ColourFormatInfo {
                vulkan: row.3,
                bytes: row.4,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn video_out_target_is_bgra() {
        let standard = ColourFormat::from_register(0x8028).unwrap();
        let swapped = ColourFormat::from_register(0x8828).unwrap();
        assert_eq!(standard.info().unwrap().vulkan, 37);
        assert_eq!(swapped.info().unwrap().vulkan, 44);
        assert_eq!(ColourFormat::from_register(0), None);
    }
}
