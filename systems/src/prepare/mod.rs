//! Prepare: descriptors and registers to pipelines, images, samplers and bindings.
//!
//! Nothing is recorded here. What is not ready (a program or pipeline on the shader pool) cuts the batch in front
//! of the row that needs it.

pub mod images;
pub mod pipelines;
pub mod recipes;
mod samplers;
pub mod state;
pub mod surface;

use std::sync::Arc;

use ash::vk;
use bevy_ecs::prelude::*;
use relic_components::{
    Commands, Counters, Dispatches, Draws, QueueStatus,
    batch::Snapshots,
    pipeline::PipelineId,
    work::{
        BoundResource, Captures, Evaluations, ImageId, Prepared, PreparedRow, Preparedness, TargetSet,
        Upload, ViewId,
    },
};
use relic_core::{
    GuestAddress, GuestRange,
    gpu::{BufferDescriptor, ImageDescriptor, SamplerDescriptor},
};
use relic_recompiler::{
    AccessFlags, BufferShape, DescriptorKind, FlatLocation, ImageDim, NumericClass, Program, Specialization,
};
use smallvec::SmallVec;

use self::{
    images::ImageStore,
    pipelines::{PipelineKey, PipelineStore, StageKey},
    recipes::{FixedId, Made, RecipeStore, StageId, StageUse},
    state::{DrawState, draw_state},
    surface::image_shape,
};
use crate::{
    capture::{Epoch, NO_WALK, StatePrograms},
    gpu::Gpu,
    programs::{Analysed, ProgramStore},
    resources::{Looks, Memory, Writes},
    shader_pool::ShaderPool,
};

/// Parsed state of each register snapshot of the batch, and the targets made for it.
#[derive(Component, Default)]
pub struct DrawStates {
    /// By snapshot.
    pub states: Vec<Option<Result<Arc<DrawState>, String>>>,
    made: Vec<StateMade>,
}

/// What was made for a draw's state in this batch.
#[derive(Clone, Copy, Default)]
struct StateMade {
    targets: Option<u32>,
    fixed: Option<FixedId>,
}

/// Prepares every row that has been captured and evaluated.
pub(crate) fn prepare_rows(
    gpu: Res<Gpu>,
    memory: Res<Memory>,
    epoch: Res<Epoch>,
    mut writes: ResMut<Writes>,
    mut counters: ResMut<Counters>,
    programs: Res<ProgramStore>,
    pool: Res<ShaderPool>,
    mut pipelines: ResMut<PipelineStore>,
    mut images: ResMut<ImageStore>,
    mut recipes: ResMut<RecipeStore>,
    mut queues: Query<(
        &QueueStatus,
        &mut Commands,
        (&Draws, &Dispatches, &Snapshots),
        (&Captures, &Evaluations, &StatePrograms),
        &mut Prepared,
        &mut DrawStates,
    )>,
) {
    let reader = memory.0.reader();
    let mut looks = Looks {
        memory: &reader,
        writes: &mut writes.0,
        epoch: epoch.0,
        compared: 0,
    };
    for (status, mut commands, work, found, mut prepared, mut states) in &mut queues {
        commands.cut = commands.rows.len();
        let prepared = &mut *prepared;
        prepared.draws.clear();
        prepared.dispatches.clear();
        prepared.bindings.clear();
        prepared.targets.clear();
        prepared.uploads.clear();
        prepared.looks.clear();
        prepared.writes.clear();
        prepared.written.clear();
        if !crate::has_work(status, &commands) {
            continue;
        }
        let (draws, dispatches, snapshots) = work;
        let (captures, evaluations, programs_of) = found;
        states.states.clear();
        states.states.resize_with(snapshots.states.len(), || None);
        states.made.clear();
        states.made.resize(snapshots.states.len(), StateMade::default());
        let mut preparer = Preparer {
            gpu: &gpu,
            memory: &reader,
            looks: &mut looks,
            epoch: epoch.0,
            programs: &programs,
            pool: &pool,
            pipelines: &mut pipelines,
            images: &mut images,
            recipes: &mut recipes,
            evaluations,
            prepared,
            written: Vec::new(),
            looked: Vec::new(),
            command: 0,
        };
        // In the order of the stream: what a row does to an image counts for the rows behind it.
        let mut draw_rows = draws.rows.iter().zip(&captures.draws).peekable();
        let mut dispatch_rows = dispatches.rows.iter().zip(&captures.dispatches).peekable();
        loop {
            let next_dispatch = dispatch_rows.peek().map_or(u32::MAX, |(row, _)| row.command);
            if let Some((draw, walks)) = draw_rows.next_if(|(draw, _)| draw.command < next_dispatch) {
                preparer.command = draw.command;
                let row = if (draw.command as usize) < commands.committed {
                    Preparedness::Nothing
                } else if let Some(Some(Err(reason))) = programs_of.graphics.get(draw.state as usize) {
                    Preparedness::Refused(reason.clone())
                } else {
                    let index = draw.state as usize;
                    let state = states.states[index]
                        .get_or_insert_with(|| draw_state(&snapshots.states[index]).map(Arc::new))
                        .clone();
                    match state {
                        Ok(state) => preparer.draw(&state, &mut states.made[index], *walks),
                        Err(reason) => Preparedness::Refused(reason),
                    }
                };
                if row == Preparedness::Pending {
                    commands.cut = commands.cut.min(draw.command as usize);
                }
                preparer.prepared.draws.push(row);
            } else if let Some((dispatch, walk)) = dispatch_rows.next() {
                preparer.command = dispatch.command;
                let row = if (dispatch.command as usize) < commands.committed {
                    Preparedness::Nothing
                } else if let Some(Some(Err(reason))) = programs_of.compute.get(dispatch.state as usize) {
                    Preparedness::Refused(reason.clone())
                } else if dispatch.groups.contains(&0) {
                    Preparedness::Nothing
                } else {
                    preparer.dispatch(*walk)
                };
                if row == Preparedness::Pending {
                    commands.cut = commands.cut.min(dispatch.command as usize);
                }
                preparer.prepared.dispatches.push(row);
            } else {
                break;
            }
        }
    }
    counters.compared += looks.compared;
}

