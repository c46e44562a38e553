//! Text to numbers, random numbers and the environment.

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
    llabs(value: c_longlong) -> c_longlong;
    div(value: c_int, by: c_int) -> Quotient<c_int>;
    ldiv(value: c_long, by: c_long) -> Quotient<c_long>;
    lldiv(value: c_longlong, by: c_longlong) -> Quotient<c_longlong>;
    random() -> c_long;
    srandom(seed: c_uint);
    drand48() -> c_double;
    srand48(seed: c_long);
}

/// Quotient and remainder.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Quotient<T> {
    quotient: T,
    remainder: T,
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
                unsafe extern "C" {
                    fn $name($($argument: $kind),*) -> $result;
                }
                let value = $name($($argument),*);
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
    strtoimax(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_longlong;
    strtoumax(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulonglong;
    strtoull(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulonglong;
    strtod(text: *const c_char, end: *mut *mut c_char) -> c_double;
    strtof(text: *const c_char, end: *mut *mut c_char) -> c_float;
}
