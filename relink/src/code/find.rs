//! Finding instructions: byte pairs first, then control flow around each.

use std::ops::Range;

use iced_x86::{Instruction, Mnemonic};
use rayon::prelude::*;

use crate::address::{ImageAddress, ImageRange};

use super::{
    Code,
    functions::Function,
    gaps::{Explored, read_by},
    search::{Reference, pairs, references},
};

/// What was found.
#[derive(Debug)]
pub struct Found<T> {
    /// The instructions that control flow reaches, in no particular order; one may be there twice.
    pub instructions: Vec<T>,
    /// What may be instructions, in code without unwind information.
    pub uncertain: Vec<T>,
    /// Where the byte pairs stand, ascending.
    pub candidates: Vec<ImageAddress>,
}

impl Code<'_> {
    /// Finds every instruction that `wanted` takes. Each must contain one of the byte pairs, at a place that `filter` takes.
    pub fn find<T: Send>(
        &self,
        contains: &[[u8; 2]],
        filter: impl Fn(ImageAddress) -> bool,
        wanted: impl Fn(&Instruction) -> Option<T> + Sync,
    ) -> Found<T> {
        let mut candidates = pairs(self, contains);
        candidates.retain(|address| filter(*address));
        self.find_at(candidates, wanted)
    }

    /// As [`Self::find`], of instructions that cover one of these places, which ascend.
    pub fn find_at<T: Send>(
        &self,
        candidates: Vec<ImageAddress>,
        wanted: impl Fn(&Instruction) -> Option<T> + Sync,
    ) -> Found<T> {
        // Candidates ascend, so those of one function stand together.
        // Waking other threads takes longer than a small program does.
        let pieces: Vec<Vec<(Place, &[ImageAddress])>> = if candidates.len() <= CHUNK {
            vec![self.by_place(&candidates)]
        } else {
            candidates
                .par_chunks(CHUNK)
                .map(|chunk| self.by_place(chunk))
                .collect()
        };
        let mut gaps: Vec<ImageRange> = Vec::new();
        let mut functions: Vec<(Function, Range<usize>)> = Vec::new();
        let mut at = 0;
        for (place, addresses) in pieces.into_iter().flatten() {
            let own = at..at + addresses.len();
            at = own.end;
            match place {
                // A function or gap on the border of two chunks is there twice.
                Place::Function(function) => match functions.last_mut() {
                    Some((last, all)) if *last == function => all.end = own.end,
                    _ => functions.push((function, own)),
                },
                Place::Gap(gap) if gaps.last() != Some(&gap) => gaps.push(gap),
                Place::Gap(_) => {}
            }
        }
        let explore = |(function, own): &(Function, Range<usize>)| {
            let mut found = Vec::new();
            let addresses = candidates.get(own.clone()).unwrap_or_default();
            self.explore_for(function, addresses, &mut |instruction| {
                found.extend(wanted(instruction));
            });
            found
        };
        let mut instructions: Vec<T> = if functions.len() <= CHUNK {
            functions.iter().flat_map(explore).collect()
        } else {
            functions.par_iter().flat_map_iter(explore).collect()
        };
        let in_gaps = in_gaps(self, gaps, &wanted);
        instructions.extend(in_gaps.certain);
        Found {
            instructions,
            uncertain: in_gaps.uncertain,
            candidates,
        }
    }
}

/// How many byte pairs one task looks at.
const CHUNK: usize = 256;

/// Where a byte pair is.
enum Place {
    Function(Function),
    /// Between functions.
    Gap(ImageRange),
}

impl Code<'_> {
    /// The code around an address that no function covers.
    fn gap_around(&self, address: ImageAddress) -> ImageRange {
        let mut segments = self.segments.iter().map(|segment| segment.range());
        let within = segments
            .find(|range| range.covers(address, 1))
            .unwrap_or_default();
        self.functions.gap_around(address, within)
    }

    /// Ascending addresses by the function or gap that they are in.
    fn by_place<'s>(&self, addresses: &'s [ImageAddress]) -> Vec<(Place, &'s [ImageAddress])> {
        let mut places = Vec::new();
        let mut rest = addresses;
        while let Some(&first) = rest.first() {
            let place = match self.functions.around(first) {
                Some(function) => Place::Function(function),
                None => Place::Gap(self.gap_around(first)),
            };
            let range = match &place {
                Place::Function(function) => function.range,
                Place::Gap(gap) => *gap,
            };
            // At least itself, so that this ends.
            let count = rest.partition_point(|address| *address < range.end()).max(1);
            let (own, others) = rest.split_at(count);
            places.push((place, own));
            rest = others;
        }
        places
    }
}

/// How often all code is searched for what refers to gaps that are known by then, before each gap there is counts.
const ROUNDS: usize = 4;

