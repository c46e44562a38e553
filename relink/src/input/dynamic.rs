//! The dynamic table: standard tags, whose values are virtual addresses, and Sony's, whose values are file offsets.

use crate::{
    address::{FileOffset, ImageAddress},
    error::{RelinkError, TagProblem},
};

use super::{
    bytes::{FileBytes, field, records},
    segments::Segments,
};

/// Size in bytes of one entry.
const ENTRY: usize = 16;

/// What the reader does with a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// A number or an address that this reader uses; at most one of its kind.
    Value(Key),
    /// Library declarations, any number.
    ImportLibrary,
    /// Library declarations of what the file itself exports.
    ExportLibrary,
    /// Only a certain value is possible.
    Fixed(u64, &'static str),
    /// Nothing in it is needed at run time.
    Ignored,
    /// Must be zero: a list of functions that nobody would call.
    Empty(&'static str),
    /// Known, and not supported.
    Refused(&'static str),
}

/// The values that the reader uses, standard and Sony form apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Key {
    StringTable,
    StringSize,
    SymbolTable,
    SymbolTableSize,
    Hash,
    Relocations,
    RelocationsSize,
    JumpRelocations,
    JumpRelocationsSize,
    PltGot,
    Flags,
    Flags1,
    SonyStringTable,
    SonyStringSize,
    SonySymbolTable,
    SonyRelocations,
    SonyRelocationsSize,
    SonyJumpRelocations,
    SonyJumpRelocationsSize,
    SonyPltGot,
}

const NOT_SUPPORTED_REL: &str = "relocations without addends are not used by PS5 programs and not supported";
const NOBODY_CALLS: &str =
    "0: nobody would call the functions of a program's own list; its start-up code runs .ctors";

/// The table of tags.
const TAGS: &[(u64, &str, Role)] = &[
    (1, "NEEDED", Role::Ignored),
    (2, "PLTRELSZ", Role::Value(Key::JumpRelocationsSize)),
    (3, "PLTGOT", Role::Value(Key::PltGot)),
    (4, "HASH", Role::Value(Key::Hash)),
    (5, "STRTAB", Role::Value(Key::StringTable)),
    (6, "SYMTAB", Role::Value(Key::SymbolTable)),
    (7, "RELA", Role::Value(Key::Relocations)),
    (8, "RELASZ", Role::Value(Key::RelocationsSize)),
    (9, "RELAENT", Role::Fixed(24, "24")),
    (10, "STRSZ", Role::Value(Key::StringSize)),
    (11, "SYMENT", Role::Fixed(24, "24")),
    // The guest's own start-up code calls these two: ld.so never does for a program.
    (12, "INIT", Role::Ignored),
    (13, "FINI", Role::Ignored),
    (14, "SONAME", Role::Ignored),
    (
        15,
        "RPATH",
        Role::Refused("a console program has no library search path"),
    ),
    (16, "SYMBOLIC", Role::Refused("symbolic binding is not supported")),
    (17, "REL", Role::Refused(NOT_SUPPORTED_REL)),
    (18, "RELSZ", Role::Refused(NOT_SUPPORTED_REL)),
    (19, "RELENT", Role::Refused(NOT_SUPPORTED_REL)),
    (20, "PLTREL", Role::Fixed(7, "7 (RELA)")),
    (21, "DEBUG", Role::Ignored),
    (
        22,
        "TEXTREL",
        Role::Refused("relocations in code are not supported: PS5 programs have none"),
    ),
    (24, "BIND_NOW", Role::Ignored),
    // Addresses of lists; the sizes decide.
    (25, "INIT_ARRAY", Role::Ignored),
    (26, "FINI_ARRAY", Role::Ignored),
    (27, "INIT_ARRAYSZ", Role::Empty(NOBODY_CALLS)),
    (28, "FINI_ARRAYSZ", Role::Empty(NOBODY_CALLS)),
    (30, "FLAGS", Role::Value(Key::Flags)),
    (32, "PREINIT_ARRAY", Role::Ignored),
    (33, "PREINIT_ARRAYSZ", Role::Empty(NOBODY_CALLS)),
    (
        35,
        "RELRSZ",
        Role::Refused("packed relative relocations are not supported: PS5 programs have none"),
    ),
    (
        36,
        "RELR",
        Role::Refused("packed relative relocations are not supported: PS5 programs have none"),
    ),
    (
        37,
        "RELRENT",
        Role::Refused("packed relative relocations are not supported: PS5 programs have none"),
    ),
    (0x6fff_fef5, "GNU_HASH", Role::Ignored),
    (0x6fff_fff9, "RELACOUNT", Role::Ignored),
    (0x6fff_fffb, "FLAGS_1", Role::Value(Key::Flags1)),
    (0x6100_0007, "SCE_FINGERPRINT", Role::Ignored),
    (0x6100_0009, "SCE_ORIGINAL_FILENAME", Role::Ignored),
    (0x6100_000d, "SCE_MODULE_INFO", Role::Ignored),
    (0x6100_000f, "SCE_NEEDED_MODULE", Role::Ignored),
    (0x6100_0011, "SCE_MODULE_ATTR", Role::Ignored),
    (0x6100_0013, "SCE_EXPORT_LIB", Role::ExportLibrary),
    (0x6100_0015, "SCE_IMPORT_LIB", Role::ImportLibrary),
    (0x6100_0017, "SCE_EXPORT_LIB_ATTR", Role::Ignored),
    (0x6100_0019, "SCE_IMPORT_LIB_ATTR", Role::Ignored),
    // Over other strings than those in the symbol table, so of no use.
    (0x6100_0025, "SCE_HASH", Role::Ignored),
    (0x6100_0027, "SCE_PLTGOT", Role::Value(Key::SonyPltGot)),
    (0x6100_0029, "SCE_JMPREL", Role::Value(Key::SonyJumpRelocations)),
    (0x6100_002b, "SCE_PLTREL", Role::Fixed(7, "7 (RELA)")),
    (
        0x6100_002d,
        "SCE_PLTRELSZ",
        Role::Value(Key::SonyJumpRelocationsSize),
    ),
    (0x6100_002f, "SCE_RELA", Role::Value(Key::SonyRelocations)),
    (0x6100_0031, "SCE_RELASZ", Role::Value(Key::SonyRelocationsSize)),
    (0x6100_0033, "SCE_RELAENT", Role::Fixed(24, "24")),
    (0x6100_0035, "SCE_STRTAB", Role::Value(Key::SonyStringTable)),
    (0x6100_0037, "SCE_STRSZ", Role::Value(Key::SonyStringSize)),
    (0x6100_0039, "SCE_SYMTAB", Role::Value(Key::SonySymbolTable)),
    (0x6100_003b, "SCE_SYMENT", Role::Fixed(24, "24")),
    (0x6100_003d, "SCE_HASHSZ", Role::Ignored),
    (0x6100_003f, "SCE_SYMTABSZ", Role::Value(Key::SymbolTableSize)),
    (0x6100_0041, "SCE_ORIGINAL_FILENAME_1", Role::Ignored),
    (0x6100_0043, "SCE_MODULE_INFO_1", Role::Ignored),
    (0x6100_0045, "SCE_NEEDED_MODULE_1", Role::Ignored),
    (0x6100_0047, "SCE_EXPORT_LIB_1", Role::ExportLibrary),
    (0x6100_0049, "SCE_IMPORT_LIB_1", Role::ImportLibrary),
    (23, "JMPREL", Role::Value(Key::JumpRelocations)),
];

/// DF_BIND_NOW and DF_STATIC_TLS: both hold for every relinked program anyway.
const FLAGS_KNOWN: u64 = 0x8 | 0x10;
/// DF_1_NOW and DF_1_PIE.
const FLAGS_1_KNOWN: u64 = 0x1 | 0x0800_0000;

/// A library declaration: name offset in bits 0–31, version in 32–47, id in 48–63.
#[derive(Debug, Clone, Copy)]
pub struct LibraryTag(pub u64);

/// What the dynamic table says, its tables found and bounded.
#[derive(Debug)]
pub struct Dynamic<'a> {
    /// The string table.
    pub strings: Strings<'a>,
    /// The symbol table's bytes.
    pub symbols: &'a [u8],
    /// The bytes of DT_RELA.
    pub relocations: &'a [u8],
    /// The bytes of DT_JMPREL.
    pub jump_relocations: &'a [u8],
    /// DT_PLTGOT.
    pub plt_got: Option<ImageAddress>,
    /// Libraries that the program imports from.
    pub import_libraries: Vec<LibraryTag>,
    /// Libraries that the program exports.
    pub export_libraries: Vec<LibraryTag>,
}

