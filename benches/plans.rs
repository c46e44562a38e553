//! Walks of resource plans, by the evaluator (the floor), by tapes one at a time, and by tapes for 64 draws at a time, on
//! the programs, user data and memory of recorded scenes. `RELIC_SCENES` names their folder.

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use hashbrown::HashMap;
use relic_benches::{Subject, measure};
use relic_components::{
    Accesses, Commands, Dispatches, Draws, PacketRows, RegisterBanks, Submission,
    batch::{COMPUTE_USER_DATA, GRAPHICS_USER_DATA, Snapshots},
    message::CommandBuffer,
    queue::{CommandCursor, PacketState, PendingSubmissions},
    work::{InFlightWrites, PendingLabels},
};
use relic_core::{GuestAddress, GuestMemory, MemoryReader, QueueId, SubmissionId, memory::HostMapping};
use relic_recompiler::{
    Batch, Dialect, Evaluation, Inputs, Profile, Program, Scratch, ShaderBinary, Tape, analyse, evaluate,
};
use relic_schedules::{PacketTable, RuntimeBuilder};
use relic_systems::{
    capture::{compute_key, pixel_key, vertex_key},
    decode::walk_queue,
    packets::PacketsPlugin,
    programs::ProgramKey,
    scene::{self, Event, Scene},
};

/// Goals: how many times faster than the evaluator, nanoseconds a node, bytes.
const TAPE_RATIO: f64 = 4.0;
const BATCH_RATIO: f64 = 8.0;
const EVALUATOR_NODE: f64 = 25.0;
const TAPE_NODE: f64 = 6.0;
const PLAN_BYTES: usize = 4096;

/// A program and the user data of draws that run it.
struct Case {
    program: Program,
    address: GuestAddress,
    rows: Vec<Vec<u32>>,
}

fn fail(reason: &str) -> ! {
    eprintln!("plans: {reason}");
    std::process::exit(2)
}

/// The programs of a scene's submissions, with the memory that its first one meets.
struct Load {
    memory: GuestMemory,
    cases: Vec<Case>,
    _mappings: Vec<HostMapping>,
}

fn load(file: &Path, table: &PacketTable) -> Result<Load, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let scene = scene::parse(&bytes).map_err(|error| error.to_string())?;
    let memory = GuestMemory::new();
    let mut mappings = Vec::new();
    let mut rows: HashMap<ProgramKey, Vec<Vec<u32>>> = HashMap::new();
    for event in &scene.events {
        match event {
            Event::Region { range, .. } => {
                let mapping = HostMapping::new(*range).map_err(|error| error.to_string())?;
                // SAFETY: the mapping lives as long as the memory, in `Load`.
                unsafe { memory.map(*range, mapping.as_ptr(), true, "scene") }
                    .map_err(|error| error.to_string())?;
                mappings.push(mapping);
            }
            Event::Write { address, bytes } => memory
                .reader()
                .write_bytes(GuestAddress(address.0 & scene.address_mask), bytes)
                .map_err(|error| error.to_string())?,
            Event::Submit(_) => {
                collect(&scene, event, &memory, table, &mut rows);
                break;
            }
            _ => {}
        }
    }
    let reader = memory.reader();
    let cases = rows.into_iter().filter_map(|(key, rows)| {
        let region = reader.region(key.address)?.range();
        let mut code = vec![0; ((region.end().0 - key.address.0) / 4).min(1 << 14) as usize];
        reader.read_words(key.address, &mut code).ok()?;
        let binary = ShaderBinary {
            stage: key.stage,
            dialect: if scene.chip == 1030 {
                Dialect::Gfx1030
            } else {
                Dialect::Gfx1013
            },
            address: key.address,
            code: &code,
        };
        let program = analyse(&binary, &Profile::default()).ok()?;
        let used = program.stage().user_data_count() as usize;
        let rows: Vec<Vec<u32>> = rows
            .into_iter()
            .map(|mut row| {
                row.truncate(used);
                row
            })
            .collect();
        Some(Case {
            program,
            address: key.address,
            rows,
        })
    });
    let cases = cases.collect();
    Ok(Load {
        memory,
        cases,
        _mappings: mappings,
    })
}