struct Preparer<'a, 'l> {
    gpu: &'a Gpu,
    memory: &'a relic_core::MemoryReader,
    looks: &'a mut Looks<'l>,
    epoch: u64,
    programs: &'a ProgramStore,
    pool: &'a ShaderPool,
    pipelines: &'a mut PipelineStore,
    images: &'a mut ImageStore,
    recipes: &'a mut RecipeStore,
    evaluations: &'a Evaluations,
    prepared: &'a mut Prepared,
    /// Images that rows in front of this one write, by index.
    written: Vec<bool>,
    /// How many writes there were when an image's memory was looked at, by index.
    looked: Vec<Option<usize>>,
    command: u32,
}

/// A stage's program, or why the row can't be prepared now.
type StageOutcome<T> = Result<T, Preparedness>;

impl<'a> Preparer<'a, '_> {
    fn draw(&mut self, state: &DrawState, made: &mut StateMade, walks: [u32; 2]) -> Preparedness {
        self.try_draw(state, made, walks).unwrap_or_else(|other| other)
    }

    fn try_draw(
        &mut self,
        state: &DrawState,
        made: &mut StateMade,
        walks: [u32; 2],
    ) -> StageOutcome<Preparedness> {
        let target_index = match made.targets {
            Some(index) => index,
            None => {
                let set = self.targets(state).map_err(Preparedness::Refused)?;
                self.prepared.targets.push(set);
                let index = self.prepared.targets.len() as u32 - 1;
                made.targets = Some(index);
                index
            }
        };
        let set = &self.prepared.targets[target_index as usize];
        let views: SmallVec<[ViewId; 9]> = set.colour.iter().flatten().chain(&set.depth).copied().collect();
        if views.is_empty() {
            return Ok(Preparedness::Nothing);
        }
        for view in views {
            self.touch_target(view)?;
        }
        let vertex = self
            .program(walks[0])?
            .ok_or_else(|| Preparedness::Refused("no vertex program is bound".to_owned()))?;
        let pixel = self.program(walks[1])?;
        let first = self.prepared.bindings.len() as u32;
        let push_limit = self.gpu.profile.max_push_constants.min(128);
        let (vertex_flat, next) = flat_location(0, vertex.flat_words, push_limit);
        let no_colour = [NumericClass::Float; 8];
        let vertex_stage = self.bind(vertex, walks[0], 0, vertex_flat, no_colour)?;
        let pixel_stage = match pixel {
            Some(program) => {
                let own = vertex.plan().descriptors.len() as u32
                    + u32::from(vertex_flat == FlatLocation::UniformBuffer);
                let base = vertex.page_table_binding(0).map_or(own, |last| last + 1);
                let (flat, _) = flat_location(next, program.flat_words, push_limit);
                Some(self.bind(program, walks[1], base, flat, state.classes)?)
            }
            None => None,
        };
        let bindings = (first, self.prepared.bindings.len() as u32);
        let fixed = *made.fixed.get_or_insert_with(|| self.recipes.fixed(&state.fixed));
        let stages = (vertex_stage, pixel_stage);
        let (pipelines, device, pool) = (&mut *self.pipelines, &self.gpu.device, self.pool);
        let pipeline = self.recipes.pipeline(stages, Some(fixed), |stage| {
            let pixel_key = match stages.1 {
                Some(id) => Some(stage(id)?),
                None => None,
            };
            let key = PipelineKey::Graphics(Box::new((stage(stages.0)?, pixel_key, state.fixed.clone())));
            Some(pipelines.find_or_start(key, [Some(vertex), pixel], device, pool))
        });
        let follows = [Some(vertex), pixel].into_iter().flatten().any(follows_pointers);
        self.ready(pipeline, bindings, target_index, follows)
    }

    fn dispatch(&mut self, walk: u32) -> Preparedness {
        self.try_dispatch(walk).unwrap_or_else(|other| other)
    }

    fn try_dispatch(&mut self, walk: u32) -> StageOutcome<Preparedness> {
        let program = self
            .program(walk)?
            .ok_or_else(|| Preparedness::Refused("no compute program is bound".to_owned()))?;
        let first = self.prepared.bindings.len() as u32;
        let push_limit = self.gpu.profile.max_push_constants.min(128);
        let (flat, _) = flat_location(0, program.flat_words, push_limit);
        let stage_id = self.bind(program, walk, 0, flat, [NumericClass::Float; 8])?;
        let bindings = (first, self.prepared.bindings.len() as u32);
        let (pipelines, device, pool) = (&mut *self.pipelines, &self.gpu.device, self.pool);
        let pipeline = self.recipes.pipeline((stage_id, None), None, |stage| {
            let key = PipelineKey::Compute(Box::new(stage(stage_id)?));
            Some(pipelines.find_or_start(key, [Some(program), None], device, pool))
        });
        self.ready(pipeline, bindings, u32::MAX, follows_pointers(program))
    }

    fn ready(
        &self,
        pipeline: Option<PipelineId>,
        bindings: (u32, u32),
        targets: u32,
        follows_pointers: bool,
    ) -> StageOutcome<Preparedness> {
        let pipeline =
            pipeline.ok_or_else(|| Preparedness::Refused("internal: a stage without its key".to_owned()))?;
        Ok(match self.pipelines.get(pipeline) {
            None => Preparedness::Pending,
            Some(Err(reason)) => Preparedness::Refused(reason.clone()),
            Some(Ok(_)) => Preparedness::Ready(PreparedRow {
                pipeline,
                bindings,
                targets,
                follows_pointers,
            }),
        })
    }

    /// The program of a walk that came out; `Ok(None)` where there is no walk.
    fn program(&self, walk: u32) -> StageOutcome<Option<&'a Arc<Analysed>>> {
        if walk == NO_WALK {
            return Ok(None);
        }
        let Some((_, result)) = self.evaluations.get(walk) else {
            return Err(Preparedness::Pending);
        };
        // The pool may have finished between Evaluate and now: then the next run has the result.
        if result.pending {
            return Err(Preparedness::Pending);
        }
        if let Some(reason) = &result.refusal {
            return Err(Preparedness::Refused(reason.clone()));
        }
        match self.programs.get(result.program) {
            Some(Ok(program)) => Ok(Some(program)),
            Some(Err(reason)) => Err(Preparedness::Refused(reason.clone())),
            None => Err(Preparedness::Pending),
        }
    }
}

