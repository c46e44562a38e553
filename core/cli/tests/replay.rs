//! `relic replay`: what it reports, and in which forms.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

#[path = "common/gpu.rs"]
mod gpu;

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use common::{relic, run};
use gpu::has_gpu;
use serde_json::Value;

/// `None`, which is said, where nothing can play a scene.
fn replay() -> Option<Command> {
    if !has_gpu() {
        return None;
    }
    let mut command = relic();
    command.args(["replay", "--headless"]);
    Some(command)
}

fn scene(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/scenes/{name}.pm4cap"))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// How often each system of the table ran.
fn runs(report: &Value) -> impl Fn(&str) -> u64 {
    let times = report["times"].as_array().unwrap().clone();
    move |system| {
        times
            .iter()
            .find(|time| time["system"] == system)
            .map_or(0, |time| time["runs"].as_u64().unwrap())
    }
}

#[test]
fn what_can_t_be_played_is_reported_and_the_rest_goes_on() {
    let Some(mut replay) = replay() else { return };
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.pm4cap");
    fs::write(&broken, b"PM4CAP01").unwrap();
    let (code, stdout, stderr) = run(replay
        .args([&broken, &scene("small_dispatch")])
        .args(["--report", "json"]));
    assert_eq!(code, Some(2), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report[0]["passes"], false);
    assert!(report[0]["error"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(report[1]["passes"], true, "{stdout}");
    assert_eq!(report[1]["expectations"][0]["name"], "data");
    assert!(
        report[1]["times"]
            .as_array()
            .is_some_and(|times| !times.is_empty())
    );
}

#[test]
fn loops_end_at_the_stage_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let stages = ["decode_packets", "evaluate_plans", "commit_rows"];
    for (until, reached) in [("decode", 1), ("evaluate", 2), ("record", 3), ("render", 4)] {
        let Some(mut replay) = replay() else { return };
        let path = folder.path().join(format!("{until}.json"));
        let (code, stdout, stderr) = run(replay
            .arg(scene("small_triangle"))
            .args(["--times", "--loops", "5", "--until", until, "--report"])
            .arg(&path));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        assert!(
            stdout.contains(&format!("5 loops up to {until}, 1 draws and 0 dispatches")),
            "{stdout}"
        );
        let report = &json(&path)[0];
        assert_eq!(report["loops"]["until"], until);
        assert_eq!(report["loops"]["frames"]["all"].as_array().unwrap().len(), 5);
        let counters = report["loops"]["counters"].as_array().unwrap();
        let batches = counters.iter().find(|counter| counter[0] == "batches").unwrap();
        assert_eq!(batches[1] == 1, until == "render", "{until}: {batches}");
        let native = report["loops"]["native_us"].as_f64().unwrap();
        assert_eq!(native > 0.0, until == "record" || until == "render", "{report}");
        let runs = runs(report);
        for (at, stage) in stages.into_iter().enumerate() {
            assert_eq!(runs(stage) >= 5, at < reached, "{until}, {stage}: {stdout}");
        }
    }
}

#[test]
fn cold_loops_play_the_whole_scene_each_time() {
    let Some(mut replay) = replay() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cold.json");
    let (code, stdout, _) = run(replay
        .arg(scene("small_triangle"))
        .args(["--loops", "3", "--cold", "--report"])
        .arg(&path));
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("frames, cold:"), "{stdout}");
    let report = &json(&path)[0];
    assert!(report["loops"].is_null());
    assert_eq!(report["cold"]["all"].as_array().unwrap().len(), 3);
}

#[test]
fn a_report_is_compared_with_an_earlier_one() {
    let Some(mut first) = replay() else { return };
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base.json");
    let (triangle, quad) = (scene("small_triangle"), scene("small_quad"));
    let loops = ["--loops", "3"];
    assert_eq!(
        run(first.arg(&triangle).args(loops).arg("--report").arg(&base)).0,
        Some(0)
    );
    let second = |base: &Path| {
        run(replay()
            .unwrap()
            .args([&triangle, &quad])
            .args(loops)
            .arg("--compare")
            .arg(base))
    };
    let (code, stdout, _) = second(&base);
    assert_eq!(code, Some(0), "{stdout}");
    let (of_triangle, of_quad) = stdout.split_once("small_quad").unwrap();
    assert!(
        of_triangle.contains("CPU a draw or dispatch") && of_triangle.contains(" x\n"),
        "{stdout}"
    );
    assert!(of_quad.contains("has no scene of this name"), "{stdout}");
    fs::write(&base, "[{}").unwrap();
    let (code, stdout, stderr) = second(&base);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(
        stderr.contains("base.json") && stderr.contains("--report"),
        "{stderr}"
    );
}

#[test]
fn a_trace_has_zones_of_the_pump_and_the_pool() {
    let Some(mut replay) = replay() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let (code, stdout, _) = run(replay.arg(scene("small_triangle")).arg("--trace").arg(&path));
    assert_eq!(code, Some(0), "{stdout}");
    let trace = json(&path);
    let events = trace["traceEvents"].as_array().unwrap();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        assert!(event["ts"].as_f64().unwrap() >= 0.0, "{event}");
        assert!(event["dur"].as_f64().unwrap() >= 0.0, "{event}");
    }
    // The GPU's own: in front of the pump's last look at it.
    let gpu = events
        .iter()
        .find(|event| event["args"]["name"] == "GPU")
        .unwrap();
    let busy: f64 = events
        .iter()
        .filter(|event| event["ph"] == "X" && event["tid"] == gpu["tid"])
        .map(|event| {
            assert_eq!(event["name"], "graphics");
            event["dur"].as_f64().unwrap()
        })
        .sum();
    assert!(busy > 0.0, "{trace}");
    for zone in ["decode_packets", "evaluate chunk", "make pipeline"] {
        let found = events
            .iter()
            .find(|event| event["name"] == zone && event["ph"] == "X");
        let tid = &found.unwrap()["tid"];
        assert!(
            events
                .iter()
                .any(|event| event["ph"] == "M" && event["tid"] == *tid && event["args"]["name"].is_string()),
            "{zone}"
        );
    }
    let [file] = &*fs::read_dir(folder.path()).unwrap().collect::<Vec<_>>() else {
        unreachable!("no part file stays")
    };
    assert_eq!(file.as_ref().unwrap().path(), path);
}

