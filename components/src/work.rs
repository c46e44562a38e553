//! What the stages between Decode and Commit hand on, row by row.

use bevy_ecs::prelude::*;
use relic_core::GuestRange;

use crate::{pipeline::PipelineId, shader::ProgramId};

/// One resource plan to walk: a stage of a draw, or a dispatch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Whose plan.
    pub program: ProgramId,
    /// First user-data word in the draws' or dispatches' vector.
    pub user_data: u32,
    /// Whether the words lie in the dispatches' vector.
    pub compute: bool,
    /// The command it belongs to.
    pub command: u32,
}

/// What Capture found out: the walks that Evaluate does.
#[derive(Component, Default, Debug)]
pub struct Captures {
    /// In the order of the stream.
    pub walks: Vec<Walk>,
    /// Walks of each draw: vertex, pixel (`u32::MAX` for none).
    pub draws: Vec<[u32; 2]>,
    /// Walk of each dispatch.
    pub dispatches: Vec<u32>,
}

/// Ranges of one walk's results in its chunk's vectors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WalkResult {
    /// Whose plan was walked.
    pub program: ProgramId,
    /// Descriptor words.
    pub words: (u32, u32),
    /// Flat words.
    pub flat: (u32, u32),
    /// Guest ranges read.
    pub reads: (u32, u32),
    /// Why there is no result.
    pub refusal: Option<String>,
    /// The program was not analysed yet: there is neither result nor refusal.
    pub pending: bool,
}

impl WalkResult {
    /// No result yet.
    #[must_use]
    pub const fn pending(program: ProgramId) -> Self {
        Self {
            program,
            words: (0, 0),
            flat: (0, 0),
            reads: (0, 0),
            refusal: None,
            pending: true,
        }
    }
}

/// Results of one chunk of walks, made by one task.
#[derive(Default, Debug)]
pub struct EvaluationChunk {
    /// Descriptor words of all its walks.
    pub words: Vec<u32>,
    /// Flat words of all its walks.
    pub flat: Vec<u32>,
    /// Guest ranges that all its walks read.
    pub reads: Vec<GuestRange>,
    /// One for each walk.
    pub results: Vec<WalkResult>,
    /// Walks that a tape handed back to the evaluator.
    pub handed_back: u64,
    /// Walks in which tape and evaluator differed, where both ran.
    pub differences: u64,
}

impl EvaluationChunk {
    /// Removes all results and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.flat.clear();
        self.reads.clear();
        self.results.clear();
        self.handed_back = 0;
        self.differences = 0;
    }
}

/// What Evaluate found out.
#[derive(Component, Default, Debug)]
pub struct Evaluations {
    /// Chunks of [`Evaluations::CHUNK`] walks each; more than needed may be there from earlier batches.
    pub chunks: Vec<EvaluationChunk>,
    /// The walks grouped by program: first walk of the first chunk, and so on.
    order: Vec<u32>,
    /// Each walk's place in `order`.
    places: Vec<u32>,
    /// By program: how many walks, then where the next one goes.
    counts: Vec<u32>,
}

impl Evaluations {
    /// Walks in a chunk.
    pub const CHUNK: usize = 256;

    /// Groups the walks of a batch by program, and makes room for their results.
    pub fn arrange(&mut self, walks: &[Walk]) {
        self.counts.clear();
        for walk in walks {
            let program = walk.program.0 as usize;
            if self.counts.len() <= program {
                self.counts.resize(program + 1, 0);
            }
            self.counts[program] += 1;
        }
        let mut next = 0;
        for count in &mut self.counts {
            next += std::mem::replace(count, next);
        }
        self.order.clear();
        self.order.resize(walks.len(), 0);
        self.places.clear();
        for (index, walk) in walks.iter().enumerate() {
            let place = &mut self.counts[walk.program.0 as usize];
            self.order[*place as usize] = index as u32;
            self.places.push(*place);
            *place += 1;
        }
        let count = walks.len().div_ceil(Self::CHUNK);
        if self.chunks.len() < count {
            self.chunks.resize_with(count, EvaluationChunk::default);
        }
        for chunk in &mut self.chunks {
            chunk.clear();
        }
    }

    /// The walks grouped by program, and the chunks that each [`Self::CHUNK`] of them go to.
    pub fn work(&mut self) -> (&[u32], &mut [EvaluationChunk]) {
        (&self.order, &mut self.chunks)
    }

    /// The chunk and the result of a walk.
    #[must_use]
    pub fn get(&self, walk: u32) -> Option<(&EvaluationChunk, &WalkResult)> {
        let place = *self.places.get(walk as usize)? as usize;
        let chunk = self.chunks.get(place / Self::CHUNK)?;
        chunk
            .results
            .get(place % Self::CHUNK)
            .map(|result| (chunk, result))
    }
}

