//! Evaluate: resource plans to descriptor words, in parallel chunks. Walks of one program stand together, so that its tape
//! runs for many of them at a time; what a tape hands back, the evaluator walks.

use std::cell::RefCell;

use bevy_ecs::prelude::*;
use bevy_tasks::ComputeTaskPool;
use relic_components::{
    Commands, Counters, Dispatches, Draws, QueueStatus,
    batch::{COMPUTE_USER_DATA, GRAPHICS_USER_DATA},
    work::{Captures, EvaluationChunk, Evaluations, Walk, WalkResult},
};
use relic_core::{GuestMemory, MemoryReader};
use relic_recompiler::{Batch, Evaluation, Inputs, Scratch, Tape, evaluate};
use smallvec::SmallVec;

use crate::{
    config::TapeUse,
    programs::{Analysed, ProgramStore},
    resources::Memory,
};

/// A scope of tasks costs 6 to 10 µs; so many chunks of walks are worth it.
const PARALLEL_CHUNKS: usize = 4;

/// What a thread needs to walk.
#[derive(Default)]
struct Workspace {
    scratch: Scratch,
    /// Results of a chunk's walks, one behind the other.
    results: Evaluation,
    /// Of one walk by the evaluator.
    single: Evaluation,
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Walks the plans of all rows.
pub(crate) fn evaluate_plans(
    memory: Res<Memory>,
    programs: Res<ProgramStore>,
    tapes: Res<TapeUse>,
    mut counters: ResMut<Counters>,
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
        let evaluations = &mut *evaluations;
        if !crate::has_work(status, commands) || captures.walks.is_empty() {
            evaluations.arrange(&[]);
            continue;
        }
        evaluations.arrange(&captures.walks);
        let count = captures.walks.len().div_ceil(Evaluations::CHUNK);
        let inputs = WalkInputs {
            memory: &memory.0,
            programs: &programs,
            draws: &draws.user_data,
            dispatches: &dispatches.user_data,
            walks: &captures.walks,
            tapes: *tapes,
        };
        let (order, chunks) = evaluations.work();
        let chunks = chunks.iter_mut().zip(order.chunks(Evaluations::CHUNK));
        if count < PARALLEL_CHUNKS {
            for (chunk, order) in chunks {
                inputs.walk_chunk(order, chunk);
            }
        } else {
            ComputeTaskPool::get().scope(|scope| {
                for (chunk, order) in chunks {
                    let inputs = &inputs;
                    scope.spawn(async move { inputs.walk_chunk(order, chunk) });
                }
            });
        }
        for chunk in &evaluations.chunks[..count] {
            counters.walks += chunk.results.len() as u64;
            counters.handed_back += chunk.handed_back;
            counters.tape_differences += chunk.differences;
        }
    }
}

struct WalkInputs<'a> {
    memory: &'a GuestMemory,
    programs: &'a ProgramStore,
    draws: &'a [u32],
    dispatches: &'a [u32],
    walks: &'a [Walk],
    tapes: TapeUse,
}

