//! Host pages that stand behind guest addresses in a replay, where no guest program has mapped them.

use std::{ffi::c_void, io, ptr};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::address::GuestRange;

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
        let size = guest.size() as usize;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let wanted: *mut c_void = ptr::with_exposed_provenance_mut(guest.start().0 as usize);
        // SAFETY: NOREPLACE never takes pages from an existing mapping.
        let at_home = unsafe {
            mmap_anonymous(
                wanted,
                size,
                protection,
                MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE,
            )
        };
        let start = match at_home {
            Ok(start) => start,
            // SAFETY: a fresh mapping at an address of the system's choice.
            Err(_) => unsafe { mmap_anonymous(ptr::null_mut(), size, protection, MapFlags::PRIVATE) }
                .map_err(|error| MapError {
                    guest,
                    size: guest.size(),
                    source: error.into(),
                })?,
        };
        Ok(Self { start, size, guest })
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
}
