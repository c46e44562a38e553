//! Why the kit could not build.

use std::{io, path::Path, path::PathBuf, process::ExitStatus, time::Duration};

/// Why the kit could not build, or a test program not run.
#[derive(Debug, thiserror::Error)]
pub enum KitError {
    /// A file operation failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the OS said.
        source: io::Error,
    },
    /// No fitting compiler.
    #[error(
        "no clang that knows the target x86_64-sie-ps5 with an lld of the same version was found; tried {tried}; on \
         Debian: apt install clang-22 lld-22"
    )]
    NoToolchain {
        /// The commands that were tried.
        tried: String,
    },
    /// A tool failed.
    #[error("{command} failed ({status}):\n{said}")]
    Tool {
        /// The command line.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// Its standard error.
        said: String,
    },
    /// A line of an import list is wrong.
    #[error("{}:{line}: {problem}: {text:?}", path.display())]
    ImportList {
        /// The list.
        path: PathBuf,
        /// Line number from 1.
        line: usize,
        /// What is wrong.
        problem: &'static str,
        /// The line.
        text: String,
    },
    /// The linked file is not what the post-step expects.
    #[error("the linked file can't be finished: {problem}; console.ld and the post-step must agree")]
    Linked {
        /// What is wrong.
        problem: String,
    },
    /// The sources of others' programs are not there.
    #[error(
        "the sources of {name} are not in {}: `./x sources` fetches them from Debian, which needs the network once; \
         RELIC_SOURCES names another folder", folder.display()
    )]
    NoForeignSources {
        /// The program.
        name: String,
        /// Where they would be.
        folder: PathBuf,
    },
    /// A guest folder without sources.
    #[error("{} has no .c or .cc files", folder.display())]
    NoSources {
        /// The folder.
        folder: PathBuf,
    },
    /// No runtime library.
    #[error("there is no runtime library at {}: {hint}", path.display())]
    NoRuntime {
        /// Where it was expected.
        path: PathBuf,
        /// Why there.
        hint: &'static str,
    },
    /// A program does not end.
    #[error("{} (process {id}) did not end within {limit:?} and was stopped", program.display())]
    Hangs {
        /// The program.
        program: PathBuf,
        /// Its process id.
        id: u32,
        /// The limit.
        limit: Duration,
    },
}

pub(super) fn io_error<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> KitError + 'a {
    move |source| KitError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
