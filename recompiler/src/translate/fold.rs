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

/// A binary32 as a binary16, toward zero.
fn half_toward_zero(bits: u32) -> u64 {
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    let half = match magnitude >> 23 {
        0xff if magnitude & 0x7f_ffff != 0 => 0x7e00,
        0xff => 0x7c00,
        143.. => 0x7bff,
        exponent @ 113..143 => (exponent - 112) << 10 | magnitude >> 13 & 0x3ff,
        // Denormal halves: units of 2^-24.
        exponent @ 103..113 => (magnitude & 0x7f_ffff | 0x80_0000) >> (126 - exponent),
        _ => 0,
    };
    u64::from(sign | half)
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
        // The halves of a lane count, put together again.
        Op::Add if inner(0, Op::Sub).is_some_and(|x| x[1] == operands[1]) => {
            return inner(0, Op::Sub).map(|x| Same(x[0]));
        }
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
            if offset == 0 && (count == 32 || count < 32 && greatest(f, operands[0], 0) < 1 << count) {
                return Some(Same(operands[0]));
            }
            // A field of words put together that is all of one of them.
            if count < 32 && c(0).is_none() {
                return field_part(f, operands[0], offset, count).map(Same);
            }
            (c(0)? >> offset) & ((1 << count) - 1)
        }
        Op::FieldS if c(1) == Some(0) && c(2) == Some(32) => return Some(Same(operands[0])),
        Op::FieldS => {
            let (offset, count) = (c(1)? as u32, c(2)? as u32);
            if count == 0 {
                return Some(Const(0));
            }
            if count > 32 || offset > 32 - count {
                return None;
            }
            let left = 32 - count - offset;
            let field = ((c(0)? as u32) << left).cast_signed() >> (32 - count);
            u64::from(field.cast_unsigned())
        }
        Op::PackHalfZero => half_toward_zero(c(0)? as u32) | half_toward_zero(c(1)? as u32) << 16,
        Op::BitCount => u64::from(c(0)?.count_ones()),
        Op::BitReverse => u64::from((c(0)? as u32).reverse_bits()),
        Op::Equal if operands[0] == operands[1] => 1,
        Op::NotEqual if operands[0] == operands[1] => 0,
        Op::Equal => u64::from(c(0)? == c(1)?),
        Op::NotEqual => {
            // A bool made a word and tested again.
            let word = match (c(0), c(1)) {
                (_, Some(0)) => Some(0),
                (Some(0), _) => Some(1),
                _ => None,
            };
            if let Some(x) = word.and_then(|word| inner(word, Op::Select))
                && f.constant(x[2]) == Some(0)
                && f.constant(x[1]).is_some_and(|one| one != 0)
            {
                return Some(Same(x[0]));
            }
            u64::from(c(0)? != c(1)?)
        }
        // What can only be less: a lane's number and a full wave's count of lanes.
        Op::LessU if ty_is_word(f, operands) => order(f, operands[0], operands[1], false)?,
        Op::LessEqualU if ty_is_word(f, operands) => order(f, operands[0], operands[1], true)?,
        Op::LessU => u64::from(c(0)? < c(1)?),
        Op::LessEqualU => u64::from(c(0)? <= c(1)?),
        Op::LessS if both_small(f, operands) => order(f, operands[0], operands[1], false)?,
        Op::LessEqualS if both_small(f, operands) => order(f, operands[0], operands[1], true)?,
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

fn ty_is_word(f: &Function, operands: &[Value]) -> bool {
    f.ty(operands[0]) == Type::U32
}

/// Whether both operands are words without a sign bit, so that signed and unsigned order agree.
fn both_small(f: &Function, operands: &[Value]) -> bool {
    let small = |value: Value| greatest(f, value, 0) <= i32::MAX as u64;
    ty_is_word(f, operands) && small(operands[0]) && small(operands[1])
}

