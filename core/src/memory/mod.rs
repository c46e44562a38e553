//! Guest memory: the only door to the bytes behind guest addresses.
//!
//! A region table answers "is this mapped, and where". It is an immutable snapshot, swapped as a whole when
//! something is mapped or unmapped, so that a reader takes no lock: [`GuestMemory::reader`] takes the current
//! snapshot, and every read goes through it. Unmapping waits until no reader of an older snapshot is left; only
//! then may the caller give the pages back. Reads outside the table are errors, never faults.
//!
//! Guest threads and the GPU write while we read. So words are copied out by relaxed atomic loads and never
//! borrowed as slices.

mod host;
mod reader;
mod tracker;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;

pub use host::{HostMapping, HostPool, MapError};
pub use reader::MemoryReader;
pub use tracker::{Stamp, TrackerStatistics, WriteTracker};

use crate::address::{GuestAddress, GuestRange};

/// One mapped region: guest addresses and the host bytes behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    range: GuestRange,
    host: usize,
    writable: bool,
    name: String,
    /// Offset of the first byte in the pool, where its pages may be mapped elsewhere too.
    pool: Option<u64>,
}

impl Region {
    /// The guest addresses.
    #[must_use]
    pub const fn range(&self) -> GuestRange {
        self.range
    }

    /// Host address of the first byte. In a running program it equals the guest address.
    #[must_use]
    pub const fn host(&self) -> usize {
        self.host
    }

    /// Whether the guest (and so the runtime on its behalf) may write here.
    #[must_use]
    pub const fn writable(&self) -> bool {
        self.writable
    }

    /// Offset of its first byte in the pool of pages, where its pages may be mapped elsewhere too.
    #[must_use]
    pub const fn pool(&self) -> Option<u64> {
        self.pool
    }

    /// What it is, for reports.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its part of `range`, which it overlaps.
    fn part(&self, range: GuestRange) -> GuestRange {
        let start = self.range.start().max(range.start());
        let end = self.range.end().min(range.end());
        GuestRange::new(start, end.0 - start.0)
    }

    /// Where in the pool the byte at `address` lies.
    fn pool_offset(&self, address: GuestAddress) -> Option<u64> {
        Some(self.pool? + (address.0 - self.range.start().0))
    }

    /// The addresses at which it shows a part of the pool.
    fn pool_part(&self, offset: u64, size: u64) -> Option<GuestRange> {
        let own = self.pool?;
        let start = offset.max(own);
        let end = (offset + size).min(own + self.range.size());
        (start < end)
            .then(|| GuestRange::new(GuestAddress(self.range.start().0 + (start - own)), end - start))
    }
}

/// Addresses that no region covers, or covers only in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("guest memory {range} is not mapped")]
pub struct Unmapped {
    /// What was asked for.
    pub range: GuestRange,
}

/// A write that can't be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// No region there.
    #[error(transparent)]
    Unmapped(#[from] Unmapped),
    /// The region is read-only.
    #[error("guest memory {range} is read-only (region {region:?})")]
    ReadOnly {
        /// What was to be written.
        range: GuestRange,
        /// Name of the region.
        region: String,
    },
}

/// A region that can't be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{new} overlaps {old}, which is mapped already ({name:?}): unmap it first")]
pub struct Overlap {
    /// The range asked for.
    pub new: GuestRange,
    /// The range in the way.
    pub old: GuestRange,
    /// Name of the region in the way.
    pub name: String,
}

/// Regions in the order of their addresses; they never overlap.
#[derive(Default, Debug)]
struct RegionTable {
    regions: Vec<Region>,
    /// Counts the tables: another number, other regions.
    version: u64,
}

impl RegionTable {
    /// Index of the region that holds `address`.
    fn find(&self, address: GuestAddress) -> Option<usize> {
        let next = self
            .regions
            .partition_point(|region| region.range.start() <= address);
        let index = next.checked_sub(1)?;
        self.regions[index].range.contains(address).then_some(index)
    }

