//! Pipeline layouts: descriptor set 0 and push constants, cached by content for the device's life.
//!
//! A layout within the device's limit of push descriptors uses them; a larger one is served from descriptor pools of
//! the recorder. Which of the two is nobody's business but the recorder's, except that a large layout wants all its
//! descriptors in each call.

use crate::device::{Device, tap};
use crate::error::{DriverError, During, PipelineError};
use ash::vk;
use ash::vk::Handle;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// What a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DescriptorKind {
    /// Storage buffer range.
    StorageBuffer,
    /// Uniform buffer range.
    UniformBuffer,
    /// Image without sampler.
    SampledImage,
    /// Image for loads, stores and atomics.
    StorageImage,
    /// Sampler without image.
    Sampler,
    /// Image with its sampler.
    CombinedImageSampler,
}

impl DescriptorKind {
    pub(crate) const ALL: [Self; 6] = [
        Self::StorageBuffer,
        Self::UniformBuffer,
        Self::SampledImage,
        Self::StorageImage,
        Self::Sampler,
        Self::CombinedImageSampler,
    ];

    pub(crate) fn raw(self) -> vk::DescriptorType {
        match self {
            Self::StorageBuffer => vk::DescriptorType::STORAGE_BUFFER,
            Self::UniformBuffer => vk::DescriptorType::UNIFORM_BUFFER,
            Self::SampledImage => vk::DescriptorType::SAMPLED_IMAGE,
            Self::StorageImage => vk::DescriptorType::STORAGE_IMAGE,
            Self::Sampler => vk::DescriptorType::SAMPLER,
            Self::CombinedImageSampler => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        }
    }
}

/// One binding of set 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Binding {
    /// Its number in the shader.
    pub binding: u32,
    /// What it holds.
    pub kind: DescriptorKind,
    /// Array elements.
    pub count: u32,
    /// Stages that reach it.
    pub stages: vk::ShaderStageFlags,
}

/// A range of push constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PushConstantRange {
    /// Stages that read it.
    pub stages: vk::ShaderStageFlags,
    /// First byte, a multiple of 4.
    pub offset: u32,
    /// Length in bytes, a multiple of 4.
    pub size: u32,
}

/// A layout by content. The same binding may be given once for each stage: the stages are joined.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PipelineLayoutDescription {
    /// Bindings of set 0, in any order.
    pub bindings: Vec<Binding>,
    /// Push constants.
    pub push_constants: Vec<PushConstantRange>,
}

#[derive(Debug)]
pub(crate) struct LayoutInner {
    pub(crate) raw: vk::PipelineLayout,
    pub(crate) set: vk::DescriptorSetLayout,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) push_constants: Vec<PushConstantRange>,
    /// All elements of all bindings.
    pub(crate) descriptors: u32,
    /// Whether set 0 is pushed.
    pub(crate) push: bool,
    /// Pushes all descriptors from one block of [`Info`]s, in the order of the bindings and their elements: drivers copy
    /// that in one go. For layouts that are pushed and not empty.
    pub(crate) template: Option<vk::DescriptorUpdateTemplate>,
}

/// One descriptor as Vulkan reads it: VkDescriptorBufferInfo or VkDescriptorImageInfo, which are of one size.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Info([u64; 3]);

const _: () = assert!(
    size_of::<Info>() == size_of::<vk::DescriptorBufferInfo>()
        && size_of::<Info>() == size_of::<vk::DescriptorImageInfo>()
        && cfg!(target_endian = "little")
);

impl Info {
    pub(crate) fn buffer(buffer: vk::Buffer, offset: u64, range: u64) -> Self {
        Self([buffer.as_raw(), offset, range])
    }

    pub(crate) fn image(sampler: vk::Sampler, view: vk::ImageView, layout: vk::ImageLayout) -> Self {
        // The layout is an i32 with padding behind it.
        let layout = u64::from(layout.as_raw().cast_unsigned());
        Self([sampler.as_raw(), view.as_raw(), layout])
    }
}

/// A layout of the device's cache. Valid as long as the device; clones share it.
#[derive(Clone)]
pub struct PipelineLayout {
    pub(crate) inner: Arc<LayoutInner>,
}

impl fmt::Debug for PipelineLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PartialEq for PipelineLayout {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for PipelineLayout {}

impl PipelineLayout {
    /// The Vulkan handle.
    #[must_use]
    pub fn raw(&self) -> vk::PipelineLayout {
        self.inner.raw
    }

    /// Bindings, joined and sorted by number.
    #[must_use]
    pub fn bindings(&self) -> &[Binding] {
        &self.inner.bindings
    }

