//! Locales: the C locale, which is the only one.

use std::ffi::{c_char, c_int, c_void};

use relic_macros::guest_fn;

use crate::pointer::Text;

/// Categories: all, and collation to messages.
const CATEGORIES: std::ops::RangeInclusive<c_int> = 0..=6;

passthrough! {
    localeconv() -> *mut c_void;
}

/// Chooses a locale: `C`, `POSIX` and the empty name are the one there is. Null for any other.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn setlocale(category: c_int, name: Text) -> *const c_char {
    let known = name
        .bytes(16)
        .is_none_or(|name| matches!(&*name, b"" | b"C" | b"POSIX"));
    if known && CATEGORIES.contains(&category) {
        c"C".as_ptr()
    } else {
        std::ptr::null()
    }
}
