//! The guest's system libraries, and the entry point of relinked programs.
//!
//! One shared object that exports NIDs (and the two `relic_*` symbols of [`relic_core::program`]), nothing else.
//! A folder is a guest library, a file one area of it. Every function that guests may call carries
//! `#[guest_fn(library)]`, which computes its NID, exports it and enters it in [`export::EXPORTS`]; there is no
//! second list.
//!
//! Invariants:
//! - No plain C name is ever exported: glibc's own symbols would bind to it.
//! - Nothing unwinds into guest frames: guest functions are `extern "sysv64"`, which ends the process on a panic.
//! - Guest pointers arrive as the types of [`pointer`]; only those dereference them.
//! - A guest call that Relic can't honour ends the program with a report, or returns the console's error code;
//!   it never pretends.

#![expect(
    non_snake_case,
    non_upper_case_globals,
    reason = "guest exports keep their guest names"
)]

mod clock;
pub mod export;
mod image;
mod libSceAgc;
mod libSceAgcDriver;
mod libSceAudioOut;
mod libSceFiber;
mod libSceMsgDialog;
mod libScePad;
mod libSceRtc;
mod libSceSaveData;
mod libSceVideoOut;
mod libc;
mod libkernel;
mod log;
mod mapped;
mod modules;
mod pointer;
mod process;
mod report;
mod result;
mod runtime;
mod start;
mod system;
mod trap;
