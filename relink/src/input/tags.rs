//! The dynamic tags that PS5 files may hold, and what becomes of each. Adding a tag is one line of [`TAGS`].

/// What the reader does with a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
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
    /// A module that must be there too: a name.
    Needed,
    /// The object's own name and version.
    ModuleInfo,
    /// Known, and not supported.
    Refused(&'static str),
}

/// The values that the reader uses, standard and Sony form apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
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
    Initialiser,
    Finaliser,
    InitialiserList,
    InitialiserListSize,
    FinaliserList,
    FinaliserListSize,
    EarlyInitialiserList,
    EarlyInitialiserListSize,
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

/// The table of tags.
pub(super) const TAGS: &[(u64, &str, Role)] = &[
    (1, "NEEDED", Role::Needed),
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
    (12, "INIT", Role::Value(Key::Initialiser)),
    (13, "FINI", Role::Value(Key::Finaliser)),
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
    (25, "INIT_ARRAY", Role::Value(Key::InitialiserList)),
    (26, "FINI_ARRAY", Role::Value(Key::FinaliserList)),
    (27, "INIT_ARRAYSZ", Role::Value(Key::InitialiserListSize)),
    (28, "FINI_ARRAYSZ", Role::Value(Key::FinaliserListSize)),
    (30, "FLAGS", Role::Value(Key::Flags)),
    (32, "PREINIT_ARRAY", Role::Value(Key::EarlyInitialiserList)),
    (33, "PREINIT_ARRAYSZ", Role::Value(Key::EarlyInitialiserListSize)),
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
    (0x6100_000d, "SCE_MODULE_INFO", Role::ModuleInfo),
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
    (0x6100_0043, "SCE_MODULE_INFO_1", Role::ModuleInfo),
    (0x6100_0045, "SCE_NEEDED_MODULE_1", Role::Ignored),
    (0x6100_0047, "SCE_EXPORT_LIB_1", Role::ExportLibrary),
    (0x6100_0049, "SCE_IMPORT_LIB_1", Role::ImportLibrary),
    (23, "JMPREL", Role::Value(Key::JumpRelocations)),
];

/// DF_BIND_NOW and DF_STATIC_TLS: both hold for every relinked program anyway.
pub(super) const FLAGS_KNOWN: u64 = 0x8 | 0x10;
/// DF_1_NOW and DF_1_PIE.
pub(super) const FLAGS_1_KNOWN: u64 = 0x1 | 0x0800_0000;

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
}
