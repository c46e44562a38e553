//! Decoder and printer against the assembler's own text.
//!
//! `vectors/gfx1013.txt` holds a line for each opcode and form, `words = text`, as LLVM's disassembler printed it.

use relic_recompiler::{Dialect, ProgramCounter, disassemble};

#[test]
fn every_vector_decodes_to_the_assemblers_text() {
    let vectors = include_str!("vectors/gfx1013.txt");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in vectors.lines().filter(|line| !line.starts_with('#')) {
        let (words, text) = line.split_once(" = ").expect("a vector is `words = text`");
        let code: Vec<u32> = words
            .split(' ')
            .map(|word| u32::from_str_radix(word, 16).expect("a hexadecimal word"))
            .collect();
        count += 1;
        match disassemble(&code, ProgramCounter(0), Dialect::Gfx1013) {
            Ok((ours, length)) if ours == text && length as usize == 4 * code.len() => {}
            Ok((ours, length)) => wrong.push(format!("{words}: {ours:?} ({length} bytes), not {text:?}")),
            Err(reason) => wrong.push(format!("{words}: {reason}, not {text:?}")),
        }
    }
    assert!(count > 1000, "only {count} vectors");
    assert!(
        wrong.is_empty(),
        "{} of {count} vectors differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
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
