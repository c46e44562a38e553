//! Copies, fills and clears. All end rendering. Images are moved to their copy uses; buffers are ordered by the caller's
//! barriers.

use super::Recorder;
use super::rendering::ClearValue;
use crate::error::{ImageError, RecordError};
use crate::image::format::format_block;
use crate::image::{Image, ImageUse};
use crate::memory::buffer::BufferSlice;
use ash::vk;
use smallvec::SmallVec;

/// Most bytes of one buffer update, by Vulkan.
const MAX_UPDATE: usize = 65536;

/// Texels of an image and where they lie in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferImageCopy {
    /// First byte, from the slice's begin.
    pub buffer_offset: u64,
    /// Texels from row to row; 0 for tight.
    pub row_length: u32,
    /// Rows from slice to slice; 0 for tight.
    pub image_height: u32,
    /// One aspect.
    pub aspect: vk::ImageAspectFlags,
    /// Mip.
    pub mip: u32,
    /// First layer.
    pub base_layer: u32,
    /// Layers.
    pub layers: u32,
    /// First texel.
    pub offset: vk::Offset3D,
    /// Texels.
    pub extent: vk::Extent3D,
}

impl BufferImageCopy {
    /// All of one mip and layer, tight, from the slice's begin.
    #[must_use]
    pub fn whole(image: &Image, mip: u32, layer: u32) -> Self {
        Self {
            buffer_offset: 0,
            row_length: 0,
            image_height: 0,
            aspect: image.aspects(),
            mip,
            base_layer: layer,
            layers: 1,
            offset: vk::Offset3D::default(),
            extent: image.mip_extent(mip),
        }
    }

    fn layers(&self) -> vk::ImageSubresourceLayers {
        vk::ImageSubresourceLayers {
            aspect_mask: self.aspect,
            mip_level: self.mip,
            base_array_layer: self.base_layer,
            layer_count: self.layers,
        }
    }

    fn raw(&self, slice_offset: u64) -> vk::BufferImageCopy {
        vk::BufferImageCopy {
            buffer_offset: slice_offset + self.buffer_offset,
            buffer_row_length: self.row_length,
            buffer_image_height: self.image_height,
            image_subresource: self.layers(),
            image_offset: self.offset,
            image_extent: self.extent,
        }
    }

    /// Checks the copy against the image and `size` bytes of buffer at `slice_offset`.
    fn check(
        &self,
        command: &'static str,
        image: &Image,
        slice_offset: u64,
        size: u64,
    ) -> Result<(), RecordError> {
        let d = image.description();
        let refuse = |reason: String| Err(RecordError::Argument { command, reason });
        let block =
            format_block(d.format, self.aspect).ok_or(ImageError::UnknownFormat { format: d.format })?;
        if self.aspect.as_raw().count_ones() != 1 || !image.aspects().contains(self.aspect) {
            return refuse(format!(
                "one aspect of {:?} has to be named, not {:?}",
                image.aspects(),
                self.aspect
            ));
        }
        if let Err(reason) = check_texels(image, &self.layers(), self.offset, self.extent) {
            return refuse(reason);
        }
        let start = slice_offset + self.buffer_offset;
        if !start.is_multiple_of(u64::from(block.bytes))
            || !start.is_multiple_of(4) && !d.format_is_small(block.bytes)
        {
            return refuse(format!(
                "the buffer offset {start:#x} is no multiple of {} bytes",
                block.bytes
            ));
        }
        let row = if self.row_length == 0 {
            self.extent.width
        } else {
            self.row_length
        };
        let rows = if self.image_height == 0 {
            self.extent.height
        } else {
            self.image_height
        };
        if row < self.extent.width || rows < self.extent.height {
            return refuse(format!(
                "{row} x {rows} texels of buffer are less than the {:?} copied",
                self.extent
            ));
        }
        let slices = u64::from(self.extent.depth) * u64::from(self.layers);
        let last = block.tight_size(row, self.extent.height, 1);
        let all = block
            .tight_size(row, rows, 1)
            .saturating_mul(slices - 1)
            .saturating_add(last);
        if self.buffer_offset.saturating_add(all) > size {
            return refuse(format!(
                "{all:#x} bytes at {:#x} are not all in a slice of {size:#x}",
                self.buffer_offset
            ));
        }
        Ok(())
    }
}

impl crate::image::ImageDescription {
    /// Formats of 1 or 2 bytes may lie at any multiple of their size on a queue with graphics.
    fn format_is_small(&self, bytes: u32) -> bool {
        bytes < 4 && crate::image::format::format_aspects(self.format) == vk::ImageAspectFlags::COLOR
    }
}

impl Recorder {
    fn refuse(&mut self, command: &'static str, reason: String) {
        self.fail(RecordError::Argument { command, reason });
    }

