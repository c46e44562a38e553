//! Whole programs: analysed, specialised and validated.
//!
//! A case is a pair of files, `NAME.txt` (stage and registers, a line each) and `NAME.bin` (machine code). Those
//! of the small scenes lie in `programs/`; `RELIC_PROGRAMS` may name a folder with more.

#![expect(clippy::expect_used, reason = "a test stops at what it did not expect")]

use relic_recompiler::{
    BufferShape, DescriptorKind, Dialect, FlatLocation, ImageShape, Profile, Program, Refusal, ShaderBinary,
    Specialization, StageRegisters, analyse,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Case {
    name: String,
    registers: StageRegisters,
    address: u64,
    code: Vec<u32>,
}

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
        },
        _ => StageRegisters::Vertex {
            rsrc1: one("rsrc1"),
            rsrc2: one("rsrc2"),
            merged: one("merged") != 0,
            pos_format: one("pos"),
            vs_out_cntl: one("vsout"),
            vs_out_config: one("cfg"),
            wave32,
        },
    };
    let bytes = std::fs::read(text_path.with_extension("bin")).expect("a case's code");
    let code = bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    Case {
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

fn spirv_val(words: &[u32]) -> Option<Result<(), String>> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let path = std::env::temp_dir().join(format!(
        "relic-{}-{:?}.spv",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::write(&path, bytes).expect("a temporary file");
    let output = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.3"])
        .arg(&path)
        .output();
    let result = match output {
        Ok(output) if output.status.success() => Some(Ok(())),
        Ok(output) => Some(Err(String::from_utf8_lossy(&output.stderr).into_owned())),
        Err(_) => None,
    };
    let _ = std::fs::remove_file(path);
    result
}

fn check(case: &Case) -> Result<(), String> {
    let program =
        analyse(&binary(case), &Profile::default()).map_err(|refusal: Refusal| refusal.to_string())?;
    let artifact = program
        .specialise(&plain(&program))
        .map_err(|refusal| refusal.to_string())?;
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
fn programs_of_the_small_scenes_recompile() {
    let cases = cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs"));
    assert!(cases.len() >= 5, "only {} cases", cases.len());
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|case| check(case).err().map(|why| format!("{}: {why}", case.name)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