    /// The regions with an address in `range`.
    fn overlapping(&self, range: GuestRange) -> &[Region] {
        let first = self
            .regions
            .partition_point(|region| region.range.end() <= range.start());
        let count = if range.is_empty() {
            0
        } else {
            self.regions[first..].partition_point(|region| region.range.start() < range.end())
        };
        &self.regions[first..first + count]
    }
}

/// The region table of a guest. Cheap to share behind an `Arc`; every method takes `&self`.
pub struct GuestMemory {
    table: ArcSwap<RegionTable>,
    /// Serialises editors. Readers never take it.
    editors: Mutex<()>,
    unmaps: AtomicU64,
}

impl Default for GuestMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for GuestMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.table.load().regions).finish()
    }
}

impl GuestMemory {
    /// Memory with nothing mapped.
    #[must_use]
    pub fn new() -> Self {
        Self {
            table: ArcSwap::from_pointee(RegionTable::default()),
            editors: Mutex::new(()),
            unmaps: AtomicU64::new(0),
        }
    }

    /// A reader of what is mapped now. Take one for a batch of reads and drop it soon: [`Self::unmap`] waits for
    /// it, so a thread that holds one must not unmap.
    #[must_use]
    pub fn reader(&self) -> MemoryReader {
        MemoryReader::new(self.table.load_full())
    }

    /// Adds a region.
    ///
    /// # Errors
    /// [`Overlap`] when part of the range is mapped already.
    ///
    /// # Safety
    /// `host` must point at `range.size()` bytes that stay mapped and readable (writable, if `writable`) until
    /// [`Self::unmap`] of the range has returned. Rust references to these bytes must not exist meanwhile,
    /// except to atomics.
    pub unsafe fn map(
        &self,
        range: GuestRange,
        host: *mut u8,
        writable: bool,
        name: &str,
    ) -> Result<(), Overlap> {
        // SAFETY: the caller's promise.
        unsafe { self.map_pooled(range, host, writable, name, None) }
    }

    /// Adds a region that shows the pool of pages from offset `pool` on: other regions may show the same pages.
    ///
    /// # Errors
    /// As [`Self::map`].
    ///
    /// # Safety
    /// As [`Self::map`].
    pub unsafe fn map_pooled(
        &self,
        range: GuestRange,
        host: *mut u8,
        writable: bool,
        name: &str,
        pool: Option<u64>,
    ) -> Result<(), Overlap> {
        let _editing = self.editors.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.table.load_full();
        if let Some(other) = old.overlapping(range).first() {
            return Err(Overlap {
                new: range,
                old: other.range,
                name: other.name.clone(),
            });
        }
        let at = old
            .regions
            .partition_point(|region| region.range.start() < range.start());
        let mut regions = old.regions.clone();
        regions.insert(
            at,
            Region {
                range,
                host: host.expose_provenance(),
                writable,
                name: name.to_owned(),
                pool,
            },
        );
        let version = old.version + 1;
        self.table.store(Arc::new(RegionTable { regions, version }));
        Ok(())
    }

    /// Takes `range` out of the table, splitting regions that it cuts, and waits until nobody reads by an older
    /// table. Returns how many bytes were mapped in it. Parts that were not mapped are left alone.
    pub fn unmap(&self, range: GuestRange) -> u64 {
        let touched = self.edit(range, |_| None);
        if touched > 0 {
            self.unmaps.fetch_add(1, Ordering::Release);
        }
        touched
    }

    /// How often something was unmapped: whoever keeps host addresses beyond a reader (imports) compares this.
    #[must_use]
    pub fn unmap_count(&self) -> u64 {
        self.unmaps.load(Ordering::Acquire)
    }

