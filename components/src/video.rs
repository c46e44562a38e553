//! Video outputs.

use bevy_ecs::prelude::*;
use relic_core::GuestAddress;
use serde::{Deserialize, Serialize};

/// Handle of an open video output, as the guest has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VideoHandle(pub i32);

/// Order of a scan-out buffer's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum VideoFormat {
    /// Bytes B, G, R, A with the sRGB curve (console number 0x8000000000000000).
    Bgra8Srgb,
    /// Bytes R, G, B, A with the sRGB curve (console number 0x8000000022000000).
    Rgba8Srgb,
}

/// A registered scan-out buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VideoBuffer {
    /// First byte.
    pub address: GuestAddress,
    /// Pixel format.
    pub format: VideoFormat,
    /// Whether the surface is tiled (64 KiB render-target order) or linear.
    pub tiled: bool,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Pixels from one row to the next, for linear buffers.
    pub pitch: u32,
}

/// A flip that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FlipRequest {
    /// The output.
    pub handle: VideoHandle,
    /// Index of the buffer, -1 for a blank screen.
    pub buffer: i32,
    /// When it takes effect: 1 at the vertical blank.
    pub mode: u32,
    /// The guest's own number, handed back with the event.
    pub argument: i64,
}

/// An open video output: an entity.
#[derive(Component, Clone, Debug)]
#[component(immutable)]
pub struct VideoOutput(pub VideoHandle);

/// The scan-out buffers of an output, by index.
#[derive(Component, Clone, Debug, Default)]
pub struct VideoBuffers(pub Vec<Option<VideoBuffer>>);

/// Flips whose GPU work has finished, waiting for the Frame schedule.
#[derive(Resource, Clone, Debug, Default)]
pub struct ReadyFlips(pub Vec<FlipRequest>);
