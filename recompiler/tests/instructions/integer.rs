//! Vector integers.

use super::run::{In, Out, Row};
use super::values::Kind::{Carry, D, F16, F32, H, P16, W};

fn w(value: u32) -> Out {
    (u64::from(value), None)
}

fn h(value: u32) -> Out {
    (u64::from(value & 0xffff), None)
}

fn signed16(x: In) -> [i32; 3] {
    x.words().map(|word| i32::from((word as u16).cast_signed()))
}

fn unsigned16(x: In) -> [u32; 3] {
    x.words().map(|word| word & 0xffff)
}

fn low24(x: In) -> [u32; 3] {
    x.words().map(|word| word & 0xff_ffff)
}

fn signed24(x: In) -> [i32; 3] {
    x.signed().map(|word| word << 8 >> 8)
}

fn bytes(word: u32) -> [u32; 4] {
    word.to_le_bytes().map(u32::from)
}

fn median<T: Ord>(mut three: [T; 3]) -> T {
    three.sort();
    let [_, middle, _] = three;
    middle
}

/// Sum of absolute differences of bytes; with `masked`, of those bytes that are not zero in the reference.
fn sad(a: u32, b: u32, masked: bool) -> u32 {
    bytes(a)
        .into_iter()
        .zip(bytes(b))
        .filter(|(_, reference)| !masked || *reference != 0)
        .map(|(x, y)| x.abs_diff(y))
        .sum()
}

fn quad_sad(x: In, masked: bool) -> u64 {
    (0..4)
        .map(|i| {
            let window = (x.a >> (8 * i)) as u32;
            let sum = sad(window, x.b as u32, masked) as u64 + (x.c >> (16 * i) & 0xffff);
            sum.min(0xffff) << (16 * i)
        })
        .sum()
}

fn halves(f: fn(u32, u32, u32, bool) -> i64, signed: bool) -> impl Fn(In) -> Out {
    move |x: In| {
        let mut word = 0;
        for half in 0..2 {
            let [a, b, c] = x.words().map(|word| word >> (16 * half) & 0xffff);
            let value = f(a, b, c, signed);
            let value = match (x.clamp, signed) {
                (true, true) => value.clamp(-0x8000, 0x7fff),
                (true, false) => value.clamp(0, 0xffff),
                _ => value,
            };
            word |= u64::from(value as u32 & 0xffff) << (16 * half);
        }
        (word, None)
    }
}

fn ext(value: u32, signed: bool) -> i64 {
    if signed {
        i64::from((value as u16).cast_signed())
    } else {
        i64::from(value)
    }
}

fn field(word: u32, offset: u32, count: u32) -> u32 {
    let (offset, count) = (offset & 31, count & 31);
    (word >> offset) & ((1_u32 << count) - 1)
}

fn permute(x: In) -> u32 {
    let both = u64::from(x.b as u32) | u64::from(x.a as u32) << 32;
    let mut word = 0;
    for (index, selector) in (x.c as u32).to_le_bytes().into_iter().enumerate() {
        let byte = match selector {
            0..=7 => (both >> (8 * selector)) as u8,
            8..=11 => {
                if both >> (16 * (selector - 8) + 15) & 1 != 0 {
                    0xff
                } else {
                    0
                }
            }
            12 => 0,
            _ => 0xff,
        };
        word |= u32::from(byte) << (8 * index);
    }
    word
}

fn carry(sum: i64, x: In, subtracts: bool) -> Out {
    let over = if subtracts {
        sum < 0
    } else {
        sum > i64::from(u32::MAX)
    };
    let word = if x.clamp && over {
        if subtracts { 0 } else { u32::MAX }
    } else {
        sum as u32
    };
    (u64::from(word), Some(over))
}

fn wide(x: [u32; 3]) -> [i64; 3] {
    x.map(i64::from)
}

