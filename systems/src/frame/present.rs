//! Present: flips whose GPU work is done become events, and pictures where somebody wants them.

use bevy_ecs::prelude::*;
use relic_components::{
    Counters, GuestEvent,
    video::{FlipRequest, ReadyFlips, VideoBuffer, VideoBuffers, VideoFormat, VideoOutput},
};
use relic_core::{
    GuestRange, MemoryReader,
    gpu::{SurfaceLayout, SurfaceShape, SwizzleMode},
};
use relic_schedules::PumpControl;
use relic_vulkan::{Readback, vk};

use super::picture::{Picture, PictureWriter};
use crate::{
    config::PictureRequest,
    gpu::Gpu,
    prepare::images::{GuestImage, ImageStore},
    resources::{Faults, Guest, Memory},
    settle::GpuRecording,
};

/// Pictures whose readback the GPU has not finished.
#[derive(Resource, Default)]
pub struct PendingPictures(Vec<PendingPicture>);

struct PendingPicture {
    path: std::path::PathBuf,
    readback: Readback,
    width: u32,
    height: u32,
    swap: bool,
}

/// The buffer shown last.
#[derive(Resource, Default, Debug)]
pub struct Shown(pub Option<VideoBuffer>);

/// Shows the next ready flip.
pub(crate) fn present_flip(
    guest: Res<Guest>,
    memory: Res<Memory>,
    images: Res<ImageStore>,
    request: Res<PictureRequest>,
    writer: Res<PictureWriter>,
    mut recording: ResMut<GpuRecording>,
    mut pending: ResMut<PendingPictures>,
    mut flips: ResMut<ReadyFlips>,
    mut shown: ResMut<Shown>,
    mut counters: ResMut<Counters>,
    mut control: ResMut<PumpControl>,
    mut faults: ResMut<Faults>,
    outputs: Query<(&VideoOutput, &VideoBuffers)>,
) {
    if flips.0.is_empty() {
        return;
    }
    let flip = flips.0.remove(0);
    relic_core::trace::frame_mark();
    counters.flips += 1;
    let buffer = buffer_of(&outputs, &flip);
    if buffer.is_none() && flip.buffer >= 0 {
        faults.0.push(format!(
            "flip {} of video output {} shows buffer {}, which is not registered",
            counters.flips, flip.handle.0, flip.buffer
        ));
    }
    shown.0 = buffer;
    if let (Some(folder), Some(buffer)) = (&request.folder, buffer) {
        let path = folder.join(format!("frame{:05}.png", counters.flips));
        let reader = memory.0.reader();
        match take_picture(&images, &reader, &mut recording, &buffer) {
            Ok(Taken::Now(picture)) => writer.write(path, picture),
            Ok(Taken::Later {
                readback,
                width,
                height,
                swap,
            }) => {
                recording.dirty = true;
                pending.0.push(PendingPicture {
                    path,
                    readback,
                    width,
                    height,
                    swap,
                });
            }
            Err(reason) => faults
                .0
                .push(format!("no picture of flip {}: {reason}", counters.flips)),
        }
    }
    guest.0.deliver(&GuestEvent::FlipDone(flip));
    if request.frames.is_some_and(|frames| counters.flips >= frames) {
        guest.0.deliver(&GuestEvent::FrameLimit);
    }
    // A readback that was recorded is submitted by the next run of Submit.
    control.again |= recording.dirty;
}

fn buffer_of(outputs: &Query<(&VideoOutput, &VideoBuffers)>, flip: &FlipRequest) -> Option<VideoBuffer> {
    let index = usize::try_from(flip.buffer).ok()?;
    outputs
        .iter()
        .find(|(output, _)| output.0 == flip.handle)
        .and_then(|(_, buffers)| buffers.0.get(index).copied().flatten())
}

/// A picture, or the promise of one.
pub(crate) enum Taken {
    /// Read from guest memory.
    Now(Picture),
    /// A readback was recorded.
    Later {
        /// The bytes to come.
        readback: Readback,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// The bytes are B, G, R, A.
        swap: bool,
    },
}

/// Takes a picture of a scan-out buffer: of the image that the GPU rendered to there, else of memory.
pub(crate) fn take_picture(
    images: &ImageStore,
    memory: &MemoryReader,
    recording: &mut GpuRecording,
    buffer: &VideoBuffer,
) -> Result<Taken, String> {
    match images.at(buffer.address).filter(|image| image.gpu_written) {
        Some(image) => read_image(image, recording),
        None => read_memory(memory, buffer).map(Taken::Now),
    }
}