/// `a < b` (or `a <= b`) of unsigned words, where their ranges decide it.
fn order(f: &Function, a: Value, b: Value, or_equal: bool) -> Option<u64> {
    let least = |value: Value| f.constant(value).unwrap_or(0);
    let greatest = |value: Value| greatest(f, value, 0);
    if a == b {
        return Some(u64::from(or_equal));
    }
    let (always, never) = if or_equal {
        (greatest(a) <= least(b), least(a) > greatest(b))
    } else {
        (greatest(a) < least(b), least(a) >= greatest(b))
    };
    if always { Some(1) } else { never.then_some(0) }
}

/// The value that is bits `offset..offset + count` of a word that shifts and unions made, where one is just that.
fn field_part(f: &Function, mut word: Value, offset: u64, count: u64) -> Option<Value> {
    for _ in 0..MAX_BOUND_DEPTH {
        let inst = f.inst(word);
        match inst.op {
            Op::Or => {
                let outside = |value: Value| {
                    let part = f.inst(value);
                    let above = part.op == Op::Shl
                        && f.constant(part.operands[1])
                            .is_some_and(|shift| (offset + count..32).contains(&shift));
                    above || greatest(f, value, 0) < 1 << offset
                };
                let [a, b] = [inst.operands[0], inst.operands[1]];
                word = match (outside(a), outside(b)) {
                    (true, false) => b,
                    (false, true) => a,
                    _ => return None,
                };
            }
            Op::Shl if f.constant(inst.operands[1]) == Some(offset) => {
                let part = inst.operands[0];
                return (greatest(f, part, 0) < 1 << count).then_some(part);
            }
            _ => return (offset == 0 && greatest(f, word, 0) < 1 << count).then_some(word),
        }
    }
    None
}

/// Operations that the walk for a bound follows; more are taken as anything.
const MAX_BOUND_DEPTH: u32 = 6;

/// The greatest number that a word can be, as far as its own computation tells.
fn greatest(f: &Function, value: Value, depth: u32) -> u64 {
    let any = u64::from(u32::MAX);
    if let Some(bits) = f.constant(value) {
        return bits;
    }
    if depth > MAX_BOUND_DEPTH {
        return any;
    }
    let inst = f.inst(value);
    let of = |index: usize| greatest(f, inst.operands[index], depth + 1);
    match inst.op {
        // The immediate is the wave's size.
        Op::LaneId if inst.immediate > 0 => inst.immediate - 1,
        Op::And | Op::MinU => of(0).min(of(1)),
        Op::Add => match of(0).saturating_add(of(1)) {
            sum if sum <= any => sum,
            _ => any,
        },
        // A lane's number less what of it lies below a limit.
        Op::Sub => {
            let cut = f.inst(inst.operands[1]);
            let limit = cut.operands.get(1).and_then(|&limit| f.constant(limit));
            match limit {
                Some(limit) if cut.op == Op::MinU && cut.operands[0] == inst.operands[0] => {
                    of(0).saturating_sub(limit)
                }
                _ => any,
            }
        }
        Op::BitCount => 32,
        // Devices have 16 samples at most.
        Op::SampleId => 15,
        Op::Select => of(1).max(of(2)),
        Op::FieldU => match f.constant(inst.operands[2]) {
            Some(count) if count < 32 => (1 << count) - 1,
            _ => any,
        },
        _ => any,
    }
}

#[cfg(test)]
mod tests {
    use super::half_toward_zero;

    #[test]
    fn halves_of_constants_go_toward_zero() {
        for (float, half) in [
            (0.0_f32, 0),
            (-1.0, 0xbc00),
            (65519.0, 0x7bff),
            (1e30, 0x7bff),
            (f32::NEG_INFINITY, 0xfc00),
            (0.999_999, 0x3bff),
            (6.2e-5, 0x0410),
            (6.0e-5, 0x03ee),
            (1.2e-7, 2),
            (5.9e-8, 0),
        ] {
            assert_eq!(half_toward_zero(float.to_bits()), half, "{float}");
        }
    }
}
