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

mod character;
mod convert;
mod cxx;
pub(crate) mod exit;
pub(crate) mod format;
mod heap;
mod jump;
mod math;
mod sort;
pub(crate) mod stdio;
mod string;
mod unwind;
mod variadic;