fn read_image(image: &GuestImage, recording: &mut GpuRecording) -> Result<Taken, String> {
    let description = image.image.description();
    let swap = match description.format {
        vk::Format::R8G8B8A8_UNORM | vk::Format::R8G8B8A8_SRGB => false,
        vk::Format::B8G8R8A8_UNORM | vk::Format::B8G8R8A8_SRGB => true,
        other => {
            return Err(format!(
                "format {other:?} has no picture yet (8-bit RGBA and BGRA have)"
            ));
        }
    };
    let extent = description.extent;
    let readback = recording
        .recorder
        .readback_image(&image.image, vk::ImageAspectFlags::COLOR, 0, 0..1)
        .map_err(|error| error.to_string())?;
    Ok(Taken::Later {
        readback,
        width: extent.width,
        height: extent.height,
        swap,
    })
}

fn read_memory(memory: &MemoryReader, buffer: &VideoBuffer) -> Result<Picture, String> {
    let mode = if buffer.tiled {
        SwizzleMode::Render64KX
    } else {
        SwizzleMode::Linear
    };
    let width = if buffer.tiled {
        buffer.width
    } else {
        buffer.pitch.max(buffer.width)
    };
    let layout = SurfaceLayout::new(SurfaceShape::flat(mode, 4, width, buffer.height, 0))
        .map_err(|error| error.to_string())?;
    let mut bytes = vec![0; layout.size() as usize];
    let range = GuestRange::new(buffer.address, layout.size());
    memory
        .read_bytes(range.start(), &mut bytes)
        .map_err(|error| error.to_string())?;
    let mut rows = vec![0; 4 * width as usize * buffer.height as usize];
    if !layout.detile(0, 0, &bytes, &mut rows) {
        return Err(format!("internal: {layout:?} does not fit {range}"));
    }
    let mut rgba = Vec::with_capacity(4 * buffer.width as usize * buffer.height as usize);
    for row in rows.chunks_exact(4 * width as usize) {
        rgba.extend_from_slice(&row[..4 * buffer.width as usize]);
    }
    let mut picture = Picture {
        width: buffer.width,
        height: buffer.height,
        rgba,
    };
    if buffer.format == VideoFormat::Bgra8Srgb {
        picture.swap_red_and_blue();
    }
    Ok(picture)
}

/// Hands pictures whose bytes have come to the writer. In the Poll stage.
pub(crate) fn poll_pictures(writer: Res<PictureWriter>, mut pending: ResMut<PendingPictures>) {
    pending.0.retain(|picture| match picture.readback.bytes() {
        Ok(bytes) => {
            let mut taken = Picture {
                width: picture.width,
                height: picture.height,
                rgba: bytes.to_vec(),
            };
            if picture.swap {
                taken.swap_red_and_blue();
            }
            writer.write(picture.path.clone(), taken);
            false
        }
        Err(_) => true,
    });
}

/// At the end: drains the GPU, and writes the screenshot of what is shown last. This is the one place that waits
/// for the GPU: nothing else runs any more.
pub(crate) fn close_pictures(
    gpu: Res<Gpu>,
    memory: Res<Memory>,
    images: Res<ImageStore>,
    request: Res<PictureRequest>,
    mut writer: ResMut<PictureWriter>,
    mut recording: ResMut<GpuRecording>,
    mut pending: ResMut<PendingPictures>,
    shown: Res<Shown>,
    mut faults: ResMut<Faults>,
) {
    if let Some(path) = &request.screenshot {
        let taken = match shown.0 {
            Some(buffer) => take_picture(&images, &memory.0.reader(), &mut recording, &buffer),
            None => Err("nothing was ever shown".to_owned()),
        };
        match taken {
            Ok(Taken::Now(picture)) => writer.write(path.clone(), picture),
            Ok(Taken::Later {
                readback,
                width,
                height,
                swap,
            }) => {
                recording.dirty = true;
                pending.0.push(PendingPicture {
                    path: path.clone(),
                    readback,
                    width,
                    height,
                    swap,
                });
            }
            Err(reason) => faults.0.push(format!("no screenshot: {reason}")),
        }
    }
    if recording.dirty {
        match recording.submit(&gpu.device) {
            Ok(value) => {
                if let Err(error) = gpu.device.wait(value, std::time::Duration::from_secs(10)) {
                    faults.0.push(format!("the GPU did not finish: {error}"));
                }
            }
            Err(error) => faults
                .0
                .push(format!("the last commands can't be submitted: {error}")),
        }
    }
    for picture in pending.0.drain(..) {
        match picture.readback.bytes() {
            Ok(bytes) => {
                let mut taken = Picture {
                    width: picture.width,
                    height: picture.height,
                    rgba: bytes.to_vec(),
                };
                if picture.swap {
                    taken.swap_red_and_blue();
                }
                writer.write(picture.path, taken);
            }
            Err(error) => faults
                .0
                .push(format!("no picture {}: {error}", picture.path.display())),
        }
    }
    faults.0.extend(writer.finish());
}
