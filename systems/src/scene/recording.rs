//! Records what a running program gives the runtime, as a scene that replays to the same pictures.
//!
//! While it records, the runtime works in lock-step: messages are taken only when the GPU is idle, so that guest memory
//! at each ordering point has one state. At every such point the pages that were written since the last are compared with
//! a copy, and what differs becomes an event in front of the messages that are taken there. What the GPU wrote differs
//! too: it is recorded like stores of the CPU.
//!
//! A recording begins between two frames, when every queue is idle. What queues and images have kept from earlier work
//! goes with it: registers as [`Event::Queue`], images that only the device holds as texels in guest memory.

use std::{
    fs,
    io::{self, BufWriter},
    os::unix::fs::PermissionsExt as _,
    time::Duration,
};

use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use relic_components::{
    Counters, Message, Queue, QueueStatus, RegisterBanks,
    queue::{PacketState, PendingSubmissions},
    shader::{BinaryType, CodeAddress, Header},
    video::{ReadyFlips, VideoBuffers, VideoFormat, VideoOutput},
    work::Completions,
};
use relic_core::{
    GuestAddress, GuestRange, MemoryReader,
    gpu::{SurfaceShape, SwizzleMode},
    memory::{Region, Stamp},
};
use relic_schedules::{Label, Plugin, RuntimeBuilder, Stage};
use relic_vulkan::{TimelineValue, vk};
use tempfile::NamedTempFile;

use super::{
    compare::Rule,
    file::SceneWriter,
    script::{Event, ExpectedImage, PAGE, QueueState, SceneImage, SceneSubmission},
    texels::{read_host_image, read_memory, tiled},
};
use crate::{
    config::CaptureRequest,
    frame::present::{Shown, close_pictures, present_flip},
    gpu::{Gpu, GpuTimeline},
    ingest::{NotedMessages, drain_inbox},
    prepare::images::ImageStore,
    resources::{Faults, Memory, Writes},
    shader_cache::close_shaders,
};

/// The systems that record.
pub struct RecordingPlugin(pub CaptureRequest);

impl Plugin for RecordingPlugin {
    fn name(&self) -> &'static str {
        "Recording of scenes"
    }

    fn build(&self, runtime: &mut RuntimeBuilder) {
        runtime
            .insert_resource(NotedMessages::default())
            .insert_resource(SceneRecording {
                request: self.0.clone(),
                state: State::Waiting,
            })
            .add_systems(
                Label::Submit,
                (
                    begin_recording.in_set(Stage::Ingest).before(drain_inbox),
                    record_step.in_set(Stage::Ingest).after(drain_inbox),
                ),
            )
            .add_systems(
                Label::Frame,
                record_flip.in_set(Stage::Present).after(present_flip),
            )
            .add_systems(
                Label::Shutdown,
                close_recording
                    .in_set(Stage::Close)
                    .before(close_pictures)
                    .before(close_shaders),
            );
    }
}

/// How long the GPU may take for what it has been given.
pub(super) const GPU_LIMIT: Duration = Duration::from_secs(60);
/// Memory is compared in blocks of this many bytes, as the write tracker tells.
const BLOCK: u64 = 1 << 16;
/// A page of which more has changed is written whole.
const SMALL: usize = PAGE / 4;
/// Unchanged bytes between two changes that are written with them.
const GAP: usize = 16;

/// What is being recorded.
#[derive(Resource)]
pub(crate) struct SceneRecording {
    request: CaptureRequest,
    state: State,
}

enum State {
    /// The first frame is to come.
    Waiting,
    Recording(Box<Active>),
    /// Written, or failed.
    Done,
}

struct Active {
    writer: SceneWriter<BufWriter<NamedTempFile>>,
    mirror: Mirror,
    /// The first frame.
    first: u64,
    /// The last frame that is complete.
    frame: Option<u64>,
}

/// Guest memory as the recording has it.
#[derive(Default)]
struct Mirror {
    regions: Vec<Region>,
    /// By address; a page that is not here is zero.
    pages: HashMap<u64, Box<[u8; PAGE]>>,
    version: Option<u64>,
    stamp: Stamp,
}