/// Decodes a submission and sorts its draws and dispatches by program.
fn collect(
    scene: &Scene,
    event: &Event,
    memory: &GuestMemory,
    table: &PacketTable,
    rows: &mut HashMap<ProgramKey, Vec<Vec<u32>>>,
) {
    let Event::Submit(submission) = event else { return };
    let mut pending = PendingSubmissions::default();
    pending.0.push_back(Submission {
        id: SubmissionId(1),
        queue: QueueId::GRAPHICS,
        buffers: submission
            .buffers
            .iter()
            .map(|(address, words)| CommandBuffer {
                address: GuestAddress(address.0 & scene.address_mask),
                words: *words,
            })
            .collect(),
    });
    let mut columns = PacketRows {
        columns: table.columns(),
    };
    let (mut draws, mut dispatches, mut snapshots) =
        (Draws::default(), Dispatches::default(), Snapshots::default());
    let _ = walk_queue(
        QueueId::GRAPHICS,
        table,
        &memory.reader(),
        (&mut CommandCursor::default(), &mut pending),
        (&mut RegisterBanks::default(), &mut PacketState::default()),
        (&mut Commands::default(), &mut Accesses::default(), &mut columns),
        (&mut draws, &mut dispatches, &mut snapshots),
        (&mut PendingLabels::default(), &InFlightWrites::default()),
    );
    for draw in &draws.rows {
        let state = &snapshots.states[draw.state as usize];
        for (key, first) in [
            (vertex_key(state).ok(), draw.vertex_user_data),
            (pixel_key(state), draw.pixel_user_data),
        ] {
            let first = first as usize;
            if let Some(key) = key {
                let words = draws.user_data[first..first + GRAPHICS_USER_DATA].to_vec();
                rows.entry(key).or_default().push(words);
            }
        }
    }
    for dispatch in &dispatches.rows {
        let first = dispatch.user_data as usize;
        if let Ok(key) = compute_key(&snapshots.states[dispatch.state as usize], dispatch.initiator) {
            let words = dispatches.user_data[first..first + COMPUTE_USER_DATA].to_vec();
            rows.entry(key).or_default().push(words);
        }
    }
}

/// Times of one case, each for one walk.
struct Times {
    nodes: usize,
    loads: usize,
    bytes: usize,
    evaluator: f64,
    tape: f64,
    batch: f64,
}

fn time(case: &Case, reader: &MemoryReader) -> Option<Times> {
    let plan = case.program.plan();
    let tape = case.program.tape()?;
    let inputs = |row: &'_ Vec<u32>| -> Vec<u32> { row.clone() };
    let rows: Vec<Vec<u32>> = case
        .rows
        .iter()
        .cycle()
        .take(Tape::MOST_ROWS)
        .map(inputs)
        .collect();
    let slices: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
    let inputs = |user_data| Inputs {
        user_data,
        shader_base: case.address,
        memory: reader,
    };
    let mut scratch = Scratch::default();
    let mut out = Evaluation::default();
    // Only walks that come out are worth their time.
    if plan.nodes.is_empty()
        || !slices
            .iter()
            .all(|row| tape.evaluate(plan, &inputs(row), &mut scratch, &mut out))
    {
        return None;
    }
    let (mut single, mut many) = (Scratch::default(), Scratch::default());
    let (mut by_evaluator, mut by_tape, mut by_batch) = (
        Evaluation::default(),
        Evaluation::default(),
        Evaluation::default(),
    );
    let times = measure(
        &mut [
            Subject {
                name: "evaluator",
                run: Box::new(|| {
                    for row in &slices {
                        let _ = evaluate(plan, &inputs(row), &mut by_evaluator);
                        black_box(&by_evaluator);
                    }
                }),
            },
            Subject {
                name: "tape",
                run: Box::new(|| {
                    for row in &slices {
                        tape.evaluate(plan, &inputs(row), &mut single, &mut by_tape);
                        black_box(&by_tape);
                    }
                }),
            },
            Subject {
                name: "batch",
                run: Box::new(|| {
                    let batch = Batch {
                        user_data: &slices,
                        shader_base: case.address,
                        memory: reader,
                    };
                    tape.run(plan, &batch, &mut many);
                    by_batch.clear();
                    for row in 0..slices.len() {
                        tape.words(plan, &many, row, &mut by_batch);
                        tape.reads(&many, row, &mut by_batch);
                    }
                    black_box(&by_batch);
                }),
            },
        ],
        20,
        8,
    );
    let walk = |time: Duration| time.as_secs_f64() * 1e9 / slices.len() as f64;
    Some(Times {
        nodes: plan.nodes.len(),
        loads: plan.nodes.iter().filter(|node| node.op.loads()).count(),
        bytes: plan.size(),
        evaluator: walk(times[0]),
        tape: walk(times[1]),
        batch: walk(times[2]),
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![folder.join("draws3000.pm4cap"), folder.join("mixed.pm4cap")];
    let folders = fs::read_dir(folder.join("open")).into_iter().flatten().flatten();
    for folder in folders {
        let captures = fs::read_dir(folder.path()).into_iter().flatten().flatten();
        files.extend(
            captures
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "pm4cap")),
        );
    }
    files.sort();
    files
}

