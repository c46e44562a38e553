//! What an output says of itself.

use relic_macros::guest_fn;

use super::{
    output::{self, VideoError},
    vblank,
};
use crate::{pointer::Out, result::SceResult};

/// Flip status: 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct FlipStatus {
    /// Flips done.
    pub(super) count: u64,
    /// When the last one was done, in microseconds of process time.
    pub(super) process_time: u64,
    /// The same in TSC ticks.
    pub(super) tsc: u64,
    /// The last one's argument; -1 before the first.
    pub(super) argument: i64,
    /// When the newest one was asked for, in TSC ticks.
    pub(super) submit_tsc: u64,
    reserved: u64,
    /// How many wait for the GPU.
    gpu_queue: i32,
    /// How many are not done.
    pending: i32,
    /// The buffer on screen; -1 before the first.
    pub(super) current_buffer: i32,
    reserved_end: u32,
}

impl Default for FlipStatus {
    fn default() -> Self {
        Self {
            count: 0,
            process_time: 0,
            tsc: 0,
            argument: -1,
            submit_tsc: 0,
            reserved: 0,
            gpu_queue: 0,
            pending: 0,
            current_buffer: -1,
            reserved_end: 0,
        }
    }
}

/// Stores the flip status.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutGetFlipStatus(handle: i32, out: Out<FlipStatus>) -> SceResult {
    let output = match output::find(handle) {
        Ok(output) => output,
        Err(error) => return error.into(),
    };
    let state = output.lock();
    let status = FlipStatus {
        pending: state.pending.len() as i32,
        ..state.status
    };
    drop(state);
    if out.write(status) {
        SceResult::OK
    } else {
        VideoError::InvalidAddress.into()
    }
}

/// Vertical blank status: 40 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct VblankStatus {
    count: u64,
    process_time: u64,
    tsc: u64,
    reserved: u64,
    flags: u8,
    padding: [u8; 7],
}

/// Stores the vertical blank status.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutGetVblankStatus(handle: i32, out: Out<VblankStatus>) -> SceResult {
    if let Err(error) = output::find(handle) {
        return error.into();
    }
    let last = vblank::last();
    let written = out.write(VblankStatus {
        count: last.count,
        process_time: last.process_time,
        tsc: crate::libkernel::time::sceKernelReadTsc(),
        reserved: 0,
        flags: 0,
        padding: [0; 7],
    });
    if written {
        SceResult::OK
    } else {
        VideoError::InvalidAddress.into()
    }
}

/// Resolution status: 48 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ResolutionStatus {
    width: u32,
    height: u32,
    pane_width: u32,
    pane_height: u32,
    /// 3: 59.94 Hz.
    refresh_rate: u64,
    screen_inches: f32,
    flags: u16,
    reserved: u16,
    reserved_end: [u32; 4],
}

/// Stores the resolution of the output: 1920 by 1080 at 59.94 Hz.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutGetResolutionStatus(
    handle: i32,
    out: Out<ResolutionStatus>,
) -> SceResult {
    if let Err(error) = output::find(handle) {
        return error.into();
    }
    let written = out.write(ResolutionStatus {
        width: 1920,
        height: 1080,
        pane_width: 1920,
        pane_height: 1080,
        refresh_rate: 3,
        screen_inches: 32.0,
        flags: 0,
        reserved: 0,
        reserved_end: [0; 4],
    });
    if written {
        SceResult::OK
    } else {
        VideoError::InvalidAddress.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_consoles_sizes() {
        assert_eq!(size_of::<FlipStatus>(), 64);
        assert_eq!(size_of::<VblankStatus>(), 40);
        assert_eq!(size_of::<ResolutionStatus>(), 48);
        assert_eq!(size_of::<super::super::buffer::BufferAttribute2>(), 80);
        assert_eq!(size_of::<super::super::buffer::BufferPlanes>(), 32);
    }
}
