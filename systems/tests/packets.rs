//! Packets that need no shader: memory writes, labels, waits, indirect buffers, and what is refused.

mod common;

use common::{assert_passes, device::device, play_scene};
use relic_systems::{
    config::Config,
    scene::{COMMANDS, DATA, Event, PlayOptions, SceneBuilder, packet, play, split},
};

fn release_mem(select: u32, address: u64, value: u64) -> Vec<u32> {
    let [low, high] = split(address);
    packet(
        0x49,
        &[
            0x514,
            select << 29,
            low,
            high,
            value as u32,
            (value >> 32) as u32,
            0,
        ],
    )
}

fn write_data(address: u64, words: &[u32]) -> Vec<u32> {
    let [low, high] = split(address);
    packet(0x37, &[&[5 << 8 | 1 << 20, low, high], words].concat())
}

/// Functions: 1 <, 2 <=, 3 ==, 4 !=, 5 >=, 6 >.
fn wait(function: u32, address: u64, reference: u32, mask: u32) -> Vec<u32> {
    let [low, high] = split(address);
    packet(0x3C, &[function | 1 << 4, low, high, reference, mask, 10])
}

/// Known trap 1: the width of a label, and selectors that write nothing.
#[test]
fn release_mem_writes_what_its_selector_says() {
    let old = [0x5566_7788, 0x1122_3344];
    let scene = SceneBuilder::new()
        .write(DATA, &old)
        .write(DATA + 8, &old)
        .write(DATA + 16, &old)
        .write(DATA + 24, &old)
        .submit(
            0,
            &[
                release_mem(1, DATA, 0x9_0000_0005),
                release_mem(2, DATA + 8, 0x9_0000_0005),
                release_mem(0, DATA + 16, 5),
                release_mem(7, DATA + 24, 5),
            ],
        )
        .expect("low word", DATA, &[5, old[1]])
        .expect("both words", DATA + 8, &[5, 9])
        .expect("selector 0", DATA + 16, &old)
        .expect("unknown selector", DATA + 24, &old);
    assert_passes(&play_scene(scene));
}

/// Known trap 1: a packet too short to carry data must not set a label to 0.
#[test]
fn a_short_release_mem_is_refused_and_the_label_stays() {
    let [low, high] = split(DATA);
    let report = play_scene(
        SceneBuilder::new()
            .write(DATA, &[7])
            .submit(0, &[packet(0x49, &[0x514, 1 << 29, low, high])])
            .expect("label", DATA, &[7]),
    );
    assert!(report.outcomes[0].passes(), "{report:#?}");
    assert!(report.faults[0].contains("RELEASE_MEM"), "{report:#?}");
}

#[test]
fn the_gpu_clock_runs_at_100_mhz() {
    let report = play_scene(
        SceneBuilder::new()
            .submit(0, &[release_mem(3, DATA, 0)])
            .expect("clock is not 0", DATA + 4, &[0])
            .expect("clock must differ from this", DATA, &[0]),
    );
    assert!(report.faults.is_empty(), "{report:#?}");
    assert!(
        report.outcomes[0].passes(),
        "a process that runs for less than 42 s"
    );
    assert!(!report.outcomes[1].passes(), "the clock was not written");
}

#[test]
fn dma_fills_and_copies_in_the_order_of_the_stream() {
    let [low, high] = split(DATA);
    let [to_low, to_high] = split(DATA + 0x100);
    let fill = |value: u32, bytes: u32| packet(0x50, &[2 << 29, value, 0, low, high, bytes]);
    let copy = packet(0x50, &[0, low, high, to_low, to_high, 16]);
    let scene = SceneBuilder::new()
        .submit(0, &[fill(0xAAAA_AAAA, 32), copy, fill(0xBBBB_BBBB, 16)])
        .expect(
            "filled",
            DATA,
            &[0xBBBB_BBBB, 0xBBBB_BBBB, 0xBBBB_BBBB, 0xBBBB_BBBB, 0xAAAA_AAAA],
        )
        .expect(
            "copied before",
            DATA + 0x100,
            &[0xAAAA_AAAA, 0xAAAA_AAAA, 0xAAAA_AAAA, 0xAAAA_AAAA, 0],
        );
    assert_passes(&play_scene(scene));
}

#[test]
fn a_wait_that_an_earlier_write_satisfies_does_not_stop_the_queue() {
    let scene = SceneBuilder::new()
        .submit(
            0,
            &[
                write_data(DATA, &[5]),
                wait(3, DATA, 5, 0xFF),
                write_data(DATA + 4, &[1]),
            ],
        )
        .expect("behind the wait", DATA + 4, &[1]);
    let report = play_scene(scene);
    assert_passes(&report);
    assert_eq!(report.counters.waits, 0, "{report:#?}");
}