/// The values found, by key.
struct Values(Vec<(Key, u64)>);

impl Values {
    fn get(&self, key: Key) -> Option<u64> {
        self.0
            .iter()
            .find(|(found, _)| *found == key)
            .map(|(_, value)| *value)
    }
}

/// A table that the dynamic table places: by address in its standard form, by file offset in Sony's.
struct Table {
    what: &'static str,
    place: Key,
    tag: &'static str,
    sony_place: Key,
    sony_tag: &'static str,
    size: Key,
    size_tag: &'static str,
    sony_size: Key,
    sony_size_tag: &'static str,
}

const STRINGS: Table = Table {
    what: "the string table",
    place: Key::StringTable,
    tag: "STRTAB",
    sony_place: Key::SonyStringTable,
    sony_tag: "SCE_STRTAB",
    size: Key::StringSize,
    size_tag: "STRSZ",
    sony_size: Key::SonyStringSize,
    sony_size_tag: "SCE_STRSZ",
};

/// Only Sony has a tag for its size; without it, the hash table tells.
const SYMBOLS: Table = Table {
    what: "the symbol table",
    place: Key::SymbolTable,
    tag: "SYMTAB",
    sony_place: Key::SonySymbolTable,
    sony_tag: "SCE_SYMTAB",
    size: Key::SymbolTableSize,
    size_tag: "SCE_SYMTABSZ (or HASH)",
    sony_size: Key::SymbolTableSize,
    sony_size_tag: "SCE_SYMTABSZ (or HASH)",
};

