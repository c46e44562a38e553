//! Bounds-checked reading of little-endian bytes.

use crate::{address::FileOffset, error::RelinkError};

/// The whole input file.
#[derive(Clone, Copy)]
pub struct FileBytes<'a>(&'a [u8]);

impl std::fmt::Debug for FileBytes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x} bytes", self.size())
    }
}

impl<'a> FileBytes<'a> {
    /// The file with these bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn all(self) -> &'a [u8] {
        self.0
    }

    /// Its size in bytes.
    #[must_use]
    pub const fn size(self) -> u64 {
        self.0.len() as u64
    }

    /// `size` bytes from `offset`, if the file has them.
    #[must_use]
    pub fn get(self, offset: FileOffset, size: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(offset.0).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        self.0.get(start..end)
    }

    /// `size` bytes from `offset`.
    ///
    /// # Errors
    ///
    /// [`RelinkError::Truncated`] naming `what`.
    pub fn range(self, what: &'static str, offset: FileOffset, size: u64) -> Result<&'a [u8], RelinkError> {
        self.get(offset, size).ok_or(RelinkError::Truncated {
            what,
            offset,
            size,
            file_size: self.size(),
        })
    }
}

/// The records of a table.
///
/// # Errors
///
/// [`RelinkError::TableSize`] when a part of a record is left over.
pub fn records<'a, const SIZE: usize>(
    table: &'static str,
    bytes: &'a [u8],
) -> Result<&'a [[u8; SIZE]], RelinkError> {
    match bytes.as_chunks() {
        (records, []) => Ok(records),
        _ => Err(RelinkError::TableSize {
            table,
            size: bytes.len() as u64,
            record: SIZE as u64,
        }),
    }
}

/// A field of `N` bytes at the constant place `AT` of a whole record; a place outside it does not compile.
#[must_use]
pub fn field<const AT: usize, const N: usize, const SIZE: usize>(record: &[u8; SIZE]) -> [u8; N] {
    const { assert!(AT + N <= SIZE) };
    std::array::from_fn(|i| record[AT + i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_wraps_or_leaves_the_file_is_an_error() {
        let file = FileBytes::new(&[1, 2, 3, 4]);
        assert_eq!(file.get(FileOffset(1), 3), Some(&[2, 3, 4][..]));
        assert_eq!(file.get(FileOffset(4), 0), Some(&[][..]));
        for (offset, size) in [(1, 4), (5, 0), (u64::MAX, 1), (2, u64::MAX)] {
            assert!(
                file.range("test", FileOffset(offset), size).is_err(),
                "{offset} {size}"
            );
        }
    }

    #[test]
    fn a_part_of_a_record_is_an_error() {
        assert_eq!(records::<2>("test", &[1, 2, 3, 4]).unwrap(), [[1, 2], [3, 4]]);
        assert!(records::<2>("test", &[1, 2, 3]).is_err());
    }

    #[test]
    fn a_field_is_taken_from_its_place() {
        assert_eq!(u16::from_le_bytes(field::<1, 2, 4>(&[1, 2, 3, 4])), 0x0302);
    }
}
