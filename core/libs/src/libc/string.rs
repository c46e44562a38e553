//! Memory and strings.

use std::ffi::{c_char, c_int, c_void};

use relic_macros::guest_fn;

use crate::pointer::{Out, Text};

passthrough! {
    memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
    memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void;
    memset(to: *mut c_void, byte: c_int, size: usize) -> *mut c_void;
    memcmp(first: *const c_void, second: *const c_void, size: usize) -> c_int;
    memchr(text: *const c_void, byte: c_int, size: usize) -> *mut c_void;
    strlen(text: *const c_char) -> usize;
    strnlen(text: *const c_char, limit: usize) -> usize;
    strcmp(first: *const c_char, second: *const c_char) -> c_int;
    strncmp(first: *const c_char, second: *const c_char, limit: usize) -> c_int;
    strcasecmp(first: *const c_char, second: *const c_char) -> c_int;
    strncasecmp(first: *const c_char, second: *const c_char, limit: usize) -> c_int;
    strcoll(first: *const c_char, second: *const c_char) -> c_int;
    strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char;
    strncpy(to: *mut c_char, from: *const c_char, limit: usize) -> *mut c_char;
    strcat(to: *mut c_char, from: *const c_char) -> *mut c_char;
    strncat(to: *mut c_char, from: *const c_char, limit: usize) -> *mut c_char;
    strchr(text: *const c_char, byte: c_int) -> *mut c_char;
    strrchr(text: *const c_char, byte: c_int) -> *mut c_char;
    strstr(text: *const c_char, needle: *const c_char) -> *mut c_char;
    strspn(text: *const c_char, set: *const c_char) -> usize;
    strcspn(text: *const c_char, set: *const c_char) -> usize;
    strpbrk(text: *const c_char, set: *const c_char) -> *mut c_char;
    strtok(text: *mut c_char, separators: *const c_char) -> *mut c_char;
    strtok_r(text: *mut c_char, separators: *const c_char, state: *mut *mut c_char) -> *mut c_char;
    strdup(text: *const c_char) -> *mut c_char;
}

/// Copies at most `size - 1` bytes and a NUL. Returns the length of the source.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strlcpy(to: Out<u8>, from: Text, size: usize) -> usize {
    let bytes = from.bytes(usize::MAX).unwrap_or_default();
    to.write_text(&bytes, size);
    bytes.len()
}
