//! Ids that more than one crate speaks of.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A GPU queue of the guest, numbered as the console does: 0 is graphics, `0x20 + 8 * pipe + queue` are compute
/// queues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(transparent)]
pub struct QueueId(pub u32);

impl QueueId {
    /// The graphics queue.
    pub const GRAPHICS: Self = Self(0);

    /// The compute queue at `pipe` and `queue`.
    #[must_use]
    pub const fn compute(pipe: u32, queue: u32) -> Self {
        Self(0x20 + 8 * pipe + queue)
    }

    /// Whether this is the graphics queue.
    #[must_use]
    pub const fn is_graphics(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_graphics() {
            f.write_str("graphics")
        } else if self.0 >= 0x20 {
            write!(f, "compute {}.{}", (self.0 - 0x20) / 8, (self.0 - 0x20) % 8)
        } else {
            write!(f, "queue {}", self.0)
        }
    }
}

/// Number of a submission, counted over all queues from 1 in the order they entered the inbox.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct SubmissionId(pub u64);

impl fmt::Display for SubmissionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