pub const ROWS: &[Row] = &[
    Row::new("v_mov_b32_e64", W, &[W], |x| w(x.a as u32)),
    Row::new("v_not_b32_e64", W, &[W], |x| w(!x.words()[0])),
    Row::new("v_bfrev_b32_e64", W, &[W], |x| w(x.words()[0].reverse_bits())),
    Row::new("v_ffbh_u32_e64", W, &[W], |x| {
        let a = x.words()[0];
        w(if a == 0 { u32::MAX } else { a.leading_zeros() })
    }),
    Row::new("v_ffbl_b32_e64", W, &[W], |x| {
        let a = x.words()[0];
        w(if a == 0 { u32::MAX } else { a.trailing_zeros() })
    }),
    Row::new("v_ffbh_i32_e64", W, &[W], |x| {
        let a = x.signed()[0];
        w(if a == 0 || a == -1 {
            u32::MAX
        } else {
            (a ^ a >> 31).leading_zeros()
        })
    }),
    Row::new("v_add_nc_u32_e64", W, &[W, W], |x| {
        let [a, b, _] = x.words();
        w(if x.clamp {
            a.saturating_add(b)
        } else {
            a.wrapping_add(b)
        })
    })
    .clamps(),
    Row::new("v_sub_nc_u32_e64", W, &[W, W], |x| {
        let [a, b, _] = x.words();
        w(if x.clamp {
            a.saturating_sub(b)
        } else {
            a.wrapping_sub(b)
        })
    })
    .clamps(),
    Row::new("v_subrev_nc_u32_e64", W, &[W, W], |x| {
        let [a, b, _] = x.words();
        w(if x.clamp {
            b.saturating_sub(a)
        } else {
            b.wrapping_sub(a)
        })
    })
    .clamps(),
    Row::new("v_add_nc_i32", W, &[W, W], |x| {
        let [a, b, _] = x.signed();
        w(if x.clamp {
            a.saturating_add(b)
        } else {
            a.wrapping_add(b)
        }
        .cast_unsigned())
    })
    .clamps(),
    Row::new("v_sub_nc_i32", W, &[W, W], |x| {
        let [a, b, _] = x.signed();
        w(if x.clamp {
            a.saturating_sub(b)
        } else {
            a.wrapping_sub(b)
        }
        .cast_unsigned())
    })
    .clamps(),
    Row::new("v_add_co_u32", W, &[W, W], |x| {
        let [a, b, _] = wide(x.words());
        carry(a + b, x, false)
    })
    .clamps(),
    Row::new("v_sub_co_u32", W, &[W, W], |x| {
        let [a, b, _] = wide(x.words());
        carry(a - b, x, true)
    })
    .clamps(),
    Row::new("v_subrev_co_u32", W, &[W, W], |x| {
        let [a, b, _] = wide(x.words());
        carry(b - a, x, true)
    })
    .clamps(),
    Row::new("v_add_co_ci_u32_e64", W, &[W, W, Carry], |x| {
        let [a, b, _] = wide(x.words());
        carry(a + b + i64::from(x.carry), x, false)
    })
    .clamps(),
    Row::new("v_sub_co_ci_u32_e64", W, &[W, W, Carry], |x| {
        let [a, b, _] = wide(x.words());
        carry(a - b - i64::from(x.carry), x, true)
    })
    .clamps(),
    Row::new("v_subrev_co_ci_u32_e64", W, &[W, W, Carry], |x| {
        let [a, b, _] = wide(x.words());
        carry(b - a - i64::from(x.carry), x, true)
    })
    .clamps(),
    Row::new("v_cndmask_b32_e64", W, &[W, W, Carry], |x| {
        w(if x.carry { x.b } else { x.a } as u32)
    }),
    Row::new("v_and_b32_e64", W, &[W, W], |x| w((x.a & x.b) as u32)),
    Row::new("v_or_b32_e64", W, &[W, W], |x| w((x.a | x.b) as u32)),
    Row::new("v_xor_b32_e64", W, &[W, W], |x| w((x.a ^ x.b) as u32)),
    Row::new("v_xnor_b32_e64", W, &[W, W], |x| w(!(x.a ^ x.b) as u32)),
    Row::new("v_lshlrev_b32_e64", W, &[W, W], |x| w(x.words()[1] << (x.a & 31))),
    Row::new("v_lshrrev_b32_e64", W, &[W, W], |x| w(x.words()[1] >> (x.a & 31))),
    Row::new("v_ashrrev_i32_e64", W, &[W, W], |x| {
        w((x.signed()[1] >> (x.a & 31)).cast_unsigned())
    }),
    Row::new("v_min_i32_e64", W, &[W, W], |x| {
        w(x.signed()[0].min(x.signed()[1]).cast_unsigned())
    }),
    Row::new("v_max_i32_e64", W, &[W, W], |x| {
        w(x.signed()[0].max(x.signed()[1]).cast_unsigned())
    }),
    Row::new("v_min_u32_e64", W, &[W, W], |x| w(x.words()[0].min(x.words()[1]))),
    Row::new("v_max_u32_e64", W, &[W, W], |x| w(x.words()[0].max(x.words()[1]))),
    Row::new("v_mul_lo_u32", W, &[W, W], |x| {
        w(x.words()[0].wrapping_mul(x.words()[1]))
    }),
    Row::new("v_mul_lo_i32", W, &[W, W], |x| {
        w(x.words()[0].wrapping_mul(x.words()[1]))
    }),
    Row::new("v_mul_hi_u32", W, &[W, W], |x| w(((x.a * x.b) >> 32) as u32)),
    Row::new("v_mul_hi_i32", W, &[W, W], |x| {
        let [a, b, _] = x.signed().map(i64::from);
        w(((a * b) >> 32) as u32)
    }),
    Row::new("v_mul_u32_u24_e64", W, &[W, W], |x| {
        let [a, b, _] = low24(x);
        w(a.wrapping_mul(b))
    }),
    Row::new("v_mul_hi_u32_u24_e64", W, &[W, W], |x| {
        let [a, b, _] = low24(x).map(u64::from);
        w(((a * b) >> 32) as u32)
    }),
    Row::new("v_mul_i32_i24_e64", W, &[W, W], |x| {
        let [a, b, _] = signed24(x);
        w(a.wrapping_mul(b).cast_unsigned())
    }),
    Row::new("v_mul_hi_i32_i24_e64", W, &[W, W], |x| {
        let [a, b, _] = signed24(x).map(i64::from);
        w(((a * b) >> 32) as u32)
    }),
    Row::new("v_mad_u32_u24", W, &[W, W, W], |x| {
        let [a, b, _] = low24(x).map(u64::from);
        let sum = a * b + x.c;
        w(if x.clamp {
            sum.min(u64::from(u32::MAX))
        } else {
            sum
        } as u32)
    })
    .clamps(),
    Row::new("v_mad_i32_i24", W, &[W, W, W], |x| {
        let [a, b, _] = signed24(x).map(i64::from);
        let sum = a * b + i64::from(x.signed()[2]);
        w(if x.clamp {
            sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX))
        } else {
            sum
        } as u32)
    })
    .clamps(),
    Row::new("v_mad_u32_u16", W, &[H, H, W], |x| {
        let [a, b, _] = unsigned16(x);
        let sum = u64::from(a * b) + x.c;
        w(if x.clamp {
            sum.min(u64::from(u32::MAX))
        } else {
            sum
        } as u32)
    })
    .clamps(),
    Row::new("v_mad_i32_i16", W, &[H, H, W], |x| {
        let [a, b, _] = signed16(x).map(i64::from);
        let sum = a * b + i64::from(x.signed()[2]);
        w(if x.clamp {
            sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX))
        } else {
            sum
        } as u32)
    })
    .clamps(),
    Row::new("v_bfe_u32", W, &[W, W, W], |x| {
        let [a, b, c] = x.words();
        w(field(a, b, c))
    }),
    Row::new("v_bfe_i32", W, &[W, W, W], |x| {
        let [a, b, c] = x.words();
        let (offset, count) = (b & 31, c & 31);
        let value = if count == 0 {
            0
        } else if offset + count >= 32 {
            a.cast_signed() >> offset
        } else {
            (a << (32 - offset - count)).cast_signed() >> (32 - count)
        };
        w(value.cast_unsigned())
    }),
    Row::new("v_bfi_b32", W, &[W, W, W], |x| {
        let [a, b, c] = x.words();
        w(a & b | !a & c)
    }),
    Row::new("v_bfm_b32", W, &[W, W], |x| {
        w(((1_u32 << (x.a & 31)) - 1) << (x.b & 31))
    }),
    Row::new("v_alignbit_b32", W, &[W, W, W], |x| {
        w(((x.a << 32 | x.b) >> (x.c & 31)) as u32)
    }),
    Row::new("v_alignbyte_b32", W, &[W, W, W], |x| {
        w(((x.a << 32 | x.b) >> (8 * (x.c & 3))) as u32)
    }),
    Row::new("v_min3_i32", W, &[W, W, W], |x| {
        w(x.signed().into_iter().min().unwrap_or(0).cast_unsigned())
    }),
    Row::new("v_min3_u32", W, &[W, W, W], |x| {
        w(x.words().into_iter().min().unwrap_or(0))
    }),
    Row::new("v_max3_i32", W, &[W, W, W], |x| {
        w(x.signed().into_iter().max().unwrap_or(0).cast_unsigned())
    }),
    Row::new("v_max3_u32", W, &[W, W, W], |x| {
        w(x.words().into_iter().max().unwrap_or(0))
    }),
    Row::new("v_med3_i32", W, &[W, W, W], |x| {
        w(median(x.signed()).cast_unsigned())
    }),
    Row::new("v_med3_u32", W, &[W, W, W], |x| w(median(x.words()))),
    Row::new("v_add3_u32", W, &[W, W, W], |x| w((x.a + x.b + x.c) as u32)),
    Row::new("v_or3_b32", W, &[W, W, W], |x| w((x.a | x.b | x.c) as u32)),
    Row::new("v_xor3_b32", W, &[W, W, W], |x| w((x.a ^ x.b ^ x.c) as u32)),
    Row::new("v_and_or_b32", W, &[W, W, W], |x| w((x.a & x.b | x.c) as u32)),
    Row::new("v_lshl_or_b32", W, &[W, W, W], |x| {
        w(x.words()[0] << (x.b & 31) | x.words()[2])
    }),
    Row::new("v_lshl_add_u32", W, &[W, W, W], |x| {
        w((x.words()[0] << (x.b & 31)).wrapping_add(x.words()[2]))
    }),
    Row::new("v_add_lshl_u32", W, &[W, W, W], |x| {
        w(((x.a + x.b) as u32) << (x.c & 31))
    }),
    Row::new("v_xad_u32", W, &[W, W, W], |x| w(((x.a ^ x.b) + x.c) as u32)),
    Row::new("v_sad_u8", W, &[W, W, W], |x| {
        w(sad(x.a as u32, x.b as u32, false).wrapping_add(x.c as u32))
    }),
    Row::new("v_sad_hi_u8", W, &[W, W, W], |x| {
        w((sad(x.a as u32, x.b as u32, false) << 16).wrapping_add(x.c as u32))
    }),
    Row::new("v_sad_u16", W, &[W, W, W], |x| {
        let [a, b, c] = x.words();
        let sum = (a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16);
        w(sum.wrapping_add(c))
    }),
    Row::new("v_sad_u32", W, &[W, W, W], |x| {
        w(x.words()[0].abs_diff(x.words()[1]).wrapping_add(x.words()[2]))
    }),
    Row::new("v_msad_u8", W, &[W, W, W], |x| {
        w(sad(x.a as u32, x.b as u32, true).wrapping_add(x.c as u32))
    }),
    Row::new("v_qsad_pk_u16_u8", D, &[D, W, D], |x| (quad_sad(x, false), None)),
    Row::new("v_mqsad_pk_u16_u8", D, &[D, W, D], |x| (quad_sad(x, true), None)),
    Row::new("v_lerp_u8", W, &[W, W, W], |x| {
        let [a, b, c] = x.words().map(bytes);
        let mut word = [0; 4];
        for (index, byte) in word.iter_mut().enumerate() {
            *byte = ((a[index] + b[index] + (c[index] & 1)) >> 1) as u8;
        }
        w(u32::from_le_bytes(word))
    }),
    Row::new("v_perm_b32", W, &[W, W, W], |x| w(permute(x))),
    Row::new("v_bcnt_u32_b32", W, &[W, W], |x| {
        w(x.words()[0].count_ones().wrapping_add(x.words()[1]))
    }),
    Row::new("v_cvt_pk_u16_u32", W, &[W, W], |x| {
        let [a, b, _] = x.words().map(|word| word.min(0xffff));
        w(a | b << 16)
    }),
    Row::new("v_cvt_pk_i16_i32", W, &[W, W], |x| {
        let [a, b, _] = x
            .signed()
            .map(|word| word.clamp(-0x8000, 0x7fff).cast_unsigned() & 0xffff);
        w(a | b << 16)
    }),
    Row::new("v_sat_pk_u8_i16_e64", W, &[P16], |x| {
        let half = |at: u32| {
            i32::from(((x.a >> at) as u16).cast_signed())
                .clamp(0, 255)
                .cast_unsigned()
        };
        // Both bytes lie in the low half.
        (u64::from(half(0) | half(16) << 8) | x.d & 0xffff_0000, None)
    }),
    Row::new("v_lshlrev_b64", D, &[W, D], |x| (x.b << (x.a & 63), None)),
    Row::new("v_lshrrev_b64", D, &[W, D], |x| (x.b >> (x.a & 63), None)),
    Row::new("v_ashrrev_i64", D, &[W, D], |x| {
        ((x.b.cast_signed() >> (x.a & 63)).cast_unsigned(), None)
    }),
    Row::new("v_mad_u64_u32", D, &[W, W, D], |x| {
        let (sum, over) = (x.a * x.b).overflowing_add(x.c);
        (sum, Some(over))
    }),
    Row::new("v_mad_i64_i32", D, &[W, W, D], |x| {
        let [a, b, _] = x.signed().map(i64::from);
        let product = a * b;
        // The carry of the sum as the hardware adds it: of two 65-bit numbers.
        let sum = i128::from(product) + i128::from(x.c.cast_signed());
        (sum as u64, None)
    }),
    Row::new("v_add_nc_u16", H, &[H, H], |x| {
        let [a, b, _] = unsigned16(x);
        h(if x.clamp { (a + b).min(0xffff) } else { a + b })
    })
    .clamps(),
    Row::new("v_sub_nc_u16", H, &[H, H], |x| {
        let [a, b, _] = unsigned16(x);
        h(if x.clamp {
            a.saturating_sub(b)
        } else {
            a.wrapping_sub(b)
        })
    })
    .clamps(),
    Row::new("v_add_nc_i16", H, &[H, H], |x| {
        let [a, b, _] = signed16(x);
        h(if x.clamp {
            (a + b).clamp(-0x8000, 0x7fff)
        } else {
            a + b
        }
        .cast_unsigned())
    })
    .clamps(),
    Row::new("v_sub_nc_i16", H, &[H, H], |x| {
        let [a, b, _] = signed16(x);
        h(if x.clamp {
            (a - b).clamp(-0x8000, 0x7fff)
        } else {
            a - b
        }
        .cast_unsigned())
    })
    .clamps(),
    Row::new("v_mul_lo_u16", H, &[H, H], |x| {
        h(unsigned16(x)[0].wrapping_mul(unsigned16(x)[1]))
    }),
    Row::new("v_lshlrev_b16", H, &[H, H], |x| h(unsigned16(x)[1] << (x.a & 15))),
    Row::new("v_lshrrev_b16", H, &[H, H], |x| h(unsigned16(x)[1] >> (x.a & 15))),
    Row::new("v_ashrrev_i16", H, &[H, H], |x| {
        h((signed16(x)[1] >> (x.a & 15)).cast_unsigned())
    }),
    Row::new("v_max_u16", H, &[H, H], |x| {
        h(unsigned16(x)[0].max(unsigned16(x)[1]))
    }),
    Row::new("v_max_i16", H, &[H, H], |x| {
        h(signed16(x)[0].max(signed16(x)[1]).cast_unsigned())
    }),
    Row::new("v_min_u16", H, &[H, H], |x| {
        h(unsigned16(x)[0].min(unsigned16(x)[1]))
    }),
    Row::new("v_min_i16", H, &[H, H], |x| {
        h(signed16(x)[0].min(signed16(x)[1]).cast_unsigned())
    }),
    Row::new("v_mad_u16", H, &[H, H, H], |x| {
        let [a, b, c] = unsigned16(x).map(u64::from);
        h(if x.clamp {
            (a * b + c).min(0xffff)
        } else {
            a * b + c
        } as u32)
    })
    .clamps(),
    Row::new("v_mad_i16", H, &[H, H, H], |x| {
        let [a, b, c] = signed16(x).map(i64::from);
        h(if x.clamp {
            (a * b + c).clamp(-0x8000, 0x7fff)
        } else {
            a * b + c
        } as u32)
    })
    .clamps(),
    Row::new("v_min3_i16", H, &[H, H, H], |x| {
        h(signed16(x).into_iter().min().unwrap_or(0).cast_unsigned())
    }),
    Row::new("v_max3_i16", H, &[H, H, H], |x| {
        h(signed16(x).into_iter().max().unwrap_or(0).cast_unsigned())
    }),
    Row::new("v_med3_i16", H, &[H, H, H], |x| {
        h(median(signed16(x)).cast_unsigned())
    }),
    Row::new("v_min3_u16", H, &[H, H, H], |x| {
        h(unsigned16(x).into_iter().min().unwrap_or(0))
    }),
    Row::new("v_max3_u16", H, &[H, H, H], |x| {
        h(unsigned16(x).into_iter().max().unwrap_or(0))
    }),
    Row::new("v_med3_u16", H, &[H, H, H], |x| h(median(unsigned16(x)))),
    Row::new("v_pk_mad_i16", P16, &[P16, P16, P16], |x| {
        halves(|a, b, c, s| ext(a, s) * ext(b, s) + ext(c, s), true)(x)
    })
    .clamps(),
    Row::new("v_pk_mad_u16", P16, &[P16, P16, P16], |x| {
        halves(|a, b, c, s| ext(a, s) * ext(b, s) + ext(c, s), false)(x)
    })
    .clamps(),
    Row::new("v_pk_mul_lo_u16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s) * ext(b, s), false)(x)
    }),
    Row::new("v_pk_add_i16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s) + ext(b, s), true)(x)
    })
    .clamps(),
    Row::new("v_pk_sub_i16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s) - ext(b, s), true)(x)
    })
    .clamps(),
    Row::new("v_pk_add_u16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s) + ext(b, s), false)(x)
    })
    .clamps(),
    Row::new("v_pk_sub_u16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s) - ext(b, s), false)(x)
    })
    .clamps(),
    Row::new("v_pk_lshlrev_b16", P16, &[P16, P16], |x| {
        halves(|a, b, _, _| i64::from(b) << (a & 15), false)(x)
    }),
    Row::new("v_pk_lshrrev_b16", P16, &[P16, P16], |x| {
        halves(|a, b, _, _| i64::from(b >> (a & 15)), false)(x)
    }),
    Row::new("v_pk_ashrrev_i16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(b, s) >> (a & 15), true)(x)
    }),
    Row::new("v_pk_max_i16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s).max(ext(b, s)), true)(x)
    }),
    Row::new("v_pk_min_i16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s).min(ext(b, s)), true)(x)
    }),
    Row::new("v_pk_max_u16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s).max(ext(b, s)), false)(x)
    }),
    Row::new("v_pk_min_u16", P16, &[P16, P16], |x| {
        halves(|a, b, _, s| ext(a, s).min(ext(b, s)), false)(x)
    }),
    Row::new("v_cvt_f32_ubyte0_e64", F32, &[W], |x| {
        w(((x.a & 0xff) as f32).to_bits())
    }),
    Row::new("v_cvt_f32_ubyte1_e64", F32, &[W], |x| {
        w(((x.a >> 8 & 0xff) as f32).to_bits())
    }),
    Row::new("v_cvt_f32_ubyte2_e64", F32, &[W], |x| {
        w(((x.a >> 16 & 0xff) as f32).to_bits())
    }),
    Row::new("v_cvt_f32_ubyte3_e64", F32, &[W], |x| {
        w(((x.a >> 24 & 0xff) as f32).to_bits())
    }),
    Row::new("v_cvt_f32_i32_e64", F32, &[W], |x| {
        w((x.signed()[0] as f32).to_bits())
    }),
    Row::new("v_cvt_f32_u32_e64", F32, &[W], |x| {
        w((x.words()[0] as f32).to_bits())
    }),
    Row::new("v_cvt_off_f32_i4_e64", F32, &[W], |x| {
        let number = (x.a as u32) << 28;
        w(((number.cast_signed() >> 28) as f32 / 16.0).to_bits())
    }),
    Row::new("v_cvt_f16_u16_e64", F16, &[H], |x| {
        (super::values::to_f16(f64::from(unsigned16(x)[0])), None)
    }),
    Row::new("v_cvt_f16_i16_e64", F16, &[H], |x| {
        (super::values::to_f16(f64::from(signed16(x)[0])), None)
    }),
];
