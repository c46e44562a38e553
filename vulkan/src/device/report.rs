//! What was opened, in words and numbers: for logs, for a pipeline journal's fingerprint, and for callers that
//! size things by the device's limits.

use super::feature::{EnabledFeatures, Feature, Need};
use ash::vk;
use std::fmt;

/// Limits that callers size things by. Bytes where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Push constants, all stages together.
    pub max_push_constants: u32,
    /// Push descriptors of one set; larger layouts are served from pools.
    pub max_push_descriptors: u32,
    /// Alignment of host imports; 0 where the device can't import.
    pub host_import_alignment: u64,
    /// Offset alignment of storage buffer descriptors.
    pub storage_offset_alignment: u64,
    /// Offset alignment of uniform buffer descriptors.
    pub uniform_offset_alignment: u64,
    /// Largest storage buffer descriptor.
    pub max_storage_range: u64,
    /// Largest uniform buffer descriptor.
    pub max_uniform_range: u64,
    /// Shared memory of a workgroup.
    pub max_workgroup_memory: u32,
    /// Invocations of a workgroup.
    pub max_workgroup_invocations: u32,
    /// Workgroups of a dispatch, by axis.
    pub max_workgroup_count: [u32; 3],
    /// Storage buffers that one stage can reach.
    pub max_stage_storage_buffers: u32,
    /// Sampled images that one stage can reach.
    pub max_stage_sampled_images: u32,
    /// Storage images that one stage can reach.
    pub max_stage_storage_images: u32,
    /// Uniform buffers that one stage can reach.
    pub max_stage_uniform_buffers: u32,
    /// Colour attachments.
    pub max_colour_attachments: u32,
    /// Viewports and scissors.
    pub max_viewports: u32,
    /// Width and height of 2-D images, in texels.
    pub max_image_2d: u32,
    /// Extent of 3-D images, in texels.
    pub max_image_3d: u32,
    /// Image array layers.
    pub max_image_layers: u32,
    /// Anisotropy of samplers.
    pub max_anisotropy: f32,
    /// Samplers that can exist at one time.
    pub max_samplers: u32,
    /// Custom border colours that can exist at one time; 0 without the feature.
    pub max_custom_border_samplers: u32,
    /// Sample counts of colour attachments.
    pub colour_samples: vk::SampleCountFlags,
    /// Nanoseconds of one timestamp tick; 0 where the queue has no timestamps.
    pub timestamp_period: f32,
}

/// What [`super::Device::open`] chose.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceReport {
    /// The device's name.
    pub name: String,
    /// Driver name and version text.
    pub driver: String,
    /// Vulkan version: major, minor, patch.
    pub api: [u32; 3],
    /// Discrete, integrated, virtual or a CPU.
    pub kind: vk::PhysicalDeviceType,
    /// PCI vendor.
    pub vendor_id: u32,
    /// Vendor's device number.
    pub device_id: u32,
    /// Vendor's encoding of the driver's version.
    pub driver_version: u32,
    /// Changes whenever compiled pipelines stop being loadable.
    pub pipeline_cache_uuid: [u8; 16],
    /// Invocations of a subgroup.
    pub subgroup_size: u32,
    /// Smallest and largest subgroup that a shader can ask for.
    pub subgroup_size_range: [u32; 2],
    /// Limits.
    pub limits: Limits,
    /// Enabled features, required ones included.
    pub features: EnabledFeatures,
}

impl fmt::Display for DeviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.api;
        writeln!(
            f,
            "{} ({}), Vulkan {major}.{minor}.{patch}",
            self.name, self.driver
        )?;
        writeln!(
            f,
            "subgroup {} ({} to {}), push constants {} B, push descriptors {}, workgroup memory {} B, host import {}",
            self.subgroup_size,
            self.subgroup_size_range[0],
            self.subgroup_size_range[1],
            self.limits.max_push_constants,
            self.limits.max_push_descriptors,
            self.limits.max_workgroup_memory,
            match self.limits.host_import_alignment {
                0 => "no".to_owned(),
                alignment => format!("in steps of {alignment} B"),
            },
        )?;
        let optional = || Feature::all().filter(|feature| feature.need() == Need::Optional);
        let list = |present: bool| {
            let names: Vec<_> = optional()
                .filter(|feature| self.features.contains(*feature) == present)
                .map(Feature::name)
                .collect();
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(" ")
            }
        };
        writeln!(f, "optional features present: {}", list(true))?;
        write!(f, "optional features absent: {}", list(false))
    }
}
