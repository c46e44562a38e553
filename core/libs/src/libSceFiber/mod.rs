//! libSceFiber: stacks that threads switch between by themselves.
//!
//! A fiber's object lies in the guest's memory, and so does the stack that it brings. A fiber that brings none runs on the stack of
//! the thread that runs it, and begins anew each time. Fibers go from thread to thread: nothing of a thread's may be kept
//! over a switch. So whoever switches passes the thread's record ([`run::Run`]) along, and whoever arrives takes it from there.

mod object;
mod run;
mod switch;

use crate::result::SceResult;

/// What calls answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum FiberError {
    Null = 0x8059_0001,
    Alignment = 0x8059_0002,
    Range = 0x8059_0003,
    Invalid = 0x8059_0004,
    Permission = 0x8059_0005,
    State = 0x8059_0006,
}

impl From<FiberError> for SceResult {
    fn from(error: FiberError) -> Self {
        Self::code(error as u32)
    }
}
