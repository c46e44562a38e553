//! Commit: rows become Vulkan commands, in the order of the stream.

mod recorder;

use std::ops::Range;

use bevy_ecs::prelude::*;
use relic_components::{
    Accesses, Commands, Counters, Dispatches, Draws, GuestEvent, PacketRows, PacketTypeId, Queue,
    QueueStatus,
    queue::Fault,
    work::{Captures, Completions, Evaluations, Prepared},
};
use relic_schedules::{Barrier, PacketRefusal, PacketTable, Recorder};

use self::recorder::StreamRecorder;
use crate::{
    capture::Epoch,
    gpu::Gpu,
    hazard::row_writes,
    imports::ImportStore,
    page_table::PageTableStore,
    prepare::{DrawStates, images::ImageStore, pipelines::PipelineStore},
    resources::{Faults, Guest, Memory},
    settle::{BatchWrites, GpuRecording},
};

/// Records every row in front of the cut.
pub(crate) fn commit_rows(
    gpu: Res<Gpu>,
    memory: Res<Memory>,
    epoch: Res<Epoch>,
    guest: Res<Guest>,
    table: Res<PacketTable>,
    pipelines: Res<PipelineStore>,
    mut images: ResMut<ImageStore>,
    mut imports: ResMut<ImportStore>,
    mut page_table: ResMut<PageTableStore>,
    mut recording: ResMut<GpuRecording>,
    mut counters: ResMut<Counters>,
    mut faults: ResMut<Faults>,
    mut queues: Query<(
        &Queue,
        &mut QueueStatus,
        (&mut Commands, &Accesses, &PacketRows),
        (&Draws, &Dispatches),
        (&Captures, &Evaluations, &Prepared, &DrawStates),
        (&mut Completions, &mut BatchWrites),
    )>,
) {
    let reader = memory.0.reader();
    imports.follow(&memory.0);
    for (queue, mut status, rows, work, found, outcome) in &mut queues {
        let (mut commands, accesses, columns) = rows;
        let ready = crate::has_work(&status, &commands);
        // A fault behind rows that are held waits for them.
        if !ready
            && commands
                .fault
                .as_ref()
                .is_none_or(|(row, _)| *row > commands.committed)
        {
            continue;
        }
        let (draws, dispatches) = work;
        let (captures, evaluations, prepared, states) = found;
        let (mut completions, mut writes) = outcome;
        let mut refused: Option<Box<Fault>> = None;
        let first = commands.committed;
        let cut = commands.cut;
        if ready && first < cut {
            recording.begin_queue(*queue);
            let mut recorder = StreamRecorder {
                gpu: &gpu,
                memory: &reader,
                epoch: epoch.0,
                pipelines: &pipelines,
                images: &mut images,
                imports: &mut imports,
                page_table: &mut page_table,
                recording: &mut recording,
                draws,
                dispatches,
                captures,
                evaluations,
                prepared,
                states,
                completions: &mut completions,
                counters: &mut counters,
                upload: 0,
                written: 0,
                command: 0,
            };
            if let Err((index, fault)) = record_rows(first..cut, &commands, &table, columns, &mut recorder) {
                refused = Some(fault);
                commands.cut = index;
            }
            let done = commands.cut as u32;
            let all = row_writes(&commands, accesses, prepared);
            writes.0.extend(
                all.into_iter()
                    .filter(|(row, _)| *row < done)
                    .map(|(_, range)| range),
            );
            commands.committed = commands.cut;
        }
        let committed = commands.committed;
        let due = commands
            .fault
            .take_if(|(row, _)| *row <= committed)
            .map(|(_, fault)| fault);
        if let Some(fault) = refused.or(due) {
            let dropped = commands.rows.len() - commands.committed;
            let text = format!(
                "{fault}\n  {dropped} rows behind it and everything submitted to this queue later are dropped"
            );
            tracing::error!("{text}");
            guest.0.deliver(&GuestEvent::QueueFaulted {
                queue: queue.0,
                reason: fault.to_string(),
            });
            faults.0.push(text);
            *status = QueueStatus::Faulted(fault);
            commands.committed = commands.rows.len();
        }
    }
}

/// A recorder that is told which row it records.
pub trait RowRecorder: Recorder {
    /// What follows belongs to this row.
    fn begin_row(&mut self, row: u32);

    /// What went wrong in the row beside what its packet returned.
    fn end_row(&mut self) -> Result<(), PacketRefusal>;
}

/// Records rows in the order of the stream.
///
/// # Errors
/// The first row that is refused: its index and why. Rows before it are recorded.
pub fn record_rows(
    rows: Range<usize>,
    commands: &Commands,
    table: &PacketTable,
    columns: &PacketRows,
    recorder: &mut impl RowRecorder,
) -> Result<(), (usize, Box<Fault>)> {
    for index in rows {
        let row = commands.rows[index];
        recorder.begin_row(index as u32);
        if row.packet == PacketTypeId::BARRIER {
            recorder.barrier(Barrier::Full);
            continue;
        }
        let entry = table.entry(row.packet);
        let column = &columns.columns[usize::from(row.packet.0)];
        let outcome = (entry.commit)(&**column, row.row, recorder);
        if let Err(refusal) = outcome.and(recorder.end_row()) {
            let position = commands.positions[index];
            let fault = Fault {
                position,
                packet: entry.name.to_owned(),
                reason: refusal.0,
            };
            return Err((index, Box::new(fault)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
