//! Opening and closing outputs.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use relic_components::{
    message::Message,
    video::{FlipRequest, VideoHandle},
};
use relic_macros::guest_fn;

use super::status::FlipStatus;
use crate::{pointer::Opaque, result::SceResult, runtime};

/// Error codes of this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum VideoError {
    InvalidValue = 0x8029_0001,
    InvalidAddress = 0x8029_0002,
    InvalidPixelFormat = 0x8029_0003,
    InvalidPitch = 0x8029_0004,
    InvalidResolution = 0x8029_0005,
    InvalidFlipMode = 0x8029_0006,
    InvalidTilingMode = 0x8029_0007,
    ResourceBusy = 0x8029_0009,
    InvalidIndex = 0x8029_000a,
    InvalidHandle = 0x8029_000b,
    InvalidEventQueue = 0x8029_000c,
    InvalidEvent = 0x8029_000d,
    SlotOccupied = 0x8029_0010,
    FlipQueueFull = 0x8029_0012,
    InvalidMemory = 0x8029_0013,
    Fatal = 0x8029_00ff,
}

impl From<VideoError> for SceResult {
    fn from(error: VideoError) -> Self {
        Self::code(error as u32)
    }
}

/// Most buffers of an output.
pub(super) const BUFFERS: usize = 16;

/// A registered buffer: the number of the set it came with. What it looks like is the runtime's business.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registered {
    pub(super) set: i32,
}

/// An equeue that hears of this output's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Listener {
    pub(super) queue: u64,
    pub(super) kind: super::event::Kind,
}

/// What an output is doing.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) buffers: [Option<Registered>; BUFFERS],
    /// Flips asked for and not yet done, in the order of submission.
    pub(super) pending: VecDeque<FlipRequest>,
    pub(super) status: FlipStatus,
    pub(super) flip_rate: i32,
    pub(super) listeners: Vec<Listener>,
}

/// An open output.
#[derive(Debug)]
pub(crate) struct Output {
    pub(super) handle: VideoHandle,
    state: Mutex<State>,
    /// A flip is done.
    pub(super) flipped: Condvar,
}

impl Output {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static OUTPUTS: Mutex<BTreeMap<i32, Arc<Output>>> = Mutex::new(BTreeMap::new());

/// Handles begin at 1.
const FIRST_HANDLE: i32 = 1;
/// The television.
const BUS_MAIN: i32 = 0;

fn outputs() -> MutexGuard<'static, BTreeMap<i32, Arc<Output>>> {
    OUTPUTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The output with this handle.
pub(crate) fn find(handle: i32) -> Result<Arc<Output>, VideoError> {
    outputs().get(&handle).cloned().ok_or(VideoError::InvalidHandle)
}

/// Every open output.
pub(super) fn all() -> Vec<Arc<Output>> {
    outputs().values().cloned().collect()
}

fn open(bus: i32, index: i32) -> Result<i32, VideoError> {
    if bus != BUS_MAIN || index != 0 {
        return Err(VideoError::InvalidValue);
    }
    let handle = {
        let mut outputs = outputs();
        if !outputs.is_empty() {
            return Err(VideoError::ResourceBusy);
        }
        let handle = FIRST_HANDLE;
        outputs.insert(
            handle,
            Arc::new(Output {
                handle: VideoHandle(handle),
                state: Mutex::default(),
                flipped: Condvar::new(),
            }),
        );
        handle
    };
    if !runtime::send(Message::VideoOpened(VideoHandle(handle))) {
        outputs().remove(&handle);
        return Err(VideoError::Fatal);
    }
    Ok(handle)
}

/// An open output without a runtime behind it, with two buffers.
#[cfg(test)]
pub(super) fn open_for_test(handle: i32) -> Arc<Output> {
    let output = Arc::new(Output {
        handle: VideoHandle(handle),
        state: Mutex::default(),
        flipped: Condvar::new(),
    });
    output.lock().buffers[..2].fill(Some(Registered { set: 0 }));
    outputs().insert(handle, Arc::clone(&output));
    output
}

/// Opens an output. Returns its handle, above 0.
#[guest_fn(libSceVideoOut, partial = "the main output only")]
pub(crate) extern "sysv64" fn sceVideoOutOpen(
    _user: i32,
    bus: i32,
    index: i32,
    _parameters: Opaque,
) -> SceResult {
    match open(bus, index) {
        Ok(handle) => SceResult(handle),
        Err(error) => error.into(),
    }
}

/// Closes an output. Flips that are not done are dropped.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutClose(handle: i32) -> SceResult {
    let Some(output) = outputs().remove(&handle) else {
        return VideoError::InvalidHandle.into();
    };
    output.lock().pending.clear();
    output.flipped.notify_all();
    // A runtime that has shut down shows nothing anyway.
    runtime::send(Message::VideoClosed(output.handle));
    SceResult::OK
}
