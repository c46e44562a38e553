//! Symbols and relocations.

use crate::plan::{relocations::OutputRelocation, symbols::SymbolTable};

pub(super) fn symbols(table: &SymbolTable) -> Vec<u8> {
    let mut bytes = Vec::new();
    for symbol in &table.symbols {
        bytes.extend(symbol.name.0.to_le_bytes());
        bytes.extend([symbol.info, 0]);
        bytes.extend(symbol.section.to_le_bytes());
        bytes.extend(symbol.value.to_le_bytes());
        bytes.extend(symbol.size.to_le_bytes());
    }
    bytes
}

pub(super) fn relocations<'r>(table: impl Iterator<Item = &'r OutputRelocation>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for relocation in table {
        bytes.extend(relocation.target.0.to_le_bytes());
        bytes.extend((relocation.kind as u32).to_le_bytes());
        bytes.extend(relocation.symbol.0.to_le_bytes());
        bytes.extend(relocation.addend.to_le_bytes());
    }
    bytes
}
