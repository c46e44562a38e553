//! libSceRtc: calendar time. A tick is a microsecond, counted from the beginning of year 1 (proleptic Gregorian calendar).

mod calendar;
mod convert;
mod now;
mod text;
mod tick;

pub(crate) use now::zone;

use crate::result::SceResult;

/// What calls answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RtcError {
    /// Of the calls that ask for the time now.
    Parameter = 0x8001_0602,
    Pointer = 0x80b5_0002,
    Value = 0x80b5_0003,
    Parse = 0x80b5_0007,
    Year = 0x80b5_0008,
    Month = 0x80b5_0009,
    Day = 0x80b5_000a,
    Hour = 0x80b5_000b,
    Minute = 0x80b5_000c,
    Second = 0x80b5_000d,
    Microsecond = 0x80b5_000e,
}

impl From<RtcError> for SceResult {
    fn from(error: RtcError) -> Self {
        Self::code(error as u32)
    }
}
