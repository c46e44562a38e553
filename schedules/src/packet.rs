//! Packets: how one word run of the guest's command stream becomes state, a row, or an error.
//!
//! A packet type answers four questions: which headers it decodes ([`Packet::HEADERS`]); what the words mean
//! ([`Packet::decode`]); which guest ranges its row reads and writes ([`Packet::effects`]); what to record for it
//! ([`Packet::commit`]). The runtime keeps plain function pointers made from these in a [`PacketTable`].

use std::fmt;

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use relic_components::{
    Accesses, PacketTypeId, RegisterBanks,
    batch::{Column, Dispatches, Draws, Snapshots},
    queue::{FlippedBuffer, MemoryWait, PacketPosition, PacketState},
    video::FlipRequest,
    work::InFlightWrites,
};
use relic_core::{GuestAddress, GuestRange, MemoryReader};

/// Which packet headers a type answers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum HeaderMatch {
    /// Type-3 packets with this opcode (bits 15:8), whatever their sub-operation.
    Opcode(u8),
    /// Console operations inside NOP (opcode 0x10): this sub-operation (bits 7:2).
    NopOperation(u8),
    /// NOP packets whose sub-operation bits are 0 and whose payload begins with this word: markers and private
    /// packets of tools.
    NopTag(u32),
}

impl fmt::Display for HeaderMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opcode(opcode) => write!(f, "opcode {opcode:#04x}"),
            Self::NopOperation(operation) => write!(f, "opcode 0x10, sub-operation {operation:#04x}"),
            Self::NopTag(tag) => write!(f, "opcode 0x10, tag {tag:#010x}"),
        }
    }
}

/// Why a packet can't be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PacketRefusal(pub String);

impl From<relic_core::Unmapped> for PacketRefusal {
    fn from(error: relic_core::Unmapped) -> Self {
        Self(error.to_string())
    }
}

impl From<relic_core::WriteError> for PacketRefusal {
    fn from(error: relic_core::WriteError) -> Self {
        Self(error.to_string())
    }
}

/// What decoding a packet came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<P> {
    /// The queue's state changed; nothing is to be recorded.
    State,
    /// A row to be committed in the stream's order.
    Row(P),
    /// Continue in another command buffer: and come back after it, unless it is chained.
    Call {
        /// First word.
        address: GuestAddress,
        /// Length in words.
        words: u32,
        /// The rest of this buffer is left out.
        chain: bool,
    },
    /// Go on when memory satisfies the wait; as a barrier in the stream where an earlier write of the queue will.
    Wait(MemoryWait),
    /// Go on when no earlier flip of the buffer is outstanding.
    WaitFlip(FlippedBuffer),
    /// Leave out so many words behind the packet. They must be whole packets.
    Skip {
        /// How many.
        words: u32,
    },
    /// Decode this packet again later; it must not have changed anything.
    Again(Retry),
}

/// When a packet is decoded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// When what is in front of it is recorded and what of it matters is done: for packets whose decoding reads guest
    /// memory that is not [settled](DecodeContext::settled).
    Settled,
    /// When memory satisfies the wait.
    Memory(MemoryWait),
}

/// What a packet decodes with.
pub struct DecodeContext<'a> {
    /// The packet's header word. The payload is what `decode` gets beside this.
    pub header: u32,
    /// Where the packet stands.
    pub position: PacketPosition,
    /// Words of its buffer behind the packet.
    pub remaining: u32,
    /// Index that the packet's row will have in the stream, if it makes one.
    pub command: u32,
    /// The queue's registers.
    pub banks: &'a mut RegisterBanks,
    /// State that packets set beside the registers.
    pub state: &'a mut PacketState,
    /// The batch's draws.
    pub draws: &'a mut Draws,
    /// The batch's dispatches.
    pub dispatches: &'a mut Dispatches,
    /// The batch's register snapshots.
    pub snapshots: &'a mut Snapshots,
    /// Guest memory.
    pub memory: &'a MemoryReader,
    /// What the batch's rows read and write.
    pub accesses: &'a mut Accesses,
    /// What submitted batches of all queues still write.
    pub in_flight: &'a InFlightWrites,
}

