//! Just enough of an assembler: opcode numbers come from the decoder's vectors, fields are put together here.

use std::collections::HashMap;

/// First word of a vector for each mnemonic.
pub fn first_words() -> HashMap<&'static str, u32> {
    let mut words = HashMap::new();
    for line in include_str!("../vectors/gfx1013.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        if let Some((code, text)) = line.split_once(" = ") {
            let name = text.split(' ').next().unwrap_or_default();
            let word = code.split(' ').next().unwrap_or_default();
            words
                .entry(name)
                .or_insert_with(|| u32::from_str_radix(word, 16).expect("a hexadecimal word"));
        }
    }
    words
}

/// A VGPR as a source.
pub const fn vgpr(number: u32) -> u32 {
    256 + number
}

/// Modifiers of a long form.
#[derive(Clone, Copy, Default)]
pub struct Long {
    pub negate: u32,
    pub absolute: u32,
    pub clamp: bool,
    pub output: u32,
    pub op_sel: u32,
    /// Second, scalar destination instead of absolute values.
    pub scalar_dst: Option<u32>,
}

/// VOP3 and VOP3P.
pub fn long(first: u32, dst: u32, src: [u32; 3], m: Long) -> [u32; 2] {
    let low = match m.scalar_dst {
        Some(register) => register << 8,
        None => m.absolute << 8 | m.op_sel << 11,
    };
    [
        (first & 0xffff_0000) | dst | low | u32::from(m.clamp) << 15,
        src[0] | src[1] << 9 | src[2] << 18 | m.output << 27 | m.negate << 29,
    ]
}

/// VOP3P with the usual halves: the low ones below, the high ones above.
pub fn packed(
    first: u32,
    dst: u32,
    src: [u32; 3],
    sources: usize,
    negate: u32,
    negate_high: u32,
    clamp: bool,
) -> [u32; 2] {
    let high = (1 << sources) - 1;
    [
        (first & 0xffff_0000) | dst | negate_high << 8 | (high >> 2) << 14 | u32::from(clamp) << 15,
        src[0] | src[1] << 9 | src[2] << 18 | (high & 3) << 27 | negate << 29,
    ]
}

pub mod fixed {
    //! Instructions of the frame around the one that is tested.

    use super::vgpr;

    pub fn s_mov_literal(dst: u32, value: u32) -> [u32; 2] {
        [0xbe80_03ff | dst << 16, value]
    }
    pub fn s_mov_b64(dst: u32, src: u32) -> u32 {
        0xbe80_0400 | dst << 16 | src
    }
    pub fn s_and_b32(dst: u32, a: u32, b: u32) -> u32 {
        0x8700_0000 | dst << 16 | b << 8 | a
    }
    pub fn s_lshl_b32(dst: u32, a: u32, b: u32) -> u32 {
        0x8f00_0000 | dst << 16 | b << 8 | a
    }
    pub fn s_mul_i32(dst: u32, a: u32, b: u32) -> u32 {
        0x9300_0000 | dst << 16 | b << 8 | a
    }
    pub fn s_cselect_b32(dst: u32, a: u32, b: u32) -> u32 {
        0x8500_0000 | dst << 16 | b << 8 | a
    }
    /// Offset in a scalar register.
    pub fn s_buffer_load_dwordx8(dst: u32, base: u32, offset: u32) -> [u32; 2] {
        [0xf42c_0000 | dst << 6 | base >> 1, offset << 25]
    }
    pub fn v_mov(dst: u32, src: u32) -> u32 {
        0x7e00_0200 | dst << 17 | src
    }
    pub fn v_and(dst: u32, a: u32, b: u32) -> u32 {
        0x3600_0000 | dst << 17 | b << 9 | a
    }
    pub fn v_add(dst: u32, a: u32, b: u32) -> u32 {
        0x4a00_0000 | dst << 17 | b << 9 | a
    }
    pub fn v_lshlrev(dst: u32, count: u32, b: u32) -> u32 {
        0x3400_0000 | dst << 17 | b << 9 | count
    }
    pub fn v_mul_lo(dst: u32, a: u32, b: u32) -> [u32; 2] {
        [0xd569_0000 | dst, a | b << 9]
    }
    /// Scalar mask of lanes where the operands are equal.
    pub fn v_cmp_eq_u32(dst: u32, a: u32, b: u32) -> [u32; 2] {
        [0xd4c2_0000 | dst, a | b << 9]
    }
    pub fn v_cndmask(dst: u32, no: u32, yes: u32, mask: u32) -> [u32; 2] {
        [0xd501_0000 | dst, no | yes << 9 | mask << 18]
    }
    pub fn buffer_load_x4(dst: u32, address: u32, base: u32, offset: u32) -> [u32; 2] {
        [
            0xe038_1000 | offset,
            address | dst << 8 | (base / 4) << 16 | 128 << 24,
        ]
    }
    pub fn buffer_store_x3(data: u32, address: u32, base: u32, offset: u32) -> [u32; 2] {
        [
            0xe07c_1000 | offset,
            address | data << 8 | (base / 4) << 16 | 128 << 24,
        ]
    }
    pub const WAIT: u32 = 0xbf8c_0000;
    pub const END: u32 = 0xbf81_0000;

    #[test]
    fn the_frame_is_what_it_is_meant_to_be() {
        use relic_recompiler::{Dialect, ProgramCounter, disassemble};
        let text =
            |code: &[u32]| disassemble(code, ProgramCounter(0), Dialect::Gfx1013).map(|(text, _)| text);
        let cases: Vec<(Vec<u32>, &str)> = vec![
            (vec![s_mov_b64(22, 18)], "s_mov_b64 s[22:23], s[18:19]"),
            (vec![s_and_b32(20, 16, 129)], "s_and_b32 s20, s16, 1"),
            (vec![s_lshl_b32(9, 8, 133)], "s_lshl_b32 s9, s8, 5"),
            (vec![s_mul_i32(9, 8, 10)], "s_mul_i32 s9, s8, s10"),
            (vec![s_cselect_b32(24, 129, 128)], "s_cselect_b32 s24, 1, 0"),
            (
                s_buffer_load_dwordx8(12, 4, 9).to_vec(),
                "s_buffer_load_dwordx8 s[12:19], s[4:7], s9",
            ),
            (vec![v_mov(12, vgpr(10))], "v_mov_b32_e32 v12, v10"),
            (vec![v_and(3, 129, 8)], "v_and_b32_e32 v3, 1, v8"),
            (vec![v_add(1, 9, 0)], "v_add_nc_u32_e32 v1, s9, v0"),
            (vec![v_lshlrev(2, 133, 1)], "v_lshlrev_b32_e32 v2, 5, v1"),
            (v_mul_lo(15, vgpr(1), 10).to_vec(), "v_mul_lo_u32 v15, v1, s10"),
            (
                v_cmp_eq_u32(20, 129, vgpr(3)).to_vec(),
                "v_cmp_eq_u32_e64 s[20:21], 1, v3",
            ),
            (
                v_cndmask(14, 128, 129, 22).to_vec(),
                "v_cndmask_b32_e64 v14, 0, 1, s[22:23]",
            ),
            (
                buffer_load_x4(8, 2, 4, 16).to_vec(),
                "buffer_load_dwordx4 v[8:11], v2, s[4:7], 0 offen offset:16",
            ),
            (
                buffer_store_x3(12, 15, 0, 24).to_vec(),
                "buffer_store_dwordx3 v[12:14], v15, s[0:3], 0 offen offset:24",
            ),
        ];
        for (code, expected) in cases {
            assert_eq!(text(&code), Ok(String::from(expected)));
        }
    }
}
