//! The relinker: a decrypted PS5 executable in, a native Linux program out.
//!
//! ```text
//! read   input/    the file as it is: segments, dynamic tags, symbols, relocations; every bound checked
//! plan   plan/     what the output will hold and at which address; every rule checked
//! write  output/   the planned parts as bytes, then a temporary file, then one rename
//! ```
//!
//! Each phase borrows the one before it and changes nothing in it. Whatever can be refused is refused by the first
//! two, so that no output byte exists before all checks have passed. The same input gives the same bytes.
//!
//! The output is a position-independent executable that the OS loader starts like any other. The guest's segments
//! keep their addresses and their contents; behind them come three appended segments:
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
pub mod error;
pub mod input;
pub mod names;
pub mod output;
pub mod plan;
pub mod report;

use std::{fs, path::PathBuf, time::Instant};

pub use address::{FileOffset, ImageAddress};
pub use error::RelinkError;
pub use report::{RelinkReport, Timings};

use error::io_error;

/// What to relink, and to where.
#[derive(Clone, Debug)]
pub struct RelinkOptions {
    /// The PS5 executable: an ELF file that its owner has already decrypted.
    pub input: PathBuf,
    /// The Linux program to write. Its folder is made when missing; a file of that name is replaced.
    pub output: PathBuf,
    /// A runtime library to copy to `libs/librelic.so` beside the output. `None` leaves `libs/` to the caller.
    pub runtime_library: Option<PathBuf>,
}

/// Relinks one executable for Linux.
///
/// # Errors
///
/// Every [`RelinkError`]: the input can't be read, isn't a PS5 executable, or holds something that a native program
/// can't express; or the output can't be written. In each case nothing is left at the output's path that was not
/// there before.
pub fn relink(options: &RelinkOptions) -> Result<RelinkReport, RelinkError> {
    let start = Instant::now();
    // Before it is opened: opening a named pipe would wait for a writer.
    let metadata = fs::metadata(&options.input).map_err(io_error("opening the input", &options.input))?;
    if !metadata.is_file() {
        return Err(RelinkError::InputNotAFile {
            path: options.input.clone(),
        });
    }
    let file = fs::File::open(&options.input).map_err(io_error("opening the input", &options.input))?;
    refuse_same_file(options, &file)?;
    let size = file
        .metadata()
        .map_err(io_error("measuring the input", &options.input))?
        .len();
    // An empty file can't be mapped; it fails as "not an ELF file" like any other wrong content.
    let mapping = if size == 0 {
        None
    } else {
        // SAFETY: the mapping is private and read-only, and lives only in this function. Bytes that another process
        // writes meanwhile may be seen or not; no check is repeated on bytes that were checked by address, and a
        // file cut short under us ends the process by SIGBUS, as with every mapped file.
        Some(unsafe { memmap2::Mmap::map(&file) }.map_err(io_error("mapping the input", &options.input))?)
    };
    let bytes = mapping.as_deref().unwrap_or_default();

    let (image, mut report) = relink_image(bytes)?;
    let written = Instant::now();
    output::file::write(&image, &options.output, options.runtime_library.as_deref())?;
    report.timings.write += written.elapsed();
    report.timings.total = start.elapsed();
    tracing::debug!(output = %options.output.display(), imports = report.imports.len(), "relinked");
    Ok(report)
}

/// Relinks a program that is in memory, without touching any file.
///
/// # Errors
///
/// As [`relink`], less what concerns files.
pub fn relink_image(bytes: &[u8]) -> Result<(output::Image<'_>, RelinkReport), RelinkError> {
    let start = Instant::now();
    let program = input::Program::read(bytes)?;
    let read = start.elapsed();

    let start = Instant::now();
    let plan = plan::Plan::new(&program)?;
    let planned = start.elapsed();

    let start = Instant::now();
    let image = output::Image::build(&program, &plan)?;
    let timings = Timings {
        read,
        plan: planned,
        write: start.elapsed(),
        total: read + planned + start.elapsed(),
    };
    Ok((image, RelinkReport::new(&program, &plan, timings)))
}

/// Refuses an output path that names the input file itself: its owner would lose it.
fn refuse_same_file(options: &RelinkOptions, input: &fs::File) -> Result<(), RelinkError> {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(output) = fs::metadata(&options.output) else {
        return Ok(());
    };
    let input = input
        .metadata()
        .map_err(io_error("measuring the input", &options.input))?;
    if (input.dev(), input.ino()) == (output.dev(), output.ino()) {
        return Err(RelinkError::OutputIsInput {
            path: options.output.clone(),
        });
    }
    Ok(())
}
