//! A tap on the commands that go to the driver: keeps them with all they point to, so that the same commands can be
//! recorded once more without the work of finding out which they are. That is what recording costs at least.
//!
//! The functions of a tapped device's table note their arguments while commands are kept, and call the driver's in any
//! case. One process has one tap: all tapped devices share it. Timestamps and labels, which only tools ask for, are not kept.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "all of them read what Vulkan reads, or give it back: the callers of the fronts and of `record` promise it"
)]

use std::{
    collections::HashMap,
    ffi::{CStr, c_void},
    fmt, slice,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use ash::vk;
use parking_lot::Mutex;

/// One command, with its arguments.
type Call = Box<dyn Fn(vk::CommandBuffer) + Send>;

/// Commands that were kept.
pub struct CommandLog(Vec<Call>);

impl fmt::Debug for CommandLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} commands", self.0.len())
    }
}

impl CommandLog {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records all of them.
    ///
    /// # Safety
    /// The command buffer is recording, of the device that they were kept of, and everything they name is alive.
    pub unsafe fn record(&self, command: vk::CommandBuffer) {
        for call in &self.0 {
            call(command);
        }
    }
}

static KEEPING: AtomicBool = AtomicBool::new(false);
static KEPT: Mutex<Vec<Call>> = Mutex::new(Vec::new());
/// Bytes that each descriptor update template reads.
static TEMPLATES: Mutex<Option<HashMap<vk::DescriptorUpdateTemplate, usize>>> = Mutex::new(None);

/// Keeps commands from now on.
pub(super) fn keep() {
    KEPT.lock().clear();
    KEEPING.store(true, Ordering::Release);
}

/// Ends keeping, and gives what was kept.
pub(super) fn take() -> CommandLog {
    KEEPING.store(false, Ordering::Release);
    CommandLog(std::mem::take(&mut *KEPT.lock()))
}

#[cold]
fn push(call: Call) {
    KEPT.lock().push(call);
}

/// The arguments behind a pointer, to keep.
///
/// # Safety
/// As for [`slice::from_raw_parts`], but for an empty one the pointer may be anything.
unsafe fn copied<T: Clone>(start: *const T, count: u32) -> Vec<T> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(start, count as usize) }.to_vec()
}

/// Structures whose pointers go into what is kept beside them, or nowhere.
struct Kept<T>(T);
// SAFETY: handles and plain data.
unsafe impl<T> Send for Kept<T> {}

/// A front for each of the driver's functions: it calls the driver, and keeps what the block makes of the arguments.
/// Without a block all arguments are values.
macro_rules! taps {
    ($($front:ident: $pfn:ident = $symbol:literal, ($($argument:ident: $kind:ty),*) $(=> $own:ident $keep:block)?;)*) => {
        $(
            mod $front {
                use super::*;

                static DRIVER: OnceLock<vk::$pfn> = OnceLock::new();

                unsafe extern "system" fn front(command: vk::CommandBuffer, $($argument: $kind),*) {
                    let Some(&driver) = DRIVER.get() else {
                        return;
                    };
                    if KEEPING.load(Ordering::Acquire) {
                        push(taps!(@keep driver, ($($argument),*) $(=> $own $keep)?));
                    }
                    // SAFETY: the caller gives what Vulkan asks for.
                    unsafe { driver(command, $($argument),*) };
                }

                pub(super) fn put_before(driver: *const c_void) -> *const c_void {
                    // SAFETY: a driver's function of this name has this type, or is null.
                    let Some(driver) = (unsafe { std::mem::transmute::<*const c_void, Option<vk::$pfn>>(driver) }) else {
                        return driver;
                    };
                    // A second tapped device has the same driver.
                    let _ = DRIVER.set(driver);
                    front as *const c_void
                }
            }
        )*

        /// The function to use in place of the driver's function of this name.
        pub(crate) fn put_before(name: &CStr, driver: *const c_void) -> *const c_void {
            match name.to_bytes() {
                $($symbol => $front::put_before(driver),)*
                _ => driver,
            }
        }
    };
    (@keep $driver:ident, ($($argument:ident),*)) => {
        // SAFETY: as `CommandLog::record` asks.
        Box::new(move |command| unsafe { $driver(command, $($argument),*) })
    };
    (@keep $driver:ident, ($($argument:ident),*) => $own:ident $keep:block) => {{
        let $own = $driver;
        let call: Call = $keep;
        call
    }};
}

