//! Markers for tools.

use relic_macros::guest_fn;

use super::{
    cursor::{CommandBuffer, emit},
    packet::{SUB_POP_MARKER, SUB_PUSH_MARKER, sub_header},
};
use crate::pointer::{Out, Text};

/// Longest text in bytes.
const LIMIT: usize = 4095;

/// Opens a named range. The colour is for the console's tools.
#[guest_fn(libSceAgc, also = "sceAgcAcbPushMarker")]
pub(crate) extern "sysv64" fn sceAgcDcbPushMarker(
    buffer: Out<CommandBuffer>,
    text: Text,
    _colour: u32,
) -> u64 {
    let mut bytes = text.bytes(LIMIT).unwrap_or_default();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let mut words = vec![sub_header(SUB_PUSH_MARKER, 1 + bytes.len() / 4)];
    words.extend(
        bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|chunk| u32::from_le_bytes(*chunk)),
    );
    emit(buffer, &words, "sceAgcDcbPushMarker")
}

/// Closes a range.
#[guest_fn(libSceAgc, also = "sceAgcAcbPopMarker")]
pub(crate) extern "sysv64" fn sceAgcDcbPopMarker(buffer: Out<CommandBuffer>) -> u64 {
    emit(buffer, &[sub_header(SUB_POP_MARKER, 2), 0], "sceAgcDcbPopMarker")
}