/// Known trap 6: masked compare, and a pending wait that another queue releases.
#[test]
fn a_wait_is_released_by_another_queue() {
    let scene = SceneBuilder::new()
        .overlapping()
        .write(DATA, &[0x105])
        .submit(
            0,
            &[
                wait(3, DATA, 5, 0xFF),
                write_data(DATA + 4, &[1]),
                wait(6, DATA, 5, 0xFF),
                write_data(DATA + 8, &[2]),
            ],
        )
        .expect("the masked wait holds at once", DATA + 4, &[1])
        .expect("the second wait is pending", DATA + 8, &[0])
        .submit(1, &[release_mem(1, DATA, 0x206)])
        .expect("released", DATA + 8, &[2]);
    let report = play_scene(scene);
    assert_passes(&report);
    assert_eq!(report.counters.waits, 1);
}

#[test]
fn a_wait_is_released_by_the_cpu() {
    let scene = SceneBuilder::new()
        .overlapping()
        .submit(0, &[wait(5, DATA, 3, u32::MAX), write_data(DATA + 4, &[1])])
        .expect("pending", DATA + 4, &[0])
        .write(DATA, &[3])
        .expect("released", DATA + 4, &[1]);
    assert_passes(&play_scene(scene));
}

#[test]
fn a_wait_on_unmapped_memory_is_pending_and_no_fault() {
    let report = play_scene(
        SceneBuilder::new()
            .overlapping()
            .submit(0, &[wait(3, 0x7000_0000, 5, u32::MAX), write_data(DATA, &[1])])
            .submit(1, &[write_data(DATA + 4, &[2])])
            .expect("graphics", DATA, &[0])
            .expect("compute", DATA + 4, &[2]),
    );
    assert!(
        report.outcomes.iter().all(relic_systems::scene::Outcome::passes),
        "{report:#?}"
    );
    assert!(report.faults.is_empty());
    assert!(report.waiting[0].contains("0x70000000"), "{report:#?}");
}

#[test]
fn sixty_four_bit_waits_compare_all_bits() {
    let [low, high] = split(DATA);
    let wait = packet(0x93, &[3 | 1 << 4, low, high, 5, 7, u32::MAX, u32::MAX, 10]);
    let scene = SceneBuilder::new()
        .overlapping()
        .write(DATA, &[5, 6])
        .submit(0, &[wait, write_data(DATA + 8, &[1])])
        .expect("pending", DATA + 8, &[0])
        .write(DATA + 4, &[7])
        .expect("released", DATA + 8, &[1]);
    assert_passes(&play_scene(scene));
}

#[test]
fn indirect_buffers_are_called_and_chained() {
    let called = COMMANDS + 0x8_0000;
    let [low, high] = split(called);
    let body: Vec<u32> = write_data(DATA, &[1]);
    let call = packet(0x3F, &[low, high, body.len() as u32]);
    let chain = packet(0x3F, &[low, high, body.len() as u32 | 1 << 20]);
    let scene = SceneBuilder::new()
        .write(called, &body)
        .submit(0, &[call, write_data(DATA + 4, &[2])])
        .expect("called", DATA, &[1])
        .expect("returned", DATA + 4, &[2])
        .write(DATA, &[0, 0])
        .submit(0, &[chain, write_data(DATA + 4, &[2])])
        .expect("chained", DATA, &[1])
        .expect("did not return", DATA + 4, &[0]);
    assert_passes(&play_scene(scene));
}

#[test]
fn fillers_of_both_kinds_are_skipped() {
    let one_word_nop = vec![0xFFFF_1000];
    let type_2 = vec![0x8000_0000];
    let data_nop = packet(0x10, &[1, 2, 3]);
    let scene = SceneBuilder::new()
        .submit(0, &[one_word_nop, type_2, data_nop, write_data(DATA, &[1])])
        .expect("behind the fillers", DATA, &[1]);
    assert_passes(&play_scene(scene));
}

