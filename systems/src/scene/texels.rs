//! Texels of guest surfaces: from the device where the GPU has written them, else from guest memory.

use bevy_ecs::prelude::*;
use relic_core::{
    GuestAddress, GuestRange, MemoryReader,
    gpu::{SurfaceLayout, SurfaceShape},
};
use relic_vulkan::{Image, vk};

use super::recording::GPU_LIMIT;
use crate::{
    gpu::{Gpu, GpuTimeline},
    prepare::images::{ImageStore, Plane},
    resources::Memory,
    settle::GpuRecording,
};

/// What a host image holds.
pub(super) struct HostImage {
    /// Tight rows.
    pub bytes: Vec<u8>,
    /// Width and height in texels.
    pub size: (u32, u32),
    /// Its format.
    pub format: vk::Format,
    /// Bytes of a texel.
    pub texel: u32,
    /// How its surface lies in guest memory.
    pub shape: Option<SurfaceShape>,
}

/// Reads one layer of the image that the GPU has written at an address. `None` where there is none, and memory holds what
/// is shown.
pub(super) fn read_host_image(
    world: &mut World,
    address: GuestAddress,
    layer: u32,
) -> Option<Result<HostImage, String>> {
    let found = world.resource::<ImageStore>().at(address);
    let found = found.filter(|image| image.gpu_written)?;
    let image = found.image.clone();
    let plane = found.planes.iter().find(|plane| plane.range.start() == address);
    let shape = plane.map(|plane| *plane.layout.shape());
    let aspect = if image.aspects().contains(vk::ImageAspectFlags::DEPTH) {
        vk::ImageAspectFlags::DEPTH
    } else {
        vk::ImageAspectFlags::COLOR
    };
    let description = image.description();
    let (width, height) = (description.extent.width, description.extent.height);
    Some(
        read_now(world, &image, aspect, 0, layer..layer.saturating_add(1)).map(|bytes| HostImage {
            texel: bytes.len() as u32 / (width * height).max(1),
            bytes,
            size: (width, height),
            format: description.format,
            shape,
        }),
    )
}

/// Reads layers of an image, and waits for them.
fn read_now(
    world: &mut World,
    image: &Image,
    aspect: vk::ImageAspectFlags,
    level: u32,
    layers: std::ops::Range<u32>,
) -> Result<Vec<u8>, String> {
    let device = world.resource::<Gpu>().device.clone();
    let mut recording = world.resource_mut::<GpuRecording>();
    let readback = recording
        .recorder
        .readback_image(image, aspect, level, layers)
        .map_err(|error| error.to_string())?;
    let value = recording.submit(&device).map_err(|error| error.to_string())?;
    device.wait(value, GPU_LIMIT).map_err(|error| error.to_string())?;
    let mut timeline = world.resource_mut::<GpuTimeline>();
    timeline.submitted = timeline.submitted.max(value.0);
    timeline.completed = timeline.completed.max(value.0);
    Ok(readback.bytes().map_err(|error| error.to_string())?.to_vec())
}

/// A plane of an image as its surface lies in guest memory.
pub(super) fn tiled(world: &mut World, image: &Image, plane: &Plane) -> Result<Vec<u8>, String> {
    let shape = *plane.layout.shape();
    let reader = world.resource::<Memory>().0.reader();
    let mut bytes = vec![0; plane.range.size() as usize];
    reader
        .read_bytes(plane.range.start(), &mut bytes)
        .map_err(|error| error.to_string())?;
    let volume = image.description().extent.depth > 1;
    for level in 0..shape.levels {
        let slices = plane.layout.level_size(level)[2];
        let layers = if volume { 1 } else { shape.depth };
        let rows = read_now(world, image, plane.aspect, level, 0..layers)?;
        let count = if volume { slices } else { layers };
        let size = rows.len() / count.max(1) as usize;
        for (z, slice) in (0..count).zip(rows.chunks_exact(size.max(1))) {
            if !plane.layout.tile(level, z, slice, &mut bytes) {
                return Err(format!("its texels do not fit its layout {:?}", plane.layout));
            }
        }
    }
    Ok(bytes)
}

/// Tight rows of one slice of a surface in guest memory.
pub(super) fn read_memory(
    reader: &MemoryReader,
    address: GuestAddress,
    shape: SurfaceShape,
    slice: u32,
) -> Result<Vec<u8>, String> {
    let layout = SurfaceLayout::new(shape).map_err(|error| error.to_string())?;
    // Before anything is allocated: the sizes may be a file's.
    if !reader.is_mapped(GuestRange::new(address, layout.size())) {
        return Err(format!("{layout:?} at {address} is not in mapped memory"));
    }
    let mut bytes = vec![0; layout.size() as usize];
    reader
        .read_bytes(address, &mut bytes)
        .map_err(|error| error.to_string())?;
    let mut rows = vec![0; (shape.width * shape.height * shape.bytes) as usize];
    if layout.detile(0, slice, &bytes, &mut rows) {
        Ok(rows)
    } else {
        Err(format!("slice {slice} is none of {layout:?}"))
    }
}
