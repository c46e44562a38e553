//! `errno`.

use relic_macros::guest_fn;

use crate::result::errno_address;

/// Address of the calling thread's error number, FreeBSD's numbering.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn __error() -> *mut i32 {
    errno_address()
}

/// The kernel's code for an error number.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelError(errno: i32) -> crate::result::SceResult {
    if errno == 0 {
        crate::result::SceResult::OK
    } else {
        crate::result::Errno(errno).sce()
    }
}
