//! Wide characters: UTF-16 units on the console, where the host has 32 bits. Multibyte text is UTF-8.

use std::ffi::{c_int, c_long, c_ulong};

use relic_macros::guest_fn;

use crate::{
    pointer::{In, Out},
    result::{Errno, set_errno},
};

/// `wchar_t`.
type Wide = u16;

/// How many units are in front of the NUL, at most `limit`.
fn length(text: In<Wide>, limit: usize) -> usize {
    let mut count = 0;
    while count < limit && at(text, count) != 0 {
        count += 1;
    }
    count
}

/// The `index`th unit; 0 for null.
fn at(text: In<Wide>, index: usize) -> Wide {
    // SAFETY: the guest's string, read up to its NUL.
    unsafe { In::new(text.as_ptr().wrapping_add(index)) }
        .read()
        .unwrap_or(0)
}

fn units(text: In<Wide>, limit: usize) -> Vec<Wide> {
    text.read_many(length(text, limit)).unwrap_or_default()
}

fn place(text: In<Wide>, index: usize) -> *mut Wide {
    text.as_ptr().wrapping_add(index).cast_mut()
}

fn put(to: Out<Wide>, units: impl IntoIterator<Item = Wide>) {
    for (index, unit) in units.into_iter().enumerate() {
        to.write_at(index, unit);
    }
}

/// The length of a string.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcslen(text: In<Wide>) -> usize {
    length(text, usize::MAX)
}

/// The length of a string, at most `limit`.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcsnlen(text: In<Wide>, limit: usize) -> usize {
    length(text, limit)
}

/// Copies a string.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcscpy(to: Out<Wide>, from: In<Wide>) -> *mut Wide {
    put(to, units(from, usize::MAX).into_iter().chain([0]));
    to.as_ptr()
}

/// Copies a string into exactly `limit` units, filled with NULs.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcsncpy(to: Out<Wide>, from: In<Wide>, limit: usize) -> *mut Wide {
    put(
        to,
        units(from, limit)
            .into_iter()
            .chain(std::iter::repeat(0))
            .take(limit),
    );
    to.as_ptr()
}

/// Appends a string.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcscat(to: Out<Wide>, from: In<Wide>) -> *mut Wide {
    wcsncat(to, from, usize::MAX)
}

/// Appends at most `limit` units and a NUL.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcsncat(to: Out<Wide>, from: In<Wide>, limit: usize) -> *mut Wide {
    // SAFETY: the guest's string.
    let there = length(unsafe { In::new(to.as_ptr()) }, usize::MAX);
    put(
        to.byte_add(there * size_of::<Wide>()),
        units(from, limit).into_iter().chain([0]),
    );
    to.as_ptr()
}

/// Compares strings.
#[guest_fn(libc, libSceLibcInternal, also = "wcscoll")]
pub(crate) extern "sysv64" fn wcscmp(first: In<Wide>, second: In<Wide>) -> c_int {
    wcsncmp(first, second, usize::MAX)
}

/// Compares strings, at most `limit` units of them.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcsncmp(first: In<Wide>, second: In<Wide>, limit: usize) -> c_int {
    units(first, limit).cmp(&units(second, limit)) as c_int
}

/// Finds a unit.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcschr(text: In<Wide>, unit: Wide) -> *mut Wide {
    let count = length(text, usize::MAX);
    (0..=count)
        .find(|index| at(text, *index) == unit)
        .map_or(std::ptr::null_mut(), |index| place(text, index))
}

/// Finds a unit's last place.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcsrchr(text: In<Wide>, unit: Wide) -> *mut Wide {
    let count = length(text, usize::MAX);
    (0..=count)
        .rev()
        .find(|index| at(text, *index) == unit)
        .map_or(std::ptr::null_mut(), |index| place(text, index))
}

