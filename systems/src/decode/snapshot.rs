//! Rows of draws and dispatches, with the registers as they stand.

use relic_components::batch::{
    COMPUTE_USER_DATA, Dispatch, Draw, DrawSource, GRAPHICS_USER_DATA, Snapshots, StateSnapshot,
};
use relic_components::{
    RegisterBanks,
    registers::{CONTEXT_REGISTERS, SHADER_REGISTERS},
};
use relic_core::GuestAddress;
use relic_schedules::{DecodeContext, PacketRefusal};

use crate::registers::{context, shader, user_config};

/// PRIMGEN_EN in VGT_SHADER_STAGES_EN: the vertex program is a merged one, whose user data are GS registers.
pub(crate) const PRIMGEN_ENABLE: u32 = 1 << 13;

/// Adds a draw with the current state. Returns its index.
pub(crate) fn push_draw(decode: &mut DecodeContext<'_>, source: DrawSource) -> u32 {
    let instances = decode.state.instances;
    push_instances(decode, source, instances)
}

/// Adds a draw of so many instances. Returns its index.
pub(crate) fn push_instances(decode: &mut DecodeContext<'_>, source: DrawSource, instances: u32) -> u32 {
    let state = snapshot(decode.snapshots, decode.banks);
    let banks = &*decode.banks;
    let merged = banks.context[context::VGT_SHADER_STAGES_EN] & PRIMGEN_ENABLE != 0;
    let vertex = if merged {
        shader::SPI_SHADER_USER_DATA_GS_0
    } else {
        shader::SPI_SHADER_USER_DATA_VS_0
    };
    let words = &mut decode.draws.user_data;
    let vertex_user_data = words.len() as u32;
    words.extend_from_slice(&banks.shader[vertex..vertex + GRAPHICS_USER_DATA]);
    let pixel_user_data = words.len() as u32;
    let pixel = shader::SPI_SHADER_USER_DATA_PS_0;
    words.extend_from_slice(&banks.shader[pixel..pixel + GRAPHICS_USER_DATA]);
    decode.draws.rows.push(Draw {
        command: decode.command,
        state,
        vertex_user_data,
        pixel_user_data,
        source,
        instances,
    });
    decode.draws.rows.len() as u32 - 1
}

// Fields of the dispatch initiator.
const COMPUTE_ENABLE: u32 = 1;
const FORCE_START_AT_000: u32 = 1 << 2;
const USE_THREAD_DIMENSIONS: u32 = 1 << 5;

/// Where a dispatch has its size from.
pub(crate) enum Groups {
    /// The packet: groups, or threads where the initiator says so.
    Counts([u32; 3]),
    /// Three words that the GPU reads.
    InMemory(GuestAddress),
}

/// Adds a dispatch with the current state. Returns its index.
pub(crate) fn push_dispatch(
    decode: &mut DecodeContext<'_>,
    groups: Groups,
    initiator: u32,
) -> Result<u32, PacketRefusal> {
    if initiator & COMPUTE_ENABLE == 0 {
        return Err(PacketRefusal(format!(
            "initiator {initiator:#x} does not enable compute"
        )));
    }
    let banks = &*decode.banks;
    let start = &banks.shader[shader::COMPUTE_START_X..shader::COMPUTE_START_X + 3];
    if initiator & FORCE_START_AT_000 == 0 && start.iter().any(|first| *first != 0) {
        return Err(PacketRefusal(format!(
            "a grid that starts at {start:?} is not executed"
        )));
    }
    let (mut groups, arguments) = match groups {
        Groups::Counts(counts) => (counts, None),
        Groups::InMemory(address) => ([1; 3], Some(address)),
    };
    if initiator & USE_THREAD_DIMENSIONS != 0 {
        if arguments.is_some() {
            return Err(PacketRefusal(format!(
                "initiator {initiator:#x} counts threads, and the counts are read by the GPU"
            )));
        }
        for (axis, count) in groups.iter_mut().enumerate() {
            let threads = banks.shader[shader::COMPUTE_NUM_THREAD_X + axis] & 0xFFFF;
            if !count.is_multiple_of(threads.max(1)) {
                return Err(PacketRefusal(format!(
                    "{count} threads are no whole number of groups of {threads}: partial groups are not executed"
                )));
            }
            *count /= threads.max(1);
        }
    }
    let state = snapshot(decode.snapshots, decode.banks);
    let words = &mut decode.dispatches.user_data;
    let user_data = words.len() as u32;
    let first = shader::COMPUTE_USER_DATA_0;
    words.extend_from_slice(&decode.banks.shader[first..first + COMPUTE_USER_DATA]);
    decode.dispatches.rows.push(Dispatch {
        command: decode.command,
        state,
        user_data,
        groups,
        arguments,
        initiator,
    });
    Ok(decode.dispatches.rows.len() as u32 - 1)
}

