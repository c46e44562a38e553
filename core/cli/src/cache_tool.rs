//! `relic cache`: what is kept between runs.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use relic_core::pack::{Pack, PackStatistics};
use relic_systems::{config::Config, shader_cache::STAGES};

use crate::{EXIT_FAILED, cache, failure::Failure, output};

/// Look after what Relic keeps between runs: relinked programs and shaders
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The shaders' folder [default: RELIC_SHADER_CACHE, else shaders in Relic's cache folder]
    #[arg(long, value_name = "FOLDER", global = true)]
    shaders: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print where what is kept, and how much of it
    Stats,
    /// Read every shader. Ends with 2 when some are damaged; they are made again when they are needed
    Verify,
    /// Drop the oldest shaders
    Prune {
        /// Keep this much
        #[arg(long, value_name = "MIB", default_value_t = 512)]
        keep: u64,
    },
    /// Write the shaders to a pack that others put into the folder `prebuilt` of theirs
    Export {
        /// The pack
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// Does what was asked for.
///
/// # Errors
/// When a file can't be read or written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let own = cache::folder()?;
    let config = Config::from_environment().map_err(Failure::work("reading the RELIC_ variables"))?;
    let Some(shaders) = arguments.shaders.clone().or(config.shader_cache) else {
        return Err(Failure::refused(
            "RELIC_SHADER_CACHE says that no shaders are kept".to_owned(),
            "unset it, or name their folder with --shaders",
        ));
    };
    let path = shaders.join(STAGES);
    match &arguments.command {
        Command::Stats => {
            let mut text = String::new();
            if path.is_file() {
                let mut pack = open(&path)?;
                let statistics = pack.statistics().map_err(Failure::io("reading", &path))?;
                text.push_str(&line(&path, &statistics));
            } else {
                let _ = writeln!(text, "{}: no shaders", path.display());
            }
            let others = fs::read_dir(&shaders).into_iter().flatten().flatten();
            for entry in others.filter(|entry| entry.file_name().to_string_lossy().starts_with("pipelines-"))
            {
                let size = entry.metadata().map_or(0, |data| data.len());
                let _ = writeln!(
                    text,
                    "{}: {} KiB of the driver's",
                    entry.path().display(),
                    size / 1024
                );
            }
            let programs = own.join("programs");
            let count = fs::read_dir(&programs).into_iter().flatten().count();
            let _ = writeln!(text, "{}: {count} relinked titles", programs.display());
            output::print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Verify => {
            let mut pack = open(&path)?;
            let statistics = pack.verify().map_err(Failure::io("reading", &path))?;
            output::print(&line(&path, &statistics))?;
            Ok(if statistics.damaged > 0 {
                ExitCode::from(EXIT_FAILED)
            } else {
                ExitCode::SUCCESS
            })
        }
        Command::Prune { keep } => {
            let mut pack = open(&path)?;
            pack.prune(keep << 20).map_err(Failure::io("writing", &path))?;
            let statistics = pack.statistics().map_err(Failure::io("reading", &path))?;
            output::print(&line(&path, &statistics))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Export { output: to } => {
            if to.exists() {
                return Err(Failure::refused(
                    format!("{} is there already", to.display()),
                    "name a file that is not there",
                ));
            }
            let mut pack = open(&path)?;
            let exported = export(&mut pack, to);
            if exported.is_err() {
                // No half of a pack is left.
                let _ = fs::remove_file(to);
            }
            let statistics = exported.map_err(Failure::io("writing", to))?;
            output::print(&line(to, &statistics))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn open(path: &Path) -> Result<Pack, Failure> {
    if !path.is_file() {
        return Err(Failure::refused(
            format!("there are no shaders at {}", path.display()),
            "run a title first, or name the folder with --shaders",
        ));
    }
    Pack::open(path).map_err(Failure::work("opening the shaders"))
}

fn export(from: &mut Pack, to: &Path) -> io::Result<PackStatistics> {
    let mut pack = Pack::open(to).map_err(io::Error::other)?;
    for (kind, key) in from.keys()? {
        if let Some(content) = from.get(kind, &key)? {
            pack.put(kind, &key, &content)?;
        }
    }
    pack.statistics()
}

fn line(path: &Path, statistics: &PackStatistics) -> String {
    format!(
        "{}: {} shaders, {} KiB, in {} KiB of file; {} damaged\n",
        path.display(),
        statistics.entries,
        statistics.bytes / 1024,
        statistics.file / 1024,
        statistics.damaged
    )
}