const RELOCATIONS: Table = Table {
    what: "the relocation table",
    place: Key::Relocations,
    tag: "RELA",
    sony_place: Key::SonyRelocations,
    sony_tag: "SCE_RELA",
    size: Key::RelocationsSize,
    size_tag: "RELASZ",
    sony_size: Key::SonyRelocationsSize,
    sony_size_tag: "SCE_RELASZ",
};

const JUMP_RELOCATIONS: Table = Table {
    what: "the jump slot relocation table",
    place: Key::JumpRelocations,
    tag: "JMPREL",
    sony_place: Key::SonyJumpRelocations,
    sony_tag: "SCE_JMPREL",
    size: Key::JumpRelocationsSize,
    size_tag: "PLTRELSZ",
    sony_size: Key::SonyJumpRelocationsSize,
    sony_size_tag: "SCE_PLTRELSZ",
};

impl Table {
    /// Its bytes: `None` where the file has no such table.
    fn bytes<'a>(
        &self,
        file: FileBytes<'a>,
        segments: &Segments,
        place: Option<Place>,
        size: Option<u64>,
    ) -> Result<Option<&'a [u8]>, RelinkError> {
        match (place, size) {
            (None, None | Some(0)) => Ok(None),
            (None, Some(_)) => Err(RelinkError::NoTag { tag: self.tag }),
            (Some(_), None) => Err(RelinkError::NoTag { tag: self.size_tag }),
            (Some(_), Some(0)) => Ok(Some(&[])),
            (Some(Place::Address(address)), Some(size)) => {
                segments.bytes_at(file, self.what, address, size).map(Some)
            }
            (Some(Place::Offset(offset)), Some(size)) => file.range(self.what, offset, size).map(Some),
        }
    }
}

