//! The GPU as a resource: the device, its timeline and the waiter thread.

use std::{
    io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use bevy_ecs::prelude::*;
use relic_components::Message;
use relic_core::Inbox;
use relic_recompiler::{Features, Profile};
use relic_vulkan::{Device, DeviceError, DeviceOptions, Feature, TimelineValue, Validation, WaitError};

/// The device and what the recompiler must know of it.
#[derive(Resource)]
pub struct Gpu {
    /// The device.
    pub device: Device,
    /// What the recompiler emits for.
    pub profile: Profile,
}

/// Opens a device that Relic can work with.
///
/// # Errors
/// When there is none; the text says what each device lacks.
pub fn open_device(validation: bool, name_filter: Option<String>) -> Result<Device, DeviceError> {
    Device::open(&options(validation, name_filter))
}

/// As [`open_device`], and commands can be kept and recorded again.
///
/// # Errors
/// As [`open_device`].
pub fn open_tapped_device(validation: bool, name_filter: Option<String>) -> Result<Device, DeviceError> {
    Device::open(&DeviceOptions {
        tap: true,
        ..options(validation, name_filter)
    })
}

fn options(validation: bool, name_filter: Option<String>) -> DeviceOptions {
    DeviceOptions {
        validation: if validation {
            Validation::On
        } else {
            Validation::Off
        },
        name_filter,
        // Guest memory reaches the device by import; copies are not built yet.
        required: vec![Feature::ExternalMemoryHost],
        tap: false,
    }
}

impl Gpu {
    /// Describes a device to the recompiler.
    #[must_use]
    pub fn new(device: Device) -> Self {
        let limits = device.limits();
        let mut features = Features::empty();
        for (feature, flag) in [
            (Feature::ShaderInt64, Features::INT64),
            (Feature::ShaderDemoteToHelperInvocation, Features::DEMOTE),
            (Feature::ShaderImageGatherExtended, Features::GATHER_EXTENDED),
            (Feature::ShaderBufferInt64Atomics, Features::BUFFER_INT64_ATOMICS),
            (Feature::ShaderSharedInt64Atomics, Features::SHARED_INT64_ATOMICS),
            (Feature::ShaderClipDistance, Features::CLIP_DISTANCE),
            (Feature::ShaderCullDistance, Features::CULL_DISTANCE),
            (Feature::ShaderOutputLayer, Features::OUTPUT_LAYER),
            (Feature::ShaderFloat64, Features::FLOAT64),
            (Feature::StorageBuffer8BitAccess, Features::STORAGE8),
            (Feature::StorageBuffer16BitAccess, Features::STORAGE16),
            (
                Feature::ShaderStorageImageReadWithoutFormat,
                Features::IMAGE_READ_WITHOUT_FORMAT,
            ),
            (
                Feature::ShaderStorageImageWriteWithoutFormat,
                Features::IMAGE_WRITE_WITHOUT_FORMAT,
            ),
            (Feature::SampleRateShading, Features::SAMPLE_RATE),
        ] {
            if device.has(feature) {
                features |= flag;
            }
        }
        // The page table is made of 64-bit words.
        if device.has(Feature::BufferDeviceAddress) && device.has(Feature::ShaderInt64) {
            features |= Features::GUEST_POINTERS;
        }
        let profile = Profile {
            subgroup_size: device.report().subgroup_size,
            max_push_constants: limits.max_push_constants,
            storage_buffer_alignment: limits.storage_offset_alignment.clamp(4, 256) as u32,
            max_shared_memory: limits.max_workgroup_memory,
            helpers_load_zero: device.report().driver.starts_with("llvmpipe"),
            features,
        };
        Self { device, profile }
    }
}

/// How far the GPU has come, as the pump knows it.
#[derive(Resource, Default, Debug, Clone, Copy)]
pub struct GpuTimeline {
    /// Value of the last batch submitted.
    pub submitted: u64,
    /// Newest value known to be completed.
    pub completed: u64,
}

/// Ticks of 10 ns since the process started: the console's GPU clock runs at 100 MHz.
#[must_use]
pub fn gpu_clock() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    (START.elapsed().as_nanos() / 10) as u64
}

/// The thread that waits for the GPU's timeline, so that no system has to.
#[derive(Resource)]
pub struct Waiter {
    values: Option<mpsc::Sender<u64>>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Waiter {
    /// Starts the thread. It posts [`Message::GpuProgress`] for each value it is given.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(device: Device, inbox: Arc<Inbox<Message>>) -> io::Result<Self> {
        let (values, wanted) = mpsc::channel::<u64>();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("relic-waiter".to_owned())
            .spawn(move || {
                relic_core::trace::name_thread("waiter");
                for value in wanted {
                    loop {
                        match device.wait(TimelineValue(value), Duration::from_millis(500)) {
                            Ok(()) => {
                                if inbox.send(Message::GpuProgress(value)).is_err() {
                                    return;
                                }
                                break;
                            }
                            Err(WaitError::TimedOut { .. }) if !stopped.load(Ordering::Acquire) => {}
                            Err(WaitError::TimedOut { .. }) => return,
                            Err(error) => {
                                let _ = inbox.send(Message::GpuLost(error.to_string()));
                                return;
                            }
                        }
                    }
                }
            })?;
        Ok(Self {
            values: Some(values),
            thread: Some(thread),
            stop,
        })
    }

    /// Has the thread wait for a value.
    pub fn wait_for(&self, value: u64) {
        if let Some(values) = &self.values {
            // The thread is gone only when the pump is ending.
            let _ = values.send(value);
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.values = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