/// Tells what the browser made of a page, as its title: elements, and pictures that have a size.
const PROBE: &str = "<script>addEventListener('load', () => {
    const count = what => document.querySelectorAll(what).length;
    const pictures = [...document.images].filter(image => image.complete &amp;&amp; image.naturalWidth > 0).length;
    document.title = `scenes ${count('h2')} plots ${count('svg polyline')} bars ${count('td svg rect')} pictures ${pictures} of ${document.images.length}`;
})</script></body>";

#[test]
fn a_browser_shows_the_page() {
    let Some(mut replay) = replay() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let (code, stdout, _) = run(replay
        .args([scene("small_triangle"), scene("small_dispatch")])
        .args(["--loops", "3", "--report"])
        .arg(&page));
    assert_eq!(code, Some(0), "{stdout}");
    let text = fs::read_to_string(&page).unwrap();
    assert!(
        !text.contains("http") && !text.contains("<script"),
        "fetches nothing, runs nothing"
    );
    let probe = PROBE.replace("&amp;", "&");
    fs::write(&page, text.replace("</body>", &probe)).unwrap();
    let browser = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-sync",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", page.display()))
        .output();
    let Ok(browser) = browser else {
        eprintln!("SKIPPED: no chromium");
        return;
    };
    let shown = String::from_utf8_lossy(&browser.stdout);
    let title = shown.split("<title>").nth(1).unwrap_or_default();
    let title = title.split("</title>").next().unwrap();
    let systems = title
        .split_whitespace()
        .nth(5)
        .and_then(|count| count.parse().ok());
    // For each of both scenes: frames, their CPU time, memory.
    assert!(title.starts_with("scenes 2 plots 6 bars "), "{title}: {shown}");
    assert!(systems > Some(10), "{title}");
    assert!(title.ends_with(" pictures 1 of 1"), "{title}");
}
