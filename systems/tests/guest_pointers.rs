//! Programs that follow guest pointers: through the page table, to whatever is mapped when they run.

mod common;
mod packet_words;

use common::{assert_passes, play_scene};
use packet_words::store_state;
use relic_systems::scene::{COMMANDS, DATA, SceneBuilder, packet, split};

/// Each lane has two pointers in the buffer of the V# in s[0:3]: what the first leads to, plus 1, goes where the second
/// leads. No plan can find these addresses.
const FOLLOW: &[u32] = &[
    0x3400_0084, // v_lshlrev_b32 v0, 4, v0
    0xE038_1000, // buffer_load_dwordx4 v[1:4], v0, s[0:3], 0 offen
    0x8000_0100,
    0xBF8C_3F70, // s_waitcnt vmcnt(0)
    0xDC30_0000, // flat_load_dword v5, v[1:2]
    0x057D_0001,
    0xBF8C_0070, // s_waitcnt vmcnt(0) lgkmcnt(0)
    0x4A0A_0A81, // v_add_nc_u32 v5, 1, v5
    0xDC70_8000, // global_store_dword v[3:4], v5, off
    0x007D_0503,
    0xBF81_0000, // s_endpgm
];

/// Each lane stores the word that the pointer in s[4:5] leads to, in the buffer of the V# in s[0:3]. The CPU reads that
/// word in front of the dispatch.
const READ: &[u32] = &[
    0xF400_0182, // s_load_dword s6, s[4:5], 0x0
    0xFA00_0000,
    0x3400_0082, // v_lshlrev_b32 v0, 2, v0
    0xBF8C_C07F, // s_waitcnt lgkmcnt(0)
    0x7E02_0206, // v_mov_b32 v1, s6
    0xE070_1000, // buffer_store_dword v1, v0, s[0:3], 0 offen
    0x8000_0100,
    0xBF81_0000, // s_endpgm
];

/// Stores texel 0 of the texture of the T# in s[0:7] in the buffer of the V# in s[8:11].
const TEXEL: &[u32] = &[
    0x7E00_0280, // v_mov_b32 v0, 0
    0x7E02_0280, // v_mov_b32 v1, 0
    0xF000_1108, // image_load v2, v[0:1], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D unorm
    0x0000_0200,
    0xBF8C_3F70, // s_waitcnt vmcnt(0)
    0xE070_0000, // buffer_store_dword v2, off, s[8:11], 0
    0x8002_0200,
    0xBF81_0000, // s_endpgm
];

const PROGRAM: u64 = DATA + 0x8000;
const READER: u64 = DATA + 0x9000;
const POINTERS: u64 = DATA + 0x1000;
const SOURCES: u64 = DATA + 0x2000;
const RESULTS: u64 = DATA + 0x3000;
const NOWHERE: u64 = 0x1234_5600_0000;

fn pointers(pairs: &[(u64, u64)]) -> Vec<u32> {
    pairs
        .iter()
        .flat_map(|(from, to)| [split(*from), split(*to)].concat())
        .collect()
}

/// A dispatch of [`FOLLOW`] over so many pairs at an address.
fn follow(address: u64, pairs: u32) -> Vec<u32> {
    let mut words = store_state(PROGRAM, address, 4 * pairs, 0);
    words.extend(packet(0x76, &[0x207, pairs, 1, 1]));
    words.extend(packet(0x15, &[1, 1, 1, 0x45]));
    words
}

/// Pointers into two regions, back and forth inside one page and across pages.
#[test]
fn pointers_lead_to_everything_that_is_mapped() {
    let far = COMMANDS + 0xF_0FFC;
    let pairs = [
        (SOURCES + 8, RESULTS),
        (SOURCES, RESULTS + 12),
        (far, RESULTS + 8),
        (SOURCES + 4, far + 4),
    ];
    let report = play_scene(
        SceneBuilder::new()
            .write(PROGRAM, FOLLOW)
            .write(SOURCES, &[10, 20, 30])
            .write(far, &[40, 50])
            .write(RESULTS, &[7; 5])
            .write(POINTERS, &pointers(&pairs))
            .submit(0, &[follow(POINTERS, 4)])
            .expect("results", RESULTS, &[31, 7, 41, 11, 7])
            .expect("in the other region", far, &[40, 21]),
    );
    assert_passes(&report);
}

