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
    memccpy(to: *mut c_void, from: *const c_void, byte: c_int, size: usize) -> *mut c_void;
    memrchr(text: *const c_void, byte: c_int, size: usize) -> *mut c_void;
    memmem(text: *const c_void, size: usize, needle: *const c_void, needle_size: usize) -> *mut c_void;
    strsep(text: *mut *mut c_char, separators: *const c_char) -> *mut c_char;
    strxfrm(to: *mut c_char, from: *const c_char, size: usize) -> usize;
    stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char;
    stpncpy(to: *mut c_char, from: *const c_char, limit: usize) -> *mut c_char;
    strcasestr(text: *const c_char, needle: *const c_char) -> *mut c_char;
    bcmp(first: *const c_void, second: *const c_void, size: usize) -> c_int;
    bcopy(from: *const c_void, to: *mut c_void, size: usize);
    bzero(to: *mut c_void, size: usize);
    index(text: *const c_char, byte: c_int) -> *mut c_char;
    rindex(text: *const c_char, byte: c_int) -> *mut c_char;
    ffs(value: c_int) -> c_int;
}

/// Copies at most `size - 1` bytes and a NUL. Returns the length of the source.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strlcpy(to: Out<u8>, from: Text, size: usize) -> usize {
    let bytes = from.bytes(usize::MAX).unwrap_or_default();
    to.write_text(&bytes, size);
    bytes.len()
}

/// Appends as much as fits `size` bytes with a NUL. Returns the length that it tried to make.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strlcat(to: Out<u8>, from: Text, size: usize) -> usize {
    // SAFETY: the guest's string, read no further than its buffer.
    let there = unsafe { libc::strnlen(to.as_ptr().cast(), size) };
    let bytes = from.bytes(usize::MAX).unwrap_or_default();
    if there < size {
        to.byte_add::<u8>(there).write_text(&bytes, size - there);
    }
    there + bytes.len()
}

/// A copy on the heap.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strdup(text: Text) -> *mut u8 {
    strndup(text, usize::MAX)
}

/// A copy on the heap of at most so many bytes.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strndup(text: Text, limit: usize) -> *mut u8 {
    let bytes = text.bytes(limit).unwrap_or_default();
    let copy: *mut u8 = super::heap::malloc(bytes.len() + 1).cast();
    // SAFETY: null, or a block of that size.
    unsafe { Out::new(copy) }.write_text(&bytes, bytes.len() + 1);
    copy
}