impl WalkInputs<'_> {
    /// Walks those of `order`, which are grouped by program.
    fn walk_chunk(&self, order: &[u32], chunk: &mut EvaluationChunk) {
        relic_core::zone!("evaluate chunk");
        let reader = self.memory.reader();
        chunk.clear();
        WORKSPACE.with_borrow_mut(|workspace| {
            workspace.results.clear();
            for group in order.chunk_by(|a, b| self.walk(*a).program == self.walk(*b).program) {
                let id = self.walk(group[0]).program;
                match self.programs.get(id) {
                    Some(Ok(program)) => {
                        for rows in group.chunks(Tape::MOST_ROWS) {
                            self.walk_rows(program, rows, &reader, workspace, chunk);
                        }
                    }
                    Some(Err(reason)) => chunk.results.extend(group.iter().map(|_| WalkResult {
                        refusal: Some(reason.clone()),
                        pending: false,
                        ..WalkResult::pending(id)
                    })),
                    // The pool is at it; Prepare holds the row.
                    None => chunk
                        .results
                        .extend(group.iter().map(|_| WalkResult::pending(id))),
                }
            }
            let results = &mut workspace.results;
            std::mem::swap(&mut chunk.words, &mut results.words);
            std::mem::swap(&mut chunk.flat, &mut results.flat);
            chunk.reads.extend(results.reads.iter().map(|read| read.range));
        });
    }

    fn walk(&self, index: u32) -> &Walk {
        &self.walks[index as usize]
    }

    /// Walks a program's plan for some of its draws.
    fn walk_rows(
        &self,
        program: &Analysed,
        rows: &[u32],
        reader: &MemoryReader,
        workspace: &mut Workspace,
        chunk: &mut EvaluationChunk,
    ) {
        let plan = program.plan();
        let user_data: SmallVec<[&[u32]; Tape::MOST_ROWS]> =
            rows.iter().map(|row| self.user_data(program, *row)).collect();
        let tape = program.tape().filter(|_| self.tapes != TapeUse::Off);
        let finished = tape.map_or(0, |tape| {
            let batch = Batch {
                user_data: &user_data,
                shader_base: program.address,
                memory: reader,
            };
            tape.run(plan, &batch, &mut workspace.scratch)
        });
        for (row, user_data) in user_data.iter().enumerate() {
            let Workspace {
                scratch,
                results: out,
                single,
            } = workspace;
            let from = (out.words.len(), out.flat.len(), out.reads.len());
            let tape = tape.filter(|_| finished >> row & 1 != 0);
            let mut refusal = None;
            if let Some(tape) = tape.filter(|_| self.tapes == TapeUse::On) {
                tape.words(plan, scratch, row, out);
                tape.reads(scratch, row, out);
            } else {
                let inputs = Inputs {
                    user_data,
                    shader_base: program.address,
                    memory: reader,
                };
                let outcome = evaluate(plan, &inputs, single);
                if let Some(tape) = tape {
                    let found = &mut Evaluation::default();
                    tape.words(plan, scratch, row, found);
                    tape.reads(scratch, row, found);
                    tape.uses(scratch, row, found);
                    let difference = match outcome {
                        Ok(()) => single.difference(found),
                        Err(_) => Some("refusal"),
                    };
                    if let Some(output) = difference {
                        chunk.differences += 1;
                        tracing::error!(
                            "tape and evaluator differ in {output}: program at {}, walk {}; the evaluator's result is used",
                            program.address,
                            rows[row]
                        );
                    }
                } else {
                    chunk.handed_back += u64::from(self.tapes != TapeUse::Off);
                }
                // What was read counts for hazards whether the walk came out or not.
                out.reads.extend_from_slice(&single.reads);
                match outcome {
                    Ok(()) => {
                        out.words.extend_from_slice(&single.words);
                        out.flat.extend_from_slice(&single.flat);
                    }
                    Err(error) => refusal = Some(format!("its resources can't be found: {error}")),
                }
            }
            chunk.results.push(WalkResult {
                words: (from.0 as u32, out.words.len() as u32),
                flat: (from.1 as u32, out.flat.len() as u32),
                reads: (from.2 as u32, out.reads.len() as u32),
                refusal,
                pending: false,
                ..WalkResult::pending(self.walk(rows[row]).program)
            });
        }
    }

    fn user_data(&self, program: &Analysed, walk: u32) -> &[u32] {
        let walk = self.walk(walk);
        let (words, count) = if walk.compute {
            (self.dispatches, COMPUTE_USER_DATA)
        } else {
            (self.draws, GRAPHICS_USER_DATA)
        };
        let first = walk.user_data as usize;
        let used = (program.stage().user_data_count() as usize).min(count);
        &words[first..first + used]
    }
}
