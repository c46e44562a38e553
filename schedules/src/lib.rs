//! What runs when: schedule labels, the stages of each and their order, the plug-in interface, the builder that
//! checks it all, and the pump that runs it.
//!
//! Four schedules exist ([`Label`]); each is a chain of [`Stage`]s, and every system is in exactly one stage. The
//! chain is the order; two systems of one stage that touch the same data in conflicting ways are a start-up error
//! until one is ordered before the other. [`RuntimeBuilder::build`] finds all such errors and names both sides.
//!
//! A packet of the guest's command stream is a type that implements [`Packet`]; a [`Plugin`] adds packets and
//! systems. Relic's own packets use the same door: see `docs/add-a-packet.md`.

pub mod builder;
pub mod describe;
mod executor;
pub mod packet;
pub mod pump;
pub mod stage;

pub use builder::{BuildErrors, Plugin, Runtime, RuntimeBuilder, StartError};
pub use executor::{SystemTime, SystemTimes};
pub use packet::{
    Barrier, DecodeContext, Decoded, Effect, HeaderMatch, Packet, PacketRefusal, PacketTable, Recorder, Retry,
};
pub use pump::{Pump, PumpControl, PumpFailure, SystemErrors, init_task_pool};
pub use stage::{Label, Stage};