/// Every refusal names packet, opcode, queue, submission and offset, and what came before it still happens.
#[test]
fn refusals_say_what_and_where_and_what_came_before_happens() {
    for (words, parts) in [
        (packet(0x1D, &[0; 8]), &["ATOMIC_GDS", "0x1d", "+ 0x14"][..]),
        (packet(0xF7, &[0]), &["unknown packet", "0xf7"][..]),
        (packet(0x46, &[0x3F]), &["EVENT_WRITE", "event 0x3f"][..]),
        (vec![0x0001_0000], &["type 0"][..]),
        (vec![0x4000_0000], &["type 1"][..]),
        (
            vec![3 << 30 | 9 << 16 | 0x10 << 8, 0],
            &["NOP", "10 payload words", "ends after 6"][..],
        ),
        (
            vec![3 << 30 | 0x10 << 8 | 0x1F << 2, 0],
            &["NOP", "sub-operation 0x1f"][..],
        ),
        (
            packet(0x3C, &[0x3, 0, 0, 0, 0, 0]),
            &["WAIT_REG_MEM", "register"][..],
        ),
        (packet(0x50, &[3 << 20, 0, 0, 0, 0, 4]), &["DMA_DATA"][..]),
        (packet(0x69, &[0x3FF, 0, 0]), &["SET_CONTEXT_REG", "0x3ff"][..]),
        (
            packet(0x3F, &[0x1000, 0, 4]),
            &["INDIRECT_BUFFER", "0x1000", "not mapped"][..],
        ),
        (
            write_data(0x1000, &[1]),
            &["WRITE_DATA", "0x1000", "not mapped"][..],
        ),
    ] {
        let report = play_scene(
            SceneBuilder::new()
                .submit(
                    0,
                    &[write_data(DATA, &[1]), words.clone(), write_data(DATA + 4, &[2])],
                )
                .expect("before", DATA, &[1])
                .expect("behind", DATA + 4, &[0]),
        );
        assert!(
            report.outcomes.iter().all(relic_systems::scene::Outcome::passes),
            "{words:x?}: {report:#?}"
        );
        assert_eq!(report.faults.len(), 1, "{words:x?}");
        for part in parts
            .iter()
            .chain(&["graphics queue", "submission 1", "buffer 0x3000000000"])
        {
            assert!(
                report.faults[0].contains(part),
                "{part:?} is not in {}",
                report.faults[0]
            );
        }
    }
}

/// A buffer that chains to itself for ever is a fault, not a hang.
#[test]
fn a_buffer_that_chains_to_itself_is_a_fault() {
    let [low, high] = split(COMMANDS);
    let chain = packet(0x3F, &[low, high, 4 | 1 << 20]);
    let report = play_scene(SceneBuilder::new().submit(0, &[chain]));
    assert_eq!(report.faults.len(), 1, "{report:#?}");
    for part in ["chains to itself", "INDIRECT_BUFFER"] {
        assert!(report.faults[0].contains(part), "{}", report.faults[0]);
    }
}

/// A submission longer than the memory it lies in is refused for that, before anything is set aside for its words.
#[test]
fn a_submission_longer_than_its_memory_is_a_fault() {
    let mut scene = SceneBuilder::new().submit(0, &[write_data(DATA, &[1])]).build();
    for event in &mut scene.events {
        if let Event::Submit(submission) = event {
            submission.buffers[0].1 = 1 << 26;
        }
    }
    let report = play(&scene, &PlayOptions::new(Config::default(), device())).unwrap();
    assert_eq!(report.faults.len(), 1, "{report:#?}");
    assert!(report.faults[0].contains("not mapped"), "{}", report.faults[0]);
}

/// What is refused when it is recorded stops the queue also where the decoder has stopped at a wait behind it.
#[test]
fn a_fault_in_front_of_a_wait_stays() {
    let report = play_scene(
        SceneBuilder::new()
            .overlapping()
            .submit(
                0,
                &[
                    write_data(0x1000, &[1]),
                    wait(3, DATA, 5, u32::MAX),
                    write_data(DATA + 4, &[1]),
                ],
            )
            .write(DATA, &[5])
            .expect("behind the wait", DATA + 4, &[0]),
    );
    assert!(report.outcomes[0].passes(), "{report:#?}");
    assert_eq!((report.faults.len(), report.waiting.len()), (1, 0), "{report:#?}");
}

/// A fault stops one queue; others go on.
#[test]
fn a_faulted_queue_does_not_stop_the_other() {
    let report = play_scene(
        SceneBuilder::new()
            .submit(0, &[packet(0xF7, &[0])])
            .submit(1, &[write_data(DATA, &[1])])
            .submit(0, &[write_data(DATA + 4, &[1])])
            .expect("compute", DATA, &[1])
            .expect("dropped", DATA + 4, &[0]),
    );
    assert!(
        report.outcomes.iter().all(relic_systems::scene::Outcome::passes),
        "{report:#?}"
    );
}

/// The console's tag writes around waits carry no state.
#[test]
fn register_lists_in_memory_are_read() {
    let list = DATA + 0x1000;
    let [low, high] = split(list);
    let tag = packet(0x79, &[0x342, 0xC801_0000, 0]);
    let scene = SceneBuilder::new()
        .write(list, &[0x100, 1, 0xFFFF_FFFF, 9, 0x3FF, 2])
        .submit(
            0,
            &[
                packet(0x9F, &[low, high, 0x8000_0000, 3]),
                tag,
                write_data(DATA, &[1]),
            ],
        )
        .expect("behind the list", DATA, &[1]);
    assert_passes(&play_scene(scene));
}
