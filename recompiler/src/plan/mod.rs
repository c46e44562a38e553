//! The resource plan: what a program's descriptors and flat words are computed from.
//!
//! A plan is a small graph of 32-bit nodes. [`evaluator`] walks it before a draw, reading guest memory, and
//! yields each descriptor's words and the flat words; [`tape`] does the same faster, for many draws at a time.
//! Everything a plan needs is in the plan: the program's IR can be dropped, and [`codec`] stores it.
//!
//! Layout of the flat block, in 32-bit words: first the values of [`ResourcePlan::flat`] that the program reads at run
//! time, in order; then, four to a word from the low byte up, the residual (base address modulo the storage
//! buffer alignment) of each descriptor of kind `Buffer` in plan order.
//!
//! Branches of the program whose conditions a plan can compute are in the plan too, as far as they decide whether a
//! descriptor or flat word is used at all. One that is not used is inactive: it is not walked, and is 0. So a
//! null or garbage descriptor in a branch that is not taken does not fail the draw.

pub mod codec;
pub mod evaluator;
pub mod node;
pub mod tape;

pub use codec::DecodeError;
pub use evaluator::{EvaluateError, Evaluation, Inputs, PlanMemory, PlanRead, Use, evaluate};
pub use node::{Node, NodeId, NodeOp};
pub use tape::{Batch, Scratch, Tape};

use bitflags::bitflags;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a descriptor describes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum DescriptorKind {
    /// V#, 4 words.
    Buffer,
    /// T#, 8 words.
    Image,
    /// S#, 4 words.
    Sampler,
}

impl DescriptorKind {
    /// Words of a descriptor.
    #[must_use]
    pub const fn words(self) -> usize {
        match self {
            Self::Buffer | Self::Sampler => 4,
            Self::Image => 8,
        }
    }
}

bitflags! {
    /// What the program does with a resource.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
    pub struct AccessFlags: u8 {
        /// Loads or samples.
        const READ = 1;
        /// Stores.
        const WRITE = 2;
        /// Atomics.
        const ATOMIC = 4;
        /// Buffer: loads or stores through the V#'s own format.
        const FORMATTED = 8;
        /// Image: bound as a storage image.
        const STORAGE = 16;
        /// Image: sampled with depth comparison.
        const COMPARE = 32;
    }
}

/// Shape of an image as the instructions address it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ImageDim {
    /// One dimension.
    D1,
    /// Two dimensions.
    D2,
    /// Three dimensions.
    D3,
    /// Cube.
    Cube,
    /// Array of one-dimensional images.
    D1Array,
    /// Array of two-dimensional images.
    D2Array,
    /// Two dimensions, several samples.
    D2Msaa,
    /// Array of multisampled images.
    D2MsaaArray,
}

/// One resource of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DescriptorSource {
    /// Kind.
    pub kind: DescriptorKind,
    /// What the program does with it.
    pub access: AccessFlags,
    /// Images: how they are addressed.
    pub dim: Option<ImageDim>,
    /// Where it is used.
    pub guard: Guard,
    /// First of its [`DescriptorKind::words`] entries of [`ResourcePlan::words`].
    pub first: u16,
}

/// A word that the program reads at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FlatSource {
    /// Its value.
    pub node: NodeId,
    /// Where it is used.
    pub guard: Guard,
}

/// Blocks that use something: a range of [`ResourcePlan::guards`]; none when it is always used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Guard {
    /// First entry.
    pub first: u16,
    /// Number of entries.
    pub count: u16,
}

impl Guard {
    pub(crate) fn range(self) -> Range<usize> {
        usize::from(self.first)..usize::from(self.first) + usize::from(self.count)
    }
}

/// A block of the program, as far as it decides what is used. Blocks are in reverse postorder: an edge leads to a later
/// block, or back to a block that every way to its start goes through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlanBlock {
    /// What it branches on. Where it is 0 the second of the two successors follows, else the first. None: all follow.
    pub condition: Option<NodeId>,
    /// Its successors: a range of [`ResourcePlan::edges`].
    pub first: u16,
    /// Number of successors.
    pub count: u16,
}

