//! Calendar time: the host's. `struct tm` is FreeBSD's and the host's alike.

use std::ffi::{c_char, c_double, c_int, c_long};

use relic_macros::guest_fn;

use crate::result::Errno;

/// `struct tm`: nine numbers, the offset from UTC, and the zone's name.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Calendar {
    fields: [c_int; 9],
    offset: c_long,
    zone: *const c_char,
}

const _: () = assert!(size_of::<Calendar>() == size_of::<libc::tm>());
const _: () = assert!(std::mem::offset_of!(Calendar, zone) == std::mem::offset_of!(libc::tm, tm_zone));

passthrough! {
    clock() -> c_long;
    time(out: *mut c_long) -> c_long;
    difftime(later: c_long, earlier: c_long) -> c_double;
    mktime(time: *mut Calendar) -> c_long;
    timegm(time: *mut Calendar) -> c_long;
    gmtime(time: *const c_long) -> *mut Calendar;
    gmtime_r(time: *const c_long, out: *mut Calendar) -> *mut Calendar;
    localtime(time: *const c_long) -> *mut Calendar;
    localtime_r(time: *const c_long, out: *mut Calendar) -> *mut Calendar;
    asctime(time: *const Calendar) -> *mut c_char;
    asctime_r(time: *const Calendar, text: *mut c_char) -> *mut c_char;
    ctime(time: *const c_long) -> *mut c_char;
    ctime_r(time: *const c_long, text: *mut c_char) -> *mut c_char;
    strftime(text: *mut c_char, size: usize, format: *const c_char, time: *const Calendar) -> usize;
    tzset();
}

/// Declares the forms of C11's annex K: time first, then the place; the answer is the place, null for a null argument.
macro_rules! bounded {
    ($($(#[$doc:meta])* $name:ident, $host:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The C standard's conditions for the arguments.
        #[guest_fn(libc, libSceLibcInternal)]
        pub(crate) unsafe extern "sysv64" fn $name(time: *const c_long, out: *mut Calendar) -> *mut Calendar {
            if time.is_null() || out.is_null() {
                crate::result::set_errno(Errno::EINVAL);
                return std::ptr::null_mut();
            }
            // SAFETY: forwarded contract.
            unsafe { $host(time, out) }
        }
    )*};
}

bounded! {
    /// Calendar time of a place in UTC.
    gmtime_s, gmtime_r;
    /// Calendar time of a place in the host's zone.
    localtime_s, localtime_r;
}
