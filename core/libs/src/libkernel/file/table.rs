//! The guest's descriptors.

use std::{
    fs::File,
    mem::ManuallyDrop,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd},
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicI32, Ordering},
    },
};

use super::directory::Listing;
use crate::result::Errno;

/// Most descriptors a program may have.
const LIMIT: usize = 4096;

/// An open file: what descriptors that were duplicated share.
#[derive(Debug)]
pub(crate) struct OpenFile {
    host: OwnedFd,
    /// FreeBSD's flags that it was opened with, for `fcntl`.
    pub(super) flags: AtomicI32,
    /// What a directory holds, once somebody has asked.
    pub(super) listing: Mutex<Option<Listing>>,
    pub(super) is_directory: bool,
    /// Of a mount that may only be read.
    pub(super) read_only: bool,
}

impl OpenFile {
    pub(crate) fn new(host: OwnedFd, flags: i32, is_directory: bool, read_only: bool) -> Self {
        Self {
            host,
            flags: AtomicI32::new(flags),
            listing: Mutex::new(None),
            is_directory,
            read_only,
        }
    }

    /// The host's descriptor.
    pub(crate) fn host(&self) -> RawFd {
        self.host.as_raw_fd()
    }

    pub(super) fn owned(&self) -> &OwnedFd {
        &self.host
    }

    /// The host's file, to call its functions.
    pub(super) fn file(&self) -> ManuallyDrop<File> {
        // SAFETY: the descriptor stays ours: the file is never dropped.
        ManuallyDrop::new(unsafe { File::from_raw_fd(self.host()) })
    }

    pub(super) fn guest_flags(&self) -> i32 {
        self.flags.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Table {
    files: Vec<Option<Arc<OpenFile>>>,
    /// Whether the standard descriptors are in.
    begun: bool,
}

static TABLE: RwLock<Table> = RwLock::new(Table {
    files: Vec::new(),
    begun: false,
});

impl Table {
    /// Enters the host's standard descriptors, as copies: Relic's own reports keep theirs whatever the guest closes.
    fn begin(&mut self) {
        self.begun = true;
        for (number, flags) in [(0, 0), (1, 1), (2, 1)] {
            // SAFETY: a copy of a descriptor that may be closed, which is an error then.
            let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
            let file = (copy >= 0).then(|| {
                // SAFETY: the copy is ours.
                let host = unsafe { OwnedFd::from_raw_fd(copy) };
                Arc::new(OpenFile::new(host, flags, false, false))
            });
            self.files.push(file);
        }
    }
}

fn read() -> RwLockReadGuard<'static, Table> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    if table.begun {
        return table;
    }
    drop(table);
    drop(write());
    TABLE.read().unwrap_or_else(PoisonError::into_inner)
}

fn write() -> RwLockWriteGuard<'static, Table> {
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    if !table.begun {
        table.begin();
    }
    table
}

/// The open file with this descriptor.
pub(crate) fn get(descriptor: i32) -> Result<Arc<OpenFile>, Errno> {
    let index = usize::try_from(descriptor).map_err(|_| Errno::EBADF)?;
    read().files.get(index).cloned().flatten().ok_or(Errno::EBADF)
}

/// Enters a file under the lowest free descriptor that is not below `from`.
pub(crate) fn insert(file: Arc<OpenFile>, from: i32) -> Result<i32, Errno> {
    let from = usize::try_from(from).map_err(|_| Errno::EINVAL)?;
    if from >= LIMIT {
        return Err(Errno::EINVAL);
    }
    let mut table = write();
    let free = (from..table.files.len()).find(|&index| table.files[index].is_none());
    let index = free.unwrap_or_else(|| table.files.len().max(from));
    if index >= LIMIT {
        return Err(Errno::EMFILE);
    }
    put(&mut table, index, file);
    Ok(index as i32)
}

/// Enters a file under a descriptor, in place of what is there.
pub(crate) fn replace(descriptor: i32, file: Arc<OpenFile>) -> Result<(), Errno> {
    let index = usize::try_from(descriptor).map_err(|_| Errno::EBADF)?;
    if index >= LIMIT {
        return Err(Errno::EBADF);
    }
    put(&mut write(), index, file);
    Ok(())
}

fn put(table: &mut Table, index: usize, file: Arc<OpenFile>) {
    if table.files.len() <= index {
        table.files.resize(index + 1, None);
    }
    table.files[index] = Some(file);
}

/// Takes a descriptor out. The file is closed when no duplicate of it is left.
pub(crate) fn remove(descriptor: i32) -> Result<(), Errno> {
    let index = usize::try_from(descriptor).map_err(|_| Errno::EBADF)?;
    let taken = write()
        .files
        .get_mut(index)
        .and_then(Option::take)
        .ok_or(Errno::EBADF)?;
    // The host's close runs without the lock.
    drop(taken);
    Ok(())
}
