//! Scalar instructions. The mask of a result is SCC.

use super::run::{In, Out, Row};
use super::values::Kind::{D, W};

fn keep(x: In, value: u32) -> Out {
    (u64::from(value), Some(x.carry))
}

/// SCC says that the result is not zero.
fn n(value: u32) -> Out {
    (u64::from(value), Some(value != 0))
}

fn n64(value: u64) -> Out {
    (value, Some(value != 0))
}

fn scc(value: u32, scc: bool) -> Out {
    (u64::from(value), Some(scc))
}

fn first(position: u32, width: u32) -> u32 {
    if position == width { u32::MAX } else { position }
}

fn shifted(x: In, count: u32) -> Out {
    let sum = ((x.a) << count) + x.b;
    scc(sum as u32, sum >> 32 != 0)
}

fn field(x: In, signed: bool) -> u32 {
    let [a, b, _] = x.words();
    let (offset, count) = (b & 31, (b >> 16 & 0x7f).min(32 - (b & 31)));
    if count == 0 {
        return 0;
    }
    let top = a << (32 - offset - count);
    if signed {
        (top.cast_signed() >> (32 - count)).cast_unsigned()
    } else {
        top >> (32 - count)
    }
}

fn field64(x: In, signed: bool) -> u64 {
    let b = x.b as u32;
    let (offset, count) = (b & 63, (b >> 16 & 0x7f).min(64 - (b & 63)));
    if count == 0 {
        return 0;
    }
    let top = x.a << (64 - offset - count);
    if signed {
        (top.cast_signed() >> (64 - count)).cast_unsigned()
    } else {
        top >> (64 - count)
    }
}

fn pack(x: In, a: u32, b: u32) -> Out {
    keep(x, (x.a as u32 >> a & 0xffff) | (x.b as u32 >> b & 0xffff) << 16)
}

/// A relation of the destination and the frame's immediate.
const IMMEDIATE: u32 = 0xffff_8005;
const SMALL: u32 = 0x8005;

/// A comparison leaves the destination.
fn truth(x: In, truth: bool) -> Out {
    (x.d, Some(truth))
}

