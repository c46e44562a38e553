//! Timers as events.
//!
//! The rules are those of FreeBSD 9's `EVFILT_TIMER`: a timer's data counts how often it went off since it was last taken; a
//! wait takes it; to register it again gives it other user data at once and another period from its next time on. The kernel
//! counts the periods of plain timers in whole milliseconds, at least one. A high-resolution timer goes off once, and is gone when
//! it is taken.

use std::{
    sync::Weak,
    time::{Duration, Instant},
};

use relic_macros::guest_fn;

use super::{
    equeue::{self, CLEAR, Equeue, Filter, ONE_SHOT, Timer},
    time::Timespec,
};
use crate::{
    clock,
    pointer::In,
    result::{Errno, SceResult},
};

/// Rings at a time for the timer that has this number in its queue.
fn set(
    queue: Weak<Equeue>,
    ident: u64,
    filter: Filter,
    number: u64,
    at: Instant,
) -> Result<clock::Alarm, Errno> {
    clock::set(at, move |at| {
        // A queue that was deleted has taken its alarms back; this one was ringing already.
        let Some(found) = queue.upgrade() else { return };
        found.fire_timer(ident, filter, number, |period| {
            // All that were missed are counted.
            let late = Instant::now().saturating_duration_since(at);
            let missed = (late.as_nanos() / period.as_nanos().max(1)) as u32;
            let next = at + period * (missed + 1);
            (
                i64::from(missed) + 1,
                set(Weak::clone(&queue), ident, filter, number, next).ok(),
            )
        });
    })
}

fn add(
    handle: u64,
    id: i32,
    filter: Filter,
    flags: u16,
    period: Duration,
    user_data: u64,
) -> Result<(), Errno> {
    let queue = equeue::find(handle)?;
    let at = Instant::now().checked_add(period).ok_or(Errno::EINVAL)?;
    let weak = std::sync::Arc::downgrade(&queue);
    queue.add_timer(id as u64, filter, flags, user_data, period, |number| {
        set(weak, id as u64, filter, number, at).map(|alarm| Timer {
            number,
            period,
            alarm: Some(alarm),
        })
    })
}

fn delete(handle: u64, id: i32, filter: Filter) -> Result<(), Errno> {
    equeue::find(handle)?
        .remove(id as u64, filter)
        .then_some(())
        .ok_or(Errno::ENOENT)
}

/// Registers a timer that goes off every so many microseconds.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelAddTimerEvent(
    handle: u64,
    id: i32,
    microseconds: u32,
    user_data: u64,
) -> SceResult {
    let period = Duration::from_millis(u64::from(microseconds / 1000).max(1));
    add(handle, id, Filter::TIMER, CLEAR, period, user_data).into()
}

/// Takes a timer out. ENOENT where there is none.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDeleteTimerEvent(handle: u64, id: i32) -> SceResult {
    delete(handle, id, Filter::TIMER).into()
}

/// Registers a timer that goes off once, after a time. EINVAL for a time that is none.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelAddHRTimerEvent(
    handle: u64,
    id: i32,
    time: In<Timespec>,
    user_data: u64,
) -> SceResult {
    let add = || {
        let time = time.read().ok_or(Errno::EINVAL)?.duration()?;
        add(handle, id, Filter::HR_TIMER, CLEAR | ONE_SHOT, time, user_data)
    };
    add().into()
}

/// Takes a high-resolution timer out. ENOENT where there is none, also where it went off and was taken.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDeleteHRTimerEvent(handle: u64, id: i32) -> SceResult {
    delete(handle, id, Filter::HR_TIMER).into()
}
