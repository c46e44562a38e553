//! Who wrote guest memory: whether a range is as it was when someone last looked.
//!
//! Memory is watched in blocks of 64 KiB, from the first question about them on. At every ordering point (the start of a
//! batch) [`WriteTracker::collect`] asks the system which pages of watched blocks the CPU has written since the last, and
//! watches them anew. So whoever reads a range behind `collect` and keeps the stamp of that moment learns later whether
//! what was read still stands. What a GPU writes does not pass through the CPU's page tables: it is noted.
//!
//! The system's part is `PAGEMAP_SCAN` with asynchronous write protection (Linux 6.7 and newer): the first store to a
//! watched page costs a fault that the kernel handles alone, all others nothing, and system calls that write are seen
//! too. Where that is not there, every range counts as written, and the reader compares. (Write protection by `mprotect`
//! would make a guest's `read` into a watched buffer fail, where a store merely faults: it is not used.)

#[cfg(target_os = "linux")]
mod pagemap;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::{MemoryReader, Region};
use crate::address::{GuestAddress, GuestRange};

/// Size of a watched block in bytes.
const BLOCK: u64 = 1 << 16;
/// What the host's pages are multiples of.
const PAGE: u64 = 4096;

/// A moment: the ordering points before it, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64);

/// What watching has come to, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackerStatistics {
    /// Blocks under watch.
    pub watched: u64,
    /// Times that a watched block was found written.
    pub written: u64,
    /// Questions to the system.
    pub scans: u64,
}

/// A watched block of guest addresses.
#[derive(Debug)]
struct Block {
    /// When it was found written last.
    written: Stamp,
    /// Blocks of other mappings that show pages of this one. `None` where it is watched for another's sake only.
    aliases: Option<SmallVec<[u64; 2]>>,
}

/// Host pages in watched blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    start: u64,
    end: u64,
    /// The guest address that `start` stands for.
    guest: u64,
}

/// See the module's text.
#[derive(Debug, Default)]
pub struct WriteTracker {
    #[cfg(target_os = "linux")]
    system: Option<pagemap::Pagemap>,
    /// By guest address over [`BLOCK`].
    blocks: HashMap<u64, Block>,
    /// What the system is asked about, in the order of host addresses.
    runs: Vec<Run>,
    /// Whether the system watches the region that begins here.
    regions: HashMap<GuestAddress, bool>,
    now: Stamp,
    /// Version of the region table that all this is about.
    version: u64,
    statistics: TrackerStatistics,
}

