//! The page table that guest pointers are followed through: guest page to device address.
//!
//! A storage buffer of 64-bit words. The first [`DIRECTORY`] of them are one for each GiB of the guest's 48-bit address
//! space: where that GiB's leaf starts, counted in words. A leaf has [`LEAF`] words, one for each page of
//! [`PAGE_SIZE`] bytes: the page's device address. Behind the directory stands the leaf of all GiB without pages; what it holds,
//! and any other leaf where there is no page, is the device address of a page of zeros. So loads need no test: what
//! is not mapped reads 0. Stores compare with that address and drop what would go there.

use hashbrown::HashMap;
use relic_core::GuestAddress;

/// Bytes of a page.
pub const PAGE_SIZE: u64 = 1 << PAGE_BITS;
/// Words of the directory.
pub const DIRECTORY: usize = 1 << 18;
/// Words of a leaf.
pub const LEAF: usize = 1 << LEAF_BITS;

pub(crate) const PAGE_BITS: u32 = 12;
pub(crate) const LEAF_BITS: u32 = 18;

/// A page table in the making.
#[derive(Clone, Debug)]
pub struct PageTable {
    words: Vec<u64>,
    leaves: HashMap<u64, usize>,
    nothing: u64,
}

impl PageTable {
    /// A table without pages. `zeros` is the device address of [`PAGE_SIZE`] bytes that are zero and stay so.
    #[must_use]
    pub fn new(zeros: u64) -> Self {
        let mut words = vec![DIRECTORY as u64; DIRECTORY];
        words.resize(DIRECTORY + LEAF, zeros);
        Self {
            words,
            leaves: HashMap::new(),
            nothing: zeros,
        }
    }

    /// Maps `size` bytes from a guest address to a device address. Both addresses and the size are multiples of
    /// [`PAGE_SIZE`]; what does not fill a page is left out, and so is what lies above 48 bits.
    pub fn map(&mut self, guest: GuestAddress, device: u64, size: u64) {
        let first = guest.0.div_ceil(PAGE_SIZE);
        let end = (guest.0.saturating_add(size) >> PAGE_BITS).min(1 << (48 - PAGE_BITS));
        for page in first..end {
            let place = self.place(page);
            self.words[place] = device + (page << PAGE_BITS) - guest.0;
        }
    }

    /// Takes pages out again.
    pub fn unmap(&mut self, guest: GuestAddress, size: u64) {
        let end = guest
            .0
            .saturating_add(size)
            .div_ceil(PAGE_SIZE)
            .min(1 << (48 - PAGE_BITS));
        for page in guest.0 >> PAGE_BITS..end {
            if self.leaves.contains_key(&(page >> LEAF_BITS)) {
                let place = self.place(page);
                self.words[place] = self.nothing;
            }
        }
    }

    fn place(&mut self, page: u64) -> usize {
        let gib = page >> LEAF_BITS;
        let (words, nothing) = (&mut self.words, self.nothing);
        let leaf = *self.leaves.entry(gib).or_insert_with(|| {
            let start = words.len();
            words.resize(start + LEAF, nothing);
            words[gib as usize] = start as u64;
            start
        });
        leaf + (page as usize & (LEAF - 1))
    }

    /// The buffer's words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_up(table: &PageTable, address: u64) -> u64 {
        let leaf = table.words()[(address >> 30) as usize & (DIRECTORY - 1)] as usize;
        table.words()[leaf + ((address >> PAGE_BITS) as usize & (LEAF - 1))] + (address & (PAGE_SIZE - 1))
    }

    #[test]
    fn addresses_are_found_and_what_is_not_mapped_is_zeros() {
        let mut table = PageTable::new(0x5000);
        // Across the end of a GiB.
        table.map(GuestAddress(0x3fff_f000), 0x9_0000_0000, 0x2000);
        table.map(GuestAddress(0xffff_ffff_f000), 0x7000, 0x1_0000);
        for (guest, device) in [
            (0x3fff_effc, 0x5ffc),
            (0x3fff_f000, 0x9_0000_0000),
            (0x4000_0ffc, 0x9_0000_1ffc),
            (0x4000_1000, 0x5000),
            (0xffff_ffff_f010, 0x7010),
            (0, 0x5000),
        ] {
            assert_eq!(look_up(&table, guest), device, "{guest:#x}");
        }
        table.unmap(GuestAddress(0x4000_0000), 0x1000);
        assert_eq!(look_up(&table, 0x4000_0000), 0x5000);
        assert_eq!(look_up(&table, 0x3fff_f000), 0x9_0000_0000);
    }
}
