//! Events of outputs, on equeues.

use relic_macros::guest_fn;

use super::output::{self, Listener, VideoError};
use crate::{
    libkernel::{
        equeue::{self, CLEAR, Filter, KernelEvent},
        time::sceKernelReadTsc,
    },
    pointer::{In, Out},
    result::SceResult,
};

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Kind {
    Flip = 6,
    Vblank = 7,
}

/// Fires an event on every queue that listens. Data: argument (bits 63:16), how often it fired since it was last
/// taken (15:12, at most 15), a few bits of time (11:0).
pub(super) fn fire(listeners: &[Listener], kind: Kind, argument: i64) {
    for listener in listeners.iter().filter(|listener| listener.kind == kind) {
        // A queue that was deleted listens no more.
        let Ok(queue) = equeue::find(listener.queue) else {
            continue;
        };
        queue.fire(kind as u64, Filter::VIDEO_OUT, |record, was_pending| {
            let before = if was_pending { record.data >> 12 & 15 } else { 0 };
            let time = (sceKernelReadTsc() & 0xfff).cast_signed();
            record.data = argument << 16 | (before + 1).min(15) << 12 | time;
        });
    }
}

fn add(queue: u64, handle: i32, user_data: u64, kind: Kind) -> Result<(), VideoError> {
    let output = output::find(handle)?;
    let equeue = equeue::find(queue).map_err(|_| VideoError::InvalidEventQueue)?;
    equeue.add(kind as u64, Filter::VIDEO_OUT, CLEAR, user_data);
    let mut state = output.lock();
    let listener = Listener { queue, kind };
    if !state.listeners.contains(&listener) {
        state.listeners.push(listener);
    }
    Ok(())
}

fn delete(queue: u64, handle: i32, kind: Kind) -> Result<(), VideoError> {
    let output = output::find(handle)?;
    let equeue = equeue::find(queue).map_err(|_| VideoError::InvalidEventQueue)?;
    output
        .lock()
        .listeners
        .retain(|other| *other != Listener { queue, kind });
    if equeue.remove(kind as u64, Filter::VIDEO_OUT) {
        Ok(())
    } else {
        Err(VideoError::InvalidEvent)
    }
}

/// Registers a queue for flips.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutAddFlipEvent(queue: u64, handle: i32, user_data: u64) -> SceResult {
    add(queue, handle, user_data, Kind::Flip).into()
}

/// Takes a queue out.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutDeleteFlipEvent(queue: u64, handle: i32) -> SceResult {
    delete(queue, handle, Kind::Flip).into()
}

/// Registers a queue for vertical blanks.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutAddVblankEvent(
    queue: u64,
    handle: i32,
    user_data: u64,
) -> SceResult {
    let added = add(queue, handle, user_data, Kind::Vblank);
    if added.is_ok() {
        super::vblank::start_events();
    }
    added.into()
}

/// Takes a queue out.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutDeleteVblankEvent(queue: u64, handle: i32) -> SceResult {
    delete(queue, handle, Kind::Vblank).into()
}

/// Which kind of event it is: 0 flip, 1 vertical blank.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutGetEventId(event: In<KernelEvent>) -> SceResult {
    match event.read() {
        None => VideoError::InvalidAddress.into(),
        Some(event) if event.filter != Filter::VIDEO_OUT => VideoError::InvalidEvent.into(),
        Some(event) if event.ident == Kind::Flip as u64 => SceResult(0),
        Some(event) if event.ident == Kind::Vblank as u64 => SceResult(1),
        Some(_) => VideoError::InvalidEvent.into(),
    }
}

/// Stores the event's argument: the flip's, with its sign.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutGetEventData(event: In<KernelEvent>, out: Out<i64>) -> SceResult {
    match event.read() {
        Some(event) if event.filter != Filter::VIDEO_OUT => VideoError::InvalidEvent.into(),
        Some(event) if out.write(event.data >> 16) => SceResult::OK,
        _ => VideoError::InvalidAddress.into(),
    }
}

/// How often the event fired since it was last taken.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutGetEventCount(event: In<KernelEvent>) -> SceResult {
    match event.read() {
        Some(event) if event.filter != Filter::VIDEO_OUT => VideoError::InvalidEvent.into(),
        Some(event) => SceResult((event.data >> 12 & 15) as i32),
        None => VideoError::InvalidAddress.into(),
    }
}
