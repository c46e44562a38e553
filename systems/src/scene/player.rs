//! Plays a scene: its memory, its submissions, its expectations, through the same schedules as a running program.
//!
//! The calling thread is the pump. Pages are mapped at the scene's own addresses where those are free.

use std::{
    mem::ManuallyDrop,
    sync::Arc,
    time::{Duration, Instant},
};

use relic_components::{
    CommandBuffer, Counters, Message, NoGuest, Queue, QueueStatus, Submission, work::PendingLabels,
};
use relic_core::{
    GuestAddress, GuestMemory, GuestRange, Inbox, QueueId, SubmissionId,
    gpu::{SurfaceShape, SwizzleMode},
};
use relic_schedules::{Label, PumpControl, Runtime, RuntimeBuilder, Stage, SystemTime, init_task_pool};
use relic_vulkan::Device;

use super::{
    clock::CpuClock,
    compare::Comparison,
    loops::{FrameTime, LoopTimes, Until},
    memory::SceneMemory,
    script::{Event, ExpectedImage, Scene, SceneImage, SceneSubmission},
    texels::{read_host_image, read_memory},
    wrong::WrongPictures,
};
use crate::{
    config::Config,
    decode::memory_satisfies,
    gpu::GpuTimeline,
    ingest::restore_queue,
    resources::Faults,
    runtime::{RuntimeError, RuntimeOptions, build},
};

/// How to play.
pub struct PlayOptions<'a> {
    /// Settings of the runtime.
    pub config: Config,
    /// The device.
    pub device: Device,
    /// Plug-ins beside Relic's own.
    pub plugins: &'a dyn Fn(&mut RuntimeBuilder),
    /// Give up when nothing moves for so long.
    pub timeout: Duration,
    /// How often all submissions are played again, warm and measured, after the script has ended.
    pub loops: u32,
    /// How far these loops go.
    pub until: Until,
    /// Called behind each loop, the first unmeasured one included.
    pub each_loop: &'a dyn Fn(),
    /// Keep pictures of all images that are compared, not only of wrong ones.
    pub pictures: bool,
    /// Find out which pages of guest memory are used. Tells the truth where the device is the CPU.
    pub trace_memory: bool,
}

impl PlayOptions<'static> {
    /// No plug-ins, five minutes: software renderers take their time over a large batch.
    #[must_use]
    pub fn new(config: Config, device: Device) -> Self {
        Self {
            config,
            device,
            plugins: &|_| (),
            timeout: Duration::from_secs(300),
            loops: 0,
            until: Until::Render,
            each_loop: &|| (),
            pictures: false,
            trace_memory: false,
        }
    }
}

/// Why a scene can't be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The runtime can't start.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The script is wrong.
    #[error("event {event} of the scene: {reason}")]
    Script {
        /// Index of the event.
        event: usize,
        /// What is wrong.
        reason: String,
    },
    /// A system failed.
    #[error("{0}")]
    System(String),
    /// Nothing moves any more.
    #[error("event {event} of the scene: nothing has moved for {seconds} s; {state}")]
    Stalled {
        /// Index of the event.
        event: usize,
        /// The time limit.
        seconds: u64,
        /// What the queues are doing.
        state: String,
    },
}

/// One expectation and what it came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Frame it holds for.
    pub frame: u32,
    /// Name of the buffer or image.
    pub name: String,
    /// The comparison, or why there was nothing to compare.
    pub result: Result<Comparison, String>,
    /// Of an image that came out wrong, or of any where that was asked for, if its format can be shown.
    pub pictures: Option<WrongPictures>,
}

impl Outcome {
    /// Whether it holds.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.result.as_ref().is_ok_and(Comparison::passes)
    }
}

/// How a scene says that it ends: META key `expect`, and `packet` for what a refusal must name. Expected buffers and
/// images hold in any case.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Ending {
    /// Every submission finishes.
    #[default]
    Run,
    /// A queue refuses something, and names this.
    Refuse(String),
    /// The graphics queue, and only it, still waits.
    Pending,
    /// As `Run` or as `Refuse`.
    Either(String),
}

