//! Waiting on a word of ours.

use std::{
    ptr,
    sync::atomic::AtomicU32,
    time::{Duration, Instant},
};

/// When a wait ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    Never,
    At(Instant),
}

impl Deadline {
    pub(crate) fn after(duration: Duration) -> Self {
        Instant::now().checked_add(duration).map_or(Self::Never, Self::At)
    }

    pub(crate) fn after_microseconds(microseconds: u32) -> Self {
        Self::after(Duration::from_micros(u64::from(microseconds)))
    }

    pub(crate) fn has_passed(self) -> bool {
        matches!(self, Self::At(instant) if Instant::now() >= instant)
    }

    /// What is left; `None` for ever.
    pub(crate) fn left(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::At(instant) => Some(instant.saturating_duration_since(Instant::now())),
        }
    }
}

/// Sleeps while `word` holds `expected`, at most until the deadline. May return early.
pub(crate) fn wait(word: &AtomicU32, expected: u32, deadline: Deadline) {
    let time = deadline.left().map(|left| libc::timespec {
        tv_sec: left.as_secs().cast_signed(),
        tv_nsec: i64::from(left.subsec_nanos()),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word outlives the call, and the time is null or ours.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            time,
        )
    };
}

/// Wakes at most `count` threads that wait on `word`.
pub(crate) fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: waking reads nothing.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            count,
        )
    };
}

/// Waits on a kernel object until `check` answers or the time is over. `timeout` points at microseconds, or is null
/// for ever; what is left is stored back. Gives the state back when the time is over.
pub(crate) fn wait_for<'a, S, T>(
    changed: &std::sync::Condvar,
    state: std::sync::MutexGuard<'a, S>,
    timeout: crate::pointer::Out<u32>,
    mut check: impl FnMut(&mut S) -> Option<T>,
) -> Result<T, std::sync::MutexGuard<'a, S>> {
    use std::sync::PoisonError;
    let deadline = timeout
        .read()
        .map_or(Deadline::Never, Deadline::after_microseconds);
    let mut state = state;
    loop {
        if let Some(answer) = check(&mut state) {
            if let Some(left) = deadline.left() {
                timeout.write(u32::try_from(left.as_micros()).unwrap_or(u32::MAX));
            }
            return Ok(answer);
        }
        state = match deadline.left() {
            None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(left) if left.is_zero() => {
                timeout.write(0);
                return Err(state);
            }
            Some(left) => {
                changed
                    .wait_timeout(state, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
    }
}
