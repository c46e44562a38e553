//! What packets record with: guest addresses in, Vulkan commands out.

use ash::vk;
use relic_components::{
    Counters, Dispatches, Draws,
    batch::DrawSource,
    video::FlipRequest,
    work::{
        BoundResource, Captures, Completion, Completions, Evaluations, ImageId, Prepared, PreparedRow,
        Preparedness, TargetSet, Upload,
    },
};
use relic_core::{GuestAddress, GuestRange, MemoryReader, gpu::Dimension};
use relic_schedules::{Barrier, PacketRefusal, Recorder};
use relic_vulkan::{
    Attachment, BarrierScope, ClearValue, Descriptor, DescriptorKind, DescriptorWrite, ImageUse, LoadOp,
    RenderingInfo, UploadRegion,
};
use smallvec::SmallVec;

use super::RowRecorder;
use crate::{
    capture::NO_WALK,
    gpu::Gpu,
    imports::{ImportPlace, ImportStore},
    page_table::PageTableStore,
    prepare::{
        DrawStates,
        images::ImageStore,
        pipelines::{Pipeline, PipelineObject, PipelineStore},
        state::DrawState,
    },
    settle::GpuRecording,
};

/// Records the rows of one queue's batch.
pub(super) struct StreamRecorder<'a> {
    pub gpu: &'a Gpu,
    pub memory: &'a MemoryReader,
    pub epoch: u64,
    pub pipelines: &'a PipelineStore,
    pub images: &'a mut ImageStore,
    pub imports: &'a mut ImportStore,
    pub page_table: &'a mut PageTableStore,
    pub recording: &'a mut GpuRecording,
    pub draws: &'a Draws,
    pub dispatches: &'a Dispatches,
    pub captures: &'a Captures,
    pub evaluations: &'a Evaluations,
    pub prepared: &'a Prepared,
    pub states: &'a DrawStates,
    pub completions: &'a mut Completions,
    pub counters: &'a mut Counters,
    /// Next of the prepared uploads.
    pub upload: usize,
    /// Next of the images written.
    pub written: usize,
    /// Row being recorded.
    pub command: u32,
}

/// The memory behind a binding.
enum Place {
    Window(ImportPlace),
    Buffer(relic_vulkan::Buffer, u64, u64),
    None,
}

fn refuse(reason: String) -> PacketRefusal {
    PacketRefusal(reason)
}

/// Largest piece of one vkCmdUpdateBuffer.
const UPDATE_BYTES: usize = 65536;

