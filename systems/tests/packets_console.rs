//! The console's own packets inside NOP: waits for flips, markers, waits on memory, context operations.

mod common;
mod packet_words;

use common::{assert_passes, play_scene};
use packet_words::{console, decode, write_data};
use relic_components::{
    batch::DrawSource,
    queue::{DecodeWait, FlippedBuffer},
    video::VideoHandle,
};
use relic_core::GuestAddress;
use relic_systems::{
    decode::Stop,
    scene::{DATA, SceneBuilder, packet, split},
};

fn flip(buffer: u32) -> Vec<u32> {
    console(0x17, &[1, buffer, 1, 0, 0])
}

/// Header 0xC0021018, as the library writes it.
fn wait_flip(buffer: u32) -> Vec<u32> {
    let words = console(0x06, &[1, buffer, 0]);
    assert_eq!(words[0], 0xC002_1018);
    words
}

#[test]
fn a_wait_for_a_flip_stops_the_decoder_behind_it() {
    let (stop, decoded) = decode(&[flip(2), wait_flip(2), write_data(DATA, &[1])], &[]);
    let expected = FlippedBuffer {
        handle: VideoHandle(1),
        buffer: 2,
    };
    assert!(matches!(stop, Stop::Wait(DecodeWait::Flip(buffer)) if buffer == expected));
    assert_eq!(
        decoded.commands.rows.len(),
        1,
        "the flip, and not what is behind the wait"
    );
}

/// The queue goes on once the flip is done; so it does when there never was one.
#[test]
fn the_queue_goes_on_when_the_flip_is_done() {
    let scene = SceneBuilder::new()
        .submit(
            0,
            &[
                wait_flip(0),
                write_data(DATA, &[1]),
                // -1 is a blank screen, which needs no registered buffer.
                flip(u32::MAX),
                wait_flip(u32::MAX),
                write_data(DATA + 4, &[2]),
            ],
        )
        .expect("behind both", DATA, &[1, 2]);
    let report = play_scene(scene);
    assert_passes(&report);
    assert_eq!(report.counters.flips, 1, "{report:#?}");
}

#[test]
fn markers_are_opened_and_closed_around_work() {
    let text = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(bytes.len() / 4 * 4 + 4, 0);
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        words
    };
    let scene = SceneBuilder::new()
        .submit(
            0,
            &[
                console(0x0B, &text("shadow pass")),
                write_data(DATA, &[1]),
                console(0x0B, &text("inner")),
                console(0x0C, &[0]),
                console(0x0C, &[0]),
                // One too many: titles do that.
                console(0x0C, &[0]),
                write_data(DATA + 4, &[2]),
            ],
        )
        .expect("inside and behind", DATA, &[1, 2]);
    assert_passes(&play_scene(scene));
    let (_, decoded) = decode(&[console(0x0B, &text("a")), console(0x0C, &[0])], &[]);
    assert_eq!(decoded.commands.rows.len(), 2, "each is a row of its own");
}

/// Both widths of the console's wait: address, mask, reference, function, poll.
#[test]
fn console_waits_compare_the_masked_value() {
    let [low, high] = split(DATA);
    let narrow = |function: u32| console(0x0A, &[low, high, 0xFF, 5, function, 10]);
    let wide = console(0x16, &[low, high, u32::MAX, u32::MAX, 0x106, 7, 3, 10]);
    let scene = SceneBuilder::new()
        .overlapping()
        .write(DATA, &[0x105])
        .submit(
            0,
            &[
                narrow(3),
                write_data(DATA + 0x10, &[1]),
                narrow(6),
                write_data(DATA + 0x14, &[2]),
                wide,
                write_data(DATA + 0x18, &[3]),
            ],
        )
        .expect("equal at once", DATA + 0x10, &[1, 0, 0])
        .write(DATA, &[0x106])
        .expect("greater", DATA + 0x10, &[1, 2, 0])
        .write(DATA + 4, &[7])
        .expect("all 64 bits", DATA + 0x10, &[1, 2, 3]);
    assert_passes(&play_scene(scene));
}

