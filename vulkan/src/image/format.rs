//! Texel sizes of the formats that data is copied in and out of.

use ash::vk::{Format as F, ImageAspectFlags};

/// The smallest unit of a format that can be copied: a texel, or a block of compressed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatBlock {
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// Size in bytes.
    pub bytes: u32,
}

impl FormatBlock {
    /// Bytes of `width` x `height` x `depth` texels that lie tight, partial blocks rounded up.
    #[must_use]
    pub fn tight_size(self, width: u32, height: u32, depth: u32) -> u64 {
        u64::from(width.div_ceil(self.width))
            * u64::from(height.div_ceil(self.height))
            * u64::from(depth)
            * u64::from(self.bytes)
    }
}

/// The aspects of a format: colour for all but depth and stencil ones.
#[must_use]
pub fn format_aspects(format: F) -> ImageAspectFlags {
    match format {
        F::D16_UNORM | F::X8_D24_UNORM_PACK32 | F::D32_SFLOAT => ImageAspectFlags::DEPTH,
        F::S8_UINT => ImageAspectFlags::STENCIL,
        F::D16_UNORM_S8_UINT | F::D24_UNORM_S8_UINT | F::D32_SFLOAT_S8_UINT => {
            ImageAspectFlags::DEPTH | ImageAspectFlags::STENCIL
        }
        _ => ImageAspectFlags::COLOR,
    }
}

/// The copy unit of one aspect of a format, as buffer copies lay it out; `None` for formats not in the table.
#[must_use]
pub fn format_block(format: F, aspect: ImageAspectFlags) -> Option<FormatBlock> {
    let texel = |bytes| {
        Some(FormatBlock {
            width: 1,
            height: 1,
            bytes,
        })
    };
    let block = |bytes| {
        Some(FormatBlock {
            width: 4,
            height: 4,
            bytes,
        })
    };
    if aspect == ImageAspectFlags::STENCIL {
        return texel(1);
    }
    match format {
        F::D16_UNORM | F::D16_UNORM_S8_UINT => texel(2),
        F::X8_D24_UNORM_PACK32 | F::D24_UNORM_S8_UINT | F::D32_SFLOAT | F::D32_SFLOAT_S8_UINT => texel(4),
        F::BC1_RGB_UNORM_BLOCK
        | F::BC1_RGB_SRGB_BLOCK
        | F::BC1_RGBA_UNORM_BLOCK
        | F::BC1_RGBA_SRGB_BLOCK
        | F::BC4_UNORM_BLOCK
        | F::BC4_SNORM_BLOCK => block(8),
        F::BC2_UNORM_BLOCK
        | F::BC2_SRGB_BLOCK
        | F::BC3_UNORM_BLOCK
        | F::BC3_SRGB_BLOCK
        | F::BC5_UNORM_BLOCK
        | F::BC5_SNORM_BLOCK
        | F::BC6H_UFLOAT_BLOCK
        | F::BC6H_SFLOAT_BLOCK
        | F::BC7_UNORM_BLOCK
        | F::BC7_SRGB_BLOCK => block(16),
        // Vulkan numbers its first 123 formats by texel size: each arm is a run of that numbering.
        F::A4R4G4B4_UNORM_PACK16 | F::A4B4G4R4_UNORM_PACK16 => texel(2),
        format => match format.as_raw() {
            1 => texel(1),
            2..=8 => texel(2),
            9..=15 => texel(1),
            16..=22 => texel(2),
            23..=36 => texel(3),
            37..=69 => texel(4),
            70..=76 => texel(2),
            77..=83 => texel(4),
            84..=90 => texel(6),
            91..=97 => texel(8),
            98..=100 => texel(4),
            101..=103 => texel(8),
            104..=106 => texel(12),
            107..=109 => texel(16),
            110..=112 => texel(8),
            113..=115 => texel(16),
            116..=118 => texel(24),
            119..=121 => texel(32),
            122 | 123 => texel(4),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_each_run_have_their_size() {
        let cases = [
            (F::R4G4_UNORM_PACK8, 1),
            (F::R4G4B4A4_UNORM_PACK16, 2),
            (F::A1R5G5B5_UNORM_PACK16, 2),
            (F::R8_UNORM, 1),
            (F::R8_SRGB, 1),
            (F::R8G8_UNORM, 2),
            (F::R8G8_SRGB, 2),
            (F::R8G8B8_UNORM, 3),
            (F::B8G8R8_SRGB, 3),
            (F::R8G8B8A8_UNORM, 4),
            (F::A2B10G10R10_SINT_PACK32, 4),
            (F::R16_UNORM, 2),
            (F::R16_SFLOAT, 2),
            (F::R16G16_UNORM, 4),
            (F::R16G16_SFLOAT, 4),
            (F::R16G16B16_UNORM, 6),
            (F::R16G16B16_SFLOAT, 6),
            (F::R16G16B16A16_UNORM, 8),
            (F::R16G16B16A16_SFLOAT, 8),
            (F::R32_UINT, 4),
            (F::R32_SFLOAT, 4),
            (F::R32G32_UINT, 8),
            (F::R32G32_SFLOAT, 8),
            (F::R32G32B32_UINT, 12),
            (F::R32G32B32_SFLOAT, 12),
            (F::R32G32B32A32_UINT, 16),
            (F::R32G32B32A32_SFLOAT, 16),
            (F::R64_UINT, 8),
            (F::R64G64_SFLOAT, 16),
            (F::R64G64B64_UINT, 24),
            (F::R64G64B64A64_SFLOAT, 32),
            (F::B10G11R11_UFLOAT_PACK32, 4),
            (F::E5B9G9R9_UFLOAT_PACK32, 4),
        ];
        for (format, bytes) in cases {
            let found = format_block(format, ImageAspectFlags::COLOR);
            assert_eq!(
                found,
                Some(FormatBlock {
                    width: 1,
                    height: 1,
                    bytes
                }),
                "{format:?}"
            );
        }
        assert_eq!(format_block(F::UNDEFINED, ImageAspectFlags::COLOR), None);
        assert_eq!(format_block(F::G8B8G8R8_422_UNORM, ImageAspectFlags::COLOR), None);
    }

    #[test]
    fn partial_blocks_count_whole() {
        let bc1 = format_block(F::BC1_RGB_UNORM_BLOCK, ImageAspectFlags::COLOR);
        assert_eq!(bc1.map(|block| block.tight_size(5, 4, 1)), Some(16));
    }
}
