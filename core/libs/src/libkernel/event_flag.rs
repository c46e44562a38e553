//! Event flags: sets of 64 bits that threads wait on.

use std::sync::Arc;

use relic_macros::guest_fn;

use super::handle::Handles;
use crate::{
    libkernel::thread::{
        wait::{self, Order, WaitQueue},
        word_lock::Locked,
    },
    pointer::{Opaque, Out, Text},
    result::{Errno, SceResult},
};

/// An event flag.
struct EventFlag {
    state: Locked<State>,
    /// Whether only one thread may wait at a time.
    single: bool,
}

struct State {
    bits: u64,
    queue: WaitQueue<Want, Answer>,
    deleted: bool,
}

/// What a thread waits for.
struct Want {
    pattern: u64,
    mode: Mode,
}

/// How a wait ended, with the bits as they were.
type Answer = (Result<(), Errno>, u64);

static FLAGS: Handles<EventFlag> = Handles::new();

/// Attributes: queue order (1 first come, 2 priority) and how many may wait (0x10 one, 0x20 many).
const ORDER: u32 = 3;
const PRIORITY: u32 = 2;
const SINGLE: u32 = 0x10;
const MULTI: u32 = 0x20;
const NAME_LIMIT: usize = 31;

/// How a wait is satisfied, and what it clears.
#[derive(Clone, Copy, Debug)]
struct Mode {
    all: bool,
    clear_all: bool,
    clear_pattern: bool,
}

impl Mode {
    const fn from_bits(bits: u32) -> Result<Self, Errno> {
        let all = match bits & 0xf {
            1 => true,
            2 => false,
            _ => return Err(Errno::EINVAL),
        };
        match bits & !0xf {
            0 | 0x10 | 0x20 => Ok(Self {
                all,
                clear_all: bits & 0x10 != 0,
                clear_pattern: bits & 0x20 != 0,
            }),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The bits as they were when they satisfied the wait.
    fn take(self, bits: &mut u64, pattern: u64) -> Option<u64> {
        let before = *bits;
        let satisfied = if self.all {
            before & pattern == pattern
        } else {
            before & pattern != 0
        };
        if !satisfied {
            return None;
        }
        if self.clear_all {
            *bits = 0;
        } else if self.clear_pattern {
            *bits &= !pattern;
        }
        Some(before)
    }
}

fn find(handle: u64) -> Result<Arc<EventFlag>, Errno> {
    FLAGS.get(handle).ok_or(Errno::ESRCH)
}

/// Creates an event flag. `attributes`: waiters are served first come first served (1) or by priority (2); one (0x10) or many
/// (0x20) may wait.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelCreateEventFlag(
    out: Out<u64>,
    name: Text,
    attributes: u32,
    bits: u64,
    options: Opaque,
) -> SceResult {
    let valid = !out.is_null()
        && !name.is_null()
        && options.is_null()
        && attributes & !(ORDER | SINGLE | MULTI) == 0
        && attributes & ORDER != ORDER
        && attributes & (SINGLE | MULTI) != SINGLE | MULTI;
    if !valid {
        return Errno::EINVAL.sce();
    }
    if name
        .bytes(NAME_LIMIT + 1)
        .is_some_and(|name| name.len() > NAME_LIMIT)
    {
        return Errno::ENAMETOOLONG.sce();
    }
    let order = if attributes & ORDER == PRIORITY {
        Order::Priority
    } else {
        Order::First
    };
    out.write(FLAGS.insert(EventFlag {
        state: Locked::new(State {
            bits,
            queue: WaitQueue::new(order),
            deleted: false,
        }),
        single: attributes & MULTI == 0,
    }));
    SceResult::OK
}

fn wait(handle: u64, pattern: u64, mode: u32, out: Out<u64>, timeout: Out<u32>) -> Result<(), Errno> {
    let flag = find(handle)?;
    let mode = Mode::from_bits(mode)?;
    if pattern == 0 {
        return Err(Errno::EINVAL);
    }
    let deadline = wait::deadline_of(timeout);
    let ticket = {
        let mut state = flag.state.lock();
        if state.deleted {
            return Err(Errno::ESRCH);
        }
        if flag.single && !state.queue.is_empty() {
            return Err(Errno::EPERM);
        }
        if let Some(bits) = mode.take(&mut state.bits, pattern) {
            out.write(bits);
            wait::store_left(timeout, deadline);
            return Ok(());
        }
        if deadline.has_passed() {
            out.write(state.bits);
            return Err(Errno::ETIMEDOUT);
        }
        state.queue.join(Want { pattern, mode })
    };
    let look = || flag.state.lock().queue.take(ticket);
    let leave = || {
        let mut state = flag.state.lock();
        let answer = state.queue.take(ticket);
        state.queue.leave(ticket);
        answer
    };
    let ended = wait::sleep_until(deadline, false, look, leave);
    wait::store_left(timeout, deadline);
    let (result, bits) = ended.unwrap_or_else(|stop| (Err(stop.errno()), flag.state.lock().bits));
    out.write(bits);
    result
}

/// Waits for bits. Stores the bits as they were; `timeout` in microseconds, null for ever; what is left is stored back.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelWaitEventFlag(
    handle: u64,
    pattern: u64,
    mode: u32,
    out: Out<u64>,
    timeout: Out<u32>,
) -> SceResult {
    wait(handle, pattern, mode, out, timeout).into()
}

