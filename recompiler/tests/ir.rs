//! The IR of three small programs, as text: what the passes leave of them. `cargo insta review` takes a change over.

#![expect(clippy::expect_used, reason = "a test stops at what it did not expect")]

use relic_core::GuestAddress;
use relic_recompiler::{Dialect, Profile, ShaderBinary, StageRegisters, analyse};

fn ir(stage: StageRegisters, code: &[u32]) -> String {
    let binary = ShaderBinary {
        stage,
        dialect: Dialect::Gfx1013,
        address: GuestAddress(0x1_0000),
        code,
    };
    analyse(&binary, &Profile::default())
        .expect("a program that is understood")
        .ir()
}

fn compute(user_data: u32) -> StageRegisters {
    StageRegisters::Compute {
        rsrc1: 0,
        rsrc2: user_data << 1,
        rsrc3: 0,
        num_thread: [64, 1, 1],
        wave32: false,
        scratch: 0,
    }
}

#[test]
fn if_and_else_of_lanes() {
    //   v_lshlrev_b32 v3, 2, v0
    //   v_add_nc_u32 v2, 0x1000, v3
    //   v_cmp_gt_u32 vcc, 5, v0
    //   s_and_saveexec_b64 s[10:11], vcc
    //   s_xor_b64 s[10:11], exec, s[10:11]
    //   s_cbranch_execz else
    //   v_add_nc_u32 v2, 7, v0
    // else:
    //   s_or_saveexec_b64 s[10:11], s[10:11]
    //   s_xor_b64 exec, exec, s[10:11]
    //   s_cbranch_execz end
    //   v_lshlrev_b32 v2, 1, v0
    // end:
    //   s_or_b64 exec, exec, s[10:11]
    //   v_lshlrev_b32 v1, 2, v0
    //   buffer_store_dword v2, v1, s[0:3], 0 offen
    //   s_endpgm
    let code = [
        0x3406_0082,
        0x4a04_06ff,
        0x0000_1000,
        0x7d88_0085,
        0xbe8a_246a,
        0x898a_0a7e,
        0xbf88_0001,
        0x4a04_0087,
        0xbe8a_250a,
        0x89fe_0a7e,
        0xbf88_0001,
        0x3404_0081,
        0x88fe_0a7e,
        0x3402_0082,
        0xe070_1000,
        0x8000_0201,
        0xbf81_0000,
    ];
    let stage = compute(4);
    insta::assert_snapshot!(ir(stage, &code));
}

#[test]
fn uniform_loop_over_constants() {
    //   s_mov_b32 s8, 0
    //   v_mov_b32 v2, 0
    // top:
    //   s_lshl_b32 s9, s8, 2
    //   s_buffer_load_dword s10, s[4:7], s9
    //   s_waitcnt lgkmcnt(0)
    //   v_add_f32 v2, s10, v2
    //   s_add_u32 s8, s8, 1
    //   s_cmp_lt_u32 s8, 4
    //   s_cbranch_scc1 top
    //   buffer_store_dword v2, off, s[0:3], 0
    //   s_endpgm
    let code = [
        0xbe88_0380,
        0x7e04_0280,
        0x8f09_8208,
        0xf420_0282,
        0x1200_0000,
        0xbf8c_c07f,
        0x0604_040a,
        0x8008_8108,
        0xbf0a_8408,
        0xbf85_fff8,
        0xe070_0000,
        0x8000_0200,
        0xbf81_0000,
    ];
    let stage = compute(8);
    insta::assert_snapshot!(ir(stage, &code));
}

/// A group of one wave needs no barriers on the console: where subgroups are narrower, one stands between a write and
/// an atomic, and between that and a read.
#[test]
fn shared_memory_in_lockstep() {
    //   v_mov_b32 v1, 0
    //   ds_write_b32 v0, v1
    //   s_waitcnt lgkmcnt(0)
    //   ds_add_u32 v0, v0
    //   s_waitcnt lgkmcnt(0)
    //   ds_read_b32 v1, v0
    //   buffer_store_dword v1, off, s[0:3], 0
    //   s_endpgm
    let code = [
        0x7e02_0280,
        0xd834_0000,
        0x0000_0100,
        0xbf8c_c07f,
        0xd800_0000,
        0x0000_0000,
        0xbf8c_c07f,
        0xd8d8_0000,
        0x0100_0000,
        0xe070_0000,
        0x8000_0100,
        0xbf81_0000,
    ];
    let stage = StageRegisters::Compute {
        rsrc1: 0,
        rsrc2: 4 << 1 | 1 << 15,
        rsrc3: 0,
        num_thread: [64, 1, 1],
        wave32: false,
        scratch: 0,
    };
    insta::assert_snapshot!(ir(stage, &code));
}

#[test]
fn colour_from_flat_words() {
    //   s_load_dwordx4 s[4:7], s[0:1], 0x10
    //   s_waitcnt lgkmcnt(0)
    //   v_mov_b32 v0, s4
    //   v_cvt_pkrtz_f16_f32 v0, v0, s5
    //   v_mov_b32 v1, s6
    //   v_cvt_pkrtz_f16_f32 v1, v1, 1.0
    //   exp mrt0 v0, v0, v1, v1 done compr vm
    //   s_endpgm
    let code = [
        0xf408_0100,
        0xfa00_0010,
        0xbf8c_c07f,
        0x7e00_0204,
        0xd52f_0000,
        0x0000_0b00,
        0x7e02_0206,
        0xd52f_0001,
        0x0001_e501,
        0xf800_1c0f,
        0x0000_0100,
        0xbf81_0000,
    ];
    let stage = StageRegisters::Pixel {
        rsrc1: 0,
        rsrc2: 2 << 1,
        input_ena: 2,
        input_addr: 2,
        in_control: 0,
        input_cntl: [0; 32],
        col_format: 4,
        z_format: 0,
        shader_mask: 0xf,
        db_shader_control: 0x10,
        wave32: false,
        scratch: 0,
    };
    insta::assert_snapshot!(ir(stage, &code));
}
