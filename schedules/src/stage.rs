//! Schedule labels and stages.

use bevy_ecs::schedule::{ScheduleLabel, SystemSet};

/// The four schedules.
#[derive(ScheduleLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// Once, before the first message is taken.
    Startup,
    /// For every wake of the pump, until every queue is idle or waiting.
    Submit,
    /// For every flip whose GPU work is done.
    Frame,
    /// Once, after the last message.
    Shutdown,
}

/// The stages. Each schedule is a chain of some of them, in this order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Startup: open the device, make the stores.
    Open,
    /// Submit: inbox to queues, registrations, imports, threads.
    Ingest,
    /// Submit: waiting queues look at their labels; finished GPU work becomes events.
    Poll,
    /// Submit: PM4 to commands, draws and dispatches.
    Decode,
    /// Submit: what guest words each draw needs, and which programs.
    Capture,
    /// Submit: resource plans to descriptors.
    Evaluate,
    /// Submit: shader variants, pipelines, images, buffers.
    Prepare,
    /// Submit: the first row whose read meets a pending write cuts the batch.
    Hazard,
    /// Submit: Vulkan commands, in the stream's order.
    Commit,
    /// Submit: hand over to the GPU, timelines, retire.
    Settle,
    /// Frame: present or write pictures.
    Present,
    /// Frame: bring stores back under their budgets.
    Evict,
    /// Frame: counters and plots.
    Statistics,
    /// Shutdown: drain the GPU, write reports.
    Close,
}

impl Label {
    /// Every schedule.
    pub const ALL: [Self; 4] = [Self::Startup, Self::Submit, Self::Frame, Self::Shutdown];

    /// The stages of this schedule, in order.
    #[must_use]
    pub const fn stages(self) -> &'static [Stage] {
        match self {
            Self::Startup => &[Stage::Open],
            Self::Submit => &[
                Stage::Ingest,
                Stage::Poll,
                Stage::Decode,
                Stage::Capture,
                Stage::Evaluate,
                Stage::Prepare,
                Stage::Hazard,
                Stage::Commit,
                Stage::Settle,
            ],
            Self::Frame => &[Stage::Present, Stage::Evict, Stage::Statistics],
            Self::Shutdown => &[Stage::Close],
        }
    }
}
