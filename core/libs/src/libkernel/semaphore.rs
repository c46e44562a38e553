//! Counting semaphores.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use relic_macros::guest_fn;

use super::handle::Handles;
use crate::{
    libkernel::thread::wait_for,
    pointer::{Opaque, Out, Text},
    result::{Errno, SceResult},
};

/// A semaphore.
struct Semaphore {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    count: i32,
    initial: i32,
    maximum: i32,
    /// Who waits, in the order they are served.
    queue: VecDeque<Waiter>,
    next_ticket: u64,
    /// Tickets that got what they wait for.
    granted: Vec<u64>,
    /// Advances when everyone who waits is sent away.
    cancelled: u64,
    deleted: bool,
}

struct Waiter {
    ticket: u64,
    need: i32,
}

static SEMAPHORES: Handles<Semaphore> = Handles::new();

/// Attribute bits: waiters are served first come first served, or by priority.
const FIFO: u32 = 1;
const PRIORITY: u32 = 2;
/// Longest name in bytes.
const NAME_LIMIT: usize = 31;

impl Semaphore {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Serves waiters from the front as far as the count reaches.
    fn serve(&mut self) {
        while let Some(first) = self.queue.front() {
            if first.need > self.count {
                return;
            }
            self.count -= first.need;
            self.granted.push(first.ticket);
            self.queue.pop_front();
        }
    }

    fn take_grant(&mut self, ticket: u64) -> bool {
        match self.granted.iter().position(|granted| *granted == ticket) {
            Some(index) => {
                self.granted.swap_remove(index);
                true
            }
            None => false,
        }
    }
}

fn find(handle: u64) -> Result<std::sync::Arc<Semaphore>, Errno> {
    SEMAPHORES.get(handle).ok_or(Errno::ESRCH)
}

/// Creates a semaphore.
#[guest_fn(
    libkernel,
    partial = "waiters are served first come first served, also where priority order is asked for"
)]
pub(crate) extern "sysv64" fn sceKernelCreateSema(
    out: Out<u64>,
    name: Text,
    attributes: u32,
    initial: i32,
    maximum: i32,
    options: Opaque,
) -> SceResult {
    let valid = !out.is_null()
        && !name.is_null()
        && options.is_null()
        && attributes & !(FIFO | PRIORITY) == 0
        && attributes != FIFO | PRIORITY
        && (0..=maximum).contains(&initial)
        && maximum > 0;
    if !valid {
        return Errno::EINVAL.sce();
    }
    if name
        .bytes(NAME_LIMIT + 1)
        .is_some_and(|name| name.len() > NAME_LIMIT)
    {
        return Errno::ENAMETOOLONG.sce();
    }
    out.write(SEMAPHORES.insert(Semaphore {
        state: Mutex::new(State {
            count: initial,
            initial,
            maximum,
            queue: VecDeque::new(),
            next_ticket: 0,
            granted: Vec::new(),
            cancelled: 0,
            deleted: false,
        }),
        changed: Condvar::new(),
    }));
    SceResult::OK
}

fn wait(handle: u64, need: i32, timeout: Out<u32>) -> Result<(), Errno> {
    let semaphore = find(handle)?;
    let mut state = semaphore.lock();
    if need < 1 || need > state.maximum {
        return Err(Errno::EINVAL);
    }
    if state.queue.is_empty() && state.count >= need {
        state.count -= need;
        return Ok(());
    }
    let ticket = state.next_ticket;
    state.next_ticket += 1;
    state.queue.push_back(Waiter { ticket, need });
    let cancelled = state.cancelled;
    wait_for(&semaphore.changed, state, timeout, |state| {
        if state.take_grant(ticket) {
            Some(Ok(()))
        } else if state.deleted {
            Some(Err(Errno::EACCES))
        } else if state.cancelled != cancelled {
            Some(Err(Errno::ECANCELED))
        } else {
            None
        }
    })
    .unwrap_or_else(|mut state| {
        state.queue.retain(|waiter| waiter.ticket != ticket);
        // Whoever stood behind may fit now.
        state.serve();
        semaphore.changed.notify_all();
        Err(Errno::ETIMEDOUT)
    })
}

/// Takes `need`, waiting for it. `timeout` in microseconds, null for ever; what is left is stored back.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelWaitSema(handle: u64, need: i32, timeout: Out<u32>) -> SceResult {
    wait(handle, need, timeout).into()
}

/// Takes `need` if it is there; EBUSY otherwise.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelPollSema(handle: u64, need: i32) -> SceResult {
    let poll = || {
        let semaphore = find(handle)?;
        let mut state = semaphore.lock();
        if need < 1 || need > state.maximum {
            return Err(Errno::EINVAL);
        }
        if !state.queue.is_empty() || state.count < need {
            return Err(Errno::EBUSY);
        }
        state.count -= need;
        Ok(())
    };
    poll().into()
}

