//! Condition variables: a counter that every signal advances, waited on by its value.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{
    mutex::{self, MutexPlace},
    place::Place,
    wait::{self, Deadline},
};
use crate::{
    libkernel::time::Timespec,
    pointer::{In, Text},
    result::{Errno, PthreadResult, SceResult},
};

/// A condition variable.
#[derive(Default)]
pub(crate) struct Condition {
    /// Advances with every signal: a waiter that saw the old value does not sleep.
    serial: AtomicU32,
    waiters: AtomicU32,
}

/// Attributes of a condition variable: none that matter here.
pub(crate) struct ConditionAttributes;

pub(crate) type ConditionPlace = Place<Condition>;
type AttributesPlace = Place<ConditionAttributes>;

fn get(place: ConditionPlace) -> Result<&'static Condition, Errno> {
    place.get(|value| (value == 0).then(Condition::default))
}

fn wait_on(place: ConditionPlace, mutex: MutexPlace, deadline: Deadline) -> Result<(), Errno> {
    let condition = get(place)?;
    let mutex = mutex::get(mutex)?;
    let serial = condition.serial.load(Ordering::Acquire);
    condition.waiters.fetch_add(1, Ordering::SeqCst);
    let depth = match mutex.unlock_fully() {
        Ok(depth) => depth,
        Err(error) => {
            condition.waiters.fetch_sub(1, Ordering::SeqCst);
            return Err(error);
        }
    };
    let mut timed_out = false;
    while condition.serial.load(Ordering::Acquire) == serial {
        if deadline.has_passed() {
            timed_out = true;
            break;
        }
        wait::wait(&condition.serial, serial, deadline);
    }
    condition.waiters.fetch_sub(1, Ordering::SeqCst);
    mutex.lock_again(depth);
    if timed_out { Err(Errno::ETIMEDOUT) } else { Ok(()) }
}

fn signal(place: ConditionPlace, count: i32) -> Result<(), Errno> {
    let condition = get(place)?;
    condition.serial.fetch_add(1, Ordering::SeqCst);
    if condition.waiters.load(Ordering::SeqCst) > 0 {
        // Every waiter that sleeps saw an older value and wakes by the kernel's own count.
        wait::wake(&condition.serial, count);
    }
    Ok(())
}

pthread_pair! {
    scePthreadCondWait, pthread_cond_wait(place: ConditionPlace, mutex: MutexPlace) {
        wait_on(place, mutex, Deadline::Never)
    }
    scePthreadCondSignal, pthread_cond_signal(place: ConditionPlace) {
        signal(place, 1)
    }
    scePthreadCondBroadcast, pthread_cond_broadcast(place: ConditionPlace) {
        signal(place, i32::MAX)
    }
    scePthreadCondDestroy, pthread_cond_destroy(place: ConditionPlace) {
        place.take().map(drop)
    }
    scePthreadCondattrInit, pthread_condattr_init(place: AttributesPlace) {
        place.set(ConditionAttributes)
    }
    scePthreadCondattrDestroy, pthread_condattr_destroy(place: AttributesPlace) {
        place.take().map(drop)
    }
}

/// Creates a condition variable. Its name is for the console's debugger.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadCondInit(
    place: ConditionPlace,
    _attributes: AttributesPlace,
    _name: Text,
) -> SceResult {
    place.set(Condition::default()).into()
}

/// Creates a condition variable.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_cond_init(
    place: ConditionPlace,
    _attributes: AttributesPlace,
) -> PthreadResult {
    place.set(Condition::default()).into()
}

/// Waits at most so many microseconds.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadCondTimedwait(
    place: ConditionPlace,
    mutex: MutexPlace,
    microseconds: u32,
) -> SceResult {
    wait_on(place, mutex, Deadline::after_microseconds(microseconds)).into()
}

/// Waits at most until the time given.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_cond_timedwait(
    place: ConditionPlace,
    mutex: MutexPlace,
    until: In<Timespec>,
) -> PthreadResult {
    let wait = || {
        let left = until.read().ok_or(Errno::EINVAL)?.left()?;
        wait_on(place, mutex, Deadline::after(left))
    };
    wait().into()
}

#[cfg(test)]
mod tests {
    use super::super::mutex::{pthread_mutex_lock, pthread_mutex_unlock};
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn zeroed() -> u64 {
        crate::pointer::address_of(Box::leak(Box::new(0u64)))
    }

    #[test]
    fn a_queue_of_one_passes_every_value() {
        let (mutex, full, empty) = (zeroed(), zeroed(), zeroed());
        let value = AtomicU64::new(0);
        let mut sum = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for next in 1..=2000 {
                    pthread_mutex_lock(Place::at(mutex));
                    while value.load(Ordering::Relaxed) != 0 {
                        assert_eq!(
                            pthread_cond_wait(Place::at(empty), Place::at(mutex)),
                            PthreadResult(0)
                        );
                    }
                    value.store(next, Ordering::Relaxed);
                    pthread_cond_signal(Place::at(full));
                    pthread_mutex_unlock(Place::at(mutex));
                }
            });
            for _ in 0..2000 {
                pthread_mutex_lock(Place::at(mutex));
                while value.load(Ordering::Relaxed) == 0 {
                    assert_eq!(
                        pthread_cond_wait(Place::at(full), Place::at(mutex)),
                        PthreadResult(0)
                    );
                }
                sum += value.swap(0, Ordering::Relaxed);
                pthread_cond_signal(Place::at(empty));
                pthread_mutex_unlock(Place::at(mutex));
            }
        });
        assert_eq!(sum, 2000 * 2001 / 2);
    }

    #[test]
    fn waits_time_out_and_need_the_mutex() {
        let (mutex, condition) = (zeroed(), zeroed());
        assert_eq!(
            scePthreadCondTimedwait(Place::at(condition), Place::at(mutex), 100),
            SceResult::code(0x8002_0001)
        );
        pthread_mutex_lock(Place::at(mutex));
        assert_eq!(
            scePthreadCondTimedwait(Place::at(condition), Place::at(mutex), 2000),
            SceResult::code(0x8002_003c)
        );
        assert_eq!(pthread_mutex_unlock(Place::at(mutex)), PthreadResult(0));
    }
}