/// In front of the messages: the GPU becomes idle, and the recording begins when its time has come.
fn begin_recording(world: &mut World) {
    let recording = world.resource::<SceneRecording>();
    let CaptureRequest { first, last, .. } = recording.request;
    let waiting = match recording.state {
        State::Done => return,
        State::Waiting => true,
        State::Recording(_) => false,
    };
    let flips = world.resource::<Counters>().flips;
    if waiting && flips + 1 < first {
        return;
    }
    if waiting && flips >= last {
        let before = first - 1;
        let reason =
            format!("from flip {before} to flip {last} there was no moment at which all queues were idle");
        return fail(world, &reason);
    }
    if let Err(reason) = wait_for_gpu(world) {
        return fail(world, &reason);
    }
    if !waiting {
        return;
    }
    let mut queues = world.query::<(&QueueStatus, &PendingSubmissions, &Completions)>();
    let idle = queues.iter(world).all(|(status, pending, completions)| {
        matches!(status, QueueStatus::Idle | QueueStatus::Faulted(_))
            && pending.0.is_empty()
            && completions.submitted.is_empty()
    }) && world.resource::<ReadyFlips>().0.is_empty();
    // A queue that waits for the guest may need the messages that are held.
    let stuck = queues.iter(world).any(|(status, ..)| {
        matches!(
            status,
            QueueStatus::WaitingMemory(_) | QueueStatus::WaitingFlip(_)
        )
    });
    world.resource_mut::<NotedMessages>().hold = !idle && !stuck;
    if !idle {
        return;
    }
    match Active::begin(world) {
        Ok(active) => {
            if active.first > first {
                world.resource_mut::<Faults>().0.push(format!(
                    "the capture begins with frame {}, not {first}: before, there was no moment at which all queues were idle",
                    active.first
                ));
            }
            world.resource_mut::<SceneRecording>().state = State::Recording(Box::new(active));
        }
        Err(error) => fail(world, &error.to_string()),
    }
}

/// Behind the messages: what memory has become, then what was taken.
fn record_step(world: &mut World) {
    let messages = std::mem::take(&mut world.resource_mut::<NotedMessages>().messages);
    with_active(world, |active, world| {
        active.scan(world)?;
        for message in messages {
            if let Some(event) = event_of(message) {
                active.writer.event(&event)?;
            }
        }
        Ok(())
    });
}

/// Behind a flip: the frame, and what it shows.
fn record_flip(world: &mut World) {
    let flips = world.resource::<Counters>().flips;
    let last = world.resource::<SceneRecording>().request.last;
    with_active(world, |active, world| match active.frame {
        // No flip was shown in this run.
        Some(frame) if frame == flips => Ok(()),
        _ => active.flip(world, flips),
    });
    if flips >= last {
        finish(world);
    }
}

/// At the end: what there is, where the program has ended early.
fn close_recording(world: &mut World) {
    let recording = world.resource::<SceneRecording>();
    let request = recording.request.clone();
    let told = match &recording.state {
        State::Done => return,
        State::Waiting => format!(
            "nothing was captured: the program has ended after {} flips, and the capture begins with flip {}",
            world.resource::<Counters>().flips,
            request.first
        ),
        State::Recording(active) => match active.frame {
            None => {
                "nothing was captured: the program has ended within the first frame of the capture".to_owned()
            }
            Some(frame) => {
                let first = active.first;
                finish(world);
                format!(
                    "the capture holds frames {first} to {frame}, not {}: the program has ended",
                    request.last
                )
            }
        },
    };
    world.resource_mut::<SceneRecording>().state = State::Done;
    world.resource_mut::<Faults>().0.push(told);
}

fn with_active(world: &mut World, step: impl FnOnce(&mut Active, &mut World) -> io::Result<()>) {
    let Some(mut active) = take_active(world) else {
        return;
    };
    match step(&mut active, world) {
        Ok(()) => world.resource_mut::<SceneRecording>().state = State::Recording(active),
        Err(error) => fail(world, &error.to_string()),
    }
}

/// What is being recorded. If anything is, it is over, unless it is put back.
fn take_active(world: &mut World) -> Option<Box<Active>> {
    let state = &mut world.resource_mut::<SceneRecording>().state;
    match std::mem::replace(state, State::Done) {
        State::Recording(active) => Some(active),
        other => {
            *state = other;
            None
        }
    }
}