/// Gives `count`; EINVAL beyond the maximum.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSignalSema(handle: u64, count: i32) -> SceResult {
    let signal = || {
        let semaphore = find(handle)?;
        let mut state = semaphore.lock();
        let sum = state.count.checked_add(count).ok_or(Errno::EINVAL)?;
        if count < 1 || sum > state.maximum {
            return Err(Errno::EINVAL);
        }
        state.count = sum;
        state.serve();
        semaphore.changed.notify_all();
        Ok(())
    };
    signal().into()
}

/// Sends everyone away who waits, and sets the count (below 0: the initial one).
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelCancelSema(handle: u64, count: i32, waiters: Out<i32>) -> SceResult {
    let cancel = || {
        let semaphore = find(handle)?;
        let mut state = semaphore.lock();
        if count > state.maximum {
            return Err(Errno::EINVAL);
        }
        state.count = if count < 0 { state.initial } else { count };
        waiters.write(state.queue.len() as i32);
        state.queue.clear();
        state.cancelled += 1;
        semaphore.changed.notify_all();
        Ok(())
    };
    cancel().into()
}

/// Destroys a semaphore; who waits gets EACCES.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDeleteSema(handle: u64) -> SceResult {
    match SEMAPHORES.remove(handle) {
        Some(semaphore) => {
            semaphore.lock().deleted = true;
            semaphore.changed.notify_all();
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn create(initial: i32, maximum: i32) -> u64 {
        let mut handle = 0;
        // SAFETY: places of ours.
        let (out, name) = unsafe { (Out::new(&raw mut handle), Text::new(c"test".as_ptr().cast())) };
        assert_eq!(
            sceKernelCreateSema(out, name, 1, initial, maximum, std::ptr::null_mut()),
            SceResult::OK
        );
        out.read().unwrap()
    }

    fn forever() -> Out<u32> {
        // SAFETY: null.
        unsafe { Out::new(std::ptr::null_mut()) }
    }

    #[test]
    fn counts_and_times_out() {
        let semaphore = create(2, 3);
        assert_eq!(sceKernelWaitSema(semaphore, 2, forever()), SceResult::OK);
        assert_eq!(sceKernelPollSema(semaphore, 1), SceResult::code(0x8002_0010));
        let mut left = 2000u32;
        // SAFETY: a place of ours.
        let timeout = unsafe { Out::new(&raw mut left) };
        assert_eq!(
            sceKernelWaitSema(semaphore, 1, timeout),
            SceResult::code(0x8002_003c)
        );
        assert_eq!(timeout.read(), Some(0));
        assert_eq!(sceKernelSignalSema(semaphore, 4), SceResult::code(0x8002_0016));
        assert_eq!(sceKernelSignalSema(semaphore, 3), SceResult::OK);
        assert_eq!(sceKernelPollSema(semaphore, 3), SceResult::OK);
        assert_eq!(sceKernelDeleteSema(semaphore), SceResult::OK);
        assert_eq!(sceKernelPollSema(semaphore, 1), SceResult::code(0x8002_0003));
    }

    #[test]
    fn waiters_are_served_in_order_cancelled_and_refused_on_delete() {
        let semaphore = create(0, 10);
        let waiter = |need| std::thread::spawn(move || sceKernelWaitSema(semaphore, need, forever()));
        let big = waiter(5);
        std::thread::sleep(Duration::from_millis(20));
        let small = waiter(1);
        std::thread::sleep(Duration::from_millis(20));
        sceKernelSignalSema(semaphore, 4);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!small.is_finished(), "the first in the queue comes first");
        sceKernelSignalSema(semaphore, 2);
        assert_eq!(big.join().unwrap(), SceResult::OK);
        assert_eq!(small.join().unwrap(), SceResult::OK);

        let cancelled = waiter(1);
        std::thread::sleep(Duration::from_millis(20));
        let mut count = 0;
        // SAFETY: a place of ours.
        let waiters = unsafe { Out::new(&raw mut count) };
        assert_eq!(sceKernelCancelSema(semaphore, -1, waiters), SceResult::OK);
        assert_eq!(waiters.read(), Some(1));
        assert_eq!(cancelled.join().unwrap(), SceResult::code(0x8002_0055));

        let deleted = waiter(1);
        std::thread::sleep(Duration::from_millis(20));
        sceKernelDeleteSema(semaphore);
        assert_eq!(deleted.join().unwrap(), SceResult::code(0x8002_000d));
    }
}
