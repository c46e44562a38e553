//! What other threads tell the pump, and what the runtime tells the guest.

use relic_core::{GuestAddress, GuestRange, QueueId, SubmissionId};
use smallvec::SmallVec;

use crate::video::{FlipRequest, VideoBuffer, VideoHandle};

/// One command buffer of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandBuffer {
    /// Its first word.
    pub address: GuestAddress,
    /// Its length in 32-bit words.
    pub words: u32,
}

/// Command buffers that a guest thread handed to a queue at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Number, counted over all queues.
    pub id: SubmissionId,
    /// The queue.
    pub queue: QueueId,
    /// The buffers, executed in this order.
    pub buffers: SmallVec<[CommandBuffer; 4]>,
}

/// A message of the inbox.
#[derive(Clone, Debug)]
pub enum Message {
    /// Work for a queue. Queues come into being with their first submission.
    Submit(Submission),
    /// A shader program was registered (`sceAgcCreateShader`).
    RegisterShader {
        /// Its code.
        code: GuestAddress,
        /// Its header.
        header: GuestAddress,
        /// Binary type of the header: 0 CS, 1 PS, 2 GS, ...
        binary_type: u8,
        /// Size of the code in bytes, as the header says.
        code_size: u32,
    },
    /// A guest thread started.
    ThreadStarted {
        /// Its number.
        thread: u64,
        /// Its name.
        name: String,
        /// Its stack.
        stack: GuestRange,
        /// Console priority, 256 (highest) to 767.
        priority: i32,
    },
    /// A guest thread ended.
    ThreadEnded {
        /// Its number.
        thread: u64,
    },
    /// A video output was opened.
    VideoOpened(VideoHandle),
    /// A video output was closed.
    VideoClosed(VideoHandle),
    /// Scan-out buffers were registered from `first` on.
    BuffersRegistered {
        /// The output.
        handle: VideoHandle,
        /// Index of the first.
        first: u32,
        /// The buffers.
        buffers: Vec<VideoBuffer>,
    },
    /// A flip that the CPU asked for: it happens once everything submitted before it has finished.
    Flip(FlipRequest),
    /// The GPU's timeline has reached this value (from the waiter thread).
    GpuProgress(u64),
    /// The GPU is lost or can't be waited for.
    GpuLost(String),
    /// A shader or pipeline that was being prepared is ready or refused (from the shader pool).
    ShaderPrepared,
    /// Nothing new; look again. For senders that changed guest memory a queue may be waiting on.
    Poke,
    /// End the pump once every queue is idle or faulted; then it answers by closing the inbox.
    Finish,
    /// End the pump now.
    Stop,
}

/// What the runtime tells the guest's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// A flip is on screen.
    FlipDone(FlipRequest),
    /// The GPU reached a RELEASE_MEM that asked for an interrupt.
    EndOfPipe {
        /// The queue.
        queue: QueueId,
    },
    /// A queue has met something it can't execute. Nothing more of it will run.
    QueueFaulted {
        /// The queue.
        queue: QueueId,
        /// The report's first line.
        reason: String,
    },
    /// The frame limit (`--frames`) is reached: the program should end with success.
    FrameLimit,
}

/// The guest's side of the runtime: where events go. Called on the pump's thread; must not block.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn deliver(&self, event: &GuestEvent);
}

/// A sink that drops everything: replays have no guest that listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGuest;

impl EventSink for NoGuest {
    fn deliver(&self, _event: &GuestEvent) {}
}
