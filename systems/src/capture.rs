//! Capture: which programs each draw and dispatch runs, and which walks find their resources.

use bevy_ecs::prelude::*;
use relic_components::{
    Commands, Counters, Dispatches, Draws, Queue, QueueStatus,
    batch::{Snapshots, StateSnapshot},
    shader::ProgramId,
    work::{Captures, Walk},
};
use relic_core::GuestAddress;
use relic_recompiler::{Dialect, StageRegisters, scratch_dwords};

use crate::{
    decode::snapshot::PRIMGEN_ENABLE,
    gpu::Gpu,
    programs::{ProgramKey, ProgramStore},
    registers::{context, shader},
    resources::{Looks, Memory, Writes},
    shader_pool::ShaderPool,
};

/// Programs of a draw's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphicsPrograms {
    /// Vertex stage.
    pub vertex: Option<ProgramId>,
    /// Pixel stage; none where nothing is to be shaded.
    pub pixel: Option<ProgramId>,
}

/// What is known of each register snapshot of the batch.
#[derive(Component, Default, Debug)]
pub struct StatePrograms {
    /// For draws: programs, or why the state can't be drawn with.
    pub graphics: Vec<Option<Result<GraphicsPrograms, String>>>,
    /// For dispatches.
    pub compute: Vec<Option<Result<ProgramId, String>>>,
}

/// Number of the Submit run: what was checked in this run need not be checked again.
#[derive(Resource, Default, Debug)]
pub struct Epoch(pub u64);

/// Marks a draw's missing stage.
pub const NO_WALK: u32 = u32::MAX;

/// Finds the programs of all rows, and lists the walks.
pub(crate) fn capture_rows(
    memory: Res<Memory>,
    gpu: Res<Gpu>,
    pool: Res<ShaderPool>,
    mut epoch: ResMut<Epoch>,
    mut writes: ResMut<Writes>,
    mut counters: ResMut<Counters>,
    mut programs: ResMut<ProgramStore>,
    mut queues: Query<(
        &Queue,
        &QueueStatus,
        &Commands,
        (&Draws, &Dispatches, &Snapshots),
        &mut Captures,
        &mut StatePrograms,
    )>,
) {
    let reader = memory.0.reader();
    epoch.0 += 1;
    if queues
        .iter()
        .any(|(_, status, commands, ..)| crate::has_work(status, commands))
    {
        writes.0.collect(&reader);
    }
    let mut looks = Looks {
        memory: &reader,
        writes: &mut writes.0,
        epoch: epoch.0,
        compared: 0,
    };
    for (_, status, commands, (draws, dispatches, snapshots), mut captures, mut states) in &mut queues {
        captures.walks.clear();
        captures.draws.clear();
        captures.dispatches.clear();
        if !crate::has_work(status, commands) {
            continue;
        }
        states.graphics.clear();
        states.graphics.resize(snapshots.states.len(), None);
        states.compute.clear();
        states.compute.resize(snapshots.states.len(), None);
        let mut find = |key: &ProgramKey| programs.find_or_start(key, &mut looks, &pool, &gpu.profile);
        for draw in &draws.rows {
            if (draw.command as usize) < commands.committed {
                captures.draws.push([NO_WALK; 2]);
                continue;
            }
            let index = draw.state as usize;
            let known = states.graphics[index]
                .get_or_insert_with(|| graphics_programs(&snapshots.states[index], &mut find));
            let mut walks = [NO_WALK; 2];
            if let Ok(stages) = known {
                let user_data = [draw.vertex_user_data, draw.pixel_user_data];
                for (i, program) in [stages.vertex, stages.pixel].into_iter().enumerate() {
                    let Some(program) = program else { continue };
                    walks[i] = captures.walks.len() as u32;
                    let walk = Walk {
                        program,
                        user_data: user_data[i],
                        compute: false,
                        command: draw.command,
                    };
                    captures.walks.push(walk);
                }
            }
            captures.draws.push(walks);
        }
        for dispatch in &dispatches.rows {
            if (dispatch.command as usize) < commands.committed {
                captures.dispatches.push(NO_WALK);
                continue;
            }
            let index = dispatch.state as usize;
            let known = states.compute[index].get_or_insert_with(|| {
                compute_key(&snapshots.states[index], dispatch.initiator).and_then(|key| find(&key))
            });
            let walk = match known {
                Ok(program) => {
                    captures.walks.push(Walk {
                        program: *program,
                        user_data: dispatch.user_data,
                        compute: true,
                        command: dispatch.command,
                    });
                    captures.walks.len() as u32 - 1
                }
                Err(_) => NO_WALK,
            };
            captures.dispatches.push(walk);
        }
    }
    counters.compared += looks.compared;
}

fn graphics_programs(
    state: &StateSnapshot,
    find: &mut impl FnMut(&ProgramKey) -> Result<ProgramId, String>,
) -> Result<GraphicsPrograms, String> {
    let vertex = Some(find(&vertex_key(state)?)?);
    let pixel = pixel_key(state).map(|key| find(&key)).transpose()?;
    Ok(GraphicsPrograms { vertex, pixel })
}

/// A program's address from its LO and HI registers: in units of 256 bytes.
fn program_address(registers: &[u32], low: usize) -> GuestAddress {
    GuestAddress(u64::from(registers[low]) << 8 | u64::from(registers[low + 1] & 0xFF) << 40)
}