    /// Copies `source` to the begin of `destination`, which is at least as large.
    pub fn copy_buffer(&mut self, source: BufferSlice<'_>, destination: BufferSlice<'_>) {
        let name = "copy_buffer";
        let Some(command) = self.command_outside() else {
            return;
        };
        if source.size > destination.size {
            let reason = format!("{:#x} bytes into {:#x}", source.size, destination.size);
            return self.refuse(name, reason);
        }
        let overlap = source.buffer == destination.buffer
            && source.offset < destination.offset + source.size
            && destination.offset < source.offset + source.size;
        if overlap {
            return self.refuse(
                name,
                "source and destination overlap: copy through a third buffer".into(),
            );
        }
        let regions = [vk::BufferCopy {
            src_offset: source.offset,
            dst_offset: destination.offset,
            size: source.size,
        }];
        let device = &self.device.inner.raw;
        // SAFETY: the command buffer is recording outside of rendering; both ranges lie inside living buffers.
        unsafe { device.cmd_copy_buffer(command, source.buffer.raw(), destination.buffer.raw(), &regions) };
    }

    /// Fills with a word. Offset and size are multiples of 4.
    pub fn fill_buffer(&mut self, slice: BufferSlice<'_>, word: u32) {
        let Some(command) = self.command_outside() else {
            return;
        };
        if !slice.offset.is_multiple_of(4) || !slice.size.is_multiple_of(4) {
            let reason = format!("{:#x} + {:#x} are no multiples of 4", slice.offset, slice.size);
            return self.refuse("fill_buffer", reason);
        }
        let buffer = slice.buffer.raw();
        // SAFETY: as for `copy_buffer`.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_fill_buffer(command, buffer, slice.offset, slice.size, word);
        };
    }

    /// Writes up to 64 KiB at the begin of `slice`. Offset and length are multiples of 4.
    pub fn update_buffer(&mut self, slice: BufferSlice<'_>, bytes: &[u8]) {
        let Some(command) = self.command_outside() else {
            return;
        };
        let length = bytes.len();
        if !slice.offset.is_multiple_of(4) || !length.is_multiple_of(4) || length == 0 || length > MAX_UPDATE
        {
            let reason = format!(
                "{length} bytes at {:#x}: both must be multiples of 4, and at most {MAX_UPDATE} bytes at a time",
                slice.offset
            );
            return self.refuse("update_buffer", reason);
        }
        if length as u64 > slice.size {
            return self.refuse(
                "update_buffer",
                format!("{length} bytes into a slice of {}", slice.size),
            );
        }
        let buffer = slice.buffer.raw();
        // SAFETY: as for `copy_buffer`.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_update_buffer(command, buffer, slice.offset, bytes);
        };
    }

    /// Copies bytes into an image, which is left as [`ImageUse::TransferDestination`].
    pub fn copy_buffer_to_image(
        &mut self,
        source: BufferSlice<'_>,
        image: &Image,
        copies: &[BufferImageCopy],
    ) {
        let name = "copy_buffer_to_image";
        let Some(regions) = self.copy_regions(name, &source, image, copies) else {
            return;
        };
        self.transition(image, ImageUse::TransferDestination);
        let Some(command) = self.command_outside() else {
            return;
        };
        let layout = ImageUse::TransferDestination.layout();
        let device = &self.device.inner.raw;
        // SAFETY: as for `copy_buffer`; the image was moved to the layout.
        unsafe {
            device.cmd_copy_buffer_to_image(command, source.buffer.raw(), image.raw(), layout, &regions);
        };
    }

    /// Copies an image into bytes. The image is left as [`ImageUse::TransferSource`].
    pub fn copy_image_to_buffer(
        &mut self,
        image: &Image,
        destination: BufferSlice<'_>,
        copies: &[BufferImageCopy],
    ) {
        let name = "copy_image_to_buffer";
        let Some(regions) = self.copy_regions(name, &destination, image, copies) else {
            return;
        };
        self.transition(image, ImageUse::TransferSource);
        let Some(command) = self.command_outside() else {
            return;
        };
        let layout = ImageUse::TransferSource.layout();
        let buffer = destination.buffer.raw();
        // SAFETY: as for `copy_buffer_to_image`.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_copy_image_to_buffer(command, image.raw(), layout, buffer, &regions);
        }
    }

    fn copy_regions(
        &mut self,
        command: &'static str,
        slice: &BufferSlice<'_>,
        image: &Image,
        copies: &[BufferImageCopy],
    ) -> Option<SmallVec<[vk::BufferImageCopy; 16]>> {
        if copies.is_empty() || self.error.is_some() {
            return None;
        }
        if image.description().samples != vk::SampleCountFlags::TYPE_1 {
            self.refuse(
                command,
                format!("the {} has to be resolved first", image.description()),
            );
            return None;
        }
        let mut regions = SmallVec::new();
        for copy in copies {
            if let Err(error) = copy.check(command, image, slice.offset, slice.size) {
                self.fail(error);
                return None;
            }
            regions.push(copy.raw(slice.offset));
        }
        Some(regions)
    }

    /// Copies texels between images of formats of one texel size. They are left in their copy uses.
    pub fn copy_image(&mut self, source: &Image, destination: &Image, regions: &[vk::ImageCopy]) {
        if regions.is_empty() {
            return;
        }
        if source == destination {
            return self.refuse(
                "copy_image",
                "source and destination are one image: copy through another".into(),
            );
        }
        for region in regions {
            let ends = [
                (source, &region.src_subresource, region.src_offset),
                (destination, &region.dst_subresource, region.dst_offset),
            ];
            for (image, part, offset) in ends {
                if let Err(reason) = check_texels(image, part, offset, region.extent) {
                    return self.refuse("copy_image", reason);
                }
            }
        }
        self.transitions([
            (source, ImageUse::TransferSource),
            (destination, ImageUse::TransferDestination),
        ]);
        let Some(command) = self.command_outside() else {
            return;
        };
        // SAFETY: as for `copy_buffer_to_image`; the regions lie inside of both images.
        unsafe {
            self.device.inner.raw.cmd_copy_image(
                command,
                source.raw(),
                ImageUse::TransferSource.layout(),
                destination.raw(),
                ImageUse::TransferDestination.layout(),
                regions,
            );
        }
    }

    /// Sets all of a colour image to a value; it is left as [`ImageUse::TransferDestination`].
    pub fn clear_colour(&mut self, image: &Image, value: ClearValue) {
        let colour = match value {
            ClearValue::Float(float32) => vk::ClearColorValue { float32 },
            ClearValue::Uint(uint32) => vk::ClearColorValue { uint32 },
            ClearValue::Sint(int32) => vk::ClearColorValue { int32 },
            ClearValue::Depth(_) | ClearValue::Stencil(_) => {
                return self.refuse("clear_colour", format!("{value:?} is no colour"));
            }
        };
        self.transition_discard(image, ImageUse::TransferDestination);
        let Some(command) = self.command_outside() else {
            return;
        };
        let ranges = [whole_range(image)];
        let layout = ImageUse::TransferDestination.layout();
        // SAFETY: as for `copy_buffer_to_image`.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_clear_color_image(command, image.raw(), layout, &colour, &ranges);
        };
    }

    /// Sets all of a depth-stencil image; it is left as [`ImageUse::TransferDestination`].
    pub fn clear_depth_stencil(&mut self, image: &Image, depth: f32, stencil: u32) {
        self.transition_discard(image, ImageUse::TransferDestination);
        let Some(command) = self.command_outside() else {
            return;
        };
        let value = vk::ClearDepthStencilValue { depth, stencil };
        let ranges = [whole_range(image)];
        let layout = ImageUse::TransferDestination.layout();
        let device = &self.device.inner.raw;
        // SAFETY: as for `copy_buffer_to_image`.
        unsafe { device.cmd_clear_depth_stencil_image(command, image.raw(), layout, &value, &ranges) };
    }
}

