//! What the tests of the runtime share: the device, and asserting reports.

use std::sync::OnceLock;

use relic_systems::{
    config::Config,
    gpu::open_device,
    scene::{PlayOptions, PlayReport, SceneBuilder, play},
};
use relic_vulkan::Device;

/// The device of this test process, with the validation layer on.
pub fn device() -> Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE
        .get_or_init(|| {
            open_device(true, std::env::var("RELIC_GPU").ok()).unwrap_or_else(|error| {
                panic!("these tests need a Vulkan driver and the validation layer: {error}")
            })
        })
        .clone()
}

/// Plays a scene on the tests' device.
pub fn play_scene(scene: SceneBuilder) -> PlayReport {
    play(&scene.build(), &PlayOptions::new(Config::default(), device()))
        .unwrap_or_else(|error| panic!("the scene can't be played: {error}"))
}

/// Asserts that everything expected holds.
pub fn assert_passes(report: &PlayReport) {
    assert!(report.passes(), "{report:#?}");
    assert!(!report.outcomes.is_empty(), "the scene expects nothing");
}