/// Finds a string in a string.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcsstr(text: In<Wide>, needle: In<Wide>) -> *mut Wide {
    let (units, needle) = (units(text, usize::MAX), units(needle, usize::MAX));
    if needle.is_empty() {
        return place(text, 0);
    }
    units
        .windows(needle.len())
        .position(|part| part == needle)
        .map_or(std::ptr::null_mut(), |index| place(text, index))
}

/// How many units in front are of a set.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcsspn(text: In<Wide>, set: In<Wide>) -> usize {
    let set = units(set, usize::MAX);
    units(text, usize::MAX)
        .iter()
        .take_while(|unit| set.contains(unit))
        .count()
}

/// How many units in front are not of a set.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcscspn(text: In<Wide>, set: In<Wide>) -> usize {
    let set = units(set, usize::MAX);
    units(text, usize::MAX)
        .iter()
        .take_while(|unit| !set.contains(unit))
        .count()
}

/// Finds the first unit of a set.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcspbrk(text: In<Wide>, set: In<Wide>) -> *mut Wide {
    let index = wcscspn(text, set);
    if at(text, index) == 0 {
        std::ptr::null_mut()
    } else {
        place(text, index)
    }
}

/// Copies units between places that may overlap.
#[guest_fn(libc, libSceLibcInternal, also = "wmemcpy")]
pub(crate) extern "sysv64" fn wmemmove(to: Out<Wide>, from: In<Wide>, count: usize) -> *mut Wide {
    put(to, from.read_many(count).unwrap_or_default());
    to.as_ptr()
}

/// Fills units.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wmemset(to: Out<Wide>, unit: Wide, count: usize) -> *mut Wide {
    put(to, std::iter::repeat_n(unit, count));
    to.as_ptr()
}

/// Compares units.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wmemcmp(first: In<Wide>, second: In<Wide>, count: usize) -> c_int {
    first.read_many(count).cmp(&second.read_many(count)) as c_int
}

/// Finds a unit among `count`.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wmemchr(text: In<Wide>, unit: Wide, count: usize) -> *mut Wide {
    (0..count)
        .find(|index| at(text, *index) == unit)
        .map_or(std::ptr::null_mut(), |index| place(text, index))
}

/// A string's ASCII part as text for the host's conversions: other units end every number.
fn ascii(text: In<Wide>) -> Vec<u8> {
    let mut bytes: Vec<u8> = units(text, usize::MAX)
        .into_iter()
        .map(|unit| u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(b'?'))
        .collect();
    bytes.push(0);
    bytes
}

/// Converts by a function of narrow strings, and stores where the number ended.
fn number<T>(
    text: In<Wide>,
    end: Out<*mut Wide>,
    convert: unsafe extern "sysv64" fn(*const i8, *mut *mut i8, c_int) -> T,
    base: c_int,
) -> T {
    let bytes = ascii(text);
    let mut stop = std::ptr::null_mut();
    // SAFETY: a string of ours.
    let value = unsafe { convert(bytes.as_ptr().cast(), &raw mut stop, base) };
    end.write(place(text, stop.addr().wrapping_sub(bytes.as_ptr().addr())));
    value
}

/// Text to a number.
#[guest_fn(libc, libSceLibcInternal, also = "wcstoll")]
pub(crate) extern "sysv64" fn wcstol(text: In<Wide>, end: Out<*mut Wide>, base: c_int) -> c_long {
    number(text, end, super::convert::strtol, base)
}

/// Text to a number.
#[guest_fn(libc, libSceLibcInternal, also = "wcstoull")]
pub(crate) extern "sysv64" fn wcstoul(text: In<Wide>, end: Out<*mut Wide>, base: c_int) -> c_ulong {
    number(text, end, super::convert::strtoul, base)
}

/// Text to a number.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcstod(text: In<Wide>, end: Out<*mut Wide>) -> f64 {
    let bytes = ascii(text);
    let mut stop = std::ptr::null_mut();
    // SAFETY: a string of ours.
    let value = unsafe { super::convert::strtod(bytes.as_ptr().cast(), &raw mut stop) };
    end.write(place(text, stop.addr().wrapping_sub(bytes.as_ptr().addr())));
    value
}

