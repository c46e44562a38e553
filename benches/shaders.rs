//! What recompiled shaders cost beside the shaders that they were compiled from, on the open corpus: words of SPIR-V, the
//! driver's time to make a pipeline, and the recompiler's own time as a part of that. `RELIC_SCENES` names the folder of
//! scenes. The driver is the first Vulkan device: `./x oracle` runs this on RADV, which needs no GPU
//! (`RADV_FORCE_FAMILY`). `RELIC_EACH=1` lists every shader, `RELIC_SHADERS_OUT` names a folder for the modules.

use std::{
    collections::BTreeMap,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use relic_benches::{
    Subject,
    driver::Driver,
    measure, median,
    scenes::{Case, Load, load, shader_captures},
};
use relic_core::gpu::ImageDescriptor;
use relic_recompiler::{
    BufferShape, DescriptorKind, Evaluation, Features, FlatLocation, Inputs, Profile, Program, ShaderBinary,
    Specialization, Stage, StageRegisters, analyse, evaluate,
};
use relic_systems::{prepare::surface::image_shape, runtime::packet_table};
use relic_tests::counting::{Counting, allocations};
use rspirv::{binary::Assemble, spirv::Op};

/// Goals.
const WORDS: f64 = 1.3;
const PIPELINE: f64 = 1.3;
const TRANSLATION: f64 = 0.1;
const INSTRUCTION_US: f64 = 0.4;
/// Runs of which the least time of a pass counts.
const PASS_ROUNDS: u32 = 5;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn fail(reason: &str) -> ! {
    eprintln!("shaders: {reason}");
    std::process::exit(2)
}

/// A desktop GPU of the console's family.
fn profile(wave: u32) -> Profile {
    Profile {
        subgroup_size: wave,
        max_push_constants: 128,
        storage_buffer_alignment: 4,
        max_shared_memory: 64 << 10,
        helpers_load_zero: false,
        features: Features::all() - Features::FLOAT_CONTROLS,
    }
}

fn words_of(path: &Path) -> Option<Vec<u32>> {
    let bytes = fs::read(path).ok()?;
    Some(
        bytes
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect(),
    )
}

/// A module without names, lines and what else only people read.
fn stripped(words: &[u32]) -> Option<Vec<u32>> {
    let mut module = rspirv::dr::load_words(words).ok()?;
    module.debug_names.clear();
    module.debug_string_source.clear();
    module.debug_module_processed.clear();
    for function in &mut module.functions {
        for block in &mut function.blocks {
            block
                .instructions
                .retain(|inst| !matches!(inst.class.opcode, Op::Line | Op::NoLine));
        }
    }
    module
        .types_global_values
        .retain(|inst| !matches!(inst.class.opcode, Op::Line | Op::NoLine));
    Some(module.assemble())
}

/// Words by what they are for.
fn classes(words: &[u32], into: &mut BTreeMap<&'static str, f64>, share: f64) {
    let Ok(module) = rspirv::dr::load_words(words) else {
        return;
    };
    for inst in module.all_inst_iter() {
        let class = match inst.class.opcode {
            Op::Decorate | Op::MemberDecorate => "decorations",
            Op::Capability
            | Op::Extension
            | Op::ExtInstImport
            | Op::MemoryModel
            | Op::EntryPoint
            | Op::ExecutionMode => "head",
            Op::Constant | Op::ConstantTrue | Op::ConstantFalse | Op::ConstantComposite | Op::Undef => {
                "constants"
            }
            Op::Variable => "variables",
            Op::Bitcast => "bitcasts",
            Op::AccessChain => "access chains",
            Op::Load => "loads",
            Op::Store => "stores",
            Op::CompositeConstruct | Op::CompositeExtract | Op::VectorShuffle => "composites",
            Op::Select => "selects",
            Op::Phi => "phis",
            Op::Label
            | Op::Branch
            | Op::BranchConditional
            | Op::SelectionMerge
            | Op::LoopMerge
            | Op::Switch
            | Op::Return => "control flow",
            Op::ExtInst => "extended instructions",
            Op::FAdd | Op::FMul | Op::FSub | Op::FNegate | Op::FDiv => "float arithmetic",
            op if format!("{op:?}").starts_with("Type") => "types",
            op if format!("{op:?}").starts_with("Image") || op == Op::SampledImage => "images",
            _ => "other",
        };
        *into.entry(class).or_default() += share * inst.assemble().len() as f64;
    }
}

/// The descriptors' shapes as the first draw or dispatch finds them.
fn specialization(
    case: &Case,
    program: &Program,
    load: &Load,
    base: u32,
    push: u32,
) -> Option<Specialization> {
    let plan = program.plan();
    let reader = load.reader();
    let inputs = Inputs {
        user_data: case.rows.first()?,
        shader_base: case.address,
        memory: &reader,
    };
    let mut evaluation = Evaluation::default();
    evaluate(plan, &inputs, &mut evaluation).ok()?;
    let mut shapes = Specialization {
        binding_base: base,
        flat: if 4 * plan.flat_words() + push <= 128 {
            FlatLocation::PushConstants { offset: push }
        } else {
            FlatLocation::UniformBuffer
        },
        ..Specialization::default()
    };
    for (index, descriptor) in plan.descriptors.iter().enumerate() {
        let words = evaluation.descriptor(plan, index);
        match descriptor.kind {
            DescriptorKind::Buffer => shapes
                .buffers
                .push(BufferShape::from_words(words.try_into().ok()?, plan.alignment)),
            DescriptorKind::Image => {
                let words: [u32; 8] = words.try_into().ok()?;
                shapes.images.push(image_shape(&ImageDescriptor(words)));
            }
            DescriptorKind::Sampler => {}
        }
    }
    Some(shapes)
}

fn suffix(stage: Stage) -> (&'static str, &'static str) {
    match stage {
        Stage::Compute => ("comp", "cs"),
        Stage::Vertex => ("vert", "vs"),
        Stage::Pixel => ("frag", "ps"),
    }
}

/// A published shader and ours.
struct Pair {
    capture: String,
    stage: Stage,
    /// The stage that was published; the other one was made for it.
    published: bool,
    source: Vec<u32>,
    ours: Vec<u32>,
    instructions: usize,
    /// Microseconds of analysis and emission, hot and at first, and allocations of a hot run.
    time: f64,
    first: f64,
    allocations: u64,
    /// Microseconds of each pass.
    passes: Vec<(&'static str, f64)>,
}

fn instructions(case: &Case) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < case.code.len() {
        let place = relic_recompiler::ProgramCounter(4 * at as u32);
        let Ok((_, bytes)) = relic_recompiler::disassemble(&case.code, place, case.dialect) else {
            break;
        };
        at += bytes as usize / 4;
        count += 1;
    }
    count
}

fn pair(file: &Path, case: &Case, load: &Load, base: u32, push: u32) -> Option<(Pair, u32, u32)> {
    let stage = case.program.stage().stage();
    let (published, short) = suffix(stage);
    let folder = file.parent()?;
    let capture = file.file_stem()?.to_string_lossy().into_owned();
    let code = words_of(&folder.join(format!("{capture}.{short}.bin")))?;
    if !code.starts_with(&case.code) {
        return None;
    }
    let source = words_of(&folder.join(format!("{published}.spv")))?;
    let binary = ShaderBinary {
        stage: *case.program.stage(),
        dialect: case.dialect,
        address: case.address,
        code: &case.code,
    };
    let profile = profile(case.program.stage().wave_size());
    let start = Instant::now();
    let program = analyse(&binary, &profile).ok()?;
    let shapes = specialization(case, &program, load, base, push)?;
    let artifact = program.specialise(&shapes).ok()?;
    let first = start.elapsed().as_secs_f64() * 1e6;
    let before = allocations();
    let again = analyse(&binary, &profile).ok()?.specialise(&shapes).ok()?;
    let allocations = allocations() - before;
    black_box(&again);
    let hot = measure(
        &mut [Subject {
            name: "recompile",
            run: Box::new(|| {
                let artifact = analyse(&binary, &profile).and_then(|program| program.specialise(&shapes));
                let _ = black_box(artifact);
            }),
        }],
        10,
        4,
    );
    let mut passes: Vec<(&'static str, f64)> = Vec::new();
    for _ in 0..PASS_ROUNDS {
        let (program, inspection) = relic_recompiler::inspect::inspect(&binary, &profile).ok()?;
        let start = Instant::now();
        let _ = black_box(program.specialise(&shapes));
        let emission = ("emission", start.elapsed());
        for (at, (name, time)) in inspection.passes.into_iter().chain([emission]).enumerate() {
            let time = time.as_secs_f64() * 1e6;
            match passes.get_mut(at) {
                Some((_, least)) => *least = least.min(time),
                None => passes.push((name, time)),
            }
        }
    }
    let used = artifact
        .bindings
        .iter()
        .map(|b| b.binding + 1)
        .max()
        .unwrap_or(base);
    let pushed = artifact
        .flat
        .push_constant_offset
        .map_or(push, |offset| offset + 4 * artifact.flat.words);
    let pair = Pair {
        capture: format!("{}/{capture}", folder.file_name()?.to_string_lossy()),
        stage,
        published: folder.join(format!("source.{published}")).exists(),
        source,
        ours: artifact.spirv,
        instructions: instructions(case),
        time: hot[0].as_secs_f64() * 1e6,
        first,
        allocations,
        passes,
    };
    Some((pair, used, pushed))
}

fn main() -> ExitCode {
    let Some(folder) = std::env::var_os("RELIC_SCENES").map(PathBuf::from) else {
        println!("shaders: not measured: RELIC_SCENES names no folder of recorded scenes");
        return ExitCode::SUCCESS;
    };
    let table = packet_table().unwrap_or_else(|errors| fail(&errors.to_string()));
    let driver = Driver::open();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut missing = Vec::new();
    let mut pipelines: Vec<(String, f64, f64, f64)> = Vec::new();
    for file in shader_captures(&folder) {
        let load = load(&file, &table).unwrap_or_else(|error| fail(&format!("{}: {error}", file.display())));
        let (mut base, mut push, start) = (0, 0, pairs.len());
        let mut cases: Vec<&Case> = load.cases.iter().collect();
        cases.sort_by_key(|case| match case.program.stage() {
            StageRegisters::Compute { .. } => 0,
            StageRegisters::Vertex { .. } => 1,
            StageRegisters::Pixel { .. } => 2,
        });
        for case in cases {
            if let Some((pair, next, pushed)) = pair(&file, case, &load, base, push) {
                (base, push) = (next, pushed);
                pairs.push(pair);
            }
        }
        let made = &pairs[start..];
        let whole = match made {
            [one] => one.stage == Stage::Compute,
            [_, _] => true,
            _ => false,
        };
        let name = file.strip_prefix(folder.join("open")).unwrap_or(&file);
        if !whole {
            missing.push(name.display().to_string());
            continue;
        }
        let Some(driver) = &driver else { continue };
        let modules = |of: fn(&Pair) -> &Vec<u32>| -> Vec<&[u32]> {
            made.iter().map(|pair| of(pair).as_slice()).collect()
        };
        let (Some(source), Some(ours)) = (
            driver.recipe(&modules(|pair| &pair.source)),
            driver.recipe(&modules(|pair| &pair.ours)),
        ) else {
            missing.push(format!("{}: no layout", name.display()));
            continue;
        };
        if let (Err(error), _) | (_, Err(error)) = (source.make(), ours.make()) {
            missing.push(format!("{}: {error}", name.display()));
            continue;
        }
        let times = measure(
            &mut [
                Subject {
                    name: "source",
                    run: Box::new(|| {
                        let _ = black_box(source.make());
                    }),
                },
                Subject {
                    name: "ours",
                    run: Box::new(|| {
                        let _ = black_box(ours.make());
                    }),
                },
            ],
            8,
            1,
        );
        let [source, ours] = [times[0], times[1]].map(|time| time.as_secs_f64() * 1e6);
        let own = made.iter().map(|pair| pair.time).sum();
        pipelines.push((name.display().to_string(), source, ours, own));
    }
    report(
        &pairs,
        &pipelines,
        &missing,
        driver.as_ref().map(|driver| driver.name.as_str()),
    )
}

fn report(
    pairs: &[Pair],
    pipelines: &[(String, f64, f64, f64)],
    missing: &[String],
    driver: Option<&str>,
) -> ExitCode {
    let mut ratios = Vec::new();
    let (mut source_classes, mut our_classes) = (BTreeMap::new(), BTreeMap::new());
    if let Some(folder) = std::env::var_os("RELIC_SHADERS_OUT").map(PathBuf::from) {
        for pair in pairs {
            let (_, short) = suffix(pair.stage);
            let file = folder.join(format!("{}.{short}.spv", pair.capture.replace('/', ".")));
            let bytes: Vec<u8> = pair.ours.iter().flat_map(|word| word.to_le_bytes()).collect();
            if let Err(error) = fs::write(&file, bytes) {
                fail(&format!("{}: {error}", file.display()));
            }
        }
    }
    for pair in pairs.iter().filter(|pair| pair.published) {
        let (Some(source), Some(ours)) = (stripped(&pair.source), stripped(&pair.ours)) else {
            continue;
        };
        // Each module counts the same, whatever its length.
        let share = 100.0 / source.len() as f64;
        classes(&source, &mut source_classes, share);
        classes(&ours, &mut our_classes, share);
        ratios.push((
            ours.len() as f64 / source.len() as f64,
            pair,
            ours.len(),
            source.len(),
        ));
    }
    let words = median(ratios.iter().map(|(ratio, ..)| *ratio));
    println!(
        "words of SPIR-V, ours : source (names and lines out of both), {} shaders",
        ratios.len()
    );
    println!("  median                  {words:>8.2}   (at most {WORDS})");
    for stage in [Stage::Compute, Stage::Vertex, Stage::Pixel] {
        let of = ratios.iter().filter(|(_, pair, ..)| pair.stage == stage);
        println!(
            "  {:<24}{:>8.2}",
            stage.to_string(),
            median(of.map(|(ratio, ..)| *ratio))
        );
    }
    println!("  mean parts, in per cent of the source's words: source, ours");
    let count = ratios.len() as f64;
    let mut parts: Vec<_> = our_classes.iter().collect();
    parts.sort_by(|a, b| b.1.total_cmp(a.1));
    for (class, ours) in parts {
        let source = source_classes.get(class).copied().unwrap_or(0.0);
        println!("    {class:<22}{:>6.1} {:>6.1}", source / count, ours / count);
    }
    if std::env::var_os("RELIC_EACH").is_some() {
        ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (ratio, pair, ours, source) in &ratios {
            println!(
                "  {ratio:>6.2} {ours:>6} {source:>6} {} {}",
                pair.stage, pair.capture
            );
        }
    }
    let published = || pairs.iter().filter(|pair| pair.published);
    let instruction = median(published().map(|pair| pair.time / pair.instructions as f64));
    println!("recompiling, medians");
    println!(
        "  hot                     {:>8.1} us a shader {instruction:>6.2} us an instruction   (at most {INSTRUCTION_US})",
        median(published().map(|pair| pair.time))
    );
    println!(
        "  first : hot             {:>8.2}   (at most 3)",
        median(published().map(|pair| pair.first / pair.time))
    );
    println!(
        "  allocations             {:>8.0} a shader {:>6.1} an instruction",
        median(published().map(|pair| pair.allocations as f64)),
        median(published().map(|pair| pair.allocations as f64 / pair.instructions as f64))
    );
    println!("  parts of that, mean us a shader");
    let mut passes: Vec<(&str, f64)> = Vec::new();
    for (name, time) in published().flat_map(|pair| &pair.passes) {
        match passes.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += time,
            None => passes.push((name, *time)),
        }
    }
    for (name, sum) in passes {
        println!("    {name:<22}{:>8.1}", sum / published().count() as f64);
    }
    let mut holds = words <= WORDS;
    if let Some(name) = driver {
        let pipeline = median(pipelines.iter().map(|(_, source, ours, _)| ours / source));
        let own = median(pipelines.iter().map(|(_, source, _, own)| own / source));
        println!("pipelines on {name}, {} captures, medians", pipelines.len());
        println!(
            "  source, floor           {:>8.0} us",
            median(pipelines.iter().map(|(_, source, ..)| *source))
        );
        println!("  ours : source           {pipeline:>8.2}   (at most {PIPELINE})");
        println!("  recompiling : source    {own:>8.3}   (at most {TRANSLATION})");
        holds &= pipeline <= PIPELINE && own <= TRANSLATION;
        if std::env::var_os("RELIC_EACH").is_some() {
            for (name, source, ours, own) in pipelines {
                println!(
                    "  {:>6.2} {source:>8.0} {ours:>8.0} {own:>8.0} {name}",
                    ours / source
                );
            }
        }
    }
    for name in missing {
        println!("not compared: {name}");
    }
    if holds {
        return ExitCode::SUCCESS;
    }
    eprintln!("shaders: a goal is missed; run it again on a quiet machine before believing it");
    ExitCode::FAILURE
}
