use std::{
    io::{Read as _, Write as _},
    ptr,
};

use super::*;
use crate::memory::{GuestMemory, HostMapping};

const BASE: u64 = 0x5100_0000;

fn range(offset: u64, size: u64) -> GuestRange {
    GuestRange::new(GuestAddress(BASE + offset), size)
}

/// Pages at [`BASE`] or wherever they fit, a tracker, and what a reader of them does.
struct Bed {
    memory: GuestMemory,
    mapping: HostMapping,
    tracker: WriteTracker,
}

impl Bed {
    /// `None` where the system tells nobody who wrote: then there is nothing to test.
    fn new(size: u64) -> Option<Self> {
        let tracker = WriteTracker::new();
        if !tracker.is_watching() {
            println!("skipped: this system does not tell who wrote memory");
            return None;
        }
        let memory = GuestMemory::new();
        let mapping = HostMapping::new(range(0, size)).unwrap();
        // SAFETY: the mapping lives as long as the memory.
        unsafe { memory.map(range(0, size), mapping.as_ptr(), true, "test") }.unwrap();
        Some(Self {
            memory,
            mapping,
            tracker,
        })
    }

    fn store(&self, offset: u64, value: u8) {
        // SAFETY: inside the mapping, and nobody else touches it.
        unsafe { self.mapping.as_ptr().add(offset as usize).write_volatile(value) };
    }

    /// An ordering point, the question, and the stamp of what would be read now.
    fn look(&mut self, range: GuestRange, since: Stamp) -> (bool, Stamp) {
        let reader = self.memory.reader();
        self.tracker.collect(&reader);
        let unchanged = self.tracker.is_unchanged(&reader, range, since);
        (unchanged, self.tracker.now())
    }
}

#[test]
fn a_store_between_ordering_points_is_seen_once() {
    let Some(mut bed) = Bed::new(4 * BLOCK) else {
        return;
    };
    let (first, second) = (range(0x100, 0x2000), range(2 * BLOCK, BLOCK));
    let (unchanged, stamp) = bed.look(first, Stamp::default());
    assert!(!unchanged, "nothing is known of memory that nobody asked about");
    bed.look(second, Stamp::default());
    let (unchanged, stamp) = bed.look(first, stamp);
    assert!(unchanged);
    bed.store(0x1000, 7);
    assert!(
        bed.tracker.is_unchanged(&bed.memory.reader(), first, stamp),
        "a store shows at the next ordering point"
    );
    let (unchanged, stamp) = bed.look(first, stamp);
    assert!(!unchanged);
    let reader = bed.memory.reader();
    assert!(
        bed.tracker.is_unchanged(&reader, second, stamp),
        "another block is untouched"
    );
    drop(reader);
    let (unchanged, stamp) = bed.look(first, stamp);
    assert!(unchanged, "the store was seen already");
    // Whoever read before the store still learns of it.
    assert!(!bed.look(first, Stamp(2)).0);
    bed.store(0x100, 8);
    assert!(!bed.look(first, stamp).0, "the page is watched again");
}

#[test]
fn ranges_over_blocks_and_regions_are_watched_whole() {
    let Some(mut bed) = Bed::new(2 * BLOCK + 0x3000) else {
        return;
    };
    // A second region shares the last block.
    let other = HostMapping::new(range(2 * BLOCK + 0x3000, BLOCK)).unwrap();
    // SAFETY: as in `Bed::new`.
    unsafe { bed.memory.map(other.guest(), other.as_ptr(), true, "next") }.unwrap();
    let all = range(0x8000, 2 * BLOCK);
    let tail = range(2 * BLOCK + 0x3000, 0x1000);
    bed.look(all, Stamp::default());
    let (_, stamp) = bed.look(tail, Stamp::default());
    let (unchanged, _) = bed.look(all, stamp);
    assert!(unchanged);
    // SAFETY: inside the second mapping.
    unsafe { other.as_ptr().write_volatile(1) };
    let (unchanged, later) = bed.look(tail, stamp);
    assert!(!unchanged);
    bed.store(2 * BLOCK + 0x10, 1);
    assert!(!bed.look(all, later).0);
}

#[test]
fn what_the_system_writes_for_a_program_is_seen() {
    let Some(mut bed) = Bed::new(BLOCK) else {
        return;
    };
    let (_, stamp) = bed.look(range(0, BLOCK), Stamp::default());
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[1, 2, 3, 4]).unwrap();
    // SAFETY: inside the mapping; nothing else refers to it meanwhile.
    let buffer = unsafe { std::slice::from_raw_parts_mut(bed.mapping.as_ptr().add(0x5000), 4) };
    reader.read_exact(buffer).unwrap();
    assert!(!bed.look(range(0x5000, 4), stamp).0);
}

#[test]
fn what_a_gpu_has_written_is_noted() {
    let Some(mut bed) = Bed::new(8 * BLOCK) else {
        return;
    };
    let last = range(7 * BLOCK, BLOCK);
    bed.look(last, Stamp::default());
    let (_, stamp) = bed.look(range(0, BLOCK), Stamp::default());
    assert!(bed.look(last, stamp).0);
    bed.tracker.note(range(7 * BLOCK + 0x100, 4));
    let (unchanged, later) = bed.look(last, stamp);
    assert!(!unchanged);
    assert!(bed.look(range(0, BLOCK), stamp).0);
    bed.tracker.note(GuestRange::new(GuestAddress(0), u64::MAX));
    assert!(!bed.look(last, later).0);
    assert!(!bed.look(range(0, BLOCK), later).0);
}

