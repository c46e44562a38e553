//! Walks of resource plans, by the evaluator (the floor), by tapes one at a time, and by tapes for 64 draws at a time, on
//! the programs, user data and memory of recorded scenes. `RELIC_SCENES` names their folder.

use std::{
    hint::black_box,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use relic_benches::{
    Subject, measure, median,
    scenes::{Case, load, shader_captures},
};
use relic_core::MemoryReader;
use relic_recompiler::{Batch, Evaluation, Inputs, Scratch, Tape, evaluate};
use relic_systems::runtime::packet_table;

/// Goals: how many times faster than the evaluator, nanoseconds a node, bytes.
const TAPE_RATIO: f64 = 4.0;
const BATCH_RATIO: f64 = 8.0;
const EVALUATOR_NODE: f64 = 25.0;
const TAPE_NODE: f64 = 6.0;
const PLAN_BYTES: usize = 4096;

fn fail(reason: &str) -> ! {
    eprintln!("plans: {reason}");
    std::process::exit(2)
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

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = vec![folder.join("draws3000.pm4cap"), folder.join("mixed.pm4cap")];
    files.extend(shader_captures(folder));
    files.sort();
    files
}

fn main() -> ExitCode {
    let Some(folder) = std::env::var_os("RELIC_SCENES").map(PathBuf::from) else {
        println!("plans: not measured: RELIC_SCENES names no folder of recorded scenes");
        return ExitCode::SUCCESS;
    };
    let table = packet_table().unwrap_or_else(|errors| fail(&errors.to_string()));
    let mut all = Vec::new();
    let mut unmeasured = 0;
    for file in files(&folder) {
        let load = load(&file, &table).unwrap_or_else(|error| fail(&format!("{}: {error}", file.display())));
        let reader = load.reader();
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
