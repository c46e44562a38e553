//! The heap: the host's allocator. Errors are in the guest's `errno`.

use std::ffi::c_void;

use relic_macros::guest_fn;

use crate::{
    pointer::Out,
    result::{Errno, set_errno},
};

fn checked(memory: *mut c_void) -> *mut c_void {
    if memory.is_null() {
        set_errno(Errno::ENOMEM);
    }
    memory
}

/// Allocates.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: always allowed.
    checked(unsafe { libc::malloc(size) })
}

/// Allocates zeroed items.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: always allowed.
    checked(unsafe { libc::calloc(count, size) })
}

/// Resizes.
///
/// # Safety
/// Null, or memory of this heap.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: forwarded contract.
    checked(unsafe { libc::realloc(memory, size) })
}

/// Frees.
///
/// # Safety
/// Null, or memory of this heap.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn free(memory: *mut c_void) {
    // SAFETY: forwarded contract.
    unsafe { libc::free(memory) };
}

/// Allocates with an alignment.
#[guest_fn(libc, libSceLibcInternal, also = "aligned_alloc")]
pub(crate) extern "sysv64" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        set_errno(Errno::EINVAL);
        return std::ptr::null_mut();
    }
    // SAFETY: a power of two.
    checked(unsafe { libc::memalign(alignment, size) })
}

/// Allocates with an alignment. Returns the error number.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn posix_memalign(out: Out<*mut c_void>, alignment: usize, size: usize) -> i32 {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) || out.is_null() {
        return Errno::EINVAL.0;
    }
    // SAFETY: a power of two.
    let memory = unsafe { libc::memalign(alignment, size) };
    if memory.is_null() {
        return Errno::ENOMEM.0;
    }
    out.write(memory);
    0
}

/// Bytes that an allocation has room for.
///
/// # Safety
/// Null, or memory of this heap.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn malloc_usable_size(memory: *mut c_void) -> usize {
    // SAFETY: forwarded contract.
    unsafe { libc::malloc_usable_size(memory) }
}
