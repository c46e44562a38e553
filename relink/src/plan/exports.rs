//! What an object itself defines under a NID.
//!
//! A definition that kept its NID as its name would take the place of the runtime library's own, for everyone. So each is
//! renamed by a suffix that no NID has and no other object of the title uses.

use relic_core::{
    Nid,
    program::{ORIGIN_OFFSET, ORIGIN_SUFFIX},
};

use crate::{
    address::ImageAddress,
    input::{
        Object,
        libraries::decode_id,
        symbols::{Binding, SymbolKind},
    },
};

/// Behind the NID of a program's definition. A module's has its file name there.
const PROGRAM_SUFFIX: &str = "guest";

/// SHN_ABS.
const CONSTANT_SECTION: u16 = 0xfff1;

/// One export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export<'a> {
    /// Its NID.
    pub nid: Nid,
    /// The library that exports it, where the object declares one.
    pub library: Option<&'a str>,
    /// Its name in the output.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The input's section index: never 0, and 0xfff1 for a constant.
    pub section: u16,
    /// Where the output's symbol is; the offset in the TLS image for a thread-local variable.
    pub address: ImageAddress,
    /// How many bytes behind the definition the symbol is: see [`ORIGIN_SUFFIX`].
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// All exports, in the order of the input's symbol table.
#[derive(Debug, Default)]
pub struct Exports<'a> {
    /// The exports.
    pub list: Vec<Export<'a>>,
}

impl<'a> Exports<'a> {
    /// The exports of a program, or of the module with this file name.
    #[must_use]
    pub fn of(object: &Object<'a>, file_name: Option<&str>) -> Self {
        let suffix = file_name.unwrap_or(PROGRAM_SUFFIX);
        let mut list: Vec<Export<'a>> = Vec::new();
        let mut seen = hashbrown::HashMap::<Nid, Vec<Option<&str>>>::new();
        for symbol in &object.symbols {
            if symbol.is_import() || symbol.binding == Binding::Local {
                continue;
            }
            // Names without a NID are the linker's own; nobody can import them.
            let Some(nid) = Nid::of_symbol(symbol.name) else {
                continue;
            };
            let library = symbol
                .name
                .split('#')
                .nth(1)
                .and_then(decode_id)
                .and_then(|id| object.libraries.export(id));
            let libraries = seen.entry(nid).or_default();
            if libraries.contains(&library) {
                continue;
            }
            // One NID of two libraries may stand for two things. The first has the short name, which the program's own
            // look-up by name finds.
            let at_origin = symbol.value == 0
                && symbol.kind != SymbolKind::ThreadLocal
                && symbol.section != CONSTANT_SECTION;
            let (origin, offset) = if at_origin {
                (ORIGIN_SUFFIX, ORIGIN_OFFSET)
            } else {
                ("", 0)
            };
            let name = match library {
                Some(library) if !libraries.is_empty() => format!("{nid}.{library}.{suffix}{origin}"),
                _ => format!("{nid}.{suffix}{origin}"),
            };
            libraries.push(library);
            list.push(Export {
                nid,
                library,
                name,
                kind: symbol.kind,
                section: symbol.section,
                address: ImageAddress(symbol.value.wrapping_add(offset)),
                offset,
                size: symbol.size,
            });
        }
        Self { list }
    }
}