impl DecodeContext<'_> {
    /// Whether the header's shader-type bit says compute.
    #[must_use]
    pub const fn is_compute(&self) -> bool {
        self.header & 2 != 0
    }

    /// Whether guest memory holds what the packet must see: nothing in front of it that is not finished may write
    /// the range. Where this is `false`, a packet that reads the range answers [`Retry::Settled`].
    ///
    /// What a dispatch writes is known only when it is prepared, so that any dispatch of the batch counts as a
    /// writer: the batch ends there, and is asked again when its dispatches are recorded. Draws are taken to write
    /// nothing that decoding reads; Hazard refuses the row where one does.
    pub fn settled(&mut self, range: GuestRange) -> bool {
        let rows = (&*self.draws, &*self.dispatches, self.command);
        is_settled(range, rows, self.accesses, self.in_flight)
    }
}

/// [`DecodeContext::settled`], for the batch's rows and the index of the next.
pub fn is_settled(
    range: GuestRange,
    (draws, dispatches, next): (&Draws, &Dispatches, u32),
    accesses: &mut Accesses,
    in_flight: &InFlightWrites,
) -> bool {
    if range.is_empty() {
        return true;
    }
    let written = !dispatches.rows.is_empty()
        || accesses.writes.iter().any(|write| write.overlaps(range))
        || in_flight.0.iter().any(|(_, write)| write.overlaps(range));
    if !written && !draws.rows.is_empty() {
        accesses.decode_reads.push((next, range));
    }
    !written
}

/// One effect of a row on guest memory, declared so that order can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The CPU reads the range while it commits the row: the row waits for writes that are under way.
    CpuReads(GuestRange),
    /// The GPU reads the range when it executes the row.
    GpuReads(GuestRange),
    /// The GPU writes the range when it executes the row.
    GpuWrites(GuestRange),
    /// The GPU writes this value at this address: a wait on it further down the stream is a barrier.
    Label {
        /// Where.
        address: GuestAddress,
        /// What.
        value: u64,
        /// Whether all 64 bits are written, or the low 32.
        wide: bool,
    },
}

/// How strong a barrier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// Everything before is finished and visible to everything after.
    Full,
}

/// What a row may record. Addresses are the guest's; order is the order of the calls.
pub trait Recorder {
    /// Copies guest memory on the GPU.
    ///
    /// # Errors
    /// When a range is not mapped or can't reach the device.
    fn copy_memory(
        &mut self,
        source: GuestAddress,
        destination: GuestAddress,
        bytes: u64,
    ) -> Result<(), PacketRefusal>;

    /// Fills guest memory with a 32-bit pattern on the GPU. The range is a multiple of 4 bytes at such an address.
    ///
    /// # Errors
    /// When the range is not mapped or can't reach the device.
    fn fill_memory(&mut self, range: GuestRange, pattern: u32) -> Result<(), PacketRefusal>;

    /// Writes words to guest memory on the GPU.
    ///
    /// # Errors
    /// When the range is not mapped or can't reach the device.
    fn write_memory(&mut self, address: GuestAddress, words: &[u32]) -> Result<(), PacketRefusal>;

    /// Orders what comes after behind what came before.
    fn barrier(&mut self, barrier: Barrier);

    /// Writes the GPU clock (100 MHz, 64 bits) to guest memory once everything before has finished.
    ///
    /// # Errors
    /// When the range is not mapped.
    fn write_clock(&mut self, address: GuestAddress) -> Result<(), PacketRefusal>;

    /// Records draw `index` of the batch.
    ///
    /// # Errors
    /// When its state can't be expressed.
    fn draw(&mut self, index: u32) -> Result<(), PacketRefusal>;

    /// Records dispatch `index` of the batch.
    ///
    /// # Errors
    /// When its state can't be expressed.
    fn dispatch(&mut self, index: u32) -> Result<(), PacketRefusal>;

    /// Puts a buffer on screen once everything before has finished.
    fn flip(&mut self, request: FlipRequest);

    /// Tells the guest, by an end-of-pipe event, once everything before has finished.
    fn interrupt(&mut self);

    /// A name for what comes up to the matching pop, for debuggers.
    fn push_marker(&mut self, name: &str);

    /// Ends the innermost marker.
    fn pop_marker(&mut self);
}

