//! The formatter against the host's.

use super::*;
use crate::libc::variadic::VaList;

mod glibc {
    unsafe extern "C" {
        pub(super) fn vsnprintf(
            buffer: *mut u8,
            size: usize,
            format: *const std::ffi::c_char,
            arguments: *mut super::VaList,
        ) -> i32;
    }
}

/// One argument of a case.
#[derive(Clone, Copy, Debug)]
enum Argument {
    Word(u64),
    Double(f64),
    Extended(u64, u16),
}
use Argument::{Double, Extended as Long, Word};

/// The arguments as a call would pass them, all on the stack.
struct Call {
    stack: Vec<u128>,
}

impl Call {
    fn new(arguments: &[Argument]) -> Self {
        let mut words: Vec<u64> = Vec::new();
        for argument in arguments {
            match *argument {
                Word(word) => words.push(word),
                Double(value) => words.push(value.to_bits()),
                Long(significand, exponent) => {
                    if words.len() % 2 == 1 {
                        words.push(0xdead);
                    }
                    words.extend([significand, u64::from(exponent) | 0xabcd_0000]);
                }
            }
        }
        words.resize(words.len().next_multiple_of(2) + 8, 0);
        let stack = words
            .chunks(2)
            .map(|pair| u128::from(pair[0]) | u128::from(pair[1]) << 64)
            .collect();
        Self { stack }
    }

    /// A `va_list` whose registers are used up.
    fn list(&self) -> VaList {
        let mut list = std::mem::MaybeUninit::<VaList>::zeroed();
        // SAFETY: the record's four fields, in their order, each at its offset.
        unsafe {
            let words = list.as_mut_ptr().cast::<u32>();
            words.write(48);
            words.add(1).write(176);
            list.as_mut_ptr()
                .cast::<*const u128>()
                .add(1)
                .write(self.stack.as_ptr());
            list.assume_init()
        }
    }
}

fn ours(format: &std::ffi::CStr, arguments: &[Argument]) -> (String, i32) {
    let call = Call::new(arguments);
    let mut list = call.list();
    let mut text = Vec::new();
    // SAFETY: the cases match their formats.
    let count = unsafe {
        super::format(
            &mut |bytes| text.extend_from_slice(bytes),
            Text::new(format.as_ptr().cast()),
            &mut Arguments::new(&raw mut list).unwrap(),
        )
    };
    (String::from_utf8_lossy(&text).into_owned(), count.unwrap())
}

fn theirs(format: &std::ffi::CStr, arguments: &[Argument]) -> (String, i32) {
    let call = Call::new(arguments);
    let mut list = call.list();
    let mut buffer = vec![0u8; 20_000];
    // SAFETY: the cases match their formats, and the record is the platform's own.
    let count =
        unsafe { glibc::vsnprintf(buffer.as_mut_ptr(), buffer.len(), format.as_ptr(), &raw mut list) };
    assert!((count as usize) < buffer.len());
    buffer.truncate(count as usize);
    (String::from_utf8_lossy(&buffer).into_owned(), count)
}

#[track_caller]
fn same(format: &str, arguments: &[Argument]) {
    let format = std::ffi::CString::new(format).unwrap();
    assert_eq!(
        ours(&format, arguments),
        theirs(&format, arguments),
        "{format:?} of {arguments:x?}"
    );
}

const FLAGS: [&str; 12] = ["", "-", "+", " ", "#", "0", "-0", "+0", " 0", "#0", "+-#", " +#0"];
const WIDTHS: [&str; 4] = ["", "1", "9", "30"];
const PRECISIONS: [&str; 6] = ["", ".", ".0", ".1", ".5", ".23"];

