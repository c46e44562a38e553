//! Pipelines, draws and dispatches.

use super::Recorder;
use crate::device::Feature;
use crate::error::RecordError;
use crate::memory::buffer::BufferSlice;
use crate::pipeline::compute::ComputePipeline;
use crate::pipeline::graphics::GraphicsPipeline;
use ash::vk;
use ash::vk::Handle;
use std::ops::Range;

/// Bytes of `VkDrawIndirectCommand`.
const DRAW_ARGUMENTS: u64 = 16;
/// Bytes of `VkDrawIndexedIndirectCommand`.
const DRAW_INDEXED_ARGUMENTS: u64 = 20;
/// Bytes of `VkDispatchIndirectCommand`.
const DISPATCH_ARGUMENTS: u64 = 12;

impl Recorder {
    /// Binds a graphics pipeline; nothing where it is bound already.
    pub fn bind_graphics(&mut self, pipeline: &GraphicsPipeline) {
        let Some(command) = self.command() else { return };
        let raw = pipeline.inner.raw;
        if self.bound.graphics != raw {
            let point = vk::PipelineBindPoint::GRAPHICS;
            // SAFETY: the command buffer is recording, and the pipeline is alive.
            unsafe { self.device.inner.raw.cmd_bind_pipeline(command, point, raw) };
            self.bound.graphics = raw;
        }
    }

    /// Binds a compute pipeline; nothing where it is bound already.
    pub fn bind_compute(&mut self, pipeline: &ComputePipeline) {
        let Some(command) = self.command() else { return };
        let raw = pipeline.inner.raw;
        if self.bound.compute != raw {
            // SAFETY: as for `bind_graphics`.
            unsafe {
                self.device
                    .inner
                    .raw
                    .cmd_bind_pipeline(command, vk::PipelineBindPoint::COMPUTE, raw);
            };
            self.bound.compute = raw;
        }
    }

    /// Binds indices from the begin of `slice`, whose offset is a multiple of their size; nothing where they are
    /// bound already. Vulkan bounds the fetch by the buffer, not by the slice.
    pub fn bind_index_buffer(&mut self, slice: BufferSlice<'_>, kind: vk::IndexType) {
        let Some(command) = self.command() else { return };
        let bytes = match kind {
            vk::IndexType::UINT16 => 2,
            vk::IndexType::UINT32 => 4,
            other => {
                let reason = format!("{other:?} is not an index type of core Vulkan; widen the indices");
                return self.fail(RecordError::Argument {
                    command: "bind_index_buffer",
                    reason,
                });
            }
        };
        if !slice.offset.is_multiple_of(bytes) {
            let reason = format!(
                "the offset {:#x} is no multiple of the index size {bytes}",
                slice.offset
            );
            return self.fail(RecordError::Argument {
                command: "bind_index_buffer",
                reason,
            });
        }
        let wanted = Some((slice.buffer.raw(), slice.offset, kind));
        if self.bound.index != wanted {
            let device = &self.device.inner.raw;
            // SAFETY: the command buffer is recording, and the buffer is alive.
            unsafe { device.cmd_bind_index_buffer(command, slice.buffer.raw(), slice.offset, kind) };
            self.bound.index = wanted;
        }
    }

    /// What every draw needs.
    #[inline]
    fn before_draw(&mut self, name: &'static str, indexed: bool) -> Option<vk::CommandBuffer> {
        let command = self.command()?;
        if !self.rendering.active() {
            self.fail(RecordError::NotRendering { command: name });
            return None;
        }
        if self.bound.graphics.is_null() {
            self.fail(RecordError::NoPipeline { command: name });
            return None;
        }
        if indexed && self.bound.index.is_none() {
            self.fail(RecordError::NoIndexBuffer { command: name });
            return None;
        }
        if !self.flush_dynamic_state(name, command) {
            return None;
        }
        Some(command)
    }

