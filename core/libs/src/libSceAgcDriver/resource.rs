//! Resource registration: for the console's debugging tools. The library of a retail console answers that it is not
//! available, and so does this one; programs take that for benign.

use relic_macros::guest_fn;

use crate::result::SceResult;

const UNAVAILABLE: SceResult = SceResult::code(0x8a6c_9018);

/// Registers an owner of resources.
#[guest_fn(libSceAgcDriver)]
pub(crate) extern "sysv64" fn sceAgcDriverRegisterOwner() -> SceResult {
    UNAVAILABLE
}

/// Registers a resource.
#[guest_fn(libSceAgcDriver)]
pub(crate) extern "sysv64" fn sceAgcDriverRegisterResource() -> SceResult {
    UNAVAILABLE
}

/// Takes a resource out.
#[guest_fn(libSceAgcDriver)]
pub(crate) extern "sysv64" fn sceAgcDriverUnregisterResource() -> SceResult {
    UNAVAILABLE
}

/// Takes an owner and its resources out.
#[guest_fn(libSceAgcDriver)]
pub(crate) extern "sysv64" fn sceAgcDriverUnregisterOwnerAndResources() -> SceResult {
    UNAVAILABLE
}
