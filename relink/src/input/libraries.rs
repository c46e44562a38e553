//! Library ids: symbol names end in `#library#module`, two small numbers that the dynamic table explains.

use relic_core::nid::ALPHABET;

use crate::error::RelinkError;

use super::dynamic::{Dynamic, LibraryTag};

/// Number of a library within one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryId(pub u16);

/// What the library ids of a file mean.
#[derive(Debug, Default)]
pub struct Libraries<'a> {
    imports: Vec<(LibraryId, &'a str)>,
    exports: Vec<(LibraryId, &'a str)>,
}

impl<'a> Libraries<'a> {
    pub(super) fn read(dynamic: &Dynamic<'a>) -> Result<Self, RelinkError> {
        let read = |tags: &[LibraryTag], what| {
            tags.iter()
                .map(|&LibraryTag(value)| {
                    let [.., low, high] = value.to_le_bytes();
                    let name = dynamic.strings.get(what, value & 0xffff_ffff)?;
                    Ok((LibraryId(u16::from_le_bytes([low, high])), name))
                })
                .collect::<Result<Vec<_>, RelinkError>>()
        };
        Ok(Self {
            imports: read(&dynamic.import_libraries, "an import library's name")?,
            exports: read(&dynamic.export_libraries, "an export library's name")?,
        })
    }

    /// Name of the library that the program imports from under this id.
    #[must_use]
    pub fn import(&self, id: LibraryId) -> Option<&'a str> {
        self.imports
            .iter()
            .find(|(found, _)| *found == id)
            .map(|(_, name)| *name)
    }

    /// Name of the library that the object exports under this id.
    #[must_use]
    pub fn export(&self, id: LibraryId) -> Option<&'a str> {
        self.exports
            .iter()
            .find(|(found, _)| *found == id)
            .map(|(_, name)| *name)
    }

    /// All libraries that the program imports from, in the file's order.
    pub fn imported(&self) -> impl Iterator<Item = &'a str> {
        self.imports.iter().map(|(_, name)| *name)
    }

    /// All libraries that the program exports, in the file's order.
    pub fn exported(&self) -> impl Iterator<Item = &'a str> {
        self.exports.iter().map(|(_, name)| *name)
    }
}

/// The number that stands in a symbol name: one to three digits of the console's alphabet, the highest first.
#[must_use]
pub fn decode_id(text: &str) -> Option<LibraryId> {
    if text.is_empty() || text.len() > 3 {
        return None;
    }
    let mut id = 0;
    for byte in text.bytes() {
        id = id << 6 | ALPHABET.iter().position(|&digit| digit == byte)?;
    }
    u16::try_from(id).ok().map(LibraryId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_base_64() {
        for (text, id) in [
            ("A", 0),
            ("B", 1),
            ("-", 63),
            ("BA", 64),
            ("--", 4095),
            ("BAA", 4096),
            ("P--", 0xffff),
        ] {
            assert_eq!(decode_id(text), Some(LibraryId(id)), "{text}");
        }
        for text in ["", "AAAA", "#", "QAA", "\u{e9}"] {
            assert_eq!(decode_id(text), None, "{text}");
        }
    }
}
