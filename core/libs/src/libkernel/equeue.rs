//! Event queues: threads wait on one for events of many kinds.
//!
//! A source (a user trigger, a timer, a flip, the GPU) is registered with a queue under an identifier and a filter. When it
//! fires, its record becomes pending; a wait returns the pending records in the order in which they became so. A
//! source that fires again while pending updates its record.

use std::{sync::Arc, time::Duration};

use relic_macros::guest_fn;

use super::handle::Handles;
use crate::{
    clock,
    libkernel::thread::{
        wait::{self, Order, WaitQueue},
        word_lock::Locked,
    },
    pointer::{In, Out, Text},
    result::{Errno, SceResult},
};

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Filter(pub(crate) i16);

impl Filter {
    pub(crate) const TIMER: Self = Self(-7);
    pub(crate) const USER: Self = Self(-11);
    pub(crate) const VIDEO_OUT: Self = Self(-13);
    pub(crate) const GRAPHICS: Self = Self(-14);
    pub(crate) const HR_TIMER: Self = Self(-15);
}

/// The record that a wait returns: 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct KernelEvent {
    pub(crate) ident: u64,
    pub(crate) filter: Filter,
    pub(crate) flags: u16,
    pub(crate) filter_flags: u32,
    pub(crate) data: i64,
    pub(crate) user_data: u64,
}

/// Record flag: taken out when returned.
pub(crate) const ONE_SHOT: u16 = 0x10;
/// Record flag: goes back to waiting when returned.
pub(crate) const CLEAR: u16 = 0x20;

struct Source {
    record: KernelEvent,
    /// Place in the order of pending records; `None` while not pending.
    pending: Option<u64>,
    /// Of one that time fires.
    timer: Option<Timer>,
}

/// When a source fires by itself.
#[derive(Debug)]
pub(super) struct Timer {
    /// Tells it from one that was there before under the same name.
    pub(super) number: u64,
    /// From one time to the next; not looked at for one that fires once.
    pub(super) period: Duration,
    /// The next time; `None` once it fires no more.
    pub(super) alarm: Option<clock::Alarm>,
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(alarm) = self.alarm {
            clock::cancel(alarm);
        }
    }
}

struct State {
    sources: Vec<Source>,
    next: u64,
    waiting: WaitQueue<(), ()>,
    deleted: bool,
}

/// An event queue.
pub(crate) struct Equeue {
    state: Locked<State>,
}

static QUEUES: Handles<Equeue> = Handles::new();

/// The queue with this handle.
pub(crate) fn find(handle: u64) -> Result<Arc<Equeue>, Errno> {
    QUEUES.get(handle).ok_or(Errno::EBADF)
}

impl Equeue {
    fn lock(
        &self,
    ) -> parking_lot::lock_api::MutexGuard<'_, crate::libkernel::thread::word_lock::WordLock, State> {
        self.state.lock()
    }

    /// Registers a source; one that is registered gets the new user data and stays as it is else.
    pub(crate) fn add(&self, ident: u64, filter: Filter, flags: u16, user_data: u64) {
        let mut state = self.lock();
        match state.source(ident, filter) {
            Some(source) => source.record.user_data = user_data,
            None => state.insert(ident, filter, flags, user_data, None),
        }
    }

    /// Registers a timer that `start` sets, by the number it gets. One that is registered gets the new user data and, from its
    /// next time on, the new period.
    pub(super) fn add_timer(
        &self,
        ident: u64,
        filter: Filter,
        flags: u16,
        user_data: u64,
        period: Duration,
        start: impl FnOnce(u64) -> Result<Timer, Errno>,
    ) -> Result<(), Errno> {
        let mut state = self.lock();
        if state.deleted {
            return Err(Errno::EBADF);
        }
        if let Some(source) = state.source(ident, filter) {
            source.record.user_data = user_data;
            if let Some(timer) = &mut source.timer {
                timer.period = period;
            }
            return Ok(());
        }
        let number = state.next;
        state.next += 1;
        let timer = start(number)?;
        state.insert(ident, filter, flags, user_data, Some(timer));
        Ok(())
    }

    /// Fires the timer with this number. `again` gets the period of one that goes on, says how often it went off, and sets the next
    /// time.
    pub(super) fn fire_timer(
        &self,
        ident: u64,
        filter: Filter,
        number: u64,
        again: impl FnOnce(Duration) -> (i64, Option<clock::Alarm>),
    ) {
        let mut state = self.lock();
        let next = state.next;
        let Some(source) = state.source(ident, filter) else {
            return;
        };
        let Some(timer) = source.timer.as_mut().filter(|timer| timer.number == number) else {
            return;
        };
        let times = if source.record.flags & ONE_SHOT != 0 {
            timer.alarm = None;
            1
        } else {
            let (times, alarm) = again(timer.period);
            timer.alarm = alarm;
            times
        };
        source.record.data += times;
        if source.pending.is_none() {
            source.pending = Some(next);
            state.next += 1;
        }
        state.waiting.wake_all();
    }

    /// Takes a source out. False when it is not there.
    pub(crate) fn remove(&self, ident: u64, filter: Filter) -> bool {
        let mut state = self.lock();
        let before = state.sources.len();
        state
            .sources
            .retain(|source| (source.record.ident, source.record.filter) != (ident, filter));
        state.sources.len() < before
    }

    /// Fires a source: `update` gets its record and whether that was pending already. False when it is not there.
    pub(crate) fn fire(
        &self,
        ident: u64,
        filter: Filter,
        update: impl FnOnce(&mut KernelEvent, bool),
    ) -> bool {
        let mut state = self.lock();
        let next = state.next;
        let Some(source) = state.source(ident, filter) else {
            return false;
        };
        let was_pending = source.pending.is_some();
        update(&mut source.record, was_pending);
        if !was_pending {
            source.pending = Some(next);
            state.next += 1;
        }
        state.waiting.wake_all();
        true
    }
}

