//! Condition variables: a queue of the threads that wait, served first come, first served.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU32, Ordering},
};

use super::{
    mutex::{self, MutexPlace},
    place::Place,
    wait::{self, Deadline, Order, WaitQueue},
    word_lock::Locked,
};
use crate::{
    libkernel::time::{Timespec, left_on_clock},
    pointer::{In, Out, Text},
    result::{Errno, PthreadResult, SceResult},
};

/// A condition variable.
pub(crate) struct Condition {
    queue: Locked<WaitQueue<(), ()>>,
    /// Length of the queue: a signal that nobody waits for takes no lock.
    waiting: AtomicU32,
    /// The clock that absolute times are of, by FreeBSD's number.
    clock: u32,
}

/// Attributes of a condition variable.
#[derive(Clone, Copy)]
pub(crate) struct ConditionAttributes {
    clock: u32,
    shared: i32,
}

pub(crate) type ConditionPlace = Place<Condition>;
type AttributesPlace = Place<Cell<ConditionAttributes>>;

const REALTIME: u32 = 0;
/// Clocks that FreeBSD takes: real time, virtual time, profiling time, monotonic time. Those of the CPU make no sense for a
/// thread that sleeps.
const CLOCKS: [u32; 2] = [REALTIME, 4];

const DEFAULT: ConditionAttributes = ConditionAttributes {
    clock: REALTIME,
    shared: 0,
};

impl Condition {
    const fn new(attributes: ConditionAttributes) -> Self {
        Self {
            queue: Locked::new(WaitQueue::new(Order::First)),
            waiting: AtomicU32::new(0),
            clock: attributes.clock,
        }
    }

    fn wait(&self, mutex: MutexPlace, deadline: Deadline) -> Result<(), Errno> {
        let mutex = mutex::get(mutex)?;
        if !mutex.is_mine() {
            return Err(Errno::EPERM);
        }
        let ticket = {
            let mut queue = self.queue.lock();
            self.waiting.fetch_add(1, Ordering::SeqCst);
            queue.join(())
        };
        let depth = mutex.unlock_fully()?;
        let leave = || {
            let mut queue = self.queue.lock();
            let answer = queue.take(ticket);
            if answer.is_none() {
                queue.leave(ticket);
                self.waiting.fetch_sub(1, Ordering::SeqCst);
            }
            answer
        };
        let ended = wait::sleep_until(deadline, true, || self.queue.lock().take(ticket), leave);
        mutex.lock_again(depth);
        ended.map_err(wait::Stop::errno)
    }

    fn signal(&self) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let woken = {
            let mut queue = self.queue.lock();
            let woken = queue.answer_first(|()| Some(()));
            self.note_answered(usize::from(woken.is_some()));
            woken
        };
        if let Some(thread) = woken {
            thread.parker.unpark();
        }
    }

    fn broadcast(&self) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut queue = self.queue.lock();
        let count = queue.answer_each(|()| Some(()));
        self.note_answered(count);
    }

    fn note_answered(&self, count: usize) {
        self.waiting.fetch_sub(count as u32, Ordering::SeqCst);
    }
}

fn get(place: ConditionPlace) -> Result<&'static Condition, Errno> {
    place.get(|value| (value == 0).then(|| Condition::new(DEFAULT)))
}

fn init(place: ConditionPlace, attributes: AttributesPlace) -> Result<(), Errno> {
    let attributes = if attributes.is_null() {
        DEFAULT
    } else {
        attributes.get(|_| None)?.get()
    };
    place.set(Condition::new(attributes))
}

fn change(place: AttributesPlace, edit: impl FnOnce(&mut ConditionAttributes)) -> Result<(), Errno> {
    let cell = place.get(|_| None)?;
    let mut attributes = cell.get();
    edit(&mut attributes);
    cell.set(attributes);
    Ok(())
}

cancellable_pair! {
    /// Unlocks a mutex, waits to be signalled, and locks it again. A cancellation point.
    scePthreadCondWait, pthread_cond_wait(place: ConditionPlace, mutex: MutexPlace) {
        get(place)?.wait(mutex, Deadline::Never)
    }
}

