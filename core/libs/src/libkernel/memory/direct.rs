//! Allocating, releasing and describing direct memory.

use relic_macros::guest_fn;

use super::{DIRECT_SIZE, space::space};
use crate::{
    pointer::Out,
    result::{Errno, SceResult},
};

fn limits(from: i64, to: i64) -> Result<(u64, u64), Errno> {
    match (u64::try_from(from), u64::try_from(to)) {
        (Ok(from), Ok(to)) if from < to => Ok((from, to)),
        _ => Err(Errno::EINVAL),
    }
}

fn allocate(from: i64, to: i64, size: u64, alignment: u64, kind: i32, out: Out<u64>) -> Result<(), Errno> {
    if out.is_null() {
        return Err(Errno::EINVAL);
    }
    let (from, to) = limits(from, to)?;
    let offset = space().physical.allocate(from, to, size, alignment, kind)?;
    out.write(offset);
    Ok(())
}

/// Size of the pool in bytes.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelGetDirectMemorySize() -> u64 {
    DIRECT_SIZE
}

/// Allocates physical pages in a range of offsets. EAGAIN when none are free.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelAllocateDirectMemory(
    from: i64,
    to: i64,
    size: u64,
    alignment: u64,
    kind: i32,
    out: Out<u64>,
) -> SceResult {
    allocate(from, to, size, alignment, kind, out).into()
}

/// Allocates physical pages anywhere in the pool.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelAllocateMainDirectMemory(
    size: u64,
    alignment: u64,
    kind: i32,
    out: Out<u64>,
) -> SceResult {
    allocate(0, DIRECT_SIZE.cast_signed(), size, alignment, kind, out).into()
}

/// Gives physical pages back, and unmaps them.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelReleaseDirectMemory(offset: u64, size: u64) -> SceResult {
    space().release(offset, size).into()
}

/// Gives physical pages back; ENOENT where some are not allocated.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelCheckedReleaseDirectMemory(offset: u64, size: u64) -> SceResult {
    let mut space = space();
    if space.physical.holds(offset, size) {
        space.release(offset, size).into()
    } else {
        Errno::ENOENT.sce()
    }
}

/// The largest free run in a range of offsets.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelAvailableDirectMemorySize(
    from: i64,
    to: i64,
    alignment: u64,
    out_offset: Out<u64>,
    out_size: Out<u64>,
) -> SceResult {
    limits(from, to)
        .and_then(|(from, to)| space().physical.largest(from, to, alignment))
        .map(|(offset, size)| {
            out_offset.write(offset);
            out_size.write(size);
        })
        .into()
}

/// What `sceKernelDirectMemoryQuery` stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct DirectMemoryInfo {
    start: u64,
    end: u64,
    kind: i32,
}

/// Query flag: the next block where there is none at the offset.
const FIND_NEXT: i32 = 1;

/// Describes the allocated block at an offset.
#[guest_fn(libkernel)]
pub(crate) extern "sysv64" fn sceKernelDirectMemoryQuery(
    offset: u64,
    flags: i32,
    out: Out<DirectMemoryInfo>,
    size: u64,
) -> SceResult {
    if size < size_of::<DirectMemoryInfo>() as u64 || flags & !FIND_NEXT != 0 {
        return Errno::EINVAL.sce();
    }
    let space = space();
    let block = if flags & FIND_NEXT != 0 {
        space.physical.find_next(offset)
    } else {
        space.physical.find(offset)
    };
    match block {
        Some(block) => {
            let info = DirectMemoryInfo {
                start: block.start,
                end: block.end,
                kind: block.kind,
            };
            if out.write(info) {
                SceResult::OK
            } else {
                Errno::EFAULT.sce()
            }
        }
        None => Errno::EACCES.sce(),
    }
}
