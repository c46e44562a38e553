//! What a scene is: a script of memory, submissions and expected results, whatever file it came from.

use relic_components::{
    queue::PacketState,
    registers::RegisterBanks,
    video::{FlipRequest, VideoBuffer, VideoHandle},
};
use relic_core::{GuestAddress, GuestRange, QueueId};
use serde::{Deserialize, Serialize};

use super::compare::Rule;
use crate::packets::set_registers::changes_state;

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// One page of guest memory.
pub type Page = Box<[u8; PAGE]>;

/// A parsed scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// AND this with every GPU address before it is looked up.
    pub address_mask: u64,
    /// 1010 or 1030.
    pub chip: u32,
    /// Vertex shaders are merged ones.
    pub ngg: bool,
    /// `key=value` lines.
    pub meta: Vec<(String, String)>,
    /// Pages that [`Event::Pages`] speaks of, each once.
    pub pages: Vec<Page>,
    /// What happens, in order.
    pub events: Vec<Event>,
}

impl Scene {
    /// Value of a meta key.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.meta
            .iter()
            .find(|(own, _)| own == key)
            .map(|(_, value)| value.as_str())
    }
}

/// One step of the script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// Guest memory comes into being, zeroed.
    Region {
        /// Where, in whole pages.
        range: GuestRange,
        /// Offset of the first byte in the pool of pages: regions that show the same part share their bytes.
        pool: Option<u64>,
    },
    /// Guest memory goes.
    Unmap(GuestRange),
    /// The CPU writes memory.
    Write {
        /// Where.
        address: GuestAddress,
        /// What.
        bytes: Vec<u8>,
    },
    /// The CPU writes whole pages.
    Pages {
        /// Where the first begins.
        address: GuestAddress,
        /// Which of the scene's pages.
        pages: Vec<u32>,
    },
    /// What a queue has kept from work before the scene.
    Queue(Box<QueueState>),
    /// A shader program is registered.
    Shader {
        /// Its code.
        code: GuestAddress,
        /// Its header.
        header: GuestAddress,
        /// Binary type of the header.
        binary_type: u8,
        /// Size of the code in bytes.
        code_size: u32,
    },
    /// A video output is opened.
    VideoOpened(VideoHandle),
    /// A video output is closed.
    VideoClosed(VideoHandle),
    /// Scan-out buffers are registered.
    Buffers {
        /// The output.
        handle: VideoHandle,
        /// Index of the first.
        first: u32,
        /// The buffers.
        buffers: Vec<VideoBuffer>,
    },
    /// The CPU asks for a flip.
    Flip(FlipRequest),
    /// Work is submitted.
    Submit(SceneSubmission),
    /// A frame has ended.
    Frame(u32),
    /// A buffer must hold this now.
    ExpectBuffer {
        /// First byte; 0 when the place is unknown.
        address: GuestAddress,
        /// Its name.
        name: String,
        /// How to compare.
        rule: Rule,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// An image must hold this now.
    ExpectImage(ExpectedImage),
    /// An image exists: informative.
    Image(SceneImage),
}

/// A submission of a scene.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneSubmission {
    /// The queue.
    pub queue: QueueId,
    /// Command buffers: address, words.
    pub buffers: Vec<(GuestAddress, u32)>,
}

/// An image that a scene uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneImage {
    /// First byte, without pipe/bank XOR.
    pub address: GuestAddress,
    /// `VkFormat` number.
    pub format: u32,
    /// Width, height, depth.
    pub extent: [u32; 3],
    /// Array layers.
    pub layers: u32,
    /// Mip levels.
    pub levels: u32,
    /// Swizzle mode.
    pub mode: u32,
    /// Pipe/bank XOR.
    pub xor: u32,
    /// Its name.
    pub name: String,
}

/// What an image must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedImage {
    /// First byte of the image.
    pub address: GuestAddress,
    /// `VkFormat` number.
    pub format: u32,
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// Array layer.
    pub layer: u32,
    /// Bytes of a texel.
    pub texel: u32,
    /// Its name.
    pub name: String,
    /// How to compare.
    pub rule: Rule,
    /// Tight rows, top row first.
    pub bytes: Vec<u8>,
}

/// Registers and packet state of a queue that has worked before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueState {
    /// The queue.
    pub queue: QueueId,
    /// Registers of the context, shader and user-config banks.
    pub registers: [Vec<u32>; 3],
    /// INDEX_BASE, and the bases of indirect arguments for graphics and compute.
    pub bases: [GuestAddress; 3],
    /// INDEX_BUFFER_SIZE, INDEX_TYPE, NUM_INSTANCES.
    pub index: [u32; 3],
    /// Packets with the predicate bit are skipped.
    pub skip_predicated: bool,
    /// Context registers put away by a context push.
    pub saved_context: Option<Vec<u32>>,
    /// The constant engine's RAM.
    pub constant_ram: Vec<u32>,
}

impl QueueState {
    /// Of a queue's components.
    #[must_use]
    pub fn of(queue: QueueId, banks: &RegisterBanks, state: &PacketState) -> Self {
        Self {
            queue,
            registers: [
                banks.context.to_vec(),
                banks.shader.to_vec(),
                banks.user_config.to_vec(),
            ],
            bases: [
                state.index_base,
                state.graphics_indirect_base,
                state.compute_indirect_base,
            ],
            index: [state.index_count, state.index_type, state.instances],
            skip_predicated: state.skip_predicated,
            saved_context: state.saved_context.as_ref().map(|context| context.to_vec()),
            constant_ram: state.constant_ram.clone(),
        }
    }

    /// As components. `None` when a bank has another number of registers.
    #[must_use]
    pub fn components(&self) -> Option<(RegisterBanks, PacketState)> {
        let [context, shader, user_config] = &self.registers;
        let banks = RegisterBanks::with(
            Box::new(context.as_slice().try_into().ok()?),
            Box::new(shader.as_slice().try_into().ok()?),
            Box::new(user_config.as_slice().try_into().ok()?),
            |bank, register| changes_state(bank, register, 1),
        );
        let saved_context = match &self.saved_context {
            Some(context) => Some(Box::new(context.as_slice().try_into().ok()?)),
            None => None,
        };
        let [index_base, graphics_indirect_base, compute_indirect_base] = self.bases;
        let [index_count, index_type, instances] = self.index;
        let state = PacketState {
            index_base,
            index_count,
            index_type,
            instances,
            graphics_indirect_base,
            compute_indirect_base,
            skip_predicated: self.skip_predicated,
            saved_context,
            constant_ram: self.constant_ram.clone(),
        };
        Some((banks, state))
    }
}
