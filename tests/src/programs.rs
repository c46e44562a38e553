//! Running programs in tests.

use std::{
    ffi::OsStr,
    io::ErrorKind,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::kit::KitError;

/// How long a test program may run.
const LIMIT: Duration = Duration::from_secs(60);

/// What a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Runs a program to its end, at most a minute long.
///
/// # Errors
///
/// [`KitError`] when it can't be started or doesn't end.
pub fn run(program: &Path, arguments: &[&str]) -> Result<Outcome, KitError> {
    run_with(program, arguments, &[], &mut |_| ())
}

/// Runs a program as [`run`] does, with environment variables, and calls `started` with its process id once it runs.
///
/// # Errors
///
/// As [`run`].
pub fn run_with(
    program: &Path,
    arguments: &[&str],
    variables: &[(&str, &OsStr)],
    started: &mut dyn FnMut(u32),
) -> Result<Outcome, KitError> {
    use std::os::unix::process::ExitStatusExt as _;
    let failed = |source| KitError::Io {
        doing: "running",
        path: program.to_owned(),
        source,
    };
    let start = Instant::now();
    let mut child = loop {
        let mut command = Command::new(program);
        command
            .args(arguments)
            // What earlier runs have left must not decide.
            .env("RELIC_SHADER_CACHE", "off")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        match command.spawn() {
            // A test that starts a program beside this one holds a copy of every open file from its fork to its exec:
            // also of this program's, if it was just being written. The kernel runs no file that is open for writing.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && start.elapsed() < LIMIT => {
                std::thread::sleep(Duration::from_millis(2));
            }
            result => break result.map_err(failed)?,
        }
    };
    let id = child.id();
    started(id);
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    // Both pipes are drained beside the wait, so that a talkative program can't stall on a full one.
    let read = std::thread::spawn(move || drain(stdout.as_mut()));
    let read_errors = std::thread::spawn(move || drain(stderr.as_mut()));
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Err(KitError::Hangs {
                program: program.to_owned(),
                id,
                limit: LIMIT,
            });
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ok(Outcome {
        stdout: read.join().unwrap_or_default(),
        stderr: read_errors.join().unwrap_or_default(),
        code: status.code(),
        signal: status.signal(),
    })
}

fn drain(pipe: Option<&mut impl std::io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What was read before an error is still worth showing.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a command of this name can be started.
#[must_use]
pub fn exists(command: impl AsRef<OsStr>) -> bool {
    Command::new(command)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}
