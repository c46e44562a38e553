//! Runs `relic` as its users do.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::process::{Command, Output};

/// The command, without what the developer has set.
pub fn relic() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relic"));
    for name in [
        "RELIC_GPU",
        "RELIC_LOG",
        "RELIC_TIMES",
        "RELIC_FRAMES",
        "RELIC_RUNTIME_LIBRARY",
        "RELIC_SHADER_CACHE",
    ] {
        command.env_remove(name);
    }
    command
}

/// Exit code, standard output, standard error.
pub fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    (
        status.code(),
        String::from_utf8_lossy(&stdout).into_owned(),
        String::from_utf8_lossy(&stderr).into_owned(),
    )
}
