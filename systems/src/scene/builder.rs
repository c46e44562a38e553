//! Scenes written by hand: for tests, examples and small experiments.

use relic_core::{GuestAddress, GuestRange, QueueId};

use super::{
    compare::Rule,
    script::{Event, Scene, SceneSubmission},
};

/// Command memory of a hand-made scene: one page for each submission, 1 MiB in all.
pub const COMMANDS: u64 = 0x30_0000_0000;
/// Data memory of a hand-made scene: 64 KiB.
pub const DATA: u64 = 0x38_0000_0000;

/// A type-3 packet: header and payload. An empty payload gives nothing, as no packet has none.
#[must_use]
pub fn packet(opcode: u8, payload: &[u32]) -> Vec<u32> {
    let Some(count) = (payload.len() as u32).checked_sub(1) else {
        return Vec::new();
    };
    let mut words = vec![3 << 30 | (count & 0x3FFF) << 16 | u32::from(opcode) << 8];
    words.extend_from_slice(payload);
    words
}

/// Low and high word of an address.
#[must_use]
pub const fn split(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

/// A scene under construction.
#[derive(Clone, Debug)]
pub struct SceneBuilder {
    scene: Scene,
    submissions: u64,
}

impl Default for SceneBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl SceneBuilder {
    /// Zeroed memory, no submissions.
    #[must_use]
    pub fn new() -> Self {
        let region = |start, size| Event::Region {
            range: GuestRange::new(GuestAddress(start), size),
            pool: None,
        };
        Self {
            scene: Scene {
                address_mask: 0xFFFF_FFFF_FFFF,
                chip: 1010,
                ngg: true,
                meta: Vec::new(),
                pages: Vec::new(),
                events: vec![region(COMMANDS, 0x10_0000), region(DATA, 0x1_0000)],
            },
            submissions: 0,
        }
    }

    /// Another scene to go on from: its events come first.
    #[must_use]
    pub fn after(scene: Scene) -> Self {
        let mut builder = Self::new();
        let own = std::mem::replace(&mut builder.scene, scene);
        builder.scene.events.extend(own.events);
        builder
    }

    /// Submissions stay suspended at waits, and the script goes on.
    #[must_use]
    pub fn overlapping(mut self) -> Self {
        self.scene.meta.push(("order".to_owned(), "overlap".to_owned()));
        self
    }

    /// The CPU maps zeroed memory, in whole pages of 4 KiB.
    #[must_use]
    pub fn map(mut self, start: u64, size: u64) -> Self {
        let range = GuestRange::new(GuestAddress(start), size);
        self.scene.events.push(Event::Region { range, pool: None });
        self
    }

    /// The CPU writes words.
    #[must_use]
    pub fn write(mut self, address: u64, words: &[u32]) -> Self {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.scene.events.push(Event::Write {
            address: GuestAddress(address),
            bytes,
        });
        self
    }

    /// Packets are submitted to a queue (0 graphics, 1 compute).
    #[must_use]
    pub fn submit(mut self, queue: u32, packets: &[Vec<u32>]) -> Self {
        let words: Vec<u32> = packets.concat();
        let address = COMMANDS + 0x1000 * self.submissions;
        self.submissions += 1;
        self = self.write(address, &words);
        let buffers = vec![(GuestAddress(address), words.len() as u32)];
        let queue = match queue {
            0 => QueueId::GRAPHICS,
            _ => QueueId::compute(0, 0),
        };
        self.scene
            .events
            .push(Event::Submit(SceneSubmission { queue, buffers }));
        self
    }

    /// Memory must hold these words now.
    #[must_use]
    pub fn expect(mut self, name: &str, address: u64, words: &[u32]) -> Self {
        self.scene.events.push(Event::ExpectBuffer {
            address: GuestAddress(address),
            name: name.to_owned(),
            rule: Rule::Exact { permille: 0 },
            bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        });
        self
    }

    /// The scene.
    #[must_use]
    pub fn build(self) -> Scene {
        self.scene
    }
}
