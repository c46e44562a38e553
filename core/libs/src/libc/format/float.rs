//! Floating-point conversions.

use super::{decimal::Decimal, number, padded, spec::Spec};
use crate::libc::variadic::Extended;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Nan,
    Infinite,
    Finite,
}

/// A `double` or `long double`: `significand * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    negative: bool,
    class: Class,
    significand: u64,
    exponent: i32,
    /// Bits of the significand behind the first hexadecimal digit of `%a`.
    hexadecimal_bits: u32,
}

impl Value {
    pub(super) fn of_double(value: f64) -> Self {
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let biased = (bits >> 52 & 0x7ff) as i32;
        let (class, significand, exponent) = match biased {
            0x7ff if fraction == 0 => (Class::Infinite, 0, 0),
            0x7ff => (Class::Nan, 0, 0),
            0 => (Class::Finite, fraction, -1074),
            _ => (Class::Finite, fraction | 1 << 52, biased - 1075),
        };
        Self {
            negative: bits >> 63 != 0,
            class,
            significand,
            exponent,
            hexadecimal_bits: 52,
        }
    }

    pub(super) fn of_extended(value: Extended) -> Self {
        let biased = i32::from(value.sign_exponent & 0x7fff);
        let (class, significand, exponent) = match biased {
            0x7fff if value.significand << 1 == 0 => (Class::Infinite, 0, 0),
            0x7fff => (Class::Nan, 0, 0),
            _ => (Class::Finite, value.significand, biased.max(1) - 16446),
        };
        Self {
            negative: value.sign_exponent >> 15 != 0,
            class,
            significand,
            exponent,
            hexadecimal_bits: 60,
        }
    }
}

/// Converts by `spec`.
pub(super) fn convert(put: &mut dyn FnMut(&[u8]), spec: &Spec, value: Value) {
    let upper = spec.conversion.is_ascii_uppercase();
    let sign: &[u8] = if value.negative {
        b"-"
    } else if spec.plus {
        b"+"
    } else if spec.space {
        b" "
    } else {
        b""
    };
    let word: &[u8] = match (value.class, upper) {
        (Class::Infinite, false) => b"inf",
        (Class::Infinite, true) => b"INF",
        (Class::Nan, false) => b"nan",
        (Class::Nan, true) => b"NAN",
        (Class::Finite, _) => b"",
    };
    if !word.is_empty() {
        return padded(put, spec, &[sign, word].concat());
    }
    let conversion = spec.conversion.to_ascii_lowercase();
    let mut prefix = sign.to_vec();
    let mut text = Vec::new();
    if conversion == b'a' {
        prefix.extend_from_slice(if upper { b"0X" } else { b"0x" });
        hexadecimal(&mut text, spec, value);
    } else {
        let decimal = Decimal::new(value.significand, value.exponent);
        let precision = spec.precision.unwrap_or(6) as i64;
        match conversion {
            b'f' => fixed(&mut text, &decimal, precision, spec.alternate),
            b'e' => exponential(&mut text, &decimal, precision, spec.alternate),
            _ => general(&mut text, &decimal, precision.max(1), spec.alternate),
        }
    }
    if upper {
        text.make_ascii_uppercase();
    }
    number(put, spec, &prefix, 0, &text, spec.zero);
}

/// `ddd.ddd` with `precision` digits behind the point.
fn fixed(text: &mut Vec<u8>, decimal: &Decimal, precision: i64, alternate: bool) {
    let decimal = decimal.rounded(i64::from(decimal.point) + precision);
    for weight in (0..i64::from(decimal.point).max(1)).rev() {
        text.push(b'0' + decimal.digit(weight));
    }
    if precision > 0 || alternate {
        text.push(b'.');
    }
    for weight in 1..=precision {
        text.push(b'0' + decimal.digit(-weight));
    }
}

/// The exponent that `%e` shows.
fn exponent_of(decimal: &Decimal) -> i64 {
    if decimal.digits.is_empty() {
        0
    } else {
        i64::from(decimal.point) - 1
    }
}

/// `d.ddde±dd` with `precision` digits behind the point.
fn exponential(text: &mut Vec<u8>, decimal: &Decimal, precision: i64, alternate: bool) {
    let decimal = decimal.rounded(precision + 1);
    let exponent = exponent_of(&decimal);
    text.push(b'0' + decimal.digit(exponent));
    if precision > 0 || alternate {
        text.push(b'.');
    }
    for place in 1..=precision {
        text.push(b'0' + decimal.digit(exponent - place));
    }
    text.push(b'e');
    text.push(if exponent < 0 { b'-' } else { b'+' });
    text.extend_from_slice(format!("{:02}", exponent.unsigned_abs()).as_bytes());
}

/// The shorter of the two, with `precision` significant digits and no trailing zeros.
fn general(text: &mut Vec<u8>, decimal: &Decimal, precision: i64, alternate: bool) {
    let rounded = decimal.rounded(precision);
    let exponent = exponent_of(&rounded);
    // What is left of the digits, where `#` does not ask for all of them.
    let digits = if alternate {
        precision
    } else {
        (rounded.digits.len() as i64).max(1)
    };
    if (-4..precision).contains(&exponent) {
        fixed(text, &rounded, (digits - 1 - exponent).max(0), alternate);
    } else {
        exponential(text, &rounded, digits - 1, alternate);
    }
}

/// `h.hhhp±d`.
fn hexadecimal(text: &mut Vec<u8>, spec: &Spec, value: Value) {
    let bits = value.hexadecimal_bits;
    let mut lead = u128::from(value.significand);
    let mut exponent = if value.significand == 0 {
        0
    } else {
        value.exponent + bits.cast_signed()
    };
    let places = bits / 4;
    let digits = match spec.precision {
        Some(precision) if (precision as u32) < places => {
            let dropped = 4 * (places - precision as u32);
            let (half, rest) = (1 << (dropped - 1), lead & ((1 << dropped) - 1));
            lead >>= dropped;
            if rest > half || rest == half && lead & 1 == 1 {
                lead += 1;
            }
            lead <<= dropped;
            if lead >> bits > 15 {
                lead >>= 4;
                exponent += 4;
            }
            precision
        }
        Some(precision) => precision,
        None => places.saturating_sub(if value.significand << (64 - bits) == 0 {
            places
        } else {
            value.significand.trailing_zeros() / 4
        }) as usize,
    };
    let digit = |index: u32| {
        let nibble = if index > places {
            0
        } else {
            lead >> (bits - 4 * index) & 15
        };
        b"0123456789abcdef"[nibble as usize]
    };
    text.push(digit(0));
    if digits > 0 || spec.alternate {
        text.push(b'.');
    }
    for index in 1..=digits as u32 {
        text.push(digit(index));
    }
    text.extend_from_slice(format!("p{exponent:+}").as_bytes());
}