const BLEND: u32 = 0x1E0;
const BLEND_DEFAULT: u32 = 0x2001_0001;

fn blend(value: u32) -> Vec<u32> {
    packet(0x69, &[BLEND, value])
}

fn context_state(operation: u32) -> Vec<u32> {
    console(0x1A, &[operation, 0xDEAD_BEEF, 0])
}

#[test]
fn context_operations_clear_push_and_pop() {
    for (packets, expected) in [
        (vec![blend(1), context_state(0)], BLEND_DEFAULT),
        (vec![blend(1), context_state(1)], 1),
        (vec![blend(1), context_state(3)], BLEND_DEFAULT),
        (vec![blend(1), context_state(1), blend(2), context_state(2)], 1),
        (vec![blend(1), context_state(3), blend(2), context_state(2)], 1),
        (vec![blend(1), console(0x05, &[0])], BLEND_DEFAULT),
    ] {
        let (stop, decoded) = decode(&packets, &[]);
        assert!(matches!(stop, Stop::Drained), "{packets:x?}");
        assert_eq!(decoded.banks.context[BLEND as usize], expected, "{packets:x?}");
    }
    for packets in [
        vec![context_state(2)],
        vec![context_state(1), context_state(1)],
        vec![context_state(4)],
    ] {
        let (stop, _) = decode(&packets, &[]);
        assert!(
            matches!(&stop, Stop::Fault(fault) if fault.packet.contains("CONTEXT_STATE")),
            "{packets:x?}"
        );
    }
}

#[test]
fn a_queue_reset_puts_all_state_back() {
    let (stop, decoded) = decode(
        &[
            blend(1),
            packet(0x76, &[0x240, 7]),
            packet(0x79, &[0x242, 4]),
            packet(0x2F, &[5]),
            console(0x09, &[0]),
        ],
        &[],
    );
    assert!(matches!(stop, Stop::Drained));
    assert_eq!(decoded.banks.context[BLEND as usize], BLEND_DEFAULT);
    assert_eq!(decoded.banks.shader[0x240], 0);
    assert_eq!(decoded.banks.user_config[0x242], 0);
    assert_eq!(decoded.state.instances, 1);
}

/// Old register lists, draws, and the names of what is refused.
#[test]
fn old_builders_packets_act_or_are_refused_by_name() {
    // The list lies in the stream itself, inside of a NOP's payload: the stream begins at 0x1000.
    let list = packet(0x10, &[0, 0x1E0, 9]);
    let (_, decoded) = decode(&[list, console(0x12, &[1, 0x1008, 0])], &[]);
    assert_eq!(decoded.banks.context[0x1E0], 9);
    let (_, decoded) = decode(
        &[
            console(0x04, &[3, 0, 0]),
            console(0x03, &[6, 0x5000, 1, 0x4000_0000, 0]),
        ],
        &[],
    );
    let sources: Vec<_> = decoded.draws.rows.iter().map(|draw| draw.source).collect();
    assert_eq!(
        sources,
        [
            DrawSource::Auto { count: 3 },
            DrawSource::Indexed {
                address: GuestAddress(0x1_0000_5000),
                count: 6,
                limit: 6,
                index_type: 0
            }
        ]
    );
    for (words, part) in [
        (packet(0x8E, &[0; 4]), "GET_LOD_STATS"),
        (packet(0x91, &[0; 3]), "SET_INDEX_INDIRECT_ARGS"),
        (packet(0x46, &[0x15 | 1 << 8, 0, 0]), "EVENT_WRITE"),
        (console(0x08, &[0]), "sub-operation 0x08"),
    ] {
        let (stop, _) = decode(&[words], &[]);
        assert!(
            matches!(&stop, Stop::Fault(fault) if fault.packet.contains(part)),
            "{part} is not what is refused"
        );
    }
    let (stop, _) = decode(&[packet(0x46, &[0x39 | 1 << 8, 0, 0])], &[]);
    assert!(matches!(&stop, Stop::Fault(fault) if fault.reason.contains("PIXEL_PIPE_STAT_DUMP")));
}
