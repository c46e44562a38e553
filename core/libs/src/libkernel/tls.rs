//! General-dynamic thread-local storage: the host's own resolver serves, as the host's loader made the modules' ids.

use std::ffi::c_void;

use relic_macros::guest_fn;

/// Module and offset of a thread-local object, as the loader's relocations fill it.
#[repr(C)]
pub(crate) struct TlsIndex {
    module: u64,
    offset: u64,
}

mod loader {
    unsafe extern "C" {
        pub(super) fn __tls_get_addr(index: *const super::TlsIndex) -> *mut std::ffi::c_void;
    }
}

/// Address of a thread-local object in the calling thread.
///
/// # Safety
/// `index` must be filled by the loader's DTPMOD and DTPOFF relocations.
#[guest_fn(libkernel)]
pub(crate) unsafe extern "sysv64" fn __tls_get_addr(index: *const TlsIndex) -> *mut c_void {
    // SAFETY: forwarded contract.
    unsafe { loader::__tls_get_addr(index) }
}
