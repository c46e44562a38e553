//! S# to Vulkan samplers.

use ash::vk;
use relic_core::gpu::SamplerDescriptor;
use relic_vulkan::{BorderColour, SamplerDescription};

/// Describes a sampler.
///
/// # Errors
/// The field that can't be expressed.
pub(super) fn describe(s: &SamplerDescriptor) -> Result<SamplerDescription, String> {
    let anisotropic = s.mag_filter() >= 2 || s.min_filter() >= 2;
    let filter = |number: u32| {
        if number % 2 == 1 {
            vk::Filter::LINEAR
        } else {
            vk::Filter::NEAREST
        }
    };
    let border = match s.border_type() {
        0 => vk::BorderColor::FLOAT_TRANSPARENT_BLACK,
        1 => vk::BorderColor::FLOAT_OPAQUE_BLACK,
        2 => vk::BorderColor::FLOAT_OPAQUE_WHITE,
        _ => return Err("S# with a border colour from the table is not bound yet".to_owned()),
    };
    // Signed 5.8 in 14 bits.
    let bias = (s.lod_bias() << 18).cast_signed() >> 18;
    Ok(SamplerDescription {
        magnify: filter(s.mag_filter()),
        minify: filter(s.min_filter()),
        mip: if s.mip_filter() == 2 {
            vk::SamplerMipmapMode::LINEAR
        } else {
            vk::SamplerMipmapMode::NEAREST
        },
        address: [
            address(s.clamp_x())?,
            address(s.clamp_y())?,
            address(s.clamp_z())?,
        ],
        lod_bias: (bias as f32 / 256.0).to_bits(),
        min_lod: (s.min_lod() as f32 / 256.0).to_bits(),
        // Without a mip filter only the base level is sampled; a quarter keeps minification apart from
        // magnification, as the Vulkan specification advises.
        max_lod: if s.mip_filter() == 0 {
            0.25f32
        } else {
            s.max_lod() as f32 / 256.0
        }
        .to_bits(),
        anisotropy: if anisotropic {
            (1u32 << s.max_aniso_ratio().min(4)) as f32
        } else {
            1.0
        }
        .to_bits(),
        compare: (s.depth_compare() != 0).then(|| vk::CompareOp::from_raw(s.depth_compare().cast_signed())),
        reduction: match s.filter_mode() {
            0 => vk::SamplerReductionMode::WEIGHTED_AVERAGE,
            1 => vk::SamplerReductionMode::MIN,
            2 => vk::SamplerReductionMode::MAX,
            _ => return Err("S# filter mode 3 does not exist".to_owned()),
        },
        border: BorderColour::Preset(border),
        unnormalised: s.unnormalised() != 0,
    })
}

fn address(number: u32) -> Result<vk::SamplerAddressMode, String> {
    Ok(match number {
        0 => vk::SamplerAddressMode::REPEAT,
        1 => vk::SamplerAddressMode::MIRRORED_REPEAT,
        2 => vk::SamplerAddressMode::CLAMP_TO_EDGE,
        3 => vk::SamplerAddressMode::MIRROR_CLAMP_TO_EDGE,
        6 => vk::SamplerAddressMode::CLAMP_TO_BORDER,
        other => return Err(format!("S# clamp mode {other} has no Vulkan twin")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bias_is_signed_and_lod_is_fixed_point() {
        let sampler = SamplerDescriptor([0, 0x100 | 0x280 << 12, 0x3F80 | 2 << 26, 0]);
        let description = describe(&sampler).unwrap();
        assert_eq!(f32::from_bits(description.lod_bias), -0.5);
        assert_eq!(f32::from_bits(description.min_lod), 1.0);
        assert_eq!(f32::from_bits(description.max_lod), 2.5);
        assert!(
            describe(&SamplerDescriptor([4, 0, 0, 0]))
                .unwrap_err()
                .contains("clamp mode 4")
        );
    }
}
