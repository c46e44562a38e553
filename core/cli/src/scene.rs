//! `relic scene`: looks into recorded scenes.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use relic_systems::{
    config::Config,
    gpu::open_device,
    runtime::packet_table,
    scene::{
        self, PlayOptions, Scene,
        examine::{FrameWork, Inspection, diff, inspect, minimise},
        file,
    },
};
use serde_json::json;

use crate::{EXIT_FAILED, failure::Failure, output};

/// Look into scenes, compare them, and make them smaller
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print what a scene holds: memory, work frame by frame, packets
    Inspect {
        /// The scene
        file: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check whole scenes without a GPU: sums, memory, packets. Ends with 2 when something is wrong
    Validate {
        /// The scenes
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Tell where two scenes part ways: submission by submission, packets and memory. Ends with 2 when they do
    Diff {
        /// One
        a: PathBuf,
        /// The other
        b: PathBuf,
    },
    /// Write a scene without the memory that playing it does not use. Needs a GPU that is the CPU (lavapipe)
    Minimise {
        /// The scene
        file: PathBuf,
        /// The smaller one
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Use a GPU whose name contains this text [default: RELIC_GPU, else the best one]
        #[arg(long, value_name = "NAME")]
        gpu: Option<String>,
    },
}

/// What fails when plug-ins don't go together.
const PACKETS: &str = "making the table of packets";

/// Does what was asked for.
///
/// # Errors
/// When a scene can't be read, or a smaller one can't be made or written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        Command::Inspect { file, json } => {
            let scene = read(file)?;
            let (found, flaws) = inspect(&scene, &packet_table().map_err(Failure::work(PACKETS))?);
            output::print(&if *json {
                format!("{:#}\n", as_json(&scene, &found))
            } else {
                as_text(file, &scene, &found)
            })?;
            for flaw in &flaws {
                eprintln!("relic: {}: {flaw}", file.display());
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Validate { files } => {
            let table = packet_table().map_err(Failure::work(PACKETS))?;
            let mut wrong = false;
            for file in files {
                let flaws = match read(file) {
                    Ok(scene) => inspect(&scene, &table)
                        .1
                        .iter()
                        .map(ToString::to_string)
                        .collect(),
                    Err(failure) => vec![crate::failure::text(&failure).trim_end().to_owned()],
                };
                wrong |= !flaws.is_empty();
                let mut text = format!(
                    "{}: {}\n",
                    file.display(),
                    if flaws.is_empty() { "ok" } else { "WRONG" }
                );
                for flaw in flaws {
                    let _ = writeln!(text, "  {flaw}");
                }
                output::print(&text)?;
            }
            Ok(code(wrong))
        }
        Command::Diff { a, b } => {
            let table = packet_table().map_err(Failure::work(PACKETS))?;
            let difference = diff(&read(a)?, &read(b)?, &table);
            for line in &difference.lines {
                output::print(&format!("{line}\n"))?;
            }
            Ok(code(!difference.lines.is_empty()))
        }
        Command::Minimise {
            file,
            output: to,
            gpu,
        } => {
            let scene = read(file)?;
            let mut config =
                Config::from_environment().map_err(Failure::work("reading the RELIC_ variables"))?;
            config.gpu = gpu.clone().or(config.gpu);
            config.shader_cache = None;
            let device = open_device(false, config.gpu.clone()).map_err(Failure::work("opening a GPU"))?;
            let small = minimise(&scene, &PlayOptions::new(config, device))
                .map_err(Failure::work("making the scene smaller"))?;
            let bytes = file::write(&small, Vec::new()).map_err(Failure::io("writing", to))?;
            relic_core::file::replace(to, &bytes).map_err(Failure::io("writing", to))?;
            let before = fs::metadata(file).map_or(0, |data| data.len());
            output::print(&format!(
                "{}: {} bytes, {} before\n",
                to.display(),
                bytes.len(),
                before
            ))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn code(wrong: bool) -> ExitCode {
    if wrong {
        ExitCode::from(EXIT_FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

/// Reads a scene of either format.
pub fn read(file: &Path) -> Result<Scene, Failure> {
    let bytes = fs::read(file).map_err(Failure::io("reading", file))?;
    scene::parse(&bytes).map_err(Failure::work(format!("parsing the scene {}", file.display())))
}

fn as_text(file: &Path, scene: &Scene, found: &Inspection) -> String {
    let mut text = format!(
        "{}: chip gfx{}, {} events, {} shaders registered, {} expectations\n",
        file.display(),
        scene.chip,
        scene.events.len(),
        found.shaders,
        found.expectations
    );
    for (key, value) in &scene.meta {
        let _ = writeln!(text, "  {key}={value}");
    }
    let _ = writeln!(
        text,
        "memory: {} KiB mapped, {} KiB written, {} different pages",
        found.regions.iter().map(|range| range.size()).sum::<u64>() / 1024,
        found.written / 1024,
        found.pages
    );
    for range in &found.regions {
        let _ = writeln!(text, "  {range}");
    }
    let _ = writeln!(
        text,
        "{:>8} {:>12} {:>10} {:>14}",
        "frame", "submissions", "words", "bytes written"
    );
    for frame in &found.frames {
        let _ = writeln!(
            text,
            "{:>8} {:>12} {:>10} {:>14}",
            name(frame),
            frame.submissions.values().sum::<u64>(),
            frame.words,
            frame.written
        );
    }
    text.push_str("packets of submitted buffers:\n");
    for (packet, count) in &found.packets {
        let _ = writeln!(text, "{count:>10} {packet}");
    }
    text
}

fn name(frame: &FrameWork) -> String {
    frame
        .number
        .map_or("rest".to_owned(), |number| number.to_string())
}

fn as_json(scene: &Scene, found: &Inspection) -> serde_json::Value {
    json!({
        "chip": scene.chip,
        "ngg": scene.ngg,
        "meta": scene.meta,
        "events": scene.events.len(),
        "regions": found.regions.iter().map(|range| [range.start().0, range.size()]).collect::<Vec<_>>(),
        "pages": found.pages,
        "written": found.written,
        "shaders": found.shaders,
        "expectations": found.expectations,
        "frames": found.frames.iter().map(|frame| json!({
            "number": frame.number,
            "submissions": frame.submissions.iter().map(|(queue, count)| (queue.to_string(), count))
                .collect::<std::collections::BTreeMap<_, _>>(),
            "words": frame.words,
            "written": frame.written,
        })).collect::<Vec<_>>(),
        "packets": found.packets,
    })
}
