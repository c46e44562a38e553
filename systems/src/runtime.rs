//! Puts a runtime together: Relic's plug-ins, the device and its threads, the pump.

use std::{io, sync::Arc};

use bevy_ecs::prelude::*;
use relic_components::{
    Counters, EventSink, Message, Queue, QueueStatus, video::ReadyFlips, work::InFlightWrites,
};
use relic_core::{GuestMemory, Inbox, memory::WriteTracker};
use relic_schedules::{
    BuildErrors, Label, PacketTable, Plugin, Pump, PumpFailure, Runtime, RuntimeBuilder, Stage,
    init_task_pool,
};
use relic_vulkan::{Device, DeviceError, StreamDescription};

use crate::{
    capture::{Epoch, capture_rows},
    commit::commit_rows,
    config::{Config, WriteTracking},
    decode::decode_packets,
    evaluate::evaluate_plans,
    frame::{
        evict::{Budgets, evict_images},
        picture::PictureWriter,
        present::{PendingPictures, Shown, close_pictures, poll_pictures, present_flip},
        statistics::{LastFrame, plot_counters},
    },
    gpu::{Gpu, GpuTimeline, Waiter, open_device},
    gpu_zones::GpuZones,
    hazard::cut_batches,
    imports::ImportStore,
    ingest::{Directory, drain_inbox},
    packets::PacketsPlugin,
    page_table::PageTableStore,
    poll::{poll_gpu, poll_waits},
    prepare::{images::ImageStore, pipelines::PipelineStore, prepare_rows, recipes::RecipeStore},
    programs::ProgramStore,
    resources::{Faults, Guest, Memory, PumpInbox, Writes},
    scene::recording::RecordingPlugin,
    settle::{GpuRecording, Mirrored, finish_batches, mirror_stores, submit_batch},
    shader_cache::{Shaders, close_shaders, store_pipelines},
    shader_pool::ShaderPool,
    startup::announce_device,
};

/// Relic's systems, in their stages.
pub struct SystemsPlugin;

impl Plugin for SystemsPlugin {
    fn name(&self) -> &'static str {
        "Relic's systems"
    }

    fn build(&self, runtime: &mut RuntimeBuilder) {
        runtime
            .add_systems(Label::Startup, announce_device.in_set(Stage::Open))
            .add_systems(
                Label::Submit,
                (
                    drain_inbox.in_set(Stage::Ingest),
                    (poll_gpu, poll_waits).chain().in_set(Stage::Poll),
                    poll_pictures.in_set(Stage::Poll),
                    decode_packets.in_set(Stage::Decode),
                    capture_rows.in_set(Stage::Capture),
                    evaluate_plans.in_set(Stage::Evaluate),
                    prepare_rows.in_set(Stage::Prepare),
                    cut_batches.in_set(Stage::Hazard),
                    commit_rows.in_set(Stage::Commit),
                    (submit_batch, finish_batches, mirror_stores)
                        .chain()
                        .in_set(Stage::Settle),
                ),
            )
            .add_systems(
                Label::Frame,
                (
                    present_flip.in_set(Stage::Present),
                    evict_images.in_set(Stage::Evict),
                    (plot_counters, store_pipelines).in_set(Stage::Statistics),
                ),
            )
            .add_systems(
                Label::Shutdown,
                (close_pictures, close_shaders).in_set(Stage::Close),
            );
    }
}

/// The inbox holds this many messages before senders wait.
const INBOX: usize = 1024;

