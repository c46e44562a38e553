//! The systems of Relic's runtime, one folder or file per stage, and its own packets as plug-ins.
//!
//! [`runtime::SystemsPlugin`] is the list of systems in their stages; [`packets::PacketsPlugin`] the list of packets.
//! The way of the data: [`ingest`] puts submissions on queue entities, [`decode`] turns them into rows, [`capture`]
//! finds programs, [`evaluate`] walks resource plans, [`prepare`] makes pipelines, images and bindings, [`hazard`]
//! cuts where the CPU must wait, [`commit`] records, [`settle`] submits.

pub mod capture;
pub mod commit;
pub mod config;
pub mod decode;
mod evaluate;
pub mod frame;
pub mod gpu;
mod gpu_zones;
mod hazard;
mod imports;
pub mod ingest;
pub mod live;
pub mod packets;
mod page_table;
mod poll;
pub mod prepare;
pub mod programs;
pub mod registers;
pub mod resources;
pub mod runtime;
pub mod scene;
pub mod settle;
pub mod shader_cache;
mod shader_pool;
mod startup;

use relic_components::{Commands, QueueStatus};

pub use relic_components::Counters;

/// Whether a queue has rows that the stages from Capture to Commit work on in this run.
fn has_work(status: &QueueStatus, commands: &Commands) -> bool {
    commands.committed < commands.rows.len()
        && !matches!(
            status,
            QueueStatus::WaitingGpu(_) | QueueStatus::WaitingShaders | QueueStatus::Faulted(_)
        )
}

/// The how-to's program, compiled and run as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/add-a-packet.md")]
struct AddAPacket;