/// Where a table is given.
enum Place {
    Address(ImageAddress),
    Offset(FileOffset),
}

impl<'a> Dynamic<'a> {
    pub(super) fn read(file: FileBytes<'a>, segments: &Segments) -> Result<Self, RelinkError> {
        let range = segments.dynamic.range;
        let table = segments.bytes_at(file, "the dynamic table", range.start, range.size)?;
        let mut values = Values(Vec::new());
        let mut seen: Vec<u64> = Vec::new();
        let (mut import_libraries, mut export_libraries) = (Vec::new(), Vec::new());
        for (index, entry) in records::<ENTRY>("the dynamic table", table)?.iter().enumerate() {
            let tag = u64::from_le_bytes(field::<0, 8, ENTRY>(entry));
            let value = u64::from_le_bytes(field::<8, 8, ENTRY>(entry));
            if tag == 0 {
                break;
            }
            let known = TAGS.iter().find(|(number, ..)| *number == tag);
            let refuse = |problem| {
                let tag = known.map_or_else(|| format!("{tag:#x}"), |(_, name, _)| (*name).to_owned());
                Err(RelinkError::DynamicTag { index, tag, problem })
            };
            let Some((_, _, role)) = known else {
                return refuse(TagProblem::Unknown { value });
            };
            match *role {
                Role::Ignored => {}
                Role::ImportLibrary => import_libraries.push(LibraryTag(value)),
                Role::ExportLibrary => export_libraries.push(LibraryTag(value)),
                Role::Refused(reason) => return refuse(TagProblem::Refused { reason }),
                Role::Fixed(only, expected) if value != only => {
                    return refuse(TagProblem::Value {
                        found: value,
                        expected,
                    });
                }
                Role::Empty(expected) if value != 0 => {
                    return refuse(TagProblem::Value {
                        found: value,
                        expected,
                    });
                }
                Role::Value(Key::Flags) if value & !FLAGS_KNOWN != 0 => {
                    return refuse(TagProblem::Value {
                        found: value,
                        expected: "8 (BIND_NOW)",
                    });
                }
                Role::Value(Key::Flags1) if value & !FLAGS_1_KNOWN != 0 => {
                    return refuse(TagProblem::Value {
                        found: value,
                        expected: "NOW and PIE only",
                    });
                }
                Role::Fixed(..) | Role::Empty(_) | Role::Value(_) => {
                    if seen.contains(&tag) {
                        return refuse(TagProblem::Duplicate);
                    }
                    seen.push(tag);
                    if let Role::Value(key) = *role {
                        values.0.push((key, value));
                    }
                }
            }
        }
        values.tables(file, segments, import_libraries, export_libraries)
    }
}

