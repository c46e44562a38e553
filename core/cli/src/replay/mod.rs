//! `relic replay`: recorded scenes through the same schedules as a running program, compared with what they expect.

mod html;
mod report;
mod trace;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    str::FromStr,
};

use relic_systems::{
    config::Config,
    frame::picture::write_png,
    gpu::{open_device, open_tapped_device},
    scene::{Outcome, PlayOptions, PlayReport, Until, play},
};

use self::report::SceneReport;
use crate::{EXIT_FAILED, failure::Failure, output};

/// Replay recorded scenes and compare the results with what they expect
///
/// Every file is played, also behind one that fails. Ends with 2 when an expectation does not hold, the validation
/// layer complains, or a packet is refused or a queue still waits at the end of a scene that does not ask for it.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Scenes (.scene, .pm4cap)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Without a window. There is none yet, so this is always so
    #[arg(long)]
    headless: bool,
    /// How to report: text or json to standard output, or a file whose name ends with .json or .html
    #[arg(long, value_name = "REPORT", default_value = "text")]
    report: ReportTo,
    /// Play all submissions so many times more, warm, and tell the CPU time that they take
    #[arg(long, value_name = "N", default_value_t = 0)]
    loops: u32,
    /// How far these loops go
    #[arg(long, value_enum, requires = "loops", default_value_t = Stage::Render)]
    until: Stage,
    /// With --loops: play the whole scene so many times, each time with nothing prepared, in place of warm loops
    #[arg(long, requires = "loops", conflicts_with = "until")]
    cold: bool,
    /// Print the times beside those of an earlier report (a .json file)
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Write what every thread does when, for Chrome's tracing page or Perfetto
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print the table of systems with their times
    #[arg(long)]
    times: bool,
    /// Write three pictures for each image that is wrong into this folder: expected, got, and their difference
    #[arg(long, value_name = "FOLDER")]
    differences: Option<PathBuf>,
    /// Load the Vulkan validation layer; what it says fails the scene
    #[arg(long)]
    validation: bool,
    /// Use a GPU whose name contains this text [default: RELIC_GPU, else the best one]
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
}

/// Where the report goes, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ReportTo {
    /// For people.
    Text,
    /// For programs: one array, a scene an element.
    Json,
    /// Either of these as a file; text goes to standard output too.
    JsonFile(PathBuf),
    HtmlFile(PathBuf),
}

impl FromStr for ReportTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        match (text, path.extension().and_then(|extension| extension.to_str())) {
            ("text", _) => Ok(Self::Text),
            ("json", _) => Ok(Self::Json),
            (_, Some("json")) => Ok(Self::JsonFile(path)),
            (_, Some("html")) => Ok(Self::HtmlFile(path)),
            _ => Err("give text, json, or a file whose name ends with .json or .html".to_owned()),
        }
    }
}

/// How far measured loops go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Stage {
    /// Packets to rows
    Decode,
    /// Resource plans to descriptor words
    Evaluate,
    /// Vulkan commands, which are not submitted
    Record,
    /// All: the GPU executes them
    Render,
}

