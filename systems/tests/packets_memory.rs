//! Packets that move words between memory, the packet, the clock and the constant RAM.

mod common;
mod packet_words;

use common::{assert_passes, play_scene};
use packet_words::{console, write_data};
use relic_systems::scene::{DATA, SceneBuilder, packet, split};

fn copy_data(control: u32, source: [u32; 2], to: u64) -> Vec<u32> {
    let [low, high] = split(to);
    packet(0x40, &[control | 1 << 20, source[0], source[1], low, high])
}

const WIDE: u32 = 1 << 16;
const TO_MEMORY: u32 = 5 << 8;

#[test]
fn copy_data_moves_one_or_two_words() {
    let scene = SceneBuilder::new()
        .write(DATA, &[0x1111_1111, 0x2222_2222])
        .submit(
            0,
            &[
                copy_data(1 | TO_MEMORY, split(DATA), DATA + 0x10),
                copy_data(2 | TO_MEMORY | WIDE, split(DATA), DATA + 0x20),
                copy_data(5 | TO_MEMORY, [7, 8], DATA + 0x30),
                copy_data(5 | TO_MEMORY | WIDE, [7, 8], DATA + 0x40),
                // Order: a copy sees the write in front of it.
                write_data(DATA, &[9]),
                copy_data(1 | TO_MEMORY, split(DATA), DATA + 0x50),
            ],
        )
        .expect("32 bits", DATA + 0x10, &[0x1111_1111, 0])
        .expect("64 bits", DATA + 0x20, &[0x1111_1111, 0x2222_2222])
        .expect("immediate of 32 bits", DATA + 0x30, &[7, 0])
        .expect("immediate of 64 bits", DATA + 0x40, &[7, 8])
        .expect("written before", DATA + 0x50, &[9]);
    assert_passes(&play_scene(scene));
}

#[test]
fn copy_data_reads_the_clock_and_refuses_registers() {
    let report = play_scene(
        SceneBuilder::new()
            .submit(0, &[copy_data(9 | TO_MEMORY | WIDE, [0, 0], DATA)])
            .expect("clock must differ from this", DATA, &[0]),
    );
    assert!(report.faults.is_empty(), "{report:#?}");
    assert!(!report.outcomes[0].passes(), "the clock was not written");
    for (control, part) in [
        (TO_MEMORY, "register"),
        (1, "register"),
        (4 | TO_MEMORY, "source 4"),
        (1 | 3 << 8, "destination 3"),
        (9 | TO_MEMORY, "half of the GPU clock"),
        (1 | TO_MEMORY | 1 << 27, "0x08000000"),
    ] {
        let report = play_scene(SceneBuilder::new().submit(0, &[copy_data(control, split(DATA + 8), DATA)]));
        let fault = report.faults.first().cloned().unwrap_or_default();
        assert!(
            fault.contains("COPY_DATA") && fault.contains(part),
            "{control:#x}: {report:#?}"
        );
    }
}

#[test]
fn write_data_to_one_address_leaves_the_last_word() {
    let [low, high] = split(DATA);
    let scene = SceneBuilder::new()
        .submit(0, &[packet(0x37, &[5 << 8 | 1 << 16, low, high, 5, 6, 7])])
        .expect("the last", DATA, &[7, 0]);
    assert_passes(&play_scene(scene));
}

#[test]
fn constant_ram_is_written_and_dumped() {
    let [low, high] = split(DATA);
    let scene = SceneBuilder::new()
        .write(DATA, &[1; 5])
        .submit(
            0,
            &[packet(0x81, &[8, 0xAA, 0xBB]), packet(0x83, &[4, 4, low, high])],
        )
        .expect("dumped", DATA, &[0, 0xAA, 0xBB, 0, 1]);
    assert_passes(&play_scene(scene));
    let report = play_scene(SceneBuilder::new().submit(0, &[packet(0x81, &[0xBFFC, 1, 2])]));
    assert!(report.faults[0].contains("WRITE_CONST_RAM"), "{report:#?}");
}

/// The old builders' NOP sub-operations are the hardware's packets in other clothes.
#[test]
fn console_forms_of_memory_packets_act_as_the_real_ones() {
    let [low, high] = split(DATA);
    let [to_low, to_high] = split(DATA + 0x20);
    let scene = SceneBuilder::new()
        .submit(
            0,
            &[
                console(0x15, &[5 << 8, low, high, 1]),
                console(0x14, &[0, u32::MAX, 0xFF_FFFF, 0, 0, 10, 0]),
                console(0x19, &[0, low, high, to_low, to_high, 4]),
                console(0x18, &[0x514, 1 << 29, low, high, 3, 0, 0]),
            ],
        )
        .expect("released last", DATA, &[3])
        .expect("copied between", DATA + 0x20, &[1]);
    assert_passes(&play_scene(scene));
}
