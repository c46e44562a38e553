//! Parsing one conversion: `%[flags][width][.precision][length]conversion`.

use crate::libc::variadic::Arguments;

/// Size of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Char,
    Short,
    Int,
    Long,
    LongDouble,
}

impl Length {
    /// The argument's value, cut to its size.
    pub(super) const fn unsigned(self, word: u64) -> u64 {
        match self {
            Self::Char => word as u8 as u64,
            Self::Short => word as u16 as u64,
            Self::Int => word as u32 as u64,
            Self::Long | Self::LongDouble => word,
        }
    }

    /// The argument's signed value.
    pub(super) const fn signed(self, word: u64) -> i64 {
        match self {
            Self::Char => word as i8 as i64,
            Self::Short => word as i16 as i64,
            Self::Int => word as i32 as i64,
            Self::Long | Self::LongDouble => word as i64,
        }
    }
}

/// One conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) left: bool,
    pub(super) plus: bool,
    pub(super) space: bool,
    pub(super) alternate: bool,
    pub(super) zero: bool,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
    pub(super) length: Length,
    /// The conversion's letter; 0 where the format ends before it.
    pub(super) conversion: u8,
}

impl Spec {
    /// Parses what begins with `%`, taking `*` from the arguments. Returns how long it is.
    pub(super) fn parse(source: &[u8], arguments: &mut Arguments<'_>) -> (Self, usize) {
        let mut spec = Self {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: 0,
            precision: None,
            length: Length::Int,
            conversion: 0,
        };
        let mut at = 1;
        let byte = |at: usize| source.get(at).copied().unwrap_or(0);
        loop {
            match byte(at) {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                // Grouping: the C locale has none.
                b'\'' => {}
                _ => break,
            }
            at += 1;
        }
        if byte(at) == b'*' {
            let width = arguments.word() as i32;
            spec.left |= width < 0;
            spec.width = width.unsigned_abs() as usize;
            at += 1;
        } else {
            (spec.width, at) = digits(source, at);
        }
        if byte(at) == b'.' {
            at += 1;
            if byte(at) == b'*' {
                spec.precision = usize::try_from(arguments.word() as i32).ok();
                at += 1;
            } else if byte(at) == b'-' {
                // A negative precision counts as none.
                (_, at) = digits(source, at + 1);
            } else {
                let (precision, end) = digits(source, at);
                spec.precision = Some(precision);
                at = end;
            }
        }
        (spec.length, at) = match (byte(at), byte(at + 1)) {
            (b'h', b'h') => (Length::Char, at + 2),
            (b'h', _) => (Length::Short, at + 1),
            (b'l', b'l') => (Length::Long, at + 2),
            (b'l' | b'z' | b'j' | b't' | b'q', _) => (Length::Long, at + 1),
            (b'L', _) => (Length::LongDouble, at + 1),
            _ => (Length::Int, at),
        };
        spec.conversion = byte(at);
        (spec, (at + 1).min(source.len()))
    }
}

fn digits(source: &[u8], from: usize) -> (usize, usize) {
    let mut at = from;
    let mut value = 0usize;
    while let Some(digit @ b'0'..=b'9') = source.get(at).copied() {
        value = value.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
        at += 1;
    }
    (value, at)
}
