//! Flips.

use relic_components::{
    message::Message,
    video::{FlipRequest, VideoHandle},
};
use relic_macros::guest_fn;

use super::{
    event::{self, Kind},
    output::{self, BUFFERS, Output, VideoError},
};
use crate::{
    libkernel::time::{sceKernelGetProcessTime, sceKernelReadTsc},
    log,
    result::SceResult,
    runtime,
};

/// Most flips that wait.
const QUEUE_LIMIT: usize = 16;
/// At the vertical blank; at the line; at the next possible line; with several variants in between.
const LAST_FLIP_MODE: u32 = 4;

/// Checks a flip and enters it among the pending ones, so that they count in the order of submission.
fn reserve(output: &Output, request: FlipRequest) -> Result<(), VideoError> {
    if request.mode == 0 || request.mode > LAST_FLIP_MODE {
        return Err(VideoError::InvalidFlipMode);
    }
    let mut state = output.lock();
    if request.buffer != -1 {
        let slot = usize::try_from(request.buffer)
            .ok()
            .filter(|index| *index < BUFFERS)
            .ok_or(VideoError::InvalidIndex)?;
        if state.buffers[slot].is_none() {
            return Err(VideoError::InvalidIndex);
        }
    }
    if state.pending.len() >= QUEUE_LIMIT {
        return Err(VideoError::FlipQueueFull);
    }
    state.pending.push_back(request);
    state.status.submit_tsc = sceKernelReadTsc();
    Ok(())
}

/// Reserves a flip that a command buffer asks for, when that is submitted.
pub(crate) fn reserve_for_queue(request: FlipRequest) -> Result<(), VideoError> {
    reserve(&*output::find(request.handle.0)?, request)
}

/// Takes a reservation back: what asked for the flip is not submitted.
pub(crate) fn cancel(request: FlipRequest) {
    if let Ok(output) = output::find(request.handle.0) {
        let mut state = output.lock();
        if let Some(index) = state.pending.iter().rposition(|pending| *pending == request) {
            state.pending.remove(index);
        }
    }
}

/// Asks for a flip once everything submitted before it is done.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutSubmitFlip(
    handle: i32,
    buffer: i32,
    mode: u32,
    argument: i64,
) -> SceResult {
    let request = FlipRequest {
        handle: VideoHandle(handle),
        buffer,
        mode,
        argument,
    };
    let body = || {
        let output = output::find(handle)?;
        reserve(&output, request)?;
        if runtime::send(Message::Flip(request)) {
            Ok(())
        } else {
            cancel(request);
            Err(VideoError::Fatal)
        }
    };
    body().into()
}

/// A flip is on screen. Called on the pump's thread.
pub(crate) fn flip_done(request: FlipRequest) {
    // Closed meanwhile: nobody asks any more.
    let Ok(output) = output::find(request.handle.0) else {
        return;
    };
    let mut state = output.lock();
    match state.pending.iter().position(|pending| *pending == request) {
        Some(index) => {
            if index != 0 {
                log::note(format_args!(
                    "VideoOut: flip {} came before {index} older ones",
                    request.argument
                ));
            }
            state.pending.remove(index);
        }
        None => log::note(format_args!(
            "VideoOut: flip {} was done twice or never asked for",
            request.argument
        )),
    }
    let status = &mut state.status;
    status.count += 1;
    status.process_time = sceKernelGetProcessTime();
    status.tsc = sceKernelReadTsc();
    status.argument = request.argument;
    status.current_buffer = request.buffer;
    let listeners = state.listeners.clone();
    drop(state);
    output.flipped.notify_all();
    event::fire(&listeners, Kind::Flip, request.argument);
}

/// How many flips are not done.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutIsFlipPending(handle: i32) -> SceResult {
    match output::find(handle) {
        Ok(output) => SceResult(output.lock().pending.len() as i32),
        Err(error) => error.into(),
    }
}