fn follows_pointers(program: &Arc<Analysed>) -> bool {
    program.interface().follows_pointers
}

/// All of guest memory.
const ANYWHERE: GuestRange = GuestRange::new(GuestAddress(0), u64::MAX);

/// Push constants from `offset` on where the words fit, else a uniform buffer. Returns the next free offset.
fn flat_location(offset: u32, words: u32, limit: u32) -> (FlatLocation, u32) {
    let end = offset + 4 * words;
    if end <= limit {
        (FlatLocation::PushConstants { offset }, end)
    } else {
        (FlatLocation::UniformBuffer, offset)
    }
}

impl Preparer<'_, '_> {
    fn targets(&mut self, state: &DrawState) -> Result<TargetSet, String> {
        let mut set = TargetSet::default();
        let mut extent: Option<[u32; 2]> = None;
        let mut grow = |[width, height]: [u32; 2]| {
            extent = Some(match extent {
                None => [width, height],
                Some([w, h]) => [w.min(width), h.min(height)],
            });
        };
        let device = &self.gpu.device;
        for (slot, target) in state.colour.iter().enumerate() {
            let Some(target) = target else { continue };
            set.colour[slot] = Some(self.images.colour_target(device, target, self.epoch)?);
            grow(target.surface.level_extent(target.level));
        }
        if let Some(target) = &state.depth {
            let view = self.images.depth_target(device, target, self.epoch)?;
            set.depth = Some(view);
            set.stencil = target.stencil.is_some().then_some(view);
            grow(target.depth.level_extent(target.level));
        }
        set.extent = extent.unwrap_or_default();
        Ok(set)
    }

