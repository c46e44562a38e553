//! Walks a plan before a draw. This is the definition of what a plan means; faster forms must agree with it.

use super::node::{NodeId, NodeOp};
use super::{DescriptorKind, ResourcePlan};
use relic_core::{GuestAddress, GuestRange};
use thiserror::Error;

/// Nested operands the walk follows before it gives up; bounds the stack.
const MAX_DEPTH: u32 = 512;
/// Guest virtual addresses have 48 bits.
const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// Guest memory as a walk sees it.
pub trait PlanMemory {
    /// The dword at a multiple of 4, or `None` where nothing is mapped.
    fn read_u32(&self, address: GuestAddress) -> Option<u32>;
}

/// What a draw gives the walk.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// User data words; those beyond the end read 0.
    pub user_data: &'a [u32],
    /// Address of the program's first word.
    pub shader_base: GuestAddress,
    /// Guest memory.
    pub memory: &'a dyn PlanMemory,
}

/// What a walk found. Reused between calls: buffers keep their capacity.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// Words of all descriptors, one after the other: 4 or 8 each.
    pub words: Vec<u32>,
    /// The flat block as the program expects it: values, then packed residuals.
    pub flat: Vec<u32>,
    /// Guest memory that the result depends on, in the order it was read.
    pub reads: Vec<GuestRange>,
    starts: Vec<u32>,
    memo: Vec<u32>,
    known: Vec<bool>,
}

impl Evaluation {
    /// The words of plan descriptor `index`; empty where there is no such descriptor.
    #[must_use]
    pub fn descriptor(&self, index: usize) -> &[u32] {
        let (Some(start), Some(end)) = (self.starts.get(index), self.starts.get(index + 1)) else {
            return &[];
        };
        &self.words[*start as usize..*end as usize]
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

/// Computes all descriptors' words and flat words of `plan`.
///
/// # Errors
/// A read of unmapped memory, an address overflow or a bit field out of range; `out` is then unspecified.
pub fn evaluate(plan: &ResourcePlan, inputs: &Inputs<'_>, out: &mut Evaluation) -> Result<(), EvaluateError> {
    out.words.clear();
    out.flat.clear();
    out.reads.clear();
    out.starts.clear();
    out.memo.clear();
    out.memo.resize(plan.nodes.len(), 0);
    out.known.clear();
    out.known.resize(plan.nodes.len(), false);
    let mut walk = Walk {
        plan,
        inputs,
        memo: &mut out.memo,
        known: &mut out.known,
        reads: &mut out.reads,
    };
    let mut residuals = 0;
    for &id in &plan.flat {
        out.flat.push(walk.value(id, 0)?);
    }
    let values = out.flat.len();
    for descriptor in &plan.descriptors {
        let start = out.words.len();
        out.starts.push(start as u32);
        for &id in &descriptor.words {
            out.words.push(walk.value(id, 0)?);
        }
        if descriptor.kind == DescriptorKind::Buffer {
            if residuals % 4 == 0 {
                out.flat.push(0);
            }
            let residual = out.words[start] & (plan.alignment.max(1) - 1) & 0xff;
            out.flat[values + residuals / 4] |= residual << (8 * (residuals % 4));
            residuals += 1;
        }
    }
    out.starts.push(out.words.len() as u32);
    Ok(())
}

struct Walk<'a> {
    plan: &'a ResourcePlan,
    inputs: &'a Inputs<'a>,
    memo: &'a mut [u32],
    known: &'a mut [bool],
    reads: &'a mut Vec<GuestRange>,
}

impl Walk<'_> {
    fn value(&mut self, id: NodeId, depth: u32) -> Result<u32, EvaluateError> {
        let index = id.0 as usize;
        if self.known[index] {
            return Ok(self.memo[index]);
        }
        if depth > MAX_DEPTH {
            return Err(EvaluateError::TooDeep);
        }
        let value = self.compute(id, depth + 1)?;
        self.memo[index] = value;
        self.known[index] = true;
        Ok(value)
    }

