//! Counters that reports, Tracy plots and tests read.

use bevy_ecs::prelude::*;

/// Counted since start-up.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Submissions taken from the inbox.
    pub submissions: u64,
    /// Packets decoded.
    pub packets: u64,
    /// Draws committed.
    pub draws: u64,
    /// Dispatches committed.
    pub dispatches: u64,
    /// Times a batch was cut because the CPU had to read what the GPU was still to write.
    pub cuts: u64,
    /// Times a queue stopped at a wait that was not satisfied.
    pub waits: u64,
    /// Batches submitted to the GPU.
    pub batches: u64,
    /// Flips presented.
    pub flips: u64,
    /// Shader programs analysed.
    pub programs: u64,
    /// Pipelines made.
    pub pipelines: u64,
    /// Resource plans walked.
    pub walks: u64,
    /// Walks among them that a tape handed back to the evaluator.
    pub handed_back: u64,
    /// Walks in which tape and evaluator differed, where both ran (`RELIC_VERIFY_TAPE`).
    pub tape_differences: u64,
    /// Bytes of textures, targets and programs that were compared with memory, as it may have been written.
    pub compared: u64,
    /// Bytes of textures and targets uploaded.
    pub uploaded: u64,
}