/// Ends a recording that can't go on: no file is left.
fn fail(world: &mut World, reason: &str) {
    world.resource_mut::<NotedMessages>().hold = false;
    let mut recording = world.resource_mut::<SceneRecording>();
    recording.state = State::Done;
    let path = recording.request.path.clone();
    world.resource_mut::<Faults>().0.push(format!(
        "the scene {} can't be captured: {reason}",
        path.display()
    ));
}

/// Puts the file in its place.
fn finish(world: &mut World) {
    let path = world.resource::<SceneRecording>().request.path.clone();
    let Some(active) = take_active(world) else { return };
    let written = active
        .writer
        .finish()
        .and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| file.persist(&path).map_err(|error| error.error));
    match written {
        Ok(_) => tracing::info!("captured {}", path.display()),
        Err(error) => fail(world, &error.to_string()),
    }
}

/// Waits until the GPU has done all it was given.
fn wait_for_gpu(world: &World) -> Result<(), String> {
    let submitted = world.resource::<GpuTimeline>().submitted;
    world
        .resource::<Gpu>()
        .device
        .wait(TimelineValue(submitted), GPU_LIMIT)
        .map_err(|error| error.to_string())
}

/// What a message is in a scene. `None` for those that a replay makes itself.
fn event_of(message: Message) -> Option<Event> {
    Some(match message {
        Message::Submit(submission) => Event::Submit(SceneSubmission {
            queue: submission.queue,
            buffers: submission
                .buffers
                .iter()
                .map(|buffer| (buffer.address, buffer.words))
                .collect(),
        }),
        Message::RegisterShader {
            code,
            header,
            binary_type,
            code_size,
        } => Event::Shader {
            code,
            header,
            binary_type,
            code_size,
        },
        Message::VideoOpened(handle) => Event::VideoOpened(handle),
        Message::VideoClosed(handle) => Event::VideoClosed(handle),
        Message::BuffersRegistered {
            handle,
            first,
            buffers,
        } => Event::Buffers {
            handle,
            first,
            buffers,
        },
        Message::Flip(request) => Event::Flip(request),
        Message::ThreadStarted { .. }
        | Message::ThreadEnded { .. }
        | Message::GpuProgress(_)
        | Message::GpuLost(_)
        | Message::ShaderPrepared
        | Message::Poke
        | Message::Finish
        | Message::Stop => return None,
    })
}

