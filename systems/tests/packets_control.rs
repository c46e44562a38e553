//! Packets that steer the parser: conditions, predication, rewinding, and reads that wait for pending writes.

mod common;
mod packet_words;

use common::{assert_passes, play_scene};
use packet_words::{STORE, cond_exec, predicate, predicated, store, wait, write_data};
use relic_systems::scene::{COMMANDS, DATA, SceneBuilder, packet, split};

const PROGRAM: u64 = DATA + 0x8000;
const CONDITION: u64 = DATA + 0x100;
const LIST: u64 = DATA + 0x200;
/// Where tests put command buffers of their own.
const CALLED: u64 = COMMANDS + 0x8_0000;

#[test]
fn cond_exec_skips_whole_packets_where_memory_is_0() {
    for (condition, expected) in [(0, [0, 0, 3]), (0x8000_0000, [1, 2, 3])] {
        let inside = [write_data(DATA, &[1]), write_data(DATA + 4, &[2])].concat();
        let scene = SceneBuilder::new()
            .write(CONDITION, &[condition])
            .submit(
                0,
                &[
                    cond_exec(CONDITION, inside.len() as u32),
                    inside,
                    write_data(DATA + 8, &[3]),
                ],
            )
            .expect("flags", DATA, &expected);
        assert_passes(&play_scene(scene));
    }
}

#[test]
fn cond_exec_refuses_to_cut_a_packet() {
    for (words, part) in [(3, "inside of a packet"), (500, "skips 500 words")] {
        let report = play_scene(
            SceneBuilder::new()
                .submit(
                    0,
                    &[
                        cond_exec(CONDITION, words),
                        write_data(DATA, &[1]),
                        write_data(DATA, &[2]),
                    ],
                )
                .expect("nothing ran", DATA, &[0]),
        );
        assert!(report.outcomes[0].passes(), "{report:#?}");
        assert!(
            report.faults[0].contains("COND_EXEC") && report.faults[0].contains(part),
            "{report:#?}"
        );
    }
}

/// A condition that a packet in front writes: the parser must not read what memory held before.
#[test]
fn a_condition_written_earlier_in_the_stream_is_waited_for() {
    let inside = write_data(DATA, &[1]);
    let scene = SceneBuilder::new()
        .write(CONDITION, &[1])
        .submit(
            0,
            &[
                write_data(CONDITION, &[0]),
                cond_exec(CONDITION, inside.len() as u32),
                inside,
                write_data(DATA + 4, &[2]),
            ],
        )
        .expect("skipped", DATA, &[0, 2]);
    let report = play_scene(scene);
    assert_passes(&report);
    assert_eq!(report.counters.batches, 2, "{report:#?}");
}

/// The same with a dispatch as the writer, whose writes are known only when it is prepared.
#[test]
fn a_condition_written_by_a_dispatch_is_waited_for() {
    let inside = write_data(DATA, &[1]);
    let scene = SceneBuilder::new()
        .write(PROGRAM, STORE)
        .write(CONDITION, &[0])
        .submit(
            0,
            &[
                store(PROGRAM, CONDITION, 1, 7),
                cond_exec(CONDITION, inside.len() as u32),
                inside,
            ],
        )
        .expect("the dispatch ran", CONDITION, &[7, 0])
        .expect("not skipped", DATA, &[1]);
    let report = play_scene(scene);
    assert_passes(&report);
    assert_eq!(report.counters.batches, 2, "{report:#?}");
}

#[test]
fn predication_acts_on_packets_with_the_bit_only() {
    let set = |control: u32| {
        let [low, high] = split(CONDITION);
        packet(0x20, &[control, low, high])
    };
    let (bool32, bool64, when_true) = (4 << 16, 3 << 16, 1 << 8);
    for (value, control, runs) in [
        ([0, 0], bool32 | when_true, false),
        ([5, 0], bool32 | when_true, true),
        ([5, 0], bool32, false),
        ([0, 0], bool32, true),
        ([0, 1], bool64 | when_true, true),
        ([0, 1], bool32 | when_true, false),
        ([0, 0], 0, true),
    ] {
        let scene = SceneBuilder::new()
            .write(CONDITION, &value)
            .submit(
                0,
                &[
                    set(control),
                    predicated(write_data(DATA, &[1])),
                    write_data(DATA + 4, &[2]),
                    set(0),
                    predicated(write_data(DATA + 8, &[3])),
                ],
            )
            .expect("flags", DATA, &[u32::from(runs), 2, 3]);
        let report = play_scene(scene);
        assert!(report.passes(), "{value:?} {control:#x}: {report:#?}");
    }
}

