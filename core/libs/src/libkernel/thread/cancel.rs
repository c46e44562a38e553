//! Cancellation, with FreeBSD's rules.
//!
//! A request is a bit of its target. It is acted on when the target reaches a cancellation point with cancellation enabled:
//! waiting for a condition, a POSIX semaphore or a thread's end, sleeping, or asking. The thread then ends as by
//! `scePthreadExit` with the value 1: its clean-up handlers run, the newest first, then the destructors of its keys. Nothing
//! is cancelled again meanwhile.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

use relic_macros::guest_fn;

use super::{Thread, by_handle, current, lifetime};
use crate::{pointer::Out, report, result::Errno};

/// Bits of a thread's cancellation word.
const PENDING: u32 = 1;
const DISABLED: u32 = 2;
const ASYNCHRONOUS: u32 = 4;
/// The thread ends: no point cancels it any more.
const ENDING: u32 = 8;

/// What a thread's cancellation is.
#[derive(Debug, Default)]
pub(super) struct CancelWord(AtomicU32);

/// Whether any thread was ever asked to end: a look at one word is all that a cancellation point costs before.
static EVER: AtomicBool = AtomicBool::new(false);

/// What joining a cancelled thread gives.
const CANCELLED: u64 = 1;

/// Cancellation states and types, as FreeBSD numbers them.
const ENABLE: i32 = 0;
const DISABLE: i32 = 1;
const DEFERRED: i32 = 0;
const ASYNC: i32 = 2;

type Routine = extern "sysv64" fn(u64);

thread_local! {
    /// Clean-up handlers of the calling thread, the newest last.
    static CLEANUP: RefCell<Vec<(Routine, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Whether a thread is to be cancelled at a cancellation point.
pub(super) fn is_due(thread: &Thread) -> bool {
    thread.cancel.0.load(Ordering::Acquire) & (PENDING | DISABLED | ENDING) == PENDING
}

/// Acts on a request, if there is one. The caller's frames must own nothing.
#[inline]
pub(crate) fn test() {
    if EVER.load(Ordering::Relaxed) {
        test_slowly();
    }
}

fn test_slowly() {
    if super::own().is_some_and(is_due) {
        lifetime::exit_thread(CANCELLED)
    }
}

/// Marks that the calling thread ends, and runs its clean-up handlers. False when it was ending already.
pub(super) fn begin_end(thread: &Thread) -> bool {
    if thread.cancel.0.fetch_or(ENDING, Ordering::AcqRel) & ENDING != 0 {
        return false;
    }
    // One at a time: a handler may push and pop others.
    while let Some((routine, argument)) = CLEANUP.with(|cleanup| cleanup.borrow_mut().pop()) {
        routine(argument);
    }
    true
}

/// Sets and clears bits, and returns what was there.
fn change(clear: u32, set: u32) -> u32 {
    let thread = current();
    let word = &thread.cancel.0;
    let mut old = word.load(Ordering::Relaxed);
    while let Err(now) =
        word.compare_exchange_weak(old, old & !clear | set, Ordering::AcqRel, Ordering::Relaxed)
    {
        old = now;
    }
    old
}

fn set_state(state: i32, out: Out<i32>) -> Result<(), Errno> {
    let old = match state {
        // What is pending waits for the next cancellation point.
        ENABLE => change(DISABLED, 0),
        DISABLE => change(0, DISABLED),
        _ => return Err(Errno::EINVAL),
    };
    out.write(if old & DISABLED != 0 { DISABLE } else { ENABLE });
    Ok(())
}

fn set_type(kind: i32, out: Out<i32>) -> Result<(), Errno> {
    let old = match kind {
        DEFERRED => change(ASYNCHRONOUS, 0),
        ASYNC => change(0, ASYNCHRONOUS),
        _ => return Err(Errno::EINVAL),
    };
    out.write(if old & ASYNCHRONOUS != 0 { ASYNC } else { DEFERRED });
    if kind == ASYNC {
        test();
    }
    Ok(())
}

pthread_pair! {
    /// Asks a thread to end at its next cancellation point.
    scePthreadCancel, pthread_cancel(handle: u64) {
        let thread = by_handle(handle).ok_or(Errno::ESRCH)?;
        EVER.store(true, Ordering::SeqCst);
        thread.cancel.0.fetch_or(PENDING, Ordering::AcqRel);
        thread.parker.unpark();
        Ok(())
    }
    /// Enables (0) or disables (1) cancellation of the calling thread, and stores what it was. A pending request waits for the
    /// next cancellation point.
    scePthreadSetcancelstate, pthread_setcancelstate(state: i32, out: Out<i32>) {
        set_state(state, out)
    }
}

/// Sets the calling thread's cancellation type, deferred (0) or asynchronous (2), and stores what it was.
#[guest_fn(
    libkernel,
    partial = "an asynchronous request, too, is acted on at the next cancellation point"
)]
pub(crate) extern "sysv64" fn scePthreadSetcanceltype(kind: i32, out: Out<i32>) -> crate::result::SceResult {
    set_type(kind, out).into()
}

/// Sets the calling thread's cancellation type, deferred (0) or asynchronous (2), and stores what it was.
#[guest_fn(
    libkernel,
    libScePosix,
    partial = "an asynchronous request, too, is acted on at the next cancellation point"
)]
pub(crate) extern "sysv64" fn pthread_setcanceltype(
    kind: i32,
    out: Out<i32>,
) -> crate::result::PthreadResult {
    set_type(kind, out).into()
}

/// A cancellation point.
#[guest_fn(libkernel, libScePosix, also = "pthread_testcancel")]
pub(crate) extern "sysv64" fn scePthreadTestcancel() {
    test();
}

/// Pushes a clean-up handler. The block behind it is the console's own, and not needed.
#[guest_fn(libkernel, libScePosix, also = "pthread_cleanup_push")]
pub(crate) extern "sysv64" fn __pthread_cleanup_push_imp(
    routine: Option<Routine>,
    argument: u64,
    _block: u64,
) {
    match routine {
        Some(routine) => CLEANUP.with(|cleanup| cleanup.borrow_mut().push((routine, argument))),
        None => report::abort(format_args!("a clean-up handler that is null was pushed")),
    }
}

/// Pops a clean-up handler, and runs it where `execute` is not 0.
#[guest_fn(libkernel, libScePosix, also = "pthread_cleanup_pop")]
pub(crate) extern "sysv64" fn __pthread_cleanup_pop_imp(execute: i32) {
    if let Some((routine, argument)) = CLEANUP.with(|cleanup| cleanup.borrow_mut().pop())
        && execute != 0
    {
        routine(argument);
    }
}
