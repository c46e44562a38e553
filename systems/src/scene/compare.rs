//! Compares results with what a scene expects.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How an expectation is judged. An element is a texel of an image or 4 bytes of a buffer; so many permille of the
/// elements may fail.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Rule {
    /// Bytes are equal.
    Exact {
        /// Elements of a thousand that may differ.
        permille: u32,
    },
    /// Each 32-bit word is equal, or both are normal floats or zero (not both zero) that differ by at most
    /// `tolerance * max(1, |a|, |b|)`.
    Floats {
        /// See above.
        tolerance: f32,
        /// Elements of a thousand that may differ.
        permille: u32,
    },
    /// For information only.
    Never,
    /// Each byte differs by at most the tolerance.
    Bytes {
        /// See above.
        tolerance: f32,
        /// Elements of a thousand that may differ.
        permille: u32,
    },
}

/// What a comparison came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// Elements compared.
    pub elements: u64,
    /// Elements that differ by more than they may.
    pub failed: u64,
    /// Elements that may fail.
    pub allowed: u64,
    /// The first that failed: its index and both values' first 4 bytes.
    pub first: Option<(u64, [u8; 4], [u8; 4])>,
    /// Largest difference of two bytes.
    pub largest: u8,
    /// The result has another size.
    pub wrong_size: bool,
}

impl Comparison {
    /// Whether the expectation holds.
    #[must_use]
    pub const fn passes(&self) -> bool {
        !self.wrong_size && self.failed <= self.allowed
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.wrong_size {
            return f.write_str("the result has another size");
        }
        write!(
            f,
            "{} of {} elements differ ({} may)",
            self.failed, self.elements, self.allowed
        )?;
        if let Some((index, expected, got)) = self.first {
            write!(
                f,
                ", the first is element {index}: expected bytes {expected:02x?}, got {got:02x?}; the largest byte difference is {}",
                self.largest
            )?;
        }
        Ok(())
    }
}

impl Rule {
    /// The rule with a file's mode number, if there is one.
    #[must_use]
    pub const fn new(mode: u32, tolerance: f32, permille: u32) -> Option<Self> {
        Some(match mode {
            0 => Self::Exact { permille },
            1 => Self::Floats { tolerance, permille },
            2 => Self::Never,
            3 => Self::Bytes { tolerance, permille },
            _ => return None,
        })
    }

    /// Compares elements of `size` bytes.
    #[must_use]
    pub fn compare(self, expected: &[u8], got: &[u8], size: usize) -> Comparison {
        let size = size.max(1);
        let mut out = Comparison {
            elements: (expected.len() / size) as u64,
            wrong_size: expected.len() != got.len(),
            ..Comparison::default()
        };
        let permille = match self {
            Self::Exact { permille } | Self::Floats { permille, .. } | Self::Bytes { permille, .. } => {
                permille
            }
            Self::Never => 1000,
        };
        out.allowed = out.elements * u64::from(permille) / 1000;
        for (i, (a, b)) in expected.chunks(size).zip(got.chunks(size)).enumerate() {
            let difference = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
            out.largest = out.largest.max(difference);
            let fine = match self {
                Self::Never => true,
                Self::Exact { .. } => a == b,
                Self::Bytes { tolerance, .. } => f32::from(difference) <= tolerance,
                Self::Floats { tolerance, .. } => {
                    a.len() == b.len()
                        && a.chunks(4)
                            .zip(b.chunks(4))
                            .all(|(a, b)| words_match(a, b, tolerance))
                }
            };
            if !fine {
                out.failed += 1;
                out.first.get_or_insert((i as u64, first_four(a), first_four(b)));
            }
        }
        out
    }
}

fn first_four(bytes: &[u8]) -> [u8; 4] {
    let mut four = [0; 4];
    for (to, from) in four.iter_mut().zip(bytes) {
        *to = *from;
    }
    four
}

fn words_match(a: &[u8], b: &[u8], tolerance: f32) -> bool {
    if a == b {
        return true;
    }
    let (Ok(a), Ok(b)) = (<[u8; 4]>::try_from(a), <[u8; 4]>::try_from(b)) else {
        return false;
    };
    let (a, b) = (f32::from_le_bytes(a), f32::from_le_bytes(b));
    let plain = |x: f32| x == 0.0 || x.is_normal();
    plain(a)
        && plain(b)
        && !(a == 0.0 && b == 0.0)
        && (a - b).abs() <= tolerance * 1.0f32.max(a.abs()).max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn each_mode_has_its_own_idea_of_equal() {
        let exact = Rule::Exact { permille: 0 };
        assert!(exact.compare(&[1, 2, 3, 4], &[1, 2, 3, 4], 4).passes());
        let one_off = exact.compare(&[1, 2, 3, 4], &[1, 2, 3, 5], 4);
        assert_eq!((one_off.failed, one_off.largest, one_off.passes()), (1, 1, false));
        assert!(
            Rule::Exact { permille: 500 }
                .compare(&[1; 8], &[1, 1, 1, 1, 2, 1, 1, 1], 4)
                .passes()
        );
        assert!(
            Rule::Bytes {
                tolerance: 1.0,
                permille: 0
            }
            .compare(&[1; 4], &[2; 4], 4)
            .passes()
        );
        assert!(
            !Rule::Bytes {
                tolerance: 1.0,
                permille: 0
            }
            .compare(&[1; 4], &[3; 4], 4)
            .passes()
        );
        assert!(Rule::Never.compare(&[1; 4], &[9; 4], 4).passes());
        assert!(!Rule::Never.compare(&[1; 4], &[9; 8], 4).passes());
    }

    #[test]
    fn floats_are_relative_and_small_integers_must_be_equal() {
        let rule = Rule::Floats {
            tolerance: 1e-4,
            permille: 0,
        };
        assert!(rule.compare(&floats(&[1000.0]), &floats(&[1000.05]), 4).passes());
        assert!(!rule.compare(&floats(&[1.0]), &floats(&[1.001]), 4).passes());
        assert!(!rule.compare(&7u32.to_le_bytes(), &8u32.to_le_bytes(), 4).passes());
        assert!(
            !rule
                .compare(&floats(&[f32::INFINITY]), &floats(&[f32::MAX]), 4)
                .passes()
        );
        assert!(!rule.compare(&floats(&[0.0]), &floats(&[-0.0]), 4).passes());
    }
}