#[test]
fn a_predicate_written_earlier_in_the_stream_is_waited_for() {
    let scene = SceneBuilder::new()
        .write(CONDITION, &[1])
        .submit(
            0,
            &[
                write_data(CONDITION, &[0]),
                predicate(CONDITION),
                predicated(write_data(DATA, &[1])),
            ],
        )
        .expect("skipped", DATA, &[0]);
    assert_passes(&play_scene(scene));
}

#[test]
fn predication_by_query_results_is_refused_by_name() {
    let report = play_scene(SceneBuilder::new().submit(0, &[packet(0x20, &[1 << 16, 0, 0])]));
    assert!(
        report.faults[0].contains("SET_PREDICATION") && report.faults[0].contains("zpass"),
        "{report:#?}"
    );
}

/// REWIND stops the parser until memory says go on, and what follows is read again: the CPU has changed it.
#[test]
fn rewind_waits_for_its_valid_bit_and_reads_the_stream_again() {
    let head = packet(0x59, &[0]);
    let rest = write_data(DATA, &[1]);
    let body = [head, rest].concat();
    let [low, high] = split(CALLED);
    let scene = SceneBuilder::new()
        .overlapping()
        .write(CALLED, &body)
        .submit(
            0,
            &[
                packet(0x3F, &[low, high, body.len() as u32]),
                write_data(DATA + 4, &[5]),
            ],
        )
        .expect("stopped", DATA, &[0, 0])
        // The last word of the packet behind it, then the valid bit.
        .write(CALLED + 4 * (body.len() as u64 - 1), &[9])
        .expect("still stopped", DATA, &[0, 0])
        .write(CALLED + 4, &[1 << 31])
        .expect("patched, and returned to the caller", DATA, &[9, 5]);
    assert_passes(&play_scene(scene));
}

#[test]
fn rewind_with_its_valid_bit_does_not_stop() {
    let scene = SceneBuilder::new()
        .submit(0, &[packet(0x59, &[1 << 31]), write_data(DATA, &[1])])
        .expect("behind", DATA, &[1]);
    assert_passes(&play_scene(scene));
}

/// A command buffer that the stream itself patches is read when the patch has landed.
#[test]
fn a_called_buffer_that_is_patched_earlier_in_the_stream_is_read_behind_the_patch() {
    let body = write_data(DATA, &[1]);
    let [low, high] = split(CALLED);
    let call = packet(0x3F, &[low, high, body.len() as u32]);
    let value = CALLED + 4 * (body.len() as u64 - 1);
    for patch in [write_data(value, &[9]), store(PROGRAM, value, 1, 9)] {
        let scene = SceneBuilder::new()
            .write(PROGRAM, STORE)
            .write(CALLED, &body)
            .submit(0, &[patch, call.clone(), write_data(DATA + 4, &[2])])
            .expect("patched", DATA, &[9, 2]);
        let report = play_scene(scene);
        assert_passes(&report);
        assert_eq!(report.counters.batches, 2, "{report:#?}");
    }
}

/// A submission whose commands an earlier submission of another queue writes.
#[test]
fn a_submitted_buffer_that_is_still_written_is_read_behind_the_write() {
    let body = write_data(DATA, &[1]);
    // The second submission's command memory.
    let value = COMMANDS + 0x1000 + 4 * (body.len() as u64 - 1);
    let scene = SceneBuilder::new()
        .overlapping()
        .submit(0, &[wait(3, CONDITION, 1, u32::MAX), write_data(value, &[9])])
        .submit(0, &[body])
        .write(CONDITION, &[1])
        .expect("patched", DATA, &[9]);
    let report = play_scene(scene);
    assert_passes(&report);
    assert_eq!(report.counters.batches, 2, "{report:#?}");
}

/// A register list that the stream writes: user data of the dispatch behind it.
#[test]
fn a_register_list_written_earlier_in_the_stream_is_read_behind_the_write() {
    let [low, high] = split(LIST);
    let list = packet(0x63, &[low, high, 0x8000_0000, 1]);
    for (i, patch) in [write_data(LIST + 4, &[9]), store(PROGRAM, LIST + 4, 1, 9)]
        .into_iter()
        .enumerate()
    {
        let scene = SceneBuilder::new()
            .write(PROGRAM, STORE)
            .write(LIST, &[0x244, 5])
            .submit(
                0,
                &[
                    patch,
                    packet_words::store_state(PROGRAM, DATA, 2, 1),
                    list.clone(),
                    packet(0x15, &[1, 1, 1, 0x45]),
                ],
            )
            .expect("the value of the patched list", DATA, &[9, 9, 0]);
        let report = play_scene(scene);
        assert!(report.passes(), "{i}: {report:#?}");
        assert_eq!(report.counters.batches, 2, "{report:#?}");
    }
}

