//! What playing a scene came to, as text and as JSON. The JSON is read again by `--compare`.

use std::{fmt::Write as _, path::Path, time::Duration};

use relic_systems::scene::{FrameTime, LoopTimes, PlayReport, Until, percentile};
use serde::{Deserialize, Serialize};

use crate::failure::{self, Failure};

/// What one scene came to.
#[derive(Serialize, Deserialize, Default)]
pub struct SceneReport {
    /// The file.
    pub file: String,
    /// Everything is as it should be.
    pub passes: bool,
    /// Why it could not be played to its end.
    pub error: Option<String>,
    /// Buffers and images that were compared.
    pub expectations: Vec<Expectation>,
    /// What queues refused.
    pub faults: Vec<String>,
    /// Queues that wait at the end.
    pub waiting: Vec<String>,
    /// Messages of the validation layer.
    pub validation: Vec<String>,
    /// Systems of Submit: of the loops where there are any, else of the script.
    pub times: Vec<Time>,
    /// Frames of the script, which finds everything cold.
    #[serde(default)]
    pub cold: Frames,
    /// The measured loops.
    pub loops: Option<Loops>,
    /// Walks of resource plans.
    pub walks: Walks,
    /// Counters of the whole run, by name.
    #[serde(default)]
    pub counters: Vec<(String, u64)>,
}

/// Times of frames, in milliseconds.
#[derive(Serialize, Deserialize, Default)]
pub struct Frames {
    /// From the first submission to the end of a frame's work.
    pub frame_ms: Spread,
    /// CPU time of the pump and the task pool.
    pub cpu_ms: Spread,
    /// Both for each frame, in order: wall, CPU.
    pub all: Vec<(f64, f64)>,
}

/// How times are spread: half of them stay under `p50`, and so on.
#[derive(Serialize, Deserialize, Default)]
pub struct Spread {
    /// Half.
    pub p50: f64,
    /// Nine of ten.
    pub p90: f64,
    /// 99 of 100.
    pub p99: f64,
    /// All.
    pub max: f64,
}

/// CPU time of the pump and the task pool for all submissions of the scene, warm.
#[derive(Serialize, Deserialize)]
pub struct Loops {
    /// How far: decode, evaluate, record, render.
    #[serde(default)]
    pub until: String,
    /// How many.
    pub loops: usize,
    /// Draws of one.
    pub draws: u64,
    /// Dispatches of one.
    pub dispatches: u64,
    /// Microseconds of a loop.
    pub p50_us: f64,
    /// As above.
    pub p90_us: f64,
    /// As above.
    pub p99_us: f64,
    /// As above.
    pub max_us: f64,
    /// What one counts, by name.
    #[serde(default)]
    pub counters: Vec<(String, u64)>,
    /// Frames of all loops.
    #[serde(default)]
    pub frames: Frames,
    /// Resident memory of the process: loops before, bytes.
    #[serde(default)]
    pub resident: Vec<(u32, u64)>,
    /// Vulkan commands of a loop.
    #[serde(default)]
    pub commands: usize,
    /// Microseconds of recording just these commands (p50); 0 where that is not known.
    #[serde(default)]
    pub native_us: f64,
}

/// One buffer or image that was compared.
#[derive(Serialize, Deserialize)]
pub struct Expectation {
    /// The frame.
    pub frame: u32,
    /// Its name.
    pub name: String,
    /// It is as expected.
    pub passes: bool,
    /// In words.
    pub result: String,
}

/// Walks of resource plans.
#[derive(Serialize, Deserialize, Default)]
pub struct Walks {
    /// All.
    pub all: u64,
    /// Walks that the evaluator did because a tape could not.
    pub handed_back: u64,
    /// Walks that tape and evaluator did, with different results.
    pub differences: u64,
}

/// What one system took.
#[derive(Serialize, Deserialize)]
pub struct Time {
    /// Its name.
    pub system: String,
    /// How often it ran.
    pub runs: u64,
    /// All its runs.
    pub nanoseconds: u64,
}

fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

impl Spread {
    fn of(times: impl Iterator<Item = Duration> + Clone) -> Self {
        let at = |permille| milliseconds(percentile(times.clone(), permille));
        Self {
            p50: at(500),
            p90: at(900),
            p99: at(990),
            max: at(1000),
        }
    }

    fn text(&self) -> String {
        format!(
            "{:.3} ms (p50), {:.3} (p90), {:.3} (p99), {:.3} (most)",
            self.p50, self.p90, self.p99, self.max
        )
    }
}

impl Frames {
    fn of(frames: &[FrameTime]) -> Self {
        Self {
            frame_ms: Spread::of(frames.iter().map(|frame| frame.wall)),
            cpu_ms: Spread::of(frames.iter().map(|frame| frame.cpu)),
            all: frames
                .iter()
                .map(|frame| (milliseconds(frame.wall), milliseconds(frame.cpu)))
                .collect(),
        }
    }
}

