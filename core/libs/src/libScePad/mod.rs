//! libScePad: the first player's controller. It rests unless a script plays it.

mod device;
mod script;
mod state;

use crate::result::SceResult;

/// What calls answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum PadError {
    InvalidArgument = 0x8092_0001,
    InvalidPort = 0x8092_0002,
    InvalidHandle = 0x8092_0003,
    AlreadyOpened = 0x8092_0004,
    NotInitialized = 0x8092_0005,
    NoHandle = 0x8092_0008,
    Fatal = 0x8092_00ff,
}

impl From<PadError> for SceResult {
    fn from(error: PadError) -> Self {
        Self::code(error as u32)
    }
}