/// Index of an image in the image store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ImageId(pub u32);

/// Index of an image view in the image store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ViewId(pub u32);

/// Index of a sampler in the image store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct SamplerId(pub u32);

/// What one binding of a draw or dispatch holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundResource {
    /// Guest memory as a storage buffer; an empty range is a null descriptor.
    Buffer(GuestRange),
    /// An image to sample from.
    Sampled(ViewId),
    /// An image to load from and store to.
    Storage(ViewId),
    /// A sampler.
    Sampler(SamplerId),
    /// Nothing: reads give 0.
    NullSampled,
    /// Nothing: reads give 0, stores do nothing.
    NullStorage,
    /// The flat words of a walk, as a uniform buffer.
    Flat {
        /// The walk.
        walk: u32,
    },
    /// The page table that guest pointers are followed through.
    PageTable,
}

/// Targets that a draw renders to: index in [`Prepared::targets`].
pub type TargetSetIndex = u32;

/// Targets of draws.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetSet {
    /// Colour target by slot.
    pub colour: [Option<ViewId>; 8],
    /// Depth target.
    pub depth: Option<ViewId>,
    /// Stencil target.
    pub stencil: Option<ViewId>,
    /// Width and height that all share.
    pub extent: [u32; 2],
}

/// Guest memory that goes into an image before a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Upload {
    /// The command.
    pub command: u32,
    /// The image.
    pub image: ImageId,
    /// Its memory: one range, or depth and stencil.
    pub ranges: [GuestRange; 2],
    /// Hash of the memory, by which the image knows what it holds.
    pub hash: u64,
}

/// One draw or dispatch that can be recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreparedRow {
    /// Its pipeline.
    pub pipeline: PipelineId,
    /// Range of [`Prepared::bindings`]: (binding number, resource).
    pub bindings: (u32, u32),
    /// Targets, for draws.
    pub targets: TargetSetIndex,
    /// A program follows guest pointers: it may read, and with a store through one write, whatever is mapped.
    pub follows_pointers: bool,
}

/// A row that has no preparation yet, or never will.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Preparedness {
    /// Ready to be recorded.
    Ready(PreparedRow),
    /// The shader pool is at work for it.
    Pending,
    /// Draws nothing: all its output is masked, or a stage is missing that the state does without.
    Nothing,
    /// It can't be drawn, for this reason.
    Refused(String),
}

/// What Prepare found out.
#[derive(Component, Default, Debug)]
pub struct Prepared {
    /// For each draw.
    pub draws: Vec<Preparedness>,
    /// For each dispatch.
    pub dispatches: Vec<Preparedness>,
    /// Bindings of all rows.
    pub bindings: Vec<(u32, BoundResource)>,
    /// Target sets in use.
    pub targets: Vec<TargetSet>,
    /// Textures and first contents of targets that the CPU must read, in the order of the stream.
    pub uploads: Vec<Upload>,
    /// Memory of images that hold it already, as far as the CPU has seen: (command, range).
    pub looks: Vec<(u32, GuestRange)>,
    /// Images that draws and dispatches write: (command, image).
    pub written: Vec<(u32, ImageId)>,
    /// Guest ranges that draws and dispatches write: (command, range).
    pub writes: Vec<(u32, GuestRange)>,
}

/// A value that a committed or decoded row writes to memory on the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingLabel {
    /// Where.
    pub address: relic_core::GuestAddress,
    /// What.
    pub value: u64,
    /// All 64 bits, or the low 32.
    pub wide: bool,
    /// Timeline value at which it is written, once its batch is submitted.
    pub timeline: Option<u64>,
}

/// Label writes of a queue that have not landed yet, oldest first.
#[derive(Component, Default, Debug)]
pub struct PendingLabels(pub Vec<PendingLabel>);

/// What a batch does when the GPU has finished it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// A flip becomes due.
    Flip(crate::video::FlipRequest),
    /// An end-of-pipe interrupt of the queue.
    Interrupt,
    /// The GPU clock is written at this address.
    Clock(relic_core::GuestAddress),
}

/// Completions of a queue in order, each with the timeline value of its batch.
#[derive(Component, Default, Debug)]
pub struct Completions {
    /// Of rows committed in this run, whose batch is not submitted yet.
    pub recorded: Vec<Completion>,
    /// Submitted: (timeline value, what).
    pub submitted: std::collections::VecDeque<(u64, Completion)>,
    /// Timeline value of the queue's last batch.
    pub last: u64,
}

/// Guest memory that submitted batches write: (timeline value, range). The CPU does not read these until then.
#[derive(Resource, Default, Debug)]
pub struct InFlightWrites(pub Vec<(u64, GuestRange)>);
