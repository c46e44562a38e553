//! What the program itself defines under a NID.
//!
//! ELF has one flat namespace, in which the program comes before every library. A definition that kept its NID would
//! take the place of the runtime library's own, for everyone. So each is renamed by a suffix that no NID has.

use relic_core::Nid;

use crate::{
    address::ImageAddress,
    input::{
        Program,
        symbols::{Binding, SymbolKind},
    },
};

/// Behind the NID in the output's symbol table. Modules that import from the program bind to the suffixed name.
pub const GUEST_SUFFIX: &str = ".guest";

/// One export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// Its NID.
    pub nid: Nid,
    /// Whether it is a function or data.
    pub function: bool,
    /// The input's section index: never 0, and 0xfff1 for a constant.
    pub section: u16,
    /// Where it is.
    pub address: ImageAddress,
    /// Its size in bytes.
    pub size: u64,
}

/// All exports, in the order of the input's symbol table.
#[derive(Debug, Default)]
pub struct Exports {
    /// The exports.
    pub list: Vec<Export>,
}

impl Exports {
    pub(super) fn of(program: &Program<'_>) -> Self {
        let mut list: Vec<Export> = Vec::new();
        let mut seen = hashbrown::HashSet::new();
        for symbol in &program.symbols {
            let function = match symbol.kind {
                SymbolKind::Function => true,
                SymbolKind::Object => false,
                SymbolKind::Untyped | SymbolKind::ThreadLocal | SymbolKind::Other(_) => continue,
            };
            if symbol.is_import() || symbol.binding == Binding::Local {
                continue;
            }
            // Names without a NID are the linker's own; nobody can import them.
            let Some(nid) = Nid::of_symbol(symbol.name) else {
                continue;
            };
            if seen.insert(nid) {
                let address = ImageAddress(symbol.value);
                list.push(Export {
                    nid,
                    function,
                    section: symbol.section,
                    address,
                    size: symbol.size,
                });
            }
        }
        Self { list }
    }
}
