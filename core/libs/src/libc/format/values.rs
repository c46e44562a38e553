//! Where conversions get their arguments from: in order, or by number.

use super::spec::{Conversion, Count};
use crate::libc::variadic::{Arguments, Extended};

/// What is passed for a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Double,
    Extended,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Word(u64),
    Double(f64),
    Extended(Extended),
}

/// Highest number that an argument may have, as in the host's library at least.
const LIMIT: usize = 4096;

/// The arguments of a format.
pub(super) enum Values<'a, 'b> {
    /// As they come.
    InOrder(&'a mut Arguments<'b>),
    /// By number, and the number that is next.
    Numbered(Vec<Value>, usize),
}

impl<'a, 'b> Values<'a, 'b> {
    /// Fetches the arguments of a format that numbers them; any other takes them as it goes.
    pub(super) fn of(format: &[u8], arguments: &'a mut Arguments<'b>) -> Self {
        let mut kinds: Vec<Kind> = Vec::new();
        let mut note = |number: usize, kind: Kind| {
            if (1..=LIMIT).contains(&number) {
                if kinds.len() < number {
                    kinds.resize(number, Kind::Word);
                }
                kinds[number - 1] = kind;
            }
        };
        let mut rest = format;
        while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
            let (conversion, length) = Conversion::parse(&rest[at..]);
            rest = &rest[at + length..];
            for count in [conversion.width, conversion.precision] {
                if let Count::Argument(Some(number)) = count {
                    note(number, Kind::Word);
                }
            }
            if let Some(number) = conversion.number {
                note(number, conversion.kind());
            }
        }
        if kinds.is_empty() {
            return Self::InOrder(arguments);
        }
        let values = kinds
            .into_iter()
            .map(|kind| match kind {
                Kind::Word => Value::Word(arguments.word()),
                Kind::Double => Value::Double(arguments.double()),
                Kind::Extended => Value::Extended(arguments.extended()),
            })
            .collect();
        Self::Numbered(values, 0)
    }

    /// Makes this the next argument; none, the one behind the last.
    pub(super) fn select(&mut self, number: Option<usize>) {
        if let (Self::Numbered(_, next), Some(number)) = (self, number) {
            *next = number.saturating_sub(1);
        }
    }

    fn numbered(values: &[Value], next: &mut usize) -> Option<Value> {
        let value = values.get(*next).copied();
        *next += 1;
        value
    }

    /// The next integer or pointer.
    pub(super) fn word(&mut self) -> u64 {
        match self {
            Self::InOrder(arguments) => arguments.word(),
            Self::Numbered(values, next) => match Self::numbered(values, next) {
                Some(Value::Word(word)) => word,
                Some(Value::Double(value)) => value.to_bits(),
                Some(Value::Extended(value)) => value.significand,
                None => 0,
            },
        }
    }

    /// The next `double`.
    pub(super) fn double(&mut self) -> f64 {
        match self {
            Self::InOrder(arguments) => arguments.double(),
            Self::Numbered(values, next) => match Self::numbered(values, next) {
                Some(Value::Double(value)) => value,
                Some(Value::Word(word)) => f64::from_bits(word),
                _ => 0.0,
            },
        }
    }

    /// The next `long double`.
    pub(super) fn extended(&mut self) -> Extended {
        match self {
            Self::InOrder(arguments) => arguments.extended(),
            Self::Numbered(values, next) => match Self::numbered(values, next) {
                Some(Value::Extended(value)) => value,
                _ => Extended {
                    significand: 0,
                    sign_exponent: 0,
                },
            },
        }
    }
}

impl Conversion {
    fn kind(&self) -> Kind {
        match (self.letter, self.length) {
            (b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G', super::Length::LongDouble) => {
                Kind::Extended
            }
            (b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G', _) => Kind::Double,
            _ => Kind::Word,
        }
    }
}
