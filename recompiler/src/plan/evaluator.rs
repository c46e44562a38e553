//! Walks a plan before a draw. This is the definition of what a plan means; faster forms must agree with it.
//!
//! The order is: branches from the program's start on, then flat words, then descriptors. Operands are walked in
//! their order, each node at most once; a selection walks its condition and then only the chosen arm. A branch whose
//! condition has no value is taken both ways; what is used in no block that was reached is not walked.

use super::node::{Apply, NodeId, NodeOp, OutOfWord};
use super::{DescriptorKind, Guard, ResourcePlan};
use relic_core::{GuestAddress, GuestRange, MemoryReader};
use thiserror::Error;

/// Nested operands the walk follows before it gives up; bounds the stack.
pub(super) const MAX_DEPTH: u32 = 512;
/// Guest virtual addresses have 48 bits.
const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// Guest memory as a walk sees it.
pub trait PlanMemory {
    /// The dword at a multiple of 4, or `None` where nothing is mapped.
    fn read_u32(&self, address: GuestAddress) -> Option<u32>;

    /// Copies the dwords from a multiple of 4 on; false where one of them is not mapped.
    fn read_words(&self, address: GuestAddress, out: &mut [u32]) -> bool {
        out.iter_mut().enumerate().all(|(i, word)| {
            let at = address.checked_add(4 * i as u64);
            match at.and_then(|at| self.read_u32(at)) {
                Some(value) => {
                    *word = value;
                    true
                }
                None => false,
            }
        })
    }
}

impl PlanMemory for MemoryReader {
    fn read_u32(&self, address: GuestAddress) -> Option<u32> {
        Self::read_u32(self, address).ok()
    }

    fn read_words(&self, address: GuestAddress, out: &mut [u32]) -> bool {
        Self::read_words(self, address, out).is_ok()
    }
}

/// What a draw gives the walk.
#[derive(Clone, Copy)]
pub struct Inputs<'a, M: ?Sized> {
    /// User data words, at most 64; those beyond the end read 0.
    pub user_data: &'a [u32],
    /// Address of the program's first word.
    pub shader_base: GuestAddress,
    /// Guest memory.
    pub memory: &'a M,
}

/// Guest memory that a walk read: dwords that follow each other, read one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanRead {
    /// Where.
    pub range: GuestRange,
    /// The user data word that is the low half of the base address, where it is one itself.
    pub origin: Option<u8>,
    /// No address depends on what was read.
    pub leaf: bool,
}

/// How a walk used the user data: bit n stands for word n. Where a word is only a base, what it points to can be found
/// again when it moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Use {
    /// Words that were read as values.
    pub as_value: u64,
    /// Words that were the low half of a load's base address, and nothing more there.
    pub as_base: u64,
}

/// What a walk found. Reused between calls: buffers keep their capacity.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// Words of all descriptors, one after the other: 4 or 8 each. Those of inactive ones are 0.
    pub words: Vec<u32>,
    /// The flat block as the program expects it: values, then packed residuals.
    pub flat: Vec<u32>,
    /// Guest memory that the result depends on, in the order it was read.
    pub reads: Vec<PlanRead>,
    /// For each descriptor, whether it is used.
    pub active: Vec<bool>,
    /// How the user data was used.
    pub user_data: Use,
    memo: Vec<Option<u32>>,
    reached: Vec<bool>,
}

impl Evaluation {
    /// The words of `plan`'s descriptor `index`; empty where there is no such descriptor.
    #[must_use]
    pub fn descriptor(&self, plan: &ResourcePlan, index: usize) -> &[u32] {
        plan.descriptors.get(index).map_or(&[], |source| {
            let first = usize::from(source.first);
            &self.words[first..first + source.kind.words()]
        })
    }

    /// Removes all results and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.flat.clear();
        self.reads.clear();
        self.active.clear();
        self.user_data = Use::default();
    }

    /// The first output that differs from another walk's, or `None` where all are the same.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let same_reads = |same: fn(&PlanRead, &PlanRead) -> bool| {
            self.reads.len() == other.reads.len()
                && self.reads.iter().zip(&other.reads).all(|(a, b)| same(a, b))
        };
        let outputs = [
            ("descriptor words", self.words == other.words),
            ("flat words", self.flat == other.flat),
            ("image activity", self.active == other.active),
            ("reads", same_reads(|a, b| a.range == b.range)),
            ("trace", same_reads(|a, b| a.leaf == b.leaf)),
            ("user data use", same_reads(|a, b| a.origin == b.origin)),
            ("user data use", self.user_data == other.user_data),
        ];
        let different = outputs.into_iter().find(|(_, same)| !same);
        different.map(|(output, _)| output)
    }
}

