//! The three small scenes, recorded from a real driver, come out right to the byte; and so they do with systems
//! shuffled and with task pools of several sizes (one a process: see the environment variable below).

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helpers may fail like the test itself"
)]

#[path = "common/device.rs"]
mod device;

use device::device;
use relic_systems::{
    config::{Config, WriteTracking},
    scene::{DATA, Event, PlayOptions, PlayReport, SceneBuilder, packet, play, pm4cap, split},
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

/// The dispatch's shader is still on the pool when the packet behind it is refused: the dispatch happens all the same.
#[test]
fn a_refusal_waits_for_the_rows_in_front_of_it() {
    let mut scene = pm4cap::parse(SCENES[0].1).unwrap();
    let mut packets = Vec::new();
    let mut expectations = Vec::new();
    scene.events.retain(|event| match event {
        Event::Submit(submission) => {
            for (address, words) in &submission.buffers {
                let [low, high] = split(address.0);
                packets.push(packet(0x3F, &[low, high, *words]));
            }
            false
        }
        Event::ExpectBuffer { .. } => {
            expectations.push(event.clone());
            false
        }
        _ => true,
    });
    packets.push(packet(0xF7, &[0]));
    let mut scene = SceneBuilder::after(scene).submit(0, &packets).build();
    scene.events.extend(expectations);
    let report = play(&scene, &PlayOptions::new(Config::default(), device())).unwrap();
    assert!(report.outcomes[0].passes(), "{report:#?}");
    assert!(report.faults[0].contains("0xf7"), "{report:#?}");
}

/// A program that can't be recompiled is refused with its instruction; so is one that is not mapped.
#[test]
fn programs_that_cannot_be_recompiled_are_refused_by_name() {
    // s_endpgm is 0xBF810000; 0xFFFFFFFF is no instruction.
    for (words, address, parts) in [
        (
            &[0xFFFF_FFFFu32, 0xBF81_0000][..],
            DATA,
            &["compute program refused", "0x0", "[ffffffff]"][..],
        ),
        (
            &[][..],
            0x1234_5600_0000,
            &["0x123456000000", "not in mapped memory"][..],
        ),
    ] {
        let program = packet(0x76, &[0x20C, (address >> 8) as u32, (address >> 40) as u32]);
        let threads = packet(0x76, &[0x207, 1, 1, 1]);
        let dispatch = packet(0x15, &[1, 1, 1, 1]);
        let scene = SceneBuilder::new()
            .write(DATA, words)
            .submit(0, &[program, threads, dispatch])
            .build();
        let report = play(&scene, &PlayOptions::new(Config::default(), device())).unwrap();
        assert_eq!(report.faults.len(), 1, "{report:#?}");
        for part in parts
            .iter()
            .chain(&["DISPATCH_DIRECT", "graphics queue", "submission 1"])
        {
            assert!(
                report.faults[0].to_lowercase().contains(&part.to_lowercase()),
                "{part} is not in {}",
                report.faults[0]
            );
        }
    }
}

/// A depth comparison with a surface that the GPU can't compare is refused, and says with which.
#[test]
fn depth_comparisons_with_colours_are_refused() {
    let program = [
        0x7E00_02F0, // v_mov_b32 v0, 0.5
        0x7E02_02F0, // v_mov_b32 v1, 0.5
        0x7E04_02F0, // v_mov_b32 v2, 0.5
        0xF0BC_0108, // image_sample_c_lz v3, v[0:2], s[0:7], s[8:11] dmask:0x1 dim:SQ_RSRC_IMG_2D
        0x0040_0300,
        0xBF8C_3F70, // s_waitcnt vmcnt(0)
        0xE070_0000, // buffer_store_dword v3, off, s[12:15], 0
        0x8003_0300,
        0xBF81_0000, // s_endpgm
    ];
    let texture = DATA + 0x4000;
    let surface = [
        (texture >> 8) as u32,
        56 << 20 | 3 << 30,
        3 | 3 << 14,
        0xFAC | 9 << 28,
    ];
    let sampler = [0, 0, 0, 0];
    let buffer = [(DATA + 0x1000) as u32, (DATA >> 32) as u32, 64, 22 << 12 | 0xFAC];
    let user_data: Vec<u32> = [0x240]
        .into_iter()
        .chain(surface)
        .chain([0; 4])
        .chain(sampler)
        .chain(buffer)
        .collect();
    let scene = SceneBuilder::new()
        .write(DATA, &program)
        .submit(
            0,
            &[
                packet(0x76, &[0x20C, (DATA >> 8) as u32, (DATA >> 40) as u32]),
                packet(0x76, &[0x212, 0, 16 << 1]),
                packet(0x76, &[0x207, 1, 1, 1]),
                packet(0x76, &user_data),
                packet(0x15, &[1, 1, 1, 1]),
            ],
        )
        .build();
    let report = play(&scene, &PlayOptions::new(Config::default(), device())).unwrap();
    assert_eq!(report.faults.len(), 1, "{report:#?}");
    for part in ["a depth comparison samples R8G8B8A8_UNORM", "DISPATCH_DIRECT"] {
        assert!(report.faults[0].contains(part), "{report:#?}");
    }
}

/// The small triangle with one context register set to another value, and its expected texels changed.
fn changed_triangle(register: u32, value: u32, change: impl Fn(&mut [u8; 4])) -> PlayReport {
    let mut scene = pm4cap::parse(SCENES[1].1).unwrap();
    let mut found = 0;
    for event in &mut scene.events {
        match event {
            Event::Write { bytes, .. } => {
                let words: Vec<u32> = bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|word| u32::from_le_bytes(*word))
                    .collect();
                for (at, pair) in words.windows(2).enumerate() {
                    let [header, first] = [pair[0], pair[1]];
                    let count = header >> 16 & 0x3FFF;
                    if header == 3 << 30 | count << 16 | 0x69 << 8
                        && (first..first + count).contains(&register)
                    {
                        let byte = 4 * (at + 2 + (register - first) as usize);
                        bytes[byte..byte + 4].copy_from_slice(&value.to_le_bytes());
                        found += 1;
                    }
                }
            }
            Event::ExpectImage(image) => {
                assert_eq!((image.texel, image.format), (4, 37), "R8G8B8A8_UNORM");
                image.bytes.as_chunks_mut().0.iter_mut().for_each(&change);
            }
            _ => {}
        }
    }
    assert_eq!(found, 1, "register {register:#x}");
    play(&scene, &PlayOptions::new(Config::default(), device())).unwrap()
}

