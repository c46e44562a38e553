//! The output's dynamic symbol table: one weak undefined symbol for each imported NID, the two names of the runtime
//! library that the stubs use, and the renamed exports.

use hashbrown::HashMap;
use relic_core::{
    Nid,
    program::{ImportKind, RUNTIME_LIBRARY, START_SYMBOL, TRAP_SYMBOL},
};

use crate::error::RelinkError;

use super::{
    exports::{Exports, GUEST_SUFFIX},
    gnu_hash::{self, GnuHash},
    imports::Imports,
    number,
    strings::{StringOffset, StringTable},
};

/// Where the OS loader looks for the runtime library: beside the program.
pub const LIBRARY_PATH: &str = "$ORIGIN/libs";

/// Index of a symbol in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SymbolIndex(pub u32);

/// One symbol of the output. Its visibility is always the default: the OS loader looks nothing else up.
#[derive(Debug, Clone, Copy, Default)]
pub struct OutputSymbol {
    /// Its name.
    pub name: StringOffset,
    /// Binding (high half) and type.
    pub info: u8,
    /// Its section index, 0 for undefined.
    pub section: u16,
    /// Its address.
    pub value: u64,
    /// Its size in bytes.
    pub size: u64,
}

const GLOBAL: u8 = 1 << 4;
const WEAK: u8 = 2 << 4;
const UNTYPED: u8 = 0;
const OBJECT: u8 = 1;
const FUNCTION: u8 = 2;

/// The table with its strings and its hash.
#[derive(Debug)]
pub struct SymbolTable {
    /// The symbols; the first is the null symbol.
    pub symbols: Vec<OutputSymbol>,
    /// Their names, and the strings of the dynamic table.
    pub strings: StringTable,
    /// The hash of the exports.
    pub hash: GnuHash,
    /// `relic_start`.
    pub start: SymbolIndex,
    /// `relic_trap`.
    pub trap: SymbolIndex,
    /// Name of the runtime library.
    pub needed: StringOffset,
    /// Where it is looked for.
    pub run_path: StringOffset,
    /// How many exports there are.
    pub export_count: usize,
    by_nid: HashMap<Nid, SymbolIndex>,
}

impl SymbolTable {
    pub(super) fn new(imports: &Imports<'_>, exports: &Exports) -> Result<Self, RelinkError> {
        let mut strings = StringTable::new();
        let mut symbols = vec![OutputSymbol::default()];
        let mut by_nid: HashMap<Nid, SymbolIndex> = HashMap::new();
        for import in &imports.list {
            // Two libraries may be asked for one NID; the flat namespace has one answer for both.
            if by_nid.contains_key(&import.nid) {
                continue;
            }
            let kind = match import.kind {
                _ if import.untyped => UNTYPED,
                ImportKind::Function => FUNCTION,
                ImportKind::Object => OBJECT,
                ImportKind::Weak => UNTYPED,
            };
            by_nid.insert(import.nid, SymbolIndex(number("symbols", symbols.len())?));
            let name = strings.add(import.nid.as_str())?;
            symbols.push(OutputSymbol {
                name,
                info: WEAK | kind,
                ..OutputSymbol::default()
            });
        }
        let mut runtime = |name| -> Result<SymbolIndex, RelinkError> {
            let index = SymbolIndex(number("symbols", symbols.len())?);
            let name = strings.add(name)?;
            symbols.push(OutputSymbol {
                name,
                info: GLOBAL | FUNCTION,
                ..OutputSymbol::default()
            });
            Ok(index)
        };
        let start = runtime(START_SYMBOL)?;
        let trap = runtime(TRAP_SYMBOL)?;

        let buckets = gnu_hash::bucket_count(exports.list.len());
        let mut named: Vec<_> = exports
            .list
            .iter()
            .map(|export| {
                let name = format!("{}{GUEST_SUFFIX}", export.nid);
                (gnu_hash::hash(&name), name, export)
            })
            .collect();
        named.sort_by(|(hash, name, _), (other, other_name, _)| {
            (hash % buckets, name).cmp(&(other % buckets, other_name))
        });
        let first_export = number("symbols", symbols.len())?;
        let hashes: Vec<u32> = named.iter().map(|(hash, ..)| *hash).collect();
        for (_, name, export) in &named {
            symbols.push(OutputSymbol {
                name: strings.add(name)?,
                info: GLOBAL | if export.function { FUNCTION } else { OBJECT },
                section: export.section,
                value: export.address.0,
                size: export.size,
            });
        }
        number("symbols", symbols.len())?;
        Ok(Self {
            needed: strings.add(RUNTIME_LIBRARY)?,
            run_path: strings.add(LIBRARY_PATH)?,
            hash: GnuHash::new(first_export, &hashes),
            export_count: exports.list.len(),
            symbols,
            strings,
            start,
            trap,
            by_nid,
        })
    }

    /// The symbol of an imported NID.
    #[must_use]
    pub fn of_import(&self, nid: Nid) -> Option<SymbolIndex> {
        self.by_nid.get(&nid).copied()
    }
}