/// Takes bits if they are there; EBUSY otherwise.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelPollEventFlag(
    handle: u64,
    pattern: u64,
    mode: u32,
    out: Out<u64>,
) -> SceResult {
    let poll = || {
        let flag = find(handle)?;
        let mode = Mode::from_bits(mode)?;
        if pattern == 0 {
            return Err(Errno::EINVAL);
        }
        let mut state = flag.state.lock();
        let before = state.bits;
        let taken = mode.take(&mut state.bits, pattern);
        out.write(before);
        taken.map(|_| ()).ok_or(Errno::EBUSY)
    };
    poll().into()
}

/// Sets bits. Whoever they satisfy has them from here on, whatever is cleared before it runs.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSetEventFlag(handle: u64, bits: u64) -> SceResult {
    let set = || {
        let flag = find(handle)?;
        let mut state = flag.state.lock();
        let State { bits: now, queue, .. } = &mut *state;
        *now |= bits;
        queue.answer_each(|want| {
            let before = want.mode.take(now, want.pattern)?;
            Some((Ok(()), before))
        });
        Ok::<(), Errno>(())
    };
    set().into()
}

/// Keeps only the bits given.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelClearEventFlag(handle: u64, bits: u64) -> SceResult {
    find(handle).map(|flag| flag.state.lock().bits &= bits).into()
}

/// Sends everyone away who waits, and sets the bits.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelCancelEventFlag(
    handle: u64,
    bits: u64,
    waiters: Out<i32>,
) -> SceResult {
    let cancel = || {
        let flag = find(handle)?;
        let mut state = flag.state.lock();
        state.bits = bits;
        let sent = state.queue.answer_each(|_| Some((Err(Errno::ECANCELED), bits)));
        waiters.write(sent as i32);
        Ok::<(), Errno>(())
    };
    cancel().into()
}

/// Destroys an event flag; who waits gets EACCES.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDeleteEventFlag(handle: u64) -> SceResult {
    match FLAGS.remove(handle) {
        Some(flag) => {
            let mut state = flag.state.lock();
            state.deleted = true;
            let bits = state.bits;
            state.queue.answer_each(|_| Some((Err(Errno::EACCES), bits)));
            SceResult::OK
        }
        None => Errno::ESRCH.sce(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn create(attributes: u32, bits: u64) -> u64 {
        let mut handle = 0;
        // SAFETY: places of ours.
        let (out, name) = unsafe { (Out::new(&raw mut handle), Text::new(c"test".as_ptr().cast())) };
        assert_eq!(
            sceKernelCreateEventFlag(out, name, attributes, bits, std::ptr::null_mut()),
            SceResult::OK
        );
        out.read().unwrap()
    }

    fn poll(flag: u64, pattern: u64, mode: u32) -> (i32, u64) {
        let mut bits = 0;
        // SAFETY: a place of ours.
        let out = unsafe { Out::new(&raw mut bits) };
        let result = sceKernelPollEventFlag(flag, pattern, mode, out);
        (result.0, out.read().unwrap())
    }

    const EBUSY: i32 = 0x8002_0010_u32 as i32;

    #[test]
    fn modes_decide_what_satisfies_and_what_is_cleared() {
        for (bits, pattern, mode, answer, left) in [
            (0b0110, 0b0010, 1, 0, 0b0110),
            (0b0110, 0b1010, 1, EBUSY, 0b0110),
            (0b0110, 0b1010, 2, 0, 0b0110),
            (0b0110, 0b1010, 2 | 0x10, 0, 0),
            (0b0110, 0b1010, 2 | 0x20, 0, 0b0100),
            (0b0110, 0b1001, 2, EBUSY, 0b0110),
        ] {
            let flag = create(0x21, bits);
            assert_eq!(
                poll(flag, pattern, mode),
                (answer, bits),
                "{bits:b} {pattern:b} {mode:x}"
            );
            assert_eq!(poll(flag, u64::MAX, 2).1, left, "{bits:b} {pattern:b} {mode:x}");
            sceKernelDeleteEventFlag(flag);
        }
    }

    #[test]
    fn waiters_wake_and_single_flags_take_one() {
        // SAFETY: null.
        let null = || unsafe { (Out::new(std::ptr::null_mut()), Out::new(std::ptr::null_mut())) };
        let flag = create(0x11, 0);
        let waiter = move || {
            let (out, timeout) = null();
            sceKernelWaitEventFlag(flag, 4, 1, out, timeout)
        };
        let first = std::thread::spawn(waiter);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(waiter(), SceResult::code(0x8002_0001));
        sceKernelSetEventFlag(flag, 2);
        std::thread::sleep(Duration::from_millis(10));
        assert!(!first.is_finished());
        sceKernelSetEventFlag(flag, 4);
        assert_eq!(first.join().unwrap(), SceResult::OK);
        sceKernelClearEventFlag(flag, 2);
        let cancelled = std::thread::spawn(waiter);
        std::thread::sleep(Duration::from_millis(20));
        // SAFETY: null.
        sceKernelCancelEventFlag(flag, 0, unsafe { Out::new(std::ptr::null_mut()) });
        assert_eq!(cancelled.join().unwrap(), SceResult::code(0x8002_0055));
        let deleted = std::thread::spawn(waiter);
        std::thread::sleep(Duration::from_millis(20));
        sceKernelDeleteEventFlag(flag);
        assert_eq!(deleted.join().unwrap(), SceResult::code(0x8002_000d));
    }
}