/// A character as the host's ASCII, for its classes.
fn class(unit: c_int, test: unsafe extern "sysv64" fn(c_int) -> c_int) -> c_int {
    if (0..128).contains(&unit) {
        // SAFETY: an ASCII character.
        unsafe { test(unit) }
    } else {
        0
    }
}

macro_rules! classes {
    ($($name:ident, $narrow:ident;)*) => {$(
        /// As in C, in the C locale: only ASCII characters are of a class.
        #[guest_fn(libc, libSceLibcInternal)]
        pub(crate) extern "sysv64" fn $name(unit: c_int) -> c_int {
            class(unit, super::character::$narrow)
        }
    )*};
}

classes! {
    iswalnum, isalnum;
    iswalpha, isalpha;
    iswblank, isblank;
    iswcntrl, iscntrl;
    iswdigit, isdigit;
    iswgraph, isgraph;
    iswlower, islower;
    iswprint, isprint;
    iswpunct, ispunct;
    iswspace, isspace;
    iswupper, isupper;
    iswxdigit, isxdigit;
}

/// The lower-case form of an ASCII letter.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn towlower(unit: c_int) -> c_int {
    u8::try_from(unit).map_or(unit, |byte| c_int::from(byte.to_ascii_lowercase()))
}

/// The upper-case form of an ASCII letter.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn towupper(unit: c_int) -> c_int {
    u8::try_from(unit).map_or(unit, |byte| c_int::from(byte.to_ascii_uppercase()))
}

/// The answer for text that is not UTF-8, or that UTF-16 can't hold in one unit.
fn illegal() -> usize {
    set_errno(Errno::EILSEQ);
    usize::MAX
}

/// UTF-8 to wide characters. Returns how many there are, without the NUL; all ones for text that is not UTF-8. Null counts
/// only.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn mbstowcs(to: Out<Wide>, from: crate::pointer::Text, limit: usize) -> usize {
    let bytes = from.bytes(usize::MAX).unwrap_or_default();
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return illegal();
    };
    let units: Vec<Wide> = text.encode_utf16().collect();
    if to.is_null() {
        return units.len();
    }
    let count = units.len();
    put(to, units.into_iter().chain([0]).take(limit));
    count.min(limit)
}

/// Wide characters to UTF-8. Returns how many bytes there are, without the NUL; all ones for what is not UTF-16. Null
/// counts only.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wcstombs(to: Out<u8>, from: In<Wide>, limit: usize) -> usize {
    let Ok(text) = String::from_utf16(&units(from, usize::MAX)) else {
        return illegal();
    };
    if to.is_null() {
        return text.len();
    }
    if text.len() < limit {
        to.write_text(text.as_bytes(), limit);
        return text.len();
    }
    // Whole characters alone, and no NUL.
    let end = (0..=limit)
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    to.write_bytes(&text.as_bytes()[..end]);
    end
}

/// One character of UTF-8: how many bytes it has. 0 for NUL; -1 for what is no character, or needs two units.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn mbtowc(to: Out<Wide>, from: In<u8>, limit: usize) -> c_int {
    if from.is_null() {
        // No encoding here has states.
        return 0;
    }
    let mut bytes = Vec::new();
    for index in 0..limit.min(4) {
        // SAFETY: the guest's bytes, read one after the other as far as the character goes.
        let Some(byte) = unsafe { In::new(from.as_ptr().wrapping_add(index)) }.read() else {
            break;
        };
        bytes.push(byte);
        if let Ok(text) = std::str::from_utf8(&bytes)
            && let Some(character) = text.chars().next()
        {
            let mut units = [0; 2];
            if let [unit] = character.encode_utf16(&mut units) {
                to.write(*unit);
                return if character == '\0' {
                    0
                } else {
                    bytes.len() as c_int
                };
            }
            break;
        }
    }
    illegal() as c_int
}

