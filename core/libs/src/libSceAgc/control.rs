//! The flow of the command stream itself.

use relic_macros::guest_fn;

use super::{
    cursor::{CommandBuffer, emit, refuse},
    packet::{
        CLEAR_STATE, COND_EXEC, INDIRECT_BUFFER, NOP, PFP_SYNC_ME, REWIND, SET_PREDICATION,
        SUB_RESET_COMPUTE_QUEUE, header, split, sub_header,
    },
};
use crate::{pointer::Out, result::SceResult};

/// Padding of so many words, the header included.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcCbNop(buffer: Out<CommandBuffer>, words: u32) -> u64 {
    let builder = "sceAgcCbNop";
    match words {
        // A NOP whose count field is all ones is one word long.
        1 => emit(buffer, &[0xffff_1000], builder),
        2..=0x4000 => {
            let mut packet = vec![0; words as usize];
            packet[0] = header(NOP, words as usize);
            emit(buffer, &packet, builder)
        }
        _ => refuse(builder, format_args!("{words} words")),
    }
}

/// Puts the graphics queue's registers back to their defaults.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbResetQueue(
    buffer: Out<CommandBuffer>,
    operation: u32,
    state: u32,
) -> u64 {
    let builder = "sceAgcDcbResetQueue";
    if operation != 0x3ff || state > 0xf {
        return refuse(builder, format_args!("operation {operation:#x}, state {state}"));
    }
    emit(buffer, &[header(CLEAR_STATE, 2), state], builder)
}

/// Puts a compute queue's registers back to their defaults.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcAcbResetQueue(buffer: Out<CommandBuffer>, _operation: u32) -> u64 {
    emit(
        buffer,
        &[sub_header(SUB_RESET_COMPUTE_QUEUE, 2), 0],
        "sceAgcAcbResetQueue",
    )
}

/// Continues in another command buffer.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbJump(
    buffer: Out<CommandBuffer>,
    mode: u8,
    cache: u8,
    target: u64,
    words: u32,
) -> u64 {
    let builder = "sceAgcDcbJump";
    if mode > 1 || cache > 3 || words > 0xf_ffff || target & 3 != 0 {
        return refuse(
            builder,
            format_args!("{words} words at {target:#x}, mode {mode}, cache policy {cache}"),
        );
    }
    let [low, high] = split(target);
    let control = 0x0f20_0000 | words | u32::from(mode) << 20 | u32::from(cache) << 28;
    emit(
        buffer,
        &[header(INDIRECT_BUFFER, 4), low, high & 0xffff, control],
        builder,
    )
}

/// Skips the next `words` words where the word at the address is 0.
#[guest_fn(libSceAgc, also = "sceAgcAcbCondExec")]
pub(crate) extern "sysv64" fn sceAgcDcbCondExec(buffer: Out<CommandBuffer>, address: u64, words: u32) -> u64 {
    let builder = "sceAgcDcbCondExec";
    if words > 0x3fff {
        return refuse(builder, format_args!("{words} words"));
    }
    let [low, high] = split(address);
    emit(buffer, &[header(COND_EXEC, 5), low & !3, high, 0, words], builder)
}

/// Begins (or with operation 0 ends) a range in which predicated packets depend on a condition.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetPredication(
    buffer: Out<CommandBuffer>,
    condition: u8,
    operation: u8,
    wait: u8,
    address: u64,
    _words: u32,
) -> u64 {
    let builder = "sceAgcDcbSetPredication";
    if operation > 7 {
        return refuse(builder, format_args!("operation {operation}"));
    }
    let [low, high] = split(address);
    let control = u32::from(condition & 1) << 8 | u32::from(wait & 1) << 12 | u32::from(operation) << 16;
    emit(
        buffer,
        &[header(SET_PREDICATION, 4), control, low & !0xf, high],
        builder,
    )
}

/// Holds the parser here until the packet's top bit is set.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbRewind(buffer: Out<CommandBuffer>, state: u32) -> u64 {
    emit(buffer, &[header(REWIND, 2), (state & 1) << 31], "sceAgcDcbRewind")
}

/// Holds the parser until the engine behind it has caught up.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbStallCommandBufferParser(buffer: Out<CommandBuffer>) -> u64 {
    emit(
        buffer,
        &[header(PFP_SYNC_ME, 2), 0],
        "sceAgcDcbStallCommandBufferParser",
    )
}

/// Lets the system suspend the program here, between submissions: it never does.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcSuspendPoint() -> SceResult {
    SceResult::OK
}
