//! Vector binary16.

use super::float::{max3, median, min3};
use super::run::{In, Near, Out, Row};
use super::values::Kind::{F16, F32, H, P16, PF16, W};
use super::values::{self, to_f16};

fn h(value: f64) -> Out {
    (to_f16(value), None)
}

/// 64-bit floats hold every sum and product of two halves, and all but few sums of three.
fn wide(x: In) -> [f64; 3] {
    x.halves().map(f64::from)
}

fn old(x: In) -> f64 {
    f64::from(values::f16(x.d))
}

fn min(a: f32, b: f32) -> f64 {
    f64::from(a.min(b))
}

fn max(a: f32, b: f32) -> f64 {
    f64::from(a.max(b))
}

fn packed(x: In, f: fn([f64; 3]) -> f64) -> Out {
    let half = |at: u32| {
        let three = [x.a, x.b, x.c].map(|word| f64::from(values::f16(word >> at)));
        to_f16(f(three))
    };
    (half(0) | half(16) << 16, None)
}

fn exponent(value: f32) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    (value.to_bits() >> 23 & 0xff) as i32 - 126
}

fn integer(value: i32) -> Out {
    (u64::from(value.cast_unsigned() & 0xffff), None)
}

fn norm(value: f32, signed: bool) -> u64 {
    let low = if signed { -1.0 } else { 0.0 };
    let value = if value.is_nan() {
        0.0
    } else {
        f64::from(value).clamp(low, 1.0)
    };
    let scale = if signed { 32767.0 } else { 65535.0 };
    (value * scale).round_ties_even() as i64 as u64 & 0xffff
}

/// Computed in 32 bits and rounded again: one unit more.
const TWICE: Near = Near::Ulp(1);

