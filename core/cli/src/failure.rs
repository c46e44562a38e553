//! Why a command failed, and how that is shown.

use std::{error::Error, fmt::Write as _, io, path::Path, path::PathBuf};

use miette::Diagnostic;
use relic_relink::RelinkError;

/// Why a command failed.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum Failure {
    /// A file operation failed.
    #[error("{doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The relinker refused the input.
    #[error("{} can't be relinked", input.display())]
    #[diagnostic(help("`relic info` shows what the file is and what it asks for"))]
    Relink {
        /// The input.
        input: PathBuf,
        /// Why.
        source: Box<RelinkError>,
    },
    /// No runtime library.
    #[error("the runtime library is not where it should be; looked for{}", list(looked))]
    #[diagnostic(help(
        "build it with `cargo build -p relic-libs`, or name it with --runtime or RELIC_RUNTIME_LIBRARY"
    ))]
    NoRuntimeLibrary {
        /// The places.
        looked: Vec<PathBuf>,
    },
    /// What was named, or found, is no runtime library.
    #[error("{} is no runtime library of Relic's: {problem}", path.display())]
    #[diagnostic(help("{said_by}"))]
    BadRuntimeLibrary {
        /// What was named.
        path: PathBuf,
        /// Why.
        problem: &'static str,
        /// Who says so.
        said_by: &'static str,
    },
    /// A folder without a program.
    #[error("{} has no eboot.bin", folder.display())]
    #[diagnostic(help("give the folder of an unpacked title, or the path of its eboot.bin"))]
    NoProgram {
        /// The folder.
        folder: PathBuf,
    },
    /// Nowhere to cache.
    #[error("there is no folder for relinked programs: neither RELIC_CACHE, XDG_CACHE_HOME nor HOME is set")]
    #[diagnostic(help("set RELIC_CACHE to a folder on a disk with room for the program"))]
    NoCache,
    /// The program could not be started.
    #[error("{} does not start", program.display())]
    #[diagnostic(help(
        "if the system says \"permission denied\", the cache lies on a disk that is mounted noexec: set RELIC_CACHE to a folder elsewhere"
    ))]
    Start {
        /// The relinked program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something from another crate, whose text says it all.
    #[error("{doing}")]
    Work {
        /// What was being done.
        doing: String,
        /// Why it failed.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Something that this command itself found.
    #[error("{what}")]
    Refused {
        /// What.
        what: String,
        /// What to do.
        #[help]
        help: Option<String>,
    },
    /// Standard output was closed: nobody reads any more.
    #[error("standard output is closed")]
    OutputClosed,
}

fn list(paths: &[PathBuf]) -> String {
    let lines: Vec<String> = paths
        .iter()
        .map(|path| format!("\n  {}", path.display()))
        .collect();
    lines.concat()
}

impl Failure {
    /// A failed file operation, for `map_err`.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// The relinker's refusal, for `map_err`.
    pub fn relink(input: &Path) -> impl FnOnce(RelinkError) -> Self {
        let input = input.to_owned();
        |error| match error {
            // The input is not to blame.
            RelinkError::Io { doing, path, source } => Self::Io { doing, path, source },
            error => Self::Relink {
                input,
                source: Box::new(error),
            },
        }
    }

    /// An error of another crate, for `map_err`.
    pub fn work<E: Into<Box<dyn Error + Send + Sync>>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        let doing = doing.into();
        move |source| Self::Work {
            doing,
            source: source.into(),
        }
    }

    /// Something this command found, and what to do about it.
    pub fn refused(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused {
            what: what.into(),
            help: Some(help.into()),
        }
    }
}

/// A failure as its user reads it: what, why, and what to do.
#[must_use]
pub fn text(failure: &Failure) -> String {
    let mut text = format!("error: {failure}\n");
    let mut last = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        // Some errors repeat their cause in their own text.
        if !last.contains(&reason) {
            let _ = writeln!(text, "  because {reason}");
        }
        last = reason;
        cause = error.source();
    }
    if let Some(help) = failure.help() {
        let _ = writeln!(text, "  help: {help}");
    }
    text
}

/// Shows a failure on standard error.
pub fn show(failure: &Failure) {
    eprint!("{}", text(failure));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_why_and_what_to_do() {
        let inner = io::Error::other("the disk is full");
        let failure = Failure::Start {
            program: "app".into(),
            source: io::Error::other(inner),
        };
        let text = text(&failure);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..2],
            ["error: app does not start", "  because the disk is full"]
        );
        assert!(lines[2].starts_with("  help: ") && lines.len() == 3, "{text}");
    }
}
