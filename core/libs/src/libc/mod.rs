//! libc, and libSceLibcInternal, which exports the same functions: what C programs take for granted.
//!
//! Every function is exported under its NID alone. Where the host's C library does the same thing, it does the work.

/// Declares functions that the host's C library answers in the same way.
macro_rules! passthrough {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {$(
        /// As in C.
        ///
        /// # Safety
        /// The C standard's conditions for the arguments.
        #[relic_macros::guest_fn(libc, libSceLibcInternal)]
        pub(crate) unsafe extern "sysv64" fn $name($($argument: $kind),*) $(-> $result)? {
            // SAFETY: forwarded contract.
            unsafe { host::$name($($argument),*) }
        }
    )*
        mod host {
            use super::*;
            unsafe extern "C" {
                $(pub(super) fn $name($($argument: $kind),*) $(-> $result)?;)*
            }
        }
    };
}

/// Declares functions that are those of the host under the same name, each as one jump: for what the host calls back from,
/// returns in registers that Rust does not know, or walks the stack from.
macro_rules! forward {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        mod host {
            unsafe extern "C" {
                $(pub(super) fn $name();)*
            }
        }
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The conditions of the function's own standard.
            #[relic_macros::guest_fn(libc, libSceLibcInternal)]
            #[unsafe(naked)]
            pub(crate) unsafe extern "sysv64" fn $name() {
                std::arch::naked_asm!("jmp qword ptr [rip + {}@GOTPCREL]", sym host::$name)
            }
        )*
    };
}

mod bounded;
mod character;
mod convert;
mod cxx;
pub(crate) mod exit;
pub(crate) mod format;
pub(crate) mod heap;
mod jump;
mod locale;
mod long_double;
mod math;
mod signal;
mod sort;
pub(crate) mod stdio;
mod string;
mod time;
mod unwind;
mod variadic;
mod wide;