    /// Makes sure that a target holds what memory held when it was first rendered to, and notes the write.
    fn touch_target(&mut self, view: ViewId) -> StageOutcome<()> {
        let id = self.images.view(view).0;
        self.upload_if_due(id)?;
        self.write_image(id);
        Ok(())
    }

    /// Notes the first write to an image in this batch; further ones change nothing.
    fn write_image(&mut self, id: ImageId) {
        let index = id.0 as usize;
        if self.written.len() <= index {
            self.written.resize(index + 1, false);
        }
        if std::mem::replace(&mut self.written[index], true) {
            return;
        }
        self.prepared.written.push((self.command, id));
        let planes = &self.images.image(id).planes;
        self.prepared
            .writes
            .extend(planes.iter().map(|plane| (self.command, plane.range)));
    }

    fn upload_if_due(&mut self, id: ImageId) -> StageOutcome<()> {
        let due = self
            .images
            .upload_due(id, self.looks)
            .map_err(Preparedness::Refused)?;
        // Once the GPU has written the image in this batch, its memory counts no more.
        let written = self.written.get(id.0 as usize).copied().unwrap_or(false);
        if written {
            return Ok(());
        }
        if let Some(hash) = due {
            let mut ranges = [GuestRange::default(); 2];
            for (range, plane) in ranges.iter_mut().zip(&self.images.image(id).planes) {
                *range = plane.range;
            }
            self.prepared.uploads.push(Upload {
                command: self.command,
                image: id,
                ranges,
                hash,
            });
        } else if self.images.image(id).follows_memory() {
            // That nothing is due was read from memory too. Without a write since the last look, that one stands for
            // this.
            let index = id.0 as usize;
            if self.looked.len() <= index {
                self.looked.resize(index + 1, None);
            }
            let writes = self.prepared.writes.len();
            if self.looked[index].replace(writes) != Some(writes) {
                let planes = &self.images.image(id).planes;
                let looks = planes.iter().map(|plane| (self.command, plane.range));
                self.prepared.looks.extend(looks);
            }
        }
        Ok(())
    }

    /// Binds every descriptor of a program's plan from `base` on. Returns what pipelines with this stage are found by.
    fn bind(
        &mut self,
        program: &Program,
        walk: u32,
        base: u32,
        flat: FlatLocation,
        classes: [NumericClass; 8],
    ) -> StageOutcome<StageId> {
        let Some((chunk, result)) = self.evaluations.get(walk) else {
            return Err(Preparedness::Pending);
        };
        let words = &chunk.words[result.words.0 as usize..result.words.1 as usize];
        let stage_use = StageUse {
            program: result.program,
            base,
            flat,
            classes,
        };
        self.recipes
            .follow(self.images.generation(), self.memory.version());
        let id = match self.recipes.find(&stage_use, words) {
            Ok(id) => id,
            Err(hash) => {
                let made = self.make_recipe(program, words, &stage_use)?;
                // Images that were made for it belong to it.
                self.recipes
                    .follow(self.images.generation(), self.memory.version());
                self.recipes.insert(hash, stage_use, words, made)
            }
        };
        for at in 0..self.recipes.images(id).len() {
            let (image, writes) = self.recipes.images(id)[at];
            self.images.touch(image, self.epoch);
            self.upload_if_due(image)?;
            if writes {
                self.write_image(image);
            }
        }
        let command = self.command;
        let writes = self.recipes.writes(id);
        self.prepared
            .writes
            .extend(writes.iter().map(|range| (command, *range)));
        self.prepared
            .bindings
            .extend(self.recipes.bindings(id).iter().map(|(binding, resource)| {
                let resource = match resource {
                    BoundResource::Flat { .. } => BoundResource::Flat { walk },
                    other => *other,
                };
                (*binding, resource)
            }));
        Ok(self.recipes.stage(id))
    }

