//! Flexible memory: anonymous pages within a budget.

use relic_macros::guest_fn;

use super::{
    FLEXIBLE_SIZE,
    map::map,
    space::{Backing, space},
};
use crate::{
    pointer::{Out, Text},
    result::{Errno, SceResult},
};

/// Maps flexible memory at, or at and above, the address stored in `address`.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelMapFlexibleMemory(
    address: Out<u64>,
    size: u64,
    protection: u32,
    flags: u32,
) -> SceResult {
    map(address, size, 0, flags, Backing::Flexible, protection, "flexible").into()
}

/// Maps flexible memory with a name.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelMapNamedFlexibleMemory(
    address: Out<u64>,
    size: u64,
    protection: u32,
    flags: u32,
    name: Text,
) -> SceResult {
    let name = name.to_text(super::map::NAME_LIMIT);
    map(address, size, 0, flags, Backing::Flexible, protection, &name).into()
}

/// Unmaps flexible memory.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelReleaseFlexibleMemory(address: u64, size: u64) -> SceResult {
    space().unmap(address, size).into()
}

/// Stores how much of the budget is left, in bytes.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelAvailableFlexibleMemorySize(out: Out<u64>) -> SceResult {
    let left = space().flexible_left();
    if out.write(left) {
        SceResult::OK
    } else {
        Errno::EINVAL.sce()
    }
}

/// Stores the budget, in bytes.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelConfiguredFlexibleMemorySize(out: Out<u64>) -> SceResult {
    if out.write(FLEXIBLE_SIZE) {
        SceResult::OK
    } else {
        Errno::EINVAL.sce()
    }
}
