//! The dynamic table: standard tags, whose values are virtual addresses, and Sony's, whose values are file offsets.
//! Which tags there are is in `tags.rs`.

use crate::{
    address::{FileOffset, ImageAddress, ImageRange},
    error::{RelinkError, TagProblem},
};

use super::{
    bytes::{FileBytes, field, records},
    header::ObjectKind,
    segments::Segments,
    tags::{FLAGS_1_KNOWN, FLAGS_KNOWN, Key, Role, TAGS},
};

/// Size in bytes of one entry.
const ENTRY: usize = 16;

/// A library declaration: name offset in bits 0–31, version in 32–47, id in 48–63.
#[derive(Debug, Clone, Copy)]
pub struct LibraryTag(pub u64);

/// What runs when an object is loaded, and what when it is unloaded. Each function lies in executable memory, each list
/// in the memory of one LOAD segment. All empty for a program, whose own start-up code calls what it has.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lifecycle {
    /// DT_INIT: `int (size_t argument size, const void *arguments, void *)`.
    pub initialiser: Option<ImageAddress>,
    /// DT_FINI, of the same type.
    pub finaliser: Option<ImageAddress>,
    /// DT_PREINIT_ARRAY: pointers to functions that run before all others.
    pub early_initialisers: ImageRange,
    /// DT_INIT_ARRAY: pointers to functions that run behind the initialiser.
    pub initialisers: ImageRange,
    /// DT_FINI_ARRAY: pointers to functions that run in front of the finaliser, the last first.
    pub finalisers: ImageRange,
}

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
    /// File names of the modules that it needs.
    pub needed: Vec<&'a str>,
    /// The object's own name.
    pub module_name: Option<&'a str>,
    /// What runs when it is loaded and unloaded.
    pub lifecycle: Lifecycle,
}

/// What stands in the table any number of times.
#[derive(Default)]
struct Declarations {
    import_libraries: Vec<LibraryTag>,
    export_libraries: Vec<LibraryTag>,
    needed: Vec<u64>,
    module: Option<u64>,
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
    pub(super) fn read(
        file: FileBytes<'a>,
        segments: &Segments,
        kind: ObjectKind,
    ) -> Result<Self, RelinkError> {
        let range = segments.dynamic.range;
        let table = segments.bytes_at(file, "the dynamic table", range.start, range.size)?;
        let mut values = Values(Vec::new());
        let mut seen: Vec<u64> = Vec::new();
        let mut declared = Declarations::default();
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
                Role::ImportLibrary => declared.import_libraries.push(LibraryTag(value)),
                Role::ExportLibrary => declared.export_libraries.push(LibraryTag(value)),
                Role::Needed => declared.needed.push(value),
                Role::ModuleInfo => declared.module = Some(value & 0xffff_ffff),
                Role::Refused(reason) => return refuse(TagProblem::Refused { reason }),
                Role::Fixed(only, expected) if value != only => {
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
                Role::Fixed(..) | Role::Value(_) => {
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
        values.tables(file, segments, declared, kind)
    }
}

impl Values {
    fn tables<'a>(
        &self,
        file: FileBytes<'a>,
        segments: &Segments,
        declared: Declarations,
        kind: ObjectKind,
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
        let strings = Strings(bytes(&STRINGS)?.ok_or(RelinkError::NoTag { tag: STRINGS.tag })?);
        let text = |what, offset| strings.get(what, offset);
        let needed = declared
            .needed
            .iter()
            .map(|&offset| text("a needed module's name", offset))
            .collect::<Result<_, _>>()?;
        Ok(Dynamic {
            strings,
            symbols: bytes(&SYMBOLS)?.ok_or(RelinkError::NoTag { tag: SYMBOLS.tag })?,
            relocations: bytes(&RELOCATIONS)?.unwrap_or_default(),
            jump_relocations: bytes(&JUMP_RELOCATIONS)?.unwrap_or_default(),
            plt_got,
            import_libraries: declared.import_libraries,
            export_libraries: declared.export_libraries,
            needed,
            module_name: declared
                .module
                .map(|offset| text("the module's own name", offset))
                .transpose()?,
            lifecycle: self.lifecycle(segments, kind)?,
        })
    }

    /// What runs at loading and unloading.
    fn lifecycle(&self, segments: &Segments, kind: ObjectKind) -> Result<Lifecycle, RelinkError> {
        let list = |name, place, size| -> Result<ImageRange, RelinkError> {
            let size = self.get(size).unwrap_or(0);
            if size == 0 {
                return Ok(ImageRange::default());
            }
            if kind == ObjectKind::Program {
                return Err(RelinkError::ProgramList { list: name, size });
            }
            let start = ImageAddress(self.get(place).ok_or(RelinkError::NoTag { tag: name })?);
            if !size.is_multiple_of(8) {
                return Err(RelinkError::TableSize {
                    table: name,
                    size,
                    record: 8,
                });
            }
            match segments.load_of(start, size) {
                Some(_) => Ok(ImageRange { start, size }),
                None => Err(RelinkError::Unmapped {
                    what: name,
                    address: start,
                    size,
                }),
            }
        };
        // A console program's own start-up code calls these two; ld.so never does for a program.
        let function = |name, key| -> Result<Option<ImageAddress>, RelinkError> {
            match self.get(key) {
                None | Some(0) => Ok(None),
                Some(_) if kind == ObjectKind::Program => Ok(None),
                Some(address) => match segments.load_of(ImageAddress(address), 1) {
                    Some(load) if load.access.executable() => Ok(Some(ImageAddress(address))),
                    _ => Err(RelinkError::NotCode {
                        what: name,
                        address: ImageAddress(address),
                    }),
                },
            }
        };
        Ok(Lifecycle {
            initialiser: function("INIT", Key::Initialiser)?,
            finaliser: function("FINI", Key::Finaliser)?,
            early_initialisers: list(
                "PREINIT_ARRAY",
                Key::EarlyInitialiserList,
                Key::EarlyInitialiserListSize,
            )?,
            initialisers: list("INIT_ARRAY", Key::InitialiserList, Key::InitialiserListSize)?,
            finalisers: list("FINI_ARRAY", Key::FinaliserList, Key::FinaliserListSize)?,
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
