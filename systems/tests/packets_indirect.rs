//! Draws and dispatches whose arguments lie in memory.

mod common;
mod packet_words;

use common::{assert_passes, device::device, play_scene};
use packet_words::{STORE, decode, set_base, store, store_state, write_data};
use relic_components::{Draws, batch::DrawSource};
use relic_core::GuestAddress;
use relic_systems::{
    config::Config,
    decode::Stop,
    scene::{DATA, Event, PlayOptions, SceneBuilder, packet, play, pm4cap, split},
};

const PROGRAM: u64 = DATA + 0x8000;
const ARGUMENTS: u64 = DATA + 0x1000;
/// GS user data 3 and on.
const VERTEX: u32 = 0x8F;
const INSTANCE: u32 = 0x90;
const DRAW: u32 = 0x91;

/// A dispatch of [`STORE`] whose size lies at the base plus an offset: compute engines' header bit set.
fn dispatch_indirect(offset: u32) -> Vec<u32> {
    let mut words = packet(0x16, &[offset, 0x45]);
    words[0] |= 2;
    words
}

fn compute_base(address: u64) -> Vec<u32> {
    let mut words = set_base(address);
    words[0] |= 2;
    words
}

/// The GPU reads the size when it gets there: sizes that an earlier packet or dispatch writes cost no cut.
#[test]
fn indirect_dispatches_read_their_size_on_the_gpu() {
    let [low, high] = split(ARGUMENTS);
    let barrier = packet(0x46, &[0x407]);
    for (queue, run) in [
        (0, [compute_base(ARGUMENTS - 16), dispatch_indirect(16)].concat()),
        (1, packet(0x16, &[low, high, 0x45])),
    ] {
        for (write, ran) in [
            (write_data(ARGUMENTS, &[1, 1, 1]), true),
            (write_data(ARGUMENTS, &[1, 0, 1]), false),
            (store(PROGRAM, ARGUMENTS, 3, 1), true),
        ] {
            let scene = SceneBuilder::new()
                .write(PROGRAM, STORE)
                .submit(
                    queue,
                    &[
                        write,
                        barrier.clone(),
                        store_state(PROGRAM, DATA, 2, 7),
                        run.clone(),
                        write_data(DATA + 0x40, &[1]),
                    ],
                )
                .expect("results", DATA, &if ran { [7, 7, 0] } else { [0; 3] })
                .expect("behind", DATA + 0x40, &[1]);
            let report = play_scene(scene);
            assert_passes(&report);
            assert_eq!(report.counters.cuts, 0, "{report:#?}");
        }
    }
}

#[test]
fn indirect_dispatches_in_threads_are_refused() {
    let report = play_scene(
        SceneBuilder::new()
            .write(PROGRAM, STORE)
            .submit(0, &[store_state(PROGRAM, DATA, 2, 7), packet(0x16, &[0, 0x65])]),
    );
    assert!(
        report.faults[0].contains("DISPATCH_INDIRECT") && report.faults[0].contains("counts threads"),
        "{report:#?}"
    );
}

/// Draws that packets give with `arguments` in memory.
fn draws(packets: &[Vec<u32>], arguments: &[u32]) -> (Stop, Draws) {
    // VGT_SHADER_STAGES_EN: the vertex stage's user data are GS registers.
    let stages = packet(0x69, &[0x2D5, 1 << 13]);
    let packets: Vec<Vec<u32>> = std::iter::once(stages).chain(packets.iter().cloned()).collect();
    let (stop, decoded) = decode(&packets, arguments);
    (stop, decoded.draws)
}

const IN_MEMORY: u64 = packet_words::ARGUMENTS;

fn user_data(draws: &Draws, row: usize) -> [u32; 3] {
    let first = draws.rows[row].vertex_user_data as usize + 3;
    [
        draws.user_data[first],
        draws.user_data[first + 1],
        draws.user_data[first + 2],
    ]
}

