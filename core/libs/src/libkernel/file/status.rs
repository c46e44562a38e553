//! What is known about files.

use std::{
    mem::MaybeUninit,
    os::fd::{AsRawFd as _, OwnedFd},
};

use super::{
    mount::{self, Target},
    table,
};
use crate::{
    libkernel::time::Timespec,
    pointer::{In, Out, Text},
    result::Errno,
};

/// FreeBSD's `struct stat` before its version 12: 120 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Status {
    device: u32,
    inode: u32,
    mode: u16,
    links: u16,
    user: u32,
    group: u32,
    special_device: u32,
    accessed: Timespec,
    modified: Timespec,
    changed: Timespec,
    size: i64,
    /// Of 512 bytes.
    blocks: i64,
    block_size: u32,
    flags: u32,
    generation: u32,
    spare: i32,
    born: Timespec,
}

const _: () = assert!(size_of::<Status>() == 120);
const _: () = assert!(std::mem::offset_of!(Status, size) == 72);
const _: () = assert!(std::mem::offset_of!(Status, born) == 104);

/// What the host knows about an open file.
pub(super) fn host_status(file: &OwnedFd) -> Result<libc::stat, Errno> {
    let mut status = MaybeUninit::uninit();
    // SAFETY: our descriptor and our record, which is read only when filled.
    unsafe {
        if libc::fstat(file.as_raw_fd(), status.as_mut_ptr()) != 0 {
            return Err(Errno::last());
        }
        Ok(status.assume_init())
    }
}

impl Status {
    fn of(file: &OwnedFd, read_only: bool) -> Result<Self, Errno> {
        let host = host_status(file)?;
        let time = |seconds, nanoseconds| Timespec { seconds, nanoseconds };
        let mode = if read_only {
            host.st_mode & !0o222
        } else {
            host.st_mode
        };
        let modified = time(host.st_mtime, host.st_mtime_nsec);
        Ok(Self {
            // The host's numbers are wider: folded, so that different files stay different as far as 32 bits go.
            device: fold(host.st_dev),
            inode: fold(host.st_ino),
            mode: mode as u16,
            links: u16::try_from(host.st_nlink).unwrap_or(u16::MAX),
            // The guest's user is the only one there is.
            user: 0,
            group: 0,
            special_device: fold(host.st_rdev),
            accessed: time(host.st_atime, host.st_atime_nsec),
            modified,
            changed: time(host.st_ctime, host.st_ctime_nsec),
            size: host.st_size,
            blocks: host.st_blocks,
            block_size: u32::try_from(host.st_blksize).unwrap_or(4096),
            flags: 0,
            generation: 0,
            spare: 0,
            born: modified,
        })
    }
}

pub(super) fn fold(number: u64) -> u32 {
    (number ^ number >> 32) as u32
}

/// Opens for looking alone.
fn look(path: Text, more: i32) -> Result<(OwnedFd, bool), Errno> {
    match mount::resolve(path)? {
        Target::Place(place) => Ok((place.open(libc::O_PATH | more, 0)?, place.mount.read_only)),
        Target::Device(path) => {
            let file = std::fs::File::open(path).map_err(|_| Errno::last())?;
            Ok((file.into(), false))
        }
    }
}

fn store(out: Out<Status>, status: Status) -> Result<i32, Errno> {
    out.write(status).then_some(0).ok_or(Errno::EFAULT)
}

/// `access`'s questions.
const EXECUTE: i32 = 1;
const WRITE: i32 = 2;
const READ: i32 = 4;