fn main() -> ExitCode {
    let Some(folder) = std::env::var_os("RELIC_SCENES").map(PathBuf::from) else {
        println!("plans: not measured: RELIC_SCENES names no folder of recorded scenes");
        return ExitCode::SUCCESS;
    };
    let mut builder = RuntimeBuilder::new();
    builder.add_plugin(&PacketsPlugin);
    let runtime = builder.build().unwrap_or_else(|errors| fail(&errors.to_string()));
    let table = runtime.world().resource::<PacketTable>().clone();
    let mut all = Vec::new();
    let mut unmeasured = 0;
    for file in files(&folder) {
        let load = load(&file, &table).unwrap_or_else(|error| fail(&format!("{}: {error}", file.display())));
        let reader = load.memory.reader();
        for case in &load.cases {
            match time(case, &reader) {
                Some(times) => all.push((file.clone(), times)),
                None => unmeasured += 1,
            }
        }
    }
    let draws = |file: &Path| file.file_name().is_some_and(|name| name == "draws3000.pm4cap");
    let mut holds = !all.is_empty();
    for (what, chosen) in [
        (
            "plans that read memory",
            all.iter()
                .map(|(_, times)| times)
                .filter(|times| times.loads > 0)
                .collect::<Vec<_>>(),
        ),
        (
            "draws3000",
            all.iter()
                .filter(|(file, _)| draws(file))
                .map(|(_, times)| times)
                .collect(),
        ),
    ] {
        let of = |value: fn(&Times) -> f64| median(chosen.iter().map(|times| value(times)));
        let (tape, batch) = (of(|t| t.evaluator / t.tape), of(|t| t.evaluator / t.batch));
        let evaluator_node = of(|t| t.evaluator / t.nodes as f64);
        let tape_node = of(|t| t.tape / t.nodes as f64);
        let bytes = of(|t| t.bytes as f64);
        println!("{what}: {} plans, medians", chosen.len());
        println!(
            "  nodes, loads, bytes      {:>8} {:>6} {bytes:>6}   (bytes at most {PLAN_BYTES})",
            of(|t| t.nodes as f64),
            of(|t| t.loads as f64)
        );
        println!(
            "  evaluator, floor         {:>8.0} ns a walk {evaluator_node:>6.1} ns a node   (at most {EVALUATOR_NODE})",
            of(|t| t.evaluator)
        );
        println!(
            "  tape, one draw           {:>8.0} ns a walk {tape_node:>6.1} ns a node   (at most {TAPE_NODE})",
            of(|t| t.tape)
        );
        println!("  tape, 64 draws           {:>8.0} ns a walk", of(|t| t.batch));
        println!("  evaluator : tape         {tape:>8.2}   (at least {TAPE_RATIO})");
        println!("  evaluator : 64 draws     {batch:>8.2}   (at least {BATCH_RATIO})");
        holds &= tape >= TAPE_RATIO
            && batch >= BATCH_RATIO
            && evaluator_node <= EVALUATOR_NODE
            && tape_node <= TAPE_NODE
            && bytes <= PLAN_BYTES as f64;
    }
    println!(
        "all plans: {}, {} bytes (median)",
        all.len(),
        median(all.iter().map(|(_, times)| times.bytes as f64))
    );
    let near = all.iter().filter(|(_, t)| (20..=28).contains(&t.loads));
    println!(
        "plans of 20 to 28 loads, one draw  {:>8.0} ns a walk   (24 loads at most 500)",
        median(near.map(|(_, times)| times.tape))
    );
    println!("not measured: {unmeasured} plans that are empty or whose first walk does not come out");
    if holds {
        return ExitCode::SUCCESS;
    }
    eprintln!("plans: a goal is missed; run it again on a quiet machine before believing it");
    ExitCode::FAILURE
}
