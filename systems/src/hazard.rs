//! Hazard: the first row whose CPU reads meet memory that the GPU is still to write cuts the batch.
//!
//! Capture is optimistic: it reads what memory holds. Where earlier rows of the batch, or batches that the GPU has
//! not finished, write what a row's descriptors, argument records or textures were read from, the row and all
//! behind it are held until that has landed, and are captured again.

use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use relic_components::{
    Accesses, Commands, Counters, Dispatches, Draws, Fault, QueueStatus,
    work::{Captures, Evaluations, InFlightWrites, Prepared},
};
use relic_core::{GuestRange, RangeSet};

/// Why a batch is cut, for the status that its queue takes after Commit.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CutReason {
    /// It is not cut.
    #[default]
    None,
    /// The shader pool is at work for the row.
    Shaders,
    /// The row reads what the GPU is still to write.
    PendingWrite,
}

/// Cuts every batch where it must be cut.
pub(crate) fn cut_batches(
    in_flight: Res<InFlightWrites>,
    mut counters: ResMut<Counters>,
    mut queues: Query<(
        &QueueStatus,
        &mut Commands,
        &Accesses,
        (&Draws, &Dispatches),
        (&Captures, &Evaluations, &Prepared),
        &mut CutReason,
    )>,
) {
    let under_way: RangeSet = in_flight.0.iter().map(|(_, range)| *range).collect();
    for (status, mut commands, accesses, _, work, mut reason) in &mut queues {
        *reason = CutReason::None;
        if !crate::has_work(status, &commands) {
            continue;
        }
        if commands.cut < commands.rows.len() {
            *reason = CutReason::Shaders;
        }
        let (captures, evaluations, prepared) = work;
        if let Some((row, range)) = stale_read(&commands, accesses, prepared) {
            let row = row.min(commands.rows.len());
            let position = commands.positions.get(row).or(commands.positions.last());
            if let Some(&position) =
                position.filter(|_| commands.fault.as_ref().is_none_or(|(at, _)| *at > row))
            {
                let fault = Fault {
                    position,
                    packet: "the packets from here on".to_owned(),
                    reason: format!(
                        "decoding them has read {range}, which a draw or dispatch of the same batch in front of them writes, \
                         or may write through guest pointers; \
                         Relic decodes again only behind writes that it knows when it decodes"
                    ),
                };
                commands.fault = Some((row, Box::new(fault)));
            }
            commands.cut = commands.cut.min(row);
        }
        let reads = cpu_reads(&commands, accesses, captures, evaluations, prepared);
        if reads.is_empty() {
            continue;
        }
        let writes = row_writes(&commands, accesses, prepared);
        // Reads and writes both come in the order of the stream: one pass, with the writes so far as a set.
        let mut earlier = RangeSet::new();
        let mut rest = writes.iter().peekable();
        let blocked = reads.iter().find(|(command, read)| {
            while let Some((_, write)) = rest.next_if(|(row, _)| row < command) {
                earlier.insert(*write);
            }
            under_way.overlaps(*read) || earlier.overlaps(*read)
        });
        let blocked = blocked.map(|(command, _)| *command as usize);
        if let Some(row) = blocked.filter(|row| *row < commands.cut) {
            commands.cut = row;
            *reason = CutReason::PendingWrite;
            counters.cuts += 1;
        }
    }
}

/// What the decoder has read too early: memory that a row in front of the read, not committed yet, writes. The row
/// that came behind the read, and the range.
fn stale_read(commands: &Commands, accesses: &Accesses, prepared: &Prepared) -> Option<(usize, GuestRange)> {
    if accesses.decode_reads.is_empty() || prepared.writes.is_empty() {
        return None;
    }
    // Draws write the same few targets again and again.
    let mut writes: HashMap<GuestRange, u32> = HashMap::new();
    for (row, range) in &prepared.writes {
        let first = writes.entry(*range).or_insert(*row);
        *first = (*first).min(*row);
    }
    accesses
        .decode_reads
        .iter()
        .filter(|(row, _)| *row as usize >= commands.committed)
        .find(|(row, read)| {
            writes
                .iter()
                .any(|(write, first)| first < row && write.overlaps(*read))
        })
        .map(|(row, read)| (*row as usize, *read))
}

/// What the CPU reads for each row that is not committed, in the order of the stream.
fn cpu_reads(
    commands: &Commands,
    accesses: &Accesses,
    captures: &Captures,
    evaluations: &Evaluations,
    prepared: &Prepared,
) -> Vec<(u32, GuestRange)> {
    let mut reads = Vec::new();
    for (i, walk) in captures.walks.iter().enumerate() {
        if let Some((chunk, result)) = evaluations.get(i as u32) {
            let ranges = &chunk.reads[result.reads.0 as usize..result.reads.1 as usize];
            reads.extend(ranges.iter().map(|range| (walk.command, *range)));
        }
    }
    reads.extend(
        prepared
            .uploads
            .iter()
            .flat_map(|upload| upload.ranges.map(|range| (upload.command, range)))
            .filter(|(_, range)| !range.is_empty()),
    );
    reads.extend_from_slice(&prepared.looks);
    for (i, row) in commands.rows.iter().enumerate().skip(commands.committed) {
        let ranges = &accesses.cpu_reads[row.cpu_reads.0 as usize..row.cpu_reads.1 as usize];
        reads.extend(ranges.iter().map(|range| (i as u32, *range)));
    }
    reads.sort_by_key(|(command, _)| *command);
    reads
}

/// What the rows that are not committed write, in the order of the stream.
pub(crate) fn row_writes(
    commands: &Commands,
    accesses: &Accesses,
    prepared: &Prepared,
) -> Vec<(u32, GuestRange)> {
    let mut writes: Vec<(u32, GuestRange)> = Vec::new();
    for (i, row) in commands.rows.iter().enumerate().skip(commands.committed) {
        let ranges = &accesses.writes[row.writes.0 as usize..row.writes.1 as usize];
        writes.extend(ranges.iter().map(|range| (i as u32, *range)));
    }
    writes.extend_from_slice(&prepared.writes);
    writes.sort_by_key(|(command, _)| *command);
    writes
}
