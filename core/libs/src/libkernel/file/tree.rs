//! Making, renaming and removing.

use std::os::fd::AsRawFd as _;

use super::{mount, status};
use crate::{
    pointer::Text,
    result::{Errno, SceResult},
};

/// What a host call that changes a folder says.
fn done(answer: i32) -> Result<i32, Errno> {
    if answer == 0 { Ok(0) } else { Err(Errno::last()) }
}

/// Removes a name. `flags` as `unlinkat` takes them.
fn remove(path: Text, flags: i32) -> Result<i32, Errno> {
    let (folder, name) = mount::place(path)?.writable()?.parent()?;
    // SAFETY: our descriptor and a string.
    done(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), flags) })
}

/// Removes a file.
pub(crate) fn unlink_path(path: Text) -> Result<i32, Errno> {
    // FreeBSD's answer for a directory.
    remove(path, 0).map_err(|error| {
        if error == Errno::EISDIR {
            Errno::EPERM
        } else {
            error
        }
    })
}

/// Removes an empty directory.
pub(crate) fn remove_directory(path: Text) -> Result<i32, Errno> {
    remove(path, libc::AT_REMOVEDIR)
}

/// Renames, replacing what has the new name.
pub(crate) fn rename_path(from: Text, to: Text) -> Result<i32, Errno> {
    let (from, to) = (mount::place(from)?.writable()?, mount::place(to)?.writable()?);
    if !from.is_same_mount(&to) {
        return Err(Errno::EXDEV);
    }
    let (from_folder, from_name) = from.parent()?;
    let (to_folder, to_name) = to.parent()?;
    // SAFETY: our descriptors and strings.
    done(unsafe {
        libc::renameat(
            from_folder.as_raw_fd(),
            from_name.as_ptr(),
            to_folder.as_raw_fd(),
            to_name.as_ptr(),
        )
    })
}

file_pair! {
    /// Makes a directory. Its owner may always use it.
    sceKernelMkdir, mkdir(path: Text, mode: u32) -> i32 {
        let place = mount::place(path)?;
        // What is there is there, also where nothing could be made.
        if place.open(libc::O_PATH, 0).is_ok() {
            return Err(Errno::EEXIST);
        }
        let (folder, name) = place.writable()?.parent()?;
        // SAFETY: our descriptor and a string.
        done(unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), mode & 0o777 | 0o700) })
    }
    /// Removes an empty directory.
    sceKernelRmdir, rmdir(path: Text) -> i32 {
        remove_directory(path)
    }
    /// Removes a file; EPERM for a directory.
    sceKernelUnlink, unlink(path: Text) -> i32 {
        unlink_path(path)
    }
    /// Renames, replacing what has the new name.
    sceKernelRename, rename(from: Text, to: Text) -> i32 {
        rename_path(from, to)
    }
    /// Cuts a file, or makes it longer with zeros.
    sceKernelTruncate, truncate(path: Text, size: i64) -> i32 {
        let file = mount::place(path)?.writable()?.open(libc::O_WRONLY, 0)?;
        if size < 0 || status::host_status(&file)?.st_mode & libc::S_IFMT != libc::S_IFREG {
            return Err(Errno::EINVAL);
        }
        // SAFETY: our descriptor.
        done(unsafe { libc::ftruncate(file.as_raw_fd(), size) })
    }
}

/// Names of the mounts' folders are no business of a program's: there is no working directory but `/app0`.
#[relic_macros::guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn getcwd(buffer: crate::pointer::Out<u8>, size: u64) -> *mut u8 {
    let name = b"/app0";
    let error = if buffer.is_null() || size == 0 {
        Errno::EINVAL
    } else if size <= name.len() as u64 {
        Errno::ERANGE
    } else {
        buffer.write_text(name, size as usize);
        return buffer.as_ptr();
    };
    crate::result::set_errno(error);
    std::ptr::null_mut()
}

impl From<Result<i32, Errno>> for SceResult {
    fn from(result: Result<i32, Errno>) -> Self {
        result.map_or_else(Errno::sce, SceResult)
    }
}
