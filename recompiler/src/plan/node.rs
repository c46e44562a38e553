//! A plan's nodes: what they compute, in one table.

use serde::{Deserialize, Serialize};

/// Index of a node in its plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NodeId(pub u16);

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Most operands of a node.
pub const MOST_OPERANDS: usize = 4;

/// One node, in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Operands a, b, c, d; those that the operation does not have are 0.
    pub operands: [NodeId; MOST_OPERANDS],
    /// Immediate, by operation.
    pub immediate: u32,
    /// What it computes.
    pub op: NodeOp,
    /// An address of the plan depends on it; set by [`super::ResourcePlan::link`].
    pub feeds_address: bool,
}

impl Node {
    /// A node that no address depends on yet.
    ///
    /// # Panics
    /// When there are more than [`MOST_OPERANDS`] operands.
    #[must_use]
    pub fn new(op: NodeOp, operands: &[NodeId], immediate: u32) -> Self {
        let mut list = [NodeId(0); MOST_OPERANDS];
        list[..operands.len()].copy_from_slice(operands);
        Self {
            operands: list,
            immediate,
            op,
            feeds_address: false,
        }
    }

    /// The operands that the operation has.
    pub(crate) fn used(&self) -> &[NodeId] {
        &self.operands[..self.op.arity()]
    }
}

/// Why an operation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfWord {
    /// First bit.
    pub offset: u32,
    /// Number of bits.
    pub width: u32,
}

/// Runs an operation on operands, of one row or of many.
pub(crate) trait Apply {
    type Output;
    fn one(self, f: impl Fn(u32) -> u32) -> Self::Output;
    fn two(self, f: impl Fn(u32, u32) -> u32) -> Self::Output;
    /// An operation that has no result for some operands.
    fn checked(self, f: impl Fn(u32, u32, u32) -> Result<u32, OutOfWord>) -> Self::Output;
    /// What the table of operations does not hold: inputs, loads and selection.
    fn other(self) -> Self::Output;
}

/// The operations: name, number of operands, what it computes, and the function (kind, closure) for those that are
/// functions of their operands alone.
macro_rules! operations {
    ($($(#[$text:meta])* $name:ident $arity:literal $($kind:ident $function:expr)?;)*) => {
        /// What a node computes; every node is a 32-bit word.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum NodeOp {
            $($(#[$text])* $name,)*
        }

        impl NodeOp {
            /// Every operation; its place is its number in stored plans.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Number of operands.
            #[must_use]
            pub const fn arity(self) -> usize {
                match self {
                    $(Self::$name => $arity,)*
                }
            }

            /// Hands the operation's function to `apply`.
            #[inline(always)]
            pub(crate) fn apply<A: Apply>(self, apply: A) -> A::Output {
                match self {
                    $(Self::$name => operations!(@ apply $($kind $function)?),)*
                }
            }
        }
    };
    (@ $apply:ident) => { $apply.other() };
    (@ $apply:ident $kind:ident $function:expr) => { $apply.$kind($function) };
}

operations! {
    /// `immediate` itself.
    Const 0;
    /// User data register number `immediate`; registers that were not given read 0.
    UserData 0;
    /// Low half of the program's address.
    ShaderBaseLow 0;
    /// High half of the program's address.
    ShaderBaseHigh 0;
    /// The dword at ((b:a) & (2^48 - 1)) & !3, plus `immediate` (signed) and c (unsigned), each & !3.
    LoadAddress 3;
    /// The dword at byte offset `immediate` + d of the V# whose first three words are a, b, c; 0 past its end.
    BufferLoad 4;
    /// a != 0 ? b : c; only the chosen arm is walked.
    Select 3;
    /// a + b.
    Add 2 two |a, b| a.wrapping_add(b);
    /// a - b.
    Sub 2 two |a, b| a.wrapping_sub(b);
    /// a * b.
    Mul 2 two |a, b| a.wrapping_mul(b);
    /// High half of the unsigned product.
    MulHigh 2 two |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32;
    /// a & b.
    And 2 two |a, b| a & b;
    /// a | b.
    Or 2 two |a, b| a | b;
    /// a ^ b.
    Xor 2 two |a, b| a ^ b;
    /// !a.
    Not 1 one |a| !a;
    /// a << (b & 31).
    ShiftLeft 2 two |a, b| a << (b & 31);
    /// a >> (b & 31).
    ShiftRight 2 two |a, b| a >> (b & 31);
    /// a >> (b & 31), sign kept.
    ShiftRightSigned 2 two |a, b| (a.cast_signed() >> (b & 31)).cast_unsigned();
    /// c bits of a from bit b, zero extended; no result where b + c > 32.
    BitfieldUnsigned 3 checked bitfield;
    /// c bits of a from bit b, sign extended; no result where b + c > 32.
    BitfieldSigned 3 checked |a, offset, width| {
        let field = bitfield(a, offset, width)?;
        let unused = 32 - width.max(1);
        Ok(((field << unused).cast_signed() >> unused).cast_unsigned())
    };
    /// Smaller, unsigned.
    MinUnsigned 2 two |a, b| a.min(b);
    /// Larger, unsigned.
    MaxUnsigned 2 two |a, b| a.max(b);
    /// Smaller, signed.
    MinSigned 2 two |a, b| a.cast_signed().min(b.cast_signed()).cast_unsigned();
    /// Larger, signed.
    MaxSigned 2 two |a, b| a.cast_signed().max(b.cast_signed()).cast_unsigned();
    /// 1 when equal, else 0.
    Equal 2 two |a, b| u32::from(a == b);
    /// 1 when different, else 0.
    NotEqual 2 two |a, b| u32::from(a != b);
    /// 1 when a < b, unsigned.
    LessUnsigned 2 two |a, b| u32::from(a < b);
    /// 1 when a < b, signed.
    LessSigned 2 two |a, b| u32::from(a.cast_signed() < b.cast_signed());
}

impl NodeOp {
    /// Whether it reads guest memory.
    #[must_use]
    pub const fn loads(self) -> bool {
        matches!(self, Self::LoadAddress | Self::BufferLoad)
    }
}

fn bitfield(value: u32, offset: u32, width: u32) -> Result<u32, OutOfWord> {
    if offset.checked_add(width).is_none_or(|end| end > 32) {
        return Err(OutOfWord { offset, width });
    }
    // A field of no bits may begin behind the last one.
    Ok(value.checked_shr(offset).unwrap_or_default() & (1_u64 << width).wrapping_sub(1) as u32)
}
