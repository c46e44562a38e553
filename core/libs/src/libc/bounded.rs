//! Copies that are told how large their target is (C11's annex K). Errors are returned; the target is emptied then.

use relic_macros::guest_fn;

use crate::{
    pointer::{In, Out, Text},
    result::Errno,
};

/// Largest size that is believed.
const LIMIT: usize = usize::MAX >> 1;

/// What stands behind `start` bytes of the target and a NUL. ERANGE where it does not fit.
fn put(to: Out<u8>, size: usize, start: usize, from: Text, limit: usize) -> i32 {
    if to.is_null() || size == 0 || size > LIMIT {
        return Errno::EINVAL.0;
    }
    let error = match from.bytes(limit) {
        None => Errno::EINVAL,
        Some(bytes) if start + bytes.len() < size => {
            to.byte_add::<u8>(start).write_text(&bytes, size - start);
            return 0;
        }
        Some(_) => Errno::ERANGE,
    };
    to.write(0);
    error.0
}

fn length(to: Out<u8>, size: usize) -> usize {
    if to.is_null() {
        return 0;
    }
    // SAFETY: the guest's buffer, read no further than its size.
    unsafe { libc::strnlen(to.as_ptr().cast(), size) }
}

/// Copies a string.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strcpy_s(to: Out<u8>, size: usize, from: Text) -> i32 {
    put(to, size, 0, from, usize::MAX)
}

/// Copies a string, at most `limit` bytes of it.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strncpy_s(to: Out<u8>, size: usize, from: Text, limit: usize) -> i32 {
    put(to, size, 0, from, limit)
}

/// Appends a string.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strcat_s(to: Out<u8>, size: usize, from: Text) -> i32 {
    put(to, size, length(to, size), from, usize::MAX)
}

/// Appends a string, at most `limit` bytes of it.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strncat_s(to: Out<u8>, size: usize, from: Text, limit: usize) -> i32 {
    put(to, size, length(to, size), from, limit)
}

/// The length of a string, at most `limit`; 0 for null.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strnlen_s(text: Out<u8>, limit: usize) -> usize {
    length(text, limit)
}

/// Copies bytes between places that may overlap.
#[guest_fn(libc, libSceLibcInternal, also = "memcpy_s")]
pub(crate) extern "sysv64" fn memmove_s(to: Out<u8>, size: usize, from: In<u8>, count: usize) -> i32 {
    if to.is_null() || size > LIMIT {
        return Errno::EINVAL.0;
    }
    if from.is_null() || count > size {
        // SAFETY: the guest's buffer of this size.
        unsafe { libc::memset(to.as_ptr().cast(), 0, size) };
        return if from.is_null() {
            Errno::EINVAL.0
        } else {
            Errno::ERANGE.0
        };
    }
    // SAFETY: the guest's ranges of these sizes.
    unsafe { libc::memmove(to.as_ptr().cast(), from.as_ptr().cast(), count) };
    0
}

/// Fills bytes.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn memset_s(to: Out<u8>, size: usize, byte: i32, count: usize) -> i32 {
    if to.is_null() || size > LIMIT {
        return Errno::EINVAL.0;
    }
    // SAFETY: the guest's buffer of this size.
    unsafe { libc::memset(to.as_ptr().cast(), byte, count.min(size)) };
    if count > size { Errno::ERANGE.0 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_empties_the_target() {
        let mut buffer = [b'x'; 8];
        // SAFETY: places of ours.
        let (to, text) = unsafe {
            (Out::new(buffer.as_mut_ptr()), |text: &std::ffi::CStr| {
                Text::new(text.as_ptr().cast())
            })
        };
        assert_eq!(strcpy_s(to, 8, text(c"abcd")), 0);
        assert_eq!(strcat_s(to, 8, text(c"efg")), 0);
        let now = || {
            // SAFETY: a buffer of ours.
            unsafe { std::ffi::CStr::from_ptr(to.as_ptr().cast()) }
                .to_bytes()
                .to_vec()
        };
        assert_eq!(now(), b"abcdefg");
        assert_eq!(strcat_s(to, 8, text(c"h")), 34);
        assert_eq!(now(), b"");
        assert_eq!(strncpy_s(to, 8, text(c"abcdefghijk"), 7), 0);
        assert_eq!(now(), b"abcdefg");
        assert_eq!(strncpy_s(to, 8, text(c"abcdefghijk"), 8), 34);
        assert_eq!(strcpy_s(to, 0, text(c"a")), 22);
        assert_eq!(memset_s(to, 4, 65, 6), 34);
        assert_eq!(now(), b"AAAAefg");
        // SAFETY: null.
        assert_eq!(memmove_s(to, 4, unsafe { In::new(std::ptr::null()) }, 1), 22);
        assert_eq!(now(), b"");
    }
}
