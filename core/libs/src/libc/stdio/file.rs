//! Streams of the host over the guest's descriptors.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicPtr, AtomicU8, Ordering},
    },
    time::Duration,
};

use relic_macros::guest_data;

use crate::{
    libkernel::file::{table, transfer},
    result::Errno,
};

/// Bytes of a standard stream's object: at least the console's, as programs may copy the address only.
const SIZE: usize = 0x200;
/// Size of standard output's buffer in bytes.
const OUTPUT_BUFFER: usize = 64 * 1024;

/// A `FILE`: the host's, or one of the three below.
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

/// What `fopencookie` calls.
#[repr(C)]
struct Callbacks {
    read: extern "C" fn(*mut c_void, *mut c_char, usize) -> isize,
    write: extern "C" fn(*mut c_void, *const c_char, usize) -> isize,
    seek: extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int,
    close: extern "C" fn(*mut c_void) -> c_int,
}

unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, callbacks: Callbacks) -> *mut libc::FILE;
    fn ftrylockfile(file: *mut libc::FILE) -> c_int;
    fn funlockfile(file: *mut libc::FILE);
    fn fflush_unlocked(file: *mut libc::FILE) -> c_int;
}

/// A stream that is open.
#[derive(Clone, Copy)]
struct Open {
    file: Handle,
    descriptor: i32,
    writes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Handle(*mut libc::FILE);
// SAFETY: the host's streams lock themselves.
unsafe impl Send for Handle {}

static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());
/// The host's streams behind the standard ones, once they are used.
static STANDARD: [AtomicPtr<libc::FILE>; 3] = [const { AtomicPtr::new(ptr::null_mut()) }; 3];

fn open_streams() -> MutexGuard<'static, Vec<Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The descriptor is the cookie itself.
fn descriptor_of(cookie: *mut c_void) -> i32 {
    cookie.addr() as i32
}

/// Leaves an error where the host's library looks for it.
fn fail(error: Errno) -> isize {
    // SAFETY: the calling thread's own number.
    unsafe { *libc::__errno_location() = error.to_host().unwrap_or(libc::EIO) };
    -1
}

extern "C" fn read(cookie: *mut c_void, to: *mut c_char, size: usize) -> isize {
    transfer::read_from(descriptor_of(cookie), to.cast(), size as u64)
        .map_or_else(fail, |count| count as isize)
}

extern "C" fn write(cookie: *mut c_void, from: *const c_char, size: usize) -> isize {
    let descriptor = descriptor_of(cookie);
    if descriptor == 2 {
        flush_output();
    }
    let mut done = 0;
    while done < size {
        match transfer::write_to(descriptor, from.wrapping_add(done).cast(), (size - done) as u64) {
            Ok(count) => done += count as usize,
            Err(error) => {
                fail(error);
                // The host takes 0 for an error.
                break;
            }
        }
    }
    done as isize
}

extern "C" fn seek(cookie: *mut c_void, offset: *mut i64, whence: c_int) -> c_int {
    // SAFETY: the host's own variable.
    let offset = unsafe { &mut *offset };
    match transfer::seek(descriptor_of(cookie), *offset, whence) {
        Ok(place) => {
            *offset = place;
            0
        }
        Err(error) => fail(error) as c_int,
    }
}

extern "C" fn close(cookie: *mut c_void) -> c_int {
    table::remove(descriptor_of(cookie)).map_or_else(|error| fail(error) as c_int, |()| 0)
}

/// A stream over a descriptor, which it closes at its end. `mode` as `fopen` has it.
pub(super) fn open(descriptor: i32, mode: &CStr) -> Result<*mut libc::FILE, Errno> {
    let callbacks = Callbacks {
        read,
        write,
        seek,
        close,
    };
    // SAFETY: the callbacks take the descriptor as cookie.
    let file = unsafe {
        fopencookie(
            ptr::without_provenance_mut(descriptor as usize),
            mode.as_ptr(),
            callbacks,
        )
    };
    if file.is_null() {
        return Err(Errno::last());
    }
    open_streams().push(Open {
        file: Handle(file),
        descriptor,
        writes: mode.to_bytes() != b"r",
    });
    Ok(file)
}