cancellable! {
    /// Waits at most so many microseconds. A cancellation point.
    (libkernel) scePthreadCondTimedwait(place: ConditionPlace, mutex: MutexPlace, microseconds: u32) -> SceResult {
        get(place)?.wait(mutex, Deadline::after_microseconds(microseconds))
    }
    /// Waits at most until the time given, of the condition's clock. A cancellation point.
    (libkernel, libScePosix) pthread_cond_timedwait(place: ConditionPlace, mutex: MutexPlace, until: In<Timespec>) -> PthreadResult {
        let condition = get(place)?;
        let left = left_on_clock(condition.clock, until.read().ok_or(Errno::EINVAL)?)?;
        condition.wait(mutex, Deadline::after(left))
    }
    /// Waits at most so many microseconds. A cancellation point.
    (libkernel, libScePosix) pthread_cond_reltimedwait_np(place: ConditionPlace, mutex: MutexPlace, microseconds: u32) -> PthreadResult {
        get(place)?.wait(mutex, Deadline::after_microseconds(microseconds))
    }
}

pthread_pair! {
    /// Wakes the first that waits.
    scePthreadCondSignal, pthread_cond_signal(place: ConditionPlace) {
        get(place)?.signal();
        Ok(())
    }
    /// Wakes all that wait.
    scePthreadCondBroadcast, pthread_cond_broadcast(place: ConditionPlace) {
        get(place)?.broadcast();
        Ok(())
    }
    /// Wakes a certain thread, where it waits for this condition.
    scePthreadCondSignalto, pthread_cond_signalto_np(place: ConditionPlace, handle: u64) {
        let condition = get(place)?;
        let woken = {
            let mut queue = condition.queue.lock();
            let woken = queue.answer_thread(handle, ());
            condition.note_answered(usize::from(woken.is_some()));
            woken
        };
        if let Some(thread) = woken {
            thread.parker.unpark();
        }
        Ok(())
    }
    /// Destroys a condition variable; EBUSY while somebody waits.
    scePthreadCondDestroy, pthread_cond_destroy(place: ConditionPlace) {
        if place.existing()?.is_some_and(|condition| !condition.queue.lock().is_empty()) {
            return Err(Errno::EBUSY);
        }
        place.take().map(drop)
    }
    scePthreadCondattrInit, pthread_condattr_init(place: AttributesPlace) {
        place.set(Cell::new(DEFAULT))
    }
    scePthreadCondattrDestroy, pthread_condattr_destroy(place: AttributesPlace) {
        place.take()?.map(drop).ok_or(Errno::EINVAL)
    }
    /// Sets the clock that absolute times are of: real time (0) or monotonic time (4).
    scePthreadCondattrSetclock, pthread_condattr_setclock(place: AttributesPlace, clock: u32) {
        if !CLOCKS.contains(&clock) {
            return Err(Errno::EINVAL);
        }
        change(place, |attributes| attributes.clock = clock)
    }
    scePthreadCondattrGetclock, pthread_condattr_getclock(place: AttributesPlace, out: Out<u32>) {
        let clock = place.get(|_| None)?.get().clock;
        out.write(clock).then_some(()).ok_or(Errno::EINVAL)
    }
    /// There is one process: 0 alone.
    scePthreadCondattrSetpshared, pthread_condattr_setpshared(place: AttributesPlace, shared: i32) {
        if shared != 0 {
            return Err(Errno::EINVAL);
        }
        change(place, |attributes| attributes.shared = shared)
    }
    scePthreadCondattrGetpshared, pthread_condattr_getpshared(place: AttributesPlace, out: Out<i32>) {
        let shared = place.get(|_| None)?.get().shared;
        out.write(shared).then_some(()).ok_or(Errno::EINVAL)
    }
}

/// Creates a condition variable. Its name is for the console's debugger.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn scePthreadCondInit(
    place: ConditionPlace,
    attributes: AttributesPlace,
    _name: Text,
) -> SceResult {
    init(place, attributes).into()
}

/// Creates a condition variable.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn pthread_cond_init(
    place: ConditionPlace,
    attributes: AttributesPlace,
) -> PthreadResult {
    init(place, attributes).into()
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
