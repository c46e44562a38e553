//! Scenes: recorded command streams with the memory they use and the results they should give.
//!
//! [`script`] says what a scene is. [`pm4cap`] and [`file`] read files, [`recording`] writes them from running programs,
//! [`player`] runs them through the same schedules as a running program, [`compare`] says whether a result is as expected.

pub mod builder;
pub mod clock;
pub mod compare;
pub mod examine;
pub mod file;
pub mod loops;
pub mod memory;
pub mod player;
pub mod pm4cap;
pub mod recording;
pub mod script;
mod texels;
pub mod wrong;

pub use builder::{COMMANDS, DATA, SceneBuilder, packet, split};
pub use loops::{FrameTime, LoopTimes, Until, percentile};
pub use player::{Ending, Outcome, PlayError, PlayOptions, PlayReport, play};
pub use script::{Event, ExpectedImage, QueueState, Scene, SceneImage, SceneSubmission};
pub use wrong::WrongPictures;

/// Why a file is no scene.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SceneError {
    /// Of a `.pm4cap` file.
    #[error(transparent)]
    Pm4Cap(#[from] pm4cap::SceneError),
    /// Of Relic's own format.
    #[error(transparent)]
    Own(#[from] file::FileError),
    /// Of neither.
    #[error("this is no scene: it begins neither with PM4CAP01 nor with RELSCENE")]
    Neither,
}

/// Parses a scene of either format.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(file: &[u8]) -> Result<Scene, SceneError> {
    if file.starts_with(file::MAGIC) {
        Ok(file::parse(file)?)
    } else if file.starts_with(b"PM4CAP01") {
        Ok(pm4cap::parse(file)?)
    } else {
        Err(SceneError::Neither)
    }
}