/// How many bytes a character of UTF-8 has.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn mblen(from: In<u8>, limit: usize) -> c_int {
    // SAFETY: null.
    mbtowc(unsafe { Out::new(std::ptr::null_mut()) }, from, limit)
}

/// A wide character as UTF-8: how many bytes that are; -1 for half of a pair.
#[guest_fn(libc, libSceLibcInternal)]
pub(crate) extern "sysv64" fn wctomb(to: Out<u8>, unit: Wide) -> c_int {
    if to.is_null() {
        return 0;
    }
    match char::from_u32(u32::from(unit)) {
        Some(character) => {
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).as_bytes();
            to.write_bytes(bytes);
            bytes.len() as c_int
        }
        None => illegal() as c_int,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pointer::Text;

    fn wide(text: &str) -> Vec<Wide> {
        text.encode_utf16().chain([0]).collect()
    }

    fn input(text: &[Wide]) -> In<Wide> {
        // SAFETY: a string of the test's.
        unsafe { In::new(text.as_ptr()) }
    }

    #[test]
    fn strings_are_measured_compared_and_searched() {
        let (abc, abd, long) = (wide("abc"), wide("abd"), wide("xxabcyabcz"));
        assert_eq!((wcslen(input(&long)), wcsnlen(input(&long), 3)), (10, 3));
        assert!(wcscmp(input(&abc), input(&abd)) < 0);
        assert_eq!(wcsncmp(input(&abc), input(&abd), 2), 0);
        let offset = |found: *mut Wide| (found.addr() - long.as_ptr().addr()) / 2;
        assert_eq!(offset(wcsstr(input(&long), input(&abc))), 2);
        assert_eq!(offset(wcschr(input(&long), u16::from(b'c'))), 4);
        assert_eq!(offset(wcsrchr(input(&long), u16::from(b'c'))), 8);
        assert_eq!(offset(wcschr(input(&long), 0)), 10);
        assert!(wcsstr(input(&abc), input(&long)).is_null());
        assert_eq!(wcsspn(input(&long), input(&wide("xa"))), 3);
    }

    #[test]
    fn utf8_and_utf16_are_converted_both_ways() {
        let text = c"aé漢😀";
        let mut units = [0xffff; 8];
        // SAFETY: places of ours.
        let (to, from) = unsafe { (Out::new(units.as_mut_ptr()), Text::new(text.as_ptr().cast())) };
        assert_eq!(mbstowcs(to, from, 8), 5);
        let units = std::hint::black_box(units);
        assert_eq!(units[..6], *wide("aé漢😀"));
        let mut bytes = [0xff; 16];
        // SAFETY: a place of ours.
        let out = unsafe { Out::new(bytes.as_mut_ptr()) };
        assert_eq!(wcstombs(out, input(&units), 16), 10);
        assert_eq!(wcstombs(out, input(&units), 5), 3);
        assert_eq!(wcstombs(out, input(&[0xd800, 0]), 16), usize::MAX);
        // SAFETY: bytes of ours.
        let half = unsafe { In::new(b"\xc3\xa9".as_ptr()) };
        let mut unit = 0;
        // SAFETY: a place of ours.
        let place = unsafe { Out::new(&raw mut unit) };
        assert_eq!((mbtowc(place, half, 1), mbtowc(place, half, 2)), (-1, 2));
        assert_eq!(place.read(), Some(0xe9));
    }

    #[test]
    fn numbers_end_where_they_end() {
        let text = wide(" -0x1Fg");
        let mut end = std::ptr::null_mut();
        // SAFETY: a place of ours.
        let out = unsafe { Out::new(&raw mut end) };
        assert_eq!(wcstol(input(&text), out, 0), -31);
        assert_eq!(out.read().unwrap().addr() - text.as_ptr().addr(), 12);
    }
}