/// A packet type: one kind of word run in the command stream, and the row it becomes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a packet",
    note = "implement `relic_schedules::Packet`: HEADERS, NAME, decode, effects and commit; docs/add-a-packet.md has an example"
)]
pub trait Packet: Send + Sync + Sized + 'static {
    /// Its name in messages, as the field writes it: `DRAW_INDEX_AUTO`.
    const NAME: &'static str;

    /// The headers it answers to. Two types that claim one header are a start-up error.
    const HEADERS: &'static [HeaderMatch];

    /// Reads the payload (the words behind the header, as many as the header says).
    ///
    /// # Errors
    /// [`PacketRefusal`] when the words mean something that Relic does not execute. The queue stops there.
    fn decode(payload: &[u32], context: &mut DecodeContext<'_>) -> Result<Decoded<Self>, PacketRefusal>;

    /// Declares what the row does to guest memory. Draws and dispatches need not: theirs follows from their
    /// descriptors.
    fn effects(&self, declare: &mut dyn FnMut(Effect)) {
        let _ = declare;
    }

    /// Records the row.
    ///
    /// # Errors
    /// [`PacketRefusal`] when it can't be recorded. The queue stops there.
    fn commit(&self, recorder: &mut dyn Recorder) -> Result<(), PacketRefusal> {
        let _ = recorder;
        Ok(())
    }
}

/// What the decoder does next; [`Decoded`] with the row put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// See [`Decoded::State`].
    State,
    /// See [`Decoded::Row`]: index in the type's column.
    Row(u32),
    /// See [`Decoded::Call`].
    Call {
        /// First word.
        address: GuestAddress,
        /// Length in words.
        words: u32,
        /// No return.
        chain: bool,
    },
    /// See [`Decoded::Wait`].
    Wait(MemoryWait),
    /// See [`Decoded::WaitFlip`].
    WaitFlip(FlippedBuffer),
    /// See [`Decoded::Skip`].
    Skip(u32),
    /// See [`Decoded::Again`].
    Again(Retry),
}

type DecodeFn = fn(&[u32], &mut DecodeContext<'_>, &mut dyn Column) -> Result<Step, PacketRefusal>;
type EffectsFn = fn(&dyn Column, u32, &mut dyn FnMut(Effect));
type CommitFn = fn(&dyn Column, u32, &mut dyn Recorder) -> Result<(), PacketRefusal>;

/// One packet type's row in the table.
#[derive(Clone, Copy)]
pub struct PacketEntry {
    /// Name for messages.
    pub name: &'static str,
    /// Headers it answers to.
    pub headers: &'static [HeaderMatch],
    /// Plug-in that added it.
    pub plugin: &'static str,
    /// Reads a payload; puts a row in the column.
    pub decode: DecodeFn,
    /// Declares a row's effects.
    pub effects: EffectsFn,
    /// Records a row.
    pub commit: CommitFn,
    /// Makes an empty column.
    pub column: fn() -> Box<dyn Column>,
}

impl fmt::Debug for PacketEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.plugin)
    }
}

/// No packet of this opcode.
const NONE: u16 = u16::MAX;

/// Every packet type of a runtime, found by header.
#[derive(Resource, Clone)]
pub struct PacketTable {
    entries: Vec<PacketEntry>,
    by_opcode: [u16; 256],
    by_operation: [u16; 64],
    by_tag: HashMap<u32, u16>,
}

impl Default for PacketTable {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            by_opcode: [NONE; 256],
            by_operation: [NONE; 64],
            by_tag: HashMap::new(),
        }
    }
}

impl fmt::Debug for PacketTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}

/// The opcode of NOP.
pub const NOP: u8 = 0x10;

/// A header that two packet types claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderClash {
    /// The header.
    pub header: HeaderMatch,
    /// Who had it.
    pub first: String,
    /// Who wants it too.
    pub second: String,
}

