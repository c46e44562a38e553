//! Decode: PM4 to commands, draws and dispatches.
//!
//! Sequential in a queue, as each packet changes the state that the next one meets. A queue that still holds rows
//! of its last batch is left alone until they are committed.

pub(crate) mod snapshot;
pub(crate) mod walk;

pub use walk::Stop;
pub(crate) use walk::{holds, memory_satisfies};

use bevy_ecs::prelude::*;
use relic_components::{
    Accesses, Commands, Counters, Dispatches, Draws, PacketRows, Queue, QueueStatus, RegisterBanks,
    batch::Snapshots,
    queue::{CommandCursor, DecodeWait, PacketPosition, PacketState, PendingSubmissions},
    work::{InFlightWrites, PendingLabels},
};
use relic_core::{GuestAddress, MemoryReader, QueueId, SubmissionId};
use relic_schedules::{DecodeContext, PacketTable};

use crate::resources::Memory;

/// Decodes what every ready queue has, up to a wait that is not satisfied, or a packet whose decoding reads what is
/// still being written.
pub fn decode_packets(
    memory: Res<Memory>,
    table: Res<PacketTable>,
    in_flight: Res<InFlightWrites>,
    mut counters: ResMut<Counters>,
    mut queues: Query<(
        &Queue,
        &mut QueueStatus,
        &mut CommandCursor,
        &mut PendingSubmissions,
        (&mut RegisterBanks, &mut PacketState),
        (&mut Commands, &mut Accesses, &mut PacketRows),
        (&mut Draws, &mut Dispatches, &mut Snapshots),
        &mut PendingLabels,
    )>,
) {
    let reader = memory.0.reader();
    for (queue, mut status, mut cursor, mut pending, state, rows, work, mut labels) in &mut queues {
        if *status != QueueStatus::Ready || !rows.0.rows.is_empty() {
            continue;
        }
        let (mut banks, mut packet_state) = state;
        let (mut commands, mut accesses, mut columns) = rows;
        let (mut draws, mut dispatches, mut snapshots) = work;
        let (stop, packets) = walk_queue(
            queue.0,
            &table,
            &reader,
            (&mut cursor, &mut pending),
            (&mut banks, &mut packet_state),
            (&mut commands, &mut accesses, &mut columns),
            (&mut draws, &mut dispatches, &mut snapshots),
            (&mut labels, &in_flight),
        );
        counters.packets += packets;
        match stop {
            Stop::Drained => *status = QueueStatus::Idle,
            Stop::BatchFull => {}
            Stop::Wait(wait) => {
                counters.waits += u64::from(matches!(wait, DecodeWait::Memory(_)));
                // With rows in front, the batch only ends here: what they write is known once they are committed.
                counters.cuts += u64::from(wait == DecodeWait::Gpu && commands.rows.is_empty());
                commands.wait = Some(wait);
            }
            Stop::Fault(fault) => {
                // The rows before it are still committed; the queue stops when Commit gets there.
                let row = commands.rows.len();
                commands.fault = Some((row, fault));
            }
        }
    }
}

/// Decodes one queue until it must stop. Returns why, and how many packets there were.
pub fn walk_queue(
    queue: QueueId,
    table: &PacketTable,
    memory: &MemoryReader,
    (cursor, pending): (&mut CommandCursor, &mut PendingSubmissions),
    (banks, state): (&mut RegisterBanks, &mut PacketState),
    (commands, accesses, columns): (&mut Commands, &mut Accesses, &mut PacketRows),
    (draws, dispatches, snapshots): (&mut Draws, &mut Dispatches, &mut Snapshots),
    (labels, in_flight): (&mut PendingLabels, &InFlightWrites),
) -> (Stop, u64) {
    let position = PacketPosition {
        queue,
        submission: cursor
            .submission
            .as_ref()
            .map_or(SubmissionId(0), |submission| submission.id),
        buffer: GuestAddress(0),
        offset: 0,
    };
    let mut walker = walk::Walker {
        table,
        cursor,
        pending,
        commands,
        columns,
        labels,
        context: DecodeContext {
            header: 0,
            position,
            remaining: 0,
            command: 0,
            banks,
            state,
            draws,
            dispatches,
            snapshots,
            memory,
            accesses,
            in_flight,
        },
        packets: 0,
    };
    let stop = walker.run();
    (stop, walker.packets)
}
