//! `relic shader`: one shader's machine code as assembly, blocks, IR or SPIR-V.

use std::{fmt::Write as _, fs, path::PathBuf, process::ExitCode, time::Instant};

use relic_core::GuestAddress;
use relic_recompiler::{
    BufferShape, DescriptorKind, Dialect, ImageShape, Profile, Program, ProgramCounter, ShaderBinary,
    Specialization, StageRegisters, disassemble,
    inspect::{Inspection, inspect},
    scratch_dwords,
};

use crate::{failure::Failure, output};

/// Print a shader's machine code as assembly, or recompile it to SPIR-V
///
/// FILE holds raw machine code: little-endian words, without a header around them. SPIR-V goes to standard output as
/// a binary module; descriptors get default shapes (raw buffers, float images). Guest pointers are followed through a
/// page table, as on a device that has buffer addresses.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Raw machine code
    file: PathBuf,
    /// Stage it runs in
    #[arg(long, value_enum)]
    stage: Stage,
    /// What to print
    #[arg(long, value_enum, default_value_t = Emit::Asm)]
    emit: Emit,
    /// Registers that shape the program, for all but assembly: NAME=VALUE (a wrong name lists those of the stage)
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = register)]
    registers: Vec<(String, u32)>,
    /// Decode as desktop gfx10.3 instead of the console's gfx10.1
    #[arg(long)]
    gfx1030: bool,
    /// Say on standard error how large the program is at each stage, and how long each pass took
    #[arg(long)]
    statistics: bool,
}

/// The hardware stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Stage {
    /// Compute
    Cs,
    /// Vertex (NGG)
    Vs,
    /// Pixel
    Ps,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    /// Assembly with program counters
    Asm,
    /// Basic blocks and where they lead
    Cfg,
    /// The intermediate representation behind all passes
    Ir,
    /// A SPIR-V module
    Spirv,
}

/// Prints it.
///
/// # Errors
/// When the file can't be read, is no machine code, or is refused by the recompiler.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let bytes = fs::read(&arguments.file).map_err(Failure::io("reading", &arguments.file))?;
    if bytes.is_empty() || bytes.len() % 4 != 0 {
        return Err(Failure::refused(
            format!(
                "{} has {} bytes, and machine code comes in words of 4",
                arguments.file.display(),
                bytes.len()
            ),
            "give the raw code: what the program address points at, up to and with s_endpgm",
        ));
    }
    let (words, _) = bytes.as_chunks();
    let code: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let dialect = if arguments.gfx1030 {
        Dialect::Gfx1030
    } else {
        Dialect::Gfx1013
    };
    match arguments.emit {
        Emit::Asm => {
            let listing = listing(&code, dialect);
            output::print(&listing.text)?;
            match listing.first_unknown {
                Some(place) => Err(Failure::refused(
                    format!(
                        "the words at {place} are no instruction of this chip, and the program has not ended before them"
                    ),
                    "is this raw machine code, and of this chip? --gfx1030 decodes desktop gfx10.3",
                )),
                None => Ok(ExitCode::SUCCESS),
            }
        }
        Emit::Cfg | Emit::Ir | Emit::Spirv => recompile(arguments, &code, dialect),
    }
}

/// A program as text.
struct Listing {
    text: String,
    /// Where words that are no instruction stand before any `s_endpgm`.
    first_unknown: Option<ProgramCounter>,
}

/// All words. Behind an `s_endpgm` there may be data, so what does not decode there is no error.
fn listing(code: &[u32], dialect: Dialect) -> Listing {
    let mut listing = Listing {
        text: String::new(),
        first_unknown: None,
    };
    let mut ended = false;
    let mut at = 0;
    while at < code.len() {
        let place = ProgramCounter(4 * at as u32);
        let words = match disassemble(code, place, dialect) {
            Ok((instruction, bytes)) => {
                ended |= instruction.starts_with("s_endpgm");
                let _ = writeln!(listing.text, "{:6x}  {instruction}", place.0);
                (bytes as usize / 4).max(1)
            }
            Err(reason) => {
                if !ended {
                    listing.first_unknown.get_or_insert(place);
                }
                let _ = writeln!(
                    listing.text,
                    "{:6x}  .long {:#010x}  ; {reason}",
                    place.0, code[at]
                );
                1
            }
        };
        at += words;
    }
    listing
}

fn recompile(arguments: &Arguments, code: &[u32], dialect: Dialect) -> Result<ExitCode, Failure> {
    let binary = ShaderBinary {
        stage: stage_registers(arguments.stage, &arguments.registers)?,
        dialect,
        address: GuestAddress(0),
        code,
    };
    let refused = || format!("recompiling {}", arguments.file.display());
    let (program, inspection) = inspect(&binary, &Profile::default()).map_err(Failure::work(refused()))?;
    if arguments.statistics {
        eprint!("{}", statistics(&program, &inspection));
    }
    match arguments.emit {
        Emit::Cfg => {
            output::print(&inspection.blocks)?;
            return Ok(ExitCode::SUCCESS);
        }
        Emit::Ir => {
            output::print(&program.ir())?;
            return Ok(ExitCode::SUCCESS);
        }
        Emit::Asm | Emit::Spirv => {}
    }
    let of_kind = |kind| {
        let descriptors = program.plan().descriptors.iter();
        descriptors.filter(|source| source.kind == kind).count()
    };
    let specialization = Specialization {
        buffers: std::iter::repeat_n(BufferShape::default(), of_kind(DescriptorKind::Buffer)).collect(),
        images: std::iter::repeat_n(ImageShape::default(), of_kind(DescriptorKind::Image)).collect(),
        names: true,
        ..Specialization::default()
    };
    let start = Instant::now();
    let artifact = program
        .specialise(&specialization)
        .map_err(Failure::work(refused()))?;
    if arguments.statistics {
        let time = start.elapsed().as_secs_f64() * 1e6;
        eprintln!(
            "{time:9.1} us  emit SPIR-V\n{:9} words of SPIR-V",
            artifact.spirv.len()
        );
    }
    let module: Vec<u8> = artifact
        .spirv
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    output::print_bytes(&module)?;
    Ok(ExitCode::SUCCESS)
}

