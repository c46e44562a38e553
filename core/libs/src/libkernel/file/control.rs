//! Duplicating descriptors, and their flags.

use std::sync::{Arc, atomic::Ordering};

use super::{
    flags::{APPEND, NON_BLOCKING},
    table,
};
use crate::{
    pointer::{Out, host},
    result::{Errno, set_errno},
};

/// `fcntl`'s commands.
const DUPLICATE: i32 = 0;
const GET_DESCRIPTOR_FLAGS: i32 = 1;
const SET_DESCRIPTOR_FLAGS: i32 = 2;
const GET_FLAGS: i32 = 3;
const SET_FLAGS: i32 = 4;
const DUPLICATE_CLOSE_ON_EXEC: i32 = 17;

/// Record locks: ask, set, set and wait.
const GET_LOCK: i32 = 11;
const SET_LOCK: i32 = 12;
const SET_LOCK_WAIT: i32 = 13;

/// FreeBSD's `struct flock`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct RecordLock {
    start: i64,
    /// 0 for all behind the start.
    size: i64,
    process: i32,
    kind: i16,
    whence: i16,
    system: i32,
}

/// Kinds of record locks: FreeBSD's, the host's.
const LOCKS: [(i16, i32); 3] = [(1, libc::F_RDLCK), (2, libc::F_UNLCK), (3, libc::F_WRLCK)];

/// Sets a record lock, or asks which one stands in its way.
fn lock_record(file: &table::OpenFile, command: i32, lock: Out<RecordLock>) -> Result<i32, Errno> {
    let mut record = lock.read().ok_or(Errno::EFAULT)?;
    let kind = LOCKS
        .iter()
        .find(|(guest, _)| *guest == record.kind)
        .ok_or(Errno::EINVAL)?
        .1;
    let mut host = libc::flock {
        l_type: kind as i16,
        l_whence: record.whence,
        l_start: record.start,
        l_len: record.size,
        l_pid: 0,
    };
    let host_command = match command {
        GET_LOCK => libc::F_GETLK,
        SET_LOCK => libc::F_SETLK,
        _ => libc::F_SETLKW,
    };
    // SAFETY: our descriptor and our record.
    if unsafe { libc::fcntl(file.host(), host_command, &raw mut host) } != 0 {
        return Err(match Errno::last() {
            // FreeBSD knows one answer to a lock of another process.
            Errno::EACCES => Errno::EAGAIN,
            error => error,
        });
    }
    if command == GET_LOCK {
        let guest = LOCKS
            .iter()
            .find(|(_, host_kind)| *host_kind == i32::from(host.l_type));
        record.kind = guest.map_or(2, |(guest, _)| *guest);
        (record.whence, record.start, record.size) = (host.l_whence, host.l_start, host.l_len);
        record.process = host.l_pid;
        lock.write(record);
    }
    Ok(0)
}

/// Flags of `open` that describe the opening alone, and are not reported.
const OPENING: i32 = 0x200 | 0x400 | 0x800 | 0x2_0000 | 0x10_0000;

fn control(descriptor: i32, command: i32, argument: u64) -> Result<i32, Errno> {
    let file = table::get(descriptor)?;
    match command {
        DUPLICATE | DUPLICATE_CLOSE_ON_EXEC => table::insert(file, argument as i32),
        // Nothing is ever executed in the program's place, so that the one flag there is has no effect.
        GET_DESCRIPTOR_FLAGS | SET_DESCRIPTOR_FLAGS => Ok(0),
        GET_FLAGS => Ok(file.guest_flags() & !OPENING),
        SET_FLAGS => {
            let wanted = argument as i32 & (APPEND | NON_BLOCKING);
            let mut host = 0;
            for (guest, same) in [(APPEND, libc::O_APPEND), (NON_BLOCKING, libc::O_NONBLOCK)] {
                if wanted & guest != 0 {
                    host |= same;
                }
            }
            // SAFETY: our descriptor.
            if unsafe { libc::fcntl(file.host(), libc::F_SETFL, host) } != 0 {
                return Err(Errno::last());
            }
            let kept = file.guest_flags() & !(APPEND | NON_BLOCKING);
            file.flags.store(kept | wanted, Ordering::Relaxed);
            Ok(0)
        }
        GET_LOCK | SET_LOCK | SET_LOCK_WAIT => {
            // SAFETY: the guest's record.
            let lock = unsafe { Out::new(host(argument)) };
            lock_record(&file, command, lock)
        }
        _ => Err(Errno::EINVAL),
    }
}

/// Enters the file of one descriptor under another one, in place of what is there.
pub(crate) fn duplicate_to(from: i32, to: i32) -> Result<i32, Errno> {
    let file = table::get(from)?;
    if from != to {
        table::replace(to, Arc::clone(&file))?;
    }
    Ok(to)
}

file_pair! {
    /// Duplicates a descriptor: both stand at the same place of the file.
    sceKernelDup, dup(descriptor: i32) -> i32 {
        table::insert(table::get(descriptor)?, 0)
    }
    /// Duplicates a descriptor to a number, which is closed first.
    sceKernelDup2, dup2(from: i32, to: i32) -> i32 {
        duplicate_to(from, to)
    }
    /// Locks an open file: shared (1), exclusive (2), unlock (8); with 4 without waiting.
    sceKernelFlock, flock(descriptor: i32, operation: i32) -> i32 {
        let file = table::get(descriptor)?;
        // SAFETY: our descriptor; the numbers are the host's.
        if unsafe { libc::flock(file.host(), operation) } != 0 {
            return Err(Errno::last());
        }
        Ok(0)
    }
}

/// Duplicates a descriptor, reads or sets its flags, or locks a part of a file. Other commands are EINVAL.
#[relic_macros::guest_fn(libkernel, partial = "duplicating, flags and record locks; no owners")]
pub(crate) extern "sysv64" fn sceKernelFcntl(descriptor: i32, command: i32, argument: u64) -> i32 {
    control(descriptor, command, argument).unwrap_or_else(|error| error.sce().0)
}

/// Duplicates a descriptor, reads or sets its flags, or locks a part of a file. Other commands are EINVAL.
#[relic_macros::guest_fn(
    libkernel,
    libScePosix,
    also = "_fcntl",
    partial = "duplicating, flags and record locks; no owners"
)]
pub(crate) extern "sysv64" fn fcntl(descriptor: i32, command: i32, argument: u64) -> i32 {
    control(descriptor, command, argument).unwrap_or_else(|error| {
        set_errno(error);
        -1
    })
}

/// Whether a descriptor is a terminal.
#[relic_macros::guest_fn(libkernel, libScePosix, libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn isatty(descriptor: i32) -> i32 {
    match table::get(descriptor) {
        Ok(file) => {
            // SAFETY: our descriptor.
            let terminal = unsafe { libc::isatty(file.host()) };
            if terminal == 0 {
                // FreeBSD's ENOTTY.
                set_errno(Errno(25));
            }
            terminal
        }
        Err(error) => {
            set_errno(error);
            0
        }
    }
}