pub const ROWS: &[Row] = &[
    Row::new("s_add_u32", W, &[W, W], |x| {
        scc((x.a + x.b) as u32, (x.a + x.b) >> 32 != 0)
    }),
    Row::new("s_sub_u32", W, &[W, W], |x| {
        scc(x.words()[0].wrapping_sub(x.words()[1]), x.a < x.b)
    }),
    Row::new("s_add_i32", W, &[W, W], |x| {
        let (sum, over) = x.signed()[0].overflowing_add(x.signed()[1]);
        scc(sum.cast_unsigned(), over)
    }),
    Row::new("s_sub_i32", W, &[W, W], |x| {
        let (sum, over) = x.signed()[0].overflowing_sub(x.signed()[1]);
        scc(sum.cast_unsigned(), over)
    }),
    Row::new("s_addc_u32", W, &[W, W], |x| {
        let sum = x.a + x.b + u64::from(x.carry);
        scc(sum as u32, sum >> 32 != 0)
    }),
    Row::new("s_subb_u32", W, &[W, W], |x| {
        let rest = x.a.cast_signed() - x.b.cast_signed() - i64::from(x.carry);
        scc(rest as u32, rest < 0)
    }),
    Row::new("s_min_i32", W, &[W, W], |x| {
        let [a, b, _] = x.signed();
        scc(a.min(b).cast_unsigned(), a < b)
    }),
    Row::new("s_min_u32", W, &[W, W], |x| scc(x.a.min(x.b) as u32, x.a < x.b)),
    Row::new("s_max_i32", W, &[W, W], |x| {
        let [a, b, _] = x.signed();
        scc(a.max(b).cast_unsigned(), a > b)
    }),
    Row::new("s_max_u32", W, &[W, W], |x| scc(x.a.max(x.b) as u32, x.a > x.b)),
    Row::new("s_cselect_b32", W, &[W, W], |x| {
        keep(x, if x.carry { x.a } else { x.b } as u32)
    }),
    Row::new("s_cselect_b64", D, &[D, D], |x| {
        (if x.carry { x.a } else { x.b }, Some(x.carry))
    }),
    Row::new("s_and_b32", W, &[W, W], |x| n((x.a & x.b) as u32)),
    Row::new("s_and_b64", D, &[D, D], |x| n64(x.a & x.b)),
    Row::new("s_or_b32", W, &[W, W], |x| n((x.a | x.b) as u32)),
    Row::new("s_or_b64", D, &[D, D], |x| n64(x.a | x.b)),
    Row::new("s_xor_b32", W, &[W, W], |x| n((x.a ^ x.b) as u32)),
    Row::new("s_xor_b64", D, &[D, D], |x| n64(x.a ^ x.b)),
    Row::new("s_andn2_b32", W, &[W, W], |x| n((x.a & !x.b) as u32)),
    Row::new("s_andn2_b64", D, &[D, D], |x| n64(x.a & !x.b)),
    Row::new("s_orn2_b32", W, &[W, W], |x| n((x.a | !x.b) as u32)),
    Row::new("s_orn2_b64", D, &[D, D], |x| n64(x.a | !x.b)),
    Row::new("s_nand_b32", W, &[W, W], |x| n(!(x.a & x.b) as u32)),
    Row::new("s_nand_b64", D, &[D, D], |x| n64(!(x.a & x.b))),
    Row::new("s_nor_b32", W, &[W, W], |x| n(!(x.a | x.b) as u32)),
    Row::new("s_nor_b64", D, &[D, D], |x| n64(!(x.a | x.b))),
    Row::new("s_xnor_b32", W, &[W, W], |x| n(!(x.a ^ x.b) as u32)),
    Row::new("s_xnor_b64", D, &[D, D], |x| n64(!(x.a ^ x.b))),
    Row::new("s_lshl_b32", W, &[W, W], |x| n(x.words()[0] << (x.b & 31))),
    Row::new("s_lshl_b64", D, &[D, W], |x| n64(x.a << (x.b & 63))),
    Row::new("s_lshr_b32", W, &[W, W], |x| n(x.words()[0] >> (x.b & 31))),
    Row::new("s_lshr_b64", D, &[D, W], |x| n64(x.a >> (x.b & 63))),
    Row::new("s_ashr_i32", W, &[W, W], |x| {
        n((x.signed()[0] >> (x.b & 31)).cast_unsigned())
    }),
    Row::new("s_ashr_i64", D, &[D, W], |x| {
        n64((x.a.cast_signed() >> (x.b & 63)).cast_unsigned())
    }),
    Row::new("s_bfm_b32", W, &[W, W], |x| {
        keep(x, ((1_u32 << (x.a & 31)) - 1) << (x.b & 31))
    }),
    Row::new("s_bfm_b64", D, &[W, W], |x| {
        (((1_u64 << (x.a & 63)) - 1) << (x.b & 63), Some(x.carry))
    }),
    Row::new("s_mul_i32", W, &[W, W], |x| {
        keep(x, x.words()[0].wrapping_mul(x.words()[1]))
    }),
    Row::new("s_bfe_u32", W, &[W, W], |x| n(field(x, false))),
    Row::new("s_bfe_i32", W, &[W, W], |x| n(field(x, true))),
    Row::new("s_bfe_u64", D, &[D, W], |x| n64(field64(x, false))),
    Row::new("s_bfe_i64", D, &[D, W], |x| n64(field64(x, true))),
    Row::new("s_absdiff_i32", W, &[W, W], |x| {
        let [a, b, _] = x.signed();
        n(if a > b {
            a.wrapping_sub(b)
        } else {
            b.wrapping_sub(a)
        }
        .cast_unsigned())
    }),
    Row::new("s_lshl1_add_u32", W, &[W, W], |x| shifted(x, 1)),
    Row::new("s_lshl2_add_u32", W, &[W, W], |x| shifted(x, 2)),
    Row::new("s_lshl3_add_u32", W, &[W, W], |x| shifted(x, 3)),
    Row::new("s_lshl4_add_u32", W, &[W, W], |x| shifted(x, 4)),
    Row::new("s_pack_ll_b32_b16", W, &[W, W], |x| pack(x, 0, 0)),
    Row::new("s_pack_lh_b32_b16", W, &[W, W], |x| pack(x, 0, 16)),
    Row::new("s_pack_hh_b32_b16", W, &[W, W], |x| pack(x, 16, 16)),
    Row::new("s_mul_hi_u32", W, &[W, W], |x| {
        keep(x, ((x.a * x.b) >> 32) as u32)
    }),
    Row::new("s_mul_hi_i32", W, &[W, W], |x| {
        let [a, b, _] = x.signed().map(i64::from);
        keep(x, ((a * b) >> 32) as u32)
    }),
    Row::new("s_mov_b32", W, &[W], |x| keep(x, x.words()[0])),
    Row::new("s_mov_b64", D, &[D], |x| (x.a, Some(x.carry))),
    Row::new("s_cmov_b32", W, &[W], |x| {
        keep(x, if x.carry { x.a } else { x.d } as u32)
    }),
    Row::new("s_cmov_b64", D, &[D], |x| {
        (if x.carry { x.a } else { x.d }, Some(x.carry))
    }),
    Row::new("s_not_b32", W, &[W], |x| n(!x.words()[0])),
    Row::new("s_not_b64", D, &[D], |x| n64(!x.a)),
    Row::new("s_brev_b32", W, &[W], |x| keep(x, x.words()[0].reverse_bits())),
    Row::new("s_brev_b64", D, &[D], |x| (x.a.reverse_bits(), Some(x.carry))),
    Row::new("s_bcnt0_i32_b32", W, &[W], |x| n(x.words()[0].count_zeros())),
    Row::new("s_bcnt0_i32_b64", W, &[D], |x| n(x.a.count_zeros())),
    Row::new("s_bcnt1_i32_b32", W, &[W], |x| n(x.words()[0].count_ones())),
    Row::new("s_bcnt1_i32_b64", W, &[D], |x| n(x.a.count_ones())),
    Row::new("s_ff0_i32_b32", W, &[W], |x| {
        keep(x, first(x.words()[0].trailing_ones(), 32))
    }),
    Row::new("s_ff0_i32_b64", W, &[D], |x| {
        keep(x, first(x.a.trailing_ones(), 64))
    }),
    Row::new("s_ff1_i32_b32", W, &[W], |x| {
        keep(x, first(x.words()[0].trailing_zeros(), 32))
    }),
    Row::new("s_ff1_i32_b64", W, &[D], |x| {
        keep(x, first(x.a.trailing_zeros(), 64))
    }),
    Row::new("s_flbit_i32_b32", W, &[W], |x| {
        keep(x, first(x.words()[0].leading_zeros(), 32))
    }),
    Row::new("s_flbit_i32_b64", W, &[D], |x| {
        keep(x, first(x.a.leading_zeros(), 64))
    }),
    Row::new("s_flbit_i32", W, &[W], |x| {
        let a = x.signed()[0];
        keep(x, first((a ^ a >> 31).leading_zeros(), 32))
    }),
    Row::new("s_flbit_i32_i64", W, &[D], |x| {
        let a = x.a.cast_signed();
        keep(x, first((a ^ a >> 63).leading_zeros(), 64))
    }),
    Row::new("s_sext_i32_i8", W, &[W], |x| {
        keep(x, i32::from((x.a as u8).cast_signed()).cast_unsigned())
    }),
    Row::new("s_sext_i32_i16", W, &[W], |x| {
        keep(x, i32::from((x.a as u16).cast_signed()).cast_unsigned())
    }),
    Row::new("s_bitset0_b32", W, &[W], |x| {
        keep(x, x.d as u32 & !(1 << (x.a & 31)))
    }),
    Row::new("s_bitset0_b64", D, &[W], |x| {
        (x.d & !(1 << (x.a & 63)), Some(x.carry))
    }),
    Row::new("s_bitset1_b32", W, &[W], |x| {
        keep(x, x.d as u32 | 1 << (x.a & 31))
    }),
    Row::new("s_bitset1_b64", D, &[W], |x| {
        (x.d | 1 << (x.a & 63), Some(x.carry))
    }),
    Row::new("s_quadmask_b32", W, &[W], |x| {
        n((0..8)
            .filter(|quad| x.a >> (4 * quad) & 15 != 0)
            .map(|quad| 1 << quad)
            .sum())
    }),
    Row::new("s_quadmask_b64", D, &[D], |x| {
        n64((0..16)
            .filter(|quad| x.a >> (4 * quad) & 15 != 0)
            .map(|quad| 1_u64 << quad)
            .sum())
    }),
    Row::new("s_wqm_b32", W, &[W], |x| {
        n((0..8)
            .filter(|quad| x.a >> (4 * quad) & 15 != 0)
            .map(|quad| 15 << (4 * quad))
            .sum())
    }),
    Row::new("s_wqm_b64", D, &[D], |x| {
        n64((0..16)
            .filter(|quad| x.a >> (4 * quad) & 15 != 0)
            .map(|quad| 15_u64 << (4 * quad))
            .sum())
    }),
    Row::new("s_bitreplicate_b64_b32", D, &[W], |x| {
        (
            (0..32)
                .filter(|bit| x.a >> bit & 1 != 0)
                .map(|bit| 3_u64 << (2 * bit))
                .sum(),
            Some(x.carry),
        )
    }),
    Row::new("s_abs_i32", W, &[W], |x| n(x.signed()[0].unsigned_abs())),
    Row::new("s_cmp_eq_i32", D, &[W, W], |x| truth(x, x.a == x.b)),
    Row::new("s_cmp_lg_i32", D, &[W, W], |x| truth(x, x.a != x.b)),
    Row::new("s_cmp_gt_i32", D, &[W, W], |x| {
        truth(x, x.signed()[0] > x.signed()[1])
    }),
    Row::new("s_cmp_ge_i32", D, &[W, W], |x| {
        truth(x, x.signed()[0] >= x.signed()[1])
    }),
    Row::new("s_cmp_lt_i32", D, &[W, W], |x| {
        truth(x, x.signed()[0] < x.signed()[1])
    }),
    Row::new("s_cmp_le_i32", D, &[W, W], |x| {
        truth(x, x.signed()[0] <= x.signed()[1])
    }),
    Row::new("s_cmp_eq_u32", D, &[W, W], |x| truth(x, x.a == x.b)),
    Row::new("s_cmp_lg_u32", D, &[W, W], |x| truth(x, x.a != x.b)),
    Row::new("s_cmp_gt_u32", D, &[W, W], |x| truth(x, x.a > x.b)),
    Row::new("s_cmp_ge_u32", D, &[W, W], |x| truth(x, x.a >= x.b)),
    Row::new("s_cmp_lt_u32", D, &[W, W], |x| truth(x, x.a < x.b)),
    Row::new("s_cmp_le_u32", D, &[W, W], |x| truth(x, x.a <= x.b)),
    Row::new("s_bitcmp0_b32", D, &[W, W], |x| {
        truth(x, x.a >> (x.b & 31) & 1 == 0)
    }),
    Row::new("s_bitcmp1_b32", D, &[W, W], |x| {
        truth(x, x.a >> (x.b & 31) & 1 == 1)
    }),
    Row::new("s_bitcmp0_b64", D, &[D, W], |x| {
        truth(x, x.a >> (x.b & 63) & 1 == 0)
    }),
    Row::new("s_bitcmp1_b64", D, &[D, W], |x| {
        truth(x, x.a >> (x.b & 63) & 1 == 1)
    }),
    Row::new("s_cmp_eq_u64", D, &[D, D], |x| truth(x, x.a == x.b)),
    Row::new("s_cmp_lg_u64", D, &[D, D], |x| truth(x, x.a != x.b)),
    Row::new("s_movk_i32", W, &[W], |x| keep(x, IMMEDIATE)),
    Row::new("s_cmovk_i32", W, &[W], |x| {
        keep(x, if x.carry { IMMEDIATE } else { x.d as u32 })
    }),
    Row::new("s_addk_i32", W, &[W], |x| {
        let (sum, over) = (x.d as u32)
            .cast_signed()
            .overflowing_add(IMMEDIATE.cast_signed());
        scc(sum.cast_unsigned(), over)
    }),
    Row::new("s_mulk_i32", W, &[W], |x| {
        keep(x, (x.d as u32).wrapping_mul(IMMEDIATE))
    }),
    Row::new("s_cmpk_eq_i32", D, &[W], |x| truth(x, x.d as u32 == IMMEDIATE)),
    Row::new("s_cmpk_lg_i32", D, &[W], |x| truth(x, x.d as u32 != IMMEDIATE)),
    Row::new("s_cmpk_gt_i32", D, &[W], |x| {
        truth(x, (x.d as u32).cast_signed() > IMMEDIATE.cast_signed())
    }),
    Row::new("s_cmpk_ge_i32", D, &[W], |x| {
        truth(x, (x.d as u32).cast_signed() >= IMMEDIATE.cast_signed())
    }),
    Row::new("s_cmpk_lt_i32", D, &[W], |x| {
        truth(x, (x.d as u32).cast_signed() < IMMEDIATE.cast_signed())
    }),
    Row::new("s_cmpk_le_i32", D, &[W], |x| {
        truth(x, (x.d as u32).cast_signed() <= IMMEDIATE.cast_signed())
    }),
    Row::new("s_cmpk_eq_u32", D, &[W], |x| truth(x, x.d as u32 == SMALL)),
    Row::new("s_cmpk_lg_u32", D, &[W], |x| truth(x, x.d as u32 != SMALL)),
    Row::new("s_cmpk_gt_u32", D, &[W], |x| truth(x, x.d as u32 > SMALL)),
    Row::new("s_cmpk_ge_u32", D, &[W], |x| truth(x, x.d as u32 >= SMALL)),
    Row::new("s_cmpk_lt_u32", D, &[W], |x| truth(x, (x.d as u32) < SMALL)),
    Row::new("s_cmpk_le_u32", D, &[W], |x| truth(x, x.d as u32 <= SMALL)),
];
