//! Packets that the packet tests are made of.

#![expect(dead_code, reason = "each test file uses some of them")]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use relic_components::{
    Accesses, Commands, Dispatches, Draws, PacketRows, RegisterBanks, Submission,
    batch::Snapshots,
    message::CommandBuffer,
    queue::{CommandCursor, PacketState, PendingSubmissions},
    work::{InFlightWrites, PendingLabels},
};
use relic_core::{GuestAddress, GuestMemory, GuestRange, QueueId, SubmissionId};
use relic_schedules::PacketTable;
use relic_systems::{
    decode::{Stop, walk_queue},
    runtime::relic_builder,
    scene::{packet, split},
};

/// A NOP with a console sub-operation.
pub fn console(operation: u32, payload: &[u32]) -> Vec<u32> {
    let mut words = packet(0x10, payload);
    words[0] |= operation << 2;
    words
}

/// Sets the predicate bit.
pub fn predicated(mut words: Vec<u32>) -> Vec<u32> {
    words[0] |= 1;
    words
}

/// Words to memory.
pub fn write_data(address: u64, words: &[u32]) -> Vec<u32> {
    let [low, high] = split(address);
    packet(0x37, &[&[5 << 8 | 1 << 20, low, high], words].concat())
}

/// Functions: 1 <, 2 <=, 3 ==, 4 !=, 5 >=, 6 >.
pub fn wait(function: u32, address: u64, reference: u32, mask: u32) -> Vec<u32> {
    let [low, high] = split(address);
    packet(0x3C, &[function | 1 << 4, low, high, reference, mask, 10])
}

/// The base that offsets of indirect packets count from.
pub fn set_base(address: u64) -> Vec<u32> {
    let [low, high] = split(address);
    packet(0x11, &[1, low, high])
}

/// Predication by 32 bits at an address: run where they are not 0.
pub fn predicate(address: u64) -> Vec<u32> {
    let [low, high] = split(address);
    packet(0x20, &[4 << 16 | 1 << 8, low, high])
}

/// Skips `words` where the word at the address is 0.
pub fn cond_exec(address: u64, words: u32) -> Vec<u32> {
    let [low, high] = split(address);
    packet(0x22, &[low, high, 0, words])
}

/// `v[lane] = s4` in the buffer of the V# in s[0:3]; 64 lanes a group.
///
/// v_mov_b32 v1, s4; v_lshlrev_b32 v0, 2, v0; buffer_store_dword v1, v0, s[0:3], 0 offen; s_endpgm
pub const STORE: &[u32] = &[0x7E02_0204, 0x3400_0082, 0xE070_1000, 0x8000_0100, 0xBF81_0000];

/// State for dispatches of [`STORE`] at `program` that put `value` into each of the words at `address`.
pub fn store_state(program: u64, address: u64, words: u32, value: u32) -> Vec<u32> {
    let [low, high] = split(address);
    let descriptor = [low, high, 4 * words, 0xFAC | 22 << 12 | 1 << 24 | 3 << 28];
    [
        packet(0x76, &[0x20C, (program >> 8) as u32, (program >> 40) as u32]),
        packet(0x76, &[0x212, 0x602C_0005, 5 << 1 | 1 << 7]),
        packet(0x76, &[0x207, 64, 1, 1]),
        packet(0x76, &[&[0x240], &descriptor[..], &[value]].concat()),
    ]
    .concat()
}

/// A dispatch of one group that puts `value` into each of the words at `address`.
pub fn store(program: u64, address: u64, words: u32, value: u32) -> Vec<u32> {
    let mut all = store_state(program, address, words, value);
    all.extend(packet(0x15, &[1, 1, 1, 0x45]));
    all
}

/// What decoding a stream leaves.
#[derive(Default)]
pub struct Decoded {
    /// Registers.
    pub banks: RegisterBanks,
    /// State beside them.
    pub state: PacketState,
    /// Rows.
    pub commands: Commands,
    /// Draws.
    pub draws: Draws,
}

/// Where [`decode`] puts arguments. The stream begins a page in front.
pub const ARGUMENTS: u64 = 0x2000;

/// Decodes packets without a device, with `arguments` in memory behind them, at the end of what is mapped.
pub fn decode(packets: &[Vec<u32>], arguments: &[u32]) -> (Stop, Decoded) {
    let runtime = relic_builder().build().unwrap();
    let table = runtime.world().resource::<PacketTable>();
    let mut words = packets.concat();
    let buffer = CommandBuffer {
        address: GuestAddress(ARGUMENTS - 0x1000),
        words: words.len() as u32,
    };
    words.resize(0x1000 / 4, 0);
    words.extend_from_slice(arguments);
    let memory = GuestMemory::new();
    let range = GuestRange::new(buffer.address, 4 * words.len() as u64);
    // SAFETY: the words outlive the memory, and nothing else touches them.
    unsafe { memory.map(range, words.as_mut_ptr().cast(), true, "commands") }.unwrap();
    let submission = Submission {
        id: SubmissionId(1),
        queue: QueueId::GRAPHICS,
        buffers: std::iter::once(buffer).collect(),
    };
    let mut decoded = Decoded::default();
    let mut columns = PacketRows {
        columns: table.columns(),
    };
    let (stop, _) = walk_queue(
        QueueId::GRAPHICS,
        table,
        &memory.reader(),
        (
            &mut CommandCursor::default(),
            &mut PendingSubmissions(std::iter::once(submission).collect()),
        ),
        (&mut decoded.banks, &mut decoded.state),
        (&mut decoded.commands, &mut Accesses::default(), &mut columns),
        (
            &mut decoded.draws,
            &mut Dispatches::default(),
            &mut Snapshots::default(),
        ),
        (&mut PendingLabels::default(), &InFlightWrites::default()),
    );
    (stop, decoded)
}
