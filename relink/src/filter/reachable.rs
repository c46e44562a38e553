//! Level 2: imports that no reachable function uses.
//!
//! The graph has a node for each function of the unwind table and one for each stub of the procedure linkage table. A
//! function leads to what its instructions branch to and to what they take the address of. Roots are the entry point and
//! every address in code that data, exports or the headers hold. What the graph can't express is an error: code without
//! unwind information that is no stub, several code segments, functions chosen at load time.

use hashbrown::{HashMap, HashSet};
use iced_x86::Instruction;
use petgraph::{
    graph::{DiGraph, NodeIndex},
    visit::Dfs,
};
use rayon::prelude::*;

use crate::{
    address::{ImageAddress, ImageRange},
    code::{Code, functions::Function, is_fixed_code, search::references},
    error::RelinkError,
    input::{
        Object,
        relocations::{RelocationKind, SLOT},
        symbols::SymbolKind,
    },
    plan::imports::ImportIndex,
};

use super::{Slots, Stub, Unused};

/// `jmp [rip + displacement]`, up to the displacement.
const JUMP_THROUGH: [u8; 2] = [0xff, 0x25];
/// `endbr64`, which may stand in front of a stub's jump.
const LANDING: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// Size of a stub: the jump, `push imm32`, `jmp rel32`.
const STUB: u64 = 16;
/// STT_GNU_IFUNC.
const CHOSEN_AT_LOAD: u8 = 10;

/// Where control may go from one function.
#[derive(Default)]
struct Uses {
    /// Addresses in code that are branched to.
    branches: Vec<ImageAddress>,
    /// Addresses in code that are taken or read.
    read: Vec<ImageAddress>,
    /// Addresses in data.
    data: Vec<ImageAddress>,
}

pub(super) fn unused(slots: &Slots, object: &Object<'_>, code: &Code<'_>) -> Result<Unused, RelinkError> {
    check(object, code)?;
    let functions = code.functions.all();
    let stubs = stubs(slots, code);
    let mut graph = DiGraph::<(), (), usize>::default();
    for _ in 0..functions.len() + stubs.len() {
        graph.add_node(());
    }
    let node_of = |address: ImageAddress| -> Option<NodeIndex<usize>> {
        let after = functions.partition_point(|function| function.range.start <= address);
        let function = after
            .checked_sub(1)
            .and_then(|index| Some((index, functions.get(index)?)));
        if let Some((index, _)) = function.filter(|(_, function)| function.range.covers(address, 1)) {
            return Some(NodeIndex::new(index));
        }
        let after = stubs.partition_point(|stub| stub.address <= address);
        let index = after.checked_sub(1)?;
        let inside = address.0 - stubs.get(index)?.address.0 < STUB;
        inside.then_some(NodeIndex::new(functions.len() + index))
    };

    let uses: Vec<Uses> = functions
        .par_iter()
        .map(|function| uses(code, function))
        .collect();
    for (index, uses) in uses.iter().enumerate() {
        // What is read may be a constant among code.
        for node in uses.read.iter().filter_map(|address| node_of(*address)) {
            graph.update_edge(NodeIndex::new(index), node, ());
        }
        for &target in &uses.branches {
            let Some(node) = node_of(target) else {
                return Err(RelinkError::Filter {
                    reason: format!("a branch leads to {target}, in code without unwind information"),
                });
            };
            graph.update_edge(NodeIndex::new(index), node, ());
        }
    }

    let mut reached = vec![false; graph.node_count()];
    let entry = (object.kind == crate::input::ObjectKind::Program).then_some(object.entry);
    for &root in code.entry_points().iter().chain(&entry) {
        let Some(node) = node_of(root) else {
            return Err(RelinkError::Filter {
                reason: format!("{root} is an address that data holds, in code without unwind information"),
            });
        };
        if reached[node.index()] {
            continue;
        }
        let mut search = Dfs::new(&graph, node);
        while let Some(node) = search.next(&graph) {
            reached[node.index()] = true;
        }
    }

    let slot_import: HashMap<ImageAddress, ImportIndex> =
        slots.data.iter().chain(&slots.jumps).copied().collect();
    let mut used: HashSet<ImportIndex> = slots.pinned.clone();
    for (stub, _) in stubs
        .iter()
        .zip(&reached[functions.len()..])
        .filter(|(_, reached)| **reached)
    {
        used.extend(slot_import.get(&stub.slot));
    }
    for (uses, _) in uses.iter().zip(&reached).filter(|(_, reached)| **reached) {
        used.extend(uses.data.iter().filter_map(|address| slot_import.get(address)));
    }
    for relocation in &object.relocations {
        if relocation.kind == RelocationKind::Relative {
            used.extend(slot_import.get(&ImageAddress(relocation.addend.cast_unsigned())));
        }
    }
    let all: HashSet<ImportIndex> = slot_import.values().copied().collect();
    Ok(Unused {
        imports: all.difference(&used).copied().collect(),
        stubs,
    })
}

