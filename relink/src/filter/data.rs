//! Level 1: data imports whose slots no instruction refers to.

use hashbrown::HashSet;
use rayon::prelude::*;

use crate::{
    address::{ImageAddress, ImageRange},
    code::{
        Code,
        find::{covers, refers},
        functions::Function,
        search::{Reference, references},
    },
    input::{
        Object,
        relocations::{RelocationKind, SLOT},
    },
    plan::imports::ImportIndex,
};

use super::Slots;

/// How many bytes of immediate operands may follow a displacement.
const BEHIND: [u32; 4] = [0, 1, 2, 4];

/// The imports that have slots in the global offset table alone, none of which anything refers to.
pub(super) fn unused(slots: &Slots, object: &Object<'_>, code: &Code<'_>) -> HashSet<ImportIndex> {
    let mut candidates: HashSet<ImportIndex> = slots
        .data
        .iter()
        .map(|(_, import)| *import)
        .filter(|import| !slots.pinned.contains(import))
        .collect();
    for (_, import) in &slots.jumps {
        candidates.remove(import);
    }
    let own: Vec<(ImageAddress, ImportIndex)> = slots
        .data
        .iter()
        .filter(|(_, import)| candidates.contains(import))
        .copied()
        .collect();
    let (Some((first, _)), Some((last, _))) = (own.first(), own.last()) else {
        return candidates;
    };
    let within = ImageRange {
        start: *first,
        size: last.0 + SLOT - first.0,
    };
    // A reference into the middle of a slot reads it too.
    let slot_of = |address: ImageAddress| {
        let after = own.partition_point(|(slot, _)| *slot <= address);
        let &(slot, import) = own.get(after.checked_sub(1)?)?;
        (address.0 - slot.0 < SLOT).then_some(import)
    };
    // Data may point at a slot.
    for relocation in &object.relocations {
        let address = ImageAddress(relocation.addend.cast_unsigned());
        if relocation.kind == RelocationKind::Relative
            && within.covers(address, 1)
            && let Some(import) = slot_of(address)
        {
            candidates.remove(&import);
        }
    }
    // Code may take the table's own address and count from there. One search finds both.
    let base = object.plt_got.unwrap_or(*first);
    let start = base.min(*first);
    let all = ImageRange {
        start,
        size: within.end().max(ImageAddress(base.0.saturating_add(1))).0 - start.0,
    };
    let is_base = |target: ImageAddress| object.plt_got == Some(target);
    let found = references(code, all, &BEHIND, |target| {
        is_base(target) || slot_of(target).is_some()
    });
    for target in confirmed(code, &found) {
        if is_base(target) {
            return HashSet::new();
        }
        if let Some(import) = slot_of(target) {
            candidates.remove(&import);
        }
    }
    candidates
}

/// The targets that instructions refer to, of places that look as if one did. A place in no known function counts, as does one
/// that no known instruction covers.
fn confirmed(code: &Code<'_>, found: &[Reference]) -> HashSet<ImageAddress> {
    let by_target: Vec<&[Reference]> = found.chunk_by(|one, other| one.target == other.target).collect();
    let confirmed: Vec<ImageAddress> = by_target
        .into_par_iter()
        .filter_map(|references| {
            // Most targets are confirmed by their first place.
            let mut references = references.iter();
            let first = references.find(|reference| match code.functions.around(reference.place) {
                Some(function) => refers_from(code, &function, reference.place, reference.target),
                None => true,
            });
            first.map(|reference| reference.target)
        })
        .collect();
    confirmed.into_iter().collect()
}

fn refers_from(code: &Code<'_>, function: &Function, place: ImageAddress, target: ImageAddress) -> bool {
    let (mut found, mut known) = (false, false);
    code.explore_for(function, &[place], &mut |instruction| {
        found |= refers(instruction, place, target);
        known |= covers(instruction, place);
    });
    found || !known
}
