//! Event queues: threads wait on one for events of many kinds.
//!
//! A source (a user trigger, a flip, the GPU) is registered with a queue under an identifier and a filter. When it
//! fires, its record becomes pending; a wait returns the pending records in the order in which they became so. A
//! source that fires again while pending updates its record.

use std::sync::Arc;

use relic_macros::guest_fn;

use super::handle::Handles;
use crate::{
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
    pub(crate) const USER: Self = Self(-11);
    pub(crate) const VIDEO_OUT: Self = Self(-13);
    pub(crate) const GRAPHICS: Self = Self(-14);
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

/// Record flag: set when registered.
const ADD: u16 = 1;
/// Record flag: goes back to waiting when returned.
pub(crate) const CLEAR: u16 = 0x20;

struct Source {
    record: KernelEvent,
    /// Place in the order of pending records; `None` while not pending.
    pending: Option<u64>,
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

    /// Registers a source; one that is registered gets the new user data.
    pub(crate) fn add(&self, ident: u64, filter: Filter, flags: u16, user_data: u64) {
        let mut state = self.lock();
        if let Some(source) = state.source(ident, filter) {
            source.record.user_data = user_data;
            source.record.flags = ADD | flags;
            return;
        }
        state.sources.push(Source {
            record: KernelEvent {
                ident,
                filter,
                flags: ADD | flags,
                filter_flags: 0,
                data: 0,
                user_data,
            },
            pending: None,
        });
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
        pending
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
            .collect()
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
