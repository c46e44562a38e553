//! GPU queues: an entity each.

use std::collections::VecDeque;

use arrayvec::ArrayVec;
use bevy_ecs::prelude::*;
use relic_core::{GuestAddress, QueueId, SubmissionId};

use crate::{message::Submission, registers::CONTEXT_REGISTERS, video::VideoHandle};

/// The queue's number.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[component(immutable)]
pub struct Queue(pub QueueId);

/// Submissions that the queue has not begun.
#[derive(Component, Clone, Debug, Default)]
pub struct PendingSubmissions(pub VecDeque<Submission>);

/// Deepest nesting of indirect buffers.
pub const MAX_BUFFER_DEPTH: usize = 8;

/// One command buffer on the cursor's stack.
#[derive(Clone, Debug)]
pub struct BufferFrame {
    /// First word of the buffer.
    pub address: GuestAddress,
    /// Its words, copied out when it was entered.
    pub words: Vec<u32>,
    /// Index of the next packet's header.
    pub next: usize,
}

/// Where a queue's decoder stands: the submission and its stack of command buffers, the innermost last.
#[derive(Component, Clone, Debug, Default)]
pub struct CommandCursor {
    /// The submission being decoded.
    pub submission: Option<Submission>,
    /// Index of the next of its buffers.
    pub next_buffer: usize,
    /// Words of all buffers that the submission has entered so far.
    pub entered: u64,
    /// The buffers entered.
    pub stack: ArrayVec<BufferFrame, MAX_BUFFER_DEPTH>,
    /// Word vectors to use again.
    pub spare: Vec<Vec<u32>>,
}

/// Where a packet stands, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketPosition {
    /// The queue.
    pub queue: QueueId,
    /// The submission.
    pub submission: SubmissionId,
    /// The command buffer.
    pub buffer: GuestAddress,
    /// Byte offset of the packet's header in it.
    pub offset: u32,
}

impl std::fmt::Display for PacketPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} queue, submission {}, buffer {} + {:#x}",
            self.queue, self.submission, self.buffer, self.offset
        )
    }
}

/// What a queue can't execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub position: PacketPosition,
    /// Name and opcode of the packet.
    pub packet: String,
    /// Why, and what to do about it.
    pub reason: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} refused at {}: {}", self.packet, self.position, self.reason)
    }
}

/// Compare function of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Always satisfied.
    Always,
    /// Value below reference.
    Less,
    /// Value at most reference.
    LessEqual,
    /// Value equals reference.
    Equal,
    /// Value differs from reference.
    NotEqual,
    /// Value at least reference.
    GreaterEqual,
    /// Value above reference.
    Greater,
}

/// A wait on guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryWait {
    /// The label.
    pub address: GuestAddress,
    /// Compared with this...
    pub reference: u64,
    /// ...after masking.
    pub mask: u64,
    /// How.
    pub compare: Compare,
    /// Whether the label has 64 bits.
    pub wide: bool,
}

/// A scan-out buffer that flips name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FlippedBuffer {
    /// The output.
    pub handle: VideoHandle,
    /// Index of the buffer.
    pub buffer: i32,
}

/// What a queue's decoder stopped for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeWait {
    /// A WAIT_REG_MEM, or a REWIND that is not valid yet.
    Memory(MemoryWait),
    /// The CPU must read what rows of the batch may write, or batches under way still write.
    Gpu,
    /// Earlier flips of the buffer are to be done first.
    Flip(FlippedBuffer),
}

/// What a queue is doing.
#[derive(Component, Clone, Debug, PartialEq, Eq, Default)]
pub enum QueueStatus {
    /// Nothing to do.
    #[default]
    Idle,
    /// Has packets to decode or rows to work on.
    Ready,
    /// Stopped at a WAIT_REG_MEM that no write of its own will satisfy.
    WaitingMemory(MemoryWait),
    /// Rows, or the packet that is next, are held until the GPU's timeline reaches the value: the CPU must read what
    /// earlier rows write.
    WaitingGpu(u64),
    /// Rows are held until the shader pool has prepared what they draw with.
    WaitingShaders,
    /// Stopped until no earlier flip of the buffer is outstanding.
    WaitingFlip(FlippedBuffer),
    /// Stopped for good.
    Faulted(Box<Fault>),
}

/// State that packets set beside the registers.
#[derive(Component, Clone, Debug)]
pub struct PacketState {
    /// INDEX_BASE.
    pub index_base: GuestAddress,
    /// INDEX_BUFFER_SIZE: indices there are.
    pub index_count: u32,
    /// INDEX_TYPE: 0 = 16 bits, 1 = 32 bits, 2 = 8 bits.
    pub index_type: u32,
    /// NUM_INSTANCES, at least 1.
    pub instances: u32,
    /// SET_BASE of graphics indirect arguments.
    pub graphics_indirect_base: GuestAddress,
    /// SET_BASE of compute indirect arguments.
    pub compute_indirect_base: GuestAddress,
    /// SET_PREDICATION came out so that packets with the predicate bit are skipped.
    pub skip_predicated: bool,
    /// Context registers that a context push has put away: one level.
    pub saved_context: Option<Box<[u32; CONTEXT_REGISTERS]>>,
    /// The constant engine's RAM in words, as far as it was written; the rest is 0.
    pub constant_ram: Vec<u32>,
}

impl Default for PacketState {
    fn default() -> Self {
        Self {
            index_base: GuestAddress(0),
            index_count: 0,
            index_type: 0,
            instances: 1,
            graphics_indirect_base: GuestAddress(0),
            compute_indirect_base: GuestAddress(0),
            skip_predicated: false,
            saved_context: None,
            constant_ram: Vec::new(),
        }
    }
}
