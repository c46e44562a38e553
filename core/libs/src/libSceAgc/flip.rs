//! Flips in command buffers.

use relic_macros::guest_fn;

use super::{
    cursor::{CommandBuffer, emit},
    packet::{FLIP_HEADER, FLIP_WORDS, NOP, SUB_WAIT_FLIP_DONE, header, split, sub_header},
};
use crate::pointer::Out;

/// Words that the console's library reserves for a flip.
pub(super) const FLIP_RESERVATION: usize = 64;
/// Words that it reserves for the wait.
pub(super) const WAIT_RESERVATION: usize = 32;

/// Fills a packet up to the console's length by a NOP.
fn padded(packet: &[u32], words: usize) -> Vec<u32> {
    let mut padded = packet.to_vec();
    padded.push(header(NOP, words - packet.len()));
    padded.resize(words, 0);
    padded
}

/// Asks for a flip once everything before it is done.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetFlip(
    buffer: Out<CommandBuffer>,
    handle: u32,
    index: i32,
    mode: u32,
    argument: i64,
) -> u64 {
    let [low, high] = split(argument.cast_unsigned());
    let packet: [u32; FLIP_WORDS] = [FLIP_HEADER, handle, index.cast_unsigned(), mode, low, high];
    emit(buffer, &padded(&packet, FLIP_RESERVATION), "sceAgcDcbSetFlip")
}

/// Holds the queue until a buffer is no longer on screen.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbWaitUntilSafeForRendering(
    buffer: Out<CommandBuffer>,
    handle: u32,
    index: u32,
) -> u64 {
    let packet = [sub_header(SUB_WAIT_FLIP_DONE, 4), handle, index, 0];
    emit(
        buffer,
        &padded(&packet, WAIT_RESERVATION),
        "sceAgcDcbWaitUntilSafeForRendering",
    )
}