impl WriteTracker {
    /// A tracker with what the system offers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            system: pagemap::Pagemap::new()
                .inspect_err(|error| {
                    tracing::info!("writes to guest memory are not tracked, but found by comparing: {error}");
                })
                .ok(),
            ..Self::default()
        }
    }

    /// A tracker that watches nothing: every range counts as written.
    #[must_use]
    pub fn comparing() -> Self {
        Self::default()
    }

    /// Whether the system tells who wrote.
    #[must_use]
    pub const fn is_watching(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.system.is_some();
        #[cfg(not(target_os = "linux"))]
        return false;
    }

    /// This moment. What is read from now on is at least as new.
    #[must_use]
    pub const fn now(&self) -> Stamp {
        self.now
    }

    /// Counts.
    #[must_use]
    pub fn statistics(&self) -> TrackerStatistics {
        TrackerStatistics {
            watched: self.blocks.len() as u64,
            ..self.statistics
        }
    }

    /// An ordering point: finds what the CPU has written since the last. When regions have come or gone, everything is
    /// forgotten, and so counts as written.
    pub fn collect(&mut self, memory: &MemoryReader) {
        self.now.0 += 1;
        if self.version != memory.version() {
            self.forget();
            self.version = memory.version();
        }
        #[cfg(target_os = "linux")]
        if let Some(system) = &mut self.system {
            let (blocks, now, statistics) = (&mut self.blocks, self.now, &mut self.statistics);
            let looked = self.runs.iter().try_for_each(|run| {
                statistics.scans += 1;
                system.collect(run.start, run.end, |start, end| {
                    let guest = GuestAddress(run.guest + (start - run.start));
                    for block in blocks_of(GuestRange::new(guest, end - start)) {
                        if let Some(block) = blocks.get_mut(&block) {
                            block.written = now;
                            statistics.written += 1;
                        }
                    }
                })
            });
            if let Err(error) = looked {
                // Pages were exchanged behind the region table's back: watched anew from the next question on.
                tracing::debug!("watched memory can't be looked at, so all of it counts as written: {error}");
                self.forget();
            }
        }
    }

    fn forget(&mut self) {
        self.blocks.clear();
        self.runs.clear();
        self.regions.clear();
    }

    /// Whether `range` is what it was at `since`, a moment at which the caller read it: nothing has written it up to the
    /// last ordering point. False also where that is not known; it is watched from now on.
    pub fn is_unchanged(&mut self, memory: &MemoryReader, range: GuestRange, since: Stamp) -> bool {
        if !self.is_watching() || self.version != memory.version() {
            return false;
        }
        let mut unchanged = true;
        for number in blocks_of(range) {
            let block = self.blocks.get(&number);
            if let Some(Block {
                written,
                aliases: Some(aliases),
            }) = block
            {
                let others = aliases.iter().filter_map(|alias| self.blocks.get(alias));
                unchanged &=
                    *written <= since && others.fold(true, |all, other| all & (other.written <= since));
            } else {
                unchanged = false;
                self.watch(memory, number);
            }
        }
        unchanged
    }

    /// Notes that a GPU has written `range`.
    pub fn note(&mut self, range: GuestRange) {
        // Behind everything that was read up to now.
        let next = Stamp(self.now.0 + 1);
        let numbers = blocks_of(range);
        if numbers.end - numbers.start > self.blocks.len() as u64 {
            for (number, block) in &mut self.blocks {
                if numbers.contains(number) {
                    block.written = next;
                }
            }
            return;
        }
        for number in numbers {
            if let Some(block) = self.blocks.get_mut(&number) {
                block.written = next;
            }
        }
    }

    /// Watches a block, and all others that show the same pages.
    fn watch(&mut self, memory: &MemoryReader, number: u64) {
        let range = GuestRange::new(GuestAddress(number * BLOCK), BLOCK);
        let mut aliases = SmallVec::new();
        for region in memory.overlapping(range) {
            let part = region.part(range);
            let Some(first) = region.pool_offset(part.start()) else {
                continue;
            };
            for other in memory.regions() {
                let Some(shown) = other.pool_part(first, part.size()) else {
                    continue;
                };
                for alias in blocks_of(shown).filter(|alias| *alias != number) {
                    if self.watch_block(memory, alias, None) {
                        aliases.push(alias);
                    } else {
                        // Someone may write unseen.
                        return;
                    }
                }
            }
        }
        self.watch_block(memory, number, Some(aliases));
    }

    /// Watches one block, if the system watches every region in it. Returns whether it does.
    fn watch_block(
        &mut self,
        memory: &MemoryReader,
        number: u64,
        aliases: Option<SmallVec<[u64; 2]>>,
    ) -> bool {
        if let Some(block) = self.blocks.get_mut(&number) {
            block.aliases = block.aliases.take().or(aliases);
            return true;
        }
        let range = GuestRange::new(GuestAddress(number * BLOCK), BLOCK);
        let regions = memory.overlapping(range);
        if regions.is_empty() || !regions.iter().all(|region| self.watch_region(region)) {
            return false;
        }
        for region in regions {
            let part = region.part(range);
            let host = region.host() as u64 + (part.start().0 - region.range().start().0);
            let start = host / PAGE * PAGE;
            let run = Run {
                start,
                end: (host + part.size()).next_multiple_of(PAGE),
                guest: part.start().0 - (host - start),
            };
            #[cfg(target_os = "linux")]
            if let Some(system) = &mut self.system
                && system.collect(run.start, run.end, |_, _| ()).is_err()
            {
                return false;
            }
            insert_run(&mut self.runs, run);
        }
        let block = Block {
            written: self.now,
            aliases,
        };
        self.blocks.insert(number, block);
        true
    }

    fn watch_region(&mut self, region: &Region) -> bool {
        if let Some(watched) = self.regions.get(&region.range().start()) {
            return *watched;
        }
        let host = region.host() as u64;
        let (start, end) = (
            host / PAGE * PAGE,
            (host + region.range().size()).next_multiple_of(PAGE),
        );
        #[cfg(target_os = "linux")]
        let watched = match &self.system {
            Some(system) => match system.register(start, end) {
                Ok(()) => true,
                Err(error) => {
                    tracing::debug!(
                        "writes to {} ({}) can't be tracked: {error}",
                        region.range(),
                        region.name()
                    );
                    false
                }
            },
            None => false,
        };
        #[cfg(not(target_os = "linux"))]
        let watched = false;
        self.regions.insert(region.range().start(), watched);
        watched
    }
}

/// Numbers of the blocks that a range lies in.
fn blocks_of(range: GuestRange) -> std::ops::Range<u64> {
    range.start().0 / BLOCK..range.end().0.div_ceil(BLOCK)
}

/// Adds a run to sorted ones, together with those that it continues.
fn insert_run(runs: &mut Vec<Run>, run: Run) {
    let at = runs.partition_point(|other| other.start < run.start);
    runs.insert(at, run);
    for left in [at, at.wrapping_sub(1)] {
        if let (Some(&first), Some(&second)) = (runs.get(left), runs.get(left.wrapping_add(1)))
            && first.end >= second.start
            && second.start - first.start == second.guest.wrapping_sub(first.guest)
        {
            runs[left].end = first.end.max(second.end);
            runs.remove(left + 1);
        }
    }
}

#[cfg(test)]
mod tests;
