//! Opening and closing.

use std::{
    ffi::CString,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
    sync::Arc,
};

use super::{
    flags::OpenFlags,
    mount::{self, Target},
    status,
    table::{self, OpenFile},
};
use crate::{pointer::Text, result::Errno};

/// Rights that new files always have: the console's programs own all they make, whatever mode they ask for.
const OWN_RIGHTS: u32 = 0o600;

/// Opens a path. The descriptor is the lowest that is free.
pub(crate) fn open_target(target: &Target, guest_flags: i32, mode: u32) -> Result<i32, Errno> {
    let flags = OpenFlags::new(guest_flags)?;
    let (host, read_only) = match target {
        Target::Device(path) => (open_device(path, flags)?, false),
        Target::Place(place) => {
            let read_only = place.mount.read_only;
            if read_only && flags.writes() {
                return Err(Errno::EROFS);
            }
            let host_flags = if read_only {
                flags.host() & !(libc::O_CREAT | libc::O_EXCL)
            } else {
                flags.host()
            };
            // A folder that may only be read can't get a new file.
            let host = place
                .open(host_flags, mode & 0o777 | OWN_RIGHTS)
                .map_err(|error| {
                    if read_only && flags.creates() && error == Errno::ENOENT {
                        Errno::EROFS
                    } else {
                        error
                    }
                })?;
            (host, read_only)
        }
    };
    if let Some(lock) = flags.lock() {
        // SAFETY: our descriptor.
        if unsafe { libc::flock(host.as_raw_fd(), lock) } != 0 {
            return Err(Errno::last());
        }
    }
    let is_directory = status::host_status(&host)?.st_mode & libc::S_IFMT == libc::S_IFDIR;
    table::insert(
        Arc::new(OpenFile::new(host, flags.guest(), is_directory, read_only)),
        0,
    )
}

fn open_device(path: &str, flags: OpenFlags) -> Result<OwnedFd, Errno> {
    let path = CString::new(path).map_err(|_| Errno::ENOENT)?;
    let flags = flags.host() & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC);
    // SAFETY: a string of ours; the result is checked.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags) };
    if descriptor < 0 {
        return Err(Errno::last());
    }
    // SAFETY: the host has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

file_pair! {
    /// Opens a file. Returns its descriptor. EROFS for writing below `/app0`.
    sceKernelOpen, open("_open")(path: Text, flags: i32, mode: u32) -> i32 {
        open_target(&mount::resolve(path)?, flags, mode)
    }
    /// Closes a descriptor.
    sceKernelClose, close("_close")(descriptor: i32) -> i32 {
        table::remove(descriptor).map(|()| 0)
    }
}
