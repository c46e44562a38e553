//! What the schedule costs over the same functions in a plain loop.
//!
//! Floor 1: nothing. The Submit schedule with one empty system in each of its nine stages must cost at most 1 µs a run.
//! Floor 2: the plain loop. 3,000 draws, all of Relic's packets registered, decoded and committed to a recorder that
//! does nothing: the schedule may cost at most 20 ns a row more than the same functions called in a loop.

use std::{hint::black_box, process::ExitCode};

use bevy_ecs::prelude::*;
use relic_benches::{Subject, measure};
use relic_components::{
    Accesses, Commands, Counters, Dispatches, Draws, PacketRows, QueueStatus, RegisterBanks, Submission,
    batch::Snapshots,
    message::CommandBuffer,
    queue::{CommandCursor, PacketState, PendingSubmissions},
    video::FlipRequest,
    work::{InFlightWrites, PendingLabels},
};
use relic_core::{GuestAddress, GuestMemory, GuestRange, QueueId, SubmissionId};
use relic_schedules::{Barrier, Label, PacketRefusal, PacketTable, Recorder, Runtime, RuntimeBuilder, Stage};
use relic_systems::{
    commit::{RowRecorder, record_rows},
    decode::{decode_packets, walk_queue},
    ingest::queue_bundle,
    packets::PacketsPlugin,
    resources::Memory,
    scene::packet,
    settle::clear_batch,
};

const DRAWS: usize = 3000;

/// Does nothing.
struct Nothing(u64);

impl Recorder for Nothing {
    fn copy_memory(&mut self, _: GuestAddress, _: GuestAddress, _: u64) -> Result<(), PacketRefusal> {
        Ok(())
    }
    fn fill_memory(&mut self, _: GuestRange, _: u32) -> Result<(), PacketRefusal> {
        Ok(())
    }
    fn write_memory(&mut self, _: GuestAddress, _: &[u32]) -> Result<(), PacketRefusal> {
        Ok(())
    }
    fn barrier(&mut self, _: Barrier) {}
    fn write_clock(&mut self, _: GuestAddress) -> Result<(), PacketRefusal> {
        Ok(())
    }
    fn draw(&mut self, index: u32) -> Result<(), PacketRefusal> {
        self.0 += u64::from(black_box(index));
        Ok(())
    }
    fn dispatch(&mut self, _: u32) -> Result<(), PacketRefusal> {
        Ok(())
    }
    fn flip(&mut self, _: FlipRequest) {}
    fn interrupt(&mut self) {}
    fn push_marker(&mut self, _: &str) {}
    fn pop_marker(&mut self) {}
}

impl RowRecorder for Nothing {
    fn begin_row(&mut self, _: u32) {}
    fn end_row(&mut self) -> Result<(), PacketRefusal> {
        Ok(())
    }
}

fn empty() {}

/// One empty system in each stage, each a type of its own.
fn empty_runtime() -> Runtime {
    let mut builder = RuntimeBuilder::new();
    for stage in Label::Submit.stages() {
        builder.add_systems(Label::Submit, (|| empty()).in_set(*stage));
    }
    builder.build().unwrap_or_else(|errors| fail(&errors.to_string()))
}

fn fail(reason: &str) -> ! {
    eprintln!("schedule_overhead: {reason}");
    std::process::exit(2)
}

/// What the schedule is fed with.
#[derive(Resource, Clone)]
struct Feed(Submission);

fn feed(feed: Res<Feed>, mut queues: Query<(&mut PendingSubmissions, &mut QueueStatus)>) {
    for (mut pending, mut status) in &mut queues {
        pending.0.push_back(feed.0.clone());
        *status = QueueStatus::Ready;
    }
}

fn commit_nothing(table: Res<PacketTable>, mut queues: Query<(&mut Commands, &PacketRows)>) {
    for (mut commands, columns) in &mut queues {
        commands.cut = commands.rows.len();
        let mut recorder = Nothing(0);
        let _ = record_rows(0..commands.cut, &commands, &table, columns, &mut recorder);
        black_box(recorder.0);
        commands.committed = commands.cut;
    }
}

fn clear(
    mut queues: Query<(
        (&mut Commands, &mut Accesses, &mut PacketRows),
        (&mut Draws, &mut Dispatches, &mut Snapshots),
    )>,
) {
    for (rows, work) in &mut queues {
        let (mut commands, mut accesses, mut columns) = rows;
        let (mut draws, mut dispatches, mut snapshots) = work;
        clear_batch(
            (&mut commands, &mut accesses, &mut columns),
            (&mut draws, &mut dispatches, &mut snapshots),
        );
    }
}

