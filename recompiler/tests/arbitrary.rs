//! Arbitrary bytes as programs: refused or recompiled to valid SPIR-V (some of it is checked), but never a panic, and never without end.
//!
//! `PROPTEST_CASES` says how many (`./x fuzz` asks for many). Each case is one sequence of words, made of real instructions
//! with bits changed, of random words, or of both.

#![expect(clippy::expect_used, reason = "a test stops at what it did not expect")]

mod random;
mod validate;

use random::Random;
use relic_core::GuestAddress;
use relic_recompiler::{
    BufferShape, DescriptorKind, Dialect, ImageShape, Profile, ShaderBinary, Specialization, StageRegisters,
    analyse,
};
use std::time::{Duration, Instant};

/// A program of this size takes microseconds; this is for what does not end.
const LONGEST: Duration = Duration::from_secs(20);

/// Words of every instruction that the vectors have.
fn instructions() -> Vec<Vec<u32>> {
    include_str!("vectors/gfx1013.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .map(|(words, _)| {
            words
                .split(' ')
                .map(|word| u32::from_str_radix(word, 16).expect("a hexadecimal word"))
                .collect()
        })
        .collect()
}

fn program(random: &mut Random, instructions: &[Vec<u32>]) -> Vec<u32> {
    let mut code = Vec::new();
    let length = [4, 10, 40][random.below(3)];
    for _ in 0..=random.below(length) {
        match random.below(16) {
            0 => code.push(random.next() as u32),
            // Branches, mostly within the program.
            1 | 2 => {
                let target = (random.below(48) as i32 - 24).cast_unsigned() & 0xffff;
                let branch =
                    [0xbf82_0000, 0xbf84_0000, 0xbf85_0000, 0xbf86_0000, 0xbf88_0000][random.below(5)];
                code.push(branch | target);
            }
            3 => {
                let mut words = instructions[random.below(instructions.len())].clone();
                let at = random.below(words.len());
                words[at] ^= 1 << random.below(32);
                code.extend(words);
            }
            _ => code.extend(&instructions[random.below(instructions.len())]),
        }
    }
    code.push(0xbf81_0000);
    code
}

fn stage(random: &mut Random) -> StageRegisters {
    let wave32 = random.below(2) == 0;
    let scratch = 64 * random.below(2) as u32;
    let rsrc1 = random.next() as u32;
    let rsrc2 = random.next() as u32;
    match random.below(3) {
        0 => StageRegisters::Compute {
            rsrc1,
            rsrc2,
            rsrc3: 0,
            num_thread: [[64, 1, 1], [8, 8, 1], [1, 1, 1], [256, 1, 1]][random.below(4)],
            wave32,
            scratch,
        },
        1 => StageRegisters::Vertex {
            rsrc1,
            rsrc2,
            merged: random.below(2) == 0,
            pos_format: random.next() as u32,
            vs_out_cntl: random.next() as u32,
            vs_out_config: random.next() as u32,
            wave32,
            scratch,
        },
        _ => StageRegisters::Pixel {
            rsrc1,
            rsrc2,
            input_ena: random.next() as u32 & 0xffff,
            input_addr: random.next() as u32 & 0xffff,
            in_control: random.next() as u32,
            input_cntl: std::array::from_fn(|_| random.next() as u32),
            col_format: random.next() as u32,
            z_format: random.next() as u32,
            shader_mask: random.next() as u32,
            db_shader_control: random.next() as u32,
            wave32,
            scratch,
        },
    }
}

#[test]
fn arbitrary_programs_are_refused_or_recompiled() {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(20_000_u64);
    let instructions = instructions();
    let mut recompiled = 0;
    let mut invalid = Vec::new();
    for case in 0..cases {
        // Each case from its own number, so that one can be looked at alone.
        let mut random = Random(case);
        let code = program(&mut random, &instructions);
        let dialect = if random.below(4) == 0 {
            Dialect::Gfx1030
        } else {
            Dialect::Gfx1013
        };
        let binary = ShaderBinary {
            stage: stage(&mut random),
            dialect,
            address: GuestAddress(0x10000),
            code: &code,
        };
        let start = Instant::now();
        if let Ok(program) = analyse(&binary, &Profile::default()) {
            let of = |kind| {
                program
                    .plan()
                    .descriptors
                    .iter()
                    .filter(move |source| source.kind == kind)
                    .count()
            };
            let specialization = Specialization {
                buffers: std::iter::repeat_n(BufferShape::default(), of(DescriptorKind::Buffer)).collect(),
                images: std::iter::repeat_n(ImageShape::default(), of(DescriptorKind::Image)).collect(),
                ..Specialization::default()
            };
            if let Ok(artifact) = program.specialise(&specialization) {
                recompiled += 1;
                // A process for each module: some of them.
                if recompiled % 64 == 0
                    && let Some(Err(why)) = validate::spirv_val(&artifact.spirv)
                {
                    invalid.push(format!("case {case}: {why}"));
                }
            }
        }
        let time = start.elapsed();
        assert!(time < LONGEST, "case {case} took {time:?}: {code:08x?}");
    }
    assert!(
        invalid.is_empty(),
        "{} invalid modules:\n{}",
        invalid.len(),
        invalid.join("\n")
    );
    eprintln!("{recompiled} of {cases} programs recompiled");
    assert!(
        cases < 1000 || recompiled > 0,
        "nothing recompiles: the programs are no test"
    );
}
