//! Text to numbers, random numbers, the environment and time.

use std::ffi::{c_char, c_double, c_float, c_int, c_long, c_longlong, c_uint, c_ulong, c_ulonglong};

use relic_macros::guest_fn;

use crate::result::{Errno, set_errno};

passthrough! {
    atoi(text: *const c_char) -> c_int;
    atol(text: *const c_char) -> c_long;
    atoll(text: *const c_char) -> c_longlong;
    atof(text: *const c_char) -> c_double;
    rand() -> c_int;
    srand(seed: c_uint);
    rand_r(seed: *mut c_uint) -> c_int;
    abs(value: c_int) -> c_int;
    labs(value: c_long) -> c_long;
    getenv(name: *const c_char) -> *mut c_char;
    clock() -> c_long;
    time(out: *mut c_long) -> c_long;
}

/// Declares functions whose ERANGE must reach the guest's `errno`.
macro_rules! ranged {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        /// As in C.
        ///
        /// # Safety
        /// The C standard's conditions for the arguments.
        #[guest_fn(libc, libSceLibcInternal)]
        pub(crate) unsafe extern "sysv64" fn $name($($argument: $kind),*) -> $result {
            // SAFETY: the host's own error number; then the forwarded contract.
            unsafe {
                let errno = libc::__errno_location();
                *errno = 0;
                let value = libc::$name($($argument),*);
                if *errno == libc::ERANGE {
                    set_errno(Errno::ERANGE);
                } else if *errno == libc::EINVAL {
                    set_errno(Errno::EINVAL);
                }
                value
            }
        }
    )*};
}

ranged! {
    strtol(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_long;
    strtoul(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulong;
    strtoll(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_longlong;
    strtoull(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulonglong;
    strtod(text: *const c_char, end: *mut *mut c_char) -> c_double;
    strtof(text: *const c_char, end: *mut *mut c_char) -> c_float;
}