/// Why a runtime can't start.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// No device.
    #[error("no GPU to work with: {0}")]
    Device(#[from] DeviceError),
    /// The plug-ins don't go together.
    #[error("{0}")]
    Build(#[from] BuildErrors),
    /// No threads.
    #[error("the system gives no more threads: {0}")]
    Threads(#[from] io::Error),
}

/// A running runtime.
pub struct RuntimeHandle {
    /// Where messages go.
    pub inbox: Arc<Inbox<Message>>,
    pump: Pump,
    device: Device,
}

/// What a runtime did.
#[derive(Debug, Default)]
pub struct RunReport {
    /// What went wrong, one text each.
    pub faults: Vec<String>,
    /// Why the pump stopped by itself, if it did.
    pub failure: Option<String>,
    /// Counters at the end.
    pub counters: Counters,
    /// Times of the Submit and Frame systems, where they were taken.
    pub times: Vec<(String, relic_schedules::SystemTime)>,
    /// Queues that were neither idle nor faulted, and what they waited for.
    pub waiting: Vec<String>,
    /// Messages of the validation layer.
    pub validation: Vec<String>,
}

impl RunReport {
    /// Whether nothing went wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty() && self.failure.is_none() && self.validation.is_empty()
    }

    /// The systems' times as a table, for people.
    #[must_use]
    pub fn times_table(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!(
            "{:10} {:24} {:>8} {:>12} {:>10}\n",
            "schedule", "system", "runs", "total ms", "us a run"
        );
        for (schedule, time) in &self.times {
            let microseconds = time.nanoseconds as f64 / 1e3;
            let _ = writeln!(
                text,
                "{:10} {:24} {:>8} {:>12.3} {:>10.2}",
                schedule,
                time.name,
                time.runs,
                microseconds / 1e3,
                microseconds / (time.runs.max(1) as f64)
            );
        }
        text
    }
}

/// What a runtime is started with.
pub struct RuntimeOptions<'a> {
    /// Guest memory.
    pub memory: Arc<GuestMemory>,
    /// Where events for the guest go.
    pub sink: Arc<dyn EventSink>,
    /// Settings.
    pub config: Config,
    /// Plug-ins beside Relic's own.
    pub plugins: &'a dyn Fn(&mut RuntimeBuilder),
}

/// Opens the device and starts the pump.
///
/// # Errors
/// When there is no device, a plug-in does not fit, or the system gives no threads.
pub fn start(options: RuntimeOptions<'_>) -> Result<RuntimeHandle, RuntimeError> {
    let config = &options.config;
    relic_core::trace::start();
    init_task_pool(config.pool_threads);
    let device = open_device(config.validation, config.gpu.clone())?;
    let inbox = Inbox::new(INBOX);
    let runtime = build(&options, device.clone(), Arc::clone(&inbox))?;
    let pump = Pump::start(runtime, Arc::clone(&inbox))?;
    Ok(RuntimeHandle { inbox, pump, device })
}

/// Builds the runtime without starting a pump: for tests and tools.
///
/// # Errors
/// As [`start`].
pub fn build(
    options: &RuntimeOptions<'_>,
    device: Device,
    inbox: Arc<Inbox<Message>>,
) -> Result<Runtime, RuntimeError> {
    let config = &options.config;
    let mut builder = relic_builder();
    if let Some(request) = &config.capture {
        builder.add_plugin(&RecordingPlugin(request.clone()));
    }
    (options.plugins)(&mut builder);
    builder.timed(config.times);
    if let Some(seed) = config.shuffle {
        builder.shuffle(seed);
    }
    let shaders = Shaders::open(config.shader_cache.as_deref(), &device);
    let waiter = Waiter::start(device.clone(), Arc::clone(&inbox))?;
    let recording = GpuRecording {
        recorder: device.create_recorder(),
        stream: device.create_stream(StreamDescription::default()),
        barrier_due: false,
        dirty: false,
        zones: GpuZones::default(),
    };
    builder
        .insert_resource(Memory(Arc::clone(&options.memory)))
        .insert_resource(Guest(Arc::clone(&options.sink)))
        .insert_resource(ShaderPool::start(Arc::clone(&inbox))?)
        .insert_resource(PumpInbox(inbox))
        .insert_resource(PictureWriter::start()?)
        .insert_resource(config.pictures.clone())
        .insert_resource(Gpu::new(device))
        .insert_resource(waiter)
        .insert_resource(recording)
        .insert_resource(Directory::default())
        .insert_resource(GpuTimeline::default())
        .insert_resource(InFlightWrites::default())
        .insert_resource(Writes(match config.writes {
            WriteTracking::Watched => WriteTracker::new(),
            WriteTracking::Compared => WriteTracker::comparing(),
        }))
        .insert_resource(Counters::default())
        .insert_resource(config.tapes)
        .insert_resource(Faults::default())
        .insert_resource(Epoch::default())
        .insert_resource(ProgramStore::default())
        .insert_resource(PipelineStore::new(shaders))
        .insert_resource(RecipeStore::default())
        .insert_resource(ImageStore::default())
        .insert_resource(ImportStore::default())
        .insert_resource(PageTableStore::default())
        .insert_resource(Mirrored::default())
        .insert_resource(ReadyFlips::default())
        .insert_resource(PendingPictures::default())
        .insert_resource(Shown::default())
        .insert_resource(Budgets::default())
        .insert_resource(LastFrame::default());
    Ok(builder.build()?)
}