impl Recorder for StreamRecorder<'_> {
    fn copy_memory(
        &mut self,
        source: GuestAddress,
        destination: GuestAddress,
        bytes: u64,
    ) -> Result<(), PacketRefusal> {
        let from = GuestRange::new(source, bytes);
        let to = GuestRange::new(destination, bytes);
        if from.overlaps(to) {
            return Err(refuse(format!("source {from} and destination {to} overlap")));
        }
        self.flush_barrier();
        let device = &self.gpu.device;
        let from = self
            .imports
            .slice(device, self.memory, from, self.epoch)
            .map_err(refuse)?;
        let (from_buffer, from_offset) = (from.buffer().clone(), from.offset());
        let to = self
            .imports
            .slice(device, self.memory, to, self.epoch)
            .map_err(refuse)?;
        let from = from_buffer
            .slice(from_offset, bytes)
            .map_err(|error| refuse(error.to_string()))?;
        self.recording.recorder.copy_buffer(from, to);
        Ok(())
    }

    fn fill_memory(&mut self, range: GuestRange, pattern: u32) -> Result<(), PacketRefusal> {
        self.flush_barrier();
        let slice = self
            .imports
            .slice(&self.gpu.device, self.memory, range, self.epoch)
            .map_err(refuse)?;
        self.recording.recorder.fill_buffer(slice, pattern);
        Ok(())
    }

    fn write_memory(&mut self, address: GuestAddress, words: &[u32]) -> Result<(), PacketRefusal> {
        self.flush_barrier();
        for (i, piece) in words.chunks(UPDATE_BYTES / 4).enumerate() {
            let at = GuestAddress(address.0 + (i * UPDATE_BYTES) as u64);
            let range = GuestRange::new(at, size_of_val(piece) as u64);
            let slice = self
                .imports
                .slice(&self.gpu.device, self.memory, range, self.epoch)
                .map_err(refuse)?;
            let bytes: SmallVec<[u8; 256]> = piece.iter().flat_map(|word| word.to_le_bytes()).collect();
            self.recording.recorder.update_buffer(slice, &bytes);
        }
        Ok(())
    }

    fn barrier(&mut self, barrier: Barrier) {
        match barrier {
            Barrier::Full => self.recording.barrier_due = true,
        }
        self.flush_barrier();
    }

    fn write_clock(&mut self, address: GuestAddress) -> Result<(), PacketRefusal> {
        let range = GuestRange::new(address, 8);
        if !self.memory.is_mapped(range) {
            return Err(refuse(format!("guest memory {range} is not mapped")));
        }
        self.completions.recorded.push(Completion::Clock(address));
        Ok(())
    }

    fn draw(&mut self, index: u32) -> Result<(), PacketRefusal> {
        let row = match &self.prepared.draws[index as usize] {
            Preparedness::Ready(row) => *row,
            Preparedness::Nothing => return Ok(()),
            Preparedness::Refused(reason) => return Err(refuse(reason.clone())),
            Preparedness::Pending => {
                return Err(refuse(
                    "internal: a row on the shader pool was committed".to_owned(),
                ));
            }
        };
        let draw = self.draws.rows[index as usize];
        let count = match draw.source {
            DrawSource::Auto { count } | DrawSource::Indexed { count, .. } => count,
        };
        if count == 0 || draw.instances == 0 {
            return Ok(());
        }
        let Some(Ok(state)) = self.states.states[draw.state as usize].clone() else {
            return Err(refuse("internal: a draw without its state".to_owned()));
        };
        let pipeline = self.pipeline(&row)?;
        let PipelineObject::Graphics(object) = &pipeline.object else {
            return Err(refuse("internal: a draw with a compute pipeline".to_owned()));
        };
        self.order(&row);
        self.record_uploads()?;
        self.mark_written();
        let walks = self.captures.draws[index as usize];
        self.move_images(&row);
        self.begin_rendering(&self.prepared.targets[row.targets as usize].clone());
        self.recording.recorder.bind_graphics(object);
        self.set_dynamic(&state);
        self.bind_resources(&row, pipeline, walks, vk::PipelineBindPoint::GRAPHICS)?;
        match draw.source {
            DrawSource::Auto { count } => {
                self.recording.recorder.draw(0..count, 0..draw.instances);
            }
            DrawSource::Indexed {
                address,
                count,
                limit,
                index_type,
            } => {
                let (kind, bytes) = match index_type {
                    0 => (vk::IndexType::UINT16, 2),
                    1 => (vk::IndexType::UINT32, 4),
                    other => return Err(refuse(format!("index type {other} (8 bits) is not drawn yet"))),
                };
                if count > limit {
                    return Err(refuse(format!(
                        "{count} indices are drawn of a buffer of {limit}"
                    )));
                }
                let range = GuestRange::new(address, u64::from(count) * bytes);
                let slice = self
                    .imports
                    .slice(&self.gpu.device, self.memory, range, self.epoch)
                    .map_err(refuse)?;
                self.recording.recorder.bind_index_buffer(slice, kind);
                self.recording
                    .recorder
                    .draw_indexed(0..count, 0, 0..draw.instances);
            }
        }
        self.recording.barrier_due = row.follows_pointers;
        self.counters.draws += 1;
        Ok(())
    }

    fn dispatch(&mut self, index: u32) -> Result<(), PacketRefusal> {
        let row = match &self.prepared.dispatches[index as usize] {
            Preparedness::Ready(row) => *row,
            Preparedness::Nothing => return Ok(()),
            Preparedness::Refused(reason) => return Err(refuse(reason.clone())),
            Preparedness::Pending => {
                return Err(refuse(
                    "internal: a row on the shader pool was committed".to_owned(),
                ));
            }
        };
        let pipeline = self.pipeline(&row)?;
        let PipelineObject::Compute(object) = &pipeline.object else {
            return Err(refuse("internal: a dispatch with a graphics pipeline".to_owned()));
        };
        self.order(&row);
        self.record_uploads()?;
        self.mark_written();
        let walks = [self.captures.dispatches[index as usize], NO_WALK];
        self.move_images(&row);
        self.recording.recorder.bind_compute(object);
        self.bind_resources(&row, pipeline, walks, vk::PipelineBindPoint::COMPUTE)?;
        let dispatch = self.dispatches.rows[index as usize];
        if let Some(arguments) = dispatch.arguments {
            let range = GuestRange::new(arguments, 12);
            let slice = self
                .imports
                .slice(&self.gpu.device, self.memory, range, self.epoch)
                .map_err(refuse)?;
            self.recording.recorder.dispatch_indirect(slice);
        } else {
            self.recording.recorder.dispatch(dispatch.groups);
        }
        self.recording.barrier_due = row.follows_pointers;
        self.counters.dispatches += 1;
        Ok(())
    }

    fn flip(&mut self, request: FlipRequest) {
        self.completions.recorded.push(Completion::Flip(request));
    }

    fn interrupt(&mut self) {
        self.completions.recorded.push(Completion::Interrupt);
    }

    fn push_marker(&mut self, name: &str) {
        self.recording.recorder.begin_label(name);
    }

    fn pop_marker(&mut self) {
        self.recording.recorder.end_label();
    }
}

