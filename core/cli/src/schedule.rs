//! `relic schedule`: what runs when, and what it touches.

use std::process::ExitCode;

use relic_systems::runtime::describe;

use crate::{failure::Failure, output};

/// Print every schedule: its systems in order, with what each reads and writes
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// As Graphviz graphs (`relic schedule --dot | dot -Tsvg > schedule.svg` draws them)
    #[arg(long, conflicts_with = "text")]
    dot: bool,
    /// As text, one system a line; the default
    #[arg(long)]
    text: bool,
}

/// Builds Relic's own plug-ins without a GPU and prints their schedules.
///
/// # Errors
/// When the plug-ins don't go together.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let runtime = describe().map_err(Failure::work("building the schedules"))?;
    output::print(&if arguments.dot {
        runtime.describe_dot()
    } else {
        runtime.describe_text()
    })?;
    Ok(ExitCode::SUCCESS)
}
