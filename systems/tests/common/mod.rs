//! Playing scenes in tests, and asserting reports.

pub mod device;

use relic_systems::{
    config::Config,
    scene::{PlayOptions, PlayReport, SceneBuilder, play},
};

use device::device;

/// Plays a scene on the tests' device.
#[expect(clippy::panic, reason = "a scene that can't be played fails the test")]
pub fn play_scene(scene: SceneBuilder) -> PlayReport {
    play(&scene.build(), &PlayOptions::new(Config::default(), device()))
        .unwrap_or_else(|error| panic!("the scene can't be played: {error}"))
}

/// Asserts that everything expected holds.
pub fn assert_passes(report: &PlayReport) {
    assert!(report.passes(), "{report:#?}");
    assert!(!report.outcomes.is_empty(), "the scene expects nothing");
}
