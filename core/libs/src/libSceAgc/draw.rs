//! Draws and what they read from the queue's state.

use relic_macros::guest_fn;

use super::{
    cursor::{CommandBuffer, emit, refuse},
    packet::{
        DRAW_INDEX_2, DRAW_INDEX_AUTO, DRAW_INDEX_INDIRECT, DRAW_INDEX_OFFSET_2, DRAW_INDIRECT, INDEX_BASE,
        INDEX_BUFFER_SIZE, NUM_INSTANCES, SET_BASE, SET_UCONFIG_REG_INDEX, header, split,
    },
};
use crate::pointer::Out;

/// The 64-bit argument of draw builders: where the command processor stores what a draw starts at.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct DrawModifier(u64);

/// A location that nothing is stored to.
const NOWHERE: u32 = 0x280;

impl DrawModifier {
    /// SH register of user data in field `shift`, if `enable` says so.
    const fn location(self, enable: u32, shift: u32) -> u32 {
        if self.0 >> enable & 1 == 0 {
            return NOWHERE;
        }
        let base = match self.0 >> 29 & 7 {
            // The hull stage comes first.
            3 | 5 => 0x10c,
            _ => 0x8c,
        };
        base + (self.0 >> shift & 31) as u32
    }

    const fn vertex_offset(self) -> u32 {
        self.location(0, 9)
    }

    const fn start_instance(self) -> u32 {
        self.location(2, 19)
    }

    /// The draw initiator: index source, and what the modifier adds.
    const fn initiator(self, source: u32) -> u32 {
        let not_eop = (self.0 >> 8 & 1 == 1 && self.0 >> 32 & 1 == 0) as u32;
        source | not_eop << 5 | ((self.0 >> 5 & 7) as u32) << 29
    }
}

/// Indices come from memory.
const FROM_MEMORY: u32 = 0;
/// Indices count up by themselves.
const AUTOMATIC: u32 = 2;

/// Width of indices: 0 16 bits, 1 32 bits, 2 8 bits.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetIndexSize(buffer: Out<CommandBuffer>, size: u8, cache: u8) -> u64 {
    let builder = "sceAgcDcbSetIndexSize";
    if size > 2 || cache > 3 {
        return refuse(builder, format_args!("index size {size}, cache policy {cache}"));
    }
    let value = 0x400 | u32::from(size) | u32::from(cache) << 6;
    emit(
        buffer,
        &[header(SET_UCONFIG_REG_INDEX, 3), 0x2000_0243, value],
        builder,
    )
}

/// Address of the indices.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetIndexBuffer(buffer: Out<CommandBuffer>, address: u64) -> u64 {
    let [low, high] = split(address);
    emit(
        buffer,
        &[header(INDEX_BASE, 3), low & !1, high & 0xffff],
        "sceAgcDcbSetIndexBuffer",
    )
}

/// How many indices there are.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetIndexCount(buffer: Out<CommandBuffer>, count: u32) -> u64 {
    emit(
        buffer,
        &[header(INDEX_BUFFER_SIZE, 2), count],
        "sceAgcDcbSetIndexCount",
    )
}

/// Instances of the draws that follow.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetNumInstances(buffer: Out<CommandBuffer>, count: u32) -> u64 {
    emit(
        buffer,
        &[header(NUM_INSTANCES, 2), count],
        "sceAgcDcbSetNumInstances",
    )
}

/// Draws without indices.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbDrawIndexAuto(
    buffer: Out<CommandBuffer>,
    count: u32,
    modifier: DrawModifier,
) -> u64 {
    let words = [header(DRAW_INDEX_AUTO, 3), count, modifier.initiator(AUTOMATIC)];
    emit(buffer, &words, "sceAgcDcbDrawIndexAuto")
}

/// Draws with the indices at an address.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbDrawIndex(
    buffer: Out<CommandBuffer>,
    count: u32,
    indices: u64,
    modifier: DrawModifier,
) -> u64 {
    let [low, high] = split(indices);
    let initiator = modifier.initiator(FROM_MEMORY);
    let words = [
        header(DRAW_INDEX_2, 6),
        count,
        low & !1,
        high & 0xffff,
        count,
        initiator,
    ];
    emit(buffer, &words, "sceAgcDcbDrawIndex")
}

/// Draws with indices of the index buffer, from the `first`th on.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbDrawIndexOffset(
    buffer: Out<CommandBuffer>,
    first: u32,
    count: u32,
    modifier: DrawModifier,
) -> u64 {
    let initiator = modifier.initiator(FROM_MEMORY);
    // The command processor clamps to the index buffer's size; the packet's own limit covers the range.
    let words = [
        header(DRAW_INDEX_OFFSET_2, 5),
        first.saturating_add(count),
        first,
        count,
        initiator,
    ];
    emit(buffer, &words, "sceAgcDcbDrawIndexOffset")
}

fn indirect(
    buffer: Out<CommandBuffer>,
    opcode: u32,
    offset: u32,
    modifier: DrawModifier,
    source: u32,
    builder: &str,
) -> u64 {
    let words = [
        header(opcode, 5),
        offset,
        modifier.vertex_offset(),
        modifier.start_instance(),
        modifier.initiator(source),
    ];
    emit(buffer, &words, builder)
}

/// Draws without indices, by a record in memory.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbDrawIndirect(
    buffer: Out<CommandBuffer>,
    offset: u32,
    modifier: DrawModifier,
) -> u64 {
    indirect(
        buffer,
        DRAW_INDIRECT,
        offset,
        modifier,
        AUTOMATIC,
        "sceAgcDcbDrawIndirect",
    )
}

/// Draws with indices, by a record in memory.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbDrawIndexIndirect(
    buffer: Out<CommandBuffer>,
    offset: u32,
    modifier: DrawModifier,
) -> u64 {
    indirect(
        buffer,
        DRAW_INDEX_INDIRECT,
        offset,
        modifier,
        FROM_MEMORY,
        "sceAgcDcbDrawIndexIndirect",
    )
}

/// Base address of argument records: of draws (stage 0) or dispatches (stage 1).
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetBaseIndirectArgs(
    buffer: Out<CommandBuffer>,
    stage: u32,
    address: u64,
) -> u64 {
    let builder = "sceAgcDcbSetBaseIndirectArgs";
    if stage > 1 {
        return refuse(builder, format_args!("shader type {stage}"));
    }
    let [low, high] = split(address);
    emit(
        buffer,
        &[header(SET_BASE, 4) | stage << 1, 1, low & !7, high & 0xffff],
        builder,
    )
}
