//! Whether a result is the model's.

use super::assemble::Long;
use super::run::{In, Instance, Near};
use super::values::{self, Kind};

fn apply_signs(kind: Kind, bits: u64, negate: bool, absolute: bool) -> u64 {
    let sign = match kind {
        Kind::F16 => 1 << 15,
        Kind::F32 => 1 << 31,
        Kind::F64 => 1 << 63,
        Kind::PF16 => 0x8000_8000,
        _ => return bits,
    };
    let bits = if absolute { bits & !sign } else { bits };
    if negate { bits ^ sign } else { bits }
}

fn scale(kind: Kind, bits: u64, long: Long) -> u64 {
    let factor = [1.0, 2.0, 4.0, 0.5][long.output as usize];
    let change = |value: f64| {
        let value = value * factor;
        match long.clamp {
            true if value.is_nan() => 0.0,
            true => value.clamp(0.0, 1.0),
            false => value,
        }
    };
    if long.output == 0 && !long.clamp {
        return bits;
    }
    match kind {
        Kind::F16 => values::to_f16(change(f64::from(values::f16(bits)))),
        Kind::F32 => u64::from((change(f64::from(values::f32(bits))) as f32).to_bits()),
        Kind::F64 => change(values::f64(bits)).to_bits(),
        Kind::PF16 => {
            let half = |bits| values::to_f16(change(f64::from(values::f16(bits))));
            half(bits & 0xffff) | half(bits >> 16) << 16
        }
        _ => bits,
    }
}

/// Zero in place of a denormal number of 32 or 64 bits.
fn flush(kind: Kind, bits: u64) -> u64 {
    match kind {
        Kind::F32 if bits & 0x7f80_0000 == 0 => bits & 0x8000_0000,
        Kind::F64 if bits & 0x7ff0_0000_0000_0000 == 0 => bits & 1 << 63,
        _ => bits,
    }
}

fn same(kind: Kind, expected: u64, actual: u64, near: Near, zeros: bool) -> bool {
    let (x, y, sign, mask) = match kind {
        Kind::F16 => (
            f64::from(values::f16(expected)),
            f64::from(values::f16(actual)),
            1_u64 << 15,
            0xffff_u64,
        ),
        Kind::F32 => (
            f64::from(values::f32(expected)),
            f64::from(values::f32(actual)),
            1 << 31,
            0xffff_ffff,
        ),
        Kind::F64 => (values::f64(expected), values::f64(actual), 1 << 63, u64::MAX),
        Kind::PF16 => {
            return same(Kind::F16, expected & 0xffff, actual & 0xffff, near, zeros)
                && same(
                    Kind::F16,
                    expected >> 16 & 0xffff,
                    actual >> 16 & 0xffff,
                    near,
                    zeros,
                );
        }
        Kind::H => return same(Kind::P16, expected & 0xffff, actual & 0xffff, near, zeros),
        Kind::P16 => {
            let near = match near {
                Near::Ulp(units) => units,
                _ => 0,
            };
            return [0, 16].into_iter().all(|at| {
                let [x, y] = [expected, actual].map(|bits| i64::from(((bits >> at) as u16).cast_signed()));
                // As signed or as unsigned numbers.
                x.abs_diff(y).min((x & 0xffff).abs_diff(y & 0xffff)) <= near
            });
        }
        Kind::W | Kind::Carry => return (expected ^ actual) & 0xffff_ffff == 0,
        Kind::D => return expected == actual,
    };
    let (expected, actual) = (expected & mask, actual & mask);
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    if expected == actual || zeros && x == 0.0 && y == 0.0 {
        return true;
    }
    match near {
        Near::Exact => false,
        Near::Ulp(ulps) => {
            let order = |bits: u64| {
                let magnitude = (bits & !sign).cast_signed();
                if bits & sign == 0 { magnitude } else { -magnitude }
            };
            order(expected).abs_diff(order(actual)) <= ulps
        }
        Near::Relative(limit) => (x - y).abs() <= limit * x.abs().max(1.0),
    }
}

/// Infinite or denormal halves, which scaling before rounding would make others.
fn is_extreme(half: u64) -> bool {
    matches!(half >> 10 & 31, 0 | 30 | 31)
}

/// Bits of a result that the instruction writes; the others keep the old value.
fn merged(kind: Kind, result: u64, old: u64) -> u64 {
    match kind {
        Kind::H | Kind::F16 => (old & !0xffff) | (result & 0xffff),
        Kind::D | Kind::F64 => result,
        _ => (old & !0xffff_ffff) | (result & 0xffff_ffff),
    }
}

pub fn judge(instance: &Instance<'_>, case: [u64; 4], words: &[u32]) -> Option<String> {
    let (row, long) = (instance.row, instance.long);
    let kinds = row.kinds();
    let narrow = |kind: Kind, bits: u64| if kind.is_wide() { bits } else { bits & 0xffff_ffff };
    let prepared = |flushed: bool| {
        let mut x = [case[0], case[1], case[2]];
        for (index, slot) in x.iter_mut().enumerate() {
            *slot = narrow(kinds[index], *slot);
            *slot = apply_signs(
                kinds[index],
                *slot,
                long.negate >> index & 1 != 0,
                long.absolute >> index & 1 != 0,
            );
            if flushed {
                *slot = flush(kinds[index], *slot);
            }
        }
        let d = if flushed {
            flush(row.dst, narrow(row.dst, case[3]))
        } else {
            case[3]
        };
        In {
            a: x[0],
            b: x[1],
            c: x[2],
            d,
            carry: case[2] & 1 != 0,
            clamp: long.clamp,
        }
    };
    if row.skip.is_some_and(|skip| skip(prepared(false))) {
        return None;
    }
    let actual = u64::from(words[0]) | u64::from(words[1]) << 32;
    let mut first = None;
    for model in std::iter::once(row.model).chain(row.or) {
        for flushed in [false, true] {
            let (unscaled, mask) = model(prepared(flushed));
            let result = scale(row.dst, unscaled, long);
            // A half that is scaled may be rounded once or twice.
            let near = match row.dst {
                Kind::F16 if long.output != 0 && is_extreme(unscaled) => Near::Relative(f64::INFINITY),
                Kind::F16 if long.output != 0 && row.near == Near::Ulp(1) => Near::Ulp(4),
                Kind::F16 if long.output != 0 && row.near == Near::Exact => Near::Ulp(1),
                _ => row.near,
            };
            for result in [result, flush(row.dst, result)] {
                let expected = merged(row.dst, result, case[3]);
                let kept = match row.dst {
                    Kind::H | Kind::F16 => (expected ^ actual) >> 16 == 0,
                    Kind::D | Kind::F64 => true,
                    _ => (expected ^ actual) >> 32 == 0,
                };
                let right = mask.is_none_or(|mask| u32::from(mask) == words[2]);
                let zeros = row.zeros || long.clamp;
                if kept && right && same(row.dst, expected, actual, near, zeros) {
                    return None;
                }
                first.get_or_insert((expected, mask));
            }
        }
    }
    let (expected, mask) = first?;
    Some(format!(
        "{}: ({:x}, {:x}, {:x}; {:x}) gives {actual:x} {}, not {expected:x} {mask:?}",
        instance.text, case[0], case[1], case[2], case[3], words[2]
    ))
}
