//! The heap. Errors are in the guest's `errno`.
//!
//! Blocks come from the title's own allocator where its process parameters name one, from ours otherwise
//! ([`arena`]), at addresses that fit the GPU's descriptors.

mod arena;
mod replacement;

use std::{
    ffi::c_void,
    sync::atomic::{AtomicBool, Ordering},
};

use relic_macros::guest_fn;

pub(crate) use replacement::begin;

use crate::{
    pointer::Out,
    result::{Errno, set_errno},
};

/// Whether blocks come from our allocator, which has its memory: what `malloc` and `free` look at, and nothing else.
static PLAIN: AtomicBool = AtomicBool::new(false);

/// Notes that something has changed of that.
fn look_again() {
    PLAIN.store(!replacement::is_there() && arena::is_there(), Ordering::Release);
}

fn checked(memory: *mut c_void) -> *mut c_void {
    if memory.is_null() {
        set_errno(Errno::ENOMEM);
    }
    memory
}

/// Allocates.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn malloc(size: usize) -> *mut c_void {
    if PLAIN.load(Ordering::Acquire) {
        let memory = arena::try_allocate(size);
        if !memory.is_null() {
            return memory;
        }
    }
    malloc_slowly(size)
}

#[cold]
#[inline(never)]
fn malloc_slowly(size: usize) -> *mut c_void {
    match replacement::find(|table| table.malloc) {
        // SAFETY: the title's own function.
        Some(malloc) => replacement::enter(|| unsafe { malloc(size) }),
        None => checked(arena::allocate(size)),
    }
}

/// Allocates zeroed items.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn calloc(count: usize, size: usize) -> *mut c_void {
    match replacement::find(|table| table.calloc) {
        // SAFETY: the title's own function.
        Some(calloc) => replacement::enter(|| unsafe { calloc(count, size) }),
        None => checked(arena::allocate_zeroed(count, size)),
    }
}

/// Resizes.
///
/// # Safety
/// Null, or memory of this heap.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn realloc(memory: *mut c_void, size: usize) -> *mut c_void {
    match replacement::find(|table| table.realloc).filter(|_| !arena::owns(memory)) {
        // SAFETY: the title's own function, and memory of it.
        Some(realloc) => replacement::enter(|| unsafe { realloc(memory, size) }),
        // SAFETY: forwarded contract.
        None => checked(unsafe { arena::resize(memory, size) }),
    }
}

/// Frees.
///
/// # Safety
/// Null, or memory of this heap.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn free(memory: *mut c_void) {
    if PLAIN.load(Ordering::Acquire) {
        // SAFETY: forwarded contract.
        return unsafe { arena::free(memory) };
    }
    match replacement::find(|table| table.free).filter(|_| !arena::owns(memory)) {
        // SAFETY: the title's own function, and memory of it.
        Some(free) => replacement::enter(|| unsafe { free(memory) }),
        // SAFETY: forwarded contract.
        None => unsafe { arena::free(memory) },
    }
}

/// Frees, with the size that was asked for, which is not needed.
///
/// # Safety
/// As [`free`].
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn cfree(memory: *mut c_void) {
    // SAFETY: forwarded contract.
    unsafe { free(memory) };
}

/// Allocates with an alignment.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        set_errno(Errno::EINVAL);
        return std::ptr::null_mut();
    }
    match replacement::find(|table| table.memalign) {
        // SAFETY: the title's own function.
        Some(memalign) => replacement::enter(|| unsafe { memalign(alignment, size) }),
        None => checked(arena::allocate_aligned(alignment, size)),
    }
}

/// Allocates with an alignment.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    memalign(alignment, size)
}

/// Resizes, keeping an alignment.
///
/// # Safety
/// Null, or memory of this heap.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) unsafe extern "sysv64" fn reallocalign(
    memory: *mut c_void,
    size: usize,
    alignment: usize,
) -> *mut c_void {
    if !alignment.is_power_of_two() {
        set_errno(Errno::EINVAL);
        return std::ptr::null_mut();
    }
    match replacement::find(|table| table.reallocalign).filter(|_| !arena::owns(memory)) {
        // SAFETY: the title's own function, and memory of it.
        Some(reallocalign) => replacement::enter(|| unsafe { reallocalign(memory, size, alignment) }),
        // SAFETY: forwarded contract.
        None => checked(unsafe { arena::resize_aligned(memory, alignment, size) }),
    }
}

/// Allocates with an alignment. Returns the error number.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn posix_memalign(out: Out<*mut c_void>, alignment: usize, size: usize) -> i32 {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) || out.is_null() {
        return Errno::EINVAL.0;
    }
    if let Some(posix_memalign) = replacement::find(|table| table.posix_memalign) {
        // SAFETY: the title's own function.
        return replacement::enter(|| unsafe { posix_memalign(out.as_ptr(), alignment, size) });
    }
    let memory = arena::allocate_aligned(alignment, size);
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
    match replacement::find(|table| table.usable_size).filter(|_| !arena::owns(memory)) {
        // SAFETY: the title's own function, and memory of it.
        Some(usable_size) => replacement::enter(|| unsafe { usable_size(memory) }),
        // SAFETY: forwarded contract.
        None => unsafe { arena::usable_size(memory) },
    }
}