    /// Changes whether `range` may be written, splitting regions that it cuts. Returns how many bytes it found.
    pub fn protect(&self, range: GuestRange, writable: bool) -> u64 {
        self.edit(range, |region| Some(Region { writable, ..region }))
    }

    /// Replaces the part of every region inside `range` by what `change` makes of it.
    fn edit(&self, range: GuestRange, change: impl Fn(Region) -> Option<Region>) -> u64 {
        let editing = self.editors.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.table.load_full();
        let mut touched = 0;
        let mut regions = Vec::with_capacity(old.regions.len() + 1);
        for region in &old.regions {
            if !region.range.overlaps(range) {
                regions.push(region.clone());
                continue;
            }
            let start = region.range.start().max(range.start());
            let end = region.range.end().min(range.end());
            touched += end.0 - start.0;
            regions.extend(slice(region, region.range.start(), start));
            regions.extend(slice(region, start, end).and_then(&change));
            regions.extend(slice(region, end, region.range.end()));
        }
        let version = old.version + 1;
        self.table.store(Arc::new(RegionTable { regions, version }));
        drop(editing);
        wait_for_readers(old);
        touched
    }

    /// A copy of the regions, in the order of their addresses.
    #[must_use]
    pub fn regions(&self) -> Vec<Region> {
        self.table.load().regions.clone()
    }
}

/// The part of `region` from `start` to `end`, `None` when empty.
fn slice(region: &Region, start: GuestAddress, end: GuestAddress) -> Option<Region> {
    (start < end).then(|| Region {
        range: GuestRange::new(start, end.0 - start.0),
        host: region.host + (start.0 - region.range.start().0) as usize,
        writable: region.writable,
        name: region.name.clone(),
        pool: region.pool_offset(start),
    })
}

