//! Compute dispatches.

use relic_macros::guest_fn;

use super::{
    cursor::{CommandBuffer, emit},
    packet::{DISPATCH_DIRECT, DISPATCH_INDIRECT, header, split},
};
use crate::pointer::Out;

/// The initiator: compute enabled, ordered, and what the modifier may set (thread dimensions, partial groups, tunnel,
/// wave32).
const fn initiator(modifier: u32) -> u32 {
    modifier & 0xa038 | 0x41
}

/// Dispatches thread groups.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcCbDispatch(
    buffer: Out<CommandBuffer>,
    x: u32,
    y: u32,
    z: u32,
    modifier: u32,
) -> u64 {
    emit(
        buffer,
        &[header(DISPATCH_DIRECT, 5), x, y, z, initiator(modifier)],
        "sceAgcCbDispatch",
    )
}

/// Dispatches by a record at an offset from the base, on the graphics queue.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbDispatchIndirect(
    buffer: Out<CommandBuffer>,
    offset: u32,
    modifier: u32,
) -> u64 {
    emit(
        buffer,
        &[header(DISPATCH_INDIRECT, 3), offset, initiator(modifier)],
        "sceAgcDcbDispatchIndirect",
    )
}

/// Dispatches by a record at an address, on a compute queue.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcAcbDispatchIndirect(
    buffer: Out<CommandBuffer>,
    arguments: u64,
    modifier: u32,
) -> u64 {
    let [low, high] = split(arguments);
    emit(
        buffer,
        &[header(DISPATCH_INDIRECT, 4), low, high, initiator(modifier)],
        "sceAgcAcbDispatchIndirect",
    )
}