pub const ROWS: &[Row] = &[
    Row::new("v_add_f16_e64", F16, &[F16, F16], |x| h(wide(x)[0] + wide(x)[1])),
    Row::new("v_sub_f16_e64", F16, &[F16, F16], |x| h(wide(x)[0] - wide(x)[1])),
    Row::new("v_subrev_f16_e64", F16, &[F16, F16], |x| {
        h(wide(x)[1] - wide(x)[0])
    }),
    Row::new("v_mul_f16_e64", F16, &[F16, F16], |x| h(wide(x)[0] * wide(x)[1])),
    Row::new("v_min_f16_e64", F16, &[F16, F16], |x| {
        h(min(x.halves()[0], x.halves()[1]))
    })
    .zeros(),
    Row::new("v_max_f16_e64", F16, &[F16, F16], |x| {
        h(max(x.halves()[0], x.halves()[1]))
    })
    .zeros(),
    Row::new("v_fmac_f16_e64", F16, &[F16, F16], |x| {
        h(wide(x)[0] * wide(x)[1] + old(x))
    })
    .near(TWICE),
    Row::new("v_fma_f16", F16, &[F16, F16, F16], |x| {
        h(wide(x)[0] * wide(x)[1] + wide(x)[2])
    })
    .near(TWICE),
    Row::new("v_min3_f16", F16, &[F16, F16, F16], |x| {
        h(f64::from(min3(x.halves())))
    })
    .zeros(),
    Row::new("v_max3_f16", F16, &[F16, F16, F16], |x| {
        h(f64::from(max3(x.halves())))
    })
    .zeros(),
    Row::new("v_med3_f16", F16, &[F16, F16, F16], |x| {
        h(f64::from(median(x.halves())))
    })
    .zeros(),
    Row::new("v_div_fixup_f16", F16, &[F16, F16, F16], |x| {
        h(wide(x)[2] / wide(x)[1])
    })
    .near(TWICE),
    Row::new("v_ldexp_f16_e64", F16, &[F16, H], |x| {
        let by = i32::from((x.b as u16).cast_signed()).clamp(-60, 60);
        h(wide(x)[0] * 2.0_f64.powi(by))
    }),
    Row::new("v_fract_f16_e64", F16, &[F16], |x| {
        let a = wide(x)[0];
        let rest = a - a.floor();
        let half = to_f16(rest);
        (if half == 0x3c00 { 0x3bff } else { half }, None)
    })
    .zeros(),
    Row::new("v_trunc_f16_e64", F16, &[F16], |x| h(wide(x)[0].trunc())),
    Row::new("v_ceil_f16_e64", F16, &[F16], |x| h(wide(x)[0].ceil())).zeros(),
    Row::new(
        "v_rndne_f16_e64",
        F16,
        &[F16],
        |x| h(wide(x)[0].round_ties_even()),
    )
    .zeros(),
    Row::new("v_floor_f16_e64", F16, &[F16], |x| h(wide(x)[0].floor())),
    Row::new("v_exp_f16_e64", F16, &[F16], |x| h(wide(x)[0].exp2())).near(TWICE),
    Row::new("v_log_f16_e64", F16, &[F16], |x| h(wide(x)[0].log2())).near(TWICE),
    Row::new("v_rcp_f16_e64", F16, &[F16], |x| h(1.0 / wide(x)[0])).near(TWICE),
    Row::new("v_rsq_f16_e64", F16, &[F16], |x| h(1.0 / wide(x)[0].sqrt())).near(TWICE),
    Row::new("v_sqrt_f16_e64", F16, &[F16], |x| h(wide(x)[0].sqrt())).near(TWICE),
    Row::new("v_sin_f16_e64", F16, &[F16], |x| {
        h((wide(x)[0] * std::f64::consts::TAU).sin())
    })
    .near(Near::Relative(2e-3))
    .skip(|x| x.halves()[0].abs() > 256.0),
    Row::new("v_cos_f16_e64", F16, &[F16], |x| {
        h((wide(x)[0] * std::f64::consts::TAU).cos())
    })
    .near(Near::Relative(2e-3))
    .skip(|x| x.halves()[0].abs() > 256.0),
    Row::new("v_frexp_mant_f16_e64", F16, &[F16], |x| {
        let a = x.halves()[0];
        h(if a == 0.0 || !a.is_finite() {
            f64::from(a)
        } else {
            f64::from(a) * 2.0_f64.powi(-exponent(a))
        })
    }),
    Row::new("v_frexp_exp_i16_f16_e64", H, &[F16], |x| {
        integer(exponent(x.halves()[0]))
    }),
    Row::new("v_cvt_u16_f16_e64", H, &[F16], |x| {
        integer(i32::from(x.halves()[0] as u16))
    }),
    Row::new("v_cvt_i16_f16_e64", H, &[F16], |x| {
        integer(i32::from(x.halves()[0] as i16))
    }),
    Row::new("v_cvt_norm_i16_f16_e64", H, &[F16], |x| {
        (norm(x.halves()[0], true), None)
    })
    .near(TWICE),
    Row::new("v_cvt_norm_u16_f16_e64", H, &[F16], |x| {
        (norm(x.halves()[0], false), None)
    })
    .near(TWICE),
    Row::new("v_cvt_f32_f16_e64", F32, &[F16], |x| {
        (u64::from(x.halves()[0].to_bits()), None)
    }),
    Row::new("v_pack_b32_f16", W, &[F16, F16], |x| {
        ((x.a & 0xffff) | (x.b & 0xffff) << 16, None)
    }),
    Row::new("v_cvt_pknorm_i16_f16", P16, &[F16, F16], |x| {
        let [a, b, _] = x.halves();
        (norm(a, true) | norm(b, true) << 16, None)
    })
    .near(Near::Ulp(1)),
    Row::new("v_cvt_pknorm_u16_f16", P16, &[F16, F16], |x| {
        let [a, b, _] = x.halves();
        (norm(a, false) | norm(b, false) << 16, None)
    })
    .near(Near::Ulp(1)),
    Row::new("v_pk_add_f16", PF16, &[PF16, PF16], |x| {
        packed(x, |[a, b, _]| a + b)
    }),
    Row::new("v_pk_mul_f16", PF16, &[PF16, PF16], |x| {
        packed(x, |[a, b, _]| a * b)
    }),
    Row::new("v_pk_min_f16", PF16, &[PF16, PF16], |x| {
        packed(x, |[a, b, _]| a.min(b))
    })
    .zeros(),
    Row::new("v_pk_max_f16", PF16, &[PF16, PF16], |x| {
        packed(x, |[a, b, _]| a.max(b))
    })
    .zeros(),
    Row::new("v_pk_fma_f16", PF16, &[PF16, PF16, PF16], |x| {
        packed(x, |[a, b, c]| a * b + c)
    })
    .near(TWICE),
];
