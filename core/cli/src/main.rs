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
mod cache_tool;
mod conversion;
mod failure;
mod files;
mod gpu;
mod imports;
mod info;
mod libraries;
mod nid;
mod output;
mod progress;
mod relink;
mod replay;
mod run;
mod runtime_library;
mod save_inputs;
mod scene;
mod schedule;
mod shader;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

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
    Scene(scene::Arguments),
    Shader(shader::Arguments),
    Gpu(gpu::Arguments),
    Cache(cache_tool::Arguments),
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
    if let Err(failure) = start_log() {
        failure::show(&failure);
        return ExitCode::from(EXIT_FAILED);
    }
    let done = match line.command {
        Command::Relink(arguments) => relink::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Nid(arguments) => nid::run(&arguments),
        Command::Schedule(arguments) => schedule::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Scene(arguments) => scene::run(&arguments),
        Command::Shader(arguments) => shader::run(&arguments),
        Command::Gpu(arguments) => gpu::run(&arguments),
        Command::Cache(arguments) => cache_tool::run(&arguments),
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

/// The variable that says which log lines there are.
const LOG: &str = "RELIC_LOG";

/// Log lines go to standard error; `RELIC_LOG` says which (`info`, `relic_relink=debug`), warnings by default.
fn start_log() -> Result<(), Failure> {
    let wanted = std::env::var_os(LOG).unwrap_or_default();
    let wanted = wanted.to_string_lossy();
    let filter = if wanted.trim().is_empty() {
        EnvFilter::new("warn")
    } else {
        log_filter(&wanted).ok_or_else(|| {
            Failure::refused(
                format!("{LOG} is {wanted:?}, which names no log lines"),
                "say a level (error, warn, info, debug, trace, off), or levels of modules, as relic_relink=debug,info",
            )
        })?
    };
    // Nothing else in this process sets a subscriber, so this can't fail; without one there is no log, nothing worse.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .try_init();
    Ok(())
}

/// What the text of `RELIC_LOG` asks for. A lone word must be a level: as a module's name it would match nothing.
fn log_filter(text: &str) -> Option<EnvFilter> {
    let sound = |part: &str| part.contains(['=', '[']) || part.parse::<LevelFilter>().is_ok();
    text.split(',')
        .map(str::trim)
        .all(sound)
        .then(|| EnvFilter::try_new(text).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_are_chosen_by_level_and_module() {
        for text in ["info", "relic_relink=debug", "relic_relink=debug, warn", "OFF"] {
            assert!(log_filter(text).is_some(), "{text}");
        }
        for text in ["loud", "relic_relink=loud", "info,loud", "%%", "="] {
            assert!(log_filter(text).is_none(), "{text}");
        }
    }
}
