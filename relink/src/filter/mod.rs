//! Leaving out imports that nothing uses, so that a system library need not have them.
//!
//! | level | drops |
//! | --- | --- |
//! | 0 | nothing |
//! | 1 | data imports whose slot in the global offset table no instruction refers to |
//! | 2 | also functions that no reachable code calls, and compacts the procedure linkage table |
//!
//! An import that data itself points at (in a table of functions, say) is always kept.

pub mod data;
pub mod reachable;

use hashbrown::HashSet;

use crate::{
    address::ImageAddress,
    code::Code,
    error::RelinkError,
    input::{Object, relocations::RelocationKind},
    plan::imports::{ImportIndex, Imports},
};

/// How much is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FilterLevel {
    /// Nothing.
    #[default]
    Keep,
    /// Data imports without a reference.
    Data,
    /// Whatever is not reachable.
    Reachable,
}

/// What a filter leaves out.
#[derive(Debug, Default)]
pub struct Unused {
    /// The imports.
    pub imports: HashSet<ImportIndex>,
    /// The stubs of the procedure linkage table, where it is to be compacted.
    pub stubs: Vec<Stub>,
}

/// One stub of the procedure linkage table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stub {
    /// Where it begins.
    pub address: ImageAddress,
    /// Where its jump is.
    pub jump: ImageAddress,
    /// The slot that it jumps through.
    pub slot: ImageAddress,
}

/// Finds the imports that a level leaves out.
///
/// # Errors
///
/// At level 2, [`RelinkError::Filter`] where something can't be analysed.
pub fn unused(
    level: FilterLevel,
    object: &Object<'_>,
    imports: &Imports<'_>,
    code: &Code<'_>,
) -> Result<Unused, RelinkError> {
    match level {
        FilterLevel::Keep => Ok(Unused::default()),
        FilterLevel::Data => Ok(Unused {
            imports: data::unused(&Slots::of(object, imports), object, code),
            stubs: Vec::new(),
        }),
        FilterLevel::Reachable => reachable::unused(&Slots::of(object, imports), object, code),
    }
}

/// How the relocations of an object use its imports.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// Slots in the global offset table, by address.
    pub(crate) data: Vec<(ImageAddress, ImportIndex)>,
    /// Slots that linkage stubs jump through, by address.
    pub(crate) jumps: Vec<(ImageAddress, ImportIndex)>,
    /// Imports that data holds: nobody can say who uses them.
    pub(crate) pinned: HashSet<ImportIndex>,
}

impl Slots {
    fn of(object: &Object<'_>, imports: &Imports<'_>) -> Self {
        let mut slots = Self::default();
        for relocation in &object.relocations {
            let Some(import) = imports
                .by_symbol(relocation.symbol)
                .filter(|_| relocation.symbol != 0)
            else {
                continue;
            };
            match relocation.kind {
                RelocationKind::GlobalData => slots.data.push((relocation.target, import)),
                RelocationKind::JumpSlot => slots.jumps.push((relocation.target, import)),
                _ => {
                    slots.pinned.insert(import);
                }
            }
        }
        slots.data.sort_unstable();
        slots.jumps.sort_unstable();
        slots
    }
}
