//! A set of guest addresses, as ranges.

use std::collections::BTreeMap;

use crate::address::GuestRange;

/// Guest addresses as ranges that neither touch nor overlap. Looking up and adding cost the logarithm of their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    /// First address to one past the last.
    ranges: BTreeMap<u64, u64>,
}

impl RangeSet {
    /// A set with nothing in it.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ranges: BTreeMap::new(),
        }
    }

    /// Adds every address of `range`.
    pub fn insert(&mut self, range: GuestRange) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start().0, range.end().0);
        // Whatever begins at or before our end and ends at or behind our start grows together with us.
        while let Some((&first, &last)) = self.ranges.range(..=end).next_back() {
            if last < start {
                break;
            }
            start = start.min(first);
            end = end.max(last);
            self.ranges.remove(&first);
        }
        self.ranges.insert(start, end);
    }

    /// Whether an address of `range` is in the set.
    #[must_use]
    pub fn overlaps(&self, range: GuestRange) -> bool {
        !range.is_empty()
            && self
                .ranges
                .range(..range.end().0)
                .next_back()
                .is_some_and(|(_, &end)| end > range.start().0)
    }

    /// How many separate ranges there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

impl FromIterator<GuestRange> for RangeSet {
    fn from_iter<T: IntoIterator<Item = GuestRange>>(ranges: T) -> Self {
        let mut set = Self::new();
        for range in ranges {
            set.insert(range);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::GuestAddress;

    fn range(start: u64, end: u64) -> GuestRange {
        GuestRange::new(GuestAddress(start), end - start)
    }

    #[test]
    fn ranges_that_touch_grow_together() {
        let set: RangeSet = [range(10, 20), range(30, 40), range(20, 30), range(50, 60)]
            .into_iter()
            .collect();
        assert_eq!(set.len(), 2);
        assert!(set.overlaps(range(39, 41)));
        assert!(!set.overlaps(range(40, 50)));
        assert!(!set.overlaps(range(55, 55)));
        assert!(!set.overlaps(range(60, 70)));
        assert!(set.overlaps(range(0, 100)));
    }

    /// Against a plain list of addresses, on every pair of short ranges.
    #[test]
    fn it_agrees_with_a_plain_list() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            seed >> 40
        };
        for _ in 0..200 {
            let (mut set, mut plain) = (RangeSet::new(), [false; 64]);
            for _ in 0..12 {
                let start = next() % 56;
                let added = range(start, start + next() % 8);
                set.insert(added);
                for address in added.start().0..added.end().0 {
                    plain[address as usize] = true;
                }
            }
            for start in 0..64u64 {
                for end in start..64 {
                    let expected = plain[start as usize..end as usize].contains(&true);
                    assert_eq!(
                        set.overlaps(range(start, end)),
                        expected,
                        "{set:?} at {start}..{end}"
                    );
                }
            }
        }
    }
}
