//! Reading and writing. Bytes go between the guest's memory and the host's kernel directly: an address that is not mapped
//! is EFAULT.

use std::{ffi::c_void, os::fd::RawFd};

use super::table::{self, OpenFile};
use crate::{
    pointer::{In, Out},
    result::Errno,
};

/// A range of memory, as `readv` takes it: the same as the host's.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct IoVector {
    start: u64,
    size: u64,
}

const _: () = assert!(size_of::<IoVector>() == size_of::<libc::iovec>());

/// Most bytes of one call, as FreeBSD has it.
const SIZE_LIMIT: u64 = i32::MAX as u64;
/// Most ranges of one call.
const VECTOR_LIMIT: i32 = 1024;

/// Does a host call until no signal interrupts it.
fn complete(mut call: impl FnMut() -> isize) -> Result<i64, Errno> {
    loop {
        let done = call();
        if done >= 0 {
            return Ok(done as i64);
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(Errno::of_host(error.raw_os_error().unwrap_or(0)));
        }
        if let Some(pending) = crate::libkernel::thread::pending_exception() {
            pending.look();
        }
    }
}

fn sized(size: u64) -> Result<usize, Errno> {
    if size > SIZE_LIMIT {
        return Err(Errno::EINVAL);
    }
    Ok(size as usize)
}

fn counted(count: i32) -> Result<i32, Errno> {
    if (1..=VECTOR_LIMIT).contains(&count) {
        Ok(count)
    } else {
        Err(Errno::EINVAL)
    }
}

/// Reads from where the file stands.
pub(crate) fn read_from(descriptor: i32, to: *mut c_void, size: u64) -> Result<i64, Errno> {
    let (file, size) = (table::get(descriptor)?, sized(size)?);
    // SAFETY: the kernel checks the addresses, which the guest vouches for.
    complete(|| unsafe { libc::read(file.host(), to, size) })
}

/// Writes where the file stands.
pub(crate) fn write_to(descriptor: i32, from: *const c_void, size: u64) -> Result<i64, Errno> {
    let (file, size) = (table::get(descriptor)?, sized(size)?);
    // SAFETY: as in `read_from`.
    complete(|| unsafe { libc::write(file.host(), from, size) })
}

/// Moves where the file stands. Returns the place, counted from its beginning.
pub(crate) fn seek(descriptor: i32, offset: i64, whence: i32) -> Result<i64, Errno> {
    let file = table::get(descriptor)?;
    if !(0..=4).contains(&whence) {
        return Err(Errno::EINVAL);
    }
    if file.is_directory {
        return super::directory::seek(&file, offset, whence);
    }
    // SAFETY: our descriptor.
    let place = unsafe { libc::lseek(file.host(), offset, whence) };
    if place < 0 { Err(Errno::last()) } else { Ok(place) }
}

/// A call on the host's ranges.
fn vector(
    descriptor: i32,
    vectors: In<IoVector>,
    count: i32,
    call: impl Fn(RawFd, *const libc::iovec, i32) -> isize,
) -> Result<i64, Errno> {
    let (file, count) = (table::get(descriptor)?, counted(count)?);
    complete(|| call(file.host(), vectors.as_ptr().cast(), count))
}

fn synchronise(file: &OpenFile) -> Result<i32, Errno> {
    // SAFETY: our descriptor.
    if unsafe { libc::fsync(file.host()) } == 0 {
        return Ok(0);
    }
    match Errno::last() {
        // A pipe or a terminal has nothing to write out; FreeBSD does not complain.
        Errno::EINVAL => Ok(0),
        error => Err(error),
    }
}

file_pair! {
    /// Reads from where the file stands. Returns how many bytes there were, 0 at its end.
    sceKernelRead, read("_read")(descriptor: i32, to: Out<u8>, size: u64) -> i64 {
        read_from(descriptor, to.as_ptr().cast(), size)
    }
    /// Writes where the file stands. Returns how many bytes were written.
    sceKernelWrite, write("_write")(descriptor: i32, from: In<u8>, size: u64) -> i64 {
        write_to(descriptor, from.as_ptr().cast(), size)
    }
    /// Reads into several ranges.
    sceKernelReadv, readv("_readv")(descriptor: i32, vectors: In<IoVector>, count: i32) -> i64 {
        // SAFETY: the kernel checks the addresses, here and below.
        vector(descriptor, vectors, count, |file, vectors, count| unsafe { libc::readv(file, vectors, count) })
    }
    /// Writes several ranges.
    sceKernelWritev, writev("_writev")(descriptor: i32, vectors: In<IoVector>, count: i32) -> i64 {
        // SAFETY: as above.
        vector(descriptor, vectors, count, |file, vectors, count| unsafe { libc::writev(file, vectors, count) })
    }
    /// Reads from a place of the file.
    sceKernelPread, pread("_pread")(descriptor: i32, to: Out<u8>, size: u64, offset: i64) -> i64 {
        let (file, size) = (table::get(descriptor)?, sized(size)?);
        // SAFETY: as above.
        complete(|| unsafe { libc::pread(file.host(), to.as_ptr().cast(), size, offset) })
    }
    /// Writes at a place of the file.
    sceKernelPwrite, pwrite("_pwrite")(descriptor: i32, from: In<u8>, size: u64, offset: i64) -> i64 {
        let (file, size) = (table::get(descriptor)?, sized(size)?);
        // SAFETY: as above.
        complete(|| unsafe { libc::pwrite(file.host(), from.as_ptr().cast(), size, offset) })
    }
    /// Reads from a place of the file into several ranges.
    sceKernelPreadv, preadv(descriptor: i32, vectors: In<IoVector>, count: i32, offset: i64) -> i64 {
        // SAFETY: as above.
        vector(descriptor, vectors, count, |file, vectors, count| unsafe {
            libc::preadv(file, vectors, count, offset)
        })
    }
    /// Writes several ranges at a place of the file.
    sceKernelPwritev, pwritev(descriptor: i32, vectors: In<IoVector>, count: i32, offset: i64) -> i64 {
        // SAFETY: as above.
        vector(descriptor, vectors, count, |file, vectors, count| unsafe {
            libc::pwritev(file, vectors, count, offset)
        })
    }
    /// Moves where the file stands: from its beginning (0), from there (1), from its end (2).
    sceKernelLseek, lseek(descriptor: i32, offset: i64, whence: i32) -> i64 {
        seek(descriptor, offset, whence)
    }
    /// Writes what the host still holds to its disk.
    sceKernelFsync, fsync(descriptor: i32) -> i32 {
        synchronise(&*table::get(descriptor)?)
    }
    /// Writes the contents that the host still holds to its disk.
    sceKernelFdatasync, fdatasync(descriptor: i32) -> i32 {
        synchronise(&*table::get(descriptor)?)
    }
    /// Cuts an open file, or makes it longer with zeros.
    sceKernelFtruncate, ftruncate(descriptor: i32, size: i64) -> i32 {
        let file = table::get(descriptor)?;
        if file.is_directory {
            return Err(Errno::EINVAL);
        }
        file.file().set_len(u64::try_from(size).map_err(|_| Errno::EINVAL)?).map_err(|_| Errno::last())?;
        Ok(0)
    }
    /// Writes all that the host still holds to its disks.
    sceKernelSync, sync() -> i32 {
        // SAFETY: always allowed.
        unsafe { libc::sync() };
        Ok(0)
    }
}
