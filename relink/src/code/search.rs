//! Searching bytes for what an instruction must contain. Finds too much, and never too little.

use rayon::prelude::*;

use crate::address::{ImageAddress, ImageRange};

use super::{Code, CodeSegment};

/// How many bytes one task searches.
const CHUNK: usize = 1 << 20;

/// Every place where two bytes stand, ascending.
#[must_use]
pub fn pairs(code: &Code<'_>, wanted: &[[u8; 2]]) -> Vec<ImageAddress> {
    in_chunks(code, 1, |segment, from, to, found| {
        let bytes = &segment.bytes[from..to];
        let mut at = 1;
        // Blocks without any fitting pair are passed over by whole registers.
        while at < bytes.len() {
            let end = (at + 64).min(bytes.len());
            let block = &bytes[at - 1..end];
            let any = wanted.iter().fold(false, |any, [first, second]| {
                let pairs = block.iter().zip(&block[1..]);
                any | pairs.fold(false, |any, (a, b)| any | ((a == first) & (b == second)))
            });
            if any {
                for (offset, pair) in block.windows(2).enumerate() {
                    if wanted.iter().any(|wanted| wanted == pair) {
                        found.push(ImageAddress(segment.start.0 + (from + at - 1 + offset) as u64));
                    }
                }
            }
            at = end;
        }
    })
}

/// A place in code where four bytes would lead to a wanted address, if they were the displacement of an instruction that
/// ends `behind` bytes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The address it would lead to.
    pub target: ImageAddress,
    /// Where the four bytes stand.
    pub place: ImageAddress,
}

/// Every displacement of 32 bits that leads into `within` from an instruction which ends one of `behind` bytes after it,
/// as far as `wanted` takes it. Sorted by target.
#[must_use]
pub fn references(
    code: &Code<'_>,
    within: ImageRange,
    behind: &[u32],
    wanted: impl Fn(ImageAddress) -> bool + Sync,
) -> Vec<Reference> {
    // Images end below 2^32, so that 32 bits are enough: whatever wraps is outside.
    let (Ok(low), Ok(size)) = (u32::try_from(within.start.0), u32::try_from(within.size)) else {
        return Vec::new();
    };
    let farthest = behind.iter().copied().max().unwrap_or(0);
    let mut found: Vec<Reference> = in_chunks(code, 3, |segment, from, to, found| {
        let bytes = &segment.bytes[from..to];
        let base = (segment.start.0 as u32).wrapping_add(from as u32).wrapping_add(4);
        let count = bytes.len().saturating_sub(3);
        let displacement =
            |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let span = size.saturating_add(farthest);
        let from_low = |at: usize| {
            let end = base.wrapping_add(at as u32);
            end.wrapping_add(displacement(at))
                .wrapping_sub(low.wrapping_sub(farthest))
        };
        let mut at = 0;
        while at < count {
            let end = (at + 32).min(count);
            let any = (at..end).fold(false, |any, at| any | (from_low(at) < span));
            if any {
                for at in at..end {
                    if from_low(at) >= span {
                        continue;
                    }
                    for &behind in behind {
                        let end = base.wrapping_add(at as u32).wrapping_add(behind);
                        let target = ImageAddress(u64::from(end.wrapping_add(displacement(at))));
                        if within.covers(target, 1) && wanted(target) {
                            let place = ImageAddress(segment.start.0 + (from + at) as u64);
                            found.push(Reference { target, place });
                        }
                    }
                }
            }
            at = end;
        }
    });
    found.par_sort_unstable();
    found
}

/// Runs `search` over all code in pieces that overlap by `overlap` bytes, so that nothing on a border is missed.
fn in_chunks<T: Send>(
    code: &Code<'_>,
    overlap: usize,
    search: impl Fn(&CodeSegment<'_>, usize, usize, &mut Vec<T>) + Sync,
) -> Vec<T> {
    let mut all = Vec::new();
    for segment in &code.segments {
        let size = segment.bytes.len();
        let pieces: Vec<Vec<T>> = (0..size.div_ceil(CHUNK))
            .into_par_iter()
            .map(|piece| {
                let from = piece * CHUNK;
                let to = (from + CHUNK + overlap).min(size);
                let mut found = Vec::new();
                search(segment, from, to, &mut found);
                found
            })
            .collect();
        all.extend(pieces.into_iter().flatten());
    }
    all
}
