//! The command line of Relic: relink, run, replay, inspect.
//!
//! One file per subcommand, each with its arguments and one function that does the work. What a command prints on
//! standard output is its answer; everything else goes to standard error.
//!
//! | exit code | means |
//! | --- | --- |
//! | 0 | done |
//! | 1 | the command line is wrong |
//! | 2 | the work failed: the text says why |
//!
//! `relic run` alone ends with the program's own code (128 + n when signal n ended it).

mod cache;
mod conversion;
mod failure;
mod files;
mod gpu;
mod imports;
mod info;
mod nid;
mod output;
mod progress;
mod relink;
mod replay;
mod run;
mod runtime_library;
mod save_inputs;
mod schedule;
mod shader;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

/// Exit code of a wrong command line.
const EXIT_USAGE: u8 = 1;
/// Exit code of work that failed.
const EXIT_FAILED: u8 = 2;

/// Turns PS5 executables that you own, already decrypted, into native Linux programs, and runs them.
#[derive(Debug, Parser)]
#[command(name = "relic", version, long_version = LONG_VERSION, max_term_width = 110, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// Version, and what decides whether a relinked program and a runtime library fit together.
const LONG_VERSION: &str = if cfg!(feature = "tracy") {
    concat!(env!("CARGO_PKG_VERSION"), "\nTracy: in this build")
} else {
    concat!(env!("CARGO_PKG_VERSION"), "\nTracy: not in this build")
};

#[derive(Debug, Subcommand)]
enum Command {
    Relink(relink::Arguments),
    Run(run::Arguments),
    Info(info::Arguments),
    Nid(nid::Arguments),
    Schedule(schedule::Arguments),
    Replay(replay::Arguments),
    Shader(shader::Arguments),
    Gpu(gpu::Arguments),
}

fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => {
            // Help and version come this way too. A closed output has nobody to complain to.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(EXIT_USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    start_log();
    let done = match line.command {
        Command::Relink(arguments) => relink::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Nid(arguments) => nid::run(&arguments),
        Command::Schedule(arguments) => schedule::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Shader(arguments) => shader::run(&arguments),
        Command::Gpu(arguments) => gpu::run(&arguments),
    };
    match done {
        Ok(code) => code,
        // `relic info | head` is no error.
        Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            failure::show(&failure);
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// Log lines go to standard error; `RELIC_LOG` says which (`info`, `relic_relink=debug`), warnings by default.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("RELIC_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    // Nothing else in this process sets a subscriber, so this can't fail; without one there is no log, nothing worse.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .try_init();
}
