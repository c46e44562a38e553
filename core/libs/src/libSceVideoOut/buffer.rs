//! Scan-out buffers.

use relic_components::{
    message::Message,
    video::{VideoBuffer, VideoFormat},
};
use relic_core::{GuestAddress, GuestRange};
use relic_macros::guest_fn;

use super::output::{self, BUFFERS, Output, Registered, VideoError};
use crate::{
    log,
    pointer::{In, Opaque, Out},
    process,
    result::SceResult,
    runtime,
};

/// What buffers of a set have in common, as newer programs say it: 80 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct BufferAttribute2 {
    reserved: u32,
    /// 0 tiled, 1 linear.
    tiling: u32,
    aspect: u32,
    width: u32,
    height: u32,
    pitch: u32,
    option: u64,
    format: u64,
    dcc_clear_colour: u64,
    dcc_control: u32,
    padding: u32,
    reserved_end: [u64; 3],
}

/// The same, as older programs say it: 36 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct BufferAttribute {
    format: u32,
    tiling: u32,
    aspect: u32,
    width: u32,
    height: u32,
    pitch: u32,
    option: u32,
    reserved: [u32; 2],
}

/// One buffer of a set: 32 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct BufferPlanes {
    data: u64,
    metadata: u64,
    reserved: [u64; 2],
}

const TILED: u32 = 0;
const LINEAR: u32 = 1;

/// A set's properties, checked.
#[derive(Clone, Copy, Debug)]
struct Shape {
    format: VideoFormat,
    tiled: bool,
    width: u32,
    height: u32,
    pitch: u32,
}

impl Shape {
    fn new(
        format: VideoFormat,
        tiling: u32,
        width: u32,
        height: u32,
        pitch: u32,
    ) -> Result<Self, VideoError> {
        let tiled = match tiling {
            TILED => true,
            LINEAR => false,
            other => {
                log::warn(format_args!("VideoOut: tiling mode {other} is unknown"));
                return Err(VideoError::InvalidTilingMode);
            }
        };
        if width == 0 || height == 0 || width > 7680 || height > 4320 {
            return Err(VideoError::InvalidResolution);
        }
        let pitch = if pitch == 0 { width } else { pitch };
        if pitch < width {
            return Err(VideoError::InvalidPitch);
        }
        Ok(Self {
            format,
            tiled,
            width,
            height,
            pitch,
        })
    }

    /// Bytes of a buffer.
    const fn size(self) -> u64 {
        if self.tiled {
            // 64 KiB blocks of 128 by 128 pixels.
            let blocks = self.width.div_ceil(128) as u64 * self.height.div_ceil(128) as u64;
            blocks * 0x1_0000
        } else {
            self.pitch as u64 * self.height as u64 * 4
        }
    }
}

/// Fills an attribute record.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutSetBufferAttribute2(
    out: Out<BufferAttribute2>,
    format: u64,
    tiling: u32,
    width: u32,
    height: u32,
    option: u64,
    dcc_control: u32,
    dcc_clear_colour: u64,
) {
    out.write(BufferAttribute2 {
        reserved: 0,
        tiling,
        aspect: 0,
        width,
        height,
        pitch: 0,
        option,
        format,
        dcc_clear_colour,
        dcc_control,
        padding: 0,
        reserved_end: [0; 3],
    });
}

/// Fills an attribute record of the older kind.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutSetBufferAttribute(
    out: Out<BufferAttribute>,
    format: u32,
    tiling: u32,
    aspect: u32,
    width: u32,
    height: u32,
    pitch: u32,
) {
    out.write(BufferAttribute {
        format,
        tiling,
        aspect,
        width,
        height,
        pitch,
        option: 0,
        reserved: [0; 2],
    });
}

fn unknown_format(number: u64) -> VideoError {
    log::warn(format_args!(
        "VideoOut: pixel format {number:#x} is not supported (8-bit BGRA and RGBA with the sRGB curve are)"
    ));
    VideoError::InvalidPixelFormat
}

