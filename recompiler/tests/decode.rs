//! Decoder and printer against the assembler's own text.
//!
//! `vectors/gfx1013.txt` holds a line for each opcode and form, `words = text`, as LLVM's disassembler printed it, and
//! `vectors/gfx1030.txt` what is otherwise in the desktop dialect (`refused`: no instruction there).

#![expect(clippy::expect_used, reason = "a test stops at what it did not expect")]

use relic_recompiler::{Dialect, ProgramCounter, Reason, disassemble};

/// Instructions of more than one word, as the assembler encodes them.
const LONG_FORMS: [(&str, &[u32]); 17] = [
    ("s_setreg_imm32_b32", &[0xba80_f801, 0xbf81_0000]),
    ("v_fmamk_f16", &[0x6e02_0702, 0x0000_bf81]),
    ("v_fmaak_f16", &[0x7002_0702, 0x0000_bf81]),
    ("v_fmamk_f32", &[0x5802_0702, 0xbf81_0000]),
    ("s_mov_b32", &[0xbe80_03ff, 0xbf81_0000]),
    ("v_add3_u32", &[0xd76d_0000, 0x03fe_0501, 0xbf81_0000]),
    ("buffer_load_short_d16_hi", &[0xe094_1000, 0x8001_0102]),
    ("buffer_store_short_d16_hi", &[0xe06c_1000, 0x8001_0102]),
    ("buffer_load_ubyte_d16", &[0xe080_0000, 0x8001_0100]),
    ("image_bvh_intersect_ray", &[0xf198_9f01, 0x0001_0400]),
    (
        "image_bvh64_intersect_ray",
        &[0xf19c_9f07, 0x0004_0401, 0x0504_0302, 0x0908_0706, 0x000c_0b0a],
    ),
    ("image_sample", &[0xf080_0f12, 0x0022_0000, 0x0000_0402]),
    ("v_mov_b32_dpp", &[0x7e00_02fa, 0xff00_b101]),
    ("v_mov_b32_sdwa", &[0x7e00_02f9, 0x0006_1101]),
    ("ds_read_b32", &[0xd8d8_0000, 0x0000_0001]),
    ("global_load_dword", &[0xdc30_8000, 0x0002_0001]),
    ("exp", &[0xf800_180f, 0x0302_0100]),
];

fn check_vectors(vectors: &str, dialect: Dialect) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in vectors.lines().filter(|line| !line.starts_with('#')) {
        let (words, text) = line.split_once(" = ").expect("a vector is `words = text`");
        let code: Vec<u32> = words
            .split(' ')
            .map(|word| u32::from_str_radix(word, 16).expect("a hexadecimal word"))
            .collect();
        count += 1;
        match disassemble(&code, ProgramCounter(0), dialect) {
            Ok((ours, length)) if ours == text && length as usize == 4 * code.len() => {}
            Err(Reason::UnknownEncoding(_)) if text == "refused" => {}
            Ok((ours, length)) => wrong.push(format!("{words}: {ours:?} ({length} bytes), not {text:?}")),
            Err(reason) => wrong.push(format!("{words}: {reason}, not {text:?}")),
        }
    }
    assert!(count > 100, "only {count} vectors");
    assert!(
        wrong.is_empty(),
        "{} of {count} vectors differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_vector_decodes_to_the_assemblers_text() {
    check_vectors(include_str!("vectors/gfx1013.txt"), Dialect::Gfx1013);
}

#[test]
fn every_vector_of_the_desktop_dialect_decodes_to_the_assemblers_text() {
    check_vectors(include_str!("vectors/gfx1030.txt"), Dialect::Gfx1030);
}

#[test]
fn the_desktop_dialect_has_its_own_rows() {
    let mac = [0x3e26_1221];
    assert_eq!(
        disassemble(&mac, ProgramCounter(0), Dialect::Gfx1013).map(|(text, _)| text),
        Ok("v_mac_f32_e32 v19, s33, v9".into())
    );
    assert!(disassemble(&mac, ProgramCounter(0), Dialect::Gfx1030).is_err());
    let legacy = [0xd540_000a, 0x0402_151c];
    assert!(
        disassemble(&legacy, ProgramCounter(0), Dialect::Gfx1013)
            .is_ok_and(|(t, _)| t.starts_with("v_mad_legacy_f32"))
    );
    assert!(
        disassemble(&legacy, ProgramCounter(0), Dialect::Gfx1030)
            .is_ok_and(|(t, _)| t.starts_with("v_fma_legacy_f32"))
    );
}

/// Walks `code` by the decoded lengths up to the program's end and gives the mnemonics.
fn walk(code: &[u32]) -> Vec<String> {
    let (mut at, mut names) = (0, Vec::new());
    loop {
        let (text, length) = disassemble(code, ProgramCounter(at), Dialect::Gfx1013).expect("an instruction");
        let name = text.split(' ').next().expect("a mnemonic");
        names.push(String::from(name));
        if name == "s_endpgm" {
            return names;
        }
        at += length;
    }
}

#[test]
fn long_forms_have_their_whole_length() {
    // A length that is too short would take the literal or the second word for an instruction; the 32-bit literals
    // are s_endpgm's own word, so a short step would end the walk early.
    let mut words = Vec::new();
    for (_, form) in LONG_FORMS {
        words.extend_from_slice(form);
    }
    words.push(0xbf81_0000);
    let expected: Vec<&str> = LONG_FORMS
        .iter()
        .map(|(name, _)| *name)
        .chain(["s_endpgm"])
        .collect();
    assert_eq!(walk(&words), expected);
}

#[test]
fn vector_opcodes_are_this_chips() {
    let text = |code: &[u32]| disassemble(code, ProgramCounter(0), Dialect::Gfx1013).map(|(text, _)| text);
    // VOP3 forms number VOP2 opcodes from 0x100 and VOP1 opcodes from 0x180 on.
    assert_eq!(
        text(&[0xd51f_020a, 0x4002_151c]),
        Ok("v_mac_f32_e64 v10, v28, -|v10|".into())
    );
    assert_eq!(text(&[0x5604_0501]), Ok("v_fmac_f32_e32 v2, v1, v2".into()));
}

#[test]
fn arbitrary_words_never_panic() {
    // A fixed linear congruential sequence: the same words on every machine.
    let mut state = 0x1234_5678_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let mut decoded = 0;
    for _ in 0..200_000 {
        let code = [next(), next(), next(), next(), next()];
        decoded += u32::from(disassemble(&code, ProgramCounter(0), Dialect::Gfx1013).is_ok());
    }
    assert!(decoded > 50_000, "{decoded}");
}
