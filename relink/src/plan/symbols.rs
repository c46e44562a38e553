//! The output's dynamic symbol table: one weak undefined symbol for each imported NID, one for each definition of another
//! object, the names of the runtime library that the stubs use, and the renamed exports.

use hashbrown::HashMap;
use relic_core::program::{ImportKind, MODULE_SYMBOL, RUNTIME_LIBRARY, START_SYMBOL, TRAP_SYMBOL};

use crate::{address::ImageAddress, error::RelinkError, input::symbols::SymbolKind};

use super::{
    exports::Exports,
    gnu_hash::{self, GnuHash},
    imports::{ImportIndex, Imports},
    linkage::Linkage,
    number,
    strings::{StringOffset, StringTable},
};

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
const THREAD_LOCAL: u8 = 6;
/// Section index of a definition whose section nobody can look at: there are no section headers.
const SOME_SECTION: u16 = 1;

/// The table with its strings and its hash.
#[derive(Debug)]
pub struct SymbolTable {
    /// The symbols; the first is the null symbol.
    pub symbols: Vec<OutputSymbol>,
    /// Their names, and the strings of the dynamic table.
    pub strings: StringTable,
    /// The hash of the exports.
    pub hash: GnuHash,
    /// `relic_start`, which only programs use.
    pub start: Option<SymbolIndex>,
    /// `relic_trap`.
    pub trap: SymbolIndex,
    /// Names of what the OS loader loads along: first the runtime library.
    pub needed: Vec<StringOffset>,
    /// A module's own file name.
    pub file_name: Option<StringOffset>,
    /// Where it is looked for.
    pub run_path: StringOffset,
    /// How many exports there are.
    pub export_count: usize,
    by_import: Vec<SymbolIndex>,
    /// Where a module's [`MODULE_SYMBOL`] is.
    module: Option<usize>,
}

impl SymbolTable {
    pub(super) fn new(
        imports: &Imports<'_>,
        exports: &Exports<'_>,
        linkage: &Linkage<'_>,
    ) -> Result<Self, RelinkError> {
        let mut strings = StringTable::new();
        let mut symbols = vec![OutputSymbol::default()];
        let mut by_name: HashMap<&str, SymbolIndex> = HashMap::new();
        let mut by_import = Vec::with_capacity(imports.list.len());
        for import in &imports.list {
            let name = import
                .bound
                .as_ref()
                .map_or(import.nid.as_str(), |bound| &bound.name);
            // Two libraries may be asked for one NID; the runtime library has one answer for both.
            if let Some(&known) = by_name.get(name) {
                by_import.push(known);
                continue;
            }
            let kind = match import.kind {
                _ if import.thread_local => THREAD_LOCAL,
                _ if import.untyped => UNTYPED,
                ImportKind::Function => FUNCTION,
                ImportKind::Object => OBJECT,
                ImportKind::Weak => UNTYPED,
            };
            // What another object of the title defines is there, or the title is broken and the OS loader says so.
            let binding = if import.bound.is_some() { GLOBAL } else { WEAK };
            let index = SymbolIndex(number("symbols", symbols.len())?);
            by_name.insert(name, index);
            by_import.push(index);
            symbols.push(OutputSymbol {
                name: strings.add(name)?,
                info: binding | kind,
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
        let is_program = linkage.file_name.is_none();
        let start = is_program.then(|| runtime(START_SYMBOL)).transpose()?;
        let trap = runtime(TRAP_SYMBOL)?;

        let mut defined: Vec<(u32, &str, OutputSymbol)> = exports
            .list
            .iter()
            .map(|export| {
                let kind = match export.kind {
                    SymbolKind::Function => FUNCTION,
                    SymbolKind::Object => OBJECT,
                    SymbolKind::ThreadLocal => THREAD_LOCAL,
                    SymbolKind::Untyped | SymbolKind::Other(_) => UNTYPED,
                };
                let symbol = OutputSymbol {
                    info: GLOBAL | kind,
                    section: export.section,
                    value: export.address.0,
                    size: export.size,
                    ..OutputSymbol::default()
                };
                (gnu_hash::hash(&export.name), &*export.name, symbol)
            })
            .collect();
        if !is_program {
            let symbol = OutputSymbol {
                info: GLOBAL | OBJECT,
                section: SOME_SECTION,
                ..OutputSymbol::default()
            };
            defined.push((gnu_hash::hash(MODULE_SYMBOL), MODULE_SYMBOL, symbol));
        }
        let buckets = gnu_hash::bucket_count(defined.len());
        defined.sort_unstable_by_key(|(hash, name, _)| (hash % buckets, *name));
        let first = number("symbols", symbols.len())?;
        let hashes: Vec<u32> = defined.iter().map(|(hash, ..)| *hash).collect();
        let mut module = None;
        for (_, name, symbol) in defined {
            if name == MODULE_SYMBOL {
                module = Some(symbols.len());
            }
            let name = strings.add(name)?;
            symbols.push(OutputSymbol { name, ..symbol });
        }
        number("symbols", symbols.len())?;
        let mut needed = vec![strings.add(RUNTIME_LIBRARY)?];
        for name in &linkage.needed {
            needed.push(strings.add(name)?);
        }
        Ok(Self {
            needed,
            run_path: strings.add(linkage.run_path)?,
            file_name: linkage.file_name.map(|name| strings.add(name)).transpose()?,
            hash: GnuHash::new(first, &hashes),
            export_count: exports.list.len(),
            symbols,
            strings,
            start,
            trap,
            by_import,
            module,
        })
    }

    /// The symbol of an import.
    #[must_use]
    pub fn of_import(&self, import: ImportIndex) -> Option<SymbolIndex> {
        self.by_import.get(import.0).copied()
    }

    /// Says where a module's info is, once that is known.
    pub(super) fn place_module(&mut self, info: ImageAddress, size: u64) {
        if let Some(symbol) = self.module.and_then(|index| self.symbols.get_mut(index)) {
            (symbol.value, symbol.size) = (info.0, size);
        }
    }
}
