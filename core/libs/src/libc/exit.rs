//! The end of the program, and what runs at it.

use std::sync::{Mutex, PoisonError};

use relic_macros::guest_fn;

use crate::{process, report};

/// A function to run at exit.
#[derive(Clone, Copy)]
enum Handler {
    Plain(extern "sysv64" fn()),
    /// With an argument and the module it belongs to.
    Object(extern "sysv64" fn(u64), u64, u64),
}

static HANDLERS: Mutex<Vec<Handler>> = Mutex::new(Vec::new());

fn handlers() -> std::sync::MutexGuard<'static, Vec<Handler>> {
    HANDLERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a function to run at exit.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn atexit(function: Option<extern "sysv64" fn()>) -> i32 {
    match function {
        Some(function) => {
            handlers().push(Handler::Plain(function));
            0
        }
        None => 1,
    }
}

/// Registers a destructor of a module's object.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn __cxa_atexit(
    destructor: Option<extern "sysv64" fn(u64)>,
    argument: u64,
    module: u64,
) -> i32 {
    match destructor {
        Some(destructor) => {
            handlers().push(Handler::Object(destructor, argument, module));
            0
        }
        None => -1,
    }
}

/// Runs the destructors of a module, or everything for 0, the newest first.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn __cxa_finalize(module: u64) {
    // One at a time and outside the lock: a handler may register more.
    while let Some(handler) = take_newest(module) {
        match handler {
            Handler::Plain(function) => function(),
            Handler::Object(destructor, argument, _) => destructor(argument),
        }
    }
}

fn take_newest(module: u64) -> Option<Handler> {
    let mut handlers = handlers();
    let index = handlers.iter().rposition(|handler| match handler {
        Handler::Plain(_) => module == 0,
        Handler::Object(_, _, owner) => module == 0 || *owner == module,
    })?;
    Some(handlers.remove(index))
}

/// Ends the program: exit handlers, the modules' finalisers, buffered output, the runtime.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn exit(code: i32) -> ! {
    __cxa_finalize(0);
    crate::modules::finalise_all();
    process::end(code)
}

/// Ends the program without exit handlers. What the runtime was given is finished.
#[guest_fn(libc, libSceLibcInternal, libkernel, also = "_exit")]
pub(crate) extern "sysv64" fn _Exit(code: i32) -> ! {
    let code = report::exit_code(code, crate::runtime::finish());
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Ends the program with a report, after its handler of SIGABRT.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn abort() -> ! {
    super::signal::abort_handler();
    report::abort(format_args!("abort() was called"))
}

#[cfg(test)]
mod tests {
    use super::*;

    static ORDER: Mutex<Vec<u64>> = Mutex::new(Vec::new());

    extern "sysv64" fn record(value: u64) {
        ORDER.lock().unwrap().push(value);
        if value == 3 {
            __cxa_atexit(Some(record), 30, 0x20);
        }
    }

    #[test]
    fn destructors_run_newest_first_by_module() {
        for (value, module) in [(1, 0x10), (2, 0x20), (3, 0x20), (4, 0x10)] {
            assert_eq!(__cxa_atexit(Some(record), value, module), 0);
        }
        __cxa_finalize(0x20);
        assert_eq!(*ORDER.lock().unwrap(), [3, 30, 2]);
        __cxa_finalize(0);
        assert_eq!(*ORDER.lock().unwrap(), [3, 30, 2, 4, 1]);
        assert_eq!(atexit(None), 1);
    }
}
