//! Mapping, unmapping and protecting.

use relic_macros::guest_fn;

use super::space::{Backing, Placement, space};
use crate::{
    pointer::{Out, Text},
    result::{Errno, PosixResult, SceResult},
};

/// Longest name of a mapping, in bytes without the NUL.
pub(super) const NAME_LIMIT: usize = 31;

/// Maps at the address in `address` or where there is room, and stores where.
pub(super) fn map(
    address: Out<u64>,
    size: u64,
    alignment: u64,
    flags: u32,
    backing: Backing,
    protection: u32,
    name: &str,
) -> Result<(), Errno> {
    let placement = Placement {
        address: address.read().ok_or(Errno::EINVAL)?,
        size,
        alignment,
        flags,
    };
    let mapped = space().map(placement, backing, protection, name)?;
    address.write(mapped);
    Ok(())
}

fn map_direct(
    address: Out<u64>,
    size: u64,
    protection: u32,
    flags: u32,
    offset: u64,
    alignment: u64,
    name: &str,
) -> Result<(), Errno> {
    let kind = space().physical.find(offset).map_or(0, |block| block.kind);
    map(
        address,
        size,
        alignment,
        flags,
        Backing::Direct { offset, kind },
        protection,
        name,
    )
}

/// Maps direct memory.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelMapDirectMemory(
    address: Out<u64>,
    size: u64,
    protection: u32,
    flags: u32,
    offset: u64,
    alignment: u64,
) -> SceResult {
    map_direct(address, size, protection, flags, offset, alignment, "direct").into()
}

/// Maps direct memory with a name.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelMapNamedDirectMemory(
    address: Out<u64>,
    size: u64,
    protection: u32,
    flags: u32,
    offset: u64,
    alignment: u64,
    name: Text,
) -> SceResult {
    let name = name.to_text(NAME_LIMIT);
    map_direct(address, size, protection, flags, offset, alignment, &name).into()
}

/// Maps direct memory and gives it a memory type.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelMapDirectMemory2(
    address: Out<u64>,
    size: u64,
    kind: i32,
    protection: u32,
    flags: u32,
    offset: u64,
    alignment: u64,
) -> SceResult {
    if kind != -1 && !super::TYPES.contains(&kind) {
        return Errno::EINVAL.sce();
    }
    if kind == -1 {
        return map_direct(address, size, protection, flags, offset, alignment, "direct").into();
    }
    map(
        address,
        size,
        alignment,
        flags,
        Backing::Direct { offset, kind },
        protection,
        "direct",
    )
    .into()
}

/// Reserves addresses with nothing behind them.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelReserveVirtualRange(
    address: Out<u64>,
    size: u64,
    flags: u32,
    alignment: u64,
) -> SceResult {
    map(address, size, alignment, flags, Backing::Reserved, 0, "reserved").into()
}

/// Unmaps.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelMunmap(address: u64, size: u64) -> SceResult {
    space().unmap(address, size).into()
}

/// Unmaps.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn munmap(address: u64, size: u64) -> PosixResult {
    space().unmap(address, size).into()
}

/// Changes the rights of CPU and GPU.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelMprotect(address: u64, size: u64, protection: u32) -> SceResult {
    space().protect(address, size, protection, None).into()
}

/// Changes the rights of CPU and GPU.
#[guest_fn(libkernel, libScePosix)]
pub(crate) extern "sysv64" fn mprotect(address: u64, size: u64, protection: u32) -> PosixResult {
    space().protect(address, size, protection, None).into()
}

/// Changes memory type and rights.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelMtypeprotect(
    address: u64,
    size: u64,
    kind: i32,
    protection: u32,
) -> SceResult {
    if !super::TYPES.contains(&kind) {
        return Errno::EINVAL.sce();
    }
    space().protect(address, size, protection, Some(kind)).into()
}

/// Names a range, for queries and reports.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelSetVirtualRangeName(address: u64, size: u64, name: Text) -> SceResult {
    if name.is_null() {
        return Errno::EFAULT.sce();
    }
    space().rename(address, size, &name.to_text(NAME_LIMIT)).into()
}