/// Why a walk failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum EvaluateError {
    /// Nothing is mapped where the program's constants should be.
    #[error("the program reads its constants at {0}, where nothing is mapped")]
    Inaccessible(GuestAddress),
    /// An address computation left the address space.
    #[error("an address of the plan leaves the address space")]
    Overflow,
    /// Offset and width of a bit field do not fit 32 bits.
    #[error("a bit field of {width} bits from bit {offset} does not fit a word")]
    BitfieldRange {
        /// First bit.
        offset: u32,
        /// Number of bits.
        width: u32,
    },
    /// The operands nest too deeply.
    #[error("the plan nests deeper than {MAX_DEPTH} operations")]
    TooDeep,
}

impl From<OutOfWord> for EvaluateError {
    fn from(OutOfWord { offset, width }: OutOfWord) -> Self {
        Self::BitfieldRange { offset, width }
    }
}

/// Computes all descriptors' words and flat words of `plan`.
///
/// # Errors
/// A read of unmapped memory, an address overflow or a bit field out of range. `out` then holds what was read and used
/// up to there; its words are unspecified.
pub fn evaluate<M: PlanMemory + ?Sized>(
    plan: &ResourcePlan,
    inputs: &Inputs<'_, M>,
    out: &mut Evaluation,
) -> Result<(), EvaluateError> {
    out.clear();
    out.memo.clear();
    out.memo.resize(plan.nodes.len(), None);
    out.reached.clear();
    out.reached.resize(plan.blocks.len(), false);
    let mut walk = Walk {
        plan,
        inputs,
        memo: &mut out.memo,
        reads: &mut out.reads,
        user_data: &mut out.user_data,
    };
    let reached = &mut out.reached;
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for (index, block) in plan.blocks.iter().enumerate() {
        if !reached[index] {
            continue;
        }
        let edges = plan.edges_of(block);
        match block.condition.map(|condition| walk.value(condition, 0)) {
            Some(Ok(value)) => reached[usize::from(edges[usize::from(value == 0)])] = true,
            // A condition without a value, or none.
            Some(Err(_)) | None => {
                for edge in edges {
                    reached[usize::from(*edge)] = true;
                }
            }
        }
    }
    let is_used = |guard: Guard| {
        guard.count == 0
            || plan.guards[guard.range()]
                .iter()
                .any(|b| reached[usize::from(*b)])
    };
    for source in &plan.flat {
        out.flat.push(if is_used(source.guard) {
            walk.value(source.node, 0)?
        } else {
            0
        });
    }
    for source in &plan.descriptors {
        let active = is_used(source.guard);
        out.active.push(active);
        for &id in plan.words_of(source) {
            out.words.push(if active { walk.value(id, 0)? } else { 0 });
        }
    }
    let buffers = plan
        .descriptors
        .iter()
        .filter(|d| d.kind == DescriptorKind::Buffer);
    push_residuals(
        buffers.map(|source| &source.first),
        plan.alignment,
        &out.words,
        &mut out.flat,
    );
    Ok(())
}

/// Appends the residuals of buffers, given by their first words, to the flat values.
pub(super) fn push_residuals<'a>(
    buffers: impl IntoIterator<Item = &'a u16>,
    alignment: u32,
    words: &[u32],
    flat: &mut Vec<u32>,
) {
    for (number, first) in buffers.into_iter().enumerate() {
        let residual = words[usize::from(*first)] & (alignment.max(1) - 1) & 0xff;
        let shifted = residual << (8 * (number % 4));
        match flat.last_mut() {
            Some(last) if number % 4 != 0 => *last |= shifted,
            _ => flat.push(shifted),
        }
    }
}

impl Use {
    /// Both uses.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            as_value: self.as_value | other.as_value,
            as_base: self.as_base | other.as_base,
        }
    }
}

/// Appends a read to those of a walk, which begin at `start`: to the last one where it goes on from there.
#[inline]
pub(super) fn push_read(reads: &mut Vec<PlanRead>, start: usize, new: PlanRead) {
    match reads[start..].last_mut() {
        Some(last)
            if last.range.end() == new.range.start()
                && last.origin == new.origin
                && last.leaf == new.leaf =>
        {
            last.range = GuestRange::new(last.range.start(), last.range.size() + new.range.size());
        }
        _ => reads.push(new),
    }
}

/// The address of a load through a pointer, or none where it leaves the address space.
#[inline(always)]
pub(super) fn load_address(low: u32, high: u32, offset: u32, immediate: u32) -> Option<u64> {
    let base = (u64::from(high) << 32 | u64::from(low)) & ADDRESS_MASK;
    // The immediate is a signed 21-bit field, so it may step back from the base.
    (base & !3)
        .checked_add_signed(i64::from(immediate.cast_signed() & !3))?
        .checked_add(u64::from(offset & !3))
}