    fn make_recipe(&mut self, program: &Program, words: &[u32], stage_use: &StageUse) -> StageOutcome<Made> {
        let base = stage_use.base;
        let mut specialization = Specialization {
            flat: stage_use.flat,
            binding_base: base,
            colour: stage_use.classes,
            ..Specialization::default()
        };
        let mut bindings = Vec::new();
        let mut images: SmallVec<[(ImageId, bool); 4]> = SmallVec::new();
        let mut writes: SmallVec<[GuestRange; 2]> = SmallVec::new();
        let mut at = 0;
        let refused = |i: usize, reason: String| Preparedness::Refused(format!("descriptor {i}: {reason}"));
        for (i, source) in program.plan().descriptors.iter().enumerate() {
            let own = &words[at..at + source.kind.words()];
            at += source.kind.words();
            let is_written = source.access.intersects(AccessFlags::WRITE | AccessFlags::ATOMIC);
            let resource = match source.kind {
                DescriptorKind::Buffer => {
                    let v = BufferDescriptor([own[0], own[1], own[2], own[3]]);
                    let alignment = self.gpu.profile.storage_buffer_alignment;
                    specialization
                        .buffers
                        .push(BufferShape::from_words(v.0, alignment));
                    let range = self.buffer_range(&v).map_err(|reason| refused(i, reason))?;
                    if is_written && !range.is_empty() {
                        writes.push(range);
                    }
                    BoundResource::Buffer(range)
                }
                DescriptorKind::Image => {
                    let mut t = ImageDescriptor::default();
                    t.0.copy_from_slice(own);
                    specialization.images.push(image_shape(&t));
                    let storage = source.access.contains(AccessFlags::STORAGE);
                    let dim = source.dim.unwrap_or(ImageDim::D2);
                    let found = self
                        .images
                        .texture(&self.gpu.device, &t, storage, dim, self.epoch)
                        .map_err(|reason| refused(i, reason))?;
                    match found {
                        None if storage => BoundResource::NullStorage,
                        None => BoundResource::NullSampled,
                        Some((id, view)) => {
                            if source.access.contains(AccessFlags::COMPARE) {
                                self.check_compares(id).map_err(|reason| refused(i, reason))?;
                            }
                            images.push((id, is_written));
                            if storage {
                                BoundResource::Storage(view)
                            } else {
                                BoundResource::Sampled(view)
                            }
                        }
                    }
                }
                DescriptorKind::Sampler => {
                    let s = SamplerDescriptor([own[0], own[1], own[2], own[3]]);
                    let id = self
                        .images
                        .sampler_for(&self.gpu.device, &s)
                        .map_err(|reason| refused(i, reason))?;
                    BoundResource::Sampler(id)
                }
            };
            bindings.push((base + i as u32, resource));
        }
        if stage_use.flat == FlatLocation::UniformBuffer {
            let binding = base + program.plan().descriptors.len() as u32;
            bindings.push((binding, BoundResource::Flat { walk: 0 }));
        }
        if let Some(binding) = program.page_table_binding(base) {
            bindings.push((binding, BoundResource::PageTable));
            // Where its stores go is known only to the program. So the CPU reads nothing for the rows behind it, and
            // no command behind it, before it has finished.
            if program.interface().stores_through_pointers {
                writes.push(ANYWHERE);
            }
        }
        Ok(Made {
            stage: StageKey {
                program: stage_use.program,
                specialization,
            },
            bindings,
            images,
            writes,
        })
    }

    /// Refuses a surface that the device can't sample with a depth comparison.
    fn check_compares(&self, id: ImageId) -> Result<(), String> {
        let format = self.images.image(id).image.description().format;
        let features = self.gpu.device.format_features(format);
        if features.contains(vk::FormatFeatureFlags2::SAMPLED_IMAGE_DEPTH_COMPARISON) {
            return Ok(());
        }
        Err(format!(
            "a depth comparison samples {format:?}, which this GPU compares with nothing (depth targets are compared)"
        ))
    }

    /// The guest range behind a V#: from its aligned base to its end. What lies beyond mapped memory is cut off,
    /// so that it reads as 0; a base that is not mapped at all is refused.
    fn buffer_range(&self, v: &BufferDescriptor) -> Result<GuestRange, String> {
        if v.extent() == 0 || v.is_null() {
            return Ok(GuestRange::default());
        }
        let base = v
            .base()
            .align_down(u64::from(self.gpu.profile.storage_buffer_alignment));
        let limit = self.gpu.device.limits().max_storage_range;
        let size = (v.base().0 - base.0 + v.extent()).min(limit);
        let mut end = base.0;
        while end < base.0 + size {
            let Some(region) = self.memory.region(GuestAddress(end)) else {
                break;
            };
            end = region.range().end().0;
        }
        if end == base.0 {
            return Err(format!("buffer at {} is not in mapped memory", v.base()));
        }
        // Whole words: the shader reads the buffer as such.
        Ok(GuestRange::new(
            base,
            (end.min(base.0 + size) - base.0).next_multiple_of(4),
        ))
    }
}
