//! Places in a file and in an image.

use std::fmt;

/// Size in bytes of a host page: protection and mapping on x86-64 Linux work in these.
pub const HOST_PAGE: u64 = 0x1000;

/// A byte offset in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileOffset(pub u64);

/// A virtual address of an image before it is loaded: the load bias is not in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ImageAddress(pub u64);

/// A half-open range of image addresses. Readers make only ranges that don't wrap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ImageRange {
    /// First address.
    pub start: ImageAddress,
    /// Size in bytes.
    pub size: u64,
}

impl ImageRange {
    /// One past the last address.
    #[must_use]
    pub const fn end(self) -> ImageAddress {
        ImageAddress(self.start.0.saturating_add(self.size))
    }

    /// Whether all `size` bytes from `start` lie in the range.
    #[must_use]
    pub const fn covers(self, start: ImageAddress, size: u64) -> bool {
        match start.0.checked_add(size) {
            Some(end) => start.0 >= self.start.0 && end <= self.end().0,
            None => false,
        }
    }
}

/// `value` rounded down to a multiple of `alignment`, a power of two.
#[must_use]
pub const fn align_down(value: u64, alignment: u64) -> u64 {
    value & !(alignment - 1)
}

/// `value` rounded up to a multiple of `alignment`, a power of two; `None` where that would wrap.
#[must_use]
pub const fn align_up(value: u64, alignment: u64) -> Option<u64> {
    match value.checked_add(alignment - 1) {
        Some(sum) => Some(align_down(sum, alignment)),
        None => None,
    }
}

macro_rules! hexadecimal {
    ($($type:ty),*) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    )*};
}
hexadecimal!(FileOffset, ImageAddress);

impl fmt::Debug for ImageRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end())
    }
}

impl fmt::Display for ImageRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
