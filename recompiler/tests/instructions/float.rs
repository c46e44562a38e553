//! Vector floats of 32 and 64 bits.

use super::run::{In, Near, Out, Row};
use super::values::Kind::{D, F32, F64, P16, W};
use super::values::{self, to_f16};

fn s(value: f32) -> Out {
    (u64::from(value.to_bits()), None)
}

fn d(value: f64) -> Out {
    (value.to_bits(), None)
}

fn w(value: u32) -> Out {
    (u64::from(value), None)
}

/// With one NaN the other operand.
fn min(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b { b } else { a }
}

fn max(a: f32, b: f32) -> f32 {
    if a.is_nan() || a < b { b } else { a }
}

pub fn min3([a, b, c]: [f32; 3]) -> f32 {
    min(min(a, b), c)
}

pub fn max3([a, b, c]: [f32; 3]) -> f32 {
    max(max(a, b), c)
}

/// With a NaN the least of the three.
pub fn median(three: [f32; 3]) -> f32 {
    if three.iter().any(|x| x.is_nan()) {
        return min3(three);
    }
    let mut sorted = three;
    sorted.sort_by(f32::total_cmp);
    sorted[1]
}

/// 0 times anything is 0.
fn legacy(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// Face, s, t and major axis of a direction.
fn cube([x, y, z]: [f32; 3]) -> [f32; 4] {
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        let back = z < 0.0;
        [
            if back { 5.0 } else { 4.0 },
            if back { -x } else { x },
            -y,
            2.0 * z,
        ]
    } else if y.abs() >= x.abs() {
        let down = y < 0.0;
        [
            if down { 3.0 } else { 2.0 },
            x,
            if down { -z } else { z },
            2.0 * y,
        ]
    } else {
        let left = x < 0.0;
        [
            if left { 1.0 } else { 0.0 },
            if left { z } else { -z },
            -y,
            2.0 * x,
        ]
    }
}

/// Directions that are none, or so long that twice the axis is too large.
fn no_direction(x: In) -> bool {
    x.floats()
        .iter()
        .any(|float| float.is_nan() || float.abs() > f32::MAX / 4.0)
}

fn exponent(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let bits = value.to_bits() >> 52 & 0x7ff;
    if bits == 0 {
        return exponent(value * 2.0_f64.powi(64)) - 64;
    }
    bits as i32 - 1022
}

fn mantissa(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let shift = exponent(value);
    // In two steps: the power alone may be out of range.
    value * 2.0_f64.powi(-(shift / 2)) * 2.0_f64.powi(-(shift - shift / 2))
}

fn scaled(value: f64, by: i32) -> f64 {
    let mut value = value;
    let mut rest = by.clamp(-4400, 4400);
    while rest != 0 {
        let step = rest.clamp(-500, 500);
        value *= 2.0_f64.powi(step);
        rest -= step;
    }
    value
}