impl Values {
    fn tables<'a>(
        &self,
        file: FileBytes<'a>,
        segments: &Segments,
        import_libraries: Vec<LibraryTag>,
        export_libraries: Vec<LibraryTag>,
    ) -> Result<Dynamic<'a>, RelinkError> {
        let bytes = |table: &Table| {
            let size = self.either(table.size, table.sony_size, table.size_tag, table.sony_size_tag)?;
            let size = match size {
                None if table.size_tag == SYMBOLS.size_tag => self.symbol_size_by_hash(file, segments)?,
                size => size,
            };
            table.bytes(file, segments, self.place(table)?, size)
        };
        // Sony's form would be a file offset, and the OS loader takes none; no PS5 file has it.
        let plt_got = match (self.get(Key::PltGot), self.get(Key::SonyPltGot)) {
            (Some(_), Some(_)) => return Err(both("PLTGOT", "SCE_PLTGOT")),
            (address, _) => address.map(ImageAddress),
        };
        Ok(Dynamic {
            strings: Strings(bytes(&STRINGS)?.ok_or(RelinkError::NoTag { tag: STRINGS.tag })?),
            symbols: bytes(&SYMBOLS)?.ok_or(RelinkError::NoTag { tag: SYMBOLS.tag })?,
            relocations: bytes(&RELOCATIONS)?.unwrap_or_default(),
            jump_relocations: bytes(&JUMP_RELOCATIONS)?.unwrap_or_default(),
            plt_got,
            import_libraries,
            export_libraries,
        })
    }

    fn either(
        &self,
        standard: Key,
        sony: Key,
        standard_name: &'static str,
        sony_name: &'static str,
    ) -> Result<Option<u64>, RelinkError> {
        match (self.get(standard), self.get(sony)) {
            (Some(_), Some(_)) if standard != sony => Err(both(standard_name, sony_name)),
            (one, other) => Ok(one.or(other)),
        }
    }

    fn place(&self, table: &Table) -> Result<Option<Place>, RelinkError> {
        match (self.get(table.place), self.get(table.sony_place)) {
            (Some(_), Some(_)) => Err(both(table.tag, table.sony_tag)),
            (Some(address), None) => Ok(Some(Place::Address(ImageAddress(address)))),
            (None, Some(offset)) => Ok(Some(Place::Offset(FileOffset(offset)))),
            (None, None) => Ok(None),
        }
    }

    /// Size of the symbol table by the standard hash table, whose second word counts the symbols.
    fn symbol_size_by_hash(
        &self,
        file: FileBytes<'_>,
        segments: &Segments,
    ) -> Result<Option<u64>, RelinkError> {
        let Some(hash) = self.get(Key::Hash) else {
            return Ok(None);
        };
        let head = segments.bytes_at(file, "the hash table", ImageAddress(hash), 8)?;
        let [head] = records::<8>("the hash table", head)? else {
            return Ok(None);
        };
        Ok(Some(
            u64::from(u32::from_le_bytes(field::<4, 4, 8>(head))) * super::symbols::RECORD as u64,
        ))
    }
}

fn both(standard: &'static str, sony: &'static str) -> RelinkError {
    RelinkError::BothForms { standard, sony }
}

/// A table of NUL-terminated strings.
#[derive(Debug, Clone, Copy)]
pub struct Strings<'a>(&'a [u8]);

impl<'a> Strings<'a> {
    /// The string at `offset`, which is the name of `what`.
    ///
    /// # Errors
    ///
    /// [`RelinkError::Text`] where the offset is outside the table, or the string has no end or isn't UTF-8.
    pub fn get(self, what: &'static str, offset: u64) -> Result<&'a str, RelinkError> {
        let refuse = |problem| RelinkError::Text {
            what,
            offset,
            size: self.0.len() as u64,
            problem,
        };
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.0.get(offset..))
            .ok_or_else(|| refuse("outside it"))?;
        let end = rest
            .iter()
            .position(|&byte| byte == 0)
            .ok_or_else(|| refuse("a string without an end"))?;
        std::str::from_utf8(&rest[..end]).map_err(|_| refuse("not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_stands_twice_in_the_table() {
        for (i, (tag, name, _)) in TAGS.iter().enumerate() {
            for (other, other_name, _) in &TAGS[..i] {
                assert!(tag != other && name != other_name, "{name}");
            }
        }
    }

    #[test]
    fn strings_are_bounded() {
        let strings = Strings(b"\0abc\0\xff\0end");
        assert_eq!(strings.get("x", 1).unwrap(), "abc");
        assert_eq!(strings.get("x", 0).unwrap(), "");
        for (offset, part) in [
            (5, "UTF-8"),
            (7, "without an end"),
            (11, "outside"),
            (u64::MAX, "outside"),
        ] {
            let error = strings.get("x", offset).unwrap_err().to_string();
            assert!(error.contains(part), "{offset}: {error}");
        }
    }
}
