//! What is done with streams.

use std::ffi::{c_char, c_int, c_void};

use relic_macros::guest_fn;

use super::file::{self, _Stdin, _Stdout, File};
use crate::{
    pointer::{In, Out},
    result::{Errno, set_errno, set_errno_from_host},
};

/// End of file, and every error of these functions.
pub(super) const EOF: i32 = -1;

/// Calls the host's function of a stream, and passes its error number on.
pub(super) fn call<T>(file: *mut File, failed: T, function: impl FnOnce(*mut libc::FILE) -> T) -> T
where
    T: PartialEq + Copy,
{
    let stream = file::host(file);
    if stream.is_null() {
        set_errno(Errno::EBADF);
        return failed;
    }
    // SAFETY: the calling thread's own number.
    unsafe { *libc::__errno_location() = 0 };
    let result = function(stream);
    // SAFETY: as above. An end of file leaves 0.
    if result == failed && unsafe { *libc::__errno_location() } != 0 {
        set_errno_from_host();
    }
    result
}

/// Declares functions that the host answers for its stream. The stream comes first, or last where `;` stands before it.
macro_rules! streams {
    ($($name:ident $(($also:literal))? ($($argument:ident: $kind:ty),* ; $file:ident) -> $result:ty, $failed:expr;)*) => {$(
        /// As in C.
        ///
        /// # Safety
        /// The C standard's conditions for the arguments.
        #[guest_fn(libc, libSceLibcInternal $(, also = $also)?)]
        pub(crate) unsafe extern "sysv64" fn $name($($argument: $kind,)* $file: *mut File) -> $result {
            // SAFETY: forwarded contract.
            call($file, $failed, |stream| unsafe { host::$name($($argument,)* stream) })
        }
    )*
        mod host {
            use super::*;
            unsafe extern "C" {
                $(pub(super) fn $name($($argument: $kind,)* file: *mut libc::FILE) -> $result;)*
            }
        }
    };
}

streams! {
    fgetc("getc")(; file) -> c_int, EOF;
    fputc("putc")(character: c_int; file) -> c_int, EOF;
    fputs(text: *const c_char; file) -> c_int, EOF;
    fgets(text: *mut c_char, size: c_int; file) -> *mut c_char, std::ptr::null_mut();
    ungetc(character: c_int; file) -> c_int, EOF;
    // A count of 0 may be an error, and leaves its number then.
    fread(to: *mut c_void, size: usize, count: usize; file) -> usize, 0;
    fwrite(from: *const c_void, size: usize, count: usize; file) -> usize, 0;
    ftell(; file) -> i64, -1;
    ftello(; file) -> i64, -1;
    feof(; file) -> c_int, EOF;
    ferror(; file) -> c_int, EOF;
    getc_unlocked(; file) -> c_int, EOF;
    putc_unlocked(character: c_int; file) -> c_int, EOF;
    ftrylockfile(; file) -> c_int, EOF;
}

/// Moves in a stream.
#[guest_fn(libc, libSceLibcInternal, also = "fseeko")]
pub(crate) extern "sysv64" fn fseek(file: *mut File, offset: i64, whence: c_int) -> c_int {
    // SAFETY: an open stream by the guest's word.
    call(file, EOF, |stream| unsafe {
        libc::fseeko64(stream, offset, whence)
    })
}

/// Moves a stream to its beginning and forgets its error.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn rewind(file: *mut File) {
    // SAFETY: as in `fseek`.
    call(file, (), |stream| unsafe { libc::rewind(stream) });
}

/// Stores where a stream stands.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fgetpos(file: *mut File, out: Out<i64>) -> c_int {
    // SAFETY: as in `fseek`.
    let place = call(file, -1, |stream| unsafe { libc::ftello64(stream) });
    if place >= 0 && out.write(place) { 0 } else { EOF }
}