fn named(counters: &relic_systems::Counters) -> Vec<(String, u64)> {
    let entries = counters.entries().into_iter();
    entries.map(|(name, count)| (name.to_owned(), count)).collect()
}

impl Loops {
    fn of(times: &LoopTimes) -> Self {
        let at = |permille| percentile(times.cpu.iter().copied(), permille).as_nanos() as f64 / 1000.0;
        let until = match times.until {
            Until::Decode => "decode",
            Until::Evaluate => "evaluate",
            Until::Record => "record",
            Until::Render => "render",
        };
        Self {
            until: until.to_owned(),
            loops: times.cpu.len(),
            draws: times.counters.draws,
            dispatches: times.counters.dispatches,
            p50_us: at(500),
            p90_us: at(900),
            p99_us: at(990),
            max_us: at(1000),
            counters: named(&times.counters),
            frames: Frames::of(&times.frames),
            resident: times.resident.clone(),
            commands: times.commands,
            native_us: percentile(times.native.iter().copied(), 500).as_nanos() as f64 / 1000.0,
        }
    }

    /// The cost as a multiple of recording just the commands, in words.
    pub fn beside_native(&self) -> Option<String> {
        (self.native_us > 0.0).then(|| {
            format!(
                "recording just its {} Vulkan commands takes {:.0} us, {:.3} us a draw or dispatch: Relic takes {:.1} times that",
                self.commands,
                self.native_us,
                self.native_us / self.rows(),
                self.p50_us / self.native_us
            )
        })
    }

    /// Draws and dispatches of a loop, at least 1.
    pub fn rows(&self) -> f64 {
        (self.draws + self.dispatches).max(1) as f64
    }

    /// Microseconds of CPU time a draw or dispatch.
    pub fn per_row(&self) -> f64 {
        self.p50_us / self.rows()
    }
}

impl SceneReport {
    /// Of a scene that was played.
    pub fn of(file: &Path, report: &PlayReport) -> Self {
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
            cold: Frames::of(&report.cold),
            loops: report.loops.as_ref().map(Loops::of),
            walks: Walks {
                all: report.counters.walks,
                handed_back: report.counters.handed_back,
                differences: report.counters.tape_differences,
            },
            counters: named(&report.counters),
        }
    }

    /// Of a scene that could not be played.
    pub fn failed(file: &Path, error: &Failure) -> Self {
        Self {
            file: file.display().to_string(),
            error: Some(failure::text(error)),
            ..Self::default()
        }
    }

    /// For people.
    pub fn text(&self, times: bool) -> String {
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
            let _ = writeln!(
                text,
                "  {} loops up to {}, {} draws and {} dispatches each: CPU time {:.0} us (p50), {:.0} (p90), {:.0} (p99), {:.0} (most); {:.2} us a draw or dispatch",
                loops.loops,
                loops.until,
                loops.draws,
                loops.dispatches,
                loops.p50_us,
                loops.p90_us,
                loops.p99_us,
                loops.max_us,
                loops.per_row()
            );
            if let Some(line) = loops.beside_native() {
                let _ = writeln!(text, "  {line}");
            }
            let _ = writeln!(text, "  frames: {}", loops.frames.frame_ms.text());
        }
        if times && !self.cold.all.is_empty() {
            let _ = writeln!(text, "  frames, cold: {}", self.cold.frame_ms.text());
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

    /// This run beside an earlier one of the same scene.
    pub fn comparison(&self, base: &Self) -> String {
        let mut text = String::new();
        let mut line = |what: &str, before: f64, now: f64, unit: &str| {
            let ratio = if before > 0.0 {
                format!("{:.2} x", now / before)
            } else {
                "new".to_owned()
            };
            let _ = writeln!(
                text,
                "    {what:28} {before:>12.3} {now:>12.3} {unit:3} {ratio:>8}"
            );
        };
        match (&base.loops, &self.loops) {
            (Some(before), Some(now)) if before.until == now.until => {
                line("CPU a draw or dispatch", before.per_row(), now.per_row(), "us");
                for (what, before, now) in [
                    ("frame p50", before.frames.frame_ms.p50, now.frames.frame_ms.p50),
                    ("frame p99", before.frames.frame_ms.p99, now.frames.frame_ms.p99),
                ] {
                    line(what, before, now, "ms");
                }
            }
            _ => line(
                "cold frame p50",
                base.cold.frame_ms.p50,
                self.cold.frame_ms.p50,
                "ms",
            ),
        }
        let each = |report: &Self, time: &Time| {
            let loops = report.loops.as_ref().map_or(1, |loops| loops.loops).max(1);
            time.nanoseconds as f64 / 1e3 / loops as f64
        };
        for now in &self.times {
            let before = base.times.iter().find(|time| time.system == now.system);
            line(
                &now.system,
                before.map_or(0.0, |time| each(base, time)),
                each(self, now),
                "us",
            );
        }
        format!("  beside the report given, before and now (systems: a loop):\n{text}")
    }
}