    fn compute(&mut self, id: NodeId, depth: u32) -> Result<u32, EvaluateError> {
        let node = self.plan.nodes[id.0 as usize];
        let [a, b, c, ..] = node.operands;
        if node.op == NodeOp::Select {
            let arm = if self.value(a, depth)? != 0 { b } else { c };
            return self.value(arm, depth);
        }
        let mut x = [0_u32; 5];
        for (slot, operand) in x.iter_mut().zip(node.operands).take(node.op.arity()) {
            *slot = self.value(operand, depth)?;
        }
        let [a, b, c, ..] = x;
        Ok(match node.op {
            NodeOp::Const => node.immediate,
            NodeOp::UserData => self
                .inputs
                .user_data
                .get(node.immediate as usize)
                .copied()
                .unwrap_or_default(),
            NodeOp::ShaderBaseLow => self.inputs.shader_base.0 as u32,
            NodeOp::ShaderBaseHigh => (self.inputs.shader_base.0 >> 32) as u32,
            NodeOp::LoadAddress => {
                let base = (u64::from(b) << 32 | u64::from(a)) & ADDRESS_MASK;
                // The immediate is a signed 21-bit field, so it may step back from the base.
                let address = (base & !3)
                    .checked_add_signed(i64::from(node.immediate.cast_signed() & !3))
                    .and_then(|sum| sum.checked_add(u64::from(c & !3)))
                    .ok_or(EvaluateError::Overflow)?;
                self.read(GuestAddress(address))?
            }
            NodeOp::BufferLoad => {
                let stride = (b >> 16) & 0x3fff;
                let extent = u64::from(stride.max(1)) * u64::from(c);
                let offset = (u64::from(node.immediate) + u64::from(x[4])) & !3;
                if offset + 4 > extent {
                    return Ok(0);
                }
                let base = (u64::from(b & 0xffff) << 32 | u64::from(a)) & !3;
                self.read(GuestAddress(
                    base.checked_add(offset).ok_or(EvaluateError::Overflow)?,
                ))?
            }
            NodeOp::Add => a.wrapping_add(b),
            NodeOp::Sub => a.wrapping_sub(b),
            NodeOp::Mul => a.wrapping_mul(b),
            NodeOp::MulHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            NodeOp::And => a & b,
            NodeOp::Or => a | b,
            NodeOp::Xor => a ^ b,
            NodeOp::Not => !a,
            NodeOp::ShiftLeft => a << (b & 31),
            NodeOp::ShiftRight => a >> (b & 31),
            NodeOp::ShiftRightSigned => (a.cast_signed() >> (b & 31)).cast_unsigned(),
            NodeOp::BitfieldUnsigned => bitfield(a, b, c)?,
            NodeOp::BitfieldSigned => {
                let field = bitfield(a, b, c)?;
                if c == 0 {
                    0
                } else {
                    ((field << (32 - c)).cast_signed() >> (32 - c)).cast_unsigned()
                }
            }
            NodeOp::MinUnsigned => a.min(b),
            NodeOp::MaxUnsigned => a.max(b),
            NodeOp::MinSigned => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
            NodeOp::MaxSigned => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
            NodeOp::Equal => u32::from(a == b),
            NodeOp::NotEqual => u32::from(a != b),
            NodeOp::LessUnsigned => u32::from(a < b),
            NodeOp::LessSigned => u32::from(a.cast_signed() < b.cast_signed()),
            NodeOp::Select => 0,
        })
    }

    fn read(&mut self, address: GuestAddress) -> Result<u32, EvaluateError> {
        let word = self
            .inputs
            .memory
            .read_u32(address)
            .ok_or(EvaluateError::Inaccessible(address))?;
        // Descriptors are read word by word from one place: one range for each run keeps the list short.
        match self.reads.last_mut() {
            Some(last) if last.end() == address => *last = GuestRange::new(last.start(), last.size() + 4),
            _ => self.reads.push(GuestRange::new(address, 4)),
        }
        Ok(word)
    }
}

fn bitfield(value: u32, offset: u32, width: u32) -> Result<u32, EvaluateError> {
    if offset.checked_add(width).is_none_or(|end| end > 32) {
        return Err(EvaluateError::BitfieldRange { offset, width });
    }
    if width == 0 {
        return Ok(0);
    }
    Ok(value >> offset & (u32::MAX >> (32 - width)))
}
