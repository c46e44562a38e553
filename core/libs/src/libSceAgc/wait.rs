//! Waiting for labels.

use relic_macros::guest_fn;

use super::{
    cursor::{CommandBuffer, emit, refuse},
    packet::{SET_UCONFIG_REG, TAG_REGISTER, WAIT_REG_MEM, WAIT_REG_MEM64, header, split},
};
use crate::pointer::Out;

/// Words in front of the wait: a write to the tag register that says what is waited for.
pub(super) const TAG_WORDS: usize = 4;

fn wait(
    buffer: Out<CommandBuffer>,
    size: u8,
    compare: u8,
    operation: u8,
    cache: u8,
    address: u64,
    reference: u64,
    mask: u64,
    poll: u32,
    builder: &str,
) -> u64 {
    if size > 1 || compare > 7 || operation > 4 || cache > 3 {
        return refuse(
            builder,
            format_args!("size {size}, function {compare}, operation {operation}, cache policy {cache}"),
        );
    }
    let [low, high] = split(address);
    let control = u32::from(compare)
        | 0x10
        | u32::from(operation & 1) << 8
        | u32::from(operation >> 1) << 6
        | u32::from(cache) << 25;
    let tag = if size == 0 { 0xc801_0000 } else { 0xc802_0000 };
    let mut words = vec![
        header(SET_UCONFIG_REG, TAG_WORDS),
        TAG_REGISTER,
        tag | high & 0xffff,
        low,
    ];
    let ([reference, reference_high], [mask, mask_high]) = (split(reference), split(mask));
    if size == 0 {
        words.extend([
            header(WAIT_REG_MEM, 7),
            control,
            low,
            high,
            reference,
            mask,
            poll >> 4,
        ]);
    } else {
        words.extend([
            header(WAIT_REG_MEM64, 9),
            control,
            low,
            high,
            reference,
            reference_high,
            mask,
            mask_high,
            poll >> 4,
        ]);
    }
    words.extend([header(SET_UCONFIG_REG, 3), TAG_REGISTER, 0xc800_0000]);
    emit(buffer, &words, builder)
}

/// Holds the queue until a label compares as asked.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbWaitRegMem(
    buffer: Out<CommandBuffer>,
    size: u8,
    compare: u8,
    operation: u8,
    cache: u8,
    address: u64,
    reference: u64,
    mask: u64,
    poll: u32,
) -> u64 {
    let builder = "sceAgcDcbWaitRegMem";
    wait(
        buffer, size, compare, operation, cache, address, reference, mask, poll, builder,
    )
}

/// Holds a compute queue until a label compares as asked.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcAcbWaitRegMem(
    buffer: Out<CommandBuffer>,
    size: u8,
    compare: u8,
    cache: u8,
    address: u64,
    reference: u64,
    mask: u64,
    poll: u32,
) -> u64 {
    let builder = "sceAgcAcbWaitRegMem";
    wait(
        buffer, size, compare, 0, cache, address, reference, mask, poll, builder,
    )
}
