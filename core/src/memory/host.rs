//! Host pages that stand behind guest addresses in a replay, where no guest program has mapped them.

use std::{ffi::c_void, io, os::fd::OwnedFd, ptr};

use rustix::{
    fs::{MemfdFlags, Mode, OFlags, fstat, ftruncate, memfd_create, open},
    io::{pread, pwrite},
    mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap},
};

use crate::address::GuestRange;

/// Bytes of a host page.
const PAGE: usize = 4096;

/// Anonymous zeroed pages, at the guest's own addresses where those are free. Given back when dropped.
#[derive(Debug)]
pub struct HostMapping {
    start: *mut c_void,
    size: usize,
    guest: GuestRange,
}

// SAFETY: the mapping is plain memory; who may access it when is the region table's business.
unsafe impl Send for HostMapping {}
// SAFETY: as above.
unsafe impl Sync for HostMapping {}

/// Pages that several mappings show, all zero at first.
#[derive(Debug)]
pub struct HostPool(OwnedFd);

impl HostPool {
    /// An empty pool. It grows with what is mapped of it.
    ///
    /// # Errors
    /// As the system says.
    pub fn new() -> io::Result<Self> {
        Ok(Self(memfd_create("relic-pool", MemfdFlags::CLOEXEC)?))
    }

    /// Writes bytes past all mappings: pages of theirs that nobody has touched stay so.
    ///
    /// # Errors
    /// As the system says.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            written += pwrite(&self.0, &bytes[written..], offset + written as u64)?;
        }
        Ok(())
    }
}

/// The system gave no pages.
#[derive(Debug, thiserror::Error)]
#[error("can't map {size} bytes of memory for guest range {guest}: {source}")]
pub struct MapError {
    guest: GuestRange,
    size: u64,
    source: io::Error,
}

impl HostMapping {
    /// Maps zeroed pages for `guest`: at the same addresses when they are free, else anywhere, and the region
    /// table translates. The size must be a multiple of 4096.
    ///
    /// # Errors
    /// [`MapError`] when the system has no pages.
    pub fn new(guest: GuestRange) -> Result<Self, MapError> {
        Self::at_home_or_anywhere(guest, |address, flags| {
            // SAFETY: the caller's flags never take pages from an existing mapping.
            unsafe {
                mmap_anonymous(
                    address,
                    guest.size() as usize,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::PRIVATE | flags,
                )
            }
        })
    }

    /// Maps the pool's pages from `offset` on, a multiple of 4096, like [`Self::new`].
    ///
    /// # Errors
    /// [`MapError`] when the system has no pages.
    pub fn of_pool(guest: GuestRange, pool: &HostPool, offset: u64) -> Result<Self, MapError> {
        let refused = |source: rustix::io::Errno| MapError {
            guest,
            size: guest.size(),
            source: source.into(),
        };
        let end = offset.saturating_add(guest.size());
        if (fstat(&pool.0).map_err(refused)?.st_size as u64) < end {
            ftruncate(&pool.0, end).map_err(refused)?;
        }
        Self::at_home_or_anywhere(guest, |address, flags| {
            // SAFETY: the caller's flags never take pages from an existing mapping.
            unsafe {
                mmap(
                    address,
                    guest.size() as usize,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::SHARED | flags,
                    &pool.0,
                    offset,
                )
            }
        })
    }

    fn at_home_or_anywhere(
        guest: GuestRange,
        map: impl Fn(*mut c_void, MapFlags) -> rustix::io::Result<*mut c_void>,
    ) -> Result<Self, MapError> {
        let wanted: *mut c_void = ptr::with_exposed_provenance_mut(guest.start().0 as usize);
        let start = map(wanted, MapFlags::FIXED_NOREPLACE)
            .or_else(|_| map(ptr::null_mut(), MapFlags::empty()))
            .map_err(|error| MapError {
                guest,
                size: guest.size(),
                source: error.into(),
            })?;
        Ok(Self {
            start,
            size: guest.size() as usize,
            guest,
        })
    }

    /// For each page, whether someone has touched it through this mapping. The system may count up to 16 pages around a
    /// touched one too.
    ///
    /// # Errors
    /// As the system says.
    pub fn touched(&self) -> io::Result<Vec<bool>> {
        /// `Documentation/admin-guide/mm/pagemap.rst`: the page is in memory.
        const PRESENT: u64 = 1 << 63;
        let pagemap = open(
            "/proc/self/pagemap",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let mut entries = vec![0; self.size / PAGE * 8];
        let mut read = 0;
        while read < entries.len() {
            let at = self.start.addr() / PAGE * 8 + read;
            match pread(&pagemap, &mut entries[read..], at as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => read += count,
            }
        }
        let entries = entries.as_chunks::<8>().0;
        Ok(entries
            .iter()
            .map(|entry| u64::from_ne_bytes(*entry) & PRESENT != 0)
            .collect())
    }

    /// Host address of the first byte.
    #[must_use]
    pub const fn as_ptr(&self) -> *mut u8 {
        self.start.cast()
    }

    /// The guest addresses it stands for.
    #[must_use]
    pub const fn guest(&self) -> GuestRange {
        self.guest
    }

    /// Whether host and guest addresses differ.
    #[must_use]
    pub fn is_translated(&self) -> bool {
        self.start.addr() as u64 != self.guest.start().0
    }
}

impl Drop for HostMapping {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping's own, and whoever put it in a region table has taken it out.
        // A failure would leak pages and nothing else.
        let _ = unsafe { munmap(self.start, self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::GuestAddress;

    #[test]
    fn taken_addresses_are_translated() {
        let guest = GuestRange::new(GuestAddress(0x5000_0000), 0x4000);
        let first = HostMapping::new(guest).unwrap();
        let second = HostMapping::new(guest).unwrap();
        assert!(!first.is_translated());
        assert!(second.is_translated());
        assert_ne!(first.as_ptr(), second.as_ptr());
    }

    #[test]
    fn mappings_of_one_part_of_a_pool_share_their_bytes() {
        let pool = HostPool::new().unwrap();
        let guest = |start| GuestRange::new(GuestAddress(start), 0x2000);
        let first = HostMapping::of_pool(guest(0x5100_0000), &pool, 0x3000).unwrap();
        let second = HostMapping::of_pool(guest(0x5200_0000), &pool, 0x4000).unwrap();
        // SAFETY: both are mapped, and nothing else knows them.
        unsafe {
            first.as_ptr().add(0x1008).write(7);
            assert_eq!(second.as_ptr().add(8).read(), 7);
            assert_eq!(second.as_ptr().add(0x1008).read(), 0);
        }
    }

    #[test]
    fn what_is_touched_is_told() {
        let pool = HostPool::new().unwrap();
        let guest = GuestRange::new(GuestAddress(0x5300_0000), 0x10_0000);
        let mapping = HostMapping::of_pool(guest, &pool, 0).unwrap();
        pool.write_at(0, &[7; 0x10_0000]).unwrap();
        assert!(!mapping.touched().unwrap().contains(&true));
        // SAFETY: it is mapped.
        assert_eq!(unsafe { mapping.as_ptr().add(0x8_0000).read() }, 7);
        let touched = mapping.touched().unwrap();
        assert!(touched[0x80]);
        assert!(touched.iter().filter(|touched| **touched).count() <= 16);
    }
}