file_pair! {
    /// Stores what is known about a path.
    sceKernelStat, stat("_stat")(path: Text, out: Out<Status>) -> i32 {
        let (file, read_only) = look(path, 0)?;
        store(out, Status::of(&file, read_only)?)
    }
    /// Stores what is known about an open file.
    sceKernelFstat, fstat("_fstat")(descriptor: i32, out: Out<Status>) -> i32 {
        let file = table::get(descriptor)?;
        store(out, Status::of(file.owned(), file.read_only)?)
    }
    /// Stores what is known about a path, or about the symbolic link that it is.
    sceKernelLstat, lstat(path: Text, out: Out<Status>) -> i32 {
        let (file, read_only) = look(path, libc::O_NOFOLLOW)?;
        store(out, Status::of(&file, read_only)?)
    }
    /// Whether a path may be read (4), written (2) or executed (1); 0 asks whether it is there.
    sceKernelAccess, access(path: Text, mode: i32) -> i32 {
        if mode & !(READ | WRITE | EXECUTE) != 0 {
            return Err(Errno::EINVAL);
        }
        let (file, read_only) = look(path, 0)?;
        let rights = host_status(&file)?.st_mode;
        if mode & WRITE != 0 && read_only {
            return Err(Errno::EROFS);
        }
        let lacks = |asked, bits| mode & asked != 0 && rights & bits == 0;
        if lacks(READ, 0o444) || lacks(WRITE, 0o222) || lacks(EXECUTE, 0o111) {
            return Err(Errno::EACCES);
        }
        Ok(0)
    }
    /// Sets the times of last access and of last change: two of seconds and microseconds; null for now.
    sceKernelUtimes, utimes(path: Text, times: In<[i64; 4]>) -> i32 {
        let place = mount::place(path)?.writable()?;
        let file = place.open(libc::O_RDONLY | libc::O_NONBLOCK, 0)?;
        set_times(&file, times)
    }
    /// Sets the times of last access and of last change of an open file.
    sceKernelFutimes, futimes(descriptor: i32, times: In<[i64; 4]>) -> i32 {
        let file = table::get(descriptor)?;
        if file.read_only {
            return Err(Errno::EROFS);
        }
        set_times(file.owned(), times)
    }
    /// Sets the rights of a path. The owner keeps reading and writing.
    sceKernelChmod, chmod(path: Text, mode: u32) -> i32 {
        let place = mount::place(path)?.writable()?;
        let file = place.open(libc::O_RDONLY | libc::O_NONBLOCK, 0)?;
        set_mode(&file, mode)
    }
    /// Sets the rights of an open file. The owner keeps reading and writing.
    sceKernelFchmod, fchmod(descriptor: i32, mode: u32) -> i32 {
        let file = table::get(descriptor)?;
        if file.read_only {
            return Err(Errno::EROFS);
        }
        set_mode(file.owned(), mode)
    }
}

fn set_mode(file: &OwnedFd, mode: u32) -> Result<i32, Errno> {
    let own = if host_status(file)?.st_mode & libc::S_IFMT == libc::S_IFDIR {
        0o700
    } else {
        0o600
    };
    // SAFETY: our descriptor.
    if unsafe { libc::fchmod(file.as_raw_fd(), mode & 0o777 | own) } != 0 {
        return Err(Errno::last());
    }
    Ok(0)
}

fn set_times(file: &OwnedFd, times: In<[i64; 4]>) -> Result<i32, Errno> {
    let times = times
        .read()
        .map(|[accessed, accessed_micro, modified, modified_micro]| {
            let time = |tv_sec, microseconds: i64| libc::timespec {
                tv_sec,
                tv_nsec: microseconds.saturating_mul(1000),
            };
            [time(accessed, accessed_micro), time(modified, modified_micro)]
        });
    let pointer = times.as_ref().map_or(std::ptr::null(), |times| times.as_ptr());
    // SAFETY: our descriptor; null or two times of ours.
    if unsafe { libc::futimens(file.as_raw_fd(), pointer) } != 0 {
        return Err(Errno::last());
    }
    Ok(0)
}

/// Whether a path leads to something.
#[relic_macros::guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelCheckReachability(path: Text) -> crate::result::SceResult {
    look(path, 0).map(drop).into()
}