    /// Draws vertices.
    pub fn draw(&mut self, vertices: Range<u32>, instances: Range<u32>) {
        let Some(command) = self.before_draw("draw", false) else {
            return;
        };
        let (count, instance_count) = (length(&vertices), length(&instances));
        // SAFETY: the command buffer is recording inside of rendering, with a pipeline and its dynamic state.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_draw(command, count, instance_count, vertices.start, instances.start);
        }
    }

    /// Draws indexed vertices; `vertex_offset` is added to each index.
    pub fn draw_indexed(&mut self, indices: Range<u32>, vertex_offset: i32, instances: Range<u32>) {
        let Some(command) = self.before_draw("draw_indexed", true) else {
            return;
        };
        let (count, instance_count) = (length(&indices), length(&instances));
        // SAFETY: as for `draw`, with an index buffer.
        unsafe {
            self.device.inner.raw.cmd_draw_indexed(
                command,
                count,
                instance_count,
                indices.start,
                vertex_offset,
                instances.start,
            );
        }
    }

    /// Draws with arguments from memory: four words a draw (vertices, instances, first vertex, first instance).
    pub fn draw_indirect(&mut self, arguments: BufferSlice<'_>, count: u32, stride: u32) {
        let name = "draw_indirect";
        let Some(command) = self.before_draw(name, false) else {
            return;
        };
        if !self.check_arguments(name, &arguments, count, stride, DRAW_ARGUMENTS) {
            return;
        }
        let buffer = arguments.buffer.raw();
        // SAFETY: as for `draw`; the arguments lie inside the buffer.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_draw_indirect(command, buffer, arguments.offset, count, stride);
        };
    }

    /// Draws with arguments from memory: five words a draw (indices, instances, first index, vertex offset, first
    /// instance).
    pub fn draw_indexed_indirect(&mut self, arguments: BufferSlice<'_>, count: u32, stride: u32) {
        let name = "draw_indexed_indirect";
        let Some(command) = self.before_draw(name, true) else {
            return;
        };
        if !self.check_arguments(name, &arguments, count, stride, DRAW_INDEXED_ARGUMENTS) {
            return;
        }
        let buffer = arguments.buffer.raw();
        let device = &self.device.inner.raw;
        // SAFETY: as for `draw_indexed`; the arguments lie inside the buffer.
        unsafe { device.cmd_draw_indexed_indirect(command, buffer, arguments.offset, count, stride) };
    }

    /// As [`Self::draw_indirect`], with the number of draws from memory (needs `drawIndirectCount`).
    pub fn draw_indirect_count(
        &mut self,
        arguments: BufferSlice<'_>,
        count: BufferSlice<'_>,
        max_count: u32,
        stride: u32,
    ) {
        let name = "draw_indirect_count";
        let Some(command) = self.before_draw(name, false) else {
            return;
        };
        if !self.check_arguments(name, &arguments, max_count, stride, DRAW_ARGUMENTS)
            || !self.check_count(name, &count)
        {
            return;
        }
        // SAFETY: as for `draw_indirect`; the count lies inside its buffer.
        unsafe {
            self.device.inner.raw.cmd_draw_indirect_count(
                command,
                arguments.buffer.raw(),
                arguments.offset,
                count.buffer.raw(),
                count.offset,
                max_count,
                stride,
            );
        }
    }

    /// As [`Self::draw_indexed_indirect`], with the number of draws from memory (needs `drawIndirectCount`).
    pub fn draw_indexed_indirect_count(
        &mut self,
        arguments: BufferSlice<'_>,
        count: BufferSlice<'_>,
        max_count: u32,
        stride: u32,
    ) {
        let name = "draw_indexed_indirect_count";
        let Some(command) = self.before_draw(name, true) else {
            return;
        };
        if !self.check_arguments(name, &arguments, max_count, stride, DRAW_INDEXED_ARGUMENTS)
            || !self.check_count(name, &count)
        {
            return;
        }
        // SAFETY: as for `draw_indexed_indirect`; the count lies inside its buffer.
        unsafe {
            self.device.inner.raw.cmd_draw_indexed_indirect_count(
                command,
                arguments.buffer.raw(),
                arguments.offset,
                count.buffer.raw(),
                count.offset,
                max_count,
                stride,
            );
        }
    }

    /// Runs workgroups. Ends rendering.
    pub fn dispatch(&mut self, groups: [u32; 3]) {
        let Some(command) = self.before_dispatch("dispatch") else {
            return;
        };
        let [x, y, z] = groups;
        let limit = self.device.limits().max_workgroup_count;
        if x > limit[0] || y > limit[1] || z > limit[2] {
            let reason = format!("{groups:?} workgroups, and the device allows {limit:?}");
            return self.fail(RecordError::Argument {
                command: "dispatch",
                reason,
            });
        }
        // SAFETY: the command buffer is recording outside of rendering, with a pipeline.
        unsafe { self.device.inner.raw.cmd_dispatch(command, x, y, z) };
    }

    /// Runs workgroups; their number is three words of memory. Ends rendering.
    pub fn dispatch_indirect(&mut self, arguments: BufferSlice<'_>) {
        let name = "dispatch_indirect";
        let Some(command) = self.before_dispatch(name) else {
            return;
        };
        if !self.check_arguments(name, &arguments, 1, 0, DISPATCH_ARGUMENTS) {
            return;
        }
        let buffer = arguments.buffer.raw();
        // SAFETY: as for `dispatch`; the arguments lie inside the buffer.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_dispatch_indirect(command, buffer, arguments.offset);
        };
    }

    fn before_dispatch(&mut self, name: &'static str) -> Option<vk::CommandBuffer> {
        let command = self.command_outside()?;
        if self.bound.compute.is_null() {
            self.fail(RecordError::NoPipeline { command: name });
            return None;
        }
        Some(command)
    }

    fn check_arguments(
        &mut self,
        command: &'static str,
        arguments: &BufferSlice<'_>,
        count: u32,
        stride: u32,
        one: u64,
    ) -> bool {
        let size = match count {
            0 => 0,
            _ => u64::from(count - 1) * u64::from(stride) + one,
        };
        let reason = if !arguments.offset.is_multiple_of(4) {
            format!(
                "the arguments' offset {:#x} is no multiple of 4",
                arguments.offset
            )
        } else if count > 1 && (!stride.is_multiple_of(4) || u64::from(stride) < one) {
            format!("the stride {stride} is no multiple of 4 of at least {one}")
        } else if size > arguments.size {
            format!(
                "{count} arguments at stride {stride} need {size} bytes, and the slice has {}",
                arguments.size
            )
        } else if count > 1 && !self.device.has(Feature::MultiDrawIndirect) {
            format!(
                "{count} draws of one command need {}, which the device lacks",
                Feature::MultiDrawIndirect
            )
        } else {
            return true;
        };
        self.fail(RecordError::Argument { command, reason });
        false
    }

    fn check_count(&mut self, command: &'static str, count: &BufferSlice<'_>) -> bool {
        let reason = if !self.device.has(Feature::DrawIndirectCount) {
            format!("it needs {}, which the device lacks", Feature::DrawIndirectCount)
        } else if !count.offset.is_multiple_of(4) || count.size < 4 {
            "the count must be a word at a multiple of 4".to_owned()
        } else {
            return true;
        };
        self.fail(RecordError::Argument { command, reason });
        false
    }
}

/// Elements of a range; 0 where it is empty or reversed.
fn length(range: &Range<u32>) -> u32 {
    range.end.saturating_sub(range.start)
}
