//! Recorded scenes come out as expected: the small behaviour captures (`traps/` in the folder that `RELIC_SCENES` names)
//! and those of its scenes that are expected to. What does not pass yet is listed in `data/known_failures.txt`, and fails
//! here once it passes.

#![expect(clippy::panic, reason = "a test stops at what it did not expect")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use relic_systems::{
    config::Config,
    gpu::open_device,
    scene::{PlayOptions, play, pm4cap},
};
use relic_vulkan::Device;

const KNOWN_FAILURES: &str = include_str!("../data/known_failures.txt");

/// Names and reasons.
fn known_failures() -> BTreeMap<&'static str, &'static str> {
    KNOWN_FAILURES
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            line.split_once(char::is_whitespace)
                .map(|(name, reason)| (name, reason.trim()))
                .unwrap_or_else(|| panic!("known_failures.txt: {line} has no reason"))
        })
        .collect()
}

/// The folder of recorded scenes; says so when there is none.
fn scenes() -> Option<PathBuf> {
    let folder = std::env::var_os("RELIC_SCENES").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: RELIC_SCENES names no folder of recorded scenes");
    }
    folder
}

/// What went wrong with a scene, if anything did. `told` counts the validation layer's messages of scenes before.
fn failure(file: &PathBuf, device: &Device, told: &mut usize) -> Option<String> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => return Some(error.to_string()),
    };
    let scene = match pm4cap::parse(&bytes) {
        Ok(scene) => scene,
        Err(error) => return Some(error.to_string()),
    };
    let report = match play(&scene, &PlayOptions::new(Config::default(), device.clone())) {
        Ok(report) => report,
        Err(error) => return Some(error.to_string()),
    };
    // The device keeps the messages of all scenes.
    let messages = report.validation.len();
    let complaints = report.validation[(*told).min(messages)..].to_vec();
    *told = messages;
    let mut wrong: Vec<String> = report
        .outcomes
        .iter()
        .filter(|outcome| !outcome.passes())
        .map(|outcome| format!("{}: {:?}", outcome.name, outcome.result))
        .collect();
    if !report.ending.holds(&report.faults, &report.waiting) {
        wrong.push(format!("it was to end with {:?}", report.ending));
        wrong.extend(report.faults);
        wrong.extend(report.waiting);
    }
    wrong.extend(complaints);
    (!wrong.is_empty()).then(|| wrong.join("\n    "))
}

#[test]
fn recorded_scenes_come_out_as_expected_or_are_known_not_to() {
    let known = known_failures();
    let Some(folder) = scenes() else { return };
    let traps = fs::read_dir(folder.join("traps")).unwrap_or_else(|error| {
        panic!("{} has no folder `traps`: {error}", folder.display());
    });
    let mut files: Vec<PathBuf> = traps
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "pm4cap"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no captures in {}", folder.display());
    for scene in [
        "small_dispatch",
        "small_triangle",
        "small_quad",
        "compute500",
        "mixed",
        "draws3000",
    ] {
        files.push(folder.join(scene).with_extension("pm4cap"));
    }
    let device = open_device(true, std::env::var("RELIC_GPU").ok())
        .unwrap_or_else(|error| panic!("this test needs a Vulkan driver and the validation layer: {error}"));
    let mut wrong = Vec::new();
    let mut told = 0;
    let mut passed = 0;
    for file in &files {
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match (failure(file, &device, &mut told), known.get(name.as_str())) {
            (None, None) => passed += 1,
            (Some(_), Some(_)) => {}
            (Some(reason), None) => wrong.push(format!("{name} fails:\n    {reason}")),
            (None, Some(reason)) => wrong.push(format!(
                "{name} passes: take it out of known_failures.txt (it said: {reason})"
            )),
        }
    }
    let missing = known.keys().filter(|name| {
        !files
            .iter()
            .any(|file| file.file_stem().is_some_and(|stem| stem == **name))
    });
    wrong
        .extend(missing.map(|name| format!("known_failures.txt names {name}, and there is no such capture")));
    assert!(
        wrong.is_empty(),
        "{passed} of {} come out as expected;\n{}",
        files.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_known_failure_has_a_reason() {
    for (name, reason) in known_failures() {
        assert!(reason.len() > 10, "{name}: {reason}");
    }
}

/// 500 dispatches, each reading what the one in front wrote, 68 with arguments that the GPU writes: barriers, no cut.
#[test]
fn dispatches_that_read_each_other_are_not_cut() {
    let Some(folder) = scenes() else { return };
    let bytes = fs::read(folder.join("compute500.pm4cap")).unwrap_or_else(|error| panic!("{error}"));
    let scene = pm4cap::parse(&bytes).unwrap_or_else(|error| panic!("{error}"));
    let device = open_device(false, std::env::var("RELIC_GPU").ok())
        .unwrap_or_else(|error| panic!("this test needs a Vulkan driver: {error}"));
    let report =
        play(&scene, &PlayOptions::new(Config::default(), device)).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.passes(), "{:?}", report.faults);
    assert_eq!(report.counters.dispatches, 500);
    assert_eq!(report.counters.cuts, 0);
}
