//! Plans as bytes, for caches. A version stands in front; what is read is checked before it is walked.

use super::{DescriptorKind, NodeOp, ResourcePlan};
use thiserror::Error;

/// Version of the stored form: another one after each change to plans, their operations or the order of those.
const VERSION: u8 = 1;

/// Why bytes are no plan.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DecodeError {
    /// Another version of Relic stored it.
    #[error("the stored plan has version {found}, and this Relic reads version {VERSION}: make it again")]
    Version {
        /// Version found; none where there are no bytes.
        found: u8,
    },
    /// The bytes can't be read.
    #[error("the stored plan is damaged: {0}")]
    Damaged(String),
    /// The bytes can be read and make no plan.
    #[error("the stored plan is damaged: {0}")]
    Inconsistent(&'static str),
}

impl ResourcePlan {
    /// The plan as bytes.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn encode(&self) -> Result<Vec<u8>, DecodeError> {
        postcard::to_extend(self, vec![VERSION]).map_err(|error| DecodeError::Damaged(error.to_string()))
    }

    /// A plan from its bytes.
    ///
    /// # Errors
    /// Another version, or bytes that make no plan that can be walked.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (&found, rest) = bytes.split_first().ok_or(DecodeError::Version { found: 0 })?;
        if found != VERSION {
            return Err(DecodeError::Version { found });
        }
        let damaged = |error: postcard::Error| DecodeError::Damaged(error.to_string());
        let (mut plan, behind) = postcard::take_from_bytes::<Self>(rest).map_err(damaged)?;
        if !behind.is_empty() {
            return Err(DecodeError::Inconsistent("bytes stand behind its end"));
        }
        plan.check().map_err(DecodeError::Inconsistent)?;
        plan.link();
        Ok(plan)
    }

    /// Whether every part that names another names one that is there.
    fn check(&self) -> Result<(), &'static str> {
        let hold = |holds: bool, rule: &'static str| if holds { Ok(()) } else { Err(rule) };
        let nodes = self.nodes.len();
        hold(nodes <= usize::from(u16::MAX), "it has more nodes than numbers")?;
        for (index, node) in self.nodes.iter().enumerate() {
            let before = node.used().iter().all(|operand| operand.index() < index);
            hold(before, "an operand does not stand in front of its user")?;
            let is_word = node.op != NodeOp::UserData || node.immediate < 64;
            hold(is_word, "it reads user data beyond word 63")?;
        }
        let mut next = 0;
        for source in &self.descriptors {
            hold(
                usize::from(source.first) == next,
                "descriptors and words do not fit",
            )?;
            next += source.kind.words();
            let is_image = source.kind == DescriptorKind::Image;
            hold(
                is_image || source.dim.is_none(),
                "something has dimensions and is no image",
            )?;
        }
        hold(next == self.words.len(), "descriptors and words do not fit")?;
        let flat = self.flat.iter().map(|source| source.node);
        let mut named = self.words.iter().copied().chain(flat);
        hold(named.all(|id| id.index() < nodes), "a word names no node")?;
        for block in &self.blocks {
            let edges = usize::from(block.first)..usize::from(block.first) + usize::from(block.count);
            hold(edges.end <= self.edges.len(), "a block's edges are not there")?;
            if let Some(condition) = block.condition {
                hold(condition.index() < nodes, "a condition names no node")?;
                hold(block.count == 2, "a condition does not choose between two edges")?;
            }
        }
        let flat = self.flat.iter().map(|source| source.guard);
        let mut guards = self.descriptors.iter().map(|source| source.guard).chain(flat);
        let has_guard = guards.all(|guard| guard.range().end <= self.guards.len());
        hold(has_guard, "a guard is not there")?;
        let mut blocks = self.edges.iter().chain(&self.guards);
        let has_block = blocks.all(|block| usize::from(*block) < self.blocks.len());
        hold(has_block, "an edge or a guard names no block")?;
        hold(
            self.alignment.is_power_of_two(),
            "its alignment is no power of two",
        )
    }
}