/// Known trap 5: a record without indices has four words, here at the very end of mapped memory.
#[test]
fn a_record_without_indices_has_four_words() {
    let (stop, draws) = draws(
        &[set_base(IN_MEMORY), packet(0x24, &[0, VERTEX, INSTANCE, 2])],
        &[3, 2, 7, 1],
    );
    assert!(matches!(stop, Stop::Drained));
    assert_eq!(draws.rows[0].source, DrawSource::Auto { count: 3 });
    assert_eq!(draws.rows[0].instances, 2);
    assert_eq!(user_data(&draws, 0), [7, 1, 0]);
}

#[test]
fn a_record_with_indices_counts_from_the_index_base() {
    let state = [
        packet(0x2A, &[1]),
        packet(0x26, &[0x8000, 0]),
        packet(0x13, &[100]),
    ]
    .concat();
    let (_, draws) = draws(
        &[
            state,
            // Bases may lie at any multiple of 4.
            set_base(IN_MEMORY + 4),
            packet(0x25, &[0, VERTEX, INSTANCE, 0]),
        ],
        &[0, 6, 2, 10, (-4i32).cast_unsigned(), 5],
    );
    assert_eq!(
        draws.rows[0].source,
        DrawSource::Indexed {
            address: GuestAddress(0x8028),
            count: 6,
            limit: 90,
            index_type: 1
        }
    );
    assert_eq!(user_data(&draws, 0), [(-4i32).cast_unsigned(), 5, 0]);
}

#[test]
fn multi_draws_take_their_number_from_memory_and_number_themselves() {
    let arguments = [2, 0, 0, 0, 3, 1, 10, 20, 9, 9, 6, 4, 11, 21];
    let multi = |control: u32, most: u32| {
        packet(
            0x2C,
            &[16, VERTEX, INSTANCE, control, most, IN_MEMORY as u32, 0, 24, 2],
        )
    };
    let in_memory = DRAW | 1 << 31 | 1 << 30;
    for (control, most, expected) in [
        (in_memory, 5, 2),
        (in_memory, 1, 1),
        (DRAW | 1 << 31, 2, 2),
        (DRAW | 1 << 31, 0, 0),
    ] {
        let (stop, draws) = draws(&[set_base(IN_MEMORY), multi(control, most)], &arguments);
        assert!(matches!(stop, Stop::Drained), "{control:#x}");
        assert_eq!(draws.rows.len(), expected, "{control:#x} {most}");
        if expected == 2 {
            assert_eq!(user_data(&draws, 0), [10, 20, 0]);
            assert_eq!(user_data(&draws, 1), [11, 21, 1]);
            assert_eq!(draws.rows[1].source, DrawSource::Auto { count: 6 });
            assert_eq!(draws.rows[1].instances, 4);
        }
    }
    // Without the enable bit the draw's number goes nowhere.
    let (_, plain) = draws(&[set_base(IN_MEMORY), multi(DRAW, 2)], &arguments);
    assert_eq!(user_data(&plain, 1), [11, 21, 0]);
}

#[test]
fn locations_are_user_data_or_none() {
    for (location, parts) in [
        (0x280, None),
        (0, None),
        (0x0C8, Some("SH 0xc8")),
        (0x2FF, Some("SH 0x2ff")),
    ] {
        let (stop, draws) = draws(
            &[set_base(IN_MEMORY), packet(0x24, &[0, location, INSTANCE, 2])],
            &[3, 2, 7, 1],
        );
        match (parts, stop) {
            (None, Stop::Drained) => assert_eq!(user_data(&draws, 0), [0, 1, 0]),
            (Some(part), Stop::Fault(fault)) => {
                assert!(fault.reason.contains(part), "{fault}");
                assert!(fault.packet.contains("DRAW_INDIRECT"), "{fault}");
            }
            _ => panic!("location {location:#x} ends in another way"),
        }
    }
}

#[test]
fn records_beyond_mapped_memory_are_refused() {
    let (stop, _) = draws(
        &[
            set_base(IN_MEMORY),
            packet(0x2C, &[0, VERTEX, INSTANCE, 0, 2, 0, 0, 16, 2]),
        ],
        &[3, 1, 0, 0],
    );
    assert!(matches!(&stop, Stop::Fault(fault) if fault.reason.contains("not all mapped")));
}

const TRIANGLE: &[u8] = include_bytes!("../../tests/scenes/small_triangle.pm4cap");