impl Ending {
    /// # Errors
    /// When the scene names an ending that does not exist.
    fn of(scene: &Scene) -> Result<Self, String> {
        let packet = scene.meta("packet").unwrap_or_default().to_owned();
        match scene.meta("expect") {
            None | Some("run") => Ok(Self::Run),
            Some("refuse") => Ok(Self::Refuse(packet)),
            Some("pending") => Ok(Self::Pending),
            Some("either") => Ok(Self::Either(packet)),
            Some(other) => Err(format!(
                "META expect={other} does not exist (run, refuse, pending and either do)"
            )),
        }
    }

    /// Whether queues ended so: what they refused, and what they still wait for.
    #[must_use]
    pub fn holds(&self, faults: &[String], waiting: &[String]) -> bool {
        let finished = faults.is_empty() && waiting.is_empty();
        let refused = |packet: &String| {
            waiting.is_empty() && faults.iter().any(|fault| fault.contains(packet.as_str()))
        };
        match self {
            Self::Run => finished,
            Self::Refuse(packet) => refused(packet),
            Self::Pending => {
                let graphics = QueueId::GRAPHICS.to_string();
                faults.is_empty()
                    && !waiting.is_empty()
                    && waiting.iter().all(|line| line.starts_with(&graphics))
            }
            Self::Either(packet) => finished || refused(packet),
        }
    }
}

/// What playing a scene came to.
#[derive(Debug, Default)]
pub struct PlayReport {
    /// How the scene was to end.
    pub ending: Ending,
    /// Expectations in order.
    pub outcomes: Vec<Outcome>,
    /// What queues refused.
    pub faults: Vec<String>,
    /// Queues that wait on memory at the end.
    pub waiting: Vec<String>,
    /// Messages of the validation layer.
    pub validation: Vec<String>,
    /// Counters.
    pub counters: Counters,
    /// Times of the Submit systems, where they were taken: of the measured loops where there are any.
    pub times: Vec<SystemTime>,
    /// Frames of the script itself, which finds everything cold.
    pub cold: Vec<FrameTime>,
    /// What the measured loops took.
    pub loops: Option<LoopTimes>,
    /// Guest pages that were used, where that was asked for.
    pub touched: Vec<GuestRange>,
}

impl PlayReport {
    /// Whether every expectation holds, queues ended as the scene says, and nothing was complained about.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.ending.holds(&self.faults, &self.waiting)
            && self.validation.is_empty()
            && self.counters.tape_differences == 0
            && self.outcomes.iter().all(Outcome::passes)
    }
}

/// Plays a scene.
///
/// # Errors
/// When it can't be played to its end. Refused packets and failed expectations are in the report.
pub fn play(scene: &Scene, options: &PlayOptions<'_>) -> Result<PlayReport, PlayError> {
    let ending = Ending::of(scene).map_err(|reason| PlayError::Script { event: 0, reason })?;
    init_task_pool(options.config.pool_threads);
    let pages = if options.trace_memory {
        SceneMemory::traced(scene)
    } else {
        SceneMemory::new(scene)
    };
    let memory = Arc::clone(pages.memory());
    let inbox = Inbox::new(1024);
    let runtime_options = RuntimeOptions {
        memory: Arc::clone(&memory),
        sink: Arc::new(NoGuest),
        config: options.config.clone(),
        plugins: options.plugins,
    };
    let runtime = build(&runtime_options, options.device.clone(), Arc::clone(&inbox))?;
    let player = Player {
        scene,
        runtime,
        inbox,
        memory,
        pages,
        device: options.device.clone(),
        images: Vec::new(),
        timeout: options.timeout,
        submissions: 0,
        frame: 0,
        pictures: options.pictures,
        cold_frame: None,
        event: 0,
        stalled: false,
        report: PlayReport {
            ending,
            ..PlayReport::default()
        },
    };
    let mut player = ManuallyDrop::new(player);
    let played = player.play_all().and_then(|()| player.play_loops(options));
    if player.stalled {
        // The GPU, or a driver in a thread of the pool, hangs: dropping what it works on would hang too. It is left to
        // the end of the process.
        return played.and(Err(PlayError::System("the runtime hangs".to_owned())));
    }
    let mut player = ManuallyDrop::into_inner(player);
    played?;
    if options.trace_memory {
        player.report.touched = player.pages.touched().map_err(PlayError::System)?;
    }
    player.finish()
}

