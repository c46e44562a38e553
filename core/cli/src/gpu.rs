//! `relic gpu`: which GPU would be used, and what it can do.

use std::process::ExitCode;

use relic_systems::{config::Config, gpu::open_device};

use crate::{failure::Failure, output};

/// Report the GPU that would be used, and what it can do
///
/// Where none will do, says what each one lacks.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Use a GPU whose name contains this text [default: RELIC_GPU, else the best one]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
}

/// Opens the device and prints its report.
///
/// # Errors
/// When there is no device that Relic can work with.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let config = Config::from_environment().map_err(Failure::work("reading the RELIC_ variables"))?;
    let name = arguments.gpu.clone().or(config.gpu);
    let device = open_device(config.validation, name).map_err(Failure::work("opening a GPU"))?;
    output::print(&format!("{}\n", device.report()))?;
    Ok(ExitCode::SUCCESS)
}
