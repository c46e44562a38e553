//! What comes out: a SPIR-V module and what its user must bind to it.

use crate::binary::Stage;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The kind of descriptor a binding takes, by its Vulkan meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BindingKind {
    /// VK_DESCRIPTOR_TYPE_STORAGE_BUFFER.
    StorageBuffer,
    /// VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE.
    SampledImage,
    /// VK_DESCRIPTOR_TYPE_STORAGE_IMAGE.
    StorageImage,
    /// VK_DESCRIPTOR_TYPE_SAMPLER.
    Sampler,
    /// VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER: the flat words.
    UniformBuffer,
    /// VK_DESCRIPTOR_TYPE_STORAGE_BUFFER: the page table of guest pointers.
    PageTable,
}

/// One binding of descriptor set 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Binding {
    /// Binding number.
    pub binding: u32,
    /// Index of the plan descriptor, or `None` for the flat words' buffer and the page table.
    pub descriptor: Option<u32>,
    /// What is bound.
    pub kind: BindingKind,
}

/// Where a program's flat words lie and how many there are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FlatBlock {
    /// Byte offset in the push constants, or `None` for a uniform buffer of its own.
    pub push_constant_offset: Option<u32>,
    /// Size in 32-bit words; 0 when the program needs none.
    pub words: u32,
}

/// What a program takes from and gives to the stages around it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Interface {
    /// Bit n: the program reads (pixel) or writes (vertex) the parameter at location n.
    pub locations: u32,
    /// Bit n: the pixel program exports to colour slot n.
    pub colour_outputs: u32,
    /// Lanes may be discarded.
    pub uses_discard: bool,
    /// The pixel program writes depth.
    pub writes_depth: bool,
    /// The pixel program writes a sample mask.
    pub writes_sample_mask: bool,
    /// The program writes through buffers or images.
    pub writes_memory: bool,
    /// The program follows guest pointers: it may read whatever is mapped, and has a binding for the page table.
    pub follows_pointers: bool,
    /// The program stores through guest pointers: it may write whatever is mapped.
    pub stores_through_pointers: bool,
    /// Threads of a group; zeros outside compute.
    pub workgroup_size: [u32; 3],
    /// Workgroup memory in bytes.
    pub shared_memory: u32,
    /// RSRC1 FLOAT_MODE, bits 19:12: the rounding and denormal behaviour that the program asks for. Rounding toward
    /// zero becomes an execution mode, and so does what the device can do with 32-bit denormal numbers.
    pub float_mode: u8,
    /// Names of SPIR-V capabilities beyond Shader.
    pub capabilities: SmallVec<[&'static str; 8]>,
}

/// A recompiled program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Artifact {
    /// SPIR-V words; the entry point is `main`.
    pub spirv: Vec<u32>,
    /// Hash of `spirv`, equal for equal words on every machine.
    pub content_hash: u64,
    /// Stage of the entry point.
    pub stage: Stage,
    /// Descriptor set 0.
    pub bindings: Vec<Binding>,
    /// The flat words.
    pub flat: FlatBlock,
    /// What the neighbours need to know.
    pub interface: Interface,
}

/// FNV-1a, a word at a time: stable across machines and releases.
pub(crate) fn content_hash(words: &[u32]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        (hash ^ u64::from(*word)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
