//! Signals, as C has them: a program's own, raised by itself.

use std::{
    ffi::c_int,
    sync::atomic::{AtomicU64, Ordering},
};

use relic_macros::guest_fn;

use crate::{
    pointer::host,
    report,
    result::{Errno, set_errno},
};

/// How many signals FreeBSD has, and 0, which is none.
const COUNT: usize = 33;
const DEFAULT: u64 = 0;
const IGNORE: u64 = 1;
const ERROR: u64 = u64::MAX;

/// FreeBSD's number for an abort, which is the host's too.
const ABORT: c_int = 6;
/// Signals that do nothing by default: urgent data, a child's end, continuing, terminal and window news.
const HARMLESS: [c_int; 6] = [16, 19, 20, 23, 28, 29];

static HANDLERS: [AtomicU64; COUNT] = [const { AtomicU64::new(DEFAULT) }; COUNT];

fn place(number: c_int) -> Option<&'static AtomicU64> {
    let index = usize::try_from(number).ok().filter(|index| *index > 0)?;
    HANDLERS.get(index)
}

/// Sets what happens when a signal is raised: 0 the default, 1 nothing, else the handler. Returns what was set before, all
/// ones with `errno` for a number that is no signal.
#[guest_fn(
    libc,
    libSceLibcInternal,
    partial = "for what the program raises itself: signals of the host end it with a report"
)]
pub(crate) extern "sysv64" fn signal(number: c_int, handler: u64) -> u64 {
    match place(number) {
        // SIGKILL and SIGSTOP can't be caught.
        Some(place) if number != 9 && number != 17 => place.swap(handler, Ordering::AcqRel),
        _ => {
            set_errno(Errno::EINVAL);
            ERROR
        }
    }
}

/// Raises a signal on the calling thread. One that nothing was set for ends the program with a report.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn raise(number: c_int) -> c_int {
    let Some(place) = place(number) else {
        set_errno(Errno::EINVAL);
        return -1;
    };
    match place.load(Ordering::Acquire) {
        IGNORE => {}
        DEFAULT if HARMLESS.contains(&number) => {}
        DEFAULT => report::raised(number),
        handler => {
            // SAFETY: the guest's own handler.
            let handler: extern "sysv64" fn(c_int) = unsafe { std::mem::transmute(host::<()>(handler)) };
            handler(number);
        }
    }
    0
}

/// Gives the program's handler of SIGABRT its turn, if it has one.
pub(super) fn abort_handler() {
    let handler = HANDLERS[ABORT as usize].swap(DEFAULT, Ordering::AcqRel);
    if handler > IGNORE {
        // SAFETY: the guest's own handler.
        let handler: extern "sysv64" fn(c_int) = unsafe { std::mem::transmute(host::<()>(handler)) };
        handler(ABORT);
    }
}