/// What a dispatch writes is known when it is recorded: the batch ends in front of the list, and nobody waits for the GPU.
#[test]
fn a_dispatch_that_writes_elsewhere_ends_the_batch_and_costs_no_cut() {
    let [low, high] = split(LIST);
    let scene = SceneBuilder::new()
        .write(PROGRAM, STORE)
        .write(LIST, &[0x244, 5])
        .submit(
            0,
            &[
                store(PROGRAM, DATA, 1, 9),
                packet_words::store_state(PROGRAM, DATA + 0x100, 1, 1),
                packet(0x63, &[low, high, 0x8000_0000, 1]),
                packet(0x15, &[1, 1, 1, 0x45]),
            ],
        )
        .expect("first dispatch", DATA, &[9, 0])
        .expect("second dispatch", DATA + 0x100, &[5, 0]);
    let report = play_scene(scene);
    assert_passes(&report);
    assert_eq!(
        (report.counters.cuts, report.counters.batches),
        (0, 2),
        "{report:#?}"
    );
}

/// A submission piled up behind a dispatch that writes its commands.
#[test]
fn a_submitted_buffer_that_a_dispatch_writes_is_read_behind_the_write() {
    let body = write_data(DATA, &[1]);
    let value = COMMANDS + 0x1000 + 4 * (body.len() as u64 - 1);
    let scene = SceneBuilder::new()
        .overlapping()
        .write(PROGRAM, STORE)
        .submit(0, &[wait(3, CONDITION, 1, u32::MAX), store(PROGRAM, value, 1, 9)])
        .submit(0, &[body])
        .write(CONDITION, &[1])
        .expect("patched", DATA, &[9]);
    assert_passes(&play_scene(scene));
}

/// What nobody writes is read at once: no cut.
#[test]
fn settled_memory_costs_no_cut() {
    let body = write_data(DATA, &[1]);
    let [low, high] = split(CALLED);
    let [list_low, list_high] = split(LIST);
    let scene = SceneBuilder::new()
        .write(CALLED, &body)
        .write(LIST, &[0x244, 5])
        .submit(
            0,
            &[
                write_data(DATA + 8, &[1]),
                packet(0x3F, &[low, high, body.len() as u32]),
                packet(0x63, &[list_low, list_high, 0x8000_0000, 1]),
                cond_exec(DATA + 0x40, 5),
                write_data(DATA + 4, &[1]),
            ],
        )
        .expect("flags", DATA, &[1, 0]);
    let report = play_scene(scene);
    assert_passes(&report);
    assert_eq!(report.counters.cuts, 0, "{report:#?}");
}

/// COND_INDIRECT_BUFFER: one of two buffers by a masked compare of 64 bits, and back.
#[test]
fn branches_choose_a_buffer() {
    let (yes, no) = (write_data(DATA, &[1]), write_data(DATA, &[2]));
    let [low, high] = split(CONDITION);
    let [yes_low, yes_high] = split(CALLED);
    let [no_low, no_high] = split(CALLED + 0x100);
    let branch = |mode: u32, function: u32| {
        packet(
            0x3F,
            &[
                mode | function << 8,
                low,
                high,
                u32::MAX,
                0xFF,
                5,
                1,
                yes_low,
                yes_high,
                yes.len() as u32,
                no_low,
                no_high,
                no.len() as u32,
            ],
        )
    };
    for (mode, function, expected) in [(2, 3, 1), (2, 4, 2), (1, 3, 1), (1, 4, 0)] {
        let scene = SceneBuilder::new()
            .write(CALLED, &yes)
            .write(CALLED + 0x100, &no)
            // Bits outside of the mask are noise.
            .write(CONDITION, &[5, 0xABCD_0001])
            .submit(0, &[branch(mode, function), write_data(DATA + 4, &[9])])
            .expect("chosen, and back", DATA, &[expected, 9]);
        let report = play_scene(scene);
        assert!(report.passes(), "{mode} {function}: {report:#?}");
    }
    let report = play_scene(SceneBuilder::new().submit(0, &[branch(0, 3)]));
    assert!(report.faults[0].contains("condition mode 0"), "{report:#?}");
}
