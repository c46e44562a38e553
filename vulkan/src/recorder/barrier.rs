//! Order between commands: memory barriers and image uses.

use super::Recorder;
use crate::image::{Image, ImageInner, ImageUse};
use ash::vk;
use std::sync::Arc;
use vk::{AccessFlags2 as A, PipelineStageFlags2 as S};

/// What a memory barrier orders: writes and reads of `source` before those of `destination`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarrierScope {
    /// Stages that come before.
    pub source_stages: S,
    /// Their accesses.
    pub source_access: A,
    /// Stages that come after.
    pub destination_stages: S,
    /// Their accesses.
    pub destination_access: A,
}

const SHADERS: S = S::from_raw(
    S::PRE_RASTERIZATION_SHADERS.as_raw() | S::FRAGMENT_SHADER.as_raw() | S::COMPUTE_SHADER.as_raw(),
);
const MEMORY: A = A::from_raw(A::MEMORY_READ.as_raw() | A::MEMORY_WRITE.as_raw());

impl BarrierScope {
    /// Everything before everything.
    pub const FULL: Self = Self {
        source_stages: S::ALL_COMMANDS,
        source_access: MEMORY,
        destination_stages: S::ALL_COMMANDS,
        destination_access: MEMORY,
    };

    /// Compute writes before compute reads and writes.
    pub const COMPUTE_TO_COMPUTE: Self = Self {
        source_stages: S::COMPUTE_SHADER,
        source_access: A::SHADER_WRITE,
        destination_stages: S::COMPUTE_SHADER,
        destination_access: MEMORY,
    };

    /// Writes of any shader before all reads by shaders, index fetch, indirect arguments and copies.
    pub const SHADERS_TO_ALL: Self = Self {
        source_stages: SHADERS,
        source_access: A::SHADER_WRITE,
        destination_stages: S::ALL_COMMANDS,
        destination_access: MEMORY,
    };

    /// Copies, fills and updates before everything.
    pub const TRANSFER_TO_ALL: Self = Self {
        source_stages: S::ALL_TRANSFER,
        source_access: A::TRANSFER_WRITE,
        destination_stages: S::ALL_COMMANDS,
        destination_access: MEMORY,
    };

    /// Everything before copies, fills and updates.
    pub const ALL_TO_TRANSFER: Self = Self {
        source_stages: S::ALL_COMMANDS,
        source_access: MEMORY,
        destination_stages: S::ALL_TRANSFER,
        destination_access: A::from_raw(A::TRANSFER_READ.as_raw() | A::TRANSFER_WRITE.as_raw()),
    };
}

impl Recorder {
    /// Orders memory. Ends rendering.
    pub fn memory_barrier(&mut self, scope: BarrierScope) {
        let Some(command) = self.command_outside() else {
            return;
        };
        let barriers = [vk::MemoryBarrier2::default()
            .src_stage_mask(scope.source_stages)
            .src_access_mask(scope.source_access)
            .dst_stage_mask(scope.destination_stages)
            .dst_access_mask(scope.destination_access)];
        let info = vk::DependencyInfo::default().memory_barriers(&barriers);
        // SAFETY: the command buffer is recording, outside of rendering.
        unsafe { self.device.inner.raw.cmd_pipeline_barrier2(command, &info) };
    }

    /// Makes every write visible to later submissions and to the host.
    pub(super) fn final_barrier(&mut self, command: vk::CommandBuffer) {
        let barriers = [vk::MemoryBarrier2::default()
            .src_stage_mask(S::ALL_COMMANDS)
            .src_access_mask(A::MEMORY_WRITE)
            .dst_stage_mask(S::ALL_COMMANDS | S::HOST)
            .dst_access_mask(MEMORY | A::HOST_READ | A::HOST_WRITE)];
        let info = vk::DependencyInfo::default().memory_barriers(&barriers);
        // SAFETY: the command buffer is recording, outside of rendering.
        unsafe { self.device.inner.raw.cmd_pipeline_barrier2(command, &info) };
    }

    /// Moves all of an image to a use. Its content stays. Ends rendering, unless nothing is to be done: the image is
    /// there already and neither use writes.
    pub fn transition(&mut self, image: &Image, to: ImageUse) {
        self.queue_transition(&image.inner, to, false);
        self.flush_transitions();
    }

    /// As [`Self::transition`], and the content becomes undefined, which is cheaper on some devices.
    pub fn transition_discard(&mut self, image: &Image, to: ImageUse) {
        self.queue_transition(&image.inner, to, true);
        self.flush_transitions();
    }

    /// Moves several images by one barrier.
    pub fn transitions<'a>(&mut self, moves: impl IntoIterator<Item = (&'a Image, ImageUse)>) {
        for (image, to) in moves {
            self.queue_transition(&image.inner, to, false);
        }
        self.flush_transitions();
    }

    /// Notes a barrier for [`Self::flush_transitions`].
    pub(super) fn queue_transition(&mut self, image: &Arc<ImageInner>, to: ImageUse, discard: bool) {
        if self.error.is_some() || to == ImageUse::Undefined {
            return;
        }
        let from = image.use_now();
        let (old_layout, source_stages, source_access, writes) = from.scope();
        if from == to && !writes {
            return;
        }
        let (new_layout, destination_stages, destination_access, _) = to.scope();
        let old_layout = if discard {
            vk::ImageLayout::UNDEFINED
        } else {
            old_layout
        };
        self.barriers.push(
            vk::ImageMemoryBarrier2::default()
                .src_stage_mask(source_stages)
                .src_access_mask(source_access)
                .dst_stage_mask(destination_stages)
                .dst_access_mask(destination_access)
                .old_layout(old_layout)
                .new_layout(new_layout)
                .image(image.raw)
                .subresource_range(vk::ImageSubresourceRange {
                    aspect_mask: crate::image::format::format_aspects(image.description.format),
                    base_mip_level: 0,
                    level_count: vk::REMAINING_MIP_LEVELS,
                    base_array_layer: 0,
                    layer_count: vk::REMAINING_ARRAY_LAYERS,
                }),
        );
        if from != to {
            self.moved.push((Arc::clone(image), from));
            image.set_use(to);
        }
    }

    /// Records the noted barriers. Ends rendering where there are any.
    pub(super) fn flush_transitions(&mut self) {
        if self.barriers.is_empty() {
            return;
        }
        if let Some(command) = self.command_outside() {
            let info = vk::DependencyInfo::default().image_memory_barriers(&self.barriers);
            // SAFETY: the command buffer is recording, outside of rendering, and the images are alive.
            unsafe { self.device.inner.raw.cmd_pipeline_barrier2(command, &info) };
        }
        self.barriers.clear();
    }
}
