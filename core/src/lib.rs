//! What every other crate of Relic stands on: addresses and ids, NIDs, guest memory, the contract between a
//! relinked program and its runtime library, and the guest GPU's plain data formats.
//!
//! Nothing here knows bevy_ecs, Vulkan or PM4 streams. Crates above depend on this one and never the other way
//! round (`tests/tests/arrows.rs` holds that).

pub mod address;
pub mod file;
pub mod gpu;
pub mod ids;
pub mod inbox;
pub mod memory;
pub mod nid;
pub mod pack;
pub mod program;
pub mod range_set;
pub mod trace;

pub use address::{GuestAddress, GuestRange};
pub use ids::{QueueId, SubmissionId};
pub use inbox::Inbox;
pub use memory::{GuestMemory, MemoryReader, Unmapped, WriteError};
pub use nid::Nid;
pub use range_set::RangeSet;