/// A scene that is being played.
pub(super) struct Player<'a> {
    pub(super) scene: &'a Scene,
    pub(super) runtime: Runtime,
    pub(super) inbox: Arc<Inbox<Message>>,
    memory: Arc<GuestMemory>,
    pages: SceneMemory,
    pub(super) device: Device,
    images: Vec<&'a SceneImage>,
    pub(super) timeout: Duration,
    submissions: u64,
    frame: u32,
    pictures: bool,
    /// What the script's frame has taken so far.
    cold_frame: Option<FrameTime>,
    event: usize,
    /// The GPU or a thread of the shader pool hangs.
    stalled: bool,
    pub(super) report: PlayReport,
}

impl Drop for Player<'_> {
    fn drop(&mut self) {
        // The GPU lets go of the pages before they are given back.
        let submitted = self.runtime.world().resource::<GpuTimeline>().submitted;
        let _ = self
            .device
            .wait(relic_vulkan::TimelineValue(submitted), Duration::from_secs(10));
        self.pages.unmap_all();
        self.runtime
            .world_mut()
            .insert_resource(crate::imports::ImportStore::default());
        // A failure here means the device is lost, and nothing uses the pages any more.
        let _ = self.device.collect();
    }
}

impl<'a> Player<'a> {
    fn play_all(&mut self) -> Result<(), PlayError> {
        let overlap = self.scene.meta("order") == Some("overlap");
        self.run(Label::Startup)?;
        for (i, event) in self.scene.events.iter().enumerate() {
            self.event = i;
            self.play(event, overlap)?;
        }
        self.report.cold.extend(self.cold_frame.take());
        Ok(())
    }

    pub(super) fn run(&mut self, label: Label) -> Result<(), PlayError> {
        self.run_stages(label, ..)
    }

    pub(super) fn run_stages(
        &mut self,
        label: Label,
        stages: impl std::ops::RangeBounds<Stage>,
    ) -> Result<(), PlayError> {
        self.runtime
            .run_stages(label, stages)
            .map_err(|failures| PlayError::System(failures.to_string()))
    }

    fn script(&self, reason: impl std::fmt::Display) -> PlayError {
        PlayError::Script {
            event: self.event,
            reason: reason.to_string(),
        }
    }

    fn play(&mut self, event: &'a Event, overlap: bool) -> Result<(), PlayError> {
        match event {
            Event::Region { .. } | Event::Unmap(_) => self.apply(event)?,
            Event::Write { .. } | Event::Pages { .. } => {
                self.apply(event)?;
                if overlap {
                    self.send(Message::Poke)?;
                    self.settle()?;
                }
            }
            Event::Queue(state) => {
                let components = state.components();
                let components =
                    components.ok_or_else(|| self.script("a bank has another number of registers"))?;
                restore_queue(self.runtime.world_mut(), state.queue, components);
            }
            Event::Shader {
                code,
                header,
                binary_type,
                code_size,
            } => self.send(Message::RegisterShader {
                code: self.address(*code),
                header: self.address(*header),
                binary_type: *binary_type,
                code_size: *code_size,
            })?,
            Event::VideoOpened(handle) => self.send(Message::VideoOpened(*handle))?,
            Event::VideoClosed(handle) => self.send(Message::VideoClosed(*handle))?,
            Event::Buffers {
                handle,
                first,
                buffers,
            } => self.send(Message::BuffersRegistered {
                handle: *handle,
                first: *first,
                buffers: buffers.clone(),
            })?,
            Event::Flip(request) => {
                self.send(Message::Flip(*request))?;
                self.settle()?;
            }
            Event::Submit(submission) => {
                let clock = CpuClock::new();
                let cpu = || clock.as_ref().map_or(Duration::ZERO, CpuClock::now);
                let (started, before) = (Instant::now(), cpu());
                self.submit(submission)?;
                self.settle()?;
                let frame = self.cold_frame.get_or_insert_default();
                frame.wall += started.elapsed();
                frame.cpu += cpu().saturating_sub(before);
            }
            Event::Frame(frame) => {
                self.frame = *frame;
                self.report.cold.extend(self.cold_frame.take());
            }
            Event::Image(image) => self.images.push(image),
            Event::ExpectBuffer {
                address,
                name,
                rule,
                bytes,
            } => {
                let mut got = vec![0; bytes.len()];
                let result = self
                    .memory
                    .reader()
                    .read_bytes(self.address(*address), &mut got)
                    .map(|()| rule.compare(bytes, &got, 4))
                    .map_err(|error| error.to_string());
                self.report.outcomes.push(Outcome {
                    frame: self.frame,
                    name: name.clone(),
                    result,
                    pictures: None,
                });
            }
            Event::ExpectImage(expected) => {
                let got = self.read_image(expected);
                let result = got.as_ref().map_err(Clone::clone).map(|got| {
                    expected
                        .rule
                        .compare(&expected.bytes, got, expected.texel as usize)
                });
                let wrong = result.as_ref().is_ok_and(|comparison| !comparison.passes());
                let pictures = got
                    .ok()
                    .filter(|_| wrong || self.pictures)
                    .and_then(|got| WrongPictures::new(expected, &got));
                self.report.outcomes.push(Outcome {
                    frame: self.frame,
                    name: expected.name.clone(),
                    result,
                    pictures,
                });
            }
        }
        Ok(())
    }

