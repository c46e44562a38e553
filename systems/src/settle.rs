//! Settle: batches go to the GPU; queues whose rows are all committed are made ready for the next.

use bevy_ecs::prelude::*;
use relic_components::{
    Accesses, Commands, Counters, Dispatches, Draws, PacketRows, Queue, QueueStatus,
    batch::Snapshots,
    import::ImportedRange,
    pipeline::PipelineId,
    queue::{DecodeWait, FlippedBuffer, PendingSubmissions},
    work::{Completion, Completions, InFlightWrites, PendingLabels},
};
use relic_core::GuestRange;
use relic_schedules::PumpControl;
use relic_vulkan::{Device, Recorder, StreamBuffer, SubmitError, TimelineValue};

use crate::{
    gpu::{Gpu, GpuTimeline, Waiter},
    gpu_zones::GpuZones,
    hazard::CutReason,
    imports::ImportStore,
    prepare::pipelines::PipelineStore,
    programs::ProgramStore,
};

/// What is being recorded: one Vulkan command buffer for all queues' rows of a run.
#[derive(Resource)]
pub struct GpuRecording {
    /// The commands.
    pub recorder: Recorder,
    /// Data that live as long as the batch.
    pub stream: StreamBuffer,
    /// A full barrier is to come before the next command, be it in the next batch.
    pub barrier_due: bool,
    /// Something was recorded.
    pub dirty: bool,
    /// Times of what is recorded.
    pub zones: GpuZones,
}

impl GpuRecording {
    /// Between two queues' rows of one run: neither relies on the other, but both share images and memory.
    pub fn begin_queue(&mut self, queue: Queue) {
        if self.dirty {
            self.recorder.memory_barrier(relic_vulkan::BarrierScope::FULL);
        }
        self.zones.begin(&mut self.recorder, queue);
        self.dirty = true;
    }
}

impl GpuRecording {
    /// Sends what was recorded.
    ///
    /// # Errors
    /// As the device says.
    pub fn submit(&mut self, device: &Device) -> Result<TimelineValue, SubmitError> {
        self.dirty = false;
        self.zones.end(&mut self.recorder);
        let value = device
            .submit(&mut self.recorder)
            .inspect_err(|_| self.zones.discarded())?;
        self.zones.submitted(value.0);
        Ok(value)
    }
}

/// Guest ranges that the queue's rows of this run write.
#[derive(Component, Default, Debug)]
pub struct BatchWrites(pub Vec<GuestRange>);

/// Submits what was recorded, and notes what it will have done when the timeline gets there.
pub(crate) fn submit_batch(
    gpu: Res<Gpu>,
    waiter: Res<Waiter>,
    mut recording: ResMut<GpuRecording>,
    mut timeline: ResMut<GpuTimeline>,
    mut in_flight: ResMut<InFlightWrites>,
    mut counters: ResMut<Counters>,
    mut queues: Query<(&mut Completions, &mut PendingLabels, &mut BatchWrites, &Commands)>,
) -> Result<(), BevyError> {
    let recording = &mut *recording;
    recording.zones.poll(timeline.completed);
    if !recording.dirty {
        return Ok(());
    }
    let value = recording.submit(&gpu.device)?.0;
    timeline.submitted = value;
    counters.batches += 1;
    waiter.wait_for(value);
    for (mut completions, mut labels, mut writes, commands) in &mut queues {
        let recorded = std::mem::take(&mut completions.recorded);
        if !recorded.is_empty() || !writes.0.is_empty() || commands.committed > 0 {
            completions.last = value;
        }
        completions
            .submitted
            .extend(recorded.into_iter().map(|completion| (value, completion)));
        in_flight.0.extend(writes.0.drain(..).map(|range| (value, range)));
        // Labels of rows that are held are declared already and come with a later batch; the order of values keeps
        // them from landing early, as the batch of the last row carries them.
        if commands.committed == commands.rows.len() {
            for label in labels.0.iter_mut().filter(|label| label.timeline.is_none()) {
                label.timeline = Some(value);
            }
        }
    }
    gpu.device.collect()?;
    Ok(())
}