taps! {
    bind_pipeline: PFN_vkCmdBindPipeline = b"vkCmdBindPipeline",
        (point: vk::PipelineBindPoint, pipeline: vk::Pipeline);
    bind_index_buffer: PFN_vkCmdBindIndexBuffer = b"vkCmdBindIndexBuffer",
        (buffer: vk::Buffer, offset: u64, kind: vk::IndexType);
    draw: PFN_vkCmdDraw = b"vkCmdDraw",
        (vertices: u32, instances: u32, first: u32, first_instance: u32);
    draw_indexed: PFN_vkCmdDrawIndexed = b"vkCmdDrawIndexed",
        (indices: u32, instances: u32, first: u32, offset: i32, first_instance: u32);
    draw_indirect: PFN_vkCmdDrawIndirect = b"vkCmdDrawIndirect",
        (buffer: vk::Buffer, offset: u64, count: u32, stride: u32);
    draw_indexed_indirect: PFN_vkCmdDrawIndexedIndirect = b"vkCmdDrawIndexedIndirect",
        (buffer: vk::Buffer, offset: u64, count: u32, stride: u32);
    draw_indirect_count: PFN_vkCmdDrawIndirectCount = b"vkCmdDrawIndirectCount",
        (buffer: vk::Buffer, offset: u64, counts: vk::Buffer, at: u64, most: u32, stride: u32);
    draw_indexed_indirect_count: PFN_vkCmdDrawIndexedIndirectCount = b"vkCmdDrawIndexedIndirectCount",
        (buffer: vk::Buffer, offset: u64, counts: vk::Buffer, at: u64, most: u32, stride: u32);
    dispatch: PFN_vkCmdDispatch = b"vkCmdDispatch", (x: u32, y: u32, z: u32);
    dispatch_indirect: PFN_vkCmdDispatchIndirect = b"vkCmdDispatchIndirect", (buffer: vk::Buffer, offset: u64);
    fill_buffer: PFN_vkCmdFillBuffer = b"vkCmdFillBuffer",
        (buffer: vk::Buffer, offset: u64, size: u64, word: u32);
    end_rendering: PFN_vkCmdEndRendering = b"vkCmdEndRendering", ();
    line_width: PFN_vkCmdSetLineWidth = b"vkCmdSetLineWidth", (width: f32);
    depth_bias: PFN_vkCmdSetDepthBias = b"vkCmdSetDepthBias", (constant: f32, clamp: f32, slope: f32);
    depth_bounds: PFN_vkCmdSetDepthBounds = b"vkCmdSetDepthBounds", (least: f32, most: f32);
    stencil_compare_mask: PFN_vkCmdSetStencilCompareMask = b"vkCmdSetStencilCompareMask",
        (faces: vk::StencilFaceFlags, mask: u32);
    stencil_write_mask: PFN_vkCmdSetStencilWriteMask = b"vkCmdSetStencilWriteMask",
        (faces: vk::StencilFaceFlags, mask: u32);
    stencil_reference: PFN_vkCmdSetStencilReference = b"vkCmdSetStencilReference",
        (faces: vk::StencilFaceFlags, reference: u32);
    cull_mode: PFN_vkCmdSetCullMode = b"vkCmdSetCullMode", (mode: vk::CullModeFlags);
    front_face: PFN_vkCmdSetFrontFace = b"vkCmdSetFrontFace", (face: vk::FrontFace);
    topology: PFN_vkCmdSetPrimitiveTopology = b"vkCmdSetPrimitiveTopology", (topology: vk::PrimitiveTopology);
    depth_test_enable: PFN_vkCmdSetDepthTestEnable = b"vkCmdSetDepthTestEnable", (enable: vk::Bool32);
    depth_write_enable: PFN_vkCmdSetDepthWriteEnable = b"vkCmdSetDepthWriteEnable", (enable: vk::Bool32);
    depth_compare_op: PFN_vkCmdSetDepthCompareOp = b"vkCmdSetDepthCompareOp", (op: vk::CompareOp);
    depth_bounds_test_enable: PFN_vkCmdSetDepthBoundsTestEnable = b"vkCmdSetDepthBoundsTestEnable",
        (enable: vk::Bool32);
    stencil_test_enable: PFN_vkCmdSetStencilTestEnable = b"vkCmdSetStencilTestEnable", (enable: vk::Bool32);
    stencil_op: PFN_vkCmdSetStencilOp = b"vkCmdSetStencilOp",
        (faces: vk::StencilFaceFlags, fail: vk::StencilOp, pass: vk::StencilOp, depth: vk::StencilOp, op: vk::CompareOp);
    rasterizer_discard_enable: PFN_vkCmdSetRasterizerDiscardEnable = b"vkCmdSetRasterizerDiscardEnable",
        (enable: vk::Bool32);
    depth_bias_enable: PFN_vkCmdSetDepthBiasEnable = b"vkCmdSetDepthBiasEnable", (enable: vk::Bool32);
    primitive_restart_enable: PFN_vkCmdSetPrimitiveRestartEnable = b"vkCmdSetPrimitiveRestartEnable",
        (enable: vk::Bool32);
    blend_constants: PFN_vkCmdSetBlendConstants = b"vkCmdSetBlendConstants",
        (constants: *const [f32; 4]) => driver {
            let constants = unsafe { *constants };
            Box::new(move |command| unsafe { driver(command, &raw const constants) })
        };
    viewports: PFN_vkCmdSetViewportWithCount = b"vkCmdSetViewportWithCount",
        (count: u32, viewports: *const vk::Viewport) => driver {
            let viewports = unsafe { copied(viewports, count) };
            Box::new(move |command| unsafe { driver(command, count, viewports.as_ptr()) })
        };
    scissors: PFN_vkCmdSetScissorWithCount = b"vkCmdSetScissorWithCount",
        (count: u32, scissors: *const vk::Rect2D) => driver {
            let scissors = unsafe { copied(scissors, count) };
            Box::new(move |command| unsafe { driver(command, count, scissors.as_ptr()) })
        };
    push_constants: PFN_vkCmdPushConstants = b"vkCmdPushConstants",
        (layout: vk::PipelineLayout, stages: vk::ShaderStageFlags, offset: u32, size: u32, values: *const c_void)
        => driver {
            let values = unsafe { copied(values.cast::<u8>(), size) };
            Box::new(move |command| unsafe { driver(command, layout, stages, offset, size, values.as_ptr().cast()) })
        };
    update_buffer: PFN_vkCmdUpdateBuffer = b"vkCmdUpdateBuffer",
        (buffer: vk::Buffer, offset: u64, size: u64, data: *const c_void) => driver {
            // An update has at most 64 KiB.
            let data = unsafe { copied(data.cast::<u8>(), size as u32) };
            Box::new(move |command| unsafe { driver(command, buffer, offset, size, data.as_ptr().cast()) })
        };
    copy_buffer: PFN_vkCmdCopyBuffer = b"vkCmdCopyBuffer",
        (from: vk::Buffer, to: vk::Buffer, count: u32, regions: *const vk::BufferCopy)
        => driver {
            let regions = unsafe { copied(regions, count) };
            Box::new(move |command| unsafe { driver(command, from, to, count, regions.as_ptr()) })
        };
    copy_buffer_to_image: PFN_vkCmdCopyBufferToImage = b"vkCmdCopyBufferToImage",
        (from: vk::Buffer, to: vk::Image, layout: vk::ImageLayout, count: u32, regions: *const vk::BufferImageCopy)
        => driver {
            let regions = unsafe { copied(regions, count) };
            Box::new(move |command| unsafe { driver(command, from, to, layout, count, regions.as_ptr()) })
        };
    copy_image_to_buffer: PFN_vkCmdCopyImageToBuffer = b"vkCmdCopyImageToBuffer",
        (from: vk::Image, layout: vk::ImageLayout, to: vk::Buffer, count: u32, regions: *const vk::BufferImageCopy)
        => driver {
            let regions = unsafe { copied(regions, count) };
            Box::new(move |command| unsafe { driver(command, from, layout, to, count, regions.as_ptr()) })
        };
    copy_image: PFN_vkCmdCopyImage = b"vkCmdCopyImage",
        (from: vk::Image, old: vk::ImageLayout, to: vk::Image, new: vk::ImageLayout, count: u32,
         regions: *const vk::ImageCopy) => driver {
            let regions = unsafe { copied(regions, count) };
            Box::new(move |command| unsafe { driver(command, from, old, to, new, count, regions.as_ptr()) })
        };
    clear_colour: PFN_vkCmdClearColorImage = b"vkCmdClearColorImage",
        (image: vk::Image, layout: vk::ImageLayout, colour: *const vk::ClearColorValue, count: u32,
         ranges: *const vk::ImageSubresourceRange) => driver {
            let (colour, ranges) = unsafe { (*colour, copied(ranges, count)) };
            Box::new(move |command| unsafe {
                driver(command, image, layout, &raw const colour, count, ranges.as_ptr());
            })
        };
    clear_depth: PFN_vkCmdClearDepthStencilImage = b"vkCmdClearDepthStencilImage",
        (image: vk::Image, layout: vk::ImageLayout, depth: *const vk::ClearDepthStencilValue, count: u32,
         ranges: *const vk::ImageSubresourceRange) => driver {
            let (depth, ranges) = unsafe { (*depth, copied(ranges, count)) };
            Box::new(move |command| unsafe {
                driver(command, image, layout, &raw const depth, count, ranges.as_ptr());
            })
        };
    bind_descriptor_sets: PFN_vkCmdBindDescriptorSets = b"vkCmdBindDescriptorSets",
        (point: vk::PipelineBindPoint, layout: vk::PipelineLayout, first: u32, count: u32,
         sets: *const vk::DescriptorSet, offset_count: u32, offsets: *const u32)
        => driver {
            let (sets, offsets) = unsafe { (copied(sets, count), copied(offsets, offset_count)) };
            Box::new(move |command| unsafe {
                driver(command, point, layout, first, count, sets.as_ptr(), offset_count, offsets.as_ptr());
            })
        };
    push_descriptors: PFN_vkCmdPushDescriptorSetKHR = b"vkCmdPushDescriptorSetKHR",
        (point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32, count: u32,
         writes: *const vk::WriteDescriptorSet<'_>)
        => driver {
            // Each has the one kind of information that its type asks for.
            let writes = unsafe { copied(writes.cast::<vk::WriteDescriptorSet<'static>>(), count) };
            let kept: Vec<_> = writes.iter().map(|write| unsafe { infos_of(write) }).collect();
            let writes: Vec<_> = writes
                .into_iter()
                .zip(&kept)
                .map(|(write, (buffers, images))| vk::WriteDescriptorSet {
                    p_buffer_info: buffers.as_ptr(),
                    p_image_info: images.as_ptr(),
                    ..write
                })
                .collect();
            let kept = Kept((writes, kept));
            Box::new(move |command| {
                let kept = &kept;
                unsafe { driver(command, point, layout, set, count, kept.0.0.as_ptr()) };
            })
        };
    push_descriptors_by_template: PFN_vkCmdPushDescriptorSetWithTemplateKHR = b"vkCmdPushDescriptorSetWithTemplateKHR",
        (template: vk::DescriptorUpdateTemplate, layout: vk::PipelineLayout, set: u32, data: *const c_void)
        => driver {
            let templates = TEMPLATES.lock();
            let size = templates.as_ref().and_then(|sizes| sizes.get(&template)).copied().unwrap_or(0);
            // Handles want words of eight bytes.
            let data = unsafe { copied(data.cast::<u64>(), size.div_ceil(8) as u32) };
            Box::new(move |command| unsafe { driver(command, template, layout, set, data.as_ptr().cast()) })
        };
    barriers: PFN_vkCmdPipelineBarrier2 = b"vkCmdPipelineBarrier2",
        (info: *const vk::DependencyInfo<'_>) => driver {
            // Barriers are chained to nothing.
            let info = unsafe { *info.cast::<vk::DependencyInfo<'static>>() };
            let kept = unsafe {
                Kept((
                    copied(info.p_memory_barriers, info.memory_barrier_count),
                    copied(info.p_buffer_memory_barriers, info.buffer_memory_barrier_count),
                    copied(info.p_image_memory_barriers, info.image_memory_barrier_count),
                    info.dependency_flags,
                ))
            };
            Box::new(move |command| {
                let Kept((memory, buffers, images, flags)) = &kept;
                let info = vk::DependencyInfo::default()
                    .dependency_flags(*flags)
                    .memory_barriers(memory)
                    .buffer_memory_barriers(buffers)
                    .image_memory_barriers(images);
                unsafe { driver(command, &raw const info) };
            })
        };
    begin_rendering: PFN_vkCmdBeginRendering = b"vkCmdBeginRendering",
        (info: *const vk::RenderingInfo<'_>) => driver {
            // Attachments are chained to nothing.
            let info = unsafe { *info.cast::<vk::RenderingInfo<'static>>() };
            let kept = unsafe {
                Kept((
                    copied(info.p_color_attachments, info.color_attachment_count),
                    info.p_depth_attachment.as_ref().copied(),
                    info.p_stencil_attachment.as_ref().copied(),
                    info,
                ))
            };
            Box::new(move |command| {
                let Kept((colour, depth, stencil, info)) = &kept;
                let info = vk::RenderingInfo {
                    p_color_attachments: colour.as_ptr(),
                    p_depth_attachment: depth.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                    p_stencil_attachment: stencil.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                    ..*info
                };
                unsafe { driver(command, &raw const info) };
            })
        };
}

/// Buffers and images of a descriptor write: those of its type.
///
/// # Safety
/// The write is one that Vulkan takes.
unsafe fn infos_of(
    write: &vk::WriteDescriptorSet<'static>,
) -> (Vec<vk::DescriptorBufferInfo>, Vec<vk::DescriptorImageInfo>) {
    match write.descriptor_type {
        vk::DescriptorType::STORAGE_BUFFER | vk::DescriptorType::UNIFORM_BUFFER => {
            // SAFETY: the caller's promise.
            (
                unsafe { copied(write.p_buffer_info, write.descriptor_count) },
                Vec::new(),
            )
        }
        // SAFETY: the caller's promise.
        _ => (Vec::new(), unsafe {
            copied(write.p_image_info, write.descriptor_count)
        }),
    }
}

/// Tells how many bytes a template reads.
pub(crate) fn note_template(template: vk::DescriptorUpdateTemplate, size: usize) {
    TEMPLATES.lock().get_or_insert_default().insert(template, size);
}
