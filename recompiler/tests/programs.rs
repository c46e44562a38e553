//! Whole programs: analysed, specialised and validated.
//!
//! A case is a file `NAME.txt` with the stage and its registers, a line each, and the machine code as hexadecimal `words`
//! lines (lines that start with `;` hold the assembly they were made from) or in `NAME.bin`. What is expected beside
//! valid, reproducible SPIR-V stands in lines of its own: `refused TEXT`, `emits TEXT` and `omits TEXT` (of the SPIR-V's
//! disassembly), `ir TEXT` and `no-ir TEXT`, `code-words N`, `colours BITS` and `locations BITS`. The cases lie in
//! `programs/`; `RELIC_PROGRAMS` may name a folder with more.

#![expect(clippy::expect_used, reason = "a test stops at what it did not expect")]

mod validate;

use relic_recompiler::{
    Artifact, BufferShape, DescriptorKind, Dialect, FlatLocation, ImageShape, Profile, Program, ShaderBinary,
    Specialization, StageRegisters, analyse,
};
use rspirv::binary::Disassemble;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use validate::spirv_val;

struct Case {
    name: String,
    /// Lines that are expectations: key and text.
    expected: Vec<(String, String)>,
    registers: StageRegisters,
    address: u64,
    code: Vec<u32>,
}

const EXPECTATIONS: [&str; 8] = [
    "refused",
    "emits",
    "omits",
    "ir",
    "no-ir",
    "code-words",
    "colours",
    "locations",
];

fn number(text: &str) -> u64 {
    text.strip_prefix("0x")
        .map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16))
        .expect("a number")
}

fn load(text_path: &Path) -> Case {
    let text = std::fs::read_to_string(text_path).expect("a case's text");
    let fields: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let one = |name: &str| fields.get(name).map_or(0, |value| number(value) as u32);
    let list = |name: &str| -> Vec<u32> {
        fields.get(name).map_or_else(Vec::new, |values| {
            values.split(' ').map(|v| number(v) as u32).collect()
        })
    };
    let wave32 = one("wave32") != 0;
    let registers = match fields["stage"] {
        "cs" => StageRegisters::Compute {
            rsrc1: one("rsrc1"),
            rsrc2: one("rsrc2"),
            rsrc3: one("rsrc3"),
            num_thread: list("nt").try_into().expect("three counts"),
            wave32,
            scratch: one("scratch"),
        },
        "ps" => StageRegisters::Pixel {
            rsrc1: one("rsrc1"),
            rsrc2: one("rsrc2"),
            input_ena: one("ena"),
            input_addr: one("addr"),
            in_control: one("inctl"),
            input_cntl: list("cntl").try_into().expect("32 controls"),
            col_format: one("col"),
            z_format: one("z"),
            shader_mask: one("mask"),
            db_shader_control: one("db"),
            wave32,
            scratch: one("scratch"),
        },
        _ => StageRegisters::Vertex {
            rsrc1: one("rsrc1"),
            rsrc2: one("rsrc2"),
            merged: one("merged") != 0,
            pos_format: one("pos"),
            vs_out_cntl: one("vsout"),
            vs_out_config: one("cfg"),
            wave32,
            scratch: one("scratch"),
        },
    };
    let mut code: Vec<u32> = text
        .lines()
        .filter_map(|line| line.strip_prefix("words "))
        .flat_map(|words| words.split(' '))
        .map(|word| u32::from_str_radix(word, 16).expect("a hexadecimal word"))
        .collect();
    if code.is_empty() {
        let bytes = std::fs::read(text_path.with_extension("bin")).expect("a case's code");
        code = bytes
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
    }
    let expected = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(key, _)| EXPECTATIONS.contains(key))
        .map(|(key, value)| (String::from(key), String::from(value)))
        .collect();
    Case {
        expected,
        name: text_path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned(),
        registers,
        address: number(fields["address"]),
        code,
    }
}

fn cases(folder: &Path) -> Vec<Case> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    paths.sort();
    paths.iter().map(|path| load(path)).collect()
}

fn binary(case: &Case) -> ShaderBinary<'_> {
    ShaderBinary {
        stage: case.registers,
        dialect: Dialect::Gfx1013,
        address: relic_core::GuestAddress(case.address),
        code: &case.code,
    }
}

/// Shapes that any plan takes: 16-byte strides, 32-bit float formats, float images.
fn plain(program: &Program) -> Specialization {
    let count = |kind| {
        program
            .plan()
            .descriptors
            .iter()
            .filter(|d| d.kind == kind)
            .count()
    };
    Specialization {
        buffers: vec![
            BufferShape {
                stride: 16,
                format: 77,
                dst_sel: [4, 5, 6, 7],
                index_stride: 8,
                misaligned: true,
                ..BufferShape::default()
            };
            count(DescriptorKind::Buffer)
        ]
        .into(),
        images: vec![ImageShape::default(); count(DescriptorKind::Image)].into(),
        flat: if program.plan().flat_words() <= 32 {
            FlatLocation::PushConstants { offset: 0 }
        } else {
            FlatLocation::UniformBuffer
        },
        ..Specialization::default()
    }
}