/// Empties batches that are committed, sets each queue's status, and tells the pump what to do next.
pub(crate) fn finish_batches(
    timeline: Res<GpuTimeline>,
    mut control: ResMut<PumpControl>,
    mut queues: Query<(
        &mut QueueStatus,
        (&mut Commands, &mut Accesses, &mut PacketRows),
        (&mut Draws, &mut Dispatches, &mut Snapshots),
        &PendingSubmissions,
        (&mut PendingLabels, &Completions),
        &CutReason,
    )>,
) {
    for (mut status, rows, work, pending, (mut labels, completions), reason) in &mut queues {
        let (mut commands, mut accesses, mut columns) = rows;
        let held = commands.committed < commands.rows.len();
        let had_rows = !commands.rows.is_empty();
        if held {
            match reason {
                CutReason::Shaders => *status = QueueStatus::WaitingShaders,
                CutReason::PendingWrite => *status = QueueStatus::WaitingGpu(timeline.submitted),
                CutReason::None => {}
            }
        } else if !commands.rows.is_empty() {
            let (mut draws, mut dispatches, mut snapshots) = work;
            clear_batch(
                (&mut commands, &mut accesses, &mut columns),
                (&mut draws, &mut dispatches, &mut snapshots),
            );
            if matches!(*status, QueueStatus::Faulted(_)) {
                labels.0.retain(|label| label.timeline.is_some());
            }
        }
        if !held
            && let Some(wait) = commands.wait.take()
            && !matches!(*status, QueueStatus::Faulted(_))
        {
            *status = match wait {
                DecodeWait::Memory(wait) => QueueStatus::WaitingMemory(wait),
                // The rows in front are submitted, and what they write is known now: the decoder looks again. Without
                // any, it has looked at all.
                DecodeWait::Gpu if had_rows || timeline.completed >= timeline.submitted => QueueStatus::Ready,
                DecodeWait::Gpu => QueueStatus::WaitingGpu(timeline.submitted),
                DecodeWait::Flip(buffer) if flip_outstanding(completions, buffer) => {
                    QueueStatus::WaitingFlip(buffer)
                }
                DecodeWait::Flip(_) => QueueStatus::Ready,
            };
        }
        match &*status {
            QueueStatus::Idle if !pending.0.is_empty() => *status = QueueStatus::Ready,
            _ => {}
        }
        let gpu_busy = !completions.submitted.is_empty();
        match &*status {
            QueueStatus::Ready => {
                control.again = true;
                control.busy = true;
            }
            QueueStatus::WaitingMemory(_) | QueueStatus::WaitingFlip(_) => {
                control.polling = true;
                control.busy = true;
            }
            QueueStatus::WaitingGpu(_) | QueueStatus::WaitingShaders => control.busy = true,
            QueueStatus::Idle | QueueStatus::Faulted(_) => control.busy |= gpu_busy,
        }
    }
    control.busy |= timeline.completed < timeline.submitted;
}

/// Whether a flip of the buffer that the queue has recorded waits for its GPU work.
pub(crate) fn flip_outstanding(completions: &Completions, buffer: FlippedBuffer) -> bool {
    let submitted = completions.submitted.iter().map(|(_, completion)| completion);
    submitted.chain(&completions.recorded).any(|completion| {
        matches!(completion, Completion::Flip(flip)
            if flip.handle == buffer.handle && flip.buffer == buffer.buffer)
    })
}

/// Empties a batch and keeps its memory.
pub fn clear_batch(
    (commands, accesses, columns): (&mut Commands, &mut Accesses, &mut PacketRows),
    (draws, dispatches, snapshots): (&mut Draws, &mut Dispatches, &mut Snapshots),
) {
    commands.rows.clear();
    commands.positions.clear();
    commands.committed = 0;
    commands.cut = 0;
    accesses.cpu_reads.clear();
    accesses.writes.clear();
    accesses.decode_reads.clear();
    for column in &mut columns.columns {
        column.clear();
    }
    draws.rows.clear();
    draws.user_data.clear();
    dispatches.rows.clear();
    dispatches.user_data.clear();
    snapshots.spare.append(&mut snapshots.states);
    snapshots.by_hash.clear();
    snapshots.newest = None;
}

/// Makes the entities that mirror the stores' new entries: programs, pipelines, imports. The last system of
/// Settle, and exclusive.
pub(crate) fn mirror_stores(world: &mut World) {
    let mirrored = *world.resource::<Mirrored>();
    let pipelines = world.resource::<PipelineStore>().len();
    for i in mirrored.pipelines..pipelines {
        world.spawn(PipelineId(i as u32));
    }
    let imports: Vec<GuestRange> = world
        .resource::<ImportStore>()
        .ranges()
        .skip(mirrored.imports)
        .collect();
    let import_count = world.resource::<ImportStore>().count();
    for range in imports {
        world.spawn(ImportedRange(range));
    }
    let programs = world.resource::<ProgramStore>().len();
    let stages = world.resource::<PipelineStore>().shaders().counts();
    {
        let mut counters = world.resource_mut::<Counters>();
        counters.programs = programs as u64;
        counters.pipelines = pipelines as u64;
        (counters.stages_kept, counters.stages_made) = stages;
    }
    *world.resource_mut::<Mirrored>() = Mirrored {
        pipelines,
        imports: import_count,
    };
}

/// How many entries of each store have entities.
#[derive(Resource, Default, Clone, Copy, Debug)]
pub struct Mirrored {
    pipelines: usize,
    imports: usize,
}
