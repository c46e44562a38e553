//! Descriptors of set 0 and push constants.

use super::Recorder;
use crate::device::Device;
use crate::error::{DriverError, RecordError};
use crate::image::ImageUse;
use crate::image::sampler::Sampler;
use crate::image::view::ImageView;
use crate::memory::buffer::BufferSlice;
use crate::pipeline::layout::{DescriptorKind, Info, LayoutInner, PipelineLayout, PushConstantRange};
use ash::vk;
use smallvec::SmallVec;

/// What a descriptor points to.
#[derive(Debug, Clone, Copy)]
pub enum Descriptor<'a> {
    /// Storage buffer range.
    StorageBuffer(BufferSlice<'a>),
    /// Uniform buffer range.
    UniformBuffer(BufferSlice<'a>),
    /// Image in a use that shaders can read: sampled, read-only depth-stencil or general.
    SampledImage(&'a ImageView),
    /// Image in the use [`ImageUse::General`].
    StorageImage(&'a ImageView),
    /// Sampler.
    Sampler(Sampler),
    /// Image, as for `SampledImage`, with its sampler.
    CombinedImageSampler(&'a ImageView, Sampler),
    /// Nothing: reads give 0 and writes are dropped. Not for samplers, which have no null.
    Null(DescriptorKind),
}

/// One element of one binding.
#[derive(Debug, Clone, Copy)]
pub struct DescriptorWrite<'a> {
    /// Binding.
    pub binding: u32,
    /// Array element.
    pub element: u32,
    /// What it points to.
    pub descriptor: Descriptor<'a>,
}

impl<'a> DescriptorWrite<'a> {
    /// The first (or only) element of a binding.
    #[must_use]
    pub fn new(binding: u32, descriptor: Descriptor<'a>) -> Self {
        Self {
            binding,
            element: 0,
            descriptor,
        }
    }
}

/// Sets of the first pool of a slot; each further pool holds twice as many.
const FIRST_POOL_SETS: u32 = 64;
/// Descriptors of each kind that a pool holds for each of its sets.
const DESCRIPTORS_A_SET: u32 = 32;

/// Descriptor pools for layouts above the push limit. Reset as a whole when the command buffer is opened again.
#[derive(Default)]
pub(super) struct SetPools {
    pools: Vec<vk::DescriptorPool>,
    /// The one that gives sets now.
    current: usize,
}

impl SetPools {
    /// # Safety
    /// No submission that uses the sets is running.
    pub(super) unsafe fn reset(&mut self, device: &ash::Device) -> Result<(), vk::Result> {
        for pool in &self.pools {
            // SAFETY: by contract.
            unsafe { device.reset_descriptor_pool(*pool, vk::DescriptorPoolResetFlags::empty()) }?;
        }
        self.current = 0;
        Ok(())
    }

    pub(super) fn into_pools(self) -> Vec<vk::DescriptorPool> {
        self.pools
    }

    fn allocate(
        &mut self,
        device: &ash::Device,
        layout: &LayoutInner,
    ) -> Result<vk::DescriptorSet, DriverError> {
        let layouts = [layout.set];
        loop {
            let Some(pool) = self.pools.get(self.current) else {
                self.add_pool(device, layout)?;
                continue;
            };
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(*pool)
                .set_layouts(&layouts);
            let mut set = vk::DescriptorSet::null();
            // SAFETY: the pool is used by this recorder only, and one layout gives one set. The function pointer is
            // called in place of ash's wrapper, which would allocate a vector for it.
            let result = unsafe {
                (device.fp_v1_0().allocate_descriptor_sets)(device.handle(), &raw const info, &raw mut set)
            };
            match result {
                vk::Result::SUCCESS => return Ok(set),
                vk::Result::ERROR_OUT_OF_POOL_MEMORY | vk::Result::ERROR_FRAGMENTED_POOL => self.current += 1,
                result => return Err(DriverError::new("allocating a descriptor set", result)),
            }
        }
    }

    fn add_pool(&mut self, device: &ash::Device, layout: &LayoutInner) -> Result<(), DriverError> {
        let sets = FIRST_POOL_SETS << self.pools.len().min(6);
        let sizes = DescriptorKind::ALL.map(|kind| {
            let of_kind = layout.bindings.iter().filter(|binding| binding.kind == kind);
            let one: u32 = of_kind.map(|binding| binding.count).sum();
            vk::DescriptorPoolSize::default()
                .ty(kind.raw())
                .descriptor_count(one.max(DESCRIPTORS_A_SET).saturating_mul(sets))
        });
        let info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(sets)
            .pool_sizes(&sizes);
        // SAFETY: the device is alive.
        let pool = unsafe { device.create_descriptor_pool(&info, None) }
            .map_err(|result| DriverError::new("creating a descriptor pool", result))?;
        self.pools.push(pool);
        Ok(())
    }
}

impl Recorder {
    /// Gives descriptors of set 0 to the draws or dispatches that follow.
    ///
    /// What is not given keeps its value from the call before with the same layout, as long as the layout uses push
    /// descriptors; a larger layout wants all of its descriptors in each call.
    pub fn push_descriptors(
        &mut self,
        bind_point: vk::PipelineBindPoint,
        layout: &PipelineLayout,
        writes: &[DescriptorWrite<'_>],
    ) {
        if writes.is_empty() {
            return;
        }
        let Some(command) = self.command() else { return };
        let mut infos = SmallVec::<[Info; 32]>::new();
        let mut hint = 0;
        for write in writes {
            let kind = write.descriptor.kind();
            if !layout.inner.takes(write.binding, write.element, kind, &mut hint) {
                let reason = format!(
                    "the layout has no {kind:?} at binding {}, element {}: it has {:?}",
                    write.binding,
                    write.element,
                    layout.bindings()
                );
                return self.fail(RecordError::Argument {
                    command: "push_descriptors",
                    reason,
                });
            }
            match info(write) {
                Ok(info) => infos.push(info),
                Err(error) => return self.fail(error),
            }
        }
        // In the order of the bindings, one element each, and all of them: what the template takes.
        let whole = writes.len() == layout.inner.bindings.len()
            && writes.len() == layout.inner.descriptors as usize
            && writes.is_sorted_by(|a, b| a.binding < b.binding);
        if let Some(template) = layout.inner.template
            && whole
        {
            let device = &self.device.inner;
            // SAFETY: the command buffer is recording; the block has an entry for each descriptor of the layout, whose
            // kinds were compared above; what they name is alive.
            unsafe {
                (device.push_calls.cmd_push_descriptor_set_with_template_khr)(
                    command,
                    template,
                    layout.raw(),
                    0,
                    infos.as_ptr().cast(),
                );
            }
            return;
        }
        let target = if layout.inner.push {
            vk::DescriptorSet::null()
        } else {
            match self.allocate_set(layout, writes) {
                Ok(set) => set,
                Err(error) => return self.fail(error),
            }
        };
        // Filled in place: collecting would move two KiB for each draw.
        let mut raw = SmallVec::<[vk::WriteDescriptorSet<'_>; 32]>::new();
        for (write, info) in writes.iter().zip(&infos) {
            let one = vk::WriteDescriptorSet::default()
                .dst_set(target)
                .dst_binding(write.binding)
                .dst_array_element(write.element)
                .descriptor_type(write.descriptor.kind().raw());
            // Drivers read the one that the kind asks for.
            raw.push(vk::WriteDescriptorSet {
                descriptor_count: 1,
                p_buffer_info: std::ptr::from_ref(info).cast(),
                p_image_info: std::ptr::from_ref(info).cast(),
                ..one
            });
        }
        let device = &self.device.inner;
        if layout.inner.push {
            // SAFETY: the command buffer is recording; the infos outlive the call; what they name is alive.
            unsafe {
                (device.push_calls.cmd_push_descriptor_set_khr)(
                    command,
                    bind_point,
                    layout.raw(),
                    0,
                    raw.len() as u32,
                    raw.as_ptr(),
                );
            };
        } else {
            // SAFETY: the set is fresh, so nothing uses it; the rest as above.
            unsafe {
                device.raw.update_descriptor_sets(&raw, &[]);
                device
                    .raw
                    .cmd_bind_descriptor_sets(command, bind_point, layout.raw(), 0, &[target], &[]);
            }
        }
    }

    fn allocate_set(
        &mut self,
        layout: &PipelineLayout,
        writes: &[DescriptorWrite<'_>],
    ) -> Result<vk::DescriptorSet, RecordError> {
        let expected = layout.inner.descriptors;
        if writes.len() != expected as usize {
            return Err(RecordError::IncompleteDescriptors {
                expected,
                found: u32::try_from(writes.len()).unwrap_or(u32::MAX),
                push_limit: self.device.limits().max_push_descriptors,
            });
        }
        let Some(open) = &mut self.open else {
            return Err(RecordError::Blocked {
                command: "push_descriptors",
            });
        };
        Ok(open.slot.sets.allocate(&self.device.inner.raw, &layout.inner)?)
    }

    /// Sets push constants. `offset` and length are multiples of 4 inside a range of the layout.
    pub fn push_constants(
        &mut self,
        layout: &PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        bytes: &[u8],
    ) {
        let Some(command) = self.command() else { return };
        let limit = self.device.limits().max_push_constants as usize;
        if !offset.is_multiple_of(4)
            || !bytes.len().is_multiple_of(4)
            || bytes.is_empty()
            || offset as usize + bytes.len() > limit
        {
            let length = bytes.len();
            let reason = format!("{length} bytes at {offset} are not multiples of 4 within {limit} bytes");
            return self.fail(RecordError::Argument {
                command: "push_constants",
                reason,
            });
        }
        let end = offset + bytes.len() as u32;
        let holds = |range: &PushConstantRange| {
            range.stages.contains(stages) && range.offset <= offset && end <= range.offset + range.size
        };
        if !layout.inner.push_constants.iter().any(holds) {
            let reason = format!(
                "the layout has no push constants at {offset} to {end} for {stages:?}: it has {:?}",
                layout.inner.push_constants
            );
            return self.fail(RecordError::Argument {
                command: "push_constants",
                reason,
            });
        }
        // SAFETY: the command buffer is recording, and the bytes lie in a range of the layout.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_push_constants(command, layout.raw(), stages, offset, bytes);
        };
    }
}

impl Descriptor<'_> {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> DescriptorKind {
        match self {
            Self::StorageBuffer(_) => DescriptorKind::StorageBuffer,
            Self::UniformBuffer(_) => DescriptorKind::UniformBuffer,
            Self::SampledImage(_) => DescriptorKind::SampledImage,
            Self::StorageImage(_) => DescriptorKind::StorageImage,
            Self::Sampler(_) => DescriptorKind::Sampler,
            Self::CombinedImageSampler(..) => DescriptorKind::CombinedImageSampler,
            Self::Null(kind) => *kind,
        }
    }
}

fn info(write: &DescriptorWrite<'_>) -> Result<Info, RecordError> {
    let buffer = |slice: BufferSlice<'_>| Info::buffer(slice.buffer.raw(), slice.offset, slice.size);
    let none = vk::Sampler::null();
    Ok(match write.descriptor {
        Descriptor::StorageBuffer(slice) | Descriptor::UniformBuffer(slice) => buffer(slice),
        Descriptor::SampledImage(view) => Info::image(none, view.raw, sampled(write.binding, view)?),
        Descriptor::CombinedImageSampler(view, sampler) => {
            Info::image(sampler.raw, view.raw, sampled(write.binding, view)?)
        }
        Descriptor::StorageImage(view) => {
            let found = view.image.inner.use_now();
            if found != ImageUse::General {
                return Err(wrong_use(write.binding, view, found, "general"));
            }
            Info::image(none, view.raw, vk::ImageLayout::GENERAL)
        }
        Descriptor::Sampler(sampler) => {
            Info::image(sampler.raw, vk::ImageView::null(), vk::ImageLayout::UNDEFINED)
        }
        Descriptor::Null(kind) => match kind {
            DescriptorKind::StorageBuffer | DescriptorKind::UniformBuffer => {
                Info::buffer(vk::Buffer::null(), 0, vk::WHOLE_SIZE)
            }
            DescriptorKind::SampledImage | DescriptorKind::StorageImage => {
                Info::image(none, vk::ImageView::null(), vk::ImageLayout::UNDEFINED)
            }
            DescriptorKind::Sampler | DescriptorKind::CombinedImageSampler => {
                let reason = format!(
                    "binding {}: Vulkan has no null sampler; give any sampler",
                    write.binding
                );
                return Err(RecordError::Argument {
                    command: "push_descriptors",
                    reason,
                });
            }
        },
    })
}

/// The layout that a sampled view's image is in.
fn sampled(binding: u32, view: &ImageView) -> Result<vk::ImageLayout, RecordError> {
    let found = view.image.inner.use_now();
    if view.description().aspect.as_raw().count_ones() > 1 {
        let name = &view.image.description().name;
        let reason = format!(
            "binding {binding}: a view of \"{name}\" that is sampled shows depth or stencil, not both"
        );
        return Err(RecordError::Argument {
            command: "push_descriptors",
            reason,
        });
    }
    match found {
        ImageUse::Sampled | ImageUse::General | ImageUse::DepthStencilReadOnly => Ok(found.layout()),
        _ => Err(wrong_use(
            binding,
            view,
            found,
            "sampled, read-only depth-stencil or general",
        )),
    }
}

fn wrong_use(binding: u32, view: &ImageView, found: ImageUse, wanted: &'static str) -> RecordError {
    RecordError::ImageUse {
        binding,
        image: view.image.description().name.clone(),
        found: found.words(),
        wanted,
    }
}

impl Device {
    /// Alignment that a buffer descriptor's offset needs, in bytes.
    #[must_use]
    pub fn descriptor_alignment(&self, kind: DescriptorKind) -> u64 {
        match kind {
            DescriptorKind::UniformBuffer => self.limits().uniform_offset_alignment,
            _ => self.limits().storage_offset_alignment,
        }
    }
}
