//! The clock: one thread that calls functions at their times. Timers of event queues and vertical blanks hang on it.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, MutexGuard, Once, PoisonError},
    time::Instant,
};

use crate::{log, result::Errno};

type Ring = Box<dyn FnOnce(Instant) + Send>;

/// Names an alarm: when it rings, and a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alarm {
    at: Instant,
    number: u64,
}

#[derive(Default)]
struct Schedule {
    alarms: BTreeMap<Alarm, Ring>,
    next: u64,
    runs: bool,
}

static SCHEDULE: Mutex<Schedule> = Mutex::new(Schedule {
    alarms: BTreeMap::new(),
    next: 0,
    runs: false,
});
static CHANGED: Condvar = Condvar::new();

fn schedule() -> MutexGuard<'static, Schedule> {
    SCHEDULE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `ring` at a time, on the clock's thread, with that time: it may be late. What it calls must not wait for anything.
/// ENOMEM where the host gives no thread.
pub(crate) fn set(at: Instant, ring: impl FnOnce(Instant) + Send + 'static) -> Result<Alarm, Errno> {
    static STARTED: Once = Once::new();
    STARTED.call_once(
        || match std::thread::Builder::new().name("clock".to_owned()).spawn(run) {
            Ok(_) => schedule().runs = true,
            Err(error) => log::warn(format_args!("no thread for timers and vertical blanks: {error}")),
        },
    );
    let mut schedule = schedule();
    if !schedule.runs {
        return Err(Errno::ENOMEM);
    }
    let alarm = Alarm {
        at,
        number: schedule.next,
    };
    schedule.next += 1;
    let is_first = schedule.alarms.keys().next().is_none_or(|first| at < first.at);
    schedule.alarms.insert(alarm, Box::new(ring));
    if is_first {
        CHANGED.notify_one();
    }
    Ok(alarm)
}

/// Takes an alarm back that has not rung. One that is ringing goes on.
pub(crate) fn cancel(alarm: Alarm) {
    let taken = schedule().alarms.remove(&alarm);
    drop(taken);
}

fn run() {
    // The host may be late by 50 µs otherwise, to wake once for several threads.
    // SAFETY: a number for the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let mut held = schedule();
    loop {
        let now = Instant::now();
        let Some((alarm, _)) = held.alarms.first_key_value() else {
            held = CHANGED.wait(held).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        if let Some(left) = alarm
            .at
            .checked_duration_since(now)
            .filter(|left| !left.is_zero())
        {
            held = CHANGED
                .wait_timeout(held, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            continue;
        }
        let first = held.alarms.pop_first();
        drop(held);
        if let Some((alarm, ring)) = first {
            ring(alarm.at);
        }
        held = schedule();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::*;

    #[test]
    fn alarms_ring_in_the_order_of_their_times_and_cancelled_ones_do_not() {
        let (sender, receiver) = mpsc::channel();
        let start = Instant::now();
        let ring = |milliseconds: u64| {
            let sender = sender.clone();
            let at = start + Duration::from_millis(milliseconds);
            set(at, move |at| {
                sender.send((milliseconds, at, Instant::now())).unwrap();
            })
            .unwrap()
        };
        ring(30);
        let cancelled = ring(20);
        ring(10);
        cancel(cancelled);
        ring(40);
        for expected in [10, 30, 40] {
            let (milliseconds, at, rang) = receiver.recv().unwrap();
            assert_eq!(milliseconds, expected);
            assert_eq!(at, start + Duration::from_millis(expected));
            assert!(rang >= at);
        }
    }
}