/// Number of the standard stream that this is.
fn standard_number(file: *const File) -> Option<usize> {
    [&raw const _Stdin, &raw const _Stdout, &raw const _Stderr]
        .into_iter()
        .position(|standard| ptr::eq(standard, file))
}

/// The host's stream behind a guest's.
pub(super) fn host(file: *mut File) -> *mut libc::FILE {
    match standard_number(file) {
        None => file.cast(),
        Some(number) => match STANDARD[number].load(Ordering::Acquire) {
            there if !there.is_null() => there,
            _ => open_standard(number),
        },
    }
}

fn open_standard(number: usize) -> *mut libc::FILE {
    static ONCE: [OnceLock<()>; 3] = [const { OnceLock::new() }; 3];
    ONCE[number].get_or_init(|| {
        let mode = if number == 0 { c"r" } else { c"w" };
        let Ok(file) = open(number as i32, mode) else {
            return;
        };
        // SAFETY: a fresh stream; its buffer lives as long as the process.
        unsafe {
            match number {
                1 => {
                    let terminal = table::get(1).is_ok_and(|file| libc::isatty(file.host()) != 0);
                    let kind = if terminal { libc::_IOLBF } else { libc::_IOFBF };
                    let buffer: &mut [u8; OUTPUT_BUFFER] = Box::leak(Box::new([0; OUTPUT_BUFFER]));
                    libc::setvbuf(file, buffer.as_mut_ptr().cast(), kind, OUTPUT_BUFFER);
                }
                2 => {
                    libc::setvbuf(file, ptr::null_mut(), libc::_IONBF, 0);
                }
                _ => {}
            }
        }
        STANDARD[number].store(file, Ordering::Release);
    });
    STANDARD[number].load(Ordering::Acquire)
}

/// Descriptor and whether it writes, of an open stream.
pub(super) fn known(file: *mut File) -> Result<(i32, bool), Errno> {
    let file = Handle(host(file));
    open_streams()
        .iter()
        .find(|open| open.file == file)
        .map(|open| (open.descriptor, open.writes))
        .ok_or(Errno::EBADF)
}

/// Takes a stream out of the list, to close it. A standard one stays: EBUSY.
pub(super) fn forget(file: *mut File) -> Result<*mut libc::FILE, Errno> {
    let handle = Handle(host(file));
    let mut streams = open_streams();
    let index = streams
        .iter()
        .position(|open| open.file == handle)
        .ok_or(Errno::EBADF)?;
    if standard_number(file).is_some() {
        return Err(Errno::EBUSY);
    }
    streams.swap_remove(index);
    Ok(handle.0)
}

/// Writes out what a stream holds, unless another thread keeps it locked all the while.
fn flush_unless_locked(file: *mut libc::FILE, tries: u32) -> bool {
    for _ in 0..tries {
        // SAFETY: a stream that is open.
        unsafe {
            if ftrylockfile(file) == 0 {
                let done = fflush_unlocked(file) == 0;
                funlockfile(file);
                return done;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

fn flush_output() {
    let output = STANDARD[1].load(Ordering::Acquire);
    if !output.is_null() {
        flush_unless_locked(output, 1);
    }
}

/// Writes out what all streams hold. False when some of it was lost. A stream that another thread keeps locked, waiting for
/// input perhaps, is left after a while.
pub(crate) fn flush_all() -> bool {
    let streams: Vec<Open> = open_streams()
        .iter()
        .filter(|open| open.writes)
        .copied()
        .collect();
    let mut done = true;
    for open in streams {
        done &= flush_unless_locked(open.file.0, 20);
    }
    done
}

/// Writes out what standard output holds, for a report: from a signal handler, so it never waits long for a lock.
pub(crate) fn flush_for_report() {
    let output = STANDARD[1].load(Ordering::Acquire);
    if !output.is_null() {
        flush_unless_locked(output, 20);
    }
}

/// Writes to standard error, after what standard output holds.
pub(crate) fn write_stderr(bytes: &[u8]) -> bool {
    flush_output();
    let mut left = bytes;
    while !left.is_empty() {
        match transfer::write_to(2, left.as_ptr().cast(), left.len() as u64) {
            Ok(count) => left = &left[count as usize..],
            Err(_) => return false,
        }
    }
    true
}
