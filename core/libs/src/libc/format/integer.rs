//! Integer conversions.

use super::{number, spec::Spec};

/// Digits of a 64-bit number in base 8 fit twice.
const SIZE: usize = 24;

fn digits(value: u64, base: u64, upper: bool) -> ([u8; SIZE], usize) {
    let alphabet = if upper {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    let mut buffer = [0; SIZE];
    let mut at = SIZE;
    let mut left = value;
    while left != 0 {
        at -= 1;
        buffer[at] = alphabet[(left % base) as usize];
        left /= base;
    }
    (buffer, at)
}

fn put_digits(put: &mut dyn FnMut(&[u8]), spec: &Spec, prefix: &[u8], digits: &[u8]) {
    // No precision means at least one digit; with one, zero padding is off.
    let zeros = spec.precision.unwrap_or(1).saturating_sub(digits.len());
    number(
        put,
        spec,
        prefix,
        zeros,
        digits,
        spec.zero && spec.precision.is_none(),
    );
}

/// `%d`, `%i` (with a sign) and `%u` (without).
pub(super) fn decimal(put: &mut dyn FnMut(&[u8]), spec: &Spec, magnitude: u64, negative: Option<bool>) {
    let prefix: &[u8] = match negative {
        Some(true) => b"-",
        Some(false) if spec.plus => b"+",
        Some(false) if spec.space => b" ",
        _ => b"",
    };
    let (buffer, at) = digits(magnitude, 10, false);
    put_digits(put, spec, prefix, &buffer[at..]);
}

/// `%o`: `#` makes the first digit a zero.
pub(super) fn octal(put: &mut dyn FnMut(&[u8]), spec: &Spec, value: u64) {
    let (buffer, at) = digits(value, 8, false);
    let digits = &buffer[at..];
    let has_zero = spec.precision.unwrap_or(1) > digits.len();
    if spec.alternate && !has_zero {
        return number(put, spec, b"", 1, digits, spec.zero && spec.precision.is_none());
    }
    put_digits(put, spec, b"", digits);
}

/// `%x` and `%X`: `#` puts `0x` in front of what is not zero.
pub(super) fn hexadecimal(put: &mut dyn FnMut(&[u8]), spec: &Spec, value: u64) {
    let upper = spec.conversion == b'X';
    let prefix: &[u8] = match (spec.alternate && value != 0, upper) {
        (false, _) => b"",
        (true, false) => b"0x",
        (true, true) => b"0X",
    };
    let (buffer, at) = digits(value, 16, upper);
    put_digits(put, spec, prefix, &buffer[at..]);
}

/// `%p` of what is not null.
pub(super) fn pointer(put: &mut dyn FnMut(&[u8]), spec: &Spec, value: u64) {
    let (buffer, at) = digits(value, 16, false);
    let prefix: &[u8] = match (spec.plus, spec.space) {
        (true, _) => b"+0x",
        (false, true) => b" 0x",
        (false, false) => b"0x",
    };
    put_digits(put, spec, prefix, &buffer[at..]);
}