/// The recorded triangle, drawn by a record that an earlier packet writes: the decoder waits for it.
#[test]
fn a_triangle_is_drawn_by_arguments_written_earlier_in_the_stream() {
    let mut scene = pm4cap::parse(TRIANGLE).unwrap();
    let draw: Vec<u8> = [0xC001_2D00u32, 3]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let mut replaced = 0;
    for event in &mut scene.events {
        if let Event::Write { bytes, .. } = event {
            for at in (0..bytes.len().saturating_sub(8)).step_by(4) {
                if bytes[at..at + 8] == draw[..] {
                    // The same packet's length, as a NOP.
                    bytes[at + 1] = 0x10;
                    replaced += 1;
                }
            }
        }
    }
    assert_eq!(replaced, 1, "the scene has one draw");
    let end = scene
        .events
        .iter()
        .position(|event| matches!(event, Event::Frame(_)))
        .unwrap();
    let rest = scene.events.split_off(end);
    let mut scene = SceneBuilder::after(scene)
        .submit(
            0,
            &[
                write_data(ARGUMENTS, &[3, 1, 0, 0]),
                set_base(ARGUMENTS),
                packet(0x24, &[0, 0x280, 0x280, 2]),
            ],
        )
        .build();
    scene.events.extend(rest);
    let report = play(&scene, &PlayOptions::new(Config::default(), device())).unwrap();
    assert_passes(&report);
    assert_eq!(report.counters.draws, 1, "{report:#?}");
    assert_eq!(report.counters.batches, 3, "{report:#?}");
}

/// A list that lies where a draw in front of it renders to: the decoder has read it too early, and says so.
#[test]
fn decoding_what_a_draw_of_the_batch_writes_is_refused() {
    let mut scene = pm4cap::parse(TRIANGLE).unwrap();
    let target = scene
        .events
        .iter()
        .find_map(|event| match event {
            Event::Image(image) => Some(image.address.0),
            _ => None,
        })
        .unwrap();
    scene
        .events
        .retain(|event| !matches!(event, Event::ExpectImage(_)));
    let [low, high] = split(target);
    let scene = SceneBuilder::after(scene)
        .submit(
            0,
            &[
                packet(0x2D, &[3, 2]),
                packet(0x63, &[low, high, 0x8000_0000, 1]),
                write_data(DATA, &[1]),
            ],
        )
        .expect("behind", DATA, &[0])
        .build();
    let report = play(&scene, &PlayOptions::new(Config::default(), device())).unwrap();
    assert!(report.outcomes[0].passes(), "{report:#?}");
    assert_eq!(report.counters.draws, 2, "{report:#?}");
    assert!(
        report.faults.len() == 1 && report.faults[0].contains("decoding them has read"),
        "{report:#?}"
    );
}

/// Draws share a snapshot when their state is the same, however it came about, and only then.
#[test]
fn draws_with_the_same_state_share_a_snapshot() {
    let depth = |value| packet(0x69, &[0x200, value]);
    let vertex_data = |value| packet(0x76, &[0x8C, value]);
    let program = |value| packet(0x76, &[0xC8, value]);
    let draw = || packet(0x2D, &[3, 2]);
    let (stop, draws) = draws(
        &[
            packet(0x12, &[0]),
            packet(0x69, &[0x2D5, 1 << 13]),
            depth(1),
            draw(),
            // User data are no part of it.
            vertex_data(7),
            draw(),
            depth(2),
            draw(),
            program(5),
            draw(),
            // Back to the first, one register after the other.
            program(0),
            depth(1),
            draw(),
            // And by way of the defaults.
            packet(0x12, &[0]),
            draw(),
            packet(0x69, &[0x2D5, 1 << 13]),
            depth(1),
            draw(),
            // A run of registers from user data on that ends outside of them.
            packet(0x76, &[&[0x8C + 31][..], &[9, 0x1234]].concat()),
            draw(),
        ],
        &[],
    );
    assert!(matches!(stop, Stop::Drained));
    let states: Vec<u32> = draws.rows.iter().map(|row| row.state).collect();
    assert_eq!(states, [0, 0, 1, 2, 0, 3, 0, 4]);
}