/// Whether a box of texels lies inside of a mip and its layers.
fn check_texels(
    image: &Image,
    part: &vk::ImageSubresourceLayers,
    offset: vk::Offset3D,
    extent: vk::Extent3D,
) -> Result<(), String> {
    let d = image.description();
    let end_layer = u64::from(part.base_array_layer) + u64::from(part.layer_count);
    if part.mip_level >= d.mips || end_layer > u64::from(d.layers) || part.layer_count == 0 {
        return Err(format!(
            "mip {}, layers {} + {} are not all in the {d}",
            part.mip_level, part.base_array_layer, part.layer_count
        ));
    }
    let most = image.mip_extent(part.mip_level);
    let axes = [
        (offset.x, extent.width, most.width),
        (offset.y, extent.height, most.height),
        (offset.z, extent.depth, most.depth),
    ];
    let inside = |(offset, extent, most): (i32, u32, u32)| {
        offset >= 0 && extent > 0 && i64::from(offset) + i64::from(extent) <= i64::from(most)
    };
    if axes.into_iter().all(inside) {
        Ok(())
    } else {
        Err(format!(
            "texels {offset:?} + {extent:?} are not all in mip {} of {most:?} texels",
            part.mip_level
        ))
    }
}

fn whole_range(image: &Image) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange {
        aspect_mask: image.aspects(),
        base_mip_level: 0,
        level_count: vk::REMAINING_MIP_LEVELS,
        base_array_layer: 0,
        layer_count: vk::REMAINING_ARRAY_LAYERS,
    }
}
