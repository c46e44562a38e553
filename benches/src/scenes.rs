//! The programs of recorded scenes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hashbrown::HashMap;
use relic_components::{
    Accesses, Commands, Dispatches, Draws, PacketRows, RegisterBanks, Submission,
    batch::{COMPUTE_USER_DATA, GRAPHICS_USER_DATA, Snapshots},
    message::CommandBuffer,
    queue::{CommandCursor, PacketState, PendingSubmissions},
    work::{InFlightWrites, PendingLabels},
};
use relic_core::{GuestAddress, MemoryReader, QueueId, SubmissionId};
use relic_recompiler::{Dialect, Profile, Program, ShaderBinary, analyse};
use relic_schedules::PacketTable;
use relic_systems::{
    capture::{compute_key, pixel_key, vertex_key},
    decode::walk_queue,
    programs::ProgramKey,
    scene::{self, Event, SceneSubmission, memory::SceneMemory},
};

/// A program and the user data of draws that run it.
pub struct Case {
    /// The program, analysed for [`Profile::default`].
    pub program: Program,
    /// Its address.
    pub address: GuestAddress,
    /// Encoding table.
    pub dialect: Dialect,
    /// Its words, to the end of the last instruction.
    pub code: Vec<u32>,
    /// User data of each draw or dispatch that runs it.
    pub rows: Vec<Vec<u32>>,
}

/// The captures of single shaders in a folder of scenes, in order.
#[must_use]
pub fn shader_captures(folder: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder.join("open")).into_iter().flatten().flatten();
    let mut files: Vec<_> = folders
        .flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pm4cap"))
        .collect();
    files.sort();
    files
}

/// The programs of a scene's submissions, with the memory that its first one meets.
pub struct Load {
    /// Its programs.
    pub cases: Vec<Case>,
    memory: SceneMemory,
}

impl Load {
    /// A reader of its memory.
    #[must_use]
    pub fn reader(&self) -> MemoryReader {
        self.memory.memory().reader()
    }
}

/// Reads a capture, up to its first submission.
///
/// # Errors
/// A file that cannot be read or is no capture.
pub fn load(file: &Path, table: &PacketTable) -> Result<Load, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let scene = scene::parse(&bytes).map_err(|error| error.to_string())?;
    let mut memory = SceneMemory::new(&scene);
    let mut rows: HashMap<ProgramKey, Vec<Vec<u32>>> = HashMap::new();
    for event in &scene.events {
        if let Event::Submit(submission) = event {
            collect(submission, &memory, table, &mut rows);
            break;
        }
        memory.apply(&scene, event)?;
    }
    let reader = memory.memory().reader();
    let cases = rows.into_iter().filter_map(|(key, rows)| {
        let region = reader.region(key.address)?.range();
        let mut code = vec![0; ((region.end().0 - key.address.0) / 4).min(1 << 14) as usize];
        reader.read_words(key.address, &mut code).ok()?;
        let dialect = if scene.chip == 1030 {
            Dialect::Gfx1030
        } else {
            Dialect::Gfx1013
        };
        let binary = ShaderBinary {
            stage: key.stage,
            dialect,
            address: key.address,
            code: &code,
        };
        let program = analyse(&binary, &Profile::default()).ok()?;
        code.truncate(program.code_words());
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
            dialect,
            code,
            rows,
        })
    });
    Ok(Load {
        cases: cases.collect(),
        memory,
    })
}

/// Decodes a submission and sorts its draws and dispatches by program.
fn collect(
    submission: &SceneSubmission,
    memory: &SceneMemory,
    table: &PacketTable,
    rows: &mut HashMap<ProgramKey, Vec<Vec<u32>>>,
) {
    let mut pending = PendingSubmissions::default();
    pending.0.push_back(Submission {
        id: SubmissionId(1),
        queue: QueueId::GRAPHICS,
        buffers: submission
            .buffers
            .iter()
            .map(|(address, words)| CommandBuffer {
                address: memory.address(*address),
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
        &memory.memory().reader(),
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
