//! libSceCommonDialog and libSceMsgDialog. There is no window to ask in: a question is answered at once with the button that
//! it would begin on, and the log says so. A dialog without buttons runs until the program closes it.

mod message;
mod status;

use crate::result::SceResult;

/// What calls answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum DialogError {
    NotSystemInitialized = 0x80b8_0001,
    AlreadySystemInitialized = 0x80b8_0002,
    NotInitialized = 0x80b8_0003,
    AlreadyInitialized = 0x80b8_0004,
    NotFinished = 0x80b8_0005,
    InvalidState = 0x80b8_0006,
    Parameter = 0x80b8_000a,
    NotRunning = 0x80b8_000b,
    Null = 0x80b8_000d,
    NotSupported = 0x80b8_000f,
}

impl From<DialogError> for SceResult {
    fn from(error: DialogError) -> Self {
        Self::code(error as u32)
    }
}
