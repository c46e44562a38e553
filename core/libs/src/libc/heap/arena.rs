//! Our allocator: mimalloc, which gets all its memory as large ranges below 2^40 and never asks the host for more.

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use libmimalloc_sys as mi;

use crate::libkernel::memory::map_heap;

/// Alignment of a range, and the granularity of its size: mimalloc's segment.
const SEGMENT: usize = 32 << 20;
/// Size of the first range. Every further one is twice as large, up to the last size; pages come when they are touched.
const FIRST_RANGE: usize = 64 << 20;
const LAST_RANGE: usize = 4 << 30;

/// mimalloc's options, by their place in its enumeration: what the bindings have no names for.
const PURGE_DELAY: c_int = 15;
const ARENA_RESERVE: c_int = 23;
const RETRY_ON_OOM: c_int = 28;

/// All ranges: from the lowest address to behind the highest.
static LOW: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// How many ranges there are.
static RANGES: Mutex<u32> = Mutex::new(0);

/// Whether memory came from here.
pub(super) fn owns(memory: *const c_void) -> bool {
    (LOW.load(Ordering::Relaxed)..HIGH.load(Ordering::Relaxed)).contains(&memory.addr())
}

/// Gives mimalloc another range, with room for `size` bytes, unless another thread did so since there were `seen` ranges.
/// False where there are no addresses left.
#[cold]
fn grow(size: usize, seen: u32) -> bool {
    let mut ranges = RANGES.lock().unwrap_or_else(PoisonError::into_inner);
    if *ranges != seen {
        return true;
    }
    if *ranges == 0 {
        // SAFETY: options may be set at any time.
        unsafe {
            mi::mi_option_set(mi::mi_option_limit_os_alloc, 1);
            mi::mi_option_set(ARENA_RESERVE, 0);
            mi::mi_option_set(RETRY_ON_OOM, 0);
            // Pages are never given back: a GPU driver that has imported them would go on with the old ones.
            mi::mi_option_set(PURGE_DELAY, -1);
        }
    }
    let usual = FIRST_RANGE
        .checked_shl(*ranges)
        .unwrap_or(0)
        .clamp(FIRST_RANGE, LAST_RANGE);
    let Some(room) = size
        .checked_add(2 * SEGMENT)
        .map(|size| size.max(usual))
        .and_then(|size| size.checked_next_multiple_of(SEGMENT))
    else {
        return false;
    };
    let start = map_heap(room, SEGMENT as u64);
    if start.is_null() {
        return false;
    }
    let mut id = 0;
    // SAFETY: fresh pages of ours, zeroed by the host, which stay for good.
    let taken = unsafe { mi::mi_manage_os_memory_ex(start, room, true, false, true, -1, false, &raw mut id) };
    *ranges += 1;
    LOW.fetch_min(start.addr(), Ordering::Relaxed);
    HIGH.fetch_max(start.addr() + room, Ordering::Release);
    super::look_again();
    taken
}

/// Tries, and tries again with another range.
#[inline]
fn with_room(size: usize, mut allocate: impl FnMut() -> *mut c_void) -> *mut c_void {
    // Before mimalloc has heard where its memory comes from, it would ask the host.
    if HIGH.load(Ordering::Acquire) == 0 && !grow(size, 0) {
        return ptr::null_mut();
    }
    loop {
        let memory = allocate();
        if !memory.is_null() {
            return memory;
        }
        let seen = *RANGES.lock().unwrap_or_else(PoisonError::into_inner);
        let retried = allocate();
        if !retried.is_null() {
            return retried;
        }
        if size > isize::MAX as usize || !grow(size, seen) {
            return ptr::null_mut();
        }
    }
}

/// Whether there is memory at all yet.
pub(super) fn is_there() -> bool {
    HIGH.load(Ordering::Acquire) != 0
}

/// Allocates from what is there. Only once something is.
#[inline(always)]
pub(super) fn try_allocate(size: usize) -> *mut c_void {
    // SAFETY: always allowed.
    unsafe { mi::mi_malloc(size) }
}

