//! Evaluate: resource plans to descriptor words, in parallel chunks.

use bevy_ecs::prelude::*;
use bevy_tasks::ComputeTaskPool;
use relic_components::{
    Commands, Dispatches, Draws, QueueStatus,
    batch::{COMPUTE_USER_DATA, GRAPHICS_USER_DATA},
    work::{Captures, EvaluationChunk, Evaluations, Walk, WalkResult},
};
use relic_core::{GuestAddress, GuestMemory, MemoryReader};
use relic_recompiler::{Evaluation, Inputs, PlanMemory, evaluate};

use crate::{programs::ProgramStore, resources::Memory};

/// Guest memory as plans read it.
struct Reader(MemoryReader);

impl PlanMemory for Reader {
    fn read_u32(&self, address: GuestAddress) -> Option<u32> {
        self.0.read_u32(address).ok()
    }
}

/// A scope of tasks costs 6 to 10 µs; two chunks of walks are worth it.
const PARALLEL_CHUNKS: usize = 2;

/// Walks the plans of all rows.
pub(crate) fn evaluate_plans(
    memory: Res<Memory>,
    programs: Res<ProgramStore>,
    mut queues: Query<(
        &QueueStatus,
        &Commands,
        &Draws,
        &Dispatches,
        &Captures,
        &mut Evaluations,
    )>,
) {
    for (status, commands, draws, dispatches, captures, mut evaluations) in &mut queues {
        for chunk in &mut evaluations.chunks {
            chunk.results.clear();
        }
        if !crate::has_work(status, commands) || captures.walks.is_empty() {
            continue;
        }
        let count = captures.walks.len().div_ceil(Evaluations::CHUNK);
        if evaluations.chunks.len() < count {
            evaluations.chunks.resize_with(count, EvaluationChunk::default);
        }
        let inputs = WalkInputs {
            memory: &memory.0,
            programs: &programs,
            draws: &draws.user_data,
            dispatches: &dispatches.user_data,
        };
        let chunks = evaluations
            .chunks
            .iter_mut()
            .zip(captures.walks.chunks(Evaluations::CHUNK));
        if count < PARALLEL_CHUNKS {
            for (chunk, walks) in chunks {
                inputs.walk_chunk(walks, chunk);
            }
        } else {
            ComputeTaskPool::get().scope(|scope| {
                for (chunk, walks) in chunks {
                    let inputs = &inputs;
                    scope.spawn(async move { inputs.walk_chunk(walks, chunk) });
                }
            });
        }
    }
}

struct WalkInputs<'a> {
    memory: &'a GuestMemory,
    programs: &'a ProgramStore,
    draws: &'a [u32],
    dispatches: &'a [u32],
}

impl WalkInputs<'_> {
    fn walk_chunk(&self, walks: &[Walk], chunk: &mut EvaluationChunk) {
        relic_core::zone!("evaluate chunk");
        let reader = Reader(self.memory.reader());
        chunk.words.clear();
        chunk.flat.clear();
        chunk.reads.clear();
        chunk.results.clear();
        let mut out = Evaluation::default();
        for walk in walks {
            let result = self.walk(walk, &reader, chunk, &mut out);
            chunk.results.push(result);
        }
    }

    fn walk(
        &self,
        walk: &Walk,
        reader: &Reader,
        chunk: &mut EvaluationChunk,
        out: &mut Evaluation,
    ) -> WalkResult {
        let program = match self.programs.get(walk.program) {
            Some(Ok(program)) => program,
            Some(Err(reason)) => {
                let refusal = Some(reason.clone());
                return WalkResult {
                    refusal,
                    pending: false,
                    ..WalkResult::pending(walk.program)
                };
            }
            // The pool is at it; Prepare holds the row.
            None => return WalkResult::pending(walk.program),
        };
        let (words, count) = if walk.compute {
            (self.dispatches, COMPUTE_USER_DATA)
        } else {
            (self.draws, GRAPHICS_USER_DATA)
        };
        let first = walk.user_data as usize;
        let used = (program.stage().user_data_count() as usize).min(count);
        let inputs = Inputs {
            user_data: &words[first..first + used],
            shader_base: program.address,
            memory: reader,
        };
        let starts = (
            chunk.words.len() as u32,
            chunk.flat.len() as u32,
            chunk.reads.len() as u32,
        );
        let outcome = evaluate(program.plan(), &inputs, out);
        // What was read counts for hazards whether the walk succeeded or not.
        chunk.reads.extend_from_slice(&out.reads);
        let mut result = WalkResult {
            reads: (starts.2, chunk.reads.len() as u32),
            pending: false,
            ..WalkResult::pending(walk.program)
        };
        match outcome {
            Ok(()) => {
                chunk.words.extend_from_slice(&out.words);
                chunk.flat.extend_from_slice(&out.flat);
                result.words = (starts.0, chunk.words.len() as u32);
                result.flat = (starts.1, chunk.flat.len() as u32);
            }
            Err(error) => result.refusal = Some(format!("its resources can't be found: {error}")),
        }
        result
    }
}