/// Moves a stream to where it stood.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fsetpos(file: *mut File, place: In<i64>) -> c_int {
    match place.read() {
        Some(place) => fseek(file, place, libc::SEEK_SET),
        None => {
            set_errno(Errno::EINVAL);
            EOF
        }
    }
}

/// Forgets a stream's error and its end.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn clearerr(file: *mut File) {
    // SAFETY: as in `fseek`.
    call(file, (), |stream| unsafe { libc::clearerr(stream) });
}

/// Locks a stream for the calling thread.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn flockfile(file: *mut File) {
    unsafe extern "C" {
        fn flockfile(file: *mut libc::FILE);
    }
    // SAFETY: as in `fseek`.
    call(file, (), |stream| unsafe { flockfile(stream) });
}

/// Unlocks a stream.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn funlockfile(file: *mut File) {
    unsafe extern "C" {
        fn funlockfile(file: *mut libc::FILE);
    }
    // SAFETY: as in `fseek`.
    call(file, (), |stream| unsafe { funlockfile(stream) });
}

/// How the host calls the ways of buffering, which FreeBSD numbers in the same way: 0 full, 1 by lines, 2 none.
const BUFFERING: [c_int; 3] = [libc::_IOFBF, libc::_IOLBF, libc::_IONBF];

/// Sets a stream's buffer: full (0), by lines (1) or none (2).
///
/// # Safety
/// The buffer must be the guest's as long as the stream is open.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn setvbuf(
    file: *mut File,
    buffer: *mut c_char,
    kind: c_int,
    size: usize,
) -> c_int {
    let Some(kind) = usize::try_from(kind).ok().and_then(|kind| BUFFERING.get(kind)) else {
        set_errno(Errno::EINVAL);
        return EOF;
    };
    // SAFETY: forwarded contract.
    call(file, EOF, |stream| unsafe {
        libc::setvbuf(stream, buffer, *kind, size)
    })
}

/// Sets a stream's buffer, of 1024 bytes as the console's `BUFSIZ` says, or none for null.
///
/// # Safety
/// As [`setvbuf`].
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn setbuf(file: *mut File, buffer: *mut c_char) {
    let kind = if buffer.is_null() { 2 } else { 0 };
    // SAFETY: forwarded contract.
    unsafe { setvbuf(file, buffer, kind, 1024) };
}

/// Writes out what a stream holds; all of them for null.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fflush(file: *mut File) -> c_int {
    if file.is_null() {
        return if file::flush_all() { 0 } else { EOF };
    }
    // SAFETY: as in `fseek`.
    call(file, EOF, |stream| unsafe { libc::fflush(stream) })
}

/// The stream's descriptor.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fileno(file: *mut File) -> c_int {
    match file::known(file) {
        Ok((descriptor, _)) => descriptor,
        Err(error) => {
            set_errno(error);
            EOF
        }
    }
}

/// Writes a string and a line end to standard output.
///
/// # Safety
/// The C standard's conditions for the arguments.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn puts(text: *const c_char) -> c_int {
    let text = if text.is_null() { c"(null)".as_ptr() } else { text };
    call(output(), EOF, |stream| {
        // One lock for both, so that lines of threads do not mix.
        // SAFETY: forwarded contract.
        unsafe {
            let length = libc::strlen(text);
            flockfile(stream.cast());
            let done =
                libc::fwrite(text.cast(), 1, length, stream) == length && libc::fputc(10, stream) == 10;
            funlockfile(stream.cast());
            if done { 0 } else { EOF }
        }
    })
}

fn output() -> *mut File {
    (&raw const _Stdout).cast_mut()
}

/// Writes a byte to standard output.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn putchar(character: c_int) -> c_int {
    // SAFETY: a stream of ours.
    unsafe { fputc(character, output()) }
}

/// Reads a byte from standard input.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn getchar() -> c_int {
    // SAFETY: a stream of ours.
    unsafe { fgetc((&raw const _Stdin).cast_mut()) }
}
