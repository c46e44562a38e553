//! Which physical device: what each one lacks, and which of the suitable ones is best.

use super::DeviceOptions;
use super::feature::{EnabledFeatures, FeatureSet, Need, TABLE};
use super::report::{DeviceReport, Limits};
use crate::error::{DeviceError, DeviceLacks, During};
use ash::vk;
use std::ffi::{CStr, CString};

/// A physical device that has all that is required.
pub(crate) struct Choice {
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) queue_family: u32,
    /// Features to enable.
    pub(crate) features: FeatureSet,
    /// Extensions to enable.
    pub(crate) extensions: Vec<&'static CStr>,
    pub(crate) report: DeviceReport,
}

fn text(characters: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = characters
        .iter()
        .take_while(|c| **c != 0)
        .map(|c| c.cast_unsigned())
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Higher is better; a CPU is the last resort.
fn rank(kind: vk::PhysicalDeviceType) -> u32 {
    match kind {
        vk::PhysicalDeviceType::DISCRETE_GPU => 4,
        vk::PhysicalDeviceType::INTEGRATED_GPU => 3,
        vk::PhysicalDeviceType::VIRTUAL_GPU => 2,
        vk::PhysicalDeviceType::CPU => 1,
        _ => 0,
    }
}

/// The best device that `options` allow.
pub(crate) fn choose(instance: &ash::Instance, options: &DeviceOptions) -> Result<Choice, DeviceError> {
    // SAFETY: the instance is alive; this holds for the queries below as well.
    let devices = match unsafe { instance.enumerate_physical_devices() } {
        Err(vk::Result::ERROR_INITIALIZATION_FAILED) => Vec::new(),
        result => result.during("listing Vulkan devices")?,
    };
    if devices.is_empty() {
        return Err(DeviceError::NoDriver {
            reason: "the list of devices is empty".into(),
        });
    }
    let mut seen = Vec::new();
    let mut unsuitable = Vec::new();
    let mut best: Option<Choice> = None;
    for physical in devices {
        // SAFETY: as above.
        let properties = unsafe { instance.get_physical_device_properties(physical) };
        let name = text(&properties.device_name);
        let wanted = options
            .name_filter
            .as_ref()
            .is_none_or(|filter| name.to_lowercase().contains(&filter.to_lowercase()));
        seen.push(name);
        if !wanted {
            continue;
        }
        match examine(instance, physical, options)? {
            Err(lacks) => unsuitable.push(lacks),
            Ok(choice) => {
                let better = best
                    .as_ref()
                    .is_none_or(|held| rank(choice.report.kind) > rank(held.report.kind));
                if better {
                    best = Some(choice);
                }
            }
        }
    }
    match (best, &options.name_filter) {
        (Some(choice), _) => Ok(choice),
        (None, Some(filter)) if unsuitable.is_empty() => Err(DeviceError::NoneNamed {
            filter: filter.clone(),
            seen,
        }),
        (None, _) => Err(DeviceError::NoneSuitable { devices: unsuitable }),
    }
}

fn examine(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    options: &DeviceOptions,
) -> Result<Result<Choice, DeviceLacks>, DeviceError> {
    // SAFETY: `physical` is of `instance`; this holds for the queries below as well.
    let basic = unsafe { instance.get_physical_device_properties(physical) };
    if basic.api_version < vk::API_VERSION_1_3 {
        let found = basic.api_version;
        return Ok(Err(DeviceLacks {
            name: text(&basic.device_name),
            driver: "driver of an older Vulkan".into(),
            lacks: vec![format!(
                "Vulkan 1.3 (it has {}.{})",
                vk::api_version_major(found),
                vk::api_version_minor(found)
            )],
        }));
    }
    // SAFETY: as above.
    let available = unsafe { instance.enumerate_device_extension_properties(physical) }
        .during("listing device extensions")?;
    let available: Vec<CString> = available
        .iter()
        .filter_map(|extension| extension.extension_name_as_c_str().ok().map(CStr::to_owned))
        .collect();
    let present: Vec<&CStr> = available.iter().map(CString::as_c_str).collect();

    let mut supported = FeatureSet::default();
    // SAFETY: the chain holds only structs whose extension the device lists.
    supported.chained(&present, |features| unsafe {
        instance.get_physical_device_features2(physical, features);
    });

    let mut lacks = Vec::new();
    let mut enabled = EnabledFeatures::default();
    let mut features = FeatureSet::default();
    let mut extensions: Vec<&'static CStr> = Vec::new();
    for row in TABLE {
        let extension_present = row.extension.is_none_or(|extension| present.contains(&extension));
        let has = extension_present && row.field.is_none_or(|field| *field(&mut supported) == vk::TRUE);
        if has {
            enabled.insert(row.feature);
            if let Some(field) = row.field {
                *field(&mut features) = vk::TRUE;
            }
            if let Some(extension) = row.extension
                && !extensions.contains(&extension)
            {
                extensions.push(extension);
            }
        } else if row.need == Need::Required || options.required.contains(&row.feature) {
            lacks.push(match (row.extension, row.field) {
                (Some(extension), Some(_)) if !extension_present => {
                    format!("{} (extension {})", row.name, extension.to_string_lossy())
                }
                _ => row.name.to_owned(),
            });
        }
    }

    // SAFETY: as above.
    let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
    let both = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
    let family = families
        .iter()
        .position(|family| family.queue_flags.contains(both));
    if family.is_none() {
        lacks.push("a queue with graphics and compute".into());
    }
    let timestamps = family.is_some_and(|index| families[index].timestamp_valid_bits > 0);
    let report = report(instance, physical, &present, enabled, timestamps);
    let queue_family = family.and_then(|index| u32::try_from(index).ok());
    Ok(match (queue_family, lacks.is_empty()) {
        (Some(queue_family), true) => Ok(Choice {
            physical,
            queue_family,
            features,
            extensions,
            report,
        }),
        _ => Err(DeviceLacks {
            name: report.name,
            driver: report.driver,
            lacks,
        }),
    })
}

fn report(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    present: &[&CStr],
    features: EnabledFeatures,
    timestamps: bool,
) -> DeviceReport {
    let mut v11 = vk::PhysicalDeviceVulkan11Properties::default();
    let mut v12 = vk::PhysicalDeviceVulkan12Properties::default();
    let mut v13 = vk::PhysicalDeviceVulkan13Properties::default();
    let mut push = vk::PhysicalDevicePushDescriptorPropertiesKHR::default();
    let mut host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
    let mut border = vk::PhysicalDeviceCustomBorderColorPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceProperties2::default()
        .push_next(&mut v11)
        .push_next(&mut v12)
        .push_next(&mut v13);
    if present.contains(&ash::khr::push_descriptor::NAME) {
        properties = properties.push_next(&mut push);
    }
    if present.contains(&ash::ext::external_memory_host::NAME) {
        properties = properties.push_next(&mut host);
    }
    if present.contains(&ash::ext::custom_border_color::NAME) {
        properties = properties.push_next(&mut border);
    }
    // SAFETY: `physical` is of `instance`, and the chain holds only structs whose extension the device lists.
    unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
    let properties = properties.properties;
    let limits = &properties.limits;
    let version = properties.api_version;
    DeviceReport {
        name: text(&properties.device_name),
        driver: format!("{} {}", text(&v12.driver_name), text(&v12.driver_info)),
        api: [
            vk::api_version_major(version),
            vk::api_version_minor(version),
            vk::api_version_patch(version),
        ],
        kind: properties.device_type,
        vendor_id: properties.vendor_id,
        device_id: properties.device_id,
        driver_version: properties.driver_version,
        pipeline_cache_uuid: properties.pipeline_cache_uuid,
        subgroup_size: v11.subgroup_size,
        subgroup_size_range: [v13.min_subgroup_size, v13.max_subgroup_size],
        limits: Limits {
            max_push_constants: limits.max_push_constants_size,
            max_push_descriptors: push.max_push_descriptors,
            host_import_alignment: host.min_imported_host_pointer_alignment,
            storage_offset_alignment: limits.min_storage_buffer_offset_alignment,
            uniform_offset_alignment: limits.min_uniform_buffer_offset_alignment,
            max_storage_range: u64::from(limits.max_storage_buffer_range),
            max_uniform_range: u64::from(limits.max_uniform_buffer_range),
            max_workgroup_memory: limits.max_compute_shared_memory_size,
            max_workgroup_invocations: limits.max_compute_work_group_invocations,
            max_workgroup_count: limits.max_compute_work_group_count,
            max_stage_storage_buffers: limits.max_per_stage_descriptor_storage_buffers,
            max_stage_sampled_images: limits.max_per_stage_descriptor_sampled_images,
            max_stage_storage_images: limits.max_per_stage_descriptor_storage_images,
            max_stage_uniform_buffers: limits.max_per_stage_descriptor_uniform_buffers,
            max_colour_attachments: limits.max_color_attachments,
            max_viewports: limits.max_viewports,
            max_image_2d: limits.max_image_dimension2_d,
            max_image_3d: limits.max_image_dimension3_d,
            max_image_layers: limits.max_image_array_layers,
            max_anisotropy: limits.max_sampler_anisotropy,
            max_samplers: limits.max_sampler_allocation_count,
            max_custom_border_samplers: border.max_custom_border_color_samplers,
            colour_samples: limits.framebuffer_color_sample_counts,
            timestamp_period: if timestamps { limits.timestamp_period } else { 0.0 },
        },
        features,
    }
}
