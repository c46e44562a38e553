//! The process: its name, environment, parameters and identity.

use std::{
    ffi::{CString, c_char},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use relic_macros::{guest_data, guest_fn};

use crate::{
    pointer::{In, Opaque, Out, host},
    process,
    result::{Errno, SceResult},
};

/// The program's name, without its path.
#[guest_data(libkernel)]
pub(crate) static __progname: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// The environment: the host's, as the kernel put it on the stack.
#[guest_data(libkernel)]
pub(crate) static environ: AtomicPtr<usize> = AtomicPtr::new(ptr::null_mut());

/// Fills the data exports at start-up.
pub(crate) fn set(name: &str, environment: *mut usize) {
    super::stack_protector::choose_canary();
    // The name lives as long as the process.
    let name = CString::new(name).unwrap_or_default().into_raw();
    __progname.store(name, Ordering::Release);
    environ.store(environment, Ordering::Release);
}

/// Called by C start-up code with the entry's arguments. There is nothing left to set up: `relic_start` did.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn _init_env(_arguments: Opaque) {}

/// Address of the program's parameter block, null where it has none.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetProcParam() -> *const u64 {
    host(process::program().map_or(0, |program| program.process_parameters.0))
}

/// Stores the SDK version word that the program was built with.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetCompiledSdkVersion(out: Out<u32>) -> SceResult {
    let block = sceKernelGetProcParam();
    if block.is_null() {
        return Errno::ENOENT.sce();
    }
    // SAFETY: the block has at least 0x40 bytes; the program's own SDK word is at 0x14.
    let version = unsafe { In::new(block.cast::<u32>().byte_add(0x14)) }.read();
    match version {
        Some(version) if out.write(version) => SceResult::OK,
        _ => Errno::EFAULT.sce(),
    }
}

/// The process's number.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn getpid() -> i32 {
    std::process::id().cast_signed()
}

/// Whether this is the enhanced model of the previous console: it is not.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelIsNeoMode() -> i32 {
    0
}

/// Takes the C library's allocator table. Relic's own libraries allocate on the host's heap and never call it.
#[guest_fn(libkernel, partial = "host allocations do not go through the title's table")]
pub(crate) extern "sysv64" fn sceKernelRtldSetApplicationHeapAPI(_table: Opaque) -> SceResult {
    SceResult::OK
}
