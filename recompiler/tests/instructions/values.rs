//! Kinds of operands, and the values that they are tested on.

/// What the bits of an operand are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Kind {
    /// 16-bit word, in the low half.
    H,
    /// 32-bit word.
    W,
    /// 64-bit word.
    D,
    F16,
    F32,
    F64,
    /// Two halves.
    P16,
    /// Two binary16.
    PF16,
    /// A word used as a lane mask's bit: the row's carry, from bit 0 of the third operand.
    Carry,
}

use Kind::{F16, F32, F64, PF16};

impl Kind {
    pub fn is_float(self) -> bool {
        matches!(self, F16 | F32 | F64 | PF16)
    }

    pub fn is_wide(self) -> bool {
        matches!(self, Kind::D | F64)
    }

    fn edges(self) -> Vec<u64> {
        match self {
            F32 => [
                0x0000_0000_u32,
                0x8000_0000,
                0x3f80_0000,
                0xbf80_0000,
                0x3f00_0000,
                0x4000_0000,
                0xc020_0000,
                0x4b00_0001,
                0xcb80_0000,
                0x3fc0_0000,
                0x7f7f_ffff,
                0xff7f_ffff,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0x0080_0000,
                0x0000_0001,
                0x4f00_0000,
                0xcf00_0000,
                0x4f7f_ffff,
                0x3eaa_aaab,
                0x4049_0fdb,
                0x477f_e000,
                0x3380_0000,
            ]
            .map(u64::from)
            .to_vec(),
            F64 => [
                0.0_f64,
                -0.0,
                1.0,
                -1.0,
                0.5,
                2.0,
                -2.5,
                1.5,
                1e300,
                -1e300,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                f64::MIN_POSITIVE,
                3.0,
                1.0 / 3.0,
                2_147_483_648.0,
                -2_147_483_649.0,
                4_294_967_295.5,
                1e-300,
                1e38,
                1e39,
                0.1,
                4_503_599_627_370_497.5,
            ]
            .map(f64::to_bits)
            .to_vec(),
            F16 => [
                0_u64, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x4000, 0xc100, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                0x7e00, 0x0400, 0x0001, 0x3555, 0x4248, 0x6400, 0x6401, 0x3bff, 0x3c01, 0x8401, 0x5bff,
                0x7800, 0x2e66,
            ]
            .to_vec(),
            PF16 => [
                0_u64,
                0x8000_3c00,
                0x3c00_bc00,
                0x3800_4000,
                0xc100_7bff,
                0xfbff_0400,
                0x7c00_3c00,
                0xfc00_7c00,
                0x7e00_4248,
                0x3555_0001,
                0x6401_6400,
                0x4248_c248,
            ]
            .to_vec(),
            Kind::D => vec![
                0,
                1,
                u64::MAX,
                1 << 63,
                i64::MAX as u64,
                0xffff_ffff,
                1 << 32,
                0xffff_ffff_0000_0000,
                2,
                31,
                32,
                63,
                64,
                0x1234_5678_9abc_def0,
                0x8000_0000,
                0x7fff_ffff,
                0xaaaa_aaaa_5555_5555,
                0x10_0020,
                0x7f_001f,
                33,
                65,
                0xffff_fffe,
                0x40_0000,
                255,
            ],
            _ => vec![
                0,
                1,
                2,
                3,
                7,
                8,
                15,
                16,
                17,
                24,
                31,
                32,
                33,
                63,
                0x7fff,
                0x8000,
                0xffff,
                0x1_0000,
                0x7fff_ffff,
                0x8000_0000,
                0xffff_ffff,
                0x80ff_00ff,
                0x1234_5678,
                0x10_0004,
            ],
        }
    }

    /// A random value: any bits, or for floats mostly numbers of moderate size.
    fn random(self, next: &mut impl FnMut() -> u64) -> u64 {
        let bits = next();
        match self {
            F32 if bits >> 62 != 0 => {
                u64::from((bits as u32 & 0x807f_ffff) | (110 + (bits >> 40) as u32 % 36) << 23)
            }
            F64 if bits >> 62 != 0 => (bits & 0x800f_ffff_ffff_ffff) | (1000 + (next() % 48)) << 52,
            F16 => bits & 0xffff,
            F32 => bits & 0xffff_ffff,
            _ => bits,
        }
    }
}

/// How many tuples of operands a row is tested on.
pub const CASES: usize = 1024;

/// Tuples of three sources and the destination's old value.
pub fn cases(kinds: [Kind; 3], dst: Kind) -> Vec<[u64; 4]> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    // splitmix64: the same values on every machine.
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let edges = kinds.map(Kind::edges);
    let mut list = Vec::with_capacity(CASES);
    'all: for &a in &edges[0] {
        for &b in &edges[1] {
            let c = edges[2][(next() % edges[2].len() as u64) as usize];
            list.push([a, b, c, dst.random(&mut next)]);
            if list.len() == CASES / 2 + 128 {
                break 'all;
            }
        }
    }
    while list.len() < CASES {
        let mut one = [0; 4];
        for (slot, kind) in one.iter_mut().zip([kinds[0], kinds[1], kinds[2], dst]) {
            let edges = kind.edges();
            *slot = if next() % 8 == 0 {
                edges[(next() % edges.len() as u64) as usize]
            } else {
                kind.random(&mut next)
            };
        }
        list.push(one);
    }
    // Upper halves of narrow operands are whatever they are: nothing may depend on them.
    for one in &mut list {
        for (slot, kind) in one.iter_mut().zip([kinds[0], kinds[1], kinds[2], dst]) {
            if matches!(kind, Kind::H | F16) {
                *slot = (*slot & 0xffff) | (next() & 0xffff) << 16;
            }
        }
    }
    list
}

pub fn f16(bits: u64) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 31, bits & 0x3ff);
    let value = match exponent {
        0 => fraction as f32 * 2.0_f32.powi(-24),
        31 if fraction == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024 + fraction) as f32 * 2.0_f32.powi(exponent as i32 - 25),
    };
    if sign == 1 { -value } else { value }
}

/// Rounds to binary16, nearest even.
pub fn to_f16(value: f64) -> u64 {
    let sign = u64::from(value.is_sign_negative()) << 15;
    let x = value.abs();
    if x.is_nan() {
        return 0x7e00;
    }
    if x >= 65520.0 {
        return sign | 0x7c00;
    }
    // Units in the last place: of the smallest normal numbers down to zero they are all the same.
    let exponent = (x.to_bits() >> 52) as i64 - 1023;
    let unit = exponent.max(-14) - 10;
    let scaled = x * 2.0_f64.powi(-unit as i32);
    let rounded = scaled.round_ties_even() as u64;
    sign | ((((unit + 24) as u64) << 10) + rounded)
}

pub fn f32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

pub fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}
