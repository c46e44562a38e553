//! Simplification while values are made: constants, identities and inverse pairs.

use crate::ir::{Function, Op, Type, Value};

/// What an operation turned out to be.
pub(crate) enum Folded {
    Value(Value),
    Const(u64),
}

fn mask(ty: Type) -> u64 {
    match ty {
        Type::Bool => 1,
        Type::U32 | Type::F32 => 0xffff_ffff,
        _ => u64::MAX,
    }
}

/// The simpler form of `op(operands)`, if there is one.
pub(crate) fn fold(f: &Function, op: Op, ty: Type, operands: &[Value], immediate: u64) -> Option<Folded> {
    use Folded::{Const, Value as Same};
    let c = |index: usize| operands.get(index).and_then(|&value| f.constant(value));
    let inner = |index: usize, inner: Op| {
        let inst = f.inst(operands[index]);
        (inst.op == inner).then(|| inst.operands.clone())
    };
    let all = mask(ty);
    let result = match op {
        Op::Select => {
            if let Some(condition) = c(0) {
                return Some(Same(operands[if condition != 0 { 1 } else { 2 }]));
            }
            if operands[1] == operands[2]
                || matches!(
                    f.inst(operands[2]).op,
                    Op::Undef | Op::Barycentric | Op::InterpolateP1
                )
            {
                return Some(Same(operands[1]));
            }
            if f.inst(operands[1]).op == Op::Undef {
                return Some(Same(operands[2]));
            }
            if ty == Type::Bool && c(1) == Some(1) && c(2) == Some(0) {
                return Some(Same(operands[0]));
            }
            return None;
        }
        Op::BitcastF32 | Op::BitcastU32 | Op::BitcastF64 | Op::BitcastU64 => {
            if let Some(bits) = c(0) {
                return Some(Const(bits));
            }
            let back = match op {
                Op::BitcastF32 => Op::BitcastU32,
                Op::BitcastU32 => Op::BitcastF32,
                Op::BitcastF64 => Op::BitcastU64,
                _ => Op::BitcastF64,
            };
            return inner(0, back).map(|x| Same(x[0]));
        }
        Op::Pack64 => {
            if let (Some(low), Some(high)) = (c(0), c(1)) {
                return Some(Const(high << 32 | low));
            }
            let (low, high) = (inner(0, Op::Low64)?, inner(1, Op::High64)?);
            return (low == high).then(|| Same(low[0]));
        }
        Op::Low64 => match c(0) {
            Some(x) => x & 0xffff_ffff,
            None => match f.inst(operands[0]).op {
                Op::Pack64 | Op::ZeroExtend | Op::SignExtend => {
                    return Some(Same(f.inst(operands[0]).operands[0]));
                }
                _ => return None,
            },
        },
        Op::High64 => match c(0) {
            Some(x) => x >> 32,
            None => match f.inst(operands[0]).op {
                Op::Pack64 => return Some(Same(f.inst(operands[0]).operands[1])),
                Op::ZeroExtend => 0,
                _ => return None,
            },
        },
        Op::ZeroExtend => c(0)?,
        Op::SignExtend => i64::from((c(0)? as u32).cast_signed()).cast_unsigned(),
        Op::Add | Op::Or | Op::Xor if c(1) == Some(0) => return Some(Same(operands[0])),
        Op::Add | Op::Or | Op::Xor if c(0) == Some(0) => return Some(Same(operands[1])),
        Op::Sub | Op::Shl | Op::Shr | Op::Sar if c(1) == Some(0) => return Some(Same(operands[0])),
        Op::Mul if c(1) == Some(1) => return Some(Same(operands[0])),
        Op::Mul if c(0) == Some(1) => return Some(Same(operands[1])),
        Op::And | Op::Mul if c(0) == Some(0) || c(1) == Some(0) => 0,
        Op::And if c(1) == Some(all) => return Some(Same(operands[0])),
        Op::And if c(0) == Some(all) => return Some(Same(operands[1])),
        Op::And | Op::Or if operands[0] == operands[1] => return Some(Same(operands[0])),
        Op::Not => match c(0) {
            Some(x) => !x & all,
            None => return inner(0, Op::Not).map(|x| Same(x[0])),
        },
        Op::Add => c(0)?.wrapping_add(c(1)?) & all,
        Op::Sub => c(0)?.wrapping_sub(c(1)?) & all,
        Op::Mul => c(0)?.wrapping_mul(c(1)?) & all,
        Op::And => c(0)? & c(1)?,
        Op::Or => c(0)? | c(1)?,
        Op::Xor => c(0)? ^ c(1)?,
        Op::Shl if ty == Type::U32 => (c(0)? << (c(1)? & 31)) & all,
        Op::Shr if ty == Type::U32 => c(0)? >> (c(1)? & 31),
        Op::Sar if ty == Type::U32 => {
            u64::from(((c(0)? as u32).cast_signed() >> (c(1)? & 31)).cast_unsigned())
        }
        Op::Shl => c(0)? << (c(1)? & 63),
        Op::Shr => c(0)? >> (c(1)? & 63),
        Op::MulHighU => c(0)?.wrapping_mul(c(1)?) >> 32,
        Op::MinU => c(0)?.min(c(1)?),
        Op::MaxU => c(0)?.max(c(1)?),
        Op::FieldU => {
            let (offset, count) = (c(1)?, c(2)?);
            if count == 0 {
                return Some(Const(0));
            }
            if offset == 0 && count == 32 {
                return Some(Same(operands[0]));
            }
            (c(0)? >> offset) & ((1 << count) - 1)
        }
        Op::FieldS if c(1) == Some(0) && c(2) == Some(32) => return Some(Same(operands[0])),
        Op::BitCount => u64::from(c(0)?.count_ones()),
        Op::BitReverse => u64::from((c(0)? as u32).reverse_bits()),
        Op::Equal if operands[0] == operands[1] => 1,
        Op::NotEqual if operands[0] == operands[1] => 0,
        Op::Equal => u64::from(c(0)? == c(1)?),
        Op::NotEqual => {
            // A bool made a word and tested again.
            if c(1) == Some(0)
                && let Some(x) = inner(0, Op::Select)
                && f.constant(x[2]) == Some(0)
                && f.constant(x[1]).is_some_and(|one| one != 0)
            {
                return Some(Same(x[0]));
            }
            u64::from(c(0)? != c(1)?)
        }
        Op::LessU => u64::from(c(0)? < c(1)?),
        Op::LessEqualU => u64::from(c(0)? <= c(1)?),
        Op::LessS if f.ty(operands[0]) == Type::U32 => {
            u64::from((c(0)? as u32).cast_signed() < (c(1)? as u32).cast_signed())
        }
        Op::LessEqualS if f.ty(operands[0]) == Type::U32 => {
            u64::from((c(0)? as u32).cast_signed() <= (c(1)? as u32).cast_signed())
        }
        Op::LAnd if c(0) == Some(0) || c(1) == Some(0) => 0,
        Op::LAnd if c(0) == Some(1) || operands[0] == operands[1] => return Some(Same(operands[1])),
        Op::LAnd if c(1) == Some(1) => return Some(Same(operands[0])),
        Op::LOr if c(0) == Some(1) || c(1) == Some(1) => 1,
        Op::LOr if c(0) == Some(0) || operands[0] == operands[1] => return Some(Same(operands[1])),
        Op::LOr if c(1) == Some(0) => return Some(Same(operands[0])),
        Op::LXor if c(1) == Some(0) => return Some(Same(operands[0])),
        Op::LXor if c(0) == Some(0) => return Some(Same(operands[1])),
        Op::LXor => c(0)? ^ c(1)?,
        Op::LNot => match c(0) {
            Some(x) => x ^ 1,
            None => return inner(0, Op::LNot).map(|x| Same(x[0])),
        },
        // The number of a mask that is the same in all lanes, and back.
        Op::BallotLow | Op::BallotHigh if c(0) == Some(0) => 0,
        // Of the lanes that took a branch, not of all.
        Op::BallotLow if f.inst(operands[0]).op == Op::Active => return None,
        Op::BallotLow if c(0) == Some(1) => 0xffff_ffff,
        Op::BallotHigh if immediate == 64 && c(0) == Some(1) && f.inst(operands[0]).op == Op::Const => {
            0xffff_ffff
        }
        Op::BallotHigh if immediate == 32 => 0,
        Op::InverseBallot => {
            if let (Some(low), Some(high)) = (c(0), c(1)) {
                return match (low, high) {
                    (0, 0) => Some(Const(0)),
                    (0xffff_ffff, 0xffff_ffff) => Some(Const(1)),
                    (0xffff_ffff, _) if immediate == 32 => Some(Const(1)),
                    _ => None,
                };
            }
            let low = inner(0, Op::BallotLow)?;
            if immediate == 32 {
                return Some(Same(low[0]));
            }
            return inner(1, Op::BallotHigh)
                .filter(|high| *high == low)
                .map(|x| Same(x[0]));
        }
        Op::AnyLane => c(0)?,
        Op::FNeg => match c(0) {
            Some(x) if ty == Type::F32 => x ^ 0x8000_0000,
            _ => return inner(0, Op::FNeg).map(|x| Same(x[0])),
        },
        Op::FAbs => match c(0) {
            Some(x) if ty == Type::F32 => x & 0x7fff_ffff,
            _ => return None,
        },
        Op::U32ToF32 => u64::from((c(0)? as u32 as f32).to_bits()),
        Op::S32ToF32 => u64::from(((c(0)? as u32).cast_signed() as f32).to_bits()),
        _ => return None,
    };
    Some(Const(result & all))
}
