//! Shaders that are kept on disk between runs.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

#[path = "common/device.rs"]
mod device;

use std::{fs, path::Path};

use device::device;
use relic_systems::{
    Counters,
    config::Config,
    scene::{PlayOptions, play, pm4cap},
    shader_cache::{PREBUILT, STAGES},
};

const TRIANGLE: &[u8] = include_bytes!("../../tests/scenes/small_triangle.pm4cap");

/// Plays the triangle with a cache, and sees that it is right: (kept, made).
fn run(folder: Option<&Path>) -> (u64, u64) {
    let config = Config {
        shader_cache: folder.map(Path::to_owned),
        ..Config::default()
    };
    let report = play(
        &pm4cap::parse(TRIANGLE).unwrap(),
        &PlayOptions::new(config, device()),
    )
    .unwrap();
    assert!(report.passes(), "{report:#?}");
    let Counters {
        stages_kept,
        stages_made,
        ..
    } = report.counters;
    (stages_kept, stages_made)
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_second_run_finds_what_the_first_has_made() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("deep/shaders");
    assert_eq!(run(None), (0, 0));
    assert_eq!(files(folder.path()), Vec::<String>::new());
    assert_eq!(run(Some(&cache)), (0, 2));
    assert_eq!(run(Some(&cache)), (2, 0));
    let names = files(&cache);
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        names[0].starts_with("pipelines-") && names[1] == STAGES,
        "{names:?}"
    );
    // In front of an own pack that has nothing.
    fs::create_dir(cache.join(PREBUILT)).unwrap();
    fs::rename(cache.join(STAGES), cache.join(PREBUILT).join("a.pack")).unwrap();
    assert_eq!(run(Some(&cache)), (2, 0));
}

#[test]
fn what_is_damaged_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(STAGES);
    assert_eq!(run(Some(folder.path())), (0, 2));
    // In the last entry's content.
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 100;
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(run(Some(folder.path())), (1, 1));
    assert_eq!(run(Some(folder.path())), (2, 0));
    fs::write(&path, b"of another version").unwrap();
    assert_eq!(run(Some(folder.path())), (0, 2));
    let pipelines = files(folder.path())
        .into_iter()
        .find(|name| name.starts_with("pipelines-"));
    let pipelines = folder.path().join(pipelines.unwrap());
    let mut bytes = fs::read(&pipelines).unwrap();
    bytes[40] ^= 1;
    fs::write(&pipelines, bytes).unwrap();
    assert_eq!(run(Some(folder.path())), (2, 0));
    // A cache that can't be had is done without.
    assert_eq!(run(Some(&path)), (0, 0));
}
