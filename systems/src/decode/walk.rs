//! The packet walker: one queue's submissions, buffers and packets, to rows.

use relic_components::{
    CommandRow, Commands, PacketRows, PacketTypeId,
    queue::{
        BufferFrame, CommandCursor, Compare, DecodeWait, Fault, MAX_BUFFER_DEPTH, MemoryWait,
        PendingSubmissions,
    },
    work::{PendingLabel, PendingLabels},
};
use relic_core::{GuestAddress, GuestRange, MemoryReader};
use relic_schedules::{
    DecodeContext, Effect, PacketTable, Retry,
    packet::{NOP, PacketEntry, Step},
};

/// Header bit: the packet runs only where the last SET_PREDICATION came out so.
const PREDICATE: u32 = 1;

/// Rows after which a batch is handed on, so that work starts and vectors stay bounded.
const BATCH_ROWS: usize = 1 << 14;

/// Command words that one submission may enter, called buffers included: 64 MiB. A stream that goes round in circles
/// ends here instead of never.
const MOST_WORDS: u64 = 1 << 24;

/// Why the walker stopped.
pub enum Stop {
    /// Everything submitted is decoded.
    Drained,
    /// The batch has enough rows; there is more.
    BatchFull,
    /// A wait that nothing in front of it in this queue satisfies.
    Wait(DecodeWait),
    /// A packet that can't be executed.
    Fault(Box<Fault>),
}

/// What the walker works on.
pub(super) struct Walker<'a> {
    pub table: &'a PacketTable,
    pub cursor: &'a mut CommandCursor,
    pub pending: &'a mut PendingSubmissions,
    pub commands: &'a mut Commands,
    pub columns: &'a mut PacketRows,
    pub labels: &'a mut PendingLabels,
    /// What packets decode with. Its position is that of the packet at hand.
    pub context: DecodeContext<'a>,
    pub packets: u64,
}

