//! The pool of direct memory: which offsets are taken.

use std::collections::BTreeMap;

use super::{DIRECT_SIZE, PAGE, TYPES, is_page_multiple};
use crate::result::Errno;

/// One allocated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) kind: i32,
}

/// The allocated runs, by start offset.
#[derive(Debug, Default)]
pub(super) struct Physical {
    blocks: BTreeMap<u64, Block>,
}

impl Physical {
    /// Takes `size` bytes in `[from, to)`: the first run that fits.
    pub(super) fn allocate(
        &mut self,
        from: u64,
        to: u64,
        size: u64,
        alignment: u64,
        kind: i32,
    ) -> Result<u64, Errno> {
        let alignment = check_alignment(alignment)?;
        if size == 0 || !is_page_multiple(size) || from >= to || !TYPES.contains(&kind) {
            return Err(Errno::EINVAL);
        }
        let start = self
            .gaps(from, to)
            .find_map(|(start, end)| {
                let start = start.checked_next_multiple_of(alignment)?;
                (start.checked_add(size)? <= end).then_some(start)
            })
            .ok_or(Errno::EAGAIN)?;
        self.blocks.insert(
            start,
            Block {
                start,
                end: start + size,
                kind,
            },
        );
        Ok(start)
    }

    /// The largest free run in `[from, to)`: start and size.
    pub(super) fn largest(&self, from: u64, to: u64, alignment: u64) -> Result<(u64, u64), Errno> {
        let alignment = check_alignment(alignment)?;
        self.gaps(from, to)
            .filter_map(|(start, end)| {
                let start = start.checked_next_multiple_of(alignment)?;
                (start < end).then(|| (start, end - start))
            })
            // The first of the largest.
            .reduce(|best, next| if next.1 > best.1 { next } else { best })
            .ok_or(Errno::ENOMEM)
    }

    /// Free runs in `[from, to)`.
    fn gaps(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
        let to = to.min(DIRECT_SIZE);
        let mut at = from;
        let mut gaps = Vec::new();
        for block in self.blocks.values() {
            if block.end <= at {
                continue;
            }
            if block.start >= to {
                break;
            }
            if block.start > at {
                gaps.push((at, block.start));
            }
            at = block.end;
        }
        if at < to {
            gaps.push((at, to));
        }
        gaps.into_iter()
    }

    /// Whether every byte of the run is allocated.
    pub(super) fn holds(&self, start: u64, size: u64) -> bool {
        let mut at = start;
        let end = start.saturating_add(size);
        while at < end {
            match self.find(at) {
                Some(block) => at = block.end,
                None => return false,
            }
        }
        true
    }

    /// The block at this offset.
    pub(super) fn find(&self, offset: u64) -> Option<Block> {
        let (_, block) = self.blocks.range(..=offset).next_back()?;
        (offset < block.end).then_some(*block)
    }

    /// The first block at or above this offset.
    pub(super) fn find_next(&self, offset: u64) -> Option<Block> {
        self.find(offset)
            .or_else(|| self.blocks.range(offset..).next().map(|(_, block)| *block))
    }

    /// Frees what is allocated in the run.
    pub(super) fn release(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size);
        let cut: Vec<Block> = self
            .blocks
            .values()
            .filter(|block| block.start < end && start < block.end)
            .copied()
            .collect();
        for block in cut {
            self.blocks.remove(&block.start);
            for (start, end) in [
                (block.start, start.max(block.start)),
                (end.min(block.end), block.end),
            ] {
                if start < end {
                    self.blocks.insert(start, Block { start, end, ..block });
                }
            }
        }
    }
}

fn check_alignment(alignment: u64) -> Result<u64, Errno> {
    match alignment {
        0 => Ok(PAGE),
        _ if alignment.is_power_of_two() && alignment >= PAGE => Ok(alignment),
        _ => Err(Errno::EINVAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_first_fit_and_come_back() {
        let mut pool = Physical::default();
        let a = pool.allocate(0, DIRECT_SIZE, 0x8000, 0, 3).unwrap();
        let b = pool.allocate(0, DIRECT_SIZE, PAGE, 0x10000, 0).unwrap();
        assert_eq!((a, b), (0, 0x10000));
        assert_eq!(pool.allocate(0, DIRECT_SIZE, 0x8000, 0, 3), Ok(0x8000));
        assert_eq!(pool.allocate(0, 0x14000, PAGE, 0, 3), Err(Errno::EAGAIN));
        assert!(pool.holds(0, 0x14000) && !pool.holds(0, 0x18000));
        pool.release(0x4000, 0x8000);
        assert_eq!(pool.find(0x4000), None);
        assert_eq!(pool.find_next(0x4000).unwrap().start, 0xc000);
        assert_eq!(pool.largest(0, 0x14000, 0), Ok((0x4000, 0x8000)));
        assert_eq!(
            pool.largest(0x14000, DIRECT_SIZE, 0),
            Ok((0x14000, DIRECT_SIZE - 0x14000))
        );
    }

    #[test]
    fn bad_requests_are_refused() {
        let mut pool = Physical::default();
        for (size, alignment, kind) in [
            (0, 0, 3),
            (100, 0, 3),
            (PAGE, 3, 3),
            (PAGE, 0x1000, 3),
            (PAGE, 0, 5),
        ] {
            assert_eq!(
                pool.allocate(0, DIRECT_SIZE, size, alignment, kind),
                Err(Errno::EINVAL)
            );
        }
    }
}