#[inline]
pub(super) fn allocate(size: usize) -> *mut c_void {
    // SAFETY: always allowed.
    with_room(size, || unsafe { mi::mi_malloc(size) })
}

pub(super) fn allocate_zeroed(count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: always allowed.
        Some(total) => with_room(total, || unsafe { mi::mi_zalloc(total) }),
        None => ptr::null_mut(),
    }
}

/// `alignment` must be a power of two.
pub(super) fn allocate_aligned(alignment: usize, size: usize) -> *mut c_void {
    // mimalloc asks the host itself for alignments of half a segment and more.
    if alignment > SEGMENT / 4 {
        return ptr::null_mut();
    }
    // SAFETY: a power of two.
    with_room(size.saturating_add(alignment), || unsafe {
        mi::mi_malloc_aligned(size, alignment)
    })
}

/// # Safety
/// Null, or memory of this allocator.
pub(super) unsafe fn resize(memory: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: forwarded contract; memory that can't be resized stays as it is.
    with_room(size, || unsafe { mi::mi_realloc(memory, size) })
}

/// # Safety
/// Null, or memory of this allocator; `alignment` must be a power of two.
pub(super) unsafe fn resize_aligned(memory: *mut c_void, alignment: usize, size: usize) -> *mut c_void {
    if alignment > SEGMENT / 4 {
        return ptr::null_mut();
    }
    // SAFETY: as in `resize`.
    with_room(size.saturating_add(alignment), || unsafe {
        mi::mi_realloc_aligned(memory, size, alignment)
    })
}

/// # Safety
/// Null, or memory of this allocator.
#[inline]
pub(super) unsafe fn free(memory: *mut c_void) {
    // SAFETY: forwarded contract.
    unsafe { mi::mi_free(memory) };
}

/// # Safety
/// Null, or memory of this allocator.
pub(super) unsafe fn usable_size(memory: *const c_void) -> usize {
    // SAFETY: forwarded contract.
    unsafe { mi::mi_usable_size(memory) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_low_aligned_and_kept_apart() {
        let blocks: Vec<*mut c_void> = [1, 16, 100, 5000, 1 << 20, 40 << 20, 300 << 20]
            .into_iter()
            .map(|size| {
                let block = allocate(size);
                assert!(owns(block), "{size}");
                assert!(block.addr() + size < 1 << 40, "{block:p}");
                // SAFETY: a block of this size.
                unsafe {
                    assert!(usable_size(block) >= size);
                    block.cast::<u8>().write(size as u8);
                    block.cast::<u8>().add(size - 1).write(size as u8);
                }
                block
            })
            .collect();
        for alignment in [16, 256, 4096, 0x4000, 1 << 20] {
            let block = allocate_aligned(alignment, 100);
            assert!(block.addr().is_multiple_of(alignment) && owns(block));
            // SAFETY: a block of this allocator.
            unsafe { free(block) };
        }
        assert!(allocate(usize::MAX - 4096).is_null());
        assert!(allocate_zeroed(usize::MAX, 2).is_null());
        assert!(allocate_aligned(1 << 40, 1).is_null());
        for block in blocks {
            // SAFETY: blocks of this allocator, used no more.
            unsafe { free(block) };
        }
        assert!(!owns((&raw const LOW).cast()));
    }

    #[test]
    fn blocks_are_freed_by_other_threads() {
        let blocks: Vec<usize> = (0..1000)
            .map(|i| allocate(64 + i % 7 * 100).expose_provenance())
            .collect();
        std::thread::spawn(move || {
            for block in blocks {
                // SAFETY: blocks of this allocator, used no more.
                unsafe { free(ptr::with_exposed_provenance_mut(block)) };
            }
        })
        .join()
        .unwrap();
        let zeroed = allocate_zeroed(100, 100);
        // SAFETY: a block of 10,000 bytes.
        assert!((0..10_000).all(|i| unsafe { zeroed.cast::<u8>().add(i).read() } == 0));
    }
}