impl Walker<'_> {
    pub fn run(&mut self) -> Stop {
        loop {
            if self.commands.rows.len() >= BATCH_ROWS {
                return Stop::BatchFull;
            }
            let Some(mut frame) = self.cursor.stack.pop() else {
                match self.next_buffer() {
                    Ok(NextBuffer::Entered) => continue,
                    Ok(NextBuffer::None) => return Stop::Drained,
                    Ok(NextBuffer::Written) => return Stop::Wait(DecodeWait::Gpu),
                    Err(fault) => return Stop::Fault(fault),
                }
            };
            self.context.position.buffer = frame.address;
            let next = loop {
                let next = self.packet(&mut frame);
                let on = matches!(next, Ok(Next::Go)) && frame.next < frame.words.len();
                if !on || self.commands.rows.len() >= BATCH_ROWS {
                    break next;
                }
            };
            if frame.next < frame.words.len() {
                // Room for it is there: it was popped above.
                let _ = self.cursor.stack.try_push(frame);
            } else {
                self.cursor.spare.push(frame.words);
            }
            match next {
                Ok(Next::Go) => {}
                Ok(Next::Enter(called)) => {
                    if self.cursor.stack.try_push(called).is_err() {
                        return Stop::Fault(self.fault_here(
                            "INDIRECT_BUFFER",
                            format!("command buffers are nested deeper than {MAX_BUFFER_DEPTH}"),
                        ));
                    }
                }
                Ok(Next::Wait(wait)) => return Stop::Wait(wait),
                Err(fault) => return Stop::Fault(fault),
            }
        }
    }

    /// Enters the next buffer of the submission, or the next submission's first.
    fn next_buffer(&mut self) -> Result<NextBuffer, Box<Fault>> {
        loop {
            if let Some(submission) = &self.cursor.submission {
                if let Some(buffer) = submission.buffers.get(self.cursor.next_buffer).copied() {
                    let range = GuestRange::new(buffer.address, 4 * u64::from(buffer.words));
                    let next = self.commands.rows.len() as u32;
                    self.context.command = next;
                    if !self.context.settled(range) {
                        return Ok(NextBuffer::Written);
                    }
                    self.cursor.next_buffer += 1;
                    let frame = self
                        .enter(buffer.address, buffer.words)
                        .map_err(|reason| self.fault_at(buffer.address, 0, "command buffer", reason))?;
                    // The stack is empty here.
                    let _ = self.cursor.stack.try_push(frame);
                    return Ok(NextBuffer::Entered);
                }
                self.cursor.submission = None;
            }
            let Some(submission) = self.pending.0.pop_front() else {
                return Ok(NextBuffer::None);
            };
            self.context.position.submission = submission.id;
            self.cursor.submission = Some(submission);
            self.cursor.next_buffer = 0;
            self.cursor.entered = 0;
        }
    }

    /// Copies a command buffer's words out.
    fn enter(&mut self, address: GuestAddress, count: u32) -> Result<BufferFrame, String> {
        // Nothing is set aside for words that are not there.
        let range = GuestRange::new(address, 4 * u64::from(count));
        if !self.context.memory.is_mapped(range) {
            return Err(format!(
                "its command words can't be read: guest memory {range} is not mapped"
            ));
        }
        self.cursor.entered += u64::from(count);
        if self.cursor.entered > MOST_WORDS {
            return Err(format!(
                "its submission has entered more than {MOST_WORDS:#x} command words, as a buffer that calls or chains to itself does"
            ));
        }
        let mut words = self.cursor.spare.pop().unwrap_or_default();
        // Every word is read over, or none is looked at.
        words.resize(count as usize, 0);
        let read = if address.is_aligned(4) {
            self.context
                .memory
                .read_words(address, &mut words)
                .map_err(|error| error.to_string())
        } else {
            Err(format!("command buffer {address} is not at a multiple of 4"))
        };
        match read {
            Ok(()) => Ok(BufferFrame {
                address,
                words,
                next: 0,
            }),
            Err(reason) => {
                self.cursor.spare.push(words);
                Err(format!("its command words can't be read: {reason}"))
            }
        }
    }

    fn packet(&mut self, frame: &mut BufferFrame) -> Result<Next, Box<Fault>> {
        let at = frame.next;
        let Some(&header) = frame.words.get(at) else {
            return Ok(Next::Go);
        };
        self.context.position.offset = 4 * at as u32;
        self.packets += 1;
        let opcode = (header >> 8) as u8;
        let count = match header >> 30 {
            2 => {
                frame.next += 1;
                return Ok(Next::Go);
            }
            // A NOP with the largest count is one word long.
            3 if opcode == NOP && header >> 16 & 0x3FFF == 0x3FFF => 0,
            3 => (header >> 16 & 0x3FFF) as usize + 1,
            kind => {
                return Err(self.fault(
                    format!("header {header:#010x}"),
                    format!(
                        "type {kind} packets do not exist on this chip: the stream is damaged, or an earlier packet was longer than its header says"
                    ),
                ));
            }
        };
        let Some(payload) = frame.words.get(at + 1..at + 1 + count) else {
            return Err(self.fault(
                self.name(header, None),
                format!(
                    "it has {count} payload words and the buffer ends after {}",
                    frame.words.len() - at - 1
                ),
            ));
        };
        let Some(packet) = self.table.find(header, payload.first().copied()) else {
            return Err(self.fault(
                self.name(header, payload.first().copied()),
                "Relic has no packet for this header; a plug-in can add one (docs/add-a-packet.md)"
                    .to_owned(),
            ));
        };
        if header & PREDICATE != 0 && self.context.state.skip_predicated {
            frame.next = at + 1 + count;
            return Ok(Next::Go);
        }
        let entry = self.table.entry(packet);
        self.context.header = header;
        self.context.remaining = (frame.words.len() - at - 1 - count) as u32;
        self.context.command = self.commands.rows.len() as u32;
        let column = &mut self.columns.columns[usize::from(packet.0)];
        let step = match (entry.decode)(payload, &mut self.context, &mut **column) {
            // The most frequent by far.
            Ok(Step::State) => {
                frame.next = at + 1 + count;
                return Ok(Next::Go);
            }
            Ok(step) => step,
            Err(refusal) => return Err(self.refused(entry, opcode, refusal.0)),
        };
        match step {
            Step::Again(Retry::Settled) => return Ok(Next::Wait(DecodeWait::Gpu)),
            Step::Again(Retry::Memory(wait)) => return Ok(Next::Wait(DecodeWait::Memory(wait))),
            Step::Call { address, words, .. }
                if !self
                    .context
                    .settled(GuestRange::new(address, 4 * u64::from(words))) =>
            {
                return Ok(Next::Wait(DecodeWait::Gpu));
            }
            _ => {}
        }
        frame.next = at + 1 + count;
        match step {
            Step::State | Step::Again(_) => Ok(Next::Go),
            Step::WaitFlip(buffer) => Ok(Next::Wait(DecodeWait::Flip(buffer))),
            Step::Skip(words) => {
                frame.next = skip(&frame.words, frame.next, words as usize)
                    .map_err(|reason| self.refused(entry, opcode, reason))?;
                Ok(Next::Go)
            }
            Step::Row(row) => {
                self.push_row(packet, row, entry.effects);
                Ok(Next::Go)
            }
            Step::Call {
                address,
                words,
                chain,
            } => {
                if chain {
                    frame.next = frame.words.len();
                }
                if words == 0 {
                    return Ok(Next::Go);
                }
                self.enter(address, words)
                    .map(Next::Enter)
                    .map_err(|reason| self.refused(entry, opcode, reason))
            }
            Step::Wait(wait) => {
                match self.satisfied(&wait) {
                    Satisfied::Now => {}
                    Satisfied::ByEarlierWrite => {
                        let row = CommandRow {
                            packet: PacketTypeId::BARRIER,
                            row: 0,
                            cpu_reads: (0, 0),
                            writes: (0, 0),
                        };
                        self.commands.rows.push(row);
                        self.commands.positions.push(self.context.position);
                    }
                    Satisfied::NotYet => return Ok(Next::Wait(DecodeWait::Memory(wait))),
                }
                Ok(Next::Go)
            }
        }
    }

    fn push_row(
        &mut self,
        packet: PacketTypeId,
        row: u32,
        effects: fn(&dyn relic_components::batch::Column, u32, &mut dyn FnMut(Effect)),
    ) {
        let accesses = &mut *self.context.accesses;
        let labels = &mut *self.labels;
        let reads = accesses.cpu_reads.len() as u32;
        let writes = accesses.writes.len() as u32;
        let column = &self.columns.columns[usize::from(packet.0)];
        effects(&**column, row, &mut |effect| match effect {
            Effect::CpuReads(range) => accesses.cpu_reads.push(range),
            Effect::GpuWrites(range) => accesses.writes.push(range),
            Effect::GpuReads(_) => {}
            Effect::Label { address, value, wide } => {
                labels.0.push(PendingLabel {
                    address,
                    value,
                    wide,
                    timeline: None,
                });
            }
        });
        self.commands.rows.push(CommandRow {
            packet,
            row,
            cpu_reads: (reads, accesses.cpu_reads.len() as u32),
            writes: (writes, accesses.writes.len() as u32),
        });
        self.commands.positions.push(self.context.position);
    }

    /// Whether a wait holds already: by a write of this queue that has not landed, or by what memory holds.
    fn satisfied(&self, wait: &MemoryWait) -> Satisfied {
        if let Some(value) = pending_value(&self.labels.0, wait) {
            return if compare(wait, value) {
                Satisfied::ByEarlierWrite
            } else {
                Satisfied::NotYet
            };
        }
        if memory_satisfies(self.context.memory, wait) {
            Satisfied::Now
        } else {
            Satisfied::NotYet
        }
    }

    /// What a header is called when no packet answers to it, or its packet is cut short.
    fn name(&self, header: u32, first: Option<u32>) -> String {
        let opcode = header >> 8 & 0xFF;
        let name = self.table.find(header, first).map(|id| self.table.entry(id).name);
        let name = name
            .or_else(|| known_name(opcode as u8))
            .unwrap_or("unknown packet");
        if opcode as u8 == NOP && header >> 2 & 63 != 0 {
            format!(
                "{name} (opcode {opcode:#04x}, sub-operation {:#04x})",
                header >> 2 & 63
            )
        } else {
            format!("{name} (opcode {opcode:#04x})")
        }
    }

    /// A fault of the packet at hand.
    #[cold]
    fn fault(&self, packet: String, reason: String) -> Box<Fault> {
        Box::new(Fault {
            position: self.context.position,
            packet,
            reason,
        })
    }

    #[cold]
    fn refused(&self, entry: &PacketEntry, opcode: u8, reason: String) -> Box<Fault> {
        self.fault(format!("{} (opcode {opcode:#04x})", entry.name), reason)
    }

    fn fault_at(&mut self, buffer: GuestAddress, offset: u32, packet: &str, reason: String) -> Box<Fault> {
        self.context.position.buffer = buffer;
        self.context.position.offset = offset;
        self.fault(packet.to_owned(), reason)
    }

    fn fault_here(&mut self, packet: &str, reason: String) -> Box<Fault> {
        let (buffer, offset) = self.cursor.stack.last().map_or((GuestAddress(0), 0), |frame| {
            (frame.address, 4 * frame.next as u32)
        });
        self.fault_at(buffer, offset, packet, reason)
    }
}