/// Sets how many vertical blanks a flip takes: 0 one, 1 two, 2 three.
#[guest_fn(
    libSceVideoOut,
    partial = "the rate is kept; every flip takes one vertical blank"
)]
pub(crate) extern "sysv64" fn sceVideoOutSetFlipRate(handle: i32, rate: i32) -> SceResult {
    match output::find(handle) {
        Ok(output) if (0..=2).contains(&rate) => {
            output.lock().flip_rate = rate;
            SceResult::OK
        }
        Ok(_) => VideoError::InvalidValue.into(),
        Err(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::event::*, super::output::open_for_test, super::status::*, *};
    use crate::{
        libkernel::equeue::*,
        pointer::{In, Out, Text},
    };

    fn request(handle: i32, buffer: i32, argument: i64) -> FlipRequest {
        FlipRequest {
            handle: VideoHandle(handle),
            buffer,
            mode: 1,
            argument,
        }
    }

    #[test]
    fn flips_are_counted_in_the_order_of_submission() {
        const HANDLE: i32 = 77;
        let output = open_for_test(HANDLE);
        assert_eq!(
            reserve_for_queue(request(HANDLE, 2, 0)),
            Err(VideoError::InvalidIndex)
        );
        assert_eq!(
            reserve_for_queue(request(78, 0, 0)),
            Err(VideoError::InvalidHandle)
        );
        for argument in 0..16 {
            assert_eq!(reserve_for_queue(request(HANDLE, 0, argument)), Ok(()));
        }
        assert_eq!(
            reserve_for_queue(request(HANDLE, 0, 16)),
            Err(VideoError::FlipQueueFull)
        );
        assert_eq!(sceVideoOutIsFlipPending(HANDLE), SceResult(16));
        cancel(request(HANDLE, 0, 15));
        for argument in 0..14 {
            flip_done(request(HANDLE, 0, argument));
        }
        let status = output.lock().status;
        assert_eq!(
            (status.count, status.argument, status.current_buffer),
            (14, 13, 0)
        );
        assert_eq!(sceVideoOutIsFlipPending(HANDLE), SceResult(1));
    }

    #[test]
    fn flip_events_carry_argument_and_count() {
        const HANDLE: i32 = 79;
        let _output = open_for_test(HANDLE);
        let mut handle = 0;
        // SAFETY: places of ours.
        let (out, name) = unsafe { (Out::new(&raw mut handle), Text::new(c"flips".as_ptr().cast())) };
        assert_eq!(sceKernelCreateEqueue(out, name), SceResult::OK);
        let queue = out.read().unwrap();
        assert_eq!(sceVideoOutAddFlipEvent(queue, HANDLE, 5), SceResult::OK);
        assert_eq!(
            sceVideoOutAddFlipEvent(999_999, HANDLE, 5),
            VideoError::InvalidEventQueue.into()
        );
        let take = || {
            let mut record = std::mem::MaybeUninit::<KernelEvent>::zeroed();
            let (mut count, mut timeout, mut argument) = (0, 0u32, 0i64);
            // SAFETY: places of ours.
            unsafe {
                let event = Out::new(record.as_mut_ptr());
                let (count, timeout) = (Out::new(&raw mut count), Out::new(&raw mut timeout));
                if sceKernelWaitEqueue(queue, event, 1, count, timeout) != SceResult::OK {
                    return None;
                }
                let event = In::new(record.as_ptr());
                assert_eq!(sceVideoOutGetEventId(event), SceResult(0));
                assert_eq!(
                    sceVideoOutGetEventData(event, Out::new(&raw mut argument)),
                    SceResult::OK
                );
                Some((
                    argument,
                    sceVideoOutGetEventCount(event).0,
                    sceKernelGetEventUserData(event),
                ))
            }
        };
        assert_eq!(take(), None);
        for (times, argument, seen) in [(1, -3, 1), (3, 7, 3), (20, 1 << 40, 15)] {
            for _ in 0..times {
                reserve_for_queue(request(HANDLE, 1, argument)).unwrap();
                flip_done(request(HANDLE, 1, argument));
            }
            assert_eq!(take(), Some((argument, seen, 5)));
            assert_eq!(take(), None, "taken once");
        }
        assert_eq!(sceVideoOutDeleteFlipEvent(queue, HANDLE), SceResult::OK);
        reserve_for_queue(request(HANDLE, 1, 1)).unwrap();
        flip_done(request(HANDLE, 1, 1));
        assert_eq!(take(), None);
    }

    #[test]
    fn a_fresh_output_has_shown_nothing() {
        let status = FlipStatus::default();
        assert_eq!(
            (status.count, status.argument, status.current_buffer),
            (0, -1, -1)
        );
    }
}
