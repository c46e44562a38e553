//! Parsing one conversion: `%[number$][flags][width][.precision][length]conversion`.

use super::values::Values;

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

/// A width or a precision, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    None,
    Fixed(usize),
    /// `*` or, with the argument's number, `*n$`.
    Argument(Option<usize>),
}

/// One conversion as it is written, before arguments are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    flags: [bool; 5],
    pub(super) width: Count,
    pub(super) precision: Count,
    pub(super) length: Length,
    /// Number of its argument.
    pub(super) number: Option<usize>,
    /// 0 where the format ends before it.
    pub(super) letter: u8,
}

/// Flags, in the order of [`Conversion`]'s list.
const FLAGS: &[u8; 5] = b"-+ #0";

impl Conversion {
    /// Parses what begins with `%`. Returns how long it is.
    pub(super) fn parse(source: &[u8]) -> (Self, usize) {
        let byte = |at: usize| source.get(at).copied().unwrap_or(0);
        // A number with `$` behind it.
        let numbered = |at: usize| {
            let (number, end) = digits(source, at);
            (end > at && byte(end) == b'$').then_some((number, end + 1))
        };
        let mut at = 1;
        let number = numbered(at).map(|(number, end)| {
            at = end;
            number
        });
        let mut flags = [false; 5];
        loop {
            match FLAGS.iter().position(|flag| *flag == byte(at)) {
                Some(flag) => flags[flag] = true,
                // Grouping: the C locale has none.
                None if byte(at) == b'\'' => {}
                None => break,
            }
            at += 1;
        }
        let count = |at: &mut usize| {
            if byte(*at) != b'*' {
                let (value, end) = digits(source, *at);
                let written = end > *at;
                *at = end;
                return written.then_some(Count::Fixed(value));
            }
            *at += 1;
            Some(Count::Argument(numbered(*at).map(|(number, end)| {
                *at = end;
                number
            })))
        };
        let width = count(&mut at).unwrap_or(Count::None);
        let mut precision = Count::None;
        if byte(at) == b'.' {
            at += 1;
            if byte(at) == b'-' {
                // A negative precision counts as none.
                at = digits(source, at + 1).1;
            } else {
                precision = count(&mut at).unwrap_or(Count::Fixed(0));
            }
        }
        let (length, at) = match (byte(at), byte(at + 1)) {
            (b'h', b'h') => (Length::Char, at + 2),
            (b'h', _) => (Length::Short, at + 1),
            (b'l', b'l') => (Length::Long, at + 2),
            (b'l' | b'z' | b'j' | b't' | b'q', _) => (Length::Long, at + 1),
            (b'L', _) => (Length::LongDouble, at + 1),
            _ => (Length::Int, at),
        };
        let conversion = Self {
            flags,
            width,
            precision,
            length,
            number,
            letter: byte(at),
        };
        (conversion, (at + 1).min(source.len()))
    }

    /// With width and precision from the arguments, which stand at the conversion's own argument then.
    pub(super) fn resolve(&self, values: &mut Values<'_, '_>) -> Spec {
        let [left, plus, space, alternate, zero] = self.flags;
        let mut spec = Spec {
            left,
            plus,
            space,
            alternate,
            zero,
            width: 0,
            precision: None,
            length: self.length,
            conversion: self.letter,
        };
        match self.width {
            Count::None => {}
            Count::Fixed(width) => spec.width = width,
            Count::Argument(number) => {
                values.select(number);
                let width = values.word() as i32;
                spec.left |= width < 0;
                spec.width = width.unsigned_abs() as usize;
            }
        }
        match self.precision {
            Count::None => {}
            Count::Fixed(precision) => spec.precision = Some(precision),
            Count::Argument(number) => {
                values.select(number);
                spec.precision = usize::try_from(values.word() as i32).ok();
            }
        }
        values.select(self.number);
        spec
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