/// Puts buffers into slots from `first` on and tells the runtime.
fn register(
    output: &Output,
    set: i32,
    first: i32,
    addresses: &[u64],
    shape: Shape,
) -> Result<(), VideoError> {
    let first = usize::try_from(first).map_err(|_| VideoError::InvalidValue)?;
    if addresses.is_empty() || first + addresses.len() > BUFFERS {
        return Err(VideoError::InvalidValue);
    }
    let reader = process::memory().reader();
    for address in addresses {
        let range = GuestRange::new(GuestAddress(*address), shape.size());
        if !reader.is_mapped(range) {
            log::warn(format_args!("VideoOut: scan-out buffer {range} is not mapped"));
            return Err(VideoError::InvalidMemory);
        }
    }
    drop(reader);
    let buffers: Vec<VideoBuffer> = addresses
        .iter()
        .map(|address| VideoBuffer {
            address: GuestAddress(*address),
            format: shape.format,
            tiled: shape.tiled,
            width: shape.width,
            height: shape.height,
            pitch: shape.pitch,
        })
        .collect();
    let mut state = output.lock();
    let slots = &mut state.buffers[first..first + addresses.len()];
    if slots.iter().any(Option::is_some) {
        return Err(VideoError::SlotOccupied);
    }
    slots.fill(Some(Registered { set }));
    drop(state);
    let sent = runtime::send(Message::BuffersRegistered {
        handle: output.handle,
        first: first as u32,
        buffers,
    });
    if sent { Ok(()) } else { Err(VideoError::Fatal) }
}

/// Registers a set of buffers.
#[guest_fn(
    libSceVideoOut,
    partial = "8-bit BGRA and RGBA only; compressed buffers are read as uncompressed"
)]
pub(crate) extern "sysv64" fn sceVideoOutRegisterBuffers2(
    handle: i32,
    set: i32,
    first: i32,
    buffers: In<BufferPlanes>,
    count: i32,
    attribute: In<BufferAttribute2>,
    _category: i32,
    _option: Opaque,
) -> SceResult {
    let body = || {
        let output = output::find(handle)?;
        let attribute = attribute.read().ok_or(VideoError::InvalidAddress)?;
        let count = usize::try_from(count).map_err(|_| VideoError::InvalidValue)?;
        let buffers = buffers
            .read_many(count.min(BUFFERS + 1))
            .ok_or(VideoError::InvalidAddress)?;
        let format = match attribute.format {
            0x8000_0000_0000_0000 => VideoFormat::Bgra8Srgb,
            0x8000_0000_2200_0000 => VideoFormat::Rgba8Srgb,
            other => return Err(unknown_format(other)),
        };
        let shape = Shape::new(
            format,
            attribute.tiling,
            attribute.width,
            attribute.height,
            attribute.pitch,
        )?;
        let addresses: Vec<u64> = buffers.iter().map(|buffer| buffer.data).collect();
        register(&output, set, first, &addresses, shape)
    };
    body().into()
}

/// Registers a set of buffers, the older way. Returns the set's number.
#[guest_fn(libSceVideoOut, partial = "8-bit BGRA and RGBA only")]
pub(crate) extern "sysv64" fn sceVideoOutRegisterBuffers(
    handle: i32,
    first: i32,
    addresses: In<u64>,
    count: i32,
    attribute: In<BufferAttribute>,
) -> SceResult {
    let body = || {
        let output = output::find(handle)?;
        let attribute = attribute.read().ok_or(VideoError::InvalidAddress)?;
        let count = usize::try_from(count).map_err(|_| VideoError::InvalidValue)?;
        let addresses = addresses
            .read_many(count.min(BUFFERS + 1))
            .ok_or(VideoError::InvalidAddress)?;
        let format = match attribute.format {
            0x8000_0000 => VideoFormat::Bgra8Srgb,
            0x8000_2200 => VideoFormat::Rgba8Srgb,
            other => return Err(unknown_format(u64::from(other))),
        };
        let shape = Shape::new(
            format,
            attribute.tiling,
            attribute.width,
            attribute.height,
            attribute.pitch,
        )?;
        let set = {
            let state = output.lock();
            let used = state.buffers.iter().flatten().map(|registered| registered.set);
            used.max().map_or(0, |set| set + 1)
        };
        register(&output, set, first, &addresses, shape)?;
        Ok(set)
    };
    match body() {
        Ok(set) => SceResult(set),
        Err(error) => error.into(),
    }
}

/// Takes a set of buffers out.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutUnregisterBuffers(handle: i32, set: i32) -> SceResult {
    let body = || {
        let output = output::find(handle)?;
        let mut state = output.lock();
        let mut found = false;
        for slot in &mut state.buffers {
            if slot.is_some_and(|registered| registered.set == set) {
                *slot = None;
                found = true;
            }
        }
        if found {
            Ok(())
        } else {
            Err(VideoError::InvalidValue)
        }
    };
    body().into()
}
