//! Planning: what the output holds, and where. Nothing is encoded here, and nothing of the input is changed.

pub mod exports;
pub mod gnu_hash;
pub mod imports;
pub mod layout;
pub mod relocations;
pub mod relro;
pub mod strings;
pub mod symbols;

use crate::{error::RelinkError, input::Program};

use exports::Exports;
use imports::Imports;
use layout::Layout;
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
    /// Where everything lies.
    pub layout: Layout,
}

impl<'a> Plan<'a> {
    /// Plans the output of one program.
    ///
    /// # Errors
    ///
    /// Every [`RelinkError`] that concerns what a native program can't express.
    pub fn new(program: &Program<'a>) -> Result<Self, RelinkError> {
        let mut imports = Imports::of(program)?;
        let exports = Exports::of(program);
        let symbols = SymbolTable::new(&imports, &exports)?;
        let mut relocations = Relocations::new(program, &mut imports, &symbols)?;
        let relro = Relro::of(program, &imports);
        let layout = Layout::new(program, &imports, &symbols, &relocations, &relro)?;
        relocations.add_runtime_slots(&symbols, &layout);
        Ok(Self {
            imports,
            symbols,
            relocations,
            relro,
            layout,
        })
    }
}

/// `count` as the 32-bit number that the output's tables use.
fn number(what: &'static str, count: usize) -> Result<u32, RelinkError> {
    u32::try_from(count).map_err(|_| RelinkError::TooMany { what, count })
}
