//! Commit: rows become Vulkan commands, in the order of the stream.

mod recorder;

use bevy_ecs::prelude::*;
use relic_components::{
    Accesses, Commands, Counters, Dispatches, Draws, GuestEvent, PacketRows, PacketTypeId, Queue,
    QueueStatus,
    queue::Fault,
    work::{Captures, Completions, Evaluations, Prepared},
};
use relic_schedules::{Barrier, PacketRefusal, PacketTable, Recorder as _};

use self::recorder::StreamRecorder;
use crate::{
    capture::Epoch,
    gpu::Gpu,
    hazard::row_writes,
    imports::ImportStore,
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
        let fault_due = |commands: &Commands| {
            commands
                .fault
                .as_ref()
                .is_some_and(|(row, _)| *row <= commands.cut)
        };
        if !crate::has_work(&status, &commands) && !fault_due(&commands) {
            continue;
        }
        let (draws, dispatches) = work;
        let (captures, evaluations, prepared, states) = found;
        let (mut completions, mut writes) = outcome;
        let mut refused: Option<Box<Fault>> = None;
        let first = commands.committed;
        let cut = commands.cut;
        if first < cut {
            recording.begin_queue();
            let mut recorder = StreamRecorder {
                gpu: &gpu,
                memory: &reader,
                epoch: epoch.0,
                pipelines: &pipelines,
                images: &mut images,
                imports: &mut imports,
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
                command: 0,
            };
            for index in first..cut {
                let row = commands.rows[index];
                recorder.command = index as u32;
                if row.packet == PacketTypeId::BARRIER {
                    recorder.barrier(Barrier::Full);
                    continue;
                }
                let entry = table.entry(row.packet);
                let column = &columns.columns[usize::from(row.packet.0)];
                let outcome = (entry.commit)(&**column, row.row, &mut recorder);
                // The recorder keeps its first error and records nothing more until it is taken.
                let vulkan = recorder.recording.recorder.take_error();
                let vulkan = vulkan.map_or(Ok(()), |error| Err(PacketRefusal(error.to_string())));
                if let Err(refusal) = outcome.and(vulkan) {
                    refused = Some(Box::new(Fault {
                        position: commands.positions[index],
                        packet: entry.name.to_owned(),
                        reason: refusal.0,
                    }));
                    commands.cut = index;
                    break;
                }
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