/// Where descriptors and flat words come from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ResourcePlan {
    /// Nodes; an operand always precedes its user.
    pub nodes: Vec<Node>,
    /// Resources, in binding order.
    pub descriptors: Vec<DescriptorSource>,
    /// Nodes of all descriptors' words.
    pub words: Vec<NodeId>,
    /// Words that the program reads at run time.
    pub flat: Vec<FlatSource>,
    /// Blocks; empty where nothing depends on a condition. The first is the program's start.
    pub blocks: Vec<PlanBlock>,
    /// Successors of the blocks.
    pub edges: Vec<u16>,
    /// Blocks that guard something.
    pub guards: Vec<u16>,
    /// Storage buffer alignment that residuals are taken of, in bytes.
    pub alignment: u32,
}

impl ResourcePlan {
    /// Where the words of a descriptor come from: 4 or 8 nodes.
    #[must_use]
    pub fn words_of(&self, descriptor: &DescriptorSource) -> &[NodeId] {
        let first = usize::from(descriptor.first);
        &self.words[first..first + descriptor.kind.words()]
    }

    /// Size of the flat block in words: values, then residuals.
    #[must_use]
    pub fn flat_words(&self) -> u32 {
        (self.flat.len() + self.buffer_count().div_ceil(4)) as u32
    }

    /// Number of descriptors of kind `Buffer`.
    #[must_use]
    pub fn buffer_count(&self) -> usize {
        self.descriptors
            .iter()
            .filter(|d| d.kind == DescriptorKind::Buffer)
            .count()
    }

    /// Bytes that the plan takes in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&self.nodes[..])
            + size_of_val(&self.descriptors[..])
            + size_of_val(&self.words[..])
            + size_of_val(&self.flat[..])
            + size_of_val(&self.blocks[..])
            + size_of_val(&self.edges[..])
            + size_of_val(&self.guards[..])
    }

    fn edges_of(&self, block: &PlanBlock) -> &[u16] {
        let first = usize::from(block.first);
        &self.edges[first..first + usize::from(block.count)]
    }

    /// Removes the nodes that nothing uses, and links the others.
    pub(crate) fn drop_unused(&mut self) {
        let mut used = vec![false; self.nodes.len()];
        let conditions = self.blocks.iter().filter_map(|block| block.condition);
        let flat = self.flat.iter().map(|source| source.node);
        for id in self.words.iter().copied().chain(flat).chain(conditions) {
            used[id.index()] = true;
        }
        for index in (0..self.nodes.len()).rev() {
            if used[index] {
                for operand in self.nodes[index].used() {
                    used[operand.index()] = true;
                }
            }
        }
        let mut next = 0;
        let renumbered: Vec<NodeId> = used
            .iter()
            .map(|used| {
                let id = NodeId(next);
                next += u16::from(*used);
                id
            })
            .collect();
        let renumber = |id: &mut NodeId| *id = renumbered[id.index()];
        let mut keep = used.iter();
        self.nodes.retain(|_| keep.next().copied().unwrap_or_default());
        for node in &mut self.nodes {
            let arity = node.op.arity();
            node.operands[..arity].iter_mut().for_each(renumber);
        }
        self.words.iter_mut().for_each(renumber);
        self.flat.iter_mut().for_each(|source| renumber(&mut source.node));
        self.blocks
            .iter_mut()
            .filter_map(|block| block.condition.as_mut())
            .for_each(renumber);
        self.nodes.shrink_to_fit();
        self.link();
    }

    /// Marks the nodes that addresses depend on. Whoever makes a plan calls it once all nodes are there.
    pub fn link(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let node = self.nodes[index];
            if node.feeds_address || node.op.loads() {
                for operand in node.used() {
                    self.nodes[operand.index()].feeds_address = true;
                }
            }
        }
    }
}
