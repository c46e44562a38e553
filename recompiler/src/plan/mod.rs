//! The resource plan: what a program's descriptors and flat words are computed from.
//!
//! A plan is a small graph of 32-bit nodes. [`evaluator`] walks it before a draw, reading guest memory, and
//! yields each descriptor's words and the flat words. Everything a plan needs is in the plan: the program's IR
//! can be dropped.
//!
//! Layout of the flat block, in 32-bit words: first the values of [`ResourcePlan::flat`] that the program reads at run
//! time, in order; then, four to a word from the low byte up, the residual (base address modulo the storage
//! buffer alignment) of each descriptor of kind `Buffer` in plan order.

pub mod evaluator;
pub mod node;

pub use evaluator::{EvaluateError, Evaluation, Inputs, PlanMemory, evaluate};
pub use node::{Node, NodeId, NodeOp};

use bitflags::bitflags;
use smallvec::SmallVec;

/// What a descriptor describes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptorSource {
    /// Kind.
    pub kind: DescriptorKind,
    /// Where its words come from: 4 or 8 nodes.
    pub words: SmallVec<[NodeId; 8]>,
    /// What the program does with it.
    pub access: AccessFlags,
    /// Images: how they are addressed.
    pub dim: Option<ImageDim>,
    /// Block of the structured program that uses it first; for later pruning of dead branches.
    pub block: u32,
}

/// Where descriptors and flat words come from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourcePlan {
    /// Nodes; an operand always precedes its user.
    pub nodes: Vec<Node>,
    /// Resources, in binding order.
    pub descriptors: Vec<DescriptorSource>,
    /// Words that the program reads at run time.
    pub flat: Vec<NodeId>,
    /// Storage buffer alignment that residuals are taken of, in bytes.
    pub alignment: u32,
}

impl ResourcePlan {
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
}
