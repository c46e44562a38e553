//! The vertical blank: a clock at 59.94 Hz that starts with the process.

use std::{sync::Once, time::Duration};

use relic_macros::guest_fn;

use super::{
    event::{self, Kind},
    output,
};
use crate::{clock, log, process, result::SceResult};

/// Time from one blank to the next: 1001/60 ms, in nanoseconds.
const PERIOD: u64 = 16_683_333;

/// The last blank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blank {
    pub(super) count: u64,
    /// When it was, in microseconds of process time.
    pub(super) process_time: u64,
}

pub(super) fn last() -> Blank {
    let count = process::started().elapsed().as_nanos() as u64 / PERIOD;
    Blank {
        count,
        process_time: count * PERIOD / 1000,
    }
}

fn sleep_until_next() {
    let now = process::started().elapsed().as_nanos() as u64;
    std::thread::sleep(Duration::from_nanos(PERIOD - now % PERIOD));
}

/// Waits for the next vertical blank.
#[guest_fn(libSceVideoOut)]
pub(crate) extern "sysv64" fn sceVideoOutWaitVblank(handle: i32) -> SceResult {
    match output::find(handle) {
        Ok(_) => {
            sleep_until_next();
            SceResult::OK
        }
        Err(error) => error.into(),
    }
}

/// Starts to fire vertical blank events.
pub(super) fn start_events() {
    static STARTED: Once = Once::new();
    STARTED.call_once(fire_at_next);
}

fn fire_at_next() {
    let next = process::started() + Duration::from_nanos((last().count + 1) * PERIOD);
    let set = clock::set(next, |_| {
        for output in output::all() {
            let listeners = output.lock().listeners.clone();
            event::fire(&listeners, Kind::Vblank, last().count.cast_signed());
        }
        fire_at_next();
    });
    if set.is_err() {
        log::warn(format_args!("no clock: there are no vertical blank events"));
    }
}
