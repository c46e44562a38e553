//! Exact decimal digits of binary floating-point values.
//!
//! `m * 2^-k` is `m * 5^k / 10^k`: so the digits of an integer, with the point moved. Exact, and fast enough, as
//! the integers have at most a few thousand digits and usually a few dozen.

/// A non-negative decimal number: `0.d1 d2 d3 ... * 10^point`, without leading or trailing zeros. No digits mean 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) digits: Vec<u8>,
    pub(super) point: i32,
}

/// Base of a limb: nine decimal digits.
const BASE: u64 = 1_000_000_000;

impl Decimal {
    /// `significand * 2^exponent`.
    pub(super) fn new(significand: u64, exponent: i32) -> Self {
        if significand == 0 {
            return Self {
                digits: Vec::new(),
                point: 0,
            };
        }
        let zeros = significand.trailing_zeros();
        let (significand, exponent) = (significand >> zeros, exponent + zeros.cast_signed());
        // Limbs in base 10^9, the lowest first.
        let mut limbs = vec![
            significand % BASE,
            significand / BASE % BASE,
            significand / BASE / BASE,
        ];
        let (factor, step, times) = if exponent >= 0 {
            (1 << 29, 29, exponent)
        } else {
            (1_220_703_125, 13, -exponent)
        };
        let unit = if exponent >= 0 { 2u64 } else { 5 };
        for _ in 0..times / step {
            multiply(&mut limbs, factor);
        }
        multiply(&mut limbs, unit.pow((times % step).cast_unsigned()));
        let mut digits = Vec::with_capacity(limbs.len() * 9);
        for limb in limbs.iter().rev() {
            let mut divisor = BASE / 10;
            while divisor > 0 {
                digits.push((limb / divisor % 10) as u8);
                divisor /= 10;
            }
        }
        let leading = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..leading);
        let point = digits.len() as i32 - if exponent < 0 { times } else { 0 };
        let mut decimal = Self { digits, point };
        decimal.trim();
        decimal
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
    }

    /// The number rounded to `count` digits from the first, half to even. `count` may be below zero: then what is
    /// left is 0, as rounding up would need a value of at least half a unit.
    pub(super) fn rounded(&self, count: i64) -> Self {
        let Ok(count) = usize::try_from(count) else {
            return Self {
                digits: Vec::new(),
                point: self.point,
            };
        };
        let mut decimal = self.clone();
        if count >= self.digits.len() {
            return decimal;
        }
        let next = self.digits[count];
        let tail = self.digits[count + 1..].iter().any(|digit| *digit != 0);
        let odd = count > 0 && self.digits[count - 1] % 2 == 1;
        let up = next > 5 || next == 5 && (tail || odd);
        decimal.digits.truncate(count);
        if up {
            let mut at = count;
            loop {
                if at == 0 {
                    decimal.digits.insert(0, 1);
                    decimal.point += 1;
                    break;
                }
                at -= 1;
                if decimal.digits[at] < 9 {
                    decimal.digits[at] += 1;
                    break;
                }
                decimal.digits[at] = 0;
            }
        }
        decimal.trim();
        decimal
    }

    /// The digit with this weight: 0 is the ones, -1 the tenths.
    pub(super) fn digit(&self, weight: i64) -> u8 {
        let index = i64::from(self.point) - 1 - weight;
        usize::try_from(index)
            .ok()
            .and_then(|index| self.digits.get(index))
            .copied()
            .unwrap_or(0)
    }
}

fn multiply(limbs: &mut Vec<u64>, factor: u64) {
    let mut carry = 0u64;
    for limb in limbs.iter_mut() {
        // Below 10^9 * 2^31 + carry: no overflow.
        let product = *limb * factor + carry;
        *limb = product % BASE;
        carry = product / BASE;
    }
    while carry > 0 {
        limbs.push(carry % BASE);
        carry /= BASE;
    }
}