#[test]
fn regions_that_come_or_go_make_all_of_it_unknown() {
    let Some(mut bed) = Bed::new(2 * BLOCK) else {
        return;
    };
    let (_, stamp) = bed.look(range(0, BLOCK), Stamp::default());
    assert!(bed.look(range(0, BLOCK), stamp).0);
    bed.memory.unmap(range(BLOCK, BLOCK));
    let (unchanged, stamp) = bed.look(range(0, BLOCK), stamp);
    assert!(!unchanged);
    assert!(bed.look(range(0, BLOCK), stamp).0);
    assert!(
        !bed.look(range(BLOCK, BLOCK), stamp).0,
        "what is not mapped is not known"
    );
}

/// Pages that were exchanged without the region table's knowledge are unknown, not unchanged.
#[test]
fn exchanged_pages_are_unknown() {
    let Some(mut bed) = Bed::new(BLOCK) else {
        return;
    };
    let (_, stamp) = bed.look(range(0, BLOCK), Stamp::default());
    // SAFETY: fresh pages in place of the mapping's own.
    let exchanged = unsafe {
        libc::mmap(
            bed.mapping.as_ptr().cast(),
            BLOCK as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    assert_ne!(exchanged, libc::MAP_FAILED);
    let (unchanged, stamp) = bed.look(range(0, BLOCK), stamp);
    assert!(!unchanged);
    bed.store(0, 1);
    let (unchanged, stamp) = bed.look(range(0, BLOCK), stamp);
    assert!(!unchanged);
    assert!(bed.look(range(0, BLOCK), stamp).0);
}

#[test]
fn a_store_through_another_mapping_of_the_same_pages_is_seen() {
    let tracker = WriteTracker::new();
    if !tracker.is_watching() {
        println!("skipped: this system does not tell who wrote memory");
        return;
    }
    let size = 4 * BLOCK;
    // SAFETY: a constant name, and a size.
    let file = unsafe {
        let file = libc::memfd_create(c"relic-test".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0 && libc::ftruncate(file, size.cast_signed()) == 0);
        file
    };
    let map = |offset: u64| {
        // SAFETY: a new mapping at an address of the system's choice.
        let at = unsafe {
            libc::mmap(
                ptr::null_mut(),
                (size - offset) as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file,
                offset.cast_signed(),
            )
        };
        assert_ne!(at, libc::MAP_FAILED);
        at.cast::<u8>()
    };
    let (first, second) = (map(0), map(0x4000));
    let memory = GuestMemory::new();
    let ranges = [range(0, size), range(16 * BLOCK, size - 0x4000)];
    // SAFETY: both mappings stay to the end of the process.
    unsafe {
        memory
            .map_pooled(ranges[0], first, true, "first", Some(0))
            .unwrap();
        memory
            .map_pooled(ranges[1], second, true, "second", Some(0x4000))
            .unwrap();
    }
    let mut tracker = tracker;
    let reader = memory.reader();
    let texture = range(BLOCK, BLOCK);
    let look = |tracker: &mut WriteTracker, since| {
        tracker.collect(&reader);
        (tracker.is_unchanged(&reader, texture, since), tracker.now())
    };
    let (_, stamp) = look(&mut tracker, Stamp::default());
    let (unchanged, stamp) = look(&mut tracker, stamp);
    assert!(unchanged);
    // The second mapping shows the texture's first byte 0x4000 below where the first has it.
    // SAFETY: inside the mapping.
    unsafe { second.add(BLOCK as usize - 0x4000).write_volatile(1) };
    let (unchanged, stamp) = look(&mut tracker, stamp);
    assert!(!unchanged);
    // So does a GPU that writes there.
    tracker.note(range(17 * BLOCK - 0x4000, 4));
    let (unchanged, stamp) = look(&mut tracker, stamp);
    assert!(!unchanged);
    assert!(look(&mut tracker, stamp).0);
}

#[test]
fn without_the_system_every_range_counts_as_written() {
    let memory = GuestMemory::new();
    let mut words = [0u32; 16];
    let place = GuestRange::new(GuestAddress(0x1000), 64);
    // SAFETY: the words outlive the memory.
    unsafe { memory.map(place, words.as_mut_ptr().cast(), true, "test") }.unwrap();
    let mut tracker = WriteTracker::comparing();
    let reader = memory.reader();
    for _ in 0..2 {
        tracker.collect(&reader);
        let now = tracker.now();
        assert!(!tracker.is_unchanged(&reader, place, now));
    }
}

#[test]
fn runs_that_meet_become_one() {
    let run = |start, end, guest| Run { start, end, guest };
    let mut runs = Vec::new();
    for new in [
        run(0x3000, 0x4000, 0x13000),
        run(0x1000, 0x2000, 0x11000),
        run(0x2000, 0x3000, 0x12000),
        // Next to it on the host and not in the guest.
        run(0x4000, 0x5000, 0x20000),
    ] {
        insert_run(&mut runs, new);
    }
    assert_eq!(runs, [run(0x1000, 0x4000, 0x11000), run(0x4000, 0x5000, 0x20000)]);
}