fn statistics(program: &Program, inspection: &Inspection) -> String {
    let mut text = String::new();
    let plan = program.plan();
    let (steps, tape) = program.tape().map_or((0, 0), |tape| (tape.len(), tape.size()));
    for (count, what) in [
        (inspection.instructions, "reachable instructions"),
        (inspection.block_count, "basic blocks"),
        (inspection.structured_blocks, "structured blocks"),
        (inspection.values, "values of the IR"),
        (plan.nodes.len(), "nodes of the resource plan"),
        (plan.size(), "bytes of the resource plan"),
        (steps, "steps of its tape (0: the evaluator walks it)"),
        (tape, "bytes of its tape"),
    ] {
        let _ = writeln!(text, "{count:9} {what}");
    }
    for (pass, time) in &inspection.passes {
        let _ = writeln!(text, "{:9.1} us  {pass}", time.as_secs_f64() * 1e6);
    }
    text
}

/// `NAME=VALUE`, the value decimal or with 0x.
fn register(text: &str) -> Result<(String, u32), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in rsrc2=0x10")?;
    let number = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => value.parse(),
    };
    match number {
        Ok(number) => Ok((name.to_ascii_lowercase(), number)),
        Err(_) => Err(format!("{value:?} is no 32-bit number")),
    }
}

/// The stage's registers, each as it was set, or else as a program without resources has it.
fn stage_registers(stage: Stage, set: &[(String, u32)]) -> Result<StageRegisters, Failure> {
    let mut known = Vec::new();
    let mut take = |name: &'static str, default: u32| {
        known.push(name);
        let last = set.iter().rev().find(|(own, _)| own == name);
        last.map_or(default, |(_, value)| *value)
    };
    let rsrc1 = take("rsrc1", 0);
    let rsrc2 = take("rsrc2", 0);
    let wave32 = take("wave32", 0) != 0;
    let scratch = scratch_dwords(take("tmpring_size", 0), rsrc2, wave32);
    let registers = match stage {
        Stage::Cs => StageRegisters::Compute {
            rsrc1,
            rsrc2,
            rsrc3: take("rsrc3", 0),
            num_thread: [
                take("num_thread_x", 64),
                take("num_thread_y", 1),
                take("num_thread_z", 1),
            ],
            wave32,
            scratch,
        },
        Stage::Vs => StageRegisters::Vertex {
            rsrc1,
            rsrc2,
            merged: take("merged", 1) != 0,
            // One position of four floats.
            pos_format: take("pos_format", 4),
            vs_out_cntl: take("vs_out_cntl", 0),
            vs_out_config: take("vs_out_config", 0),
            wave32,
            scratch,
        },
        Stage::Ps => StageRegisters::Pixel {
            rsrc1,
            rsrc2,
            input_ena: take("input_ena", 2),
            input_addr: take("input_addr", 2),
            in_control: take("in_control", 0),
            input_cntl: std::array::from_fn(|i| i as u32),
            // One target of four 32-bit floats.
            col_format: take("col_format", 9),
            z_format: take("z_format", 0),
            shader_mask: take("shader_mask", 0xf),
            db_shader_control: take("db_shader_control", 0),
            wave32,
            scratch,
        },
    };
    match set.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        None => Ok(registers),
        Some((name, _)) => Err(Failure::refused(
            format!("this stage has no register {name:?}"),
            format!("it has {}", known.join(", ")),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_matter_only_before_the_end() {
        // s_mov_b32 s0, 0; s_endpgm; a word of the reserved encodings.
        let listed = listing(&[0xbe80_0380, 0xbf81_0000, 0xffff_ffff], Dialect::Gfx1013);
        assert!(listed.text.contains("     4  s_endpgm"), "{}", listed.text);
        assert!(listed.text.contains(".long 0xffffffff"), "{}", listed.text);
        assert_eq!(listed.first_unknown, None);
        let broken = listing(&[0xffff_ffff, 0xbf81_0000], Dialect::Gfx1013);
        assert_eq!(broken.first_unknown, Some(ProgramCounter(0)));
    }

    #[test]
    fn a_register_of_another_stage_is_refused_with_those_of_this_one() {
        let set = [("input_ena".to_owned(), 1)];
        assert!(stage_registers(Stage::Ps, &set).is_ok());
        let error = stage_registers(Stage::Cs, &set).unwrap_err();
        assert!(
            crate::failure::text(&error).contains("num_thread_x"),
            "names are listed"
        );
    }
}