impl Active {
    /// Begins the file: queues, video outputs, shaders and memory as they are.
    fn begin(world: &mut World) -> io::Result<Self> {
        let request = world.resource::<SceneRecording>().request.clone();
        let first = world.resource::<Counters>().flips + 1;
        let folder = match request.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => std::path::Path::new("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".relic-")
            .suffix(".part")
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        let meta = [
            ("source", "relic capture".to_owned()),
            ("frames", format!("{first}..{}", request.last)),
            ("order", "overlap".to_owned()),
        ];
        let meta = meta.map(|(key, value)| (key.to_owned(), value));
        let mut active = Self {
            // The chip's programs are of the first of both dialects, and its vertex programs are merged ones.
            writer: SceneWriter::new(BufWriter::new(file), 1010, true, u64::MAX, &meta)?,
            mirror: Mirror::default(),
            first,
            frame: None,
        };
        active.scan(world)?;
        active.images(world)?;
        let mut events = Vec::new();
        let mut queues = world.query::<(&Queue, &RegisterBanks, &PacketState)>();
        for (queue, banks, state) in queues.iter(world) {
            events.push(Event::Queue(Box::new(QueueState::of(queue.0, banks, state))));
        }
        let mut outputs = world.query::<(&VideoOutput, &VideoBuffers)>();
        for (output, buffers) in outputs.iter(world) {
            events.push(Event::VideoOpened(output.0));
            for (first, buffer) in (0..).zip(&buffers.0) {
                events.extend(buffer.map(|buffer| Event::Buffers {
                    handle: output.0,
                    first,
                    buffers: vec![buffer],
                }));
            }
        }
        let mut shaders = world.query::<(&CodeAddress, &Header, &BinaryType)>();
        for (code, header, binary_type) in shaders.iter(world) {
            events.push(Event::Shader {
                code: code.0,
                header: header.0,
                binary_type: binary_type.0,
                // Its registration is over: nobody asks again.
                code_size: 0,
            });
        }
        for event in &events {
            active.writer.event(event)?;
        }
        Ok(active)
    }

    /// What memory has become since the last time.
    fn scan(&mut self, world: &mut World) -> io::Result<()> {
        let reader = world.resource::<Memory>().0.reader();
        let mut writes = world.resource_mut::<Writes>();
        writes.0.collect(&reader);
        let stamp = writes.0.now();
        self.regions(&reader)?;
        let regions = std::mem::take(&mut self.mirror.regions);
        for region in &regions {
            let range = region.range();
            let mut at = range.start().0;
            while at < range.end().0 {
                let end = (at / BLOCK * BLOCK + BLOCK).min(range.end().0);
                let block = GuestRange::new(GuestAddress(at), end - at);
                if !writes.0.is_unchanged(&reader, block, self.mirror.stamp) {
                    self.compare(&reader, block)?;
                }
                at = end;
            }
        }
        self.mirror.regions = regions;
        self.mirror.stamp = stamp;
        Ok(())
    }

    /// Regions that have come and gone.
    fn regions(&mut self, reader: &MemoryReader) -> io::Result<()> {
        if self.mirror.version == Some(reader.version()) {
            return Ok(());
        }
        self.mirror.version = Some(reader.version());
        let new: Vec<Region> = reader.regions().to_vec();
        let place = |region: &Region| (region.range(), region.pool());
        for old in &self.mirror.regions {
            if !new.iter().any(|region| place(region) == place(old)) {
                self.writer.event(&Event::Unmap(old.range()))?;
                self.mirror
                    .pages
                    .retain(|page, _| !old.range().contains(GuestAddress(*page)));
            }
        }
        for region in &new {
            if !self.mirror.regions.iter().any(|old| place(region) == place(old)) {
                self.writer.event(&Event::Region {
                    range: region.range(),
                    pool: region.pool(),
                })?;
            }
        }
        self.mirror.regions = new;
        Ok(())
    }

    /// Compares a block with the mirror, and records what differs.
    fn compare(&mut self, reader: &MemoryReader, block: GuestRange) -> io::Result<()> {
        let mut run = PageRun::default();
        let mut bytes = Box::new([0; PAGE]);
        for at in (block.start().0..block.end().0).step_by(PAGE) {
            reader
                .read_bytes(GuestAddress(at), bytes.as_mut_slice())
                .map_err(io::Error::other)?;
            match self.mirror.pages.get_mut(&at) {
                Some(old) if *old == bytes => {}
                None if bytes.iter().all(|byte| *byte == 0) => {}
                Some(old) => {
                    let changes = changes(&old[..], &bytes[..]);
                    if changes.iter().map(|change| change.len()).sum::<usize>() <= SMALL {
                        for change in changes {
                            self.writer.event(&Event::Write {
                                address: GuestAddress(at + change.start as u64),
                                bytes: bytes[change].to_vec(),
                            })?;
                        }
                    } else {
                        run.push(&mut self.writer, at, &bytes)?;
                    }
                    old.copy_from_slice(&bytes[..]);
                }
                None => {
                    run.push(&mut self.writer, at, &bytes)?;
                    self.mirror.pages.insert(at, bytes.clone());
                }
            }
        }
        run.end(&mut self.writer)
    }

    /// Images that only the device holds, as texels in memory.
    fn images(&mut self, world: &mut World) -> io::Result<()> {
        let store = world.resource::<ImageStore>();
        let images: Vec<_> = store
            .images()
            .filter(|image| !image.follows_memory())
            .map(|image| (image.image.clone(), image.planes.clone()))
            .collect();
        for (image, planes) in &images {
            for plane in planes {
                let written = if image.description().samples == vk::SampleCountFlags::TYPE_1 {
                    tiled(world, image, plane)
                } else {
                    Err("it has several samples a pixel".to_owned())
                };
                match written {
                    Ok(bytes) => self.writer.event(&Event::Write {
                        address: plane.range.start(),
                        bytes,
                    })?,
                    Err(reason) => world.resource_mut::<Faults>().0.push(format!(
                        "the capture lacks what the image at {} holds: {reason}",
                        plane.range.start()
                    )),
                }
            }
        }
        Ok(())
    }

    /// A frame has ended: what the screen shows is what a replay must show.
    fn flip(&mut self, world: &mut World, number: u64) -> io::Result<()> {
        let frame = u32::try_from(number).map_err(io::Error::other)?;
        self.writer.event(&Event::Frame(frame))?;
        self.frame = Some(number);
        let Some(shown) = world.resource::<Shown>().0 else {
            return Ok(());
        };
        let mut expected = ExpectedImage {
            address: shown.address,
            // R8G8B8A8_SRGB, B8G8R8A8_SRGB
            format: match shown.format {
                VideoFormat::Rgba8Srgb => 43,
                VideoFormat::Bgra8Srgb => 50,
            },
            width: shown.width,
            height: shown.height,
            layer: 0,
            texel: 4,
            name: format!("flip {number}"),
            // Another device rounds differently.
            rule: Rule::Bytes {
                tolerance: 2.0,
                permille: 1,
            },
            bytes: Vec::new(),
        };
        let shape = if let Some(image) = read_host_image(world, shown.address, 0) {
            let image = image.map_err(io::Error::other)?;
            (expected.width, expected.height) = image.size;
            expected.format = image.format.as_raw().cast_unsigned();
            expected.texel = image.texel;
            expected.bytes = image.bytes;
            image.shape
        } else {
            let mode = if shown.tiled {
                SwizzleMode::Render64KX
            } else {
                expected.width = shown.pitch.max(shown.width);
                SwizzleMode::Linear
            };
            let reader = world.resource::<Memory>().0.reader();
            let shape = SurfaceShape::flat(mode, 4, expected.width, expected.height, 0);
            expected.bytes = read_memory(&reader, shown.address, shape, 0).map_err(io::Error::other)?;
            Some(shape)
        };
        // A replay may find nothing on the device, as nothing renders to it within the recording.
        if let Some(shape) = shape {
            self.writer.event(&Event::Image(SceneImage {
                address: shown.address,
                format: expected.format,
                extent: [expected.width, expected.height, 1],
                layers: shape.depth,
                levels: shape.levels,
                mode: shape.mode as u32,
                xor: shape.xor,
                name: expected.name.clone(),
            }))?;
        }
        self.writer.event(&Event::ExpectImage(expected))
    }
}

/// Whole pages in a row.
#[derive(Default)]
struct PageRun {
    start: u64,
    pages: Vec<u32>,
}

impl PageRun {
    fn push<W: io::Write>(
        &mut self,
        writer: &mut SceneWriter<W>,
        at: u64,
        bytes: &[u8; PAGE],
    ) -> io::Result<()> {
        if self.start + (self.pages.len() * PAGE) as u64 != at {
            self.end(writer)?;
            self.start = at;
        }
        self.pages.push(writer.page(bytes)?);
        Ok(())
    }

    fn end<W: io::Write>(&mut self, writer: &mut SceneWriter<W>) -> io::Result<()> {
        if self.pages.is_empty() {
            return Ok(());
        }
        writer.event(&Event::Pages {
            address: GuestAddress(self.start),
            pages: std::mem::take(&mut self.pages),
        })
    }
}

/// Where two pages differ; changes that lie close together are one.
fn changes(old: &[u8], new: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut changes: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, (old, new)) in old.iter().zip(new).enumerate() {
        if old == new {
            continue;
        }
        match changes.last_mut() {
            Some(last) if at - last.end <= GAP => last.end = at + 1,
            _ => changes.push(at..at + 1),
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_lie_close_together_are_one() {
        let old = [0; 100];
        let mut new = old;
        new[3] = 1;
        new[3 + GAP] = 1;
        new[60] = 1;
        new[99] = 1;
        assert_eq!(changes(&old, &new), [3..4 + GAP, 60..61, 99..100]);
        assert!(changes(&new, &new).is_empty());
    }
}