impl RowRecorder for StreamRecorder<'_> {
    fn begin_row(&mut self, row: u32) {
        self.command = row;
    }

    fn end_row(&mut self) -> Result<(), PacketRefusal> {
        // The Vulkan recorder keeps its first error, and records nothing more until it is taken.
        self.recording
            .recorder
            .take_error()
            .map_or(Ok(()), |error| Err(refuse(error.to_string())))
    }
}

impl<'a> StreamRecorder<'a> {
    fn flush_barrier(&mut self) {
        if self.recording.barrier_due {
            self.recording.barrier_due = false;
            self.recording.recorder.memory_barrier(BarrierScope::FULL);
        }
    }

    /// Orders a row behind what is in front of it. A row that follows guest pointers stands between two full
    /// barriers: what it reads and writes is in no descriptor that anything else could be ordered by.
    fn order(&mut self, row: &PreparedRow) {
        self.recording.barrier_due |= row.follows_pointers;
        self.flush_barrier();
    }

    fn pipeline(&self, row: &PreparedRow) -> Result<&'a Pipeline, PacketRefusal> {
        match self.pipelines.get(row.pipeline) {
            Some(Ok(pipeline)) => Ok(pipeline),
            Some(Err(reason)) => Err(refuse(reason.clone())),
            None => Err(refuse(
                "internal: a pipeline on the shader pool was committed".to_owned(),
            )),
        }
    }

    /// Uploads the textures and first contents of targets that this row needs.
    fn record_uploads(&mut self) -> Result<(), PacketRefusal> {
        while let Some(&Upload {
            command,
            image: id,
            hash,
            ..
        }) = self.prepared.uploads.get(self.upload)
        {
            if command > self.command {
                break;
            }
            self.upload += 1;
            // Several rows of a batch may ask for the same.
            if self.images.holds(id, hash) {
                continue;
            }
            self.upload(id)?;
            self.images.uploaded(id, hash);
            self.counters.uploaded += self.images.image(id).bytes();
        }
        Ok(())
    }

    /// Copies an image's guest memory into it, level by level and slice by slice.
    fn upload(&mut self, id: ImageId) -> Result<(), PacketRefusal> {
        let image = self.images.image(id);
        let until = self.gpu.device.next_value();
        let recording = &mut *self.recording;
        let mut tiled = Vec::new();
        let mut linear = Vec::new();
        for plane in &image.planes {
            tiled.resize(plane.range.size() as usize, 0);
            self.memory.read_bytes(plane.range.start(), &mut tiled)?;
            let shape = plane.layout.shape();
            if shape.samples > 1 {
                // Buffers can't be copied to samples. Memory that nobody has written yet needs no copy: it is clear.
                if tiled.iter().any(|byte| *byte != 0) {
                    return Err(refuse(format!(
                        "the surface at {}: memory can't be loaded into {} samples yet",
                        plane.range.start(),
                        shape.samples
                    )));
                }
                if plane.aspect == vk::ImageAspectFlags::COLOR {
                    let black = ClearValue::Float([0.0; 4]);
                    recording.recorder.clear_colour(&image.image, black);
                } else {
                    recording.recorder.clear_depth_stencil(&image.image, 0.0, 0);
                }
                continue;
            }
            let volume = shape.dimension == Dimension::D3;
            for level in 0..shape.levels {
                let [width, height, slices] = plane.layout.level_size(level);
                let slice_size = (width * height * shape.bytes) as usize;
                linear.resize(slice_size * slices as usize, 0);
                for (z, rows) in linear.chunks_exact_mut(slice_size).enumerate() {
                    if !plane.layout.detile(level, z as u32, &tiled, rows) {
                        return Err(refuse(format!(
                            "internal: {:?} does not fit {}",
                            plane.layout, plane.range
                        )));
                    }
                }
                let region = UploadRegion {
                    aspect: plane.aspect,
                    layers: if volume { 1 } else { slices },
                    ..UploadRegion::whole(&image.image, level, 0, &linear)
                };
                recording
                    .recorder
                    .upload_image(&mut recording.stream, &image.image, &[region], until);
            }
        }
        Ok(())
    }

    /// Notes the images that this row writes: they are newer than memory from here on.
    fn mark_written(&mut self) {
        while let Some(&(command, id)) = self.prepared.written.get(self.written) {
            if command > self.command {
                break;
            }
            self.written += 1;
            self.images.mark_written(id);
        }
    }

    /// Brings the row's images into the uses that it has for them.
    fn move_images(&mut self, row: &PreparedRow) {
        let bindings = &self.prepared.bindings[row.bindings.0 as usize..row.bindings.1 as usize];
        for (_, resource) in bindings {
            let (view, to) = match resource {
                BoundResource::Sampled(view) => (view, ImageUse::Sampled),
                BoundResource::Storage(view) => (view, ImageUse::General),
                _ => continue,
            };
            let (_, view) = self.images.view(*view);
            self.recording.recorder.transition(view.image(), to);
        }
    }

    fn begin_rendering(&mut self, targets: &TargetSet) {
        let attachment = |view| Attachment::new(self.images.view(view).1, LoadOp::Load);
        let last = targets
            .colour
            .iter()
            .rposition(Option::is_some)
            .map_or(0, |slot| slot + 1);
        let colour: SmallVec<[Option<Attachment<'_>>; 8]> = targets.colour[..last]
            .iter()
            .map(|view| view.map(attachment))
            .collect();
        let info = RenderingInfo {
            area: vk::Rect2D {
                offset: vk::Offset2D::default(),
                extent: vk::Extent2D {
                    width: targets.extent[0],
                    height: targets.extent[1],
                },
            },
            layers: 1,
            colour: &colour,
            depth: targets.depth.map(attachment),
            stencil: targets.stencil.map(attachment),
        };
        self.recording.recorder.begin_rendering(&info);
    }

    fn set_dynamic(&mut self, state: &DrawState) {
        let recorder = &mut self.recording.recorder;
        let dynamic = &state.dynamic;
        recorder.set_topology(dynamic.topology);
        recorder.set_viewports(&[dynamic.viewport]);
        recorder.set_scissors(&[dynamic.scissor]);
        recorder.set_blend_constants(dynamic.blend_constants);
        recorder.set_depth(dynamic.depth);
        recorder.set_stencil(dynamic.stencil);
        recorder.set_depth_bias(dynamic.depth_bias);
        recorder.set_cull_mode(dynamic.cull);
        recorder.set_front_face(dynamic.front_face);
        recorder.set_primitive_restart(dynamic.restart);
    }

    /// Pushes descriptors and push constants.
    fn bind_resources(
        &mut self,
        row: &PreparedRow,
        pipeline: &Pipeline,
        walks: [u32; 2],
        point: vk::PipelineBindPoint,
    ) -> Result<(), PacketRefusal> {
        let bindings = &self.prepared.bindings[row.bindings.0 as usize..row.bindings.1 as usize];
        // Guest ranges first: the first use of one makes a window.
        let mut places: SmallVec<[Place; 16]> = SmallVec::new();
        for (_, resource) in bindings {
            places.push(match resource {
                BoundResource::Buffer(range) if !range.is_empty() => {
                    let (device, memory) = (&self.gpu.device, self.memory);
                    let place = self.imports.locate(device, memory, *range, self.epoch);
                    Place::Window(place.map_err(refuse)?)
                }
                BoundResource::Flat { walk } => {
                    let (chunk, result) = self
                        .evaluations
                        .get(*walk)
                        .ok_or_else(|| refuse("internal: no walk".to_owned()))?;
                    let words = &chunk.flat[result.flat.0 as usize..result.flat.1 as usize];
                    let mut bytes: SmallVec<[u8; 256]> =
                        words.iter().flat_map(|word| word.to_le_bytes()).collect();
                    // The shader reads whole vectors of four words.
                    bytes.resize(bytes.len().next_multiple_of(16), 0);
                    let until = self.gpu.device.next_value();
                    let alignment = self.gpu.device.limits().uniform_offset_alignment;
                    let range = self
                        .recording
                        .stream
                        .push(&bytes, alignment, until)
                        .map_err(|error| refuse(error.to_string()))?;
                    let slice = range.slice();
                    Place::Buffer(slice.buffer().clone(), slice.offset(), slice.size())
                }
                BoundResource::PageTable => {
                    let buffer = self
                        .page_table
                        .current(&self.gpu.device, self.memory, self.imports, self.epoch)
                        .map_err(refuse)?;
                    let size = buffer.size();
                    Place::Buffer(buffer, 0, size)
                }
                _ => Place::None,
            });
        }
        let mut writes: SmallVec<[DescriptorWrite<'_>; 16]> = SmallVec::new();
        for ((binding, resource), place) in bindings.iter().zip(&places) {
            let slice = match place {
                Place::Window(place) => Some(self.imports.at(*place).map_err(refuse)?),
                Place::Buffer(buffer, offset, size) => {
                    let slice = buffer.slice(*offset, *size);
                    Some(slice.map_err(|error| refuse(error.to_string()))?)
                }
                Place::None => None,
            };
            let descriptor = match (resource, slice) {
                (BoundResource::Flat { .. }, Some(slice)) => Descriptor::UniformBuffer(slice),
                (_, Some(slice)) => Descriptor::StorageBuffer(slice),
                (BoundResource::Buffer(_) | BoundResource::PageTable, None) => {
                    Descriptor::Null(DescriptorKind::StorageBuffer)
                }
                (BoundResource::Flat { .. }, None) => Descriptor::Null(DescriptorKind::UniformBuffer),
                (BoundResource::Sampled(view), None) => Descriptor::SampledImage(self.images.view(*view).1),
                (BoundResource::Storage(view), None) => Descriptor::StorageImage(self.images.view(*view).1),
                (BoundResource::Sampler(id), None) => Descriptor::Sampler(self.images.sampler(*id)),
                (BoundResource::NullSampled, None) => Descriptor::Null(DescriptorKind::SampledImage),
                (BoundResource::NullStorage, None) => Descriptor::Null(DescriptorKind::StorageImage),
            };
            writes.push(DescriptorWrite::new(*binding, descriptor));
        }
        let recorder = &mut self.recording.recorder;
        if !writes.is_empty() {
            recorder.push_descriptors(point, pipeline.layout(), &writes);
        }
        for (slot, offset, words) in &pipeline.push {
            let Some((chunk, result)) = self.evaluations.get(walks[*slot]) else {
                continue;
            };
            let flat = &chunk.flat[result.flat.0 as usize..result.flat.1 as usize];
            let count = (*words as usize).min(flat.len());
            let mut bytes = [0; 128];
            for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(&flat[..count]) {
                *bytes = word.to_le_bytes();
            }
            let bytes = &bytes[..4 * count.min(32)];
            recorder.push_constants(pipeline.layout(), pipeline.push_stages, *offset, bytes);
        }
        Ok(())
    }
}