impl State {
    fn insert(&mut self, ident: u64, filter: Filter, flags: u16, user_data: u64, timer: Option<Timer>) {
        self.sources.push(Source {
            record: KernelEvent {
                ident,
                filter,
                flags,
                filter_flags: 0,
                data: 0,
                user_data,
            },
            pending: None,
            timer,
        });
    }

    fn source(&mut self, ident: u64, filter: Filter) -> Option<&mut Source> {
        self.sources
            .iter_mut()
            .find(|source| (source.record.ident, source.record.filter) == (ident, filter))
    }

    /// Takes at most `limit` pending records, oldest first.
    fn take(&mut self, limit: usize) -> Vec<KernelEvent> {
        let mut pending: Vec<&mut Source> = self
            .sources
            .iter_mut()
            .filter(|source| source.pending.is_some())
            .collect();
        pending.sort_by_key(|source| source.pending);
        let taken: Vec<KernelEvent> = pending
            .into_iter()
            .take(limit)
            .map(|source| {
                let record = source.record;
                if record.flags & CLEAR != 0 {
                    source.pending = None;
                    source.record.data = 0;
                    source.record.filter_flags = 0;
                }
                record
            })
            .collect();
        for record in taken.iter().filter(|record| record.flags & ONE_SHOT != 0) {
            self.sources.retain(|source| {
                (source.record.ident, source.record.filter) != (record.ident, record.filter)
            });
        }
        taken
    }
}

/// Creates an event queue.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelCreateEqueue(out: Out<u64>, name: Text) -> SceResult {
    if out.is_null() || name.is_null() {
        return Errno::EINVAL.sce();
    }
    if name.bytes(32).is_some_and(|name| name.len() > 31) {
        return Errno::ENAMETOOLONG.sce();
    }
    out.write(QUEUES.insert(Equeue {
        state: Locked::new(State {
            sources: Vec::new(),
            next: 0,
            waiting: WaitQueue::new(Order::First),
            deleted: false,
        }),
    }));
    SceResult::OK
}

/// Destroys an event queue; who waits gets EBADF.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDeleteEqueue(handle: u64) -> SceResult {
    match QUEUES.remove(handle) {
        Some(queue) => {
            let mut state = queue.lock();
            state.deleted = true;
            // Timers stop.
            state.sources.clear();
            state.waiting.wake_all();
            SceResult::OK
        }
        None => Errno::EBADF.sce(),
    }
}

fn wait(
    handle: u64,
    events: Out<KernelEvent>,
    limit: i32,
    count: Out<i32>,
    timeout: Out<u32>,
) -> Result<(), Errno> {
    let queue = find(handle)?;
    if events.is_null() {
        return Err(Errno::EFAULT);
    }
    let limit = usize::try_from(limit).map_err(|_| Errno::EINVAL)?;
    if limit == 0 {
        return Err(Errno::EINVAL);
    }
    let deadline = wait::deadline_of(timeout);
    let look = || {
        let mut state = queue.lock();
        if state.deleted {
            return Some(Err(Errno::EBADF));
        }
        let taken = state.take(limit);
        (!taken.is_empty()).then_some(Ok(taken))
    };
    let ended = match look() {
        Some(answer) => Ok(answer),
        None => {
            let ticket = queue.lock().waiting.join(());
            let ended = wait::sleep_until(deadline, false, look, || None);
            queue.lock().waiting.leave(ticket);
            ended
        }
    };
    match ended.unwrap_or_else(|stop| Err(stop.errno())) {
        Ok(taken) => {
            for (index, record) in taken.iter().enumerate() {
                events.write_at(index, *record);
            }
            count.write(taken.len() as i32);
            Ok(())
        }
        Err(error) => {
            count.write(0);
            Err(error)
        }
    }
}

/// Waits for events. `timeout` in microseconds: null waits for ever, 0 polls; ETIMEDOUT and a count of 0 when none
/// came.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelWaitEqueue(
    handle: u64,
    events: Out<KernelEvent>,
    limit: i32,
    count: Out<i32>,
    timeout: Out<u32>,
) -> SceResult {
    wait(handle, events, limit, count, timeout).into()
}

/// Identifier of an event.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetEventId(event: In<KernelEvent>) -> u64 {
    event.read().map_or(0, |event| event.ident)
}

/// Filter of an event.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetEventFilter(event: In<KernelEvent>) -> i32 {
    event.read().map_or(0, |event| i32::from(event.filter.0))
}

/// Data of an event.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetEventData(event: In<KernelEvent>) -> i64 {
    event.read().map_or(0, |event| event.data)
}

/// Filter flags of an event.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetEventFflags(event: In<KernelEvent>) -> u32 {
    event.read().map_or(0, |event| event.filter_flags)
}

/// User data of an event.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetEventUserData(event: In<KernelEvent>) -> u64 {
    event.read().map_or(0, |event| event.user_data)
}