#[test]
fn integers_match_in_every_form() {
    let values = [
        0,
        1,
        7,
        8,
        255,
        256,
        0x7fff_ffff,
        0x8000_0000,
        u64::MAX,
        1 << 63,
        0x1234_5678_9abc_def0,
    ];
    for flags in FLAGS {
        for width in WIDTHS {
            for precision in PRECISIONS {
                for length in ["hh", "h", "", "l", "ll", "z", "j", "t"] {
                    for conversion in ["d", "i", "u", "o", "x", "X"] {
                        for value in values {
                            same(
                                &format!("<%{flags}{width}{precision}{length}{conversion}>"),
                                &[Word(value)],
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn doubles_match_in_every_form() {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        9.5,
        0.1,
        123.456,
        999_999.5,
        9.999_999_5,
        1e-5,
        1e100,
        -1e-100,
        0.000_123_45,
        12345.0,
        100_000.0,
        1_000_000.0,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        1.0 + f64::EPSILON,
        1.999_999_9,
        0.05,
        0.15,
        0.25,
        0.35,
    ];
    for flags in FLAGS {
        for width in WIDTHS {
            for precision in PRECISIONS {
                for conversion in ["f", "F", "e", "E", "g", "G", "a", "A"] {
                    for value in values {
                        // glibc 2.36 loses the zeros of `%#g` where rounding makes a new leading digit.
                        let carries = [999_999.5, 9.999_999_5, 9.5, 1.999_999_9, f64::MAX].contains(&value);
                        if carries && flags.contains('#') && conversion.eq_ignore_ascii_case("g") {
                            continue;
                        }
                        same(
                            &format!("<%{flags}{width}{precision}{conversion}>"),
                            &[Double(value)],
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn long_doubles_match() {
    let values = [
        (0, 0),
        (1 << 63, 0x3fff),
        (1 << 63, 0xbfff),
        (0xc000_0000_0000_0000, 0x3fff),
        (0xffff_ffff_ffff_ffff, 0x3ffe),
        (0xffff_ffff_ffff_ffff, 0x7ffe),
        (0x8000_0000_0000_0001, 0x4000),
        (1, 0),
        (0x9123_4567_89ab_cdef, 0x4123),
        (0x9123_4567_89ab_cdef, 0x3e00),
        (1 << 63, 0x7fff),
        (0xc000_0000_0000_0000, 0xffff),
    ];
    for (significand, exponent) in values {
        for form in [
            "%Lf",
            "%.3Lf",
            "%Le",
            "%.25Le",
            "%Lg",
            "%#LG",
            "%La",
            "%+030Lg",
            "%d %Lg %d",
        ] {
            let value = Long(significand, exponent);
            if form.contains("%d") {
                same(form, &[Word(1), value, Word(2)]);
            } else {
                same(form, &[value]);
            }
        }
    }
}

#[test]
fn random_values_match() {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..6000 {
        let bits = random();
        let precision = random() % 40;
        for conversion in ["f", "e", "g", "a"] {
            same(
                &format!("%.{precision}{conversion}"),
                &[Double(f64::from_bits(bits))],
            );
            same(&format!("%{conversion}"), &[Double((bits >> 40) as f64 / 64.0)]);
        }
        same(
            "%Lg %La",
            &[
                Long(bits | 1 << 63, (1 + random() % 0x7ffd) as u16),
                Long(bits | 1 << 63, 0x3fff),
            ],
        );
    }
}

#[test]
fn strings_characters_pointers_and_stars_match() {
    let text = c"hello, world".as_ptr().addr() as u64;
    for form in ["%s", "%20s|", "%-20s|", "%.5s", "%.0s", "%.s", "%5.2s|"] {
        same(form, &[Word(text)]);
        same(form, &[Word(0)]);
    }
    same("%c%5c%-5c|", &[Word(65), Word(66), Word(67)]);
    same("%p %20p|%-20p|", &[Word(0x1234), Word(0), Word(u64::MAX)]);
    same("100%% %d%%", &[Word(5)]);
    same(
        "%*d|%-*d|%.*f|%*.*f|",
        &[
            Word(8),
            Word(1),
            Word((-8i64) as u64),
            Word(2),
            Word(3),
            Double(1.23456),
            Word(10),
            Word((-1i64) as u64),
            Double(2.0),
        ],
    );
}

#[test]
fn wide_strings_are_utf16() {
    let units: Vec<u16> = "Grün 😀\0".encode_utf16().collect();
    let (text, count) = ours(
        c"%ls|%8.2ls|%lc",
        &[
            Word(units.as_ptr().addr() as u64),
            Word(units.as_ptr().addr() as u64),
            Word(0xe9),
        ],
    );
    assert_eq!(text, "Grün 😀|      Gr|é");
    assert_eq!(count as usize, text.len());
}

#[test]
fn numbered_arguments_are_taken_by_number() {
    let text = Word(c"text".as_ptr().addr() as u64);
    same("%2$s %1$d", &[Word(7), text]);
    same("%1$d %1$x %1$c", &[Word(65)]);
    same("%3$.*2$f|%3$*1$.1f|", &[Word(9), Word(3), Double(2.5)]);
    same(
        "%4$Lf %1$s %3$d %2$g",
        &[text, Double(0.5), Word(3), Long(0xc000_0000_0000_0000, 0x3fff)],
    );
    same("%2$5.3d|%1$-5d|", &[Word(1), Word(2)]);
}

#[test]
fn the_count_so_far_is_stored_in_the_size_asked_for() {
    let mut places = [u64::MAX; 5];
    let at = |index: usize| Word((&raw const places[index]).expose_provenance() as u64);
    let arguments = [at(0), at(1), at(2), at(3)];
    let (text, count) = ours(c"ab%hhncd%hnef%n%%%ln", &arguments);
    assert_eq!((&*text, count), ("abcdef%", 7));
    let found = std::hint::black_box(&mut places).map(|place| place);
    assert_eq!(
        found,
        [
            u64::MAX << 8 | 2,
            u64::MAX << 16 | 4,
            u64::MAX << 32 | 6,
            7,
            u64::MAX
        ]
    );
}
