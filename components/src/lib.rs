//! Components and resources: plain data, no behaviour.
//!
//! Long-lived things of the guest are entities: threads ([`thread`]), GPU queues ([`queue`]), shader registrations
//! ([`shader`]), pipelines ([`pipeline`]), host imports ([`import`]), video outputs ([`video`]). What lives for one
//! submission are rows of [`batch`]es: vectors in components of the queue entity, cleared and reused, linked by
//! `u32` indices. Rows are never entities.
//!
//! Components that stand for something heavy hold a typed id; the stores behind the ids are resources of the
//! `systems` crate. What reaches the world from other threads are the [`message`]s of the inbox.

pub mod batch;
pub mod import;
pub mod message;
pub mod pipeline;
pub mod queue;
pub mod registers;
pub mod shader;
pub mod statistics;
pub mod thread;
pub mod video;
pub mod work;

pub use batch::{Accesses, CommandRow, Commands, Dispatches, Draws, PacketRows, PacketTypeId};
pub use message::{CommandBuffer, EventSink, GuestEvent, Message, NoGuest, Submission};
pub use queue::{CommandCursor, Fault, Queue, QueueStatus};
pub use registers::{RegisterBank, RegisterBanks};
pub use statistics::Counters;