/// The instructions in code without unwind information. What refers to it from more of such code is explored too.
fn in_gaps<T>(
    code: &Code<'_>,
    mut gaps: Vec<ImageRange>,
    wanted: &impl Fn(&Instruction) -> Option<T>,
) -> Explored<T> {
    let mut roots = code.outer_roots();
    if !code.functions.is_empty() {
        let mut rounds = 0..ROUNDS;
        let found = loop {
            let found = references_into(code, &gaps);
            let mut more: Vec<ImageRange> = found
                .iter()
                .filter(|reference| code.functions.around(reference.place).is_none())
                .map(|reference| code.gap_around(reference.place))
                .filter(|gap| gaps.binary_search(gap).is_err())
                .collect();
            if more.is_empty() {
                break found;
            }
            if rounds.next().is_none() {
                let segments = code.segments.iter();
                more = segments
                    .flat_map(|segment| code.functions.gaps(segment.range()))
                    .collect();
            }
            gaps.append(&mut more);
            gaps.sort_unstable();
            gaps.dedup();
        };
        for used in uses_of(code, &found) {
            match used {
                Use::Branch(target) => roots.proven.push(target),
                Use::Address(target) => roots.taken.push(target),
                Use::Memory(range) => roots.read.push(range),
            }
        }
    }
    code.explore_gaps(&gaps, roots, wanted)
}

/// What may refer to places in gaps, by where it stands.
fn references_into(code: &Code<'_>, gaps: &[ImageRange]) -> Vec<Reference> {
    let (Some(first), Some(last)) = (gaps.first(), gaps.last()) else {
        return Vec::new();
    };
    let within = ImageRange {
        start: first.start,
        size: last.end().0 - first.start.0,
    };
    let mut found = references(code, within, &[0], |target| {
        let after = gaps.partition_point(|gap| gap.start <= target);
        let gap = after.checked_sub(1).and_then(|index| gaps.get(index));
        gap.is_some_and(|gap| gap.covers(target, 1))
    });
    for gap in gaps {
        found.extend(short_branches(code, *gap));
    }
    found.sort_unstable_by_key(|reference| reference.place);
    found
}

/// What may be short branches into a gap, from around it.
fn short_branches(code: &Code<'_>, gap: ImageRange) -> impl Iterator<Item = Reference> {
    let from = ImageAddress(gap.start.0.saturating_sub(SHORT));
    let around = [(from, gap.start), (gap.end(), ImageAddress(gap.end().0 + SHORT))];
    around.into_iter().flat_map(move |(from, to)| {
        let segment = code.segments.iter().find(|segment| {
            let range = segment.range();
            range.start < to && from < range.end()
        });
        let (start, bytes) = segment.map_or((from, &[][..]), |segment| (segment.start, segment.bytes));
        let offset = |at: ImageAddress| (at.0.saturating_sub(start.0) as usize).min(bytes.len());
        let first = offset(from);
        let pairs = bytes.get(first..offset(to)).unwrap_or_default().windows(2);
        (first as u64..).zip(pairs).filter_map(move |(at, pair)| {
            let &[opcode, distance] = pair else { return None };
            // jcc; loop and jrcxz; jmp.
            if !matches!(opcode, 0x70..=0x7f | 0xe0..=0xe3 | 0xeb) {
                return None;
            }
            let place = ImageAddress(start.0 + at + 1);
            let next = ImageAddress(place.0 + 1);
            let target = ImageAddress(next.0.wrapping_add_signed(i64::from(distance.cast_signed())));
            gap.covers(target, 1).then_some(Reference { target, place })
        })
    })
}

/// Short branches and their instructions lie within so many bytes of their targets.
const SHORT: u64 = 0x82;

/// How an instruction uses an address in code.
#[derive(Clone, Copy)]
enum Use {
    Branch(ImageAddress),
    Address(ImageAddress),
    Memory(ImageRange),
}

/// How instructions of functions use the targets of references, which ascend by their places.
fn uses_of(code: &Code<'_>, found: &[Reference]) -> Vec<Use> {
    let mut by_function: Vec<(Function, &[Reference])> = Vec::new();
    let mut rest = found;
    while let Some(first) = rest.first() {
        let function = code.functions.around(first.place);
        let end = function.map_or(ImageAddress(0), |function| function.range.end());
        let count = rest.partition_point(|reference| reference.place < end).max(1);
        let (own, others) = rest.split_at(count);
        by_function.extend(function.map(|function| (function, own)));
        rest = others;
    }
    let uses = by_function.par_iter().flat_map_iter(|(function, references)| {
        let places: Vec<ImageAddress> = references.iter().map(|reference| reference.place).collect();
        let mut uses = Vec::new();
        code.explore_for(function, &places, &mut |instruction| {
            let first = places.partition_point(|place| place.0 <= instruction.ip());
            for reference in references.iter().skip(first) {
                if !covers(instruction, reference.place) {
                    break;
                }
                uses.extend(use_of(instruction, reference.target));
            }
        });
        uses
    });
    uses.collect()
}

fn use_of(instruction: &Instruction, target: ImageAddress) -> Option<Use> {
    if instruction.near_branch_target() == target.0 {
        return Some(Use::Branch(target));
    }
    let refers = instruction.is_ip_rel_memory_operand() && instruction.ip_rel_memory_address() == target.0;
    refers.then(|| match instruction.mnemonic() {
        Mnemonic::Lea => Use::Address(target),
        _ => Use::Memory(read_by(instruction)),
    })
}

/// Whether an instruction covers a place behind its first byte.
pub(crate) fn covers(instruction: &Instruction, place: ImageAddress) -> bool {
    let start = instruction.ip();
    start < place.0 && place.0 < start + instruction.len() as u64
}

/// Whether an instruction covers `place` and has `target` as its operand in memory.
pub(crate) fn refers(instruction: &Instruction, place: ImageAddress, target: ImageAddress) -> bool {
    covers(instruction, place)
        && instruction.is_ip_rel_memory_operand()
        && instruction.ip_rel_memory_address() == target.0
}
