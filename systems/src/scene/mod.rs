//! Scenes: recorded command streams with the memory they use and the results they should give.
//!
//! [`pm4cap`] reads files, [`player`] runs them through the same schedules as a running program, [`compare`] says
//! whether a result is as expected.

pub mod builder;
pub mod clock;
pub mod compare;
pub mod loops;
pub mod player;
pub mod pm4cap;
pub mod wrong;

pub use builder::{COMMANDS, DATA, SceneBuilder, packet, split};
pub use loops::{FrameTime, LoopTimes, Until, percentile};
pub use player::{Ending, Outcome, PlayError, PlayOptions, PlayReport, play};
pub use pm4cap::{Scene, SceneError};
pub use wrong::WrongPictures;