    fn apply(&mut self, event: &Event) -> Result<(), PlayError> {
        let applied = self.pages.apply(self.scene, event);
        applied.map_err(|reason| self.script(reason))
    }

    /// The guest address behind one of the scene's.
    fn address(&self, address: GuestAddress) -> GuestAddress {
        self.pages.address(address)
    }

    fn send(&self, message: Message) -> Result<(), PlayError> {
        self.inbox
            .send(message)
            .map_err(|closed| PlayError::System(closed.to_string()))
    }

    pub(super) fn submit(&mut self, submission: &SceneSubmission) -> Result<(), PlayError> {
        self.submissions += 1;
        let buffers = submission
            .buffers
            .iter()
            .map(|(address, words)| CommandBuffer {
                address: self.address(*address),
                words: *words,
            })
            .collect();
        self.send(Message::Submit(Submission {
            id: SubmissionId(self.submissions),
            queue: submission.queue,
            buffers,
        }))
    }

    /// Runs Submit until nothing can move: every queue is idle, faulted or waits on memory that does not satisfy
    /// it, and the GPU has finished.
    fn settle(&mut self) -> Result<(), PlayError> {
        let mut moved = Instant::now();
        let mut last = None;
        loop {
            {
                let mut control = self.runtime.world_mut().resource_mut::<PumpControl>();
                *control = PumpControl::default();
            }
            self.run(Label::Submit)?;
            let frames = std::mem::take(&mut self.runtime.world_mut().resource_mut::<PumpControl>().frames);
            for _ in 0..frames {
                self.run(Label::Frame)?;
            }
            let control = self.runtime.world().resource::<PumpControl>().clone();
            if control.stop {
                return Err(PlayError::System(self.faults().join("\n")));
            }
            if control.again || !self.inbox.is_empty() {
                moved = Instant::now();
                continue;
            }
            if self.is_quiet() {
                return Ok(());
            }
            let timeline = *self.runtime.world().resource::<GpuTimeline>();
            let now = (
                timeline.completed,
                self.runtime.world().resource::<Counters>().packets,
            );
            if last != Some(now) {
                last = Some(now);
                moved = Instant::now();
            } else if moved.elapsed() > self.timeout {
                let mut state = self.statuses(true);
                if timeline.completed < timeline.submitted {
                    state.push(format!(
                        "the GPU has finished batch {} of {} (a driver may be compiling a shader)",
                        timeline.completed, timeline.submitted
                    ));
                }
                self.stalled = true;
                return Err(PlayError::Stalled {
                    event: self.event,
                    seconds: self.timeout.as_secs(),
                    state: state.join("; "),
                });
            }
            self.inbox.park(Duration::from_millis(5));
        }
    }

    pub(super) fn is_quiet(&mut self) -> bool {
        let reader = self.memory.reader();
        let world = self.runtime.world_mut();
        let timeline = *world.resource::<GpuTimeline>();
        let mut queues = world.query::<(&QueueStatus, &PendingLabels)>();
        timeline.completed >= timeline.submitted
            && queues.iter(world).all(|(status, labels)| match status {
                QueueStatus::Idle | QueueStatus::Faulted(_) => true,
                QueueStatus::WaitingMemory(wait) => {
                    let own = labels.0.iter().any(|label| label.address == wait.address);
                    own || !memory_satisfies(&reader, wait)
                }
                _ => false,
            })
    }

