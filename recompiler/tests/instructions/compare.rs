//! Vector comparisons: a row for every relation and type.

use super::run::{In, Out, Row};
use super::values::Kind::{self, D, F16, F32, F64, H, W};

/// Relations by number: bit 0 less, bit 1 equal, bit 2 greater; of floats from 8 on with operands that are unordered.
fn relate(relation: u32, order: Option<std::cmp::Ordering>) -> Out {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let truth = match order {
        Some(Less) => relation & 1 != 0,
        Some(Equal) => relation & 2 != 0,
        Some(Greater) => relation & 4 != 0,
        None => relation & 8 != 0,
    };
    (0, Some(truth))
}

macro_rules! models {
    ($list:ident, $dst:expr, $kind:expr, $ty:literal, $read:expr, [$($name:literal = $number:literal),*]) => {
        $($list.push(Row::new(
            concat!("v_cmp_", $name, "_", $ty, "_e64"),
            $dst,
            const { &[$kind, $kind] },
            |x: In| {
                let (a, b) = $read(x);
                let (result, mask) = relate($number, a.partial_cmp(&b));
                (result | x.d, mask)
            },
        ));)*
    };
}

macro_rules! integers {
    ($list:ident, $kind:expr, $ty:literal, $read:expr, [$($more:literal = $bits:literal),*]) => {
        models!($list, D, $kind, $ty, $read, [
            "lt" = 1, "eq" = 2, "le" = 3, "gt" = 4, "ne" = 5, "ge" = 6 $(, $more = $bits)*
        ]);
    };
}

macro_rules! floats {
    ($list:ident, $kind:expr, $ty:literal, $read:expr) => {
        models!(
            $list,
            D,
            $kind,
            $ty,
            $read,
            [
                "f" = 0,
                "lt" = 1,
                "eq" = 2,
                "le" = 3,
                "gt" = 4,
                "lg" = 5,
                "ge" = 6,
                "o" = 7,
                "u" = 8,
                "nge" = 9,
                "nlg" = 10,
                "ngt" = 11,
                "nle" = 12,
                "neq" = 13,
                "nlt" = 14,
                "tru" = 15
            ]
        );
    };
}

/// Class bits: signalling and quiet NaN, then from minus infinity to infinity.
fn class(negative: bool, exponent: u32, top: u32, fraction: u64, quiet: u64) -> u32 {
    let kind = match (exponent, fraction) {
        (e, f) if e == top && f & quiet != 0 => return 1,
        (e, f) if e == top && f != 0 => return 0,
        (e, _) if e == top => 0,
        (0, 0) => 3,
        (0, _) => 2,
        _ => 1,
    };
    if negative { 2 + kind } else { 9 - kind }
}

const CLASSES: &[Row] = &[
    Row::new("v_cmp_class_f32_e64", D, &[F32, W], |x| {
        let a = x.a;
        let bit = class(
            a >> 31 & 1 != 0,
            (a >> 23 & 0xff) as u32,
            0xff,
            a & 0x7f_ffff,
            1 << 22,
        );
        (x.d, Some(x.b >> bit & 1 != 0))
    }),
    Row::new("v_cmp_class_f64_e64", D, &[F64, W], |x| {
        let a = x.a;
        let bit = class(
            a >> 63 != 0,
            (a >> 52 & 0x7ff) as u32,
            0x7ff,
            a & 0xf_ffff_ffff_ffff,
            1 << 51,
        );
        (x.d, Some(x.b >> bit & 1 != 0))
    }),
    Row::new("v_cmp_class_f16_e64", D, &[F16, W], |x| {
        let a = x.a;
        let bit = class(a >> 15 & 1 != 0, (a >> 10 & 31) as u32, 31, a & 0x3ff, 1 << 9);
        (x.d, Some(x.b >> bit & 1 != 0))
    }),
];

pub fn rows() -> Vec<Row> {
    let mut list = CLASSES.to_vec();
    let _: Kind = W;
    integers!(
        list,
        W,
        "i32",
        |x: In| (x.signed()[0], x.signed()[1]),
        ["f" = 0, "t" = 7]
    );
    integers!(
        list,
        W,
        "u32",
        |x: In| (x.words()[0], x.words()[1]),
        ["f" = 0, "t" = 7]
    );
    integers!(
        list,
        D,
        "i64",
        |x: In| (x.a.cast_signed(), x.b.cast_signed()),
        ["f" = 0, "t" = 7]
    );
    integers!(list, D, "u64", |x: In| (x.a, x.b), ["f" = 0, "t" = 7]);
    integers!(
        list,
        H,
        "i16",
        |x: In| ((x.a as u16).cast_signed(), (x.b as u16).cast_signed()),
        []
    );
    integers!(list, H, "u16", |x: In| (x.a as u16, x.b as u16), []);
    floats!(list, F32, "f32", |x: In| (x.floats()[0], x.floats()[1]));
    floats!(list, F64, "f64", |x: In| (x.doubles()[0], x.doubles()[1]));
    floats!(list, F16, "f16", |x: In| (x.halves()[0], x.halves()[1]));
    list
}