    /// Whether the descriptors are pushed; else they come from pools, and each call gives all of them.
    #[must_use]
    pub fn uses_push_descriptors(&self) -> bool {
        self.inner.push
    }
}

impl LayoutInner {
    /// Whether the layout has this element of this binding with this kind. `hint` is the index of the binding found
    /// last: callers mostly go through the bindings in order.
    pub(crate) fn takes(&self, binding: u32, element: u32, kind: DescriptorKind, hint: &mut usize) -> bool {
        let at = |index: usize| self.bindings.get(index).filter(|found| found.binding == binding);
        let index = if at(*hint).is_some() {
            Some(*hint)
        } else if at(*hint + 1).is_some() {
            Some(*hint + 1)
        } else {
            self.bindings
                .binary_search_by_key(&binding, |found| found.binding)
                .ok()
        };
        let Some(index) = index else { return false };
        *hint = index;
        at(index).is_some_and(|found| found.kind == kind && element < found.count)
    }
}

#[derive(Default)]
pub(crate) struct LayoutCache {
    made: Mutex<HashMap<PipelineLayoutDescription, Arc<LayoutInner>>>,
}

impl LayoutCache {
    /// # Safety
    /// Nothing that uses the layouts runs any more.
    pub(crate) unsafe fn destroy(&mut self, device: &ash::Device) {
        for (_, layout) in self.made.get_mut().drain() {
            // SAFETY: by contract.
            unsafe { destroy(device, &layout) };
        }
    }
}

/// # Safety
/// Nothing uses the layout any more.
unsafe fn destroy(device: &ash::Device, layout: &LayoutInner) {
    // SAFETY: by contract.
    unsafe {
        if let Some(template) = layout.template {
            device.destroy_descriptor_update_template(template, None);
        }
        device.destroy_pipeline_layout(layout.raw, None);
        device.destroy_descriptor_set_layout(layout.set, None);
    }
}

fn refuse(reason: String) -> PipelineError {
    PipelineError::Description {
        name: "layout".into(),
        reason,
    }
}

/// Joins the stages of equal bindings and sorts, so that equal layouts are equal descriptions.
fn normalise(description: &PipelineLayoutDescription) -> Result<PipelineLayoutDescription, PipelineError> {
    let mut bindings: Vec<Binding> = Vec::with_capacity(description.bindings.len());
    let mut given = description.bindings.clone();
    given.sort_unstable();
    for next in given {
        if next.count == 0 {
            return Err(refuse(format!("binding {} has 0 elements", next.binding)));
        }
        match bindings.last_mut() {
            Some(last) if last.binding == next.binding => {
                if last.kind != next.kind || last.count != next.count {
                    return Err(refuse(format!(
                        "binding {} is {} x {:?} in one stage and {} x {:?} in another",
                        next.binding, last.count, last.kind, next.count, next.kind
                    )));
                }
                last.stages |= next.stages;
            }
            _ => bindings.push(next),
        }
    }
    let mut push_constants = description.push_constants.clone();
    push_constants.sort_unstable_by_key(|range| (range.offset, range.size, range.stages.as_raw()));
    Ok(PipelineLayoutDescription {
        bindings,
        push_constants,
    })
}

impl Device {
    /// The layout of `description`, made at the first request.
    ///
    /// # Errors
    /// [`PipelineError::Description`] where stages disagree about a binding, or a limit is exceeded.
    pub fn pipeline_layout(
        &self,
        description: &PipelineLayoutDescription,
    ) -> Result<PipelineLayout, PipelineError> {
        let normal = normalise(description)?;
        if let Some(inner) = self.inner.layouts.made.lock().get(&normal) {
            return Ok(PipelineLayout {
                inner: Arc::clone(inner),
            });
        }
        let made = Arc::new(self.make_layout(&normal)?);
        let kept = Arc::clone(
            self.inner
                .layouts
                .made
                .lock()
                .entry(normal)
                .or_insert_with(|| Arc::clone(&made)),
        );
        if !Arc::ptr_eq(&kept, &made) {
            // SAFETY: another thread made the same meanwhile; nobody has seen ours.
            unsafe { destroy(&self.inner.raw, &made) };
        }
        Ok(PipelineLayout { inner: kept })
    }

    /// Layouts made so far.
    #[must_use]
    pub fn pipeline_layout_count(&self) -> usize {
        self.inner.layouts.made.lock().len()
    }