/// 3,000 draws with a user-data write in front of each, as titles have them.
fn draw_stream() -> Vec<u32> {
    let mut words = Vec::new();
    for i in 0..DRAWS as u32 {
        words.extend(packet(0x76, &[0x8C, i, i + 1, i + 2, i + 3]));
        words.extend(packet(0x2D, &[3, 2]));
    }
    words
}

fn main() -> ExitCode {
    let mut empty_schedule = empty_runtime();
    let idle = measure(
        &mut [Subject {
            name: "empty",
            run: Box::new(|| {
                let _ = empty_schedule.run(Label::Submit);
            }),
        }],
        200,
        1000,
    )[0];

    let mut words = draw_stream();
    let memory = std::sync::Arc::new(GuestMemory::new());
    let range = GuestRange::new(GuestAddress(0x10000), 4 * words.len() as u64);
    // SAFETY: the words live to the end of `main` and are only read through the memory.
    if unsafe { memory.map(range, words.as_mut_ptr().cast(), true, "commands") }.is_err() {
        fail("the command memory can't be mapped");
    }
    let buffer = CommandBuffer {
        address: range.start(),
        words: words.len() as u32,
    };
    let submission = Submission {
        id: SubmissionId(1),
        queue: QueueId::GRAPHICS,
        buffers: std::iter::once(buffer).collect(),
    };

    let mut builder = RuntimeBuilder::new();
    builder
        .add_plugin(&PacketsPlugin)
        .insert_resource(Memory(std::sync::Arc::clone(&memory)))
        .insert_resource(Counters::default())
        .insert_resource(InFlightWrites::default())
        .insert_resource(Feed(submission.clone()))
        .add_systems(
            Label::Submit,
            (
                feed.in_set(Stage::Ingest),
                decode_packets.in_set(Stage::Decode),
                commit_nothing.in_set(Stage::Commit),
                clear.in_set(Stage::Settle),
            ),
        );
    let mut runtime = builder.build().unwrap_or_else(|errors| fail(&errors.to_string()));
    let table = runtime.world().resource::<PacketTable>().clone();
    let bundle = queue_bundle(QueueId::GRAPHICS, &table);
    runtime.world_mut().spawn(bundle);

    let mut cursor = CommandCursor::default();
    let mut pending = PendingSubmissions::default();
    let mut banks = RegisterBanks::default();
    let mut state = PacketState::default();
    let mut commands = Commands::default();
    let mut accesses = Accesses::default();
    let mut columns = PacketRows {
        columns: table.columns(),
    };
    let (mut draws, mut dispatches, mut snapshots) =
        (Draws::default(), Dispatches::default(), Snapshots::default());
    let mut labels = PendingLabels::default();
    let in_flight = InFlightWrites::default();
    let times = measure(
        &mut [
            Subject {
                name: "plain loop",
                run: Box::new(|| {
                    pending.0.push_back(submission.clone());
                    walk_queue(
                        QueueId::GRAPHICS,
                        &table,
                        &memory.reader(),
                        (&mut cursor, &mut pending),
                        (&mut banks, &mut state),
                        (&mut commands, &mut accesses, &mut columns),
                        (&mut draws, &mut dispatches, &mut snapshots),
                        (&mut labels, &in_flight),
                    );
                    let mut recorder = Nothing(0);
                    let _ = record_rows(0..commands.rows.len(), &commands, &table, &columns, &mut recorder);
                    black_box(recorder.0);
                    if commands.rows.len() != DRAWS {
                        fail("the plain loop decoded another number of draws");
                    }
                    clear_batch(
                        (&mut commands, &mut accesses, &mut columns),
                        (&mut draws, &mut dispatches, &mut snapshots),
                    );
                }),
            },
            Subject {
                name: "schedule",
                run: Box::new(|| {
                    let _ = runtime.run(Label::Submit);
                }),
            },
        ],
        400,
        4,
    );
    let per_row = |time: std::time::Duration| time.as_nanos() as f64 / DRAWS as f64;
    let over = per_row(times[1]) - per_row(times[0]);
    println!(
        "Submit, nine empty stages          {:>8} ns a run   (at most 1000)",
        idle.as_nanos()
    );
    println!(
        "3000 draws, plain loop             {:>8.1} ns a row",
        per_row(times[0])
    );
    println!(
        "3000 draws, schedule               {:>8.1} ns a row",
        per_row(times[1])
    );
    println!("schedule over plain loop           {over:>8.1} ns a row   (at most 20)");
    if idle.as_nanos() > 1000 || over > 20.0 {
        eprintln!("schedule_overhead: above the limit; run it again on a quiet machine before believing it");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
