//! Opening and closing streams, and files by name.

use std::{
    ffi::{CString, c_char, c_int},
    os::fd::{AsFd as _, AsRawFd as _},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use relic_macros::guest_fn;

use super::file::{self, File};
use crate::{
    libkernel::file::{control, mount, open::open_target, table, tree},
    pointer::{Out, Text},
    result::{Errno, set_errno},
};

/// How a stream is opened.
struct Mode {
    /// FreeBSD's flags of `open`.
    flags: i32,
    /// `r`, `w`, `a` with or without `+`, for the host.
    host: CString,
}

const READ_WRITE: i32 = 2;
const CREATE: i32 = 0x200;

impl Mode {
    fn parse(mode: Text) -> Result<Self, Errno> {
        let mode = mode.bytes(16).ok_or(Errno::EINVAL)?;
        let (first, rest) = mode.split_first().ok_or(Errno::EINVAL)?;
        let mut flags = match first {
            b'r' => 0,
            b'w' => 1 | CREATE | 0x400,
            b'a' => 1 | CREATE | 0x8,
            _ => return Err(Errno::EINVAL),
        };
        let mut host = vec![*first];
        if rest.contains(&b'+') {
            flags = flags & !1 | READ_WRITE;
            host.push(b'+');
        }
        if rest.contains(&b'x') {
            flags |= 0x800;
        }
        Ok(Self {
            flags,
            host: CString::new(host).map_err(|_| Errno::EINVAL)?,
        })
    }

    fn writes(&self) -> bool {
        self.host.to_bytes() != b"r"
    }
}

fn or_null(result: Result<*mut libc::FILE, Errno>) -> *mut File {
    match result {
        Ok(file) => file.cast(),
        Err(error) => {
            set_errno(error);
            ptr::null_mut()
        }
    }
}

/// Opens a file as a stream.
fn open(path: Text, mode: Text) -> Result<*mut libc::FILE, Errno> {
    let mode = Mode::parse(mode)?;
    let descriptor = open_target(&mount::resolve(path)?, mode.flags, 0o666)?;
    over(descriptor, &mode)
}

/// A stream over a descriptor, which is closed where there can be none.
fn over(descriptor: i32, mode: &Mode) -> Result<*mut libc::FILE, Errno> {
    file::open(descriptor, &mode.host).inspect_err(|_| {
        // The error that is told is the stream's.
        let _ = table::remove(descriptor);
    })
}

/// Opens a file. Null with `errno` where it can't be.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fopen(path: Text, mode: Text) -> *mut File {
    or_null(open(path, mode))
}

/// Opens a file and stores the stream. Returns the error number.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fopen_s(out: Out<*mut File>, path: Text, mode: Text) -> c_int {
    if out.is_null() {
        return Errno::EINVAL.0;
    }
    match open(path, mode) {
        Ok(file) => {
            out.write(file.cast());
            0
        }
        Err(error) => {
            out.write(ptr::null_mut());
            error.0
        }
    }
}

/// A stream over a descriptor, which it closes when it is closed.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fdopen(descriptor: c_int, mode: Text) -> *mut File {
    let open = || {
        table::get(descriptor)?;
        file::open(descriptor, &Mode::parse(mode)?.host)
    };
    or_null(open())
}

/// Opens another file in a stream's place: the stream keeps its descriptor. A null path, which asks for another mode of the
/// same file, and a stream for reading that is to write, or the reverse, are ENOTSUP.
#[guest_fn(
    libc,
    libSceLibcInternal,
    partial = "no other mode for the same file, and a stream that reads alone does not come to write"
)]
pub(crate) extern "sysv64" fn freopen(path: Text, mode: Text, stream: *mut File) -> *mut File {
    let reopen = || {
        let mode = Mode::parse(mode)?;
        let (descriptor, writes) = file::known(stream)?;
        if path.is_null() || writes != mode.writes() {
            return Err(Errno::ENOTSUP);
        }
        // Errors of what is left behind are not this file's.
        super::stream::fflush(stream);
        let opened = open_target(&mount::resolve(path)?, mode.flags, 0o666)?;
        control::duplicate_to(opened, descriptor)?;
        table::remove(opened)?;
        unsafe extern "C" {
            fn __fpurge(file: *mut libc::FILE);
        }
        let host = file::host(stream);
        // SAFETY: an open stream. What it had read is not the new file's.
        unsafe {
            __fpurge(host);
            if mode.flags & 0x8 == 0 {
                libc::rewind(host);
            } else {
                libc::clearerr(host);
            }
        }
        Ok(host)
    };
    match reopen() {
        Ok(_) => stream,
        Err(error) => {
            set_errno(error);
            ptr::null_mut()
        }
    }
}

