//! Standard output that may close at any time.

use std::io::{self, Write as _};

use crate::failure::Failure;

/// Prints a command's answer.
///
/// # Errors
/// [`Failure::OutputClosed`] when nobody reads; other write errors as they are.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Prints an answer that is not text.
///
/// # Errors
/// As [`print`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::io("writing to", "standard output".as_ref())(error),
        })
}