/// CB_SHADER_MASK keeps components as CB_TARGET_MASK does: with the first alone the others stay as memory has them, 0.
#[test]
fn components_outside_the_shader_mask_stay() {
    let report = changed_triangle(0x8F, 1, |texel| *texel = [texel[0], 0, 0, 0]);
    assert!(report.passes(), "{report:#?}");
}

/// SPI_SHADER_COL_FORMAT without a format: the program exports nothing, and the target stays as it is.
#[test]
fn targets_without_an_export_stay() {
    let report = changed_triangle(0x1C5, 0, |texel| *texel = [0; 4]);
    assert!(report.passes(), "{report:#?}");
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

/// Pixel programs that see another number of samples than there are: refused, and by register.
#[test]
fn samples_that_programs_do_not_see_are_refused() {
    let report = changed_triangle(0x2F8, 1 << 20, |_| {});
    assert!(!report.passes());
    assert!(
        report.faults[0].contains("PA_SC_AA_CONFIG 0x100000"),
        "{report:#?}"
    );
}

/// A scene's submission plays again, with and without stores to its texture in between.
#[test]
fn stores_between_submissions_are_seen_and_untouched_memory_is_not_read() {
    let scene = pm4cap::parse(SCENES[2].1).unwrap();
    let (at, size) = scene
        .events
        .iter()
        .find_map(|event| match event {
            Event::Image(image) if image.extent[0] == 16 => Some((image.address, 1024)),
            _ => None,
        })
        .unwrap();
    let mut original = vec![0; size];
    for event in &scene.events {
        if let Event::Write { address, bytes } = event
            && let Some(offset) =
                at.0.checked_sub(address.0)
                    .filter(|at| (*at as usize) < bytes.len())
        {
            let part = &bytes[offset as usize..];
            let count = part.len().min(size);
            original[..count].copy_from_slice(&part[..count]);
        }
    }
    let inverted: Vec<u8> = original.iter().map(|byte| !byte).collect();
    let again: Vec<Event> = scene
        .events
        .iter()
        .filter(|event| matches!(event, Event::Submit(_) | Event::ExpectImage(_)))
        .cloned()
        .collect();
    let store = |bytes: &[u8]| Event::Write {
        address: at,
        bytes: bytes.to_vec(),
    };
    let play_again = |writes, texture: &[u8]| {
        let mut scene = scene.clone();
        scene.events.push(store(texture));
        scene.events.extend(again.clone());
        let config = Config {
            writes,
            ..Config::default()
        };
        let report = play(&scene, &PlayOptions::new(config, device())).unwrap();
        assert!(report.faults.is_empty(), "{report:#?}");
        let passes: Vec<bool> = report.outcomes.iter().map(|outcome| outcome.passes()).collect();
        (passes, report.counters.uploaded)
    };
    let uploaded = replay(SCENES[2].1, Config::default()).counters.uploaded;
    for writes in [WriteTracking::Watched, WriteTracking::Compared] {
        let (passes, uploads) = play_again(writes, &inverted);
        assert_eq!(
            passes,
            [true, false],
            "{writes:?}: the picture shows the new texture"
        );
        assert!(uploads > uploaded, "{writes:?}");
        // The same bytes again: looked at, and nothing to do.
        let (passes, uploads) = play_again(writes, &original);
        assert_eq!((passes, uploads), (vec![true, true], uploaded), "{writes:?}");
    }
    // Nothing is stored: what is watched is not read again.
    if relic_core::memory::WriteTracker::new().is_watching() {
        for (writes, compares) in [(WriteTracking::Watched, false), (WriteTracking::Compared, true)] {
            let config = Config {
                writes,
                ..Config::default()
            };
            let options = PlayOptions {
                loops: 2,
                ..PlayOptions::new(config, device())
            };
            let loops = play(&scene, &options).unwrap().loops.unwrap();
            assert_eq!(
                loops.counters.compared > 0,
                compares,
                "{writes:?}: {}",
                loops.counters.compared
            );
        }
    }
}
