//! What the C library asks libkernel to call at a thread's end.

use std::sync::atomic::{AtomicU64, Ordering};

use relic_macros::guest_fn;

use crate::pointer::host;

/// Address of the function that runs a thread's destructors; 0 for none.
static DESTRUCTORS: AtomicU64 = AtomicU64::new(0);

/// Sets the function that every thread calls at its end, for its `thread_local` objects.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSetThreadDtors(function: u64) {
    DESTRUCTORS.store(function, Ordering::Release);
}

/// Sets the function that counts a thread's exit handlers. libkernel calls it when a module is unloaded, which does
/// not happen here.
#[guest_fn(libkernel, partial = "never called: modules are not unloaded")]
pub(crate) extern "sysv64" fn sceKernelSetThreadAtexitCount(_function: u64) {}

/// Sets the function that reports a thread's exit handlers, for the same occasion.
#[guest_fn(libkernel, partial = "never called: modules are not unloaded")]
pub(crate) extern "sysv64" fn sceKernelSetThreadAtexitReport(_function: u64) {}

/// Runs the destructors of the calling thread's `thread_local` objects.
pub(super) fn run_destructors() {
    let function = DESTRUCTORS.load(Ordering::Acquire);
    if function != 0 {
        // SAFETY: the guest registered a function of this type.
        let function: extern "sysv64" fn() = unsafe { std::mem::transmute(host::<()>(function)) };
        function();
    }
}
