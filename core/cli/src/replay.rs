//! `relic replay`: recorded scenes through the same schedules as a running program, compared with what they expect.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use relic_systems::{
    config::Config,
    frame::picture::write_png,
    gpu::open_device,
    scene::{LoopTimes, PlayOptions, PlayReport, play, pm4cap},
};
use serde::Serialize;

use crate::{
    EXIT_FAILED,
    failure::{self, Failure},
    output,
};

/// Replay recorded scenes and compare the results with what they expect
///
/// Every file is played, also behind one that fails. Ends with 2 when an expectation does not hold, the validation
/// layer complains, or a packet is refused or a queue still waits at the end of a scene that does not ask for it.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Scenes (.pm4cap)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Without a window. There is none yet, so this is always so
    #[arg(long)]
    headless: bool,
    /// How to report
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    report: ReportFormat,
    /// Play all submissions so many times more, warm, and tell the CPU time that they take
    #[arg(long, value_name = "N", default_value_t = 0)]
    loops: u32,
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

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ReportFormat {
    /// For people
    Text,
    /// For programs: one array, a scene an element
    Json,
}

/// What one scene came to.
#[derive(Serialize)]
struct SceneReport {
    file: String,
    passes: bool,
    /// Why it could not be played to its end.
    error: Option<String>,
    expectations: Vec<Expectation>,
    faults: Vec<String>,
    waiting: Vec<String>,
    validation: Vec<String>,
    times: Vec<Time>,
    loops: Option<Loops>,
    walks: Walks,
}

/// CPU time of the pump and the task pool for all submissions of the scene, warm.
#[derive(Serialize)]
struct Loops {
    loops: usize,
    draws: u64,
    dispatches: u64,
    /// Microseconds of a loop: half of them stay under this.
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    max_us: f64,
}

impl Loops {
    fn of(times: &LoopTimes) -> Self {
        let at = |permille| times.percentile(permille).as_nanos() as f64 / 1000.0;
        Self {
            loops: times.cpu.len(),
            draws: times.draws,
            dispatches: times.dispatches,
            p50_us: at(500),
            p90_us: at(900),
            p99_us: at(990),
            max_us: at(1000),
        }
    }
}

/// One buffer or image that was compared.
#[derive(Serialize)]
struct Expectation {
    frame: u32,
    name: String,
    passes: bool,
    result: String,
}

/// Walks of resource plans.
#[derive(Serialize, Default)]
struct Walks {
    all: u64,
    /// Walks that the evaluator did because a tape could not.
    handed_back: u64,
    /// Walks that tape and evaluator did, with different results.
    differences: u64,
}

/// What one system took.
#[derive(Serialize)]
struct Time {
    system: String,
    runs: u64,
    nanoseconds: u64,
}

/// Plays all files and prints the report.
///
/// # Errors
/// When there is no GPU, or a `RELIC_` variable is wrong. Scenes that fail are in the report.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut config = Config::from_environment().map_err(Failure::work("reading the RELIC_ variables"))?;
    config.validation |= arguments.validation;
    config.times |= arguments.times || arguments.report == ReportFormat::Json;
    config.gpu = arguments.gpu.clone().or(config.gpu);
    let device =
        open_device(config.validation, config.gpu.clone()).map_err(Failure::work("opening a GPU"))?;
    let mut told = 0;
    let mut reports = Vec::new();
    for file in &arguments.files {
        let options = PlayOptions {
            loops: arguments.loops,
            ..PlayOptions::new(config.clone(), device.clone())
        };
        let mut report = match play_file(file, options) {
            Ok(report) => {
                if let Some(folder) = &arguments.differences {
                    write_differences(folder, file, &report)?;
                }
                SceneReport::of(file, &report)
            }
            Err(error) => SceneReport::failed(file, &error),
        };
        // The device collects messages over all scenes.
        let all = device.validation_messages();
        report.validation = all[told.min(all.len())..].to_vec();
        told = all.len();
        report.passes &= report.validation.is_empty();
        if arguments.report == ReportFormat::Text {
            output::print(&report.text(arguments.times))?;
        }
        reports.push(report);
    }
    if arguments.report == ReportFormat::Json {
        let json = serde_json::to_string_pretty(&reports).map_err(Failure::work("writing the report"))?;
        output::print(&format!("{json}\n"))?;
    }
    Ok(if reports.iter().all(|report| report.passes) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_FAILED)
    })
}

