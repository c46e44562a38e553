//! A plan's nodes.

/// Index of a node in its plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// What a node computes; every node is a 32-bit word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NodeOp {
    /// `immediate` itself.
    Const,
    /// User data register number `immediate`; registers that were not given read 0.
    UserData,
    /// Low half of the program's address.
    ShaderBaseLow,
    /// High half of the program's address.
    ShaderBaseHigh,
    /// The dword at ((b:a) & (2^48 - 1)) & !3, plus `immediate` and c, each & !3.
    LoadAddress,
    /// The dword at byte offset `immediate` + e of the V# in operands a, b, c, d; 0 past its end.
    BufferLoad,
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a * b.
    Mul,
    /// High half of the unsigned product.
    MulHigh,
    /// a & b.
    And,
    /// a | b.
    Or,
    /// a ^ b.
    Xor,
    /// !a.
    Not,
    /// a << (b & 31).
    ShiftLeft,
    /// a >> (b & 31).
    ShiftRight,
    /// a >> (b & 31), sign kept.
    ShiftRightSigned,
    /// c bits of a from bit b, zero extended.
    BitfieldUnsigned,
    /// c bits of a from bit b, sign extended.
    BitfieldSigned,
    /// Smaller, unsigned.
    MinUnsigned,
    /// Larger, unsigned.
    MaxUnsigned,
    /// Smaller, signed.
    MinSigned,
    /// Larger, signed.
    MaxSigned,
    /// 1 when equal, else 0.
    Equal,
    /// 1 when different, else 0.
    NotEqual,
    /// 1 when a < b, unsigned.
    LessUnsigned,
    /// 1 when a < b, signed.
    LessSigned,
    /// a != 0 ? b : c; only the chosen arm is walked.
    Select,
}

/// One node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// What it computes.
    pub op: NodeOp,
    /// Operands a, b, c, d, e; those the operation has none of are 0.
    pub operands: [NodeId; 5],
    /// Immediate, by operation.
    pub immediate: u32,
}

impl NodeOp {
    /// Number of operands.
    #[must_use]
    pub const fn arity(self) -> usize {
        match self {
            Self::Const | Self::UserData | Self::ShaderBaseLow | Self::ShaderBaseHigh => 0,
            Self::Not => 1,
            Self::LoadAddress | Self::BitfieldUnsigned | Self::BitfieldSigned | Self::Select => 3,
            Self::BufferLoad => 5,
            _ => 2,
        }
    }
}
