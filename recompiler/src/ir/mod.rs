//! The intermediate representation: one lane's view of a program, in static single assignment form.
//!
//! * Values live in one arena and are named by dense [`Value`] ids. Blocks list the values computed in them, in order;
//!   phis come first. Constants and inputs are values like any other and stand in the entry block.
//! * Registers are gone: a VGPR is a 32-bit word, an SGPR a 32-bit word that is equal in all lanes, EXEC, VCC and other
//!   lane masks are one bool per lane. A mask read as a number is a ballot; a number read as a mask is an inverse
//!   ballot.
//! * Every value has a [`Type`]. Words are unsigned; operations that care about the sign say so in their name.
//! * Memory operations keep their static part (offsets, formats, dimensions) in a side table, [`Function::accesses`].
//! * Control flow is structured already: each block carries SPIR-V's merge information.

pub(crate) mod dominance;
pub(crate) mod op;
pub(crate) mod print;
pub(crate) mod verify;

pub(crate) use op::{Effect, Op, Type};

use crate::binary::Dialect;
use crate::cfg::structured::{Merge, StructuredId};
use crate::decode::decode;
use crate::plan::ImageDim;
use crate::refusal::ProgramCounter;
use smallvec::SmallVec;

/// A value's id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Value(pub u32);

/// Operands of a value.
pub(crate) type Operands = SmallVec<[Value; 4]>;

/// One operation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Inst {
    pub op: Op,
    pub ty: Type,
    pub operands: Operands,
    /// Constant bits, register or component number, or index into [`Function::accesses`], by operation.
    pub immediate: u64,
}

/// How a block of IR ends.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Terminator {
    Return,
    Unreachable,
    Jump(StructuredId),
    Branch {
        condition: Value,
        yes: StructuredId,
        no: StructuredId,
    },
    Switch {
        selector: Value,
        cases: Vec<StructuredId>,
        default: StructuredId,
    },
}

/// A basic block.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct IrBlock {
    pub insts: Vec<Value>,
    /// In the order of phi operands.
    pub predecessors: Vec<StructuredId>,
    pub terminator: Terminator,
    pub merge: Merge,
}

/// The kind of memory operation an access stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum BufferWidth {
    /// 8 bits in the low byte.
    Byte,
    /// 16 bits in the low half.
    Short,
    Dword,
}

/// Atomic operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Atomic {
    Swap,
    CompareSwap,
    Add,
    Sub,
    SMin,
    UMin,
    SMax,
    UMax,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    /// The data less what is there.
    ReverseSub,
    /// The comparand's bits become the data's.
    Insert,
    /// The data less where it fits, the comparand more where not.
    Wrap,
    FAdd,
    /// What is there stays where it is no number.
    FMin,
    FMax,
    /// The comparison is of floats.
    FCompareSwap,
}

impl Atomic {
    /// Whether SPIR-V has it; others become loops of comparing exchanges.
    pub fn is_native(self) -> bool {
        !matches!(
            self,
            Self::Inc
                | Self::Dec
                | Self::ReverseSub
                | Self::Insert
                | Self::Wrap
                | Self::FAdd
                | Self::FMin
                | Self::FMax
                | Self::FCompareSwap
        )
    }

    /// Whether it takes a comparand beside its data.
    pub fn compares(self) -> bool {
        matches!(self, Self::CompareSwap | Self::FCompareSwap)
    }
}

/// How an image sample picks its level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Level {
    Implicit,
    Bias,
    Explicit,
    Zero,
    Gradient,
}

/// What an image operation does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ImageOp {
    Sample {
        level: Level,
        compare: bool,
        offset: bool,
        gather: bool,
    },
    Load {
        mip: bool,
    },
    Store {
        mip: bool,
    },
    Atomic(Atomic),
    Size,
    QueryLod,
}

/// The words of an instruction, for its text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Encoded {
    pub words: [u32; 5],
    pub dialect: Dialect,
}

impl Encoded {
    /// As the assembler prints it.
    pub fn text(&self) -> String {
        match decode(&self.words, ProgramCounter(0), self.dialect) {
            Ok(instruction) => instruction.to_string(),
            Err(_) => format!("{:08x}", self.words[0]),
        }
    }
}

/// The static part of a memory, image, export or interpolation operation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Access {
    pub program_counter: ProgramCounter,
    pub encoded: Encoded,
    pub kind: AccessKind,
    /// Plan descriptors, once the resources are known: buffer or image, then sampler.
    pub descriptors: SmallVec<[u32; 2]>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum AccessKind {
    Buffer {
        width: BufferWidth,
        /// The second operand after the descriptor is an index.
        indexed: bool,
        /// Components of formatted accesses, and MTBUF's own format.
        formatted: Option<Option<u8>>,
        components: u8,
        /// Formatted components are 16 bits wide.
        d16: bool,
        atomic: Option<Atomic>,
    },
    ScalarBuffer,
    ScalarAddress,
    /// Through a guest pointer.
    Pointer {
        width: BufferWidth,
        atomic: Option<Atomic>,
    },
    Image {
        op: ImageOp,
        dim: ImageDim,
        dmask: u8,
        unnormalised: bool,
    },
    Export {
        target: u8,
        mask: u8,
        compressed: bool,
    },
}

/// A program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub insts: Vec<Inst>,
    pub blocks: Vec<IrBlock>,
    pub accesses: Vec<Access>,
}

impl Function {
    pub fn inst(&self, value: Value) -> &Inst {
        &self.insts[value.0 as usize]
    }

    /// What stands in blocks, in their order.
    pub fn placed(&self) -> impl Iterator<Item = &Inst> {
        let values = self.blocks.iter().flat_map(|block| &block.insts);
        values.map(|value| self.inst(*value))
    }

    pub fn ty(&self, value: Value) -> Type {
        self.inst(value).ty
    }

    pub fn constant(&self, value: Value) -> Option<u64> {
        let inst = self.inst(value);
        match inst.op {
            Op::Const => Some(inst.immediate),
            Op::Active => Some(1),
            _ => None,
        }
    }

    /// Whether a mask is set in every lane of the wave, not only in those that came here.
    pub fn is_all_lanes(&self, mask: Value) -> bool {
        let inst = self.inst(mask);
        inst.op == Op::Const && inst.immediate == 1
    }

    /// Appends a value to the arena; the caller places it in a block.
    pub fn add(&mut self, inst: Inst) -> Value {
        self.insts.push(inst);
        Value(self.insts.len() as u32 - 1)
    }

    pub fn successors(&self, block: StructuredId) -> SmallVec<[StructuredId; 2]> {
        match &self.blocks[block.0 as usize].terminator {
            Terminator::Return | Terminator::Unreachable => SmallVec::new(),
            Terminator::Jump(to) => [*to].into_iter().collect(),
            Terminator::Branch { yes, no, .. } => [*yes, *no].into_iter().collect(),
            Terminator::Switch { cases, default, .. } => {
                let mut list: SmallVec<[StructuredId; 2]> = cases.iter().copied().collect();
                if !list.contains(default) {
                    list.push(*default);
                }
                list
            }
        }
    }

    pub fn terminator_operand(&self, block: usize) -> Option<Value> {
        match &self.blocks[block].terminator {
            Terminator::Branch { condition, .. } => Some(*condition),
            Terminator::Switch { selector, .. } => Some(*selector),
            _ => None,
        }
    }
}