/// Returns once `old`, which is no longer current, is held by nobody else.
fn wait_for_readers(old: Arc<RegionTable>) {
    let mut old = old;
    for turn in 0u32.. {
        // `try_unwrap` synchronises with the readers' last use, as their drop of the Arc is a release.
        match Arc::try_unwrap(old) {
            Ok(_) => return,
            Err(shared) => old = shared,
        }
        if turn < 64 {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn words(count: usize) -> Box<[u32]> {
        (0..count as u32).collect()
    }

    fn mapped(memory: &GuestMemory, start: u64, bytes: &mut [u32], writable: bool) {
        let range = GuestRange::new(GuestAddress(start), size_of_val(bytes) as u64);
        // SAFETY: the tests keep the words alive and untouched until they drop the memory.
        unsafe { memory.map(range, bytes.as_mut_ptr().cast(), writable, "test") }.unwrap();
    }

    #[test]
    fn reads_translate_and_stop_at_the_edge() {
        let memory = GuestMemory::new();
        let mut bytes = words(1024);
        mapped(&memory, 0x10000, &mut bytes, true);
        let reader = memory.reader();
        assert_eq!(reader.read_u32(GuestAddress(0x10004)), Ok(1));
        assert_eq!(reader.read_u64(GuestAddress(0x10008)), Ok(3 << 32 | 2));
        assert_eq!(reader.read_u32(GuestAddress(0x10005)), Ok(0x0200_0000));
        assert!(reader.read_u32(GuestAddress(0x10ffd)).is_err());
        assert!(reader.read_u32(GuestAddress(0xfffc)).is_err());
        let mut out = [0; 3];
        assert_eq!(reader.read_words(GuestAddress(0x10ff4), &mut out), Ok(()));
        assert_eq!(out, [1021, 1022, 1023]);
        assert!(reader.read_words(GuestAddress(0x10ff8), &mut out).is_err());
    }

    #[test]
    fn the_version_changes_with_the_regions() {
        let memory = GuestMemory::new();
        let mut seen = vec![memory.reader().version()];
        let (mut first, mut second) = (words(4), words(4));
        mapped(&memory, 0x1000, &mut first, true);
        seen.push(memory.reader().version());
        mapped(&memory, 0x2000, &mut second, true);
        seen.push(memory.reader().version());
        memory.protect(GuestRange::new(GuestAddress(0x2000), 16), false);
        seen.push(memory.reader().version());
        memory.unmap(GuestRange::new(GuestAddress(0x1000), 16));
        seen.push(memory.reader().version());
        assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
        assert_eq!(seen.last(), Some(&memory.reader().version()));
    }

    #[test]
    fn a_range_over_two_adjacent_regions_is_mapped() {
        let memory = GuestMemory::new();
        let (mut low, mut high) = (words(4), words(4));
        mapped(&memory, 0x1000, &mut low, true);
        mapped(&memory, 0x1010, &mut high, true);
        let reader = memory.reader();
        let mut out = [9; 4];
        assert_eq!(reader.read_words(GuestAddress(0x1008), &mut out), Ok(()));
        assert_eq!(out, [2, 3, 0, 1]);
        assert!(reader.is_mapped(GuestRange::new(GuestAddress(0x1000), 32)));
        assert!(!reader.is_mapped(GuestRange::new(GuestAddress(0x1000), 33)));
    }

    #[test]
    fn overlaps_are_refused_and_unmapping_splits() {
        let memory = GuestMemory::new();
        let mut bytes = words(1024);
        mapped(&memory, 0x10000, &mut bytes, true);
        let mut other = words(4);
        // SAFETY: refused, so never read.
        let overlap = unsafe {
            memory.map(
                GuestRange::new(GuestAddress(0x10ff0), 64),
                other.as_mut_ptr().cast(),
                true,
                "late",
            )
        };
        assert!(overlap.unwrap_err().to_string().contains("0x10000..0x11000"));
        assert_eq!(memory.unmap(GuestRange::new(GuestAddress(0x10400), 0x400)), 0x400);
        let reader = memory.reader();
        assert_eq!(reader.read_u32(GuestAddress(0x103fc)), Ok(255));
        assert!(reader.read_u32(GuestAddress(0x10400)).is_err());
        assert_eq!(reader.read_u32(GuestAddress(0x10800)), Ok(512));
    }

    #[test]
    fn writes_need_a_writable_region() {
        let memory = GuestMemory::new();
        let mut bytes = words(16);
        mapped(&memory, 0x1000, &mut bytes, true);
        memory.protect(GuestRange::new(GuestAddress(0x1020), 0x20), false);
        let reader = memory.reader();
        assert_eq!(reader.write_u32(GuestAddress(0x1000), 77), Ok(()));
        assert_eq!(reader.read_u32(GuestAddress(0x1000)), Ok(77));
        assert!(matches!(
            reader.write_u32(GuestAddress(0x1020), 77),
            Err(WriteError::ReadOnly { region, .. }) if region == "test"
        ));
        assert_eq!(reader.write_bytes(GuestAddress(0x101d), &[1, 2, 3]), Ok(()));
        assert_eq!(reader.read_u32(GuestAddress(0x101c)), Ok(0x0302_0107));
        assert!(reader.write_bytes(GuestAddress(0x101e), &[1, 2, 3]).is_err());
    }

    #[test]
    fn unmapping_waits_for_readers() {
        let memory = GuestMemory::new();
        let mut bytes = words(16);
        mapped(&memory, 0x1000, &mut bytes, true);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = memory.reader();
            scope.spawn(|| {
                memory.unmap(GuestRange::new(GuestAddress(0x1000), 64));
                done.store(true, Ordering::Release);
            });
            while memory
                .reader()
                .is_mapped(GuestRange::new(GuestAddress(0x1000), 4))
            {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(5));
            assert!(
                !done.load(Ordering::Acquire),
                "unmap returned while a reader was alive"
            );
            assert_eq!(reader.read_u32(GuestAddress(0x1004)), Ok(1));
            drop(reader);
        });
        assert!(done.load(Ordering::Acquire));
    }
}