/// The address of a load through a V#: `Ok(None)` past its end.
///
/// # Errors
/// When it leaves the address space.
#[inline(always)]
pub(super) fn buffer_address(
    words: [u32; 3],
    offset: u32,
    immediate: u32,
) -> Result<Option<u64>, EvaluateError> {
    let stride = (words[1] >> 16) & 0x3fff;
    let extent = u64::from(stride.max(1)) * u64::from(words[2]);
    let offset = (u64::from(immediate) + u64::from(offset)) & !3;
    if offset + 4 > extent {
        return Ok(None);
    }
    let base = (u64::from(words[1] & 0xffff) << 32 | u64::from(words[0])) & !3;
    base.checked_add(offset).map(Some).ok_or(EvaluateError::Overflow)
}

struct Walk<'a, M: ?Sized> {
    plan: &'a ResourcePlan,
    inputs: &'a Inputs<'a, M>,
    memo: &'a mut [Option<u32>],
    reads: &'a mut Vec<PlanRead>,
    user_data: &'a mut Use,
}

impl<M: PlanMemory + ?Sized> Walk<'_, M> {
    fn value(&mut self, id: NodeId, depth: u32) -> Result<u32, EvaluateError> {
        let index = id.index();
        if let Some(value) = self.memo[index] {
            return Ok(value);
        }
        if depth > MAX_DEPTH {
            return Err(EvaluateError::TooDeep);
        }
        let value = self.compute(id, depth + 1)?;
        self.memo[index] = Some(value);
        Ok(value)
    }

    fn compute(&mut self, id: NodeId, depth: u32) -> Result<u32, EvaluateError> {
        let node = &self.plan.nodes[id.index()];
        match node.op {
            NodeOp::Const => Ok(node.immediate),
            NodeOp::UserData => {
                self.user_data.as_value |= 1 << node.immediate;
                Ok(self.user_data_word(node.immediate))
            }
            NodeOp::ShaderBaseLow => Ok(self.inputs.shader_base.0 as u32),
            NodeOp::ShaderBaseHigh => Ok((self.inputs.shader_base.0 >> 32) as u32),
            NodeOp::Select => {
                let [condition, yes, no, _] = node.operands;
                let arm = if self.value(condition, depth)? != 0 {
                    yes
                } else {
                    no
                };
                self.value(arm, depth)
            }
            NodeOp::LoadAddress => {
                let [low, high, offset, _] = node.operands;
                let base = &self.plan.nodes[low.index()];
                let (low, origin) = if base.op == NodeOp::UserData {
                    self.user_data.as_base |= 1 << base.immediate;
                    (self.user_data_word(base.immediate), Some(base.immediate as u8))
                } else {
                    (self.value(low, depth)?, None)
                };
                let (high, offset) = (self.value(high, depth)?, self.value(offset, depth)?);
                let address =
                    load_address(low, high, offset, node.immediate).ok_or(EvaluateError::Overflow)?;
                self.read(id, GuestAddress(address), origin)
            }
            NodeOp::BufferLoad => {
                let mut x = [0; 4];
                for (value, operand) in x.iter_mut().zip(node.operands) {
                    *value = self.value(operand, depth)?;
                }
                match buffer_address([x[0], x[1], x[2]], x[3], node.immediate)? {
                    Some(address) => self.read(id, GuestAddress(address), None),
                    None => Ok(0),
                }
            }
            op => {
                let mut x = [0; 3];
                for (value, operand) in x.iter_mut().zip(node.used()) {
                    *value = self.value(*operand, depth)?;
                }
                Ok(op.apply(OneRow(x))?)
            }
        }
    }

    fn user_data_word(&self, number: u32) -> u32 {
        let word = self.inputs.user_data.get(number as usize);
        word.copied().unwrap_or_default()
    }

    fn read(&mut self, id: NodeId, address: GuestAddress, origin: Option<u8>) -> Result<u32, EvaluateError> {
        let word = self
            .inputs
            .memory
            .read_u32(address)
            .ok_or(EvaluateError::Inaccessible(address))?;
        let read = PlanRead {
            range: GuestRange::new(address, 4),
            origin,
            leaf: !self.plan.nodes[id.index()].feeds_address,
        };
        push_read(self.reads, 0, read);
        Ok(word)
    }
}

/// Operands of one row.
struct OneRow([u32; 3]);

impl Apply for OneRow {
    type Output = Result<u32, OutOfWord>;

    fn one(self, f: impl Fn(u32) -> u32) -> Self::Output {
        Ok(f(self.0[0]))
    }
    fn two(self, f: impl Fn(u32, u32) -> u32) -> Self::Output {
        Ok(f(self.0[0], self.0[1]))
    }
    fn checked(self, f: impl Fn(u32, u32, u32) -> Result<u32, OutOfWord>) -> Self::Output {
        f(self.0[0], self.0[1], self.0[2])
    }
    fn other(self) -> Self::Output {
        // Inputs, loads and selections are the walk's own.
        unreachable!()
    }
}