/// Whether the case's lines hold for its program.
fn expectations(case: &Case, program: &Program, artifact: &Artifact) -> Result<(), String> {
    let text = rspirv::dr::load_words(&artifact.spirv)
        .map_err(|error| error.to_string())?
        .disassemble();
    let ir = program.ir();
    let interface = &artifact.interface;
    for (key, value) in &case.expected {
        let holds = match key.as_str() {
            "emits" => text.contains(value.as_str()),
            "omits" => !text.contains(value.as_str()),
            "ir" => ir.contains(value.as_str()),
            "no-ir" => !ir.contains(value.as_str()),
            "code-words" => program.code_words() as u64 == number(value),
            "colours" => u64::from(interface.colour_outputs) == number(value),
            "locations" => u64::from(interface.locations) == number(value),
            _ => false,
        };
        if !holds {
            return Err(format!("`{key} {value}` does not hold:\n{text}\n{ir}"));
        }
    }
    Ok(())
}

fn check(case: &Case) -> Result<(), String> {
    let result = analyse(&binary(case), &Profile::default()).and_then(|program| {
        let artifact = program.specialise(&plain(&program))?;
        Ok((program, artifact))
    });
    let refused = case.expected.iter().find(|(key, _)| key == "refused");
    let (program, artifact) = match (result, refused) {
        (Ok(done), None) => done,
        (Ok(_), Some((_, text))) => return Err(format!("it was not refused with `{text}`")),
        (Err(refusal), Some((_, text))) if refusal.to_string().contains(text) => return Ok(()),
        (Err(refusal), _) => return Err(refusal.to_string()),
    };
    expectations(case, &program, &artifact)?;
    let again = analyse(&binary(case), &Profile::default())
        .and_then(|program| program.specialise(&plain(&program)))
        .map_err(|refusal| refusal.to_string())?;
    if artifact != again {
        return Err(String::from("two runs gave different modules"));
    }
    if let Ok(folder) = std::env::var("RELIC_PROGRAMS_OUT") {
        let bytes: Vec<u8> = artifact
            .spirv
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        std::fs::write(Path::new(&folder).join(format!("{}.spv", case.name)), bytes).expect("an output file");
        std::fs::write(Path::new(&folder).join(format!("{}.ir", case.name)), program.ir())
            .expect("an output file");
    }
    match spirv_val(&artifact.spirv) {
        Some(Ok(())) => Ok(()),
        Some(Err(message)) => Err(format!("spirv-val: {message}")),
        None => {
            eprintln!("spirv-val is not installed: {} was not validated", case.name);
            Ok(())
        }
    }
}

#[test]
fn programs_kept_here_recompile_as_they_say() {
    let cases = cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs"));
    assert!(cases.len() >= 5, "only {} cases", cases.len());
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|case| check(case).err().map(|why| format!("{}: {why}", case.name)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn clip_distances_stand_in_arrays_without_holes() {
    let case = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/clip_distances.txt"));
    let program = analyse(&binary(&case), &Profile::default()).expect("a program");
    let artifact = program.specialise(&plain(&program)).expect("a module");
    let module = rspirv::dr::load_words(&artifact.spirv).expect("valid words");
    insta::assert_snapshot!(module.disassemble());
}

#[test]
fn programs_of_the_named_folder_recompile() {
    let Ok(folder) = std::env::var("RELIC_PROGRAMS") else {
        eprintln!("RELIC_PROGRAMS names no folder of programs: skipped");
        return;
    };
    let cases = cases(Path::new(&folder));
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|case| check(case).err().map(|why| format!("{}: {why}", case.name)))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} refused or wrong:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn damaged_programs_are_refused_or_recompiled_but_never_panic() {
    // A fixed linear congruential sequence: the same damage on every machine.
    let mut state = 7_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let mut done = [0; 2];
    for mut case in cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")) {
        let whole = case.code.clone();
        for _ in 0..400 {
            case.code.clone_from(&whole);
            for _ in 0..1 + next() % 3 {
                let at = next() as usize % case.code.len();
                case.code[at] ^= 1 << (next() % 32);
            }
            let result = analyse(&binary(&case), &Profile::default())
                .and_then(|program| program.specialise(&plain(&program)));
            done[usize::from(result.is_ok())] += 1;
        }
    }
    assert!(done.iter().all(|count| *count > 100), "{done:?}");
}