/// The schedules with Relic's own plug-ins and no resources: to be printed, not run.
///
/// # Errors
/// When they don't go together.
pub fn describe() -> Result<Runtime, BuildErrors> {
    relic_builder().build()
}

/// The packets of Relic's own plug-ins: for tools that look into command streams.
///
/// # Errors
/// When they don't go together.
pub fn packet_table() -> Result<PacketTable, BuildErrors> {
    Ok(describe()?.world().resource::<PacketTable>().clone())
}

/// A builder with Relic's own plug-ins.
#[must_use]
pub fn relic_builder() -> RuntimeBuilder {
    let mut builder = RuntimeBuilder::new();
    builder.add_plugin(&PacketsPlugin).add_plugin(&SystemsPlugin);
    builder
}

impl RuntimeHandle {
    /// Lets everything submitted finish, ends the pump and reports.
    #[must_use]
    pub fn finish(self) -> RunReport {
        // A closed inbox means the pump has ended by itself: its report says why.
        let _ = self.inbox.send(Message::Finish);
        self.join()
    }

    /// Ends the pump at once and reports.
    #[must_use]
    pub fn stop(self) -> RunReport {
        let _ = self.inbox.send(Message::Stop);
        self.join()
    }

    /// The device, for reports.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn join(self) -> RunReport {
        let device = self.device;
        match self.pump.join() {
            Ok((mut runtime, failure)) => report(&mut runtime, failure, &device),
            Err(failure) => RunReport {
                failure: Some(failure.to_string()),
                ..RunReport::default()
            },
        }
    }
}

fn report(runtime: &mut Runtime, failure: Option<PumpFailure>, device: &Device) -> RunReport {
    let mut times = Vec::new();
    for label in Label::ALL {
        let systems = runtime.times(label).into_iter().filter(|time| time.runs > 0);
        times.extend(systems.map(|time| (format!("{label:?}"), time)));
    }
    let world = runtime.world_mut();
    let mut waiting = Vec::new();
    let mut queues = world.query::<(&Queue, &QueueStatus)>();
    for (queue, status) in queues.iter(world) {
        match status {
            QueueStatus::Idle | QueueStatus::Faulted(_) => {}
            QueueStatus::WaitingMemory(wait) => waiting.push(format!(
                "{} queue waits at {} for (value & {:#x}) {:?} {:#x}",
                queue.0, wait.address, wait.mask, wait.compare, wait.reference
            )),
            other => waiting.push(format!("{} queue: {other:?}", queue.0)),
        }
    }
    RunReport {
        faults: world.resource::<Faults>().0.clone(),
        failure: failure.map(|failure| failure.to_string()),
        counters: *world.resource::<Counters>(),
        times,
        waiting,
        validation: device.validation_messages(),
    }
}
