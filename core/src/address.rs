//! Guest addresses and ranges of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A virtual address of the guest, in bytes. In a running program it equals the host address; in a replay the
/// region table translates it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[repr(transparent)]
pub struct GuestAddress(pub u64);

impl GuestAddress {
    /// The address `bytes` further, or `None` where it would wrap.
    #[must_use]
    pub const fn checked_add(self, bytes: u64) -> Option<Self> {
        match self.0.checked_add(bytes) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The address rounded down to a multiple of `alignment`, a power of two.
    #[must_use]
    pub const fn align_down(self, alignment: u64) -> Self {
        Self(self.0 & !(alignment - 1))
    }

    /// Whether the address is a multiple of `alignment`, a power of two.
    #[must_use]
    pub const fn is_aligned(self, alignment: u64) -> bool {
        self.0 & (alignment - 1) == 0
    }
}

impl fmt::Debug for GuestAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for GuestAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::LowerHex for GuestAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

/// A half-open range of guest addresses: `start` up to, not including, `start + size`. It never wraps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "(GuestAddress, u64)", into = "(GuestAddress, u64)")]
pub struct GuestRange {
    start: GuestAddress,
    size: u64,
}

impl From<(GuestAddress, u64)> for GuestRange {
    fn from((start, size): (GuestAddress, u64)) -> Self {
        Self::new(start, size)
    }
}

impl From<GuestRange> for (GuestAddress, u64) {
    fn from(range: GuestRange) -> Self {
        (range.start, range.size)
    }
}

impl GuestRange {
    /// `size` bytes from `start`. A size that would wrap past the end of the address space is cut there, so that
    /// arithmetic on the range never overflows.
    #[must_use]
    pub const fn new(start: GuestAddress, size: u64) -> Self {
        let room = u64::MAX - start.0;
        Self {
            start,
            size: if size > room { room } else { size },
        }
    }

    /// First address.
    #[must_use]
    pub const fn start(self) -> GuestAddress {
        self.start
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(self) -> u64 {
        self.size
    }

    /// One past the last address.
    #[must_use]
    pub const fn end(self) -> GuestAddress {
        GuestAddress(self.start.0 + self.size)
    }

    /// Whether the range holds no byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.size == 0
    }

    /// Whether `address` lies in the range.
    #[must_use]
    pub const fn contains(self, address: GuestAddress) -> bool {
        address.0 >= self.start.0 && address.0 - self.start.0 < self.size
    }

    /// Whether all of `other` lies in the range.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        other.start.0 >= self.start.0 && other.end().0 <= self.end().0
    }

    /// Whether the two ranges share a byte.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.start.0 < other.end().0 && other.start.0 < self.end().0 && !self.is_empty() && !other.is_empty()
    }
}

impl fmt::Debug for GuestRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.start.0, self.end().0)
    }
}

impl fmt::Display for GuestRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_do_not_overlap() {
        let low = GuestRange::new(GuestAddress(0x1000), 0x1000);
        let high = GuestRange::new(GuestAddress(0x2000), 0x1000);
        assert!(!low.overlaps(high));
        assert!(low.overlaps(GuestRange::new(GuestAddress(0x1fff), 1)));
        assert!(!low.overlaps(GuestRange::new(GuestAddress(0x1800), 0)));
    }

    #[test]
    fn a_range_at_the_top_of_the_space_does_not_wrap() {
        let range = GuestRange::new(GuestAddress(u64::MAX - 4), 100);
        assert_eq!(range.size(), 4);
        assert!(range.contains(GuestAddress(u64::MAX - 1)));
        assert!(!range.contains(GuestAddress(0)));
    }
}