/// Writes out what a stream holds and closes it, with its descriptor.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn fclose(stream: *mut File) -> c_int {
    match file::forget(stream) {
        // SAFETY: an open stream that nobody else finds any more.
        Ok(host) => super::stream::call(host.cast(), -1, |host| unsafe { libc::fclose(host) }),
        // A standard one: its object stays, its descriptor goes.
        Err(Errno::EBUSY) => {
            let flushed = super::stream::fflush(stream);
            let closed = file::known(stream).and_then(|(descriptor, _)| table::remove(descriptor));
            match closed {
                Ok(()) => flushed,
                Err(error) => {
                    set_errno(error);
                    -1
                }
            }
        }
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// A stream over a file without a name, which is gone when it is closed.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn tmpfile() -> *mut File {
    let make = || {
        // SAFETY: the host's stream is closed when its descriptor has been copied.
        let host = unsafe {
            let file = libc::tmpfile();
            if file.is_null() {
                return Err(Errno::last());
            }
            let copy = std::os::fd::BorrowedFd::borrow_raw(libc::fileno(file))
                .as_fd()
                .try_clone_to_owned();
            libc::fclose(file);
            copy.map_err(|_| Errno::last())?
        };
        debug_assert!(host.as_raw_fd() >= 0);
        let open = table::OpenFile::new(host, READ_WRITE, false, false);
        let descriptor = table::insert(Arc::new(open), 0)?;
        over(
            descriptor,
            &Mode {
                flags: READ_WRITE,
                host: CString::from(c"w+"),
            },
        )
    };
    or_null(make())
}

/// A name below `/temp0` that no file has yet. Kept in a buffer of the library's for null.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn tmpnam(buffer: Out<u8>) -> *mut u8 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    static OWN: std::sync::Mutex<[u8; 32]> = std::sync::Mutex::new([0; 32]);
    let name = format!(
        "/temp0/t{}.{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    if buffer.is_null() {
        let mut own = OWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        own[..name.len()].copy_from_slice(name.as_bytes());
        own[name.len()] = 0;
        return own.as_mut_ptr();
    }
    buffer.write_text(name.as_bytes(), 32);
    buffer.as_ptr()
}

/// Removes a file or an empty directory.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn remove(path: Text) -> c_int {
    let removed = match tree::unlink_path(path) {
        Err(Errno::EPERM) => tree::remove_directory(path),
        result => result,
    };
    removed.unwrap_or_else(|error| {
        set_errno(error);
        -1
    })
}

/// The text of an error number, FreeBSD's numbering, in the host's words.
pub(crate) fn error_text(number: i32) -> *const c_char {
    match Errno(number).to_host() {
        // SAFETY: always allowed; the text lives until the thread's next call.
        Some(host) => unsafe { libc::strerror(host) },
        None => c"Unknown error".as_ptr(),
    }
}

/// The text of an error number.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strerror(number: c_int) -> *const c_char {
    if number == 0 {
        return c"Success".as_ptr();
    }
    error_text(number)
}

/// Copies the text of an error number. ERANGE where it does not fit.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn strerror_r(number: c_int, buffer: Out<u8>, size: usize) -> c_int {
    // SAFETY: a text of the host's.
    let text = unsafe { std::ffi::CStr::from_ptr(strerror(number)) }.to_bytes();
    buffer.write_text(text, size);
    if text.len() < size { 0 } else { Errno::ERANGE.0 }
}
