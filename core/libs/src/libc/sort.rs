//! Sorting and searching: the host's, which calls the guest's comparison directly. Its order of equal items is the host's.

forward! {
    /// Sorts items in place.
    qsort;
    /// Finds an item among sorted ones; null where there is none.
    bsearch;
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    type Compare = extern "sysv64" fn(*const c_void, *const c_void) -> i32;

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
            // SAFETY: System V is the C convention of this host.
            let (qsort, bsearch) = unsafe {
                type Sort = unsafe extern "sysv64" fn(*mut c_void, usize, usize, Compare);
                type Search = unsafe extern "sysv64" fn(
                    *const c_void,
                    *const c_void,
                    usize,
                    usize,
                    Compare,
                ) -> *mut c_void;
                let black_box = std::hint::black_box;
                (
                    std::mem::transmute::<*const (), Sort>(black_box(super::qsort as *const ())),
                    std::mem::transmute::<*const (), Search>(black_box(super::bsearch as *const ())),
                )
            };
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
