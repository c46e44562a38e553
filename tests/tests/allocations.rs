//! Warm draws and dispatches allocate nothing: what Rust code asks the allocator for is counted, on all threads.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::cell::RefCell;

use relic_core::{GuestAddress, GuestRange};
use relic_systems::{
    config::Config,
    gpu::open_device,
    scene::{Event, PlayOptions, SceneBuilder, Until, packet, play, pm4cap, split},
};
use relic_tests::counting::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a warm loop of a scene whose last packet comes `times` times.
fn of_a_loop(file: &[u8], packets: &[Vec<u32>], times: usize) -> u64 {
    let mut scene = pm4cap::parse(file).unwrap();
    let again = SceneBuilder::new()
        .submit(0, &vec![packets.concat(); times])
        .build();
    // Commands of so many packets take more than a page.
    let address = GuestAddress(0x60_0000_0000);
    for event in again.events {
        match event {
            Event::Write { bytes, .. } => {
                scene.events.push(Event::Region {
                    range: GuestRange::new(address, bytes.len().next_multiple_of(4096) as u64),
                    pool: None,
                });
                scene.events.push(Event::Write { address, bytes });
            }
            Event::Submit(mut submission) => {
                submission.buffers[0].0 = address;
                scene.events.push(Event::Submit(submission));
            }
            _ => {}
        }
    }
    let counts = RefCell::new(Vec::with_capacity(LOOPS as usize + 1));
    let each = || counts.borrow_mut().push(allocations());
    let options = PlayOptions {
        loops: LOOPS,
        until: Until::Render,
        each_loop: &each,
        ..PlayOptions::new(
            Config::default(),
            open_device(true, std::env::var("RELIC_GPU").ok()).unwrap(),
        )
    };
    let report = play(&scene, &options).unwrap();
    assert_eq!(report.faults, Vec::<String>::new());
    let rows = report.loops.unwrap().counters;
    assert!(rows.draws + rows.dispatches > times as u64, "{rows:?}");
    let counts = counts.borrow();
    // The driver's thread may free and take at any time: the quietest loop counts.
    counts.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap()
}

const LOOPS: u32 = 12;

/// Draws and dispatches of a chunk share what its task needs.
const CHUNK: u64 = 32;

#[test]
fn a_warm_draw_or_dispatch_allocates_nothing() {
    let draw = [packet(0x2D, &[3, 2])];
    let label = split(0x10_0001_0FF0);
    let dispatch = [
        packet(0x15, &[1, 1, 1, 0x45]),
        // RELEASE_MEM of one word at the end of the pipe.
        packet(0x49, &[0x514, 1 << 29, label[0], label[1], 7, 0, 0]),
    ];
    for (name, file, packets) in [
        (
            "draws",
            &include_bytes!("../../tests/scenes/small_triangle.pm4cap")[..],
            &draw[..],
        ),
        (
            "dispatches",
            &include_bytes!("../../tests/scenes/small_dispatch.pm4cap")[..],
            &dispatch[..],
        ),
    ] {
        let (few, many) = (of_a_loop(file, packets, 100), of_a_loop(file, packets, 1100));
        assert!(
            many <= few + 1000 / CHUNK,
            "100 {name}: {few} allocations, 1100: {many}"
        );
    }
}
