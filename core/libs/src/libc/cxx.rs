//! What compiled C++ asks of its library, without exceptions.

use std::{
    ffi::c_void,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use relic_macros::guest_fn;

use super::heap;
use crate::{pointer::Out, report};

fn allocate(size: usize) -> *mut c_void {
    let memory = heap::malloc(size.max(1));
    if memory.is_null() {
        report::abort(format_args!(
            "operator new has no {size} bytes (C++ exceptions are not implemented)"
        ));
    }
    memory
}

/// `operator new(size_t)`.
#[guest_fn(
    libc,
    libSceLibcInternal,
    partial = "ends the program instead of throwing",
    also = "_Znam"
)]
pub(crate) extern "sysv64" fn _Znwm(size: usize) -> *mut c_void {
    allocate(size)
}

/// `operator delete(void *)`, in all its forms.
///
/// # Safety
/// Null, or memory of `operator new`.
#[guest_fn(libc, libSceLibcInternal, also = "_ZdaPv", also = "_ZdlPvm", also = "_ZdaPvm")]
pub(crate) unsafe extern "sysv64" fn _ZdlPv(memory: *mut c_void) {
    // SAFETY: forwarded contract.
    unsafe { heap::free(memory) };
}

/// A pure virtual function was called.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn __cxa_pure_virtual() -> ! {
    report::abort(format_args!("a pure virtual function was called"))
}

/// Serves every guard: contention on static locals is rare.
static GUARDS: Mutex<()> = Mutex::new(());
static RELEASED: Condvar = Condvar::new();

/// A guard's two bytes: initialised, and being initialised.
fn guard(place: Out<u8>) -> Option<(&'static AtomicU8, &'static AtomicU8)> {
    if place.is_null() {
        return None;
    }
    // SAFETY: the eight bytes of a guard, which compiled code reads atomically and these functions alone write.
    unsafe {
        Some((
            AtomicU8::from_ptr(place.as_ptr()),
            AtomicU8::from_ptr(place.as_ptr().wrapping_add(1)),
        ))
    }
}

/// Begins the initialisation of a static local. 1 when the caller must do it, 0 when it is done.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn __cxa_guard_acquire(place: Out<u8>) -> i32 {
    let Some((done, busy)) = guard(place) else {
        return 0;
    };
    let mut lock = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if done.load(Ordering::Acquire) != 0 {
            return 0;
        }
        if busy.load(Ordering::Relaxed) == 0 {
            busy.store(1, Ordering::Relaxed);
            return 1;
        }
        lock = RELEASED.wait(lock).unwrap_or_else(PoisonError::into_inner);
    }
}

fn release(place: Out<u8>, initialised: u8) {
    if let Some((done, busy)) = guard(place) {
        let _lock = GUARDS.lock().unwrap_or_else(PoisonError::into_inner);
        done.store(initialised, Ordering::Release);
        busy.store(0, Ordering::Relaxed);
        RELEASED.notify_all();
    }
}

/// Ends the initialisation.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn __cxa_guard_release(place: Out<u8>) {
    release(place, 1);
}

/// Gives the initialisation up.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn __cxa_guard_abort(place: Out<u8>) {
    release(place, 0);
}
