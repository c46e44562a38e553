//! Writing to file descriptors.

use relic_macros::guest_fn;

use crate::{
    libc::stdio::{write_stderr, write_stdout},
    pointer::In,
    result::{Errno, set_errno},
};

fn write_bytes(descriptor: i32, data: In<u8>, size: u64) -> Result<i64, Errno> {
    let bytes = data.read_many(size as usize).ok_or(Errno::EFAULT)?;
    let written = match descriptor {
        1 => write_stdout(&bytes),
        2 => write_stderr(&bytes),
        _ => return Err(Errno::EBADF),
    };
    if written {
        Ok(size.cast_signed())
    } else {
        Err(Errno(5))
    }
}

/// Writes to a descriptor. Returns how many bytes were written.
#[guest_fn(libkernel, partial = "standard output and standard error only")]
pub(crate) extern "sysv64" fn sceKernelWrite(descriptor: i32, data: In<u8>, size: u64) -> i64 {
    write_bytes(descriptor, data, size).unwrap_or_else(|error| i64::from(error.sce().0))
}

/// Writes to a descriptor. Returns how many bytes were written, -1 with `errno` for none.
#[guest_fn(
    libkernel,
    libScePosix,
    partial = "standard output and standard error only",
    also = "_write"
)]
pub(crate) extern "sysv64" fn write(descriptor: i32, data: In<u8>, size: u64) -> i64 {
    write_bytes(descriptor, data, size).unwrap_or_else(|error| {
        set_errno(error);
        -1
    })
}
