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
    // Where the nearest wanted address could begin, if the instruction ended right behind the displacement.
    let (low, span) = (low.wrapping_sub(farthest), size.saturating_add(farthest));
    let mut found: Vec<Reference> = in_chunks(code, 3, |segment, from, to, found| {
        let bytes = &segment.bytes[from..to];
        let base = (segment.start.0 as u32).wrapping_add(from as u32).wrapping_add(4);
        let count = bytes.len().saturating_sub(3);
        for at in (0..count).step_by(BLOCK) {
            let block = &bytes[at..(at + BLOCK + 3).min(bytes.len())];
            let base = base.wrapping_add(at as u32);
            if !any_reference(block, base, low, span) {
                continue;
            }
            for (offset, word) in block.windows(4).enumerate() {
                let displacement = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                let target = base.wrapping_add(offset as u32).wrapping_add(displacement);
                if target.wrapping_sub(low) >= span {
                    continue;
                }
                for &behind in behind {
                    let target = ImageAddress(u64::from(target.wrapping_add(behind)));
                    if within.covers(target, 1) && wanted(target) {
                        let place = ImageAddress(segment.start.0 + (from + at + offset) as u64);
                        found.push(Reference { target, place });
                    }
                }
            }
        }
    });
    found.par_sort_unstable();
    found
}

/// Every place where the opcode of a reciprocal may stand, ascending: `52` or `53` behind `0f`, or behind VEX of two bytes
/// or three.
#[must_use]
pub fn reciprocals(code: &Code<'_>) -> Vec<ImageAddress> {
    in_chunks(code, 3, |segment, from, to, found| {
        let bytes = &segment.bytes[from..to];
        for (at, window) in bytes.windows(4).enumerate() {
            let [c, b, a, opcode] = [window[0], window[1], window[2], window[3]];
            if opcode & 0xfe == 0x52 && (a == 0x0f || b == 0xc5 || c == 0xc4) {
                found.push(ImageAddress(segment.start.0 + (from + at + 3) as u64));
            }
        }
    })
}

/// Every place that looks like the displacement of an operand in memory within a range, relative to the instruction's end,
/// ascending; but for those of a `lea` of an address that `ordinary` takes.
#[must_use]
pub fn operands(
    code: &Code<'_>,
    within: ImageRange,
    ordinary: impl Fn(ImageAddress) -> bool + Sync,
) -> Vec<ImageAddress> {
    let (Ok(low), Ok(size)) = (u32::try_from(within.start.0), u32::try_from(within.size)) else {
        return Vec::new();
    };
    // An immediate operand behind the displacement moves its target by up to four bytes.
    let (low, span) = (low.wrapping_sub(4), size.saturating_add(4));
    in_chunks(code, 6, |segment, from, to, found| {
        let bytes = &segment.bytes[from..to];
        let base = (segment.start.0 as u32).wrapping_add(from as u32);
        // What stands in the overlap is the next piece's.
        let (words, rest) = bytes[..bytes.len().min(CHUNK)].as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        for (index, word) in words.iter().chain([&last]).enumerate() {
            let mut marks = operand_bytes(u64::from_le_bytes(*word));
            while marks != 0 {
                let at = 8 * index + (marks.trailing_zeros() / 8) as usize;
                marks &= marks - 1;
                let Some(displacement) = bytes.get(at + 1..).and_then(|rest| rest.first_chunk()) else {
                    continue;
                };
                let place = base.wrapping_add(at as u32 + 1);
                let target = place
                    .wrapping_add(4)
                    .wrapping_add(u32::from_le_bytes(*displacement));
                if target.wrapping_sub(low) >= span {
                    continue;
                }
                // A piece's first places lack what stands in front of them: they count.
                let is_lea = at.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&LEA);
                let may_be_one = at < PREFIX || has_operand(&bytes[at - PREFIX..at]);
                if may_be_one && !(is_lea && ordinary(ImageAddress(u64::from(target)))) {
                    found.push(ImageAddress(u64::from(place)));
                }
            }
        }
    })
}

/// Opcode of `lea`.
const LEA: u8 = 0x8d;

/// How many bytes in front of an operand's first say what instruction it may be of: EVEX is the longest.
const PREFIX: usize = 5;

/// Whether bytes can end in the opcode of an instruction that has an operand in memory.
fn has_operand(before: &[u8]) -> bool {
    let Some(&[e, d, c, b, opcode]) = before.last_chunk() else {
        return true;
    };
    WITH_OPERAND[usize::from(opcode)]
        // Two bytes, or three.
        || b == 0x0f
        || c == 0x0f && (b == 0x38 || b == 0x3a)
        // VEX, XOP, EVEX.
        || c == 0xc5
        || d == 0xc4
        || d == 0x8f
        || e == 0x62
}