fn play_file(file: &Path, options: PlayOptions<'_>) -> Result<PlayReport, Failure> {
    let bytes = fs::read(file).map_err(Failure::io("reading", file))?;
    let scene = pm4cap::parse(&bytes).map_err(Failure::work("parsing the scene"))?;
    play(&scene, &options).map_err(Failure::work("playing the scene"))
}

/// Writes `SCENE-FRAME-NAME.expected.png`, `.got.png` and `.difference.png` for each wrong image.
fn write_differences(folder: &Path, file: &Path, report: &PlayReport) -> Result<(), Failure> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    for outcome in &report.outcomes {
        let Some(pictures) = &outcome.pictures else {
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

impl SceneReport {
    fn of(file: &Path, report: &PlayReport) -> Self {
        let expectations = report.outcomes.iter().map(|outcome| Expectation {
            frame: outcome.frame,
            name: outcome.name.clone(),
            passes: outcome.passes(),
            result: match &outcome.result {
                Ok(comparison) => comparison.to_string(),
                Err(reason) => reason.clone(),
            },
        });
        let expectations: Vec<_> = expectations.collect();
        let times = report.times.iter().map(|time| Time {
            system: time.name.clone(),
            runs: time.runs,
            nanoseconds: time.nanoseconds,
        });
        Self {
            file: file.display().to_string(),
            // Validation messages are looked at scene by scene, as the device collects them over all.
            passes: report.ending.holds(&report.faults, &report.waiting)
                && report.counters.tape_differences == 0
                && expectations.iter().all(|expectation| expectation.passes),
            error: None,
            expectations,
            faults: report.faults.clone(),
            waiting: report.waiting.clone(),
            validation: Vec::new(),
            times: times.collect(),
            loops: report.loops.as_ref().map(Loops::of),
            walks: Walks {
                all: report.counters.walks,
                handed_back: report.counters.handed_back,
                differences: report.counters.tape_differences,
            },
        }
    }

    fn failed(file: &Path, error: &Failure) -> Self {
        Self {
            file: file.display().to_string(),
            passes: false,
            error: Some(failure::text(error)),
            expectations: Vec::new(),
            faults: Vec::new(),
            waiting: Vec::new(),
            validation: Vec::new(),
            times: Vec::new(),
            loops: None,
            walks: Walks::default(),
        }
    }

    fn text(&self, times: bool) -> String {
        let mut text = format!(
            "{}: {}\n",
            self.file,
            if self.passes { "passes" } else { "FAILS" }
        );
        if let Some(error) = &self.error {
            text.push_str(error);
        }
        for expectation in &self.expectations {
            let _ = writeln!(
                text,
                "  frame {} {:<16} {:<5} {}",
                expectation.frame,
                expectation.name,
                if expectation.passes { "ok" } else { "WRONG" },
                expectation.result
            );
        }
        if let Some(loops) = &self.loops {
            let rows = (loops.draws + loops.dispatches).max(1);
            let _ = writeln!(
                text,
                "  {} loops, {} draws and {} dispatches each: CPU time {:.0} us (p50), {:.0} (p90), {:.0} (p99), {:.0} (most); {:.2} us a draw or dispatch",
                loops.loops,
                loops.draws,
                loops.dispatches,
                loops.p50_us,
                loops.p90_us,
                loops.p99_us,
                loops.max_us,
                loops.p50_us / rows as f64
            );
        }
        if self.walks.differences > 0 {
            let _ = writeln!(
                text,
                "  tape and evaluator differ in {} of {} walks: RELIC_LOG=error names them",
                self.walks.differences, self.walks.all
            );
        }
        for (what, lines) in [
            ("refused", &self.faults),
            ("still waiting", &self.waiting),
            ("validation", &self.validation),
        ] {
            for line in lines {
                let _ = writeln!(text, "  {what}: {line}");
            }
        }
        if times {
            let _ = writeln!(
                text,
                "  {:24} {:>8} {:>12} {:>10}",
                "system", "runs", "total ms", "us a run"
            );
            for time in &self.times {
                let microseconds = time.nanoseconds as f64 / 1e3;
                let _ = writeln!(
                    text,
                    "  {:24} {:>8} {:>12.3} {:>10.2}",
                    time.system,
                    time.runs,
                    microseconds / 1e3,
                    microseconds / time.runs.max(1) as f64
                );
            }
        }
        text
    }
}