enum Next {
    Go,
    Enter(BufferFrame),
    Wait(DecodeWait),
}

enum NextBuffer {
    Entered,
    None,
    /// It is still being written.
    Written,
}

enum Satisfied {
    Now,
    ByEarlierWrite,
    NotYet,
}

/// Words of the packet that a header begins. Headers that begin none count as one word: the walker refuses them if
/// it gets there.
pub(crate) const fn packet_words(header: u32) -> usize {
    let count = header >> 16 & 0x3FFF;
    match header >> 30 {
        3 if header >> 8 & 0xFF == NOP as u32 && count == 0x3FFF => 1,
        3 => count as usize + 2,
        _ => 1,
    }
}

/// Leaves out whole packets. Returns where the next one begins.
fn skip(buffer: &[u32], first: usize, words: usize) -> Result<usize, String> {
    let end = first + words;
    if end > buffer.len() {
        return Err(format!(
            "it skips {words} words and the buffer ends after {}",
            buffer.len() - first
        ));
    }
    let mut at = first;
    while at < end {
        at += packet_words(buffer[at]);
    }
    if at == end {
        Ok(end)
    } else {
        Err(format!(
            "the {words} words that it skips end inside of a packet, {} words before its end",
            at - end
        ))
    }
}

/// The value that the newest pending write of the queue puts at the wait's address, if it writes all the bytes the
/// wait compares.
fn pending_value(labels: &[PendingLabel], wait: &MemoryWait) -> Option<u64> {
    let label = labels.iter().rev().find(|label| label.address == wait.address)?;
    (label.wide || !wait.wide).then_some(label.value)
}