    fn make_layout(&self, d: &PipelineLayoutDescription) -> Result<LayoutInner, PipelineError> {
        let limits = self.limits();
        let mut total: u32 = 0;
        for binding in &d.bindings {
            total = total.saturating_add(binding.count);
        }
        for range in &d.push_constants {
            let end = range.offset.checked_add(range.size);
            if range.size == 0
                || range.size % 4 != 0
                || range.offset % 4 != 0
                || end.is_none_or(|end| end > limits.max_push_constants)
            {
                return Err(refuse(format!(
                    "push constants at {} of {} bytes: they must be non-empty multiples of 4 within the device's {} bytes",
                    range.offset, range.size, limits.max_push_constants
                )));
            }
        }
        let stage_limits = [
            (DescriptorKind::StorageBuffer, limits.max_stage_storage_buffers),
            (DescriptorKind::UniformBuffer, limits.max_stage_uniform_buffers),
            (DescriptorKind::SampledImage, limits.max_stage_sampled_images),
            (DescriptorKind::StorageImage, limits.max_stage_storage_images),
        ];
        let stages = [
            vk::ShaderStageFlags::VERTEX,
            vk::ShaderStageFlags::TESSELLATION_CONTROL,
            vk::ShaderStageFlags::TESSELLATION_EVALUATION,
            vk::ShaderStageFlags::GEOMETRY,
            vk::ShaderStageFlags::FRAGMENT,
            vk::ShaderStageFlags::COMPUTE,
        ];
        for (kind, limit) in stage_limits {
            for stage in stages {
                let of_stage = d
                    .bindings
                    .iter()
                    .filter(|b| b.kind == kind && b.stages.contains(stage));
                let count: u64 = of_stage.map(|b| u64::from(b.count)).sum();
                if count > u64::from(limit) {
                    return Err(refuse(format!(
                        "{count} x {kind:?} in {stage:?}, and the device allows {limit}"
                    )));
                }
            }
        }
        let push = total <= limits.max_push_descriptors;
        let bindings: Vec<_> = d
            .bindings
            .iter()
            .map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding.binding)
                    .descriptor_type(binding.kind.raw())
                    .descriptor_count(binding.count)
                    .stage_flags(binding.stages)
            })
            .collect();
        let flags = if push {
            vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR
        } else {
            vk::DescriptorSetLayoutCreateFlags::empty()
        };
        let driver = |source| PipelineError::Driver {
            name: "layout".into(),
            source,
        };
        let info = vk::DescriptorSetLayoutCreateInfo::default()
            .flags(flags)
            .bindings(&bindings);
        // SAFETY: the description is complete and within the device's limits.
        let set = unsafe { self.inner.raw.create_descriptor_set_layout(&info, None) }
            .during("creating a descriptor set layout")
            .map_err(driver)?;
        let sets = [set];
        let ranges: Vec<_> = d
            .push_constants
            .iter()
            .map(|range| {
                vk::PushConstantRange::default()
                    .stage_flags(range.stages)
                    .offset(range.offset)
                    .size(range.size)
            })
            .collect();
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&sets)
            .push_constant_ranges(&ranges);
        // SAFETY: as above.
        let raw = unsafe { self.inner.raw.create_pipeline_layout(&info, None) }
            .during("creating a pipeline layout")
            .map_err(|source| {
                // SAFETY: nobody uses the set layout yet.
                unsafe { self.inner.raw.destroy_descriptor_set_layout(set, None) };
                driver(source)
            })?;
        let mut layout = LayoutInner {
            raw,
            set,
            bindings: d.bindings.clone(),
            push_constants: d.push_constants.clone(),
            descriptors: total,
            push,
            template: None,
        };
        if push && total > 0 {
            match self.make_template(&layout) {
                Ok(template) => layout.template = Some(template),
                Err(source) => {
                    // SAFETY: nobody uses the layout yet.
                    unsafe { destroy(&self.inner.raw, &layout) };
                    return Err(driver(source));
                }
            }
        }
        Ok(layout)
    }

    fn make_template(&self, layout: &LayoutInner) -> Result<vk::DescriptorUpdateTemplate, DriverError> {
        let mut first = 0;
        let entries = layout.bindings.iter().map(|binding| {
            let offset = first * size_of::<Info>();
            first += binding.count as usize;
            vk::DescriptorUpdateTemplateEntry {
                dst_binding: binding.binding,
                dst_array_element: 0,
                descriptor_count: binding.count,
                descriptor_type: binding.kind.raw(),
                offset,
                stride: size_of::<Info>(),
            }
        });
        let entries: Vec<_> = entries.collect();
        let of_compute = |binding: &Binding| binding.stages.contains(vk::ShaderStageFlags::COMPUTE);
        let info = vk::DescriptorUpdateTemplateCreateInfo::default()
            .descriptor_update_entries(&entries)
            .template_type(vk::DescriptorUpdateTemplateType::PUSH_DESCRIPTORS_KHR)
            .pipeline_bind_point(if layout.bindings.iter().any(of_compute) {
                vk::PipelineBindPoint::COMPUTE
            } else {
                vk::PipelineBindPoint::GRAPHICS
            })
            .pipeline_layout(layout.raw)
            .set(0);
        // SAFETY: the entries are those of the layout, which is alive.
        let template = unsafe { self.inner.raw.create_descriptor_update_template(&info, None) }
            .during("creating a descriptor update template")?;
        if self.inner.tap {
            tap::note_template(template, layout.descriptors as usize * size_of::<Info>());
        }
        Ok(template)
    }
}
