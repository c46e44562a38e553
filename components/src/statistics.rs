//! Counters that reports, Tracy plots and tests read.

use bevy_ecs::prelude::*;

/// The counters: what each counts, and its name.
macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        /// Counted since start-up.
        #[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$meta])* pub $name: u64,)*
        }

        impl Counters {
            /// What was counted since they stood at `before`.
            #[must_use]
            pub const fn since(&self, before: &Self) -> Self {
                Self { $($name: self.$name.saturating_sub(before.$name),)* }
            }

            /// All by name, for reports.
            #[must_use]
            pub const fn entries(&self) -> [(&'static str, u64); [$(stringify!($name)),*].len()] {
                [$((stringify!($name), self.$name)),*]
            }
        }
    };
}

counters! {
    /// Submissions taken from the inbox.
    submissions,
    /// Packets decoded.
    packets,
    /// Draws committed.
    draws,
    /// Dispatches committed.
    dispatches,
    /// Times a batch was cut because the CPU had to read what the GPU was still to write.
    cuts,
    /// Times a queue stopped at a wait that was not satisfied.
    waits,
    /// Batches submitted to the GPU.
    batches,
    /// Flips presented.
    flips,
    /// Shader programs analysed.
    programs,
    /// Pipelines made.
    pipelines,
    /// Stages of pipelines that came from the cache on disk.
    stages_kept,
    /// Stages that were recompiled, where there is such a cache.
    stages_made,
    /// Resource plans walked.
    walks,
    /// Walks among them that a tape handed back to the evaluator.
    handed_back,
    /// Walks in which tape and evaluator differed, where both ran (`RELIC_VERIFY_TAPE`).
    tape_differences,
    /// Bytes of textures, targets and programs that were compared with memory, as it may have been written.
    compared,
    /// Bytes of textures and targets uploaded.
    uploaded,
}
