//! Sorting and searching.

use std::ffi::c_void;

use relic_macros::guest_fn;

use crate::pointer::host;

type Compare = extern "sysv64" fn(*const c_void, *const c_void) -> i32;

/// Sorts `count` items of `size` bytes: a heap sort in place, so that a comparison that unwinds or contradicts
/// itself leaves every item there once.
///
/// # Safety
/// `base` must hold the items, and nobody else use them meanwhile.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn qsort(base: *mut u8, count: usize, size: usize, compare: Compare) {
    if count < 2 || size == 0 {
        return;
    }
    let item = |index: usize| base.wrapping_add(index * size);
    // SAFETY: indices stay below `count`, and two different items do not overlap.
    let swap = |a: usize, b: usize| unsafe { std::ptr::swap_nonoverlapping(item(a), item(b), size) };
    let sift = |start: usize, end: usize| {
        let mut root = start;
        while 2 * root + 1 < end {
            let mut child = 2 * root + 1;
            if child + 1 < end && compare(item(child).cast(), item(child + 1).cast()) < 0 {
                child += 1;
            }
            if compare(item(root).cast(), item(child).cast()) >= 0 {
                return;
            }
            swap(root, child);
            root = child;
        }
    };
    for start in (0..count / 2).rev() {
        sift(start, count);
    }
    for end in (1..count).rev() {
        swap(0, end);
        sift(0, end);
    }
}

/// Finds an item in `count` sorted items of `size` bytes; null where there is none.
///
/// # Safety
/// `base` must hold the items.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn bsearch(
    key: *const c_void,
    base: *const u8,
    count: usize,
    size: usize,
    compare: Compare,
) -> *mut c_void {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        let item = base.wrapping_add(middle * size);
        match compare(key, item.cast()) {
            0 => return host(crate::pointer::address_of(item)),
            order if order < 0 => high = middle,
            _ => low = middle + 1,
        }
    }
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "sysv64" fn by_value(a: *const c_void, b: *const c_void) -> i32 {
        // SAFETY: the tests sort 12-byte items that begin with a number.
        unsafe {
            a.cast::<u32>()
                .read_unaligned()
                .cmp(&b.cast::<u32>().read_unaligned()) as i32
        }
    }

    #[test]
    fn items_are_sorted_whole_and_found() {
        for count in [0usize, 1, 2, 3, 10, 257] {
            let mut items: Vec<[u32; 3]> = (0..count as u32)
                .map(|i| {
                    let value = i.wrapping_mul(2_654_435_761) % 1000;
                    [value, value ^ 0xffff, i]
                })
                .collect();
            let mut expected: Vec<u32> = items.iter().map(|item| item[0]).collect();
            expected.sort_unstable();
            // SAFETY: the items are ours.
            unsafe { qsort(items.as_mut_ptr().cast(), count, 12, by_value) };
            assert_eq!(items.iter().map(|item| item[0]).collect::<Vec<_>>(), expected);
            assert!(items.iter().all(|item| item[1] == item[0] ^ 0xffff));
            for key in [expected.first().copied().unwrap_or(5), 5000] {
                // SAFETY: the items are ours.
                let found = unsafe {
                    bsearch(
                        (&raw const key).cast(),
                        items.as_ptr().cast(),
                        count,
                        12,
                        by_value,
                    )
                };
                assert_eq!(found.is_null(), !expected.contains(&key));
            }
        }
    }
}
