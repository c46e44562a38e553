//! A lock in one word, on which the host's kernel lets threads sleep: free, held, or held while others sleep. It never spins
//! and never yields: a holder that was preempted is not helped by either.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::lock_api::{self, GuardSend};

use super::wait::{self, Deadline};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// The lock.
#[derive(Debug)]
pub(crate) struct WordLock(AtomicU32);

/// Data behind such a lock.
pub(crate) type Locked<T> = lock_api::Mutex<WordLock, T>;

impl WordLock {
    /// An open lock.
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    #[inline]
    pub(crate) fn try_acquire(&self) -> bool {
        self.0
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Waits for it; false when the deadline has passed. `woken` is called whenever the sleep ends, the lock not held.
    #[cold]
    pub(crate) fn acquire_slowly(&self, deadline: Deadline, mut woken: impl FnMut()) -> bool {
        while self.0.swap(CONTENDED, Ordering::Acquire) != FREE {
            if deadline.has_passed() {
                return false;
            }
            wait::wait(&self.0, CONTENDED, deadline);
            woken();
        }
        true
    }

    /// Opens it. Only its holder may.
    #[inline]
    pub(crate) fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) == CONTENDED {
            wait::wake(&self.0, 1);
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.0.load(Ordering::Relaxed) != FREE
    }
}

// SAFETY: one thread at a time leaves `lock` or a `try_lock` that says true, until `unlock`.
unsafe impl lock_api::RawMutex for WordLock {
    const INIT: Self = Self::new();
    type GuardMarker = GuardSend;

    #[inline]
    fn lock(&self) {
        if !self.try_acquire() {
            self.acquire_slowly(Deadline::Never, || ());
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.try_acquire()
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_thread_at_a_time_holds_it() {
        static COUNT: Locked<u64> = Locked::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        *COUNT.lock() += 1;
                    }
                });
            }
        });
        assert_eq!(*COUNT.lock(), 80_000);
        let lock = WordLock::new();
        assert!(lock.try_acquire() && !lock.try_acquire() && lock.is_held());
        assert!(!lock.acquire_slowly(Deadline::after(Duration::from_millis(2)), || ()));
        lock.release();
        assert!(lock.try_acquire());
    }
}
