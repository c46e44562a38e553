//! The stack protector's canary.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering},
};

use relic_macros::{guest_data, guest_fn};

use crate::{log::Line, report};

/// The canary that programs compare with. Filled at start-up.
#[guest_data(libkernel)]
pub(crate) static __stack_chk_guard: AtomicU64 = AtomicU64::new(0);

/// Picks the canary. The lowest byte is 0, so that no string can carry it.
pub(crate) fn choose_canary() {
    let mut bytes = [0u8; 8];
    // SAFETY: room for eight bytes; a failure leaves zeros, which still catch most overruns.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    __stack_chk_guard.store(u64::from_le_bytes(bytes) & !0xff, Ordering::Relaxed);
}

/// Ends the program: a function found its canary changed.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn __stack_chk_fail() -> ! {
    let mut what = Line::<128>::new();
    // Writing to a `Line` never fails.
    let _ = what.write_str("stack smashing detected: a function wrote past a local array (__stack_chk_fail)");
    report::end_with(
        128 + libc::SIGABRT,
        &what,
        None,
        "the program overran a buffer on its stack",
    )
}
