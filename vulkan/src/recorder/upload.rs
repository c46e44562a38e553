//! Uploads through a stream, and readbacks.

use super::Recorder;
use super::barrier::BarrierScope;
use super::transfer::BufferImageCopy;
use crate::error::{ImageError, RecordError};
use crate::image::Image;
use crate::image::format::format_block;
use crate::memory::buffer::{Buffer, BufferDescription, BufferSlice, MemoryKind};
use crate::memory::readback::{Readback, UNSUBMITTED};
use crate::memory::stream::StreamBuffer;
use crate::timeline::TimelineValue;
use ash::vk;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Texels to upload, tight, layers behind each other.
#[derive(Debug, Clone, Copy)]
pub struct UploadRegion<'a> {
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
    /// Their bytes.
    pub bytes: &'a [u8],
}

impl<'a> UploadRegion<'a> {
    /// All of one mip and layer.
    #[must_use]
    pub fn whole(image: &Image, mip: u32, layer: u32, bytes: &'a [u8]) -> Self {
        Self {
            aspect: image.aspects(),
            mip,
            base_layer: layer,
            layers: 1,
            offset: vk::Offset3D::default(),
            extent: image.mip_extent(mip),
            bytes,
        }
    }
}

impl Recorder {
    /// Copies texels into an image by way of `stream`; the image is left as a copy destination. `until` is the
    /// submission that this recording becomes ([`crate::Device::next_value`]).
    pub fn upload_image(
        &mut self,
        stream: &mut StreamBuffer,
        image: &Image,
        regions: &[UploadRegion<'_>],
        until: TimelineValue,
    ) {
        for region in regions {
            if self.error.is_some() {
                return;
            }
            if let Err(error) = self.upload_region(stream, image, region, until) {
                return self.fail(error);
            }
        }
    }

    fn upload_region(
        &mut self,
        stream: &mut StreamBuffer,
        image: &Image,
        region: &UploadRegion<'_>,
        until: TimelineValue,
    ) -> Result<(), RecordError> {
        let format = image.description().format;
        let block = format_block(format, region.aspect).ok_or(ImageError::UnknownFormat { format })?;
        let vk::Extent3D { width, height, depth } = region.extent;
        let needed = block.tight_size(width, height, depth) * u64::from(region.layers);
        if needed != region.bytes.len() as u64 {
            let reason = format!(
                "{width} x {height} x {depth} texels of {format:?} on {} layers are {needed} bytes, and {} were given",
                region.layers,
                region.bytes.len()
            );
            return Err(RecordError::Argument {
                command: "upload_image",
                reason,
            });
        }
        // Vulkan wants the offset to be a multiple of the texel size and of 4; texels of 3, 6 or 12 bytes make that no
        // power of two, so the slice gets room to slide.
        let unit = if block.bytes % 4 == 0 {
            u64::from(block.bytes)
        } else {
            u64::from(block.bytes) * 4
        };
        let slice = stream.alloc(needed + unit, 4, until)?;
        let start = slice.range.offset().next_multiple_of(unit) - slice.range.offset();
        slice.bytes[start as usize..][..region.bytes.len()].copy_from_slice(region.bytes);
        let copy = BufferImageCopy {
            buffer_offset: start,
            row_length: 0,
            image_height: 0,
            aspect: region.aspect,
            mip: region.mip,
            base_layer: region.base_layer,
            layers: region.layers,
            offset: region.offset,
            extent: region.extent,
        };
        self.copy_buffer_to_image(slice.range.slice(), image, &[copy]);
        Ok(())
    }

    /// Reads back layers of one mip. The image is left as a copy source; earlier writes to it are waited for by the
    /// GPU.
    ///
    /// # Errors
    /// What does not fit; [`RecordError::Blocked`] while an earlier error stands.
    pub fn readback_image(
        &mut self,
        image: &Image,
        aspect: vk::ImageAspectFlags,
        mip: u32,
        layers: std::ops::Range<u32>,
    ) -> Result<Readback, RecordError> {
        let format = image.description().format;
        let block = format_block(format, aspect).ok_or(ImageError::UnknownFormat { format })?;
        let extent = image.mip_extent(mip);
        let count = layers.end.saturating_sub(layers.start);
        let size = block.tight_size(extent.width, extent.height, extent.depth) * u64::from(count);
        let buffer = self.readback_target(size)?;
        let copy = BufferImageCopy {
            buffer_offset: 0,
            row_length: 0,
            image_height: 0,
            aspect,
            mip,
            base_layer: layers.start,
            layers: count,
            offset: vk::Offset3D::default(),
            extent,
        };
        self.copy_image_to_buffer(image, buffer.whole(), &[copy]);
        self.readback(buffer)
    }

    /// Reads back bytes of a buffer; earlier writes to it are waited for by the GPU.
    ///
    /// # Errors
    /// As [`Self::readback_image`].
    pub fn readback_buffer(&mut self, slice: BufferSlice<'_>) -> Result<Readback, RecordError> {
        let buffer = self.readback_target(slice.size)?;
        self.memory_barrier(BarrierScope::ALL_TO_TRANSFER);
        self.copy_buffer(slice, buffer.whole());
        self.readback(buffer)
    }

    fn readback_target(&mut self, size: u64) -> Result<Buffer, RecordError> {
        if self.error.is_some() {
            return Err(RecordError::Blocked { command: "readback" });
        }
        Ok(self.device.create_buffer(&BufferDescription {
            size,
            usage: vk::BufferUsageFlags::TRANSFER_DST,
            memory: MemoryKind::Readback,
        })?)
    }

    fn readback(&mut self, buffer: Buffer) -> Result<Readback, RecordError> {
        // The copy's error belongs to whoever asked for the bytes.
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let value = Arc::new(AtomicU64::new(UNSUBMITTED));
        self.readbacks.push(Arc::clone(&value));
        Ok(Readback {
            device: self.device.clone(),
            buffer,
            value,
        })
    }
}
