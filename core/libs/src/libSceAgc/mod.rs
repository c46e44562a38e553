//! libSceAgc: shaders, and the builders that append packets to command buffers.
//!
//! Packet sizes are part of the ABI: programs reserve space by sizes that their compiler has inlined. So every builder
//! appends exactly what the console's library does ([`size`] has the table, and its test holds every builder to it).
//! Where the console writes a packet of its own making inside a reservation, ours writes another of the same length.

mod control;
mod cursor;
mod dispatch;
mod draw;
mod flip;
mod initialise;
mod marker;
mod memory;
pub(crate) mod packet;
mod patch;
mod registers;
mod shader;
mod size;
mod state;
mod wait;

use crate::result::SceResult;

/// Error codes of this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum AgcError {
    InvalidProgram = 0x8a6c_0005,
    InvalidArgument = 0x8a6c_000a,
}

impl From<AgcError> for SceResult {
    fn from(error: AgcError) -> Self {
        Self::code(error as u32)
    }
}
