//! Hazard: the first row whose CPU reads meet memory that the GPU is still to write cuts the batch.
//!
//! Capture is optimistic: it reads what memory holds. Where earlier rows of the batch, or batches that the GPU has
//! not finished, write what a row's descriptors, argument records or textures were read from, the row and all
//! behind it are held until that has landed, and are captured again.

use std::collections::BTreeMap;

use bevy_ecs::prelude::*;
use hashbrown::{HashMap, HashSet};
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
        let writes = EarliestWrites::new(&row_writes(&commands, accesses, prepared));
        let blocked = first_blocked(
            &writes,
            &under_way,
            &commands,
            accesses,
            captures,
            evaluations,
            prepared,
        );
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

/// The first row for which the CPU has read what is still to be written: by batches under way, or by a row in front.
fn first_blocked(
    writes: &EarliestWrites,
    under_way: &RangeSet,
    commands: &Commands,
    accesses: &Accesses,
    captures: &Captures,
    evaluations: &Evaluations,
    prepared: &Prepared,
) -> Option<usize> {
    if writes.0.is_empty() && under_way.is_empty() {
        return None;
    }
    let mut first = u32::MAX;
    let mut look = |command: u32, read: GuestRange| {
        let is_blocked =
            command < first && (under_way.overlaps(read) || writes.of(read).is_some_and(|row| row < command));
        if is_blocked {
            first = command;
        }
    };
    for (i, walk) in captures.walks.iter().enumerate() {
        if let Some((chunk, result)) = evaluations.get(i as u32) {
            for range in &chunk.reads[result.reads.0 as usize..result.reads.1 as usize] {
                look(walk.command, *range);
            }
        }
    }
    for upload in &prepared.uploads {
        for range in upload.ranges {
            look(upload.command, range);
        }
    }
    for (command, range) in &prepared.looks {
        look(*command, *range);
    }
    for (i, row) in commands.rows.iter().enumerate().skip(commands.committed) {
        for range in &accesses.cpu_reads[row.cpu_reads.0 as usize..row.cpu_reads.1 as usize] {
            look(i as u32, *range);
        }
    }
    (first != u32::MAX).then_some(first as usize)
}

/// Memory that rows write, each address with the first row that does: disjoint ranges by their starts, with end and row.
struct EarliestWrites(BTreeMap<u64, (u64, u32)>);

impl EarliestWrites {
    /// From writes in the order of the stream.
    fn new(writes: &[(u32, GuestRange)]) -> Self {
        let mut found = Self(BTreeMap::new());
        let mut seen = HashSet::new();
        for (row, range) in writes {
            // Draws write the same few targets again and again.
            if seen.insert(*range) {
                found.add(*row, *range);
            }
        }
        found
    }

    /// Adds what a row writes where no earlier one does.
    fn add(&mut self, row: u32, range: GuestRange) {
        let (mut at, end) = (range.start().0, range.end().0);
        while at < end {
            // The first range that reaches beyond `at`.
            let behind = self
                .0
                .range(..=at)
                .next_back()
                .filter(|(_, (last, _))| *last > at);
            if let Some((_, (last, _))) = behind {
                at = *last;
                continue;
            }
            let next = self.0.range(at..end).next().map_or(end, |(start, _)| *start);
            self.0.insert(at, (next, row));
            at = next;
        }
    }

    /// The first row that writes an address of `read`.
    fn of(&self, read: GuestRange) -> Option<u32> {
        if read.is_empty() {
            return None;
        }
        let before = self.0.range(..read.end().0).rev();
        before
            .take_while(|(_, (end, _))| *end > read.start().0)
            .map(|(_, (_, row))| *row)
            .min()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use relic_core::GuestAddress;

    /// Against a plain list of the first row that writes each address.
    #[test]
    fn the_earliest_write_of_every_address_is_known() {
        let range = |start: u64, end: u64| GuestRange::new(GuestAddress(start), end - start);
        let mut seed = 1u64;
        let mut next = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            seed >> 40
        };
        for _ in 0..200 {
            let mut plain = [None; 64];
            let mut writes = Vec::new();
            for row in 0..12 {
                let start = next() % 56;
                let write = range(start, start + next() % 8);
                writes.push((row, write));
                for address in write.start().0..write.end().0 {
                    plain[address as usize].get_or_insert(row);
                }
            }
            let found = EarliestWrites::new(&writes);
            for start in 0..64 {
                for end in start..64 {
                    let expected = plain[start..end].iter().flatten().min();
                    let read = range(start as u64, end as u64);
                    assert_eq!(found.of(read).as_ref(), expected, "{writes:?} at {read}");
                }
            }
        }
    }
}
