//! libSceVideoOut: outputs, scan-out buffers and flips.
//!
//! What guest threads ask for at once (flip status, pending flips, busy buffers) lives in the [`Output`]s here. The
//! runtime shows the buffers and says when a flip is done ([`flip_done`]).

mod buffer;
mod event;
mod flip;
mod output;
mod status;
mod vblank;

pub(crate) use flip::{cancel, flip_done, reserve_for_queue};