    /// What queues are doing; the idle ones only when asked for.
    pub(super) fn statuses(&mut self, all: bool) -> Vec<String> {
        let world = self.runtime.world_mut();
        let mut queues = world.query::<(&Queue, &QueueStatus)>();
        queues
            .iter(world)
            .filter(|(_, status)| all || !matches!(status, QueueStatus::Idle | QueueStatus::Faulted(_)))
            .map(|(queue, status)| match status {
                QueueStatus::WaitingMemory(wait) => format!(
                    "{} queue waits at {} for (value & {:#x}) {:?} {:#x}",
                    queue.0, wait.address, wait.mask, wait.compare, wait.reference
                ),
                other => format!("{} queue: {other:?}", queue.0),
            })
            .collect()
    }

    pub(super) fn faults(&self) -> Vec<String> {
        self.runtime.world().resource::<Faults>().0.clone()
    }

    /// Tight rows of an image: of the host image where the GPU has written one, else of memory.
    fn read_image(&mut self, expected: &ExpectedImage) -> Result<Vec<u8>, String> {
        let address = self.address(expected.address);
        match read_host_image(self.runtime.world_mut(), address, expected.layer) {
            Some(read) => read.map(|image| image.bytes),
            None => self.read_memory(expected),
        }
    }

    fn read_memory(&self, expected: &ExpectedImage) -> Result<Vec<u8>, String> {
        let info = self
            .images
            .iter()
            .find(|image| image.address == expected.address)
            .ok_or_else(|| {
                format!(
                    "no image was rendered to at {}, and the scene describes none",
                    expected.address
                )
            })?;
        let mode = SwizzleMode::from_number(info.mode).map_err(|error| error.to_string())?;
        let shape = SurfaceShape {
            depth: info.layers,
            levels: info.levels,
            ..SurfaceShape::flat(mode, expected.texel, expected.width, expected.height, info.xor)
        };
        let address = self.address(expected.address);
        read_memory(&self.memory.reader(), address, shape, expected.layer)
    }

    fn finish(mut self) -> Result<PlayReport, PlayError> {
        let waiting = self.statuses(false);
        self.run(Label::Shutdown)?;
        let mut report = std::mem::take(&mut self.report);
        report.waiting = waiting;
        report.faults = self.faults();
        report.counters = *self.runtime.world().resource::<Counters>();
        report.times = self.runtime.times(Label::Submit);
        report.validation = self.device.validation_messages();
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::Ending;

    #[test]
    fn endings_hold_for_what_they_name_only() {
        let none: &[String] = &[];
        let refused = &["WRITE_DATA (opcode 0x37) refused at graphics queue".to_owned()];
        let graphics = &["graphics queue waits at 0x10".to_owned()];
        let compute = &["compute 0.0 queue waits at 0x10".to_owned()];
        let named = |packet: &str| packet.to_owned();
        for (ending, faults, waiting, holds) in [
            (Ending::Run, none, none, true),
            (Ending::Run, refused, none, false),
            (Ending::Run, none, graphics, false),
            (Ending::Refuse(named("WRITE_DATA")), refused, none, true),
            (Ending::Refuse(named("COPY_DATA")), refused, none, false),
            (Ending::Refuse(named("WRITE_DATA")), none, none, false),
            (Ending::Refuse(named("WRITE_DATA")), refused, compute, false),
            (Ending::Pending, none, graphics, true),
            (Ending::Pending, none, none, false),
            (Ending::Pending, none, compute, false),
            (Ending::Pending, refused, graphics, false),
            (Ending::Either(named("WRITE_DATA")), none, none, true),
            (Ending::Either(named("WRITE_DATA")), refused, none, true),
            (Ending::Either(named("COPY_DATA")), refused, none, false),
        ] {
            assert_eq!(
                ending.holds(faults, waiting),
                holds,
                "{ending:?} {faults:?} {waiting:?}"
            );
        }
    }
}