/// Loads of what is not mapped give 0, also behind stores there, which go nowhere.
#[test]
fn what_is_not_mapped_reads_0_and_takes_no_store() {
    let pairs = [(NOWHERE, RESULTS), (0, RESULTS + 4), (SOURCES, NOWHERE + 8)];
    let again = [(NOWHERE + 8, RESULTS + 8), (u64::MAX - 7, RESULTS + 12)];
    let report = play_scene(
        SceneBuilder::new()
            .write(PROGRAM, FOLLOW)
            .write(SOURCES, &[10])
            .write(RESULTS, &[7; 5])
            .write(POINTERS, &pointers(&pairs))
            .write(POINTERS + 0x100, &pointers(&again))
            .submit(0, &[follow(POINTERS, 3), follow(POINTERS + 0x100, 2)])
            .expect("results", RESULTS, &[1, 1, 1, 1, 7]),
    );
    assert_passes(&report);
}

#[test]
fn memory_that_is_mapped_later_is_found() {
    let pairs = [(NOWHERE, RESULTS), (RESULTS, NOWHERE + 4)];
    let report = play_scene(
        SceneBuilder::new()
            .write(PROGRAM, FOLLOW)
            .write(POINTERS, &pointers(&pairs[..1]))
            .submit(0, &[follow(POINTERS, 1)])
            .expect("not there yet", RESULTS, &[1])
            .map(NOWHERE, 0x1000)
            .write(NOWHERE, &[40])
            .submit(0, &[follow(POINTERS, 1)])
            .expect("there", RESULTS, &[41])
            .write(POINTERS, &pointers(&pairs[1..]))
            .submit(0, &[follow(POINTERS, 1)])
            .expect("stored there", NOWHERE, &[40, 42]),
    );
    assert_passes(&report);
}

/// The second dispatch stores what the CPU reads for it: it waits for the first, which might write anything. Both
/// programs have run before, so that nothing else holds a row.
#[test]
fn the_cpu_reads_nothing_that_a_pointer_may_still_write() {
    let target = RESULTS + 0x80;
    let [low, high] = split(target);
    let read = [
        store_state(READER, RESULTS, 2, 0),
        packet(0x76, &[0x207, 2, 1, 1]),
        packet(0x76, &[0x213, 6 << 1 | 1 << 7]),
        packet(0x76, &[0x244, low, high]),
        packet(0x15, &[1, 1, 1, 0x45]),
    ]
    .concat();
    let report = play_scene(
        SceneBuilder::new()
            .write(PROGRAM, FOLLOW)
            .write(READER, READ)
            .write(SOURCES, &[10])
            .write(target, &[5])
            .write(POINTERS, &pointers(&[(SOURCES, target)]))
            .submit(0, &[read.clone(), follow(POINTERS, 1)])
            .expect("read before the store", RESULTS, &[5, 5, 0])
            .expect("stored", target, &[11])
            .write(SOURCES, &[20])
            .submit(0, &[follow(POINTERS, 1), read])
            .expect("read behind the store", RESULTS, &[21, 21, 0]),
    );
    assert_passes(&report);
    assert_eq!(report.counters.cuts, 1, "{report:#?}");
}

/// A texture that holds its memory already is looked at again behind a store that might have changed it.
#[test]
fn textures_are_compared_with_memory_behind_the_stores() {
    let surface = DATA + 0x4000;
    let [low, high] = split(RESULTS);
    let user_data = [
        // A linear texture of 4x4 texels of 32 bits, unsigned.
        &[
            0x240,
            (surface >> 8) as u32,
            20 << 20 | 3 << 30,
            3 | 3 << 14,
            0xFAC | 9 << 28,
        ],
        &[0; 4][..],
        &[low, high, 4, 0xFAC | 22 << 12 | 1 << 24 | 3 << 28],
    ]
    .concat();
    let texel = [
        packet(0x76, &[0x20C, (READER >> 8) as u32, (READER >> 40) as u32]),
        packet(0x76, &[0x212, 0x602C_0005, 12 << 1 | 1 << 7]),
        packet(0x76, &[0x207, 1, 1, 1]),
        packet(0x76, &user_data),
        packet(0x15, &[1, 1, 1, 0x45]),
    ]
    .concat();
    let report = play_scene(
        SceneBuilder::new()
            .write(PROGRAM, FOLLOW)
            .write(READER, TEXEL)
            .write(SOURCES, &[10])
            .write(surface, &[5])
            .write(POINTERS, &pointers(&[(SOURCES, surface)]))
            .submit(0, std::slice::from_ref(&texel))
            .expect("before the store", RESULTS, &[5])
            .submit(0, &[follow(POINTERS, 1), texel])
            .expect("behind the store", RESULTS, &[11]),
    );
    assert_passes(&report);
}