/// What must hold for the graph to say anything.
fn check(object: &Object<'_>, code: &Code<'_>) -> Result<(), RelinkError> {
    let refuse = |reason: String| Err(RelinkError::Filter { reason });
    let executable = object
        .segments
        .loads
        .iter()
        .filter(|load| load.access.executable());
    if executable.clone().count() != 1 || !executable.clone().all(|load| is_fixed_code(load.access)) {
        return refuse("it has not exactly one code segment that never changes".to_owned());
    }
    if code.functions.is_empty() {
        return refuse(
            "it has no unwind table that can be searched, so that nobody knows its functions".to_owned(),
        );
    }
    for symbol in &object.symbols {
        if symbol.kind == SymbolKind::Other(CHOSEN_AT_LOAD) {
            return refuse(format!(
                "symbol {} is a function that is chosen at load time",
                symbol.name
            ));
        }
    }
    Ok(())
}

/// The stubs of the procedure linkage table, by address.
fn stubs(slots: &Slots, code: &Code<'_>) -> Vec<Stub> {
    let (Some((first, _)), Some((last, _))) = (slots.jumps.first(), slots.jumps.last()) else {
        return Vec::new();
    };
    let within = ImageRange {
        start: *first,
        size: last.0 + SLOT - first.0,
    };
    let is_slot = |address: ImageAddress| {
        slots
            .jumps
            .binary_search_by_key(&address, |(slot, _)| *slot)
            .is_ok()
    };
    let mut stubs: Vec<Stub> = references(code, within, &[0], is_slot)
        .into_iter()
        .filter(|reference| code.functions.around(reference.place).is_none())
        .filter_map(|reference| {
            let jump = ImageAddress(reference.place.0.checked_sub(JUMP_THROUGH.len() as u64)?);
            code.bytes_from(jump)?.starts_with(&JUMP_THROUGH).then_some(())?;
            let landing = ImageAddress(jump.0.wrapping_sub(LANDING.len() as u64));
            let has_landing = code
                .bytes_from(landing)
                .is_some_and(|bytes| bytes.starts_with(&LANDING));
            Some(Stub {
                address: if has_landing { landing } else { jump },
                jump,
                slot: reference.target,
            })
        })
        .collect();
    stubs.sort_unstable_by_key(|stub| stub.address);
    stubs
}

/// What a function's instructions refer to.
fn uses(code: &Code<'_>, function: &Function) -> Uses {
    let mut uses = Uses::default();
    code.explore(function, &mut |instruction: &Instruction| {
        let branch = instruction.near_branch_target();
        if branch != 0 && !function.range.covers(ImageAddress(branch), 1) {
            uses.branches.push(ImageAddress(branch));
        }
        if instruction.is_ip_rel_memory_operand() {
            let address = ImageAddress(instruction.ip_rel_memory_address());
            let list = if code.contains(address) {
                &mut uses.read
            } else {
                &mut uses.data
            };
            list.push(address);
        }
    });
    uses
}
