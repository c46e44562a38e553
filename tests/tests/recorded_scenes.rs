//! Recorded scenes come out as expected: those in the folder that `RELIC_SCENES` names, the small behaviour captures in
//! its `traps/`, and the shader captures in its `open/`. What does not pass yet is listed in `data/known_failures.txt`,
//! and fails here once it passes.

#![expect(clippy::panic, reason = "a test stops at what it did not expect")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use relic_systems::{
    config::{Config, TapeUse},
    gpu::open_device,
    scene::{PlayOptions, play, pm4cap},
};
use relic_vulkan::Device;

/// Captures that are not played: llvmpipe compiles the workgroup-memory exchange of these lanes for over five minutes.
const TOO_LONG: [&str; 2] = [
    "open/g_Test_spv_shaderBallotAMD_comp/gfx1010",
    "open/g_Test_spv_shaderBallotAMD_comp/gfx1030",
];

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
    // Tape and evaluator both walk every plan.
    let config = Config {
        tapes: TapeUse::Verified,
        ..Config::default()
    };
    let report = match play(&scene, &PlayOptions::new(config, device.clone())) {
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
    let counters = report.counters;
    // A known failure is none of this.
    assert_eq!(
        counters.tape_differences,
        0,
        "{}: tape and evaluator differ",
        file.display()
    );
    (!wrong.is_empty()).then(|| wrong.join("\n    "))
}

/// Plays files, each named by its path in the folder, and says which are not as the list has it.
fn check(folder: &Path, files: &[PathBuf], belongs: impl Fn(&str) -> bool) {
    assert!(!files.is_empty(), "no captures in {}", folder.display());
    let known = known_failures();
    let device = open_device(true, std::env::var("RELIC_GPU").ok())
        .unwrap_or_else(|error| panic!("this test needs a Vulkan driver and the validation layer: {error}"));
    let mut wrong = Vec::new();
    let mut told = 0;
    let mut passed = 0;
    let name_of = |file: &PathBuf| {
        let path = file.strip_prefix(folder).unwrap_or(file).with_extension("");
        path.to_string_lossy().into_owned()
    };
    for file in files {
        let name = name_of(file);
        if TOO_LONG.contains(&name.as_str()) {
            eprintln!("SKIPPED: {name} takes the driver too long");
            continue;
        }
        match (failure(file, &device, &mut told), known.get(name.as_str())) {
            (None, None) => passed += 1,
            (Some(_), Some(_)) => {}
            (Some(reason), None) => wrong.push(format!("{name} fails:\n    {reason}")),
            (None, Some(reason)) => wrong.push(format!(
                "{name} passes: take it out of known_failures.txt (it said: {reason})"
            )),
        }
    }
    let missing = known
        .keys()
        .filter(|name| belongs(name) && !files.iter().any(|file| name_of(file) == **name));
    wrong
        .extend(missing.map(|name| format!("known_failures.txt names {name}, and there is no such capture")));
    assert!(
        wrong.is_empty(),
        "{passed} of {} come out as expected;\n{}",
        files.len(),
        wrong.join("\n")
    );
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{} can't be read: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "pm4cap"))
        .collect();
    files.sort();
    files
}

#[test]
fn recorded_scenes_come_out_as_expected_or_are_known_not_to() {
    let Some(folder) = scenes() else { return };
    let mut files = captures(&folder);
    files.extend(captures(&folder.join("traps")));
    check(&folder, &files, |name| !name.starts_with("open/"));
}

/// Shaders of other projects, a capture for each mode of the driver that compiled them. Drivers that compile for the CPU
/// take minutes over all of them: this is one part of four.
fn check_open_captures(part: usize) {
    const PARTS: usize = 4;
    let Some(folder) = scenes() else { return };
    let open = folder.join("open");
    if !open.is_dir() {
        eprintln!("SKIPPED: {} does not exist", open.display());
        return;
    }
    let mut folders: Vec<PathBuf> = fs::read_dir(&open)
        .unwrap_or_else(|error| panic!("{} can't be read: {error}", open.display()))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let own: Vec<&PathBuf> = folders.iter().skip(part).step_by(PARTS).collect();
    let files: Vec<PathBuf> = own.iter().flat_map(|folder| captures(folder)).collect();
    let all: Vec<String> = folders
        .iter()
        .filter_map(|path| Some(path.strip_prefix(&folder).ok()?.to_string_lossy().into_owned()))
        .collect();
    check(&folder, &files, |name| {
        let Some(parent) = Path::new(name).parent().filter(|_| name.starts_with("open/")) else {
            return false;
        };
        // Names without a folder belong to the first part, which then says so.
        match all.iter().position(|own| Path::new(own) == parent) {
            Some(index) => index % PARTS == part,
            None => part == 0,
        }
    });
}

#[test]
fn open_captures_come_out_as_expected_1() {
    check_open_captures(0);
}

#[test]
fn open_captures_come_out_as_expected_2() {
    check_open_captures(1);
}

#[test]
fn open_captures_come_out_as_expected_3() {
    check_open_captures(2);
}

#[test]
fn open_captures_come_out_as_expected_4() {
    check_open_captures(3);
}
