//! Planning: what the output holds, and where. Nothing is encoded here, and nothing of the input is changed.

pub mod exports;
pub mod gnu_hash;
pub mod imports;
pub mod layout;
pub mod linkage;
pub mod relocations;
pub mod relro;
pub mod strings;
pub mod symbols;

use relic_core::program::ProgramInfo;

use crate::{error::RelinkError, input::Object};

use exports::Exports;
use imports::Imports;
use layout::{Layout, Part};
use linkage::{Linkage, ListedModule};
use relocations::Relocations;
use relro::Relro;
use symbols::SymbolTable;

/// What the output will hold.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What the program asks others for, with every slot that holds it.
    pub imports: Imports<'a>,
    /// The output's dynamic symbols with their strings and their hash.
    pub symbols: SymbolTable,
    /// The output's relocations.
    pub relocations: Relocations,
    /// What becomes read-only after relocation.
    pub relro: Relro,
    /// The title's modules, which a program lists.
    pub modules: &'a [ListedModule],
    /// Where everything lies.
    pub layout: Layout,
}

impl<'a> Plan<'a> {
    /// Plans the output of one program or module, which exports what `exports` says.
    ///
    /// # Errors
    ///
    /// Every [`RelinkError`] that concerns what a native program can't express.
    pub fn new(
        program: &Object<'a>,
        exports: &Exports<'_>,
        linkage: &Linkage<'a>,
    ) -> Result<Self, RelinkError> {
        let mut imports = Imports::of(program, linkage)?;
        let mut symbols = SymbolTable::new(&imports, exports, linkage)?;
        let mut relocations = Relocations::new(program, &mut imports, &symbols)?;
        let relro = Relro::of(program, &imports);
        let layout = Layout::new(program, &imports, &symbols, &relocations, &relro, linkage.modules)?;
        symbols.place_module(layout.place(Part::Info).start, size_of::<ProgramInfo>() as u64);
        relocations.add_runtime_slots(&symbols, &layout);
        Ok(Self {
            imports,
            symbols,
            relocations,
            relro,
            modules: linkage.modules,
            layout,
        })
    }
}

/// `count` as the 32-bit number that the output's tables use.
fn number(what: &'static str, count: usize) -> Result<u32, RelinkError> {
    u32::try_from(count).map_err(|_| RelinkError::TooMany { what, count })
}
