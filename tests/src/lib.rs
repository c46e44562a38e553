//! What the workspace's tests share: the guest kit, the runtime library's place, and running programs.
//!
//! Guest programs are C sources in `guests/`. [`kit::Kit`] makes PS5-format executables of them, and native programs
//! of the same sources, so that a test can compare what both do.

pub mod counting;
pub mod elf;
pub mod kit;
pub mod programs;
pub mod runtime;

pub use runtime::runtime_library;
