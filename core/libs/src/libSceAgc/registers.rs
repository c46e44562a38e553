//! Setting registers.

use relic_macros::guest_fn;

use super::{
    cursor::{CommandBuffer, emit, refuse},
    packet::{
        SET_CONTEXT_REG, SET_CONTEXT_REG_INDIRECT, SET_SH_REG, SET_SH_REG_INDIRECT, SET_UCONFIG_REG,
        SET_UCONFIG_REG_INDIRECT, header, split,
    },
};
use crate::pointer::{In, Out};

/// A register and its value: 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Register {
    /// Offset in its bank, in words.
    pub(super) offset: u32,
    pub(super) value: u32,
}

/// Most registers of one list: the packet has 14 bits for them.
const LIST_LIMIT: u32 = 0x3fff;

fn indirect(buffer: Out<CommandBuffer>, opcode: u32, list: In<Register>, count: u32, builder: &str) -> u64 {
    if list.is_null() || count > LIST_LIMIT {
        return refuse(
            builder,
            format_args!("{count} registers at {:#x}", list.address()),
        );
    }
    let [low, high] = split(list.address());
    emit(
        buffer,
        &[header(opcode, 5), low, high, 0x8000_0000, count],
        builder,
    )
}

fn direct(buffer: Out<CommandBuffer>, opcode: u32, register: Register, builder: &str) -> u64 {
    emit(
        buffer,
        &[header(opcode, 3), register.offset & 0xffff, register.value],
        builder,
    )
}

/// Context registers from a list in memory, read when the packet runs.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetCxRegistersIndirect(
    buffer: Out<CommandBuffer>,
    list: In<Register>,
    count: u32,
) -> u64 {
    indirect(
        buffer,
        SET_CONTEXT_REG_INDIRECT,
        list,
        count,
        "sceAgcDcbSetCxRegistersIndirect",
    )
}

/// Shader registers from a list in memory, read when the packet runs.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetShRegistersIndirect(
    buffer: Out<CommandBuffer>,
    list: In<Register>,
    count: u32,
) -> u64 {
    indirect(
        buffer,
        SET_SH_REG_INDIRECT,
        list,
        count,
        "sceAgcDcbSetShRegistersIndirect",
    )
}

/// User-config registers from a list in memory, read when the packet runs.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetUcRegistersIndirect(
    buffer: Out<CommandBuffer>,
    list: In<Register>,
    count: u32,
) -> u64 {
    indirect(
        buffer,
        SET_UCONFIG_REG_INDIRECT,
        list,
        count,
        "sceAgcDcbSetUcRegistersIndirect",
    )
}

/// One context register.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetCxRegisterDirect(
    buffer: Out<CommandBuffer>,
    register: Register,
) -> u64 {
    direct(buffer, SET_CONTEXT_REG, register, "sceAgcDcbSetCxRegisterDirect")
}

/// One shader register.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetShRegisterDirect(
    buffer: Out<CommandBuffer>,
    register: Register,
) -> u64 {
    direct(buffer, SET_SH_REG, register, "sceAgcDcbSetShRegisterDirect")
}

/// One user-config register.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcDcbSetUcRegisterDirect(
    buffer: Out<CommandBuffer>,
    register: Register,
) -> u64 {
    direct(buffer, SET_UCONFIG_REG, register, "sceAgcDcbSetUcRegisterDirect")
}

/// Neighbouring shader registers from `offset` on. Null values reserve the space with zeros.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcCbSetShRegisterRangeDirect(
    buffer: Out<CommandBuffer>,
    offset: u32,
    values: In<u32>,
    count: u32,
) -> u64 {
    let builder = "sceAgcCbSetShRegisterRangeDirect";
    if count == 0 || offset > 0x3ff || count > 0x400 - offset {
        return refuse(builder, format_args!("{count} registers from {offset:#x}"));
    }
    let mut words = vec![header(SET_SH_REG, count as usize + 2), offset];
    words.extend(
        values
            .read_many(count as usize)
            .unwrap_or_else(|| vec![0; count as usize]),
    );
    emit(buffer, &words, builder)
}

/// Shader registers of a list: a packet for each run of neighbours. Returns the first.
#[guest_fn(libSceAgc)]
pub(crate) extern "sysv64" fn sceAgcCbSetShRegistersDirect(
    buffer: Out<CommandBuffer>,
    list: In<Register>,
    count: u32,
) -> u64 {
    let builder = "sceAgcCbSetShRegistersDirect";
    let registers = match list.read_many(count.min(LIST_LIMIT) as usize) {
        Some(registers) if count <= LIST_LIMIT && count > 0 => registers,
        _ => {
            return refuse(
                builder,
                format_args!("{count} registers at {:#x}", list.address()),
            );
        }
    };
    let mut words = Vec::new();
    for run in registers.chunk_by(|left, right| right.offset == left.offset + 1) {
        words.extend([header(SET_SH_REG, run.len() + 2), run[0].offset & 0xffff]);
        words.extend(run.iter().map(|register| register.value));
    }
    emit(buffer, &words, builder)
}
