//! Samplers, cached by content. They live as long as the device: drivers allow few thousand, titles use few dozen.

use crate::device::{Device, Feature};
use crate::error::{During, ImageError};
use ash::vk;
use hashbrown::HashMap;
use parking_lot::Mutex;

/// Colour outside of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BorderColour {
    /// One of Vulkan's own.
    Preset(vk::BorderColor),
    /// Any, as the bits of four floats (needs `customBorderColors` and `customBorderColorWithoutFormat`).
    Float([u32; 4]),
    /// Any, as four integers, for integer formats.
    Integer([u32; 4]),
}

/// A sampler by content. Floats are kept as bits, so that equal samplers are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SamplerDescription {
    /// Filter when a texel covers several pixels.
    pub magnify: vk::Filter,
    /// Filter when a pixel covers several texels.
    pub minify: vk::Filter,
    /// Filter between mips.
    pub mip: vk::SamplerMipmapMode,
    /// What lies outside, by axis.
    pub address: [vk::SamplerAddressMode; 3],
    /// Added to the computed level, as float bits.
    pub lod_bias: u32,
    /// Smallest level, as float bits.
    pub min_lod: u32,
    /// Largest level, as float bits.
    pub max_lod: u32,
    /// Anisotropy as float bits; the bits of 1.0 and below are off. Clamped to the device's limit.
    pub anisotropy: u32,
    /// Comparison of depth samplers.
    pub compare: Option<vk::CompareOp>,
    /// Weighted average, minimum or maximum of the texels.
    pub reduction: vk::SamplerReductionMode,
    /// Colour outside.
    pub border: BorderColour,
    /// Coordinates in texels.
    pub unnormalised: bool,
}

impl Default for SamplerDescription {
    /// Nearest, clamped to the edge, all mips.
    fn default() -> Self {
        Self {
            magnify: vk::Filter::NEAREST,
            minify: vk::Filter::NEAREST,
            mip: vk::SamplerMipmapMode::NEAREST,
            address: [vk::SamplerAddressMode::CLAMP_TO_EDGE; 3],
            lod_bias: 0,
            min_lod: 0,
            max_lod: vk::LOD_CLAMP_NONE.to_bits(),
            anisotropy: 1.0_f32.to_bits(),
            compare: None,
            reduction: vk::SamplerReductionMode::WEIGHTED_AVERAGE,
            border: BorderColour::Preset(vk::BorderColor::FLOAT_TRANSPARENT_BLACK),
            unnormalised: false,
        }
    }
}

/// A sampler of the device's cache. Valid as long as the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sampler {
    pub(crate) raw: vk::Sampler,
}

impl Sampler {
    /// The Vulkan handle.
    #[must_use]
    pub fn raw(self) -> vk::Sampler {
        self.raw
    }
}

#[derive(Default)]
pub(crate) struct SamplerCache {
    made: Mutex<HashMap<SamplerDescription, vk::Sampler>>,
}

impl SamplerCache {
    /// # Safety
    /// Nothing that uses the samplers runs any more.
    pub(crate) unsafe fn destroy(&mut self, device: &ash::Device) {
        for (_, sampler) in self.made.get_mut().drain() {
            // SAFETY: by contract.
            unsafe { device.destroy_sampler(sampler, None) };
        }
    }
}

impl Device {
    /// The sampler of `description`, made at the first request.
    ///
    /// # Errors
    /// [`ImageError::SamplerFeature`] and [`ImageError::TooManySamplers`].
    pub fn sampler(&self, description: &SamplerDescription) -> Result<Sampler, ImageError> {
        let limit = self.limits().max_samplers;
        {
            let made = self.inner.samplers.made.lock();
            if let Some(raw) = made.get(description) {
                return Ok(Sampler { raw: *raw });
            }
            if made.len() >= limit as usize {
                return Err(ImageError::TooManySamplers { limit });
            }
        }
        let raw = self.make_sampler(description)?;
        let kept = *self.inner.samplers.made.lock().entry(*description).or_insert(raw);
        if kept != raw {
            // SAFETY: another thread made the same meanwhile; nobody has seen ours.
            unsafe { self.inner.raw.destroy_sampler(raw, None) };
        }
        Ok(Sampler { raw: kept })
    }

    /// Samplers made so far.
    #[must_use]
    pub fn sampler_count(&self) -> usize {
        self.inner.samplers.made.lock().len()
    }

    fn make_sampler(&self, d: &SamplerDescription) -> Result<vk::Sampler, ImageError> {
        let need = |used: bool, what: &'static str, feature: Feature| {
            if used && !self.has(feature) {
                return Err(ImageError::SamplerFeature { what, feature });
            }
            Ok(())
        };
        let anisotropy = f32::from_bits(d.anisotropy);
        let anisotropic = anisotropy > 1.0;
        need(anisotropic, "anisotropic filtering", Feature::SamplerAnisotropy)?;
        let mirror_once = d.address.contains(&vk::SamplerAddressMode::MIRROR_CLAMP_TO_EDGE);
        need(
            mirror_once,
            "an axis mirrored once",
            Feature::SamplerMirrorClampToEdge,
        )?;
        let reduced = d.reduction != vk::SamplerReductionMode::WEIGHTED_AVERAGE;
        need(
            reduced,
            "a minimum or maximum filter",
            Feature::SamplerFilterMinmax,
        )?;
        let custom = !matches!(d.border, BorderColour::Preset(_));
        need(custom, "a custom border colour", Feature::CustomBorderColors)?;
        need(
            custom,
            "a custom border colour",
            Feature::CustomBorderColorWithoutFormat,
        )?;

        let mut reduction = vk::SamplerReductionModeCreateInfo::default().reduction_mode(d.reduction);
        let mut border = vk::SamplerCustomBorderColorCreateInfoEXT::default();
        let preset = match d.border {
            BorderColour::Preset(preset) => preset,
            BorderColour::Float(bits) => {
                border.custom_border_color = vk::ClearColorValue {
                    float32: bits.map(f32::from_bits),
                };
                vk::BorderColor::FLOAT_CUSTOM_EXT
            }
            BorderColour::Integer(uint32) => {
                border.custom_border_color = vk::ClearColorValue { uint32 };
                vk::BorderColor::INT_CUSTOM_EXT
            }
        };
        let mut info = vk::SamplerCreateInfo::default()
            .mag_filter(d.magnify)
            .min_filter(d.minify)
            .mipmap_mode(d.mip)
            .address_mode_u(d.address[0])
            .address_mode_v(d.address[1])
            .address_mode_w(d.address[2])
            .mip_lod_bias(f32::from_bits(d.lod_bias))
            .anisotropy_enable(anisotropic)
            .max_anisotropy(anisotropy.min(self.limits().max_anisotropy).max(1.0))
            .compare_enable(d.compare.is_some())
            .compare_op(d.compare.unwrap_or(vk::CompareOp::NEVER))
            .min_lod(f32::from_bits(d.min_lod))
            .max_lod(f32::from_bits(d.max_lod))
            .border_color(preset)
            .unnormalized_coordinates(d.unnormalised);
        if reduced {
            info = info.push_next(&mut reduction);
        }
        if custom {
            info = info.push_next(&mut border);
        }
        // SAFETY: the description is complete, and each feature it uses is enabled.
        Ok(unsafe { self.inner.raw.create_sampler(&info, None) }.during("creating a sampler")?)
    }
}