/// User data in the shader bank, which draws and dispatches copy by themselves: first register and count.
pub(crate) const USER_DATA: [(usize, usize); 4] = [
    (shader::SPI_SHADER_USER_DATA_PS_0, 32),
    (shader::SPI_SHADER_USER_DATA_VS_0, 32),
    (shader::SPI_SHADER_USER_DATA_GS_0, 32),
    (shader::COMPUTE_USER_DATA_0, 16),
];

/// Index of a copy of the registers: the newest where nothing but user data has changed since, or one that is the same.
fn snapshot(snapshots: &mut Snapshots, banks: &RegisterBanks) -> u32 {
    if let Some((generation, index)) = snapshots.newest
        && generation == banks.generation
    {
        return index;
    }
    let index = match snapshots.by_hash.get(&banks.hash) {
        Some(&index) => {
            // Comparing all registers took a quarter of the time of decoding; two states of one hash of 128 bits are
            // not expected to be met.
            debug_assert!(is_of(&snapshots.states[index as usize], banks));
            index
        }
        None => take(snapshots, banks),
    };
    snapshots.newest = Some((banks.generation, index));
    index
}

/// The registers of the user-config bank that a snapshot has.
fn user_config(banks: &RegisterBanks) -> [u32; 3] {
    [
        user_config::VGT_PRIMITIVE_TYPE,
        user_config::GE_INDX_OFFSET,
        user_config::GE_MULTI_PRIM_IB_RESET_EN,
    ]
    .map(|register| banks.user_config[register])
}

/// Whether a snapshot has the banks' state. Debug builds check it.
fn is_of(state: &StateSnapshot, banks: &RegisterBanks) -> bool {
    let mut start = 0;
    let ends = USER_DATA
        .iter()
        .map(|(first, _)| *first)
        .chain([SHADER_REGISTERS]);
    let next = USER_DATA.iter().map(|(first, count)| first + count).chain([0]);
    for (end, after) in ends.zip(next) {
        if state.shader[start..end] != banks.shader[start..end] {
            return false;
        }
        start = after;
    }
    state.context == banks.context
        && [state.primitive_type, state.index_offset, state.restart] == user_config(banks)
}

/// Copies the registers.
fn take(snapshots: &mut Snapshots, banks: &RegisterBanks) -> u32 {
    let mut state = snapshots.spare.pop().unwrap_or_else(|| StateSnapshot {
        context: Box::new([0; CONTEXT_REGISTERS]),
        shader: Box::new([0; SHADER_REGISTERS]),
        primitive_type: 0,
        index_offset: 0,
        restart: 0,
    });
    state.context.copy_from_slice(&banks.context[..]);
    state.shader.copy_from_slice(&banks.shader[..]);
    [state.primitive_type, state.index_offset, state.restart] = user_config(banks);
    let index = snapshots.states.len() as u32;
    snapshots.states.push(state);
    snapshots.by_hash.insert(banks.hash, index);
    index
}