// Fields of VGT_SHADER_STAGES_EN.
const LS_HS_ENABLE: u32 = 0b111;
const GS_ENABLE: u32 = 1 << 5;
const GS_WAVE32: u32 = 1 << 22;
const VS_WAVE32: u32 = 1 << 23;

/// The vertex program of a state.
///
/// # Errors
/// When the state asks for stages that Relic does not run.
pub fn vertex_key(state: &StateSnapshot) -> Result<ProgramKey, String> {
    let registers = &state.context;
    let stages = registers[context::VGT_SHADER_STAGES_EN];
    if stages & LS_HS_ENABLE != 0 {
        return Err(format!(
            "VGT_SHADER_STAGES_EN {stages:#x} enables tessellation, which Relic does not run yet"
        ));
    }
    let merged = stages & PRIMGEN_ENABLE != 0;
    if stages & GS_ENABLE != 0 && !merged {
        return Err(format!(
            "VGT_SHADER_STAGES_EN {stages:#x} enables a legacy geometry stage, which does not exist on this chip"
        ));
    }
    let (program, rsrc1, rsrc2) = if merged {
        (
            shader::SPI_SHADER_PGM_LO_ES,
            shader::SPI_SHADER_PGM_RSRC1_GS,
            shader::SPI_SHADER_PGM_RSRC2_GS,
        )
    } else {
        (
            shader::SPI_SHADER_PGM_LO_VS,
            shader::SPI_SHADER_PGM_RSRC1_VS,
            shader::SPI_SHADER_PGM_RSRC2_VS,
        )
    };
    let wave32 = stages & if merged { GS_WAVE32 } else { VS_WAVE32 } != 0;
    Ok(ProgramKey {
        address: program_address(&state.shader[..], program),
        stage: StageRegisters::Vertex {
            rsrc1: state.shader[rsrc1],
            rsrc2: state.shader[rsrc2],
            merged,
            pos_format: registers[context::SPI_SHADER_POS_FORMAT],
            vs_out_cntl: registers[context::PA_CL_VS_OUT_CNTL],
            vs_out_config: registers[context::SPI_VS_OUT_CONFIG],
            wave32,
            scratch: scratch_dwords(registers[context::SPI_TMPRING_SIZE], state.shader[rsrc2], wave32),
        },
        dialect: Dialect::Gfx1013,
    })
}

/// The pixel program of a state; `None` where no program is bound.
#[must_use]
pub fn pixel_key(state: &StateSnapshot) -> Option<ProgramKey> {
    let registers = &state.context;
    let address = program_address(&state.shader[..], shader::SPI_SHADER_PGM_LO_PS);
    if address == GuestAddress(0) {
        return None;
    }
    let in_control = registers[context::SPI_PS_IN_CONTROL];
    let mut input_cntl = [0; 32];
    // Entries beyond the interpolants in use hold what earlier programs left.
    let inputs = (in_control & 63).min(32) as usize;
    let first = context::SPI_PS_INPUT_CNTL_0;
    input_cntl[..inputs].copy_from_slice(&registers[first..first + inputs]);
    let rsrc2 = state.shader[shader::SPI_SHADER_PGM_RSRC2_PS];
    let wave32 = in_control >> 15 & 1 != 0;
    Some(ProgramKey {
        address,
        stage: StageRegisters::Pixel {
            rsrc1: state.shader[shader::SPI_SHADER_PGM_RSRC1_PS],
            rsrc2,
            input_ena: registers[context::SPI_PS_INPUT_ENA],
            input_addr: registers[context::SPI_PS_INPUT_ADDR],
            in_control,
            input_cntl,
            col_format: registers[context::SPI_SHADER_COL_FORMAT],
            z_format: registers[context::SPI_SHADER_Z_FORMAT],
            shader_mask: registers[context::CB_SHADER_MASK],
            db_shader_control: registers[context::DB_SHADER_CONTROL],
            wave32,
            scratch: scratch_dwords(registers[context::SPI_TMPRING_SIZE], rsrc2, wave32),
        },
        dialect: Dialect::Gfx1013,
    })
}

/// CS_W32_EN in the dispatch initiator.
const COMPUTE_WAVE32: u32 = 1 << 15;

/// The compute program of a state, for a dispatch with this initiator word.
///
/// # Errors
/// When its groups have no threads.
pub fn compute_key(state: &StateSnapshot, initiator: u32) -> Result<ProgramKey, String> {
    let registers = &state.shader;
    let threads = &registers[shader::COMPUTE_NUM_THREAD_X..shader::COMPUTE_NUM_THREAD_X + 3];
    let num_thread = [threads[0] & 0xFFFF, threads[1] & 0xFFFF, threads[2] & 0xFFFF];
    if num_thread.contains(&0) {
        return Err(format!(
            "COMPUTE_NUM_THREAD is {num_thread:?}: a group without threads"
        ));
    }
    let rsrc2 = registers[shader::COMPUTE_PGM_RSRC2];
    let wave32 = initiator & COMPUTE_WAVE32 != 0;
    Ok(ProgramKey {
        address: program_address(&registers[..], shader::COMPUTE_PGM_LO),
        stage: StageRegisters::Compute {
            rsrc1: registers[shader::COMPUTE_PGM_RSRC1],
            rsrc2,
            rsrc3: registers[shader::COMPUTE_PGM_RSRC3],
            num_thread,
            wave32,
            scratch: scratch_dwords(registers[shader::COMPUTE_TMPRING_SIZE], rsrc2, wave32),
        },
        dialect: Dialect::Gfx1013,
    })
}