/// The opcodes of one byte behind which an operand may be in memory: Intel's manual, volume 2, table A-2.
const WITH_OPERAND: [bool; 256] = {
    let mut table = [false; 256];
    let ranges = [
        (0x00, 0x03),
        (0x08, 0x0b),
        (0x10, 0x13),
        (0x18, 0x1b),
        (0x20, 0x23),
        (0x28, 0x2b),
        (0x30, 0x33),
        (0x38, 0x3b),
        (0x63, 0x63),
        (0x69, 0x69),
        (0x6b, 0x6b),
        (0x80, 0x8f),
        (0xc0, 0xc1),
        (0xc6, 0xc7),
        (0xd0, 0xd3),
        (0xd8, 0xdf),
        (0xf6, 0xf7),
        (0xfe, 0xff),
    ];
    let mut range = 0;
    while range < ranges.len() {
        let (mut opcode, last) = ranges[range];
        while opcode <= last {
            table[opcode] = true;
            opcode += 1;
        }
        range += 1;
    }
    table
};

/// The top bit of each byte that says "an operand relative to the instruction's end": mod 0, rm 5.
const fn operand_bytes(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let other = (word & 0xc7c7_c7c7_c7c7_c7c7) ^ 0x0505_0505_0505_0505;
    // A byte that is 0 has no bit of these.
    !(((other & LOW) + LOW) | other | LOW)
}

/// How many places are looked at at once.
const BLOCK: usize = 256;

/// Whether any four bytes of a block lead into the `span` bytes from `low`, by whole registers: words at each of the four
/// phases.
fn any_reference(block: &[u8], base: u32, low: u32, span: u32) -> bool {
    let mut any = false;
    for phase in 0..4 {
        let (words, _) = block.get(phase..).unwrap_or_default().as_chunks::<4>();
        let first = base.wrapping_add(phase as u32).wrapping_sub(low);
        for (index, word) in (0_u32..).zip(words) {
            let target = u32::from_le_bytes(*word)
                .wrapping_add(first)
                .wrapping_add(4 * index);
            any |= target < span;
        }
    }
    any
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
        let piece = |piece: usize| {
            let from = piece * CHUNK;
            let to = (from + CHUNK + overlap).min(size);
            let mut found = Vec::new();
            search(segment, from, to, &mut found);
            found
        };
        let count = size.div_ceil(CHUNK);
        // Waking other threads takes longer than one piece does.
        let pieces: Vec<Vec<T>> = if count == 1 {
            vec![piece(0)]
        } else {
            (0..count).into_par_iter().map(piece).collect()
        };
        all.extend(pieces.into_iter().flatten());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever bytes stand in front of an operand relative to the instruction's end: the decoder finds no instruction where
    /// this finds none.
    #[test]
    fn no_operand_is_missed() {
        use iced_x86::{Decoder, DecoderOptions};
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut seen = 0;
        for _ in 0..2_000_000 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let mut bytes = [0x11; 15];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            // A prefix or an escape more often than not.
            if seed >> 60 < 12 {
                bytes[0] = [
                    0x0f, 0xc5, 0xc4, 0x62, 0x8f, 0x48, 0x66, 0xf3, 0x4c, 0xf2, 0x0f, 0x41,
                ][(seed >> 60) as usize];
            }
            let mut decoder = Decoder::with_ip(64, &bytes, 0x1000, DecoderOptions::NONE);
            let instruction = decoder.decode();
            if instruction.is_invalid() || !instruction.is_ip_rel_memory_operand() {
                continue;
            }
            seen += 1;
            let offsets = decoder.get_constant_offsets(&instruction);
            let operand = offsets.displacement_offset() - 1;
            assert_eq!(bytes[operand] & 0xc7, 5, "{bytes:02x?}");
            let mut before = [0x90; 16];
            before[16 - operand..].copy_from_slice(&bytes[..operand]);
            assert!(
                has_operand(&before[16 - PREFIX..]),
                "{:?}: {bytes:02x?}",
                instruction.code()
            );
        }
        assert!(seen > 10_000, "{seen}");
    }

    #[test]
    fn operands_are_told_byte_by_byte() {
        for byte in 0..=u8::MAX {
            for at in 0..8 {
                let mut bytes = [0xff; 8];
                bytes[at] = byte;
                let expected = if byte & 0xc7 == 5 { 0x80_u64 << (8 * at) } else { 0 };
                assert_eq!(
                    operand_bytes(u64::from_le_bytes(bytes)),
                    expected,
                    "{byte:#x} {at}"
                );
            }
        }
    }

    #[test]
    fn a_block_is_searched_at_every_place() {
        for at in 0..BLOCK {
            let mut block = vec![0xcc; BLOCK + 3];
            // The instruction at 0x1000 + at + 4 leads to 0x5000.
            let displacement = 0x5000_u32.wrapping_sub(0x1004 + at as u32);
            block[at..at + 4].copy_from_slice(&displacement.to_le_bytes());
            assert!(any_reference(&block, 0x1004, 0x5000, 1), "{at}");
            assert!(!any_reference(&block, 0x1004, 0x5001, 1), "{at}");
        }
    }
}
