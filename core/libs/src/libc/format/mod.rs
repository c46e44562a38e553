//! The formatter behind the printf family: all of C's conversions, with glibc's answers where C leaves room.

mod decimal;
mod float;
mod integer;
mod spec;
mod values;

use spec::{Conversion, Length, Spec};
use values::Values;

use super::variadic::Arguments;
use crate::{
    log,
    pointer::{Text, host},
};

/// The text would be longer than an `int` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("formatted text is longer than 2147483647 bytes")]
pub(crate) struct TooLong;

/// Formats `format` with `arguments` into `sink`. Returns how many bytes that were.
pub(crate) fn format(
    sink: &mut dyn FnMut(&[u8]),
    format: Text,
    arguments: &mut Arguments<'_>,
) -> Result<i32, TooLong> {
    let format = format.bytes(usize::MAX).unwrap_or_default();
    let mut values = Values::of(&format, arguments);
    let count = std::cell::Cell::new(0usize);
    let mut put = |bytes: &[u8]| {
        count.set(count.get() + bytes.len());
        sink(bytes);
    };
    let mut rest = &format[..];
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        put(&rest[..at]);
        rest = &rest[at..];
        let (conversion, length) = Conversion::parse(rest);
        let spec = conversion.resolve(&mut values);
        let source = &rest[..length];
        rest = &rest[length..];
        if spec.width > i32::MAX as usize
            || spec
                .precision
                .is_some_and(|precision| precision > i32::MAX as usize)
        {
            return Err(TooLong);
        }
        if spec.conversion == b'n' {
            store_count(&spec, values.word(), count.get());
        } else {
            convert(&mut put, &spec, source, &mut values);
        }
    }
    put(rest);
    i32::try_from(count.get()).map_err(|_| TooLong)
}

/// `%n`: stores how many bytes there were up to here, in the size that the length says.
fn store_count(spec: &Spec, pointer: u64, count: usize) {
    // SAFETY: the guest's argument, of this size.
    unsafe {
        match spec.length {
            Length::Char => host::<u8>(pointer).write_unaligned(count as u8),
            Length::Short => host::<u16>(pointer).write_unaligned(count as u16),
            Length::Int => host::<u32>(pointer).write_unaligned(count as u32),
            Length::Long | Length::LongDouble => host::<u64>(pointer).write_unaligned(count as u64),
        }
    }
}

fn convert(put: &mut dyn FnMut(&[u8]), spec: &Spec, source: &[u8], arguments: &mut Values<'_, '_>) {
    match spec.conversion {
        b'%' => put(b"%"),
        b'd' | b'i' => {
            let value = spec.length.signed(arguments.word());
            integer::decimal(put, spec, value.unsigned_abs(), Some(value < 0));
        }
        b'u' => integer::decimal(put, spec, spec.length.unsigned(arguments.word()), None),
        b'o' => integer::octal(put, spec, spec.length.unsigned(arguments.word())),
        b'x' | b'X' => integer::hexadecimal(put, spec, spec.length.unsigned(arguments.word())),
        b'p' => {
            let value = arguments.word();
            if value == 0 {
                padded(put, spec, b"(nil)");
            } else {
                integer::pointer(put, spec, value);
            }
        }
        b'c' if spec.length == Length::Long => {
            let mut bytes = [0; 3];
            let character = char::from_u32(arguments.word() as u32 & 0xffff).unwrap_or('\u{fffd}');
            padded(put, spec, character.encode_utf8(&mut bytes).as_bytes());
        }
        b'c' => padded(put, spec, &[arguments.word() as u8]),
        b's' if spec.length == Length::Long => wide_string(put, spec, host(arguments.word())),
        b's' => string(put, spec, host(arguments.word())),
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = if spec.length == Length::LongDouble {
                float::Value::of_extended(arguments.extended())
            } else {
                float::Value::of_double(arguments.double())
            };
            float::convert(put, spec, value);
        }
        _ => {
            log::warn(format_args!(
                "unknown conversion {:?} in a format string: printed as it is",
                String::from_utf8_lossy(source)
            ));
            put(source);
        }
    }
}

fn string(put: &mut dyn FnMut(&[u8]), spec: &Spec, pointer: *const u8) {
    // SAFETY: the guest's argument; read up to its NUL or the precision.
    let text = unsafe { Text::new(pointer) }.bytes(spec.precision.unwrap_or(usize::MAX));
    match text {
        Some(bytes) => padded(put, spec, &bytes),
        // All of "(null)" or nothing of it.
        None if spec.precision.is_none_or(|precision| precision >= 6) => padded(put, spec, b"(null)"),
        None => padded(put, spec, b""),
    }
}

/// The guest's wide characters are UTF-16 units.
fn wide_string(put: &mut dyn FnMut(&[u8]), spec: &Spec, pointer: *const u16) {
    if pointer.is_null() {
        return string(put, spec, std::ptr::null());
    }
    let mut units = Vec::new();
    loop {
        // SAFETY: the guest's argument, NUL-terminated.
        let unit = unsafe { pointer.add(units.len()).read_unaligned() };
        if unit == 0 {
            break;
        }
        units.push(unit);
    }
    let limit = spec.precision.unwrap_or(usize::MAX);
    let mut text = String::new();
    for character in char::decode_utf16(units) {
        let character = character.unwrap_or('\u{fffd}');
        if text.len() + character.len_utf8() > limit {
            break;
        }
        text.push(character);
    }
    padded(put, spec, text.as_bytes());
}

/// Bytes in a field, padded with spaces.
fn padded(put: &mut dyn FnMut(&[u8]), spec: &Spec, bytes: &[u8]) {
    let padding = spec.width.saturating_sub(bytes.len());
    if !spec.left {
        fill(put, b' ', padding);
    }
    put(bytes);
    if spec.left {
        fill(put, b' ', padding);
    }
}

/// A number in a field: padding, sign or prefix, zeros, digits.
fn number(
    put: &mut dyn FnMut(&[u8]),
    spec: &Spec,
    prefix: &[u8],
    zeros: usize,
    digits: &[u8],
    zero_pad: bool,
) {
    let padding = spec.width.saturating_sub(prefix.len() + zeros + digits.len());
    if !spec.left && !zero_pad {
        fill(put, b' ', padding);
    }
    put(prefix);
    if !spec.left && zero_pad {
        fill(put, b'0', padding);
    }
    fill(put, b'0', zeros);
    put(digits);
    if spec.left {
        fill(put, b' ', padding);
    }
}

fn fill(put: &mut dyn FnMut(&[u8]), byte: u8, count: usize) {
    let block = [byte; 64];
    let mut left = count;
    while left > 0 {
        let part = left.min(block.len());
        put(&block[..part]);
        left -= part;
    }
}

#[cfg(test)]
mod tests;
