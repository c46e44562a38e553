//! What directories hold.

use std::{
    os::fd::{AsRawFd as _, OwnedFd},
    sync::PoisonError,
};

use super::{
    status::fold,
    table::{self, OpenFile},
};
use crate::{pointer::Out, result::Errno};

/// One entry of a directory.
pub(super) struct Entry {
    inode: u64,
    /// The host's file type, which is FreeBSD's too.
    kind: u8,
    pub(super) name: Vec<u8>,
}

/// Reads a host directory from its beginning.
pub(super) fn entries(folder: &OwnedFd) -> Result<Vec<Entry>, Errno> {
    // The descriptor's own place is left alone: a second one is opened.
    let path =
        std::ffi::CString::new(format!("/proc/self/fd/{}", folder.as_raw_fd())).map_err(|_| Errno::EIO)?;
    // SAFETY: a string of ours; the stream is closed below.
    let stream = unsafe { libc::opendir(path.as_ptr()) };
    if stream.is_null() {
        return Err(Errno::last());
    }
    let mut entries = Vec::new();
    // SAFETY: the stream is open, and an entry is used before the next is asked for.
    unsafe {
        loop {
            let entry = libc::readdir64(stream);
            if entry.is_null() {
                break;
            }
            entries.push(Entry {
                inode: (*entry).d_ino,
                kind: (*entry).d_type,
                name: std::ffi::CStr::from_ptr((*entry).d_name.as_ptr())
                    .to_bytes()
                    .to_vec(),
            });
        }
        libc::closedir(stream);
    }
    Ok(entries)
}

/// A directory's entries as the guest reads them, and how far it has read. Taken when the guest first asks, in the order of
/// names, so that it is the same on every host.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Records of FreeBSD's `struct dirent`.
    bytes: Vec<u8>,
    place: usize,
}

/// Bytes of a record in front of its name: inode, length, type, length of the name.
const HEAD: usize = 8;

impl Listing {
    fn read(folder: &OwnedFd) -> Result<Self, Errno> {
        let mut entries = entries(folder)?;
        // `.` and `..` come first, as everywhere.
        entries.sort_by(|a, b| {
            let rank = |name: &[u8]| name != b"." && name != b"..";
            (rank(&a.name), &a.name).cmp(&(rank(&b.name), &b.name))
        });
        let mut bytes = Vec::new();
        for entry in entries {
            let Ok(length) = u8::try_from(entry.name.len()) else {
                continue;
            };
            let size = (HEAD + entry.name.len() + 1).next_multiple_of(4);
            let end = bytes.len() + size;
            bytes.extend_from_slice(&fold(entry.inode).to_le_bytes());
            bytes.extend_from_slice(&(size as u16).to_le_bytes());
            bytes.extend_from_slice(&[entry.kind, length]);
            bytes.extend_from_slice(&entry.name);
            bytes.resize(end, 0);
        }
        Ok(Self { bytes, place: 0 })
    }

    /// As many whole records as fit.
    fn take(&mut self, room: usize) -> Result<&[u8], Errno> {
        let start = self.place.min(self.bytes.len());
        let mut end = start;
        while let Some(&[low, high]) = self.bytes.get(end + 4..end + 6) {
            let size = usize::from(u16::from_le_bytes([low, high]));
            if end + size - start > room {
                break;
            }
            end += size;
        }
        if end == start && start < self.bytes.len() {
            return Err(Errno::EINVAL);
        }
        self.place = end;
        Ok(&self.bytes[start..end])
    }
}

/// Copies entries. Stores where the directory stood before, and returns how many bytes were copied.
pub(crate) fn read_entries(descriptor: i32, to: Out<u8>, size: u64, base: Out<i64>) -> Result<i32, Errno> {
    let file = table::get(descriptor)?;
    if !file.is_directory {
        return Err(Errno::EINVAL);
    }
    if to.is_null() {
        return Err(Errno::EFAULT);
    }
    let mut listing = file.listing.lock().unwrap_or_else(PoisonError::into_inner);
    let listing = match &mut *listing {
        Some(listing) => listing,
        none => none.insert(Listing::read(file.owned())?),
    };
    let before = listing.place;
    let bytes = listing.take(usize::try_from(size).unwrap_or(usize::MAX).min(i32::MAX as usize))?;
    to.write_bytes(bytes);
    let count = bytes.len() as i32;
    base.write(before as i64);
    Ok(count)
}

/// Moves in a directory: to the beginning, which reads it again, or to a place that `getdirentries` gave.
pub(super) fn seek(file: &OpenFile, offset: i64, whence: i32) -> Result<i64, Errno> {
    let mut listing = file.listing.lock().unwrap_or_else(PoisonError::into_inner);
    let here = listing.as_ref().map_or(0, |listing| listing.place as i64);
    let place = match whence {
        0 => offset,
        1 => here + offset,
        _ => return Err(Errno::EINVAL),
    };
    if place == 0 {
        *listing = None;
        return Ok(0);
    }
    let to = usize::try_from(place).map_err(|_| Errno::EINVAL)?;
    if place != here {
        let listing = listing.as_mut().ok_or(Errno::EINVAL)?;
        listing.place = to.min(listing.bytes.len());
    }
    Ok(place)
}

file_pair! {
    /// Reads entries of a directory: FreeBSD's `struct dirent` records. Returns their bytes, 0 at the end; EINVAL where the
    /// buffer does not hold the next one.
    sceKernelGetdents, getdents(descriptor: i32, to: Out<u8>, size: u64) -> i32 {
        // SAFETY: null.
        read_entries(descriptor, to, size, unsafe { Out::new(std::ptr::null_mut()) })
    }
    /// Reads entries of a directory, and stores where it stood before.
    sceKernelGetdirentries, getdirentries(descriptor: i32, to: Out<u8>, size: u64, base: Out<i64>) -> i32 {
        read_entries(descriptor, to, size, base)
    }
}