fn toward_zero(value: f32) -> u64 {
    let nearest = to_f16(f64::from(value));
    let back = values::f16(nearest);
    if back.abs() > value.abs() {
        nearest - 1
    } else {
        nearest
    }
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

const EXACT_POWER: Near = Near::Relative(1e-5);

pub const ROWS: &[Row] = &[
    Row::new("v_add_f32_e64", F32, &[F32, F32], |x| {
        s(x.floats()[0] + x.floats()[1])
    }),
    Row::new("v_sub_f32_e64", F32, &[F32, F32], |x| {
        s(x.floats()[0] - x.floats()[1])
    }),
    Row::new("v_subrev_f32_e64", F32, &[F32, F32], |x| {
        s(x.floats()[1] - x.floats()[0])
    }),
    Row::new("v_mul_f32_e64", F32, &[F32, F32], |x| {
        s(x.floats()[0] * x.floats()[1])
    }),
    Row::new("v_mul_legacy_f32_e64", F32, &[F32, F32], |x| {
        s(legacy(x.floats()[0], x.floats()[1]))
    })
    .zeros(),
    Row::new("v_min_f32_e64", F32, &[F32, F32], |x| {
        s(min(x.floats()[0], x.floats()[1]))
    })
    .zeros(),
    Row::new("v_max_f32_e64", F32, &[F32, F32], |x| {
        s(max(x.floats()[0], x.floats()[1]))
    })
    .zeros(),
    Row::new("v_mac_f32_e64", F32, &[F32, F32], |x| {
        let [a, b, _] = x.floats();
        s(a * b + values::f32(x.d))
    }),
    Row::new("v_mac_legacy_f32_e64", F32, &[F32, F32], |x| {
        let [a, b, _] = x.floats();
        s(legacy(a, b) + values::f32(x.d))
    })
    .zeros(),
    Row::new("v_fmac_f32_e64", F32, &[F32, F32], |x| {
        let [a, b, _] = x.floats();
        s(a.mul_add(b, values::f32(x.d)))
    })
    .or(|x| s(x.floats()[0] * x.floats()[1] + values::f32(x.d))),
    Row::new("v_mad_f32", F32, &[F32, F32, F32], |x| {
        let [a, b, c] = x.floats();
        s(a * b + c)
    }),
    Row::new("v_mad_legacy_f32", F32, &[F32, F32, F32], |x| {
        let [a, b, c] = x.floats();
        s(legacy(a, b) + c)
    })
    .zeros(),
    Row::new("v_fma_f32", F32, &[F32, F32, F32], |x| {
        let [a, b, c] = x.floats();
        s(a.mul_add(b, c))
    })
    .or(|x| s(x.floats()[0] * x.floats()[1] + x.floats()[2])),
    Row::new("v_min3_f32", F32, &[F32, F32, F32], |x| s(min3(x.floats()))).zeros(),
    Row::new("v_max3_f32", F32, &[F32, F32, F32], |x| s(max3(x.floats()))).zeros(),
    Row::new("v_med3_f32", F32, &[F32, F32, F32], |x| s(median(x.floats()))).zeros(),
    Row::new("v_cubeid_f32", F32, &[F32, F32, F32], |x| s(cube(x.floats())[0])).skip(no_direction),
    Row::new("v_cubesc_f32", F32, &[F32, F32, F32], |x| s(cube(x.floats())[1])).skip(no_direction),
    Row::new("v_cubetc_f32", F32, &[F32, F32, F32], |x| s(cube(x.floats())[2])).skip(no_direction),
    Row::new("v_cubema_f32", F32, &[F32, F32, F32], |x| s(cube(x.floats())[3])).skip(no_direction),
    Row::new("v_ldexp_f32", F32, &[F32, W], |x| {
        s(scaled(f64::from(x.floats()[0]), x.signed()[1]) as f32)
    })
    // Mesa multiplies by powers that are flushed to zero down there.
    .skip(|x| x.floats()[0].is_infinite() && x.signed()[1] < -252 || x.floats()[0].is_subnormal()),
    Row::new("v_fract_f32_e64", F32, &[F32], |x| {
        let a = x.floats()[0];
        let rest = a - a.floor();
        s(if rest >= 1.0 {
            f32::from_bits(0x3f7f_ffff)
        } else {
            rest
        })
    })
    .zeros(),
    Row::new("v_trunc_f32_e64", F32, &[F32], |x| s(x.floats()[0].trunc())),
    Row::new("v_ceil_f32_e64", F32, &[F32], |x| s(x.floats()[0].ceil())).zeros(),
    Row::new("v_rndne_f32_e64", F32, &[F32], |x| {
        s(x.floats()[0].round_ties_even())
    })
    .zeros(),
    Row::new("v_floor_f32_e64", F32, &[F32], |x| s(x.floats()[0].floor())),
    Row::new("v_exp_f32_e64", F32, &[F32], |x| s(x.floats()[0].exp2())).near(EXACT_POWER),
    Row::new("v_log_f32_e64", F32, &[F32], |x| s(x.floats()[0].log2())).near(EXACT_POWER),
    Row::new("v_rcp_f32_e64", F32, &[F32], |x| s(1.0 / x.floats()[0])).near(Near::Ulp(1)),
    Row::new("v_rcp_iflag_f32_e64", F32, &[F32], |x| s(1.0 / x.floats()[0])).near(Near::Ulp(1)),
    Row::new("v_rsq_f32_e64", F32, &[F32], |x| {
        s((1.0 / f64::from(x.floats()[0]).sqrt()) as f32)
    })
    .near(Near::Ulp(2)),
    Row::new("v_sqrt_f32_e64", F32, &[F32], |x| s(x.floats()[0].sqrt())).near(Near::Ulp(1)),
    // Turns; the chip's own domain is 256 of them either way.
    Row::new("v_sin_f32_e64", F32, &[F32], |x| {
        s((f64::from(x.floats()[0]) * std::f64::consts::TAU).sin() as f32)
    })
    .near(Near::Relative(1e-3))
    .skip(|x| x.floats()[0].abs() > 256.0),
    Row::new("v_cos_f32_e64", F32, &[F32], |x| {
        s((f64::from(x.floats()[0]) * std::f64::consts::TAU).cos() as f32)
    })
    .near(Near::Relative(1e-3))
    .skip(|x| x.floats()[0].abs() > 256.0),
    Row::new("v_frexp_exp_i32_f32_e64", W, &[F32], |x| {
        w(exponent(f64::from(x.floats()[0])).cast_unsigned())
    })
    .skip(|x| x.floats()[0].is_subnormal()),
    Row::new("v_frexp_mant_f32_e64", F32, &[F32], |x| {
        s(mantissa(f64::from(x.floats()[0])) as f32)
    })
    .skip(|x| x.floats()[0].is_subnormal()),
    Row::new("v_cvt_u32_f32_e64", W, &[F32], |x| w(x.floats()[0] as u32)),
    Row::new("v_cvt_i32_f32_e64", W, &[F32], |x| {
        w((x.floats()[0] as i32).cast_unsigned())
    }),
    Row::new("v_cvt_rpi_i32_f32_e64", W, &[F32], |x| {
        w(((x.floats()[0] + 0.5).floor() as i32).cast_unsigned())
    }),
    Row::new("v_cvt_flr_i32_f32_e64", W, &[F32], |x| {
        w((x.floats()[0].floor() as i32).cast_unsigned())
    }),
    Row::new("v_cvt_f16_f32_e64", values::Kind::F16, &[F32], |x| {
        (to_f16(f64::from(x.floats()[0])), None)
    }),
    Row::new("v_cvt_pkrtz_f16_f32_e64", P16, &[F32, F32], |x| {
        let [a, b, _] = x.floats().map(toward_zero);
        (a | b << 16, None)
    })
    .skip(|x| x.floats()[0].is_nan() || x.floats()[1].is_nan()),
    Row::new("v_cvt_pknorm_i16_f32", P16, &[F32, F32], |x| {
        let [a, b, _] = x.floats();
        (norm(a, true) | norm(b, true) << 16, None)
    })
    .near(Near::Ulp(1)),
    Row::new("v_cvt_pknorm_u16_f32", P16, &[F32, F32], |x| {
        let [a, b, _] = x.floats();
        (norm(a, false) | norm(b, false) << 16, None)
    })
    .near(Near::Ulp(1)),
    Row::new("v_cvt_pk_u8_f32", W, &[F32, W, W], |x| {
        let byte = u32::from(x.floats()[0].round_ties_even() as u8);
        let at = 8 * (x.b as u32 & 3);
        w(x.c as u32 & !(0xff << at) | byte << at)
    }),
    Row::new("v_mullit_f32", F32, &[F32, F32, F32], |x| {
        let [a, b, c] = x.floats();
        let special = b == -f32::MAX || b == f32::NEG_INFINITY || b.is_nan() || c <= 0.0 || c.is_nan();
        s(if special { -f32::MAX } else { legacy(a, b) })
    })
    .zeros(),
    Row::new("v_div_fixup_f32", F32, &[F32, F32, F32], |x| {
        let [_, b, c] = x.floats();
        s(c / b)
    })
    .near(Near::Ulp(1)),
    Row::new("v_cvt_f64_f32_e64", F64, &[F32], |x| d(f64::from(x.floats()[0]))),
    Row::new("v_add_f64", F64, &[F64, F64], |x| {
        d(x.doubles()[0] + x.doubles()[1])
    }),
    Row::new("v_mul_f64", F64, &[F64, F64], |x| {
        d(x.doubles()[0] * x.doubles()[1])
    }),
    Row::new("v_min_f64", F64, &[F64, F64], |x| {
        d(x.doubles()[0].min(x.doubles()[1]))
    })
    .zeros(),
    Row::new("v_max_f64", F64, &[F64, F64], |x| {
        d(x.doubles()[0].max(x.doubles()[1]))
    })
    .zeros(),
    Row::new("v_fma_f64", F64, &[F64, F64, F64], |x| {
        let [a, b, c] = x.doubles();
        d(a.mul_add(b, c))
    })
    .or(|x| d(x.doubles()[0] * x.doubles()[1] + x.doubles()[2])),
    Row::new("v_ldexp_f64", F64, &[F64, W], |x| {
        d(scaled(x.doubles()[0], x.signed()[1]))
    })
    // Rounded twice on the way to a denormal number, here as there; and as in 32 bits.
    .skip(|x| {
        scaled(x.doubles()[0], x.signed()[1]).is_subnormal()
            || x.doubles()[0].is_infinite() && x.signed()[1] < -1022
    }),
    Row::new("v_trunc_f64_e64", F64, &[F64], |x| d(x.doubles()[0].trunc())).zeros(),
    Row::new("v_ceil_f64_e64", F64, &[F64], |x| d(x.doubles()[0].ceil())).zeros(),
    Row::new("v_rndne_f64_e64", F64, &[F64], |x| {
        d(x.doubles()[0].round_ties_even())
    })
    .zeros(),
    Row::new("v_floor_f64_e64", F64, &[F64], |x| d(x.doubles()[0].floor())).zeros(),
    Row::new("v_fract_f64_e64", F64, &[F64], |x| {
        let a = x.doubles()[0];
        let rest = a - a.floor();
        d(if rest >= 1.0 { 1.0_f64.next_down() } else { rest })
    })
    .zeros(),
    Row::new("v_rcp_f64_e64", F64, &[F64], |x| d(1.0 / x.doubles()[0])).near(Near::Ulp(2)),
    Row::new("v_rsq_f64_e64", F64, &[F64], |x| d(1.0 / x.doubles()[0].sqrt())).near(Near::Ulp(4)),
    Row::new("v_sqrt_f64_e64", F64, &[F64], |x| d(x.doubles()[0].sqrt())).near(Near::Ulp(2)),
    Row::new("v_frexp_exp_i32_f64_e64", W, &[F64], |x| {
        w(exponent(x.doubles()[0]).cast_unsigned())
    }),
    Row::new("v_frexp_mant_f64_e64", F64, &[F64], |x| {
        d(mantissa(x.doubles()[0]))
    }),
    Row::new("v_cvt_i32_f64_e64", W, &[F64], |x| {
        w((x.doubles()[0] as i32).cast_unsigned())
    }),
    Row::new("v_cvt_u32_f64_e64", W, &[F64], |x| w(x.doubles()[0] as u32)),
    Row::new("v_cvt_f32_f64_e64", F32, &[F64], |x| s(x.doubles()[0] as f32)),
    Row::new("v_cvt_f64_i32_e64", F64, &[W], |x| d(f64::from(x.signed()[0]))),
    Row::new("v_cvt_f64_u32_e64", F64, &[W], |x| d(f64::from(x.words()[0]))),
    Row::new("v_div_fixup_f64", F64, &[F64, F64, F64], |x| {
        let [_, b, c] = x.doubles();
        d(c / b)
    })
    .near(Near::Ulp(1)),
    Row::new("v_bfrev_b32_e64", W, &[D], |x| w((x.a as u32).reverse_bits())),
];