/// Plays all files and reports.
///
/// # Errors
/// When there is no GPU, a `RELIC_` variable is wrong, or a file of the report can't be read or written. Scenes that fail
/// are in the report.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let base = arguments.compare.as_deref().map(read_base).transpose()?;
    let mut config = Config::from_environment().map_err(Failure::work("reading the RELIC_ variables"))?;
    // What earlier runs left would make cold frames warm.
    if std::env::var_os("RELIC_SHADER_CACHE").is_none() {
        config.shader_cache = None;
    }
    config.validation |= arguments.validation;
    config.times |= arguments.times || arguments.cold || arguments.report != ReportTo::Text || base.is_some();
    config.gpu = arguments.gpu.clone().or(config.gpu);
    let open = if arguments.loops > 0 {
        open_tapped_device
    } else {
        open_device
    };
    let device = open(config.validation, config.gpu.clone()).map_err(Failure::work("opening a GPU"))?;
    if arguments.trace.is_some() {
        relic_core::trace::record();
    }
    let mut told = 0;
    let mut reports = Vec::new();
    for file in &arguments.files {
        let options = PlayOptions {
            loops: if arguments.cold { 0 } else { arguments.loops },
            until: match arguments.until {
                Stage::Decode => Until::Decode,
                Stage::Evaluate => Until::Evaluate,
                Stage::Record => Until::Record,
                Stage::Render => Until::Render,
            },
            pictures: matches!(arguments.report, ReportTo::HtmlFile(_)),
            ..PlayOptions::new(config.clone(), device.clone())
        };
        let times = if arguments.cold { arguments.loops.max(1) } else { 1 };
        let (mut report, outcomes) = match play_file(file, &options, times) {
            Ok(report) => {
                if let Some(folder) = &arguments.differences {
                    write_differences(folder, file, &report)?;
                }
                (SceneReport::of(file, &report), report.outcomes)
            }
            Err(error) => (SceneReport::failed(file, &error), Vec::new()),
        };
        // The device collects messages over all scenes.
        let all = device.validation_messages();
        report.validation = all[told.min(all.len())..].to_vec();
        told = all.len();
        report.passes &= report.validation.is_empty();
        if arguments.report != ReportTo::Json {
            output::print(&report.text(arguments.times || arguments.cold))?;
            if let Some(base) = &base {
                output::print(&match base.get(&key(&report.file)) {
                    Some(base) => report.comparison(base),
                    None => "  the report given has no scene of this name\n".to_owned(),
                })?;
            }
        }
        reports.push((report, outcomes));
    }
    if let Some(path) = &arguments.trace {
        let json = trace::json(&relic_core::trace::take()).map_err(Failure::work("writing the trace"))?;
        write(path, &json)?;
    }
    let passes = reports.iter().all(|(report, _)| report.passes);
    write_report(&arguments.report, reports)?;
    Ok(if passes {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_FAILED)
    })
}

fn write_report(to: &ReportTo, reports: Vec<(SceneReport, Vec<Outcome>)>) -> Result<(), Failure> {
    let path = match to {
        ReportTo::Text => return Ok(()),
        ReportTo::HtmlFile(path) => return write(path, &html::page(&reports)),
        ReportTo::Json => None,
        ReportTo::JsonFile(path) => Some(path),
    };
    let reports: Vec<SceneReport> = reports.into_iter().map(|(report, _)| report).collect();
    let mut json = serde_json::to_string_pretty(&reports).map_err(Failure::work("writing the report"))?;
    json.push('\n');
    match path {
        Some(path) => write(path, &json),
        None => output::print(&json),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    relic_core::file::replace(path, text.as_bytes()).map_err(Failure::io("writing", path))
}

/// What a scene's report is found by: the file's name, whatever its folder.
fn key(file: &str) -> String {
    Path::new(file)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn read_base(path: &Path) -> Result<HashMap<String, SceneReport>, Failure> {
    let text = fs::read_to_string(path).map_err(Failure::io("reading", path))?;
    let reports: Vec<SceneReport> = serde_json::from_str(&text).map_err(Failure::work(format!(
        "reading {} as a report of `relic replay --report FILE.json`",
        path.display()
    )))?;
    Ok(reports
        .into_iter()
        .map(|report| (key(&report.file), report))
        .collect())
}

/// Plays a file, and `times - 1` times more for its cold frames alone.
fn play_file(file: &Path, options: &PlayOptions<'_>, times: u32) -> Result<PlayReport, Failure> {
    let scene = crate::scene::read(file)?;
    let mut report = play(&scene, options).map_err(Failure::work("playing the scene"))?;
    for _ in 1..times {
        let again = play(&scene, options).map_err(Failure::work("playing the scene again"))?;
        report.cold.extend(again.cold);
    }
    Ok(report)
}

/// Writes `SCENE-FRAME-NAME.expected.png`, `.got.png` and `.difference.png` for each wrong image.
fn write_differences(folder: &Path, file: &Path, report: &PlayReport) -> Result<(), Failure> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    for outcome in &report.outcomes {
        let Some(pictures) = outcome.pictures.as_ref().filter(|_| !outcome.passes()) else {
            continue;
        };
        fs::create_dir_all(folder).map_err(Failure::io("making the folder", folder))?;
        // The name is the scene's: no separators get into a path.
        let name: String = outcome
            .name
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || "-_".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        for (what, picture) in [
            ("expected", &pictures.expected),
            ("got", &pictures.got),
            ("difference", &pictures.difference),
        ] {
            let path = folder.join(format!("{stem}-{}-{name}.{what}.png", outcome.frame));
            write_png(&path, picture).map_err(Failure::work("writing a difference"))?;
        }
    }
    Ok(())
}
