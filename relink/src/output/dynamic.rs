//! The dynamic table.
//!
//! It is writable: the OS loader stores the address of its debugger structure in DT_DEBUG, and versions before 2.35
//! relocate the pointers in place.

use crate::{
    input::{Object, ObjectKind, relocations, symbols},
    plan::{Plan, layout::Part},
};

/// All imports are bound before the program starts.
const DF_BIND_NOW: u64 = 8;
const DF_1_NOW: u64 = 1;
const DF_1_PIE: u64 = 0x0800_0000;

/// The table, filled up with null entries.
pub(super) fn table(program: &Object<'_>, plan: &Plan<'_>) -> Vec<u8> {
    let place = |part| plan.layout.place(part);
    // A shared object that says it is an executable can't be loaded.
    let flags_1 = match program.kind {
        ObjectKind::Program => DF_1_NOW | DF_1_PIE,
        ObjectKind::Module => DF_1_NOW,
    };
    let needed = plan.symbols.needed.iter().map(|name| (1, u64::from(name.0)));
    let mut entries: Vec<(u64, u64)> = needed.collect();
    entries.extend(plan.symbols.file_name.map(|name| (14, u64::from(name.0))));
    entries.extend([
        (29, u64::from(plan.symbols.run_path.0)),
        (0x6fff_fef5, place(Part::GnuHash).start.0),
        (5, place(Part::DynamicStrings).start.0),
        (10, place(Part::DynamicStrings).size),
        (6, place(Part::Symbols).start.0),
        (11, symbols::RECORD as u64),
        (7, place(Part::Relocations).start.0),
        (8, place(Part::Relocations).size),
        (9, relocations::RECORD as u64),
        (30, DF_BIND_NOW),
        (0x6fff_fffb, flags_1),
        (21, 0),
    ]);
    if !plan.relocations.relative.is_empty() {
        entries.push((0x6fff_fff9, plan.relocations.relative.len() as u64));
    }
    if !plan.relocations.jump_slots.is_empty() {
        entries.push((23, place(Part::JumpRelocations).start.0));
        entries.push((2, place(Part::JumpRelocations).size));
        entries.push((20, 7));
        if let Some(address) = program.plt_got {
            entries.push((3, address.0));
        }
    }
    // The plan leaves room for entries that this object does not have.
    entries.resize(
        usize::try_from(place(Part::Dynamic).size / 16).unwrap_or(0),
        (0, 0),
    );
    entries
        .iter()
        .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()])
        .flatten()
        .collect()
}
