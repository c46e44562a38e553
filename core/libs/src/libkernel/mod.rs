//! libkernel: threads, synchronisation, memory, time, and what the C start-up code asks of the kernel. Its library
//! libScePosix shares most functions.

/// Declares one function under its `sce` name, which returns kernel error codes, and under its POSIX name, which
/// returns the error number.
macro_rules! pthread_pair {
    ($($(#[$doc:meta])* $sce:ident, $posix:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[relic_macros::guest_fn(libkernel)]
        pub(crate) extern "sysv64" fn $sce($($argument: $kind),*) -> $crate::result::SceResult {
            let body = || -> Result<(), $crate::result::Errno> { $body };
            body().into()
        }
        $(#[$doc])*
        #[relic_macros::guest_fn(libkernel, libScePosix)]
        pub(crate) extern "sysv64" fn $posix($($argument: $kind),*) -> $crate::result::PthreadResult {
            let body = || -> Result<(), $crate::result::Errno> { $body };
            body().into()
        }
    )*};
}

/// Declares one function that a pending cancellation ends the thread in: its body's frames are gone by then.
macro_rules! cancellable {
    ($($(#[$doc:meta])* ($($library:ident),*) $name:ident ($($argument:ident: $kind:ty),* $(,)?) -> $result:ty $body:block)*) => {$(
        $(#[$doc])*
        #[relic_macros::guest_fn($($library),*)]
        pub(crate) extern "sysv64" fn $name($($argument: $kind),*) -> $result {
            $crate::libkernel::thread::cancellation_point();
            let body = || -> Result<(), $crate::result::Errno> { $body };
            let result = body();
            if result == Err($crate::result::Errno::ECANCELED) {
                $crate::libkernel::thread::cancellation_point();
            }
            result.into()
        }
    )*};
}

/// A [`pthread_pair!`] of cancellation points.
macro_rules! cancellable_pair {
    ($($(#[$doc:meta])* $sce:ident, $posix:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        cancellable! {$(
            $(#[$doc])*
            (libkernel) $sce($($argument: $kind),*) -> $crate::result::SceResult $body
            $(#[$doc])*
            (libkernel, libScePosix) $posix($($argument: $kind),*) -> $crate::result::PthreadResult $body
        )*}
    };
}

mod debug;
pub(crate) mod environment;
pub(crate) mod equeue;
mod errno;
mod event_flag;
pub(crate) mod exception;
pub(crate) mod file;
mod handle;
pub(crate) mod memory;
pub(crate) mod module;
mod module_info;
mod semaphore;
mod stack_protector;
pub(crate) mod thread;
pub(crate) mod time;
mod timer_event;
mod tls;
mod unwind;
mod user_event;
