//! `FILE`.

use std::sync::atomic::AtomicU8;

use relic_macros::{guest_data, guest_fn};

use super::{flush_all, output, write_stderr};
use crate::{
    pointer::{In, Text},
    result::{Errno, set_errno},
};

/// Bytes of a `FILE`: at least the console's, as programs may copy the address only.
const SIZE: usize = 0x200;

/// A `FILE`. Programs know its address and nothing else of it.
#[repr(C, align(16))]
pub(crate) struct File([AtomicU8; SIZE]);

impl File {
    const fn new() -> Self {
        Self([const { AtomicU8::new(0) }; SIZE])
    }
}

/// Standard input.
#[guest_data(libc, libSceLibcInternal)]
pub(crate) static _Stdin: File = File::new();
/// Standard output.
#[guest_data(libc, libSceLibcInternal)]
pub(crate) static _Stdout: File = File::new();
/// Standard error.
#[guest_data(libc, libSceLibcInternal)]
pub(crate) static _Stderr: File = File::new();

/// Where a `FILE *` leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Error,
}

impl Stream {
    /// The stream, and EBADF in `errno` where it is not one that can be written to.
    pub(crate) fn of(file: *const File) -> Option<Self> {
        if std::ptr::eq(file, &raw const _Stdout) {
            Some(Self::Output)
        } else if std::ptr::eq(file, &raw const _Stderr) {
            Some(Self::Error)
        } else {
            set_errno(Errno::EBADF);
            None
        }
    }

    pub(crate) fn write(self, bytes: &[u8]) -> bool {
        match self {
            Self::Output => {
                output().write(bytes);
                true
            }
            Self::Error => write_stderr(bytes),
        }
    }
}

/// End of file, and every error of these functions.
pub(super) const EOF: i32 = -1;

fn put(file: *const File, bytes: &[u8], answer: i32) -> i32 {
    match Stream::of(file) {
        Some(stream) if stream.write(bytes) => answer,
        _ => EOF,
    }
}

/// Writes a string and a line end to standard output.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn puts(text: Text) -> i32 {
    let mut bytes = text.bytes(usize::MAX).unwrap_or_else(|| b"(null)".to_vec());
    bytes.push(b'\n');
    put(&raw const _Stdout, &bytes, 0)
}

/// Writes a string.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fputs(text: Text, file: *const File) -> i32 {
    put(file, &text.bytes(usize::MAX).unwrap_or_default(), 0)
}

/// Writes a byte to standard output.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn putchar(character: i32) -> i32 {
    fputc(character, &raw const _Stdout)
}

/// Writes a byte.
#[guest_fn(libc, libSceLibcInternal, also = "putc")]
pub(crate) extern "sysv64" fn fputc(character: i32, file: *const File) -> i32 {
    put(file, &[character as u8], i32::from(character as u8))
}

/// Writes `count` items of `size` bytes. Returns how many were written.
#[guest_fn(libc, libSceLibcInternal, partial = "standard output and standard error only")]
pub(crate) extern "sysv64" fn fwrite(data: In<u8>, size: u64, count: u64, file: *const File) -> u64 {
    let bytes = size
        .checked_mul(count)
        .and_then(|total| data.read_many(total as usize));
    match bytes {
        Some(bytes) if put(file, &bytes, 0) == 0 => count,
        _ => 0,
    }
}

/// Writes out what a stream holds; all of them for null.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fflush(file: *const File) -> i32 {
    match file.is_null() || Stream::of(file).is_some() {
        true if flush_all() => 0,
        _ => EOF,
    }
}
