//! Standard output and standard error.
//!
//! Standard output is buffered as in C: by lines on a terminal, in blocks otherwise, written at exit. Standard error
//! is not buffered, and a write to it writes out what standard output holds first, so that their order is kept.

mod print;
mod stream;

use std::{
    io::IsTerminal as _,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Size of the output buffer in bytes.
const BUFFER: usize = 64 * 1024;

/// What standard output holds back.
struct Output {
    bytes: Vec<u8>,
    by_line: bool,
    failed: bool,
}

static OUTPUT: LazyLock<Mutex<Output>> = LazyLock::new(|| {
    Mutex::new(Output {
        bytes: Vec::with_capacity(BUFFER),
        by_line: std::io::stdout().is_terminal(),
        failed: false,
    })
});

fn output() -> MutexGuard<'static, Output> {
    OUTPUT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Output {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= BUFFER || self.by_line && bytes.contains(&b'\n') {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.failed |= !write_all(1, &self.bytes);
        self.bytes.clear();
    }
}

/// Writes everything, by `write(2)` alone.
fn write_all(descriptor: i32, bytes: &[u8]) -> bool {
    let mut left = bytes;
    while !left.is_empty() {
        // SAFETY: the bytes are ours.
        let written = unsafe { libc::write(descriptor, left.as_ptr().cast(), left.len()) };
        match usize::try_from(written) {
            Ok(written) => left = &left[written..],
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

/// Writes to standard output at once, after what it holds.
pub(crate) fn write_stdout(bytes: &[u8]) -> bool {
    let mut output = output();
    output.flush();
    write_all(1, bytes)
}

/// Writes to standard error, after what standard output holds.
pub(crate) fn write_stderr(bytes: &[u8]) -> bool {
    let mut output = output();
    output.flush();
    write_all(2, bytes)
}

/// Writes out what standard output holds. False when some of it was lost since the last call.
pub(crate) fn flush_all() -> bool {
    let mut output = output();
    output.flush();
    !std::mem::take(&mut output.failed)
}

/// Writes out what standard output holds, for a report: from a signal handler, so it never waits long for the lock,
/// nor frees anything.
pub(crate) fn flush_for_report() {
    let Some(output) = LazyLock::get(&OUTPUT) else {
        return;
    };
    for _ in 0..20 {
        if let Ok(mut output) = output.try_lock() {
            write_all(1, &output.bytes);
            output.bytes.clear();
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
