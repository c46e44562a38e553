//! String tables of the output.

use hashbrown::HashMap;

use crate::error::RelinkError;

/// Offset of a string in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StringOffset(pub u32);

/// NUL-terminated strings, each stored once; the empty string is at offset 0.
#[derive(Debug)]
pub struct StringTable {
    bytes: Vec<u8>,
    known: HashMap<String, StringOffset>,
}

impl StringTable {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0],
            known: HashMap::from([(String::new(), StringOffset(0))]),
        }
    }

    pub(crate) fn add(&mut self, text: &str) -> Result<StringOffset, RelinkError> {
        if let Some(&offset) = self.known.get(text) {
            return Ok(offset);
        }
        let offset = StringOffset(super::number("bytes of names", self.bytes.len())?);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        self.known.insert(text.to_owned(), offset);
        Ok(offset)
    }

    /// Where a string is, if it was added.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<StringOffset> {
        self.known.get(text).copied()
    }

    /// The table's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_stored_once() {
        let mut table = StringTable::new();
        let first = table.add("libc").unwrap();
        assert_eq!(table.add("").unwrap(), StringOffset(0));
        assert_eq!(table.add("libkernel").unwrap(), StringOffset(6));
        assert_eq!(table.add("libc").unwrap(), first);
        assert_eq!(table.bytes(), b"\0libc\0libkernel\0");
    }
}