impl PacketTable {
    /// Adds a packet type.
    ///
    /// # Errors
    /// The headers that another type has already; the others are taken.
    pub fn add<P: Packet>(&mut self, plugin: &'static str) -> Result<PacketTypeId, Vec<HeaderClash>> {
        let id = self.entries.len() as u16;
        let entry = PacketEntry {
            name: P::NAME,
            headers: P::HEADERS,
            plugin,
            decode: decode_row::<P>,
            effects: effects_of_row::<P>,
            commit: commit_row::<P>,
            column: || Box::new(Vec::<P>::new()),
        };
        self.entries.push(entry);
        let mut clashes = Vec::new();
        for &header in P::HEADERS {
            let slot = match header {
                HeaderMatch::Opcode(opcode) => &mut self.by_opcode[usize::from(opcode)],
                HeaderMatch::NopOperation(operation) => &mut self.by_operation[usize::from(operation & 63)],
                HeaderMatch::NopTag(tag) => self.by_tag.entry(tag).or_insert(NONE),
            };
            if *slot == NONE {
                *slot = id;
            } else {
                clashes.push(HeaderClash {
                    header,
                    first: format!("{:?}", self.entries[usize::from(*slot)]),
                    second: format!("{entry:?}"),
                });
            }
        }
        if clashes.is_empty() {
            Ok(PacketTypeId(id))
        } else {
            Err(clashes)
        }
    }

    /// The type that answers to a type-3 header with this first payload word.
    #[must_use]
    #[inline]
    pub fn find(&self, header: u32, first: Option<u32>) -> Option<PacketTypeId> {
        let opcode = (header >> 8) as u8;
        let mut id = self.by_opcode[usize::from(opcode)];
        if opcode == NOP {
            let operation = (header >> 2 & 63) as usize;
            if operation != 0 {
                id = self.by_operation[operation];
            } else if let Some(first) = first
                && let Some(&tagged) = self.by_tag.get(&first)
            {
                id = tagged;
            }
        }
        (id != NONE).then_some(PacketTypeId(id))
    }

    /// The row of a type.
    #[must_use]
    #[inline]
    pub fn entry(&self, id: PacketTypeId) -> &PacketEntry {
        &self.entries[usize::from(id.0)]
    }

    /// Every type, in the order added.
    #[must_use]
    pub fn entries(&self) -> &[PacketEntry] {
        &self.entries
    }

    /// Empty columns for every type, for a new queue.
    #[must_use]
    pub fn columns(&self) -> Vec<Box<dyn Column>> {
        self.entries.iter().map(|entry| (entry.column)()).collect()
    }
}

/// What is said when a column is not of its packet's type; `PacketTable` never pairs them so.
const WRONG_COLUMN: &str = "internal: the packet's column has another type";

fn decode_row<P: Packet>(
    payload: &[u32],
    context: &mut DecodeContext<'_>,
    column: &mut dyn Column,
) -> Result<Step, PacketRefusal> {
    Ok(match P::decode(payload, context)? {
        Decoded::State => Step::State,
        Decoded::Row(row) => {
            let rows = column
                .as_any_mut()
                .downcast_mut::<Vec<P>>()
                .ok_or_else(|| PacketRefusal(WRONG_COLUMN.to_owned()))?;
            rows.push(row);
            Step::Row(rows.len() as u32 - 1)
        }
        Decoded::Call {
            address,
            words,
            chain,
        } => Step::Call {
            address,
            words,
            chain,
        },
        Decoded::Wait(wait) => Step::Wait(wait),
        Decoded::WaitFlip(buffer) => Step::WaitFlip(buffer),
        Decoded::Skip { words } => Step::Skip(words),
        Decoded::Again(retry) => Step::Again(retry),
    })
}

fn effects_of_row<P: Packet>(column: &dyn Column, row: u32, declare: &mut dyn FnMut(Effect)) {
    if let Some(row) = column
        .as_any()
        .downcast_ref::<Vec<P>>()
        .and_then(|rows| rows.get(row as usize))
    {
        row.effects(declare);
    }
}

fn commit_row<P: Packet>(
    column: &dyn Column,
    row: u32,
    recorder: &mut dyn Recorder,
) -> Result<(), PacketRefusal> {
    column
        .as_any()
        .downcast_ref::<Vec<P>>()
        .and_then(|rows| rows.get(row as usize))
        .ok_or_else(|| PacketRefusal(WRONG_COLUMN.to_owned()))?
        .commit(recorder)
}
