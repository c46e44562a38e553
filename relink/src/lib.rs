//! The relinker: a decrypted PS5 executable in, a native Linux program out.
//!
//! ```text
//! read   input/    the file as it is: segments, dynamic tags, symbols, relocations; every bound checked
//! plan   plan/     what the output will hold and at which address; every rule checked
//! write  output/   the planned parts as bytes, then a temporary file, then one rename
//! ```
//!
//! `title/` leads a program and its modules through all three, from files to files.
//!
//! Each phase borrows the one before it and changes nothing in it. Whatever can be refused is refused by the first
//! two, so that no output byte exists before all checks have passed. The same input gives the same bytes.
//!
//! A program becomes a position-independent executable that the OS loader starts like any other, a
//! module a shared object. The guest's segments keep their addresses and their contents; behind them come three appended segments:
//!
//! | segment | holds |
//! | --- | --- |
//! | R | program headers, interpreter, hash, symbols, strings, relocations, [`relic_core::program::ProgramInfo`] and its tables |
//! | RX | the entry stub and one trap stub per import |
//! | RW | `.dynamic` (the loader stores its debug pointer there) and the two slots through which the stubs jump |
//!
//! What runs the program, and how a missing import is reported, is the runtime library's part of the contract in
//! [`relic_core::program`].

pub mod address;
pub mod code;
pub mod error;
pub mod filter;
pub mod input;
pub mod lower;
pub mod names;
pub mod output;
pub mod patches;
pub mod plan;
mod registry;
pub mod report;
pub mod title;

use std::path::PathBuf;

pub use address::{FileOffset, ImageAddress};
pub use code::syscalls::SystemCallPolicy;
pub use error::RelinkError;
pub use filter::FilterLevel;
pub use lower::{Lowerings, Target};
pub use report::{RelinkReport, Timings};

/// What to relink, to where, and how.
#[derive(Clone, Debug, Default)]
pub struct RelinkOptions {
    /// The PS5 executable: an ELF file that its owner has already decrypted, or a SELF container without encryption.
    pub input: PathBuf,
    /// The Linux program to write. Its folder is made when missing; a file of that name is replaced. Modules go to
    /// `app0/` beside it.
    pub output: PathBuf,
    /// A runtime library to copy to `libs/librelic.so` beside the output. `None` leaves `libs/` to the caller.
    pub runtime_library: Option<PathBuf>,
    /// Folders to search for modules, beside the title's own.
    pub module_folders: Vec<PathBuf>,
    /// Where the OS loader looks for the runtime library: an absolute path or one that begins with `$ORIGIN`, the
    /// program's folder. `None` is `$ORIGIN/libs`.
    pub run_path: Option<String>,
    /// A file of patches to apply. What was patched is written to `<stem>.patches.toml` beside the output.
    pub patches: Option<PathBuf>,
    /// Whether to write `<stem>.registry.json` beside the output: every import with its slots.
    pub registry: bool,
    /// What happens to system calls in code.
    pub system_calls: SystemCallPolicy,
    /// Which imports are left out.
    pub filter: FilterLevel,
    /// Which instructions are replaced.
    pub lowerings: Lowerings,
}

/// Relinks one executable and its modules for Linux.
///
/// # Errors
///
/// Every [`RelinkError`]: an input can't be read, isn't a PS5 file, or holds something that a native program can't
/// express; or the output can't be written. In each case nothing is left at the outputs' paths that was not there before.
pub fn relink(options: &RelinkOptions) -> Result<RelinkReport, RelinkError> {
    title::relink(options)
}

/// Checks that a file is a runtime library.
///
/// # Errors
///
/// [`RelinkError::NoRuntimeLibrary`] where it exports no `relic_start`; [`RelinkError::Io`] where it can't be read.
pub fn check_runtime_library(path: &std::path::Path) -> Result<(), RelinkError> {
    output::runtime::open(path).map(drop)
}

/// Relinks a program that is in memory and has no modules, without touching any file.
///
/// # Errors
///
/// As [`relink`], less what concerns files.
pub fn relink_image(bytes: &[u8]) -> Result<(output::Image<'_>, RelinkReport), RelinkError> {
    relink_object(bytes, input::ObjectKind::Program, plan::Rules::default())
}

/// Relinks one program or module that is in memory as if it were alone, without touching any file.
///
/// # Errors
///
/// As [`relink`], less what concerns files.
pub fn relink_object(
    bytes: &[u8],
    kind: input::ObjectKind,
    rules: plan::Rules,
) -> Result<(output::Image<'_>, RelinkReport), RelinkError> {
    title::relink_alone(bytes, kind, rules, kind == input::ObjectKind::Program)
}

/// What one program or module asks for and exports, seen without the rest of its title.
///
/// # Errors
///
/// As [`relink_image`].
pub fn inspect(bytes: &[u8], kind: input::ObjectKind) -> Result<RelinkReport, RelinkError> {
    let rules = plan::Rules {
        system_calls: SystemCallPolicy::Trap,
        ..plan::Rules::default()
    };
    title::relink_alone(bytes, kind, rules, false).map(|(_, report)| report)
}
