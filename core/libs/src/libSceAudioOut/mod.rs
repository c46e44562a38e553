//! libSceAudioOut: ports that a program pushes sound into, a grain at a time. A push waits as long as the sound before it lasts.
//!
//! There is no host's sound yet: what is pushed goes nowhere, or into wave files.

mod format;
mod pace;
mod port;
mod wave;

use crate::result::SceResult;

/// What calls answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum AudioError {
    NotOpened = 0x8026_0001,
    InvalidPort = 0x8026_0003,
    InvalidPointer = 0x8026_0004,
    PortFull = 0x8026_0005,
    InvalidSize = 0x8026_0006,
    InvalidFormat = 0x8026_0007,
    InvalidSampleFrequency = 0x8026_0008,
    InvalidVolume = 0x8026_0009,
    InvalidPortType = 0x8026_000a,
    AlreadyInitialized = 0x8026_000e,
    NotInitialized = 0x8026_000f,
    SystemResource = 0x8026_0011,
    InvalidFlag = 0x8026_0013,
}

impl From<AudioError> for SceResult {
    fn from(error: AudioError) -> Self {
        Self::code(error as u32)
    }
}
