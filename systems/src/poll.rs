//! Poll: waiting queues look again; finished GPU work becomes events.

use bevy_ecs::prelude::*;
use relic_components::{
    Commands, GuestEvent, Queue, QueueStatus,
    video::{FlipRequest, ReadyFlips},
    work::{Completion, Completions, InFlightWrites, PendingLabels},
};
use relic_core::MemoryReader;
use relic_schedules::PumpControl;

use crate::{
    decode::memory_satisfies,
    gpu::{Gpu, GpuTimeline, gpu_clock},
    resources::{Guest, Memory, Writes},
    settle::flip_outstanding,
};

/// What the GPU has finished: labels that landed, flips and interrupts that are due, memory that is written.
pub(crate) fn poll_gpu(
    gpu: Res<Gpu>,
    guest: Res<Guest>,
    memory: Res<Memory>,
    mut timeline: ResMut<GpuTimeline>,
    mut in_flight: ResMut<InFlightWrites>,
    mut writes: ResMut<Writes>,
    mut flips: ResMut<ReadyFlips>,
    mut control: ResMut<PumpControl>,
    mut queues: Query<(&Queue, &mut PendingLabels, &mut Completions)>,
) {
    // The waiter's message may be on its way; the device knows already.
    if let Ok(value) = gpu.device.completed() {
        timeline.completed = timeline.completed.max(value.0);
    }
    let completed = timeline.completed;
    in_flight.0.retain(|(value, range)| {
        let landed = *value <= completed;
        if landed {
            writes.0.note(*range);
        }
        !landed
    });
    for (queue, mut labels, mut completions) in &mut queues {
        if labels
            .0
            .iter()
            .any(|label| label.timeline.is_some_and(|value| value <= completed))
        {
            labels
                .0
                .retain(|label| label.timeline.is_none_or(|value| value > completed));
        }
        while let Some((value, completion)) = completions.submitted.front().copied() {
            if value > completed {
                break;
            }
            completions.submitted.pop_front();
            match completion {
                Completion::Flip(request) => {
                    flips.0.push(request);
                    control.frames += 1;
                }
                Completion::Interrupt => guest.0.deliver(&GuestEvent::EndOfPipe { queue: queue.0 }),
                Completion::Clock(address) => write_clock(&memory.0.reader(), address),
            }
        }
    }
}

fn write_clock(memory: &MemoryReader, address: relic_core::GuestAddress) {
    if let Err(error) = memory.write_u64(address, gpu_clock()) {
        // The row was checked when it was recorded; the guest has unmapped the label since.
        tracing::error!("the GPU clock can't be written: {error}");
    }
}

/// Queues whose wait is over become ready; says what the pump should do next.
pub(crate) fn poll_waits(
    memory: Res<Memory>,
    timeline: Res<GpuTimeline>,
    flips: Res<ReadyFlips>,
    mut queues: Query<(&mut QueueStatus, &PendingLabels, &Completions, &Commands)>,
) {
    let reader = memory.0.reader();
    for (mut status, labels, completions, commands) in &mut queues {
        let over = match &*status {
            QueueStatus::WaitingMemory(wait) => {
                // Rows in front of the wait go first, and while a write of the queue's own to the label is under
                // way, memory does not hold what the wait must see.
                commands.rows.is_empty()
                    && labels.0.iter().all(|label| label.address != wait.address)
                    && memory_satisfies(&reader, wait)
            }
            QueueStatus::WaitingGpu(value) => *value <= timeline.completed,
            QueueStatus::WaitingFlip(buffer) => {
                let shows = |flip: &FlipRequest| flip.handle == buffer.handle && flip.buffer == buffer.buffer;
                !flip_outstanding(completions, *buffer) && !flips.0.iter().any(shows)
            }
            _ => false,
        };
        if over {
            *status = QueueStatus::Ready;
        }
    }
}
