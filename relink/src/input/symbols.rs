//! The dynamic symbol table.

use crate::{
    address::ImageAddress,
    error::{RelinkError, SymbolProblem},
};

use super::{
    bytes::{field, records},
    dynamic::Dynamic,
    segments::Segments,
};

/// Size in bytes of one record.
pub const RECORD: usize = 24;

/// What a symbol stands for, by its type number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// STT_NOTYPE.
    Untyped,
    /// STT_OBJECT.
    Object,
    /// STT_FUNC.
    Function,
    /// STT_TLS.
    ThreadLocal,
    /// Section and file symbols, and Sony's type 11 of `module_start` and `module_stop`.
    Other(u8),
}

/// How a symbol binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Only within the file.
    Local,
    /// Everywhere.
    Global,
    /// Everywhere, and absent without complaint.
    Weak,
}

/// One symbol.
#[derive(Debug, Clone, Copy)]
pub struct Symbol<'a> {
    /// Its name as stored: `NID#library#module` for imports and exports.
    pub name: &'a str,
    /// What it stands for.
    pub kind: SymbolKind,
    /// How it binds.
    pub binding: Binding,
    /// Its section index; 0 means that it is imported.
    pub section: u16,
    /// Its address, or its offset in the TLS image.
    pub value: u64,
    /// Its size in bytes.
    pub size: u64,
}

impl Symbol<'_> {
    /// Whether the program asks others for it.
    #[must_use]
    pub const fn is_import(&self) -> bool {
        self.section == 0
    }
}

pub(super) fn read<'a>(segments: &Segments, dynamic: &Dynamic<'a>) -> Result<Vec<Symbol<'a>>, RelinkError> {
    let table = records::<RECORD>("the symbol table", dynamic.symbols)?;
    let mut symbols = Vec::with_capacity(table.len());
    for (index, record) in table.iter().enumerate() {
        let name = u32::from_le_bytes(field::<0, 4, RECORD>(record));
        let [info] = field::<4, 1, RECORD>(record);
        let name = dynamic.strings.get("a symbol's name", u64::from(name))?;
        let refuse = |problem| RelinkError::Symbol {
            index,
            name: name.to_owned(),
            problem,
        };
        let symbol = Symbol {
            name,
            kind: match info & 0xf {
                0 => SymbolKind::Untyped,
                1 => SymbolKind::Object,
                2 => SymbolKind::Function,
                6 => SymbolKind::ThreadLocal,
                other => SymbolKind::Other(other),
            },
            binding: match info >> 4 {
                0 => Binding::Local,
                1 => Binding::Global,
                2 => Binding::Weak,
                binding => return Err(refuse(SymbolProblem::Binding { binding })),
            },
            section: u16::from_le_bytes(field::<6, 2, RECORD>(record)),
            value: u64::from_le_bytes(field::<8, 8, RECORD>(record)),
            size: u64::from_le_bytes(field::<16, 8, RECORD>(record)),
        };
        // A symbol may mark the end of a segment, one past its last byte.
        let address = ImageAddress(symbol.value);
        let in_memory = segments
            .loads
            .iter()
            .any(|load| load.range.start <= address && address <= load.range.end());
        if !symbol.is_import()
            && symbol.kind != SymbolKind::ThreadLocal
            && symbol.binding != Binding::Local
            && !in_memory
        {
            return Err(refuse(SymbolProblem::Unmapped { address }));
        }
        symbols.push(symbol);
    }
    Ok(symbols)
}