/// Whether memory satisfies the wait. An unmapped label never does, and is no fault: it may be mapped yet.
pub(crate) fn memory_satisfies(memory: &MemoryReader, wait: &MemoryWait) -> bool {
    let value = if wait.wide {
        memory.read_u64(wait.address)
    } else {
        memory.read_u32(wait.address).map(u64::from)
    };
    value.is_ok_and(|value| compare(wait, value))
}

fn compare(wait: &MemoryWait, value: u64) -> bool {
    let keep = if wait.wide { u64::MAX } else { u64::from(u32::MAX) };
    let value = value & wait.mask & keep;
    let reference = wait.reference & keep;
    holds(wait.compare, value, reference)
}

/// Whether a masked value compares so with the reference.
pub(crate) const fn holds(compare: Compare, value: u64, reference: u64) -> bool {
    match compare {
        Compare::Always => true,
        Compare::Less => value < reference,
        Compare::LessEqual => value <= reference,
        Compare::Equal => value == reference,
        Compare::NotEqual => value != reference,
        Compare::GreaterEqual => value >= reference,
        Compare::Greater => value > reference,
    }
}

/// Names of opcodes that Relic has no packet for, for messages (Mesa's packet database).
fn known_name(opcode: u8) -> Option<&'static str> {
    const NAMES: &[(u8, &str)] = &[
        (0x10, "NOP"),
        (0x1D, "ATOMIC_GDS"),
        (0x1E, "ATOMIC_MEM"),
        (0x1F, "OCCLUSION_QUERY"),
        (0x34, "STRMOUT_BUFFER_UPDATE"),
        (0x39, "MEM_SEMAPHORE"),
        (0x3A, "DISPATCH_DRAW"),
        (0x45, "COND_WRITE"),
        (0x47, "EVENT_WRITE_EOP"),
        (0x48, "EVENT_WRITE_EOS"),
        (0x68, "SET_CONFIG_REG"),
        (0x78, "SET_QUEUE_REG"),
        (0x84, "INCREMENT_CE_COUNTER"),
        (0x85, "INCREMENT_DE_COUNTER"),
        (0x86, "WAIT_ON_CE_COUNTER"),
        (0x88, "WAIT_ON_DE_COUNTER_DIFF"),
        (0x8C, "DISPATCH_DRAW_PREAMBLE"),
        (0x8E, "GET_LOD_STATS"),
        (0x91, "SET_INDEX_INDIRECT_ARGS"),
    ];
    NAMES
        .iter()
        .find(|(own, _)| *own == opcode)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(compare: Compare, reference: u64, mask: u64) -> MemoryWait {
        MemoryWait {
            address: GuestAddress(0x1000),
            reference,
            mask,
            compare,
            wide: false,
        }
    }

    /// Known trap 6: the value is masked before it is compared.
    #[test]
    fn waits_compare_the_masked_value() {
        assert!(compare_of(Compare::Equal, 5, 0xFF, 0x105));
        assert!(!compare_of(Compare::Greater, 5, 0xFF, 0x105));
        assert!(compare_of(Compare::Greater, 5, 0xFF, 0x106));
        assert!(compare_of(Compare::Less, 5, 0xFF, 0x104));
        assert!(compare_of(Compare::LessEqual, 5, 0xFF, 0x105));
        assert!(compare_of(Compare::GreaterEqual, 5, 0xFF, 0x105));
        assert!(!compare_of(Compare::NotEqual, 5, 0xFF, 0x105));
        assert!(compare_of(Compare::Always, 5, 0xFF, 0));
    }

    fn compare_of(function: Compare, reference: u64, mask: u64, value: u64) -> bool {
        compare(&wait(function, reference, mask), value)
    }

    #[test]
    fn narrow_waits_ignore_high_halves() {
        let narrow = wait(Compare::Equal, 0xAAAA_0000_0000_0005, u64::MAX);
        assert!(compare(&narrow, 0xBBBB_0000_0000_0005));
        assert!(!compare(
            &MemoryWait { wide: true, ..narrow },
            0xBBBB_0000_0000_0005
        ));
    }

    #[test]
    fn the_newest_pending_write_decides() {
        let label = |value, wide| PendingLabel {
            address: GuestAddress(0x1000),
            value,
            wide,
            timeline: None,
        };
        let wide_wait = MemoryWait {
            wide: true,
            ..wait(Compare::Equal, 2, u64::MAX)
        };
        assert_eq!(
            pending_value(&[label(1, false), label(2, false)], &wait(Compare::Equal, 2, 0)),
            Some(2)
        );
        assert_eq!(pending_value(&[label(1, false)], &wide_wait), None);
        assert_eq!(pending_value(&[label(2, true)], &wide_wait), Some(2));
    }
}
