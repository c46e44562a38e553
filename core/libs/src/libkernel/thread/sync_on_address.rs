//! Waiting on words of the guest's own memory.

use std::{
    collections::HashMap,
    sync::{
        LazyLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use relic_macros::guest_fn;

use super::{
    wait::{self, Order, WaitQueue},
    word_lock::Locked,
};
use crate::{
    pointer::{In, Out, Text},
    result::{Errno, SceResult},
};

/// Those who wait, by address.
static QUEUES: LazyLock<Locked<HashMap<u64, WaitQueue<(), ()>>>> = LazyLock::new(Locked::default);

/// Sleeps while the word at `address` is what was expected: `holds` looks. The word is looked at under the lock, so that a
/// wake-up behind its change is not missed.
fn wait_on(address: u64, holds: impl Fn() -> bool, timeout: In<u32>) -> Result<(), Errno> {
    // SAFETY: null, or the guest's number, which is only read.
    let deadline = wait::deadline_of(unsafe { Out::new(timeout.as_ptr().cast_mut()) });
    let ticket = {
        let mut queues = QUEUES.lock();
        if !holds() {
            return Ok(());
        }
        queues
            .entry(address)
            .or_insert_with(|| WaitQueue::new(Order::First))
            .join(())
    };
    let look = || QUEUES.lock().get_mut(&address)?.take(ticket);
    let leave = || {
        let mut queues = QUEUES.lock();
        let queue = queues.get_mut(&address)?;
        let answer = queue.take(ticket);
        queue.leave(ticket);
        answer
    };
    let ended = wait::sleep_until(deadline, false, look, leave);
    let mut queues = QUEUES.lock();
    if queues.get(&address).is_some_and(WaitQueue::is_unused) {
        queues.remove(&address);
    }
    ended.map_err(wait::Stop::errno)
}

fn check(address: u64, size: u64) -> Result<(), Errno> {
    if address == 0 || !address.is_multiple_of(size) {
        Err(Errno::EINVAL)
    } else {
        Ok(())
    }
}

fn wait_32(word: Out<u32>, expected: u32, timeout: In<u32>) -> Result<(), Errno> {
    check(word.address(), 4)?;
    // SAFETY: the guest's word, aligned; only loaded.
    let word_here = unsafe { AtomicU32::from_ptr(word.as_ptr()) };
    wait_on(
        word.address(),
        || word_here.load(Ordering::SeqCst) == expected,
        timeout,
    )
}

/// Sleeps while a word is `expected`, at most so many microseconds (null: for ever). 0 at once where it is another.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSyncOnAddressWait(
    word: Out<u32>,
    expected: u32,
    timeout: In<u32>,
    _name: Text,
) -> SceResult {
    wait_32(word, expected, timeout).into()
}

/// Sleeps while a word of 32 bits is `expected`.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSyncOnAddressWait32(
    word: Out<u32>,
    expected: u32,
    timeout: In<u32>,
) -> SceResult {
    wait_32(word, expected, timeout).into()
}

/// Sleeps while a word of 64 bits is `expected`.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSyncOnAddressWait64(
    word: Out<u64>,
    expected: u64,
    timeout: In<u32>,
) -> SceResult {
    let wait = || {
        check(word.address(), 8)?;
        // SAFETY: the guest's word, aligned; only loaded.
        let word_here = unsafe { AtomicU64::from_ptr(word.as_ptr()) };
        wait_on(
            word.address(),
            || word_here.load(Ordering::SeqCst) == expected,
            timeout,
        )
    };
    wait().into()
}

/// Wakes at most `count` of those who sleep on a word, the first first.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSyncOnAddressWake(word: Out<u32>, count: i32) -> SceResult {
    let wake = || {
        check(word.address(), 4)?;
        let mut left = usize::try_from(count).map_err(|_| Errno::EINVAL)?;
        if let Some(queue) = QUEUES.lock().get_mut(&word.address()) {
            queue.answer_each(|()| {
                left = left.checked_sub(1)?;
                Some(())
            });
        }
        Ok::<(), Errno>(())
    };
    wake().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeout(value: &u32) -> In<u32> {
        // SAFETY: a place of the test's.
        unsafe { In::new(value) }
    }

    #[test]
    fn words_are_compared_and_the_first_is_woken_first() {
        let word: &'static AtomicU32 = Box::leak(Box::new(AtomicU32::new(5)));
        // SAFETY: a word of the test's.
        let place = move || unsafe { Out::new(word.as_ptr()) };
        let (zero, short) = (0, 1000);
        assert_eq!(
            sceKernelSyncOnAddressWait32(place(), 4, timeout(&zero)),
            SceResult::OK
        );
        for limit in [&zero, &short] {
            assert_eq!(
                sceKernelSyncOnAddressWait32(place(), 5, timeout(limit)),
                SceResult::code(0x8002_003c)
            );
        }
        assert_eq!(
            sceKernelSyncOnAddressWake(place(), -1),
            SceResult::code(0x8002_0016)
        );
        assert_eq!(
            sceKernelSyncOnAddressWake(place().byte_add(1), 1),
            SceResult::code(0x8002_0016)
        );
        let order: &'static Locked<Vec<u32>> = Box::leak(Box::default());
        let waiting = || QUEUES.lock().get(&place().address()).map_or(0, WaitQueue::len);
        let threads: Vec<_> = (0..3)
            .map(|index| {
                let thread = std::thread::spawn(move || {
                    // SAFETY: null.
                    let result =
                        sceKernelSyncOnAddressWait32(place(), 5, unsafe { In::new(std::ptr::null()) });
                    order.lock().push(index);
                    result
                });
                while waiting() <= index as usize {
                    std::thread::yield_now();
                }
                thread
            })
            .collect();
        for count in 1..=3 {
            sceKernelSyncOnAddressWake(place(), 1);
            while order.lock().len() < count {
                std::thread::yield_now();
            }
        }
        assert_eq!(*order.lock(), [0, 1, 2]);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), SceResult::OK);
        }
        assert!(!QUEUES.lock().contains_key(&place().address()));
    }
}
