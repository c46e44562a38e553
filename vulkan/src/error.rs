//! Typed errors. Each says what was being done, what was found, and what to do where that is known.

use crate::device::Feature;
use crate::timeline::TimelineValue;
use ash::vk;
use std::fmt;
use thiserror::Error;

/// A call that the driver refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DriverError {
    /// The driver reset or the device went away; nothing submitted after this can complete.
    #[error(
        "the GPU was lost while {action}: the driver reset it or it stopped answering; \
         the kernel log names the cause, and the program has to be started again"
    )]
    DeviceLost {
        /// What was being done.
        action: &'static str,
    },
    /// Device or host memory ran out.
    #[error("out of {} memory while {action}", if *.device { "GPU" } else { "host" })]
    OutOfMemory {
        /// What was being done.
        action: &'static str,
        /// Whether it was device memory.
        device: bool,
    },
    /// Any other result code.
    #[error("the driver answered {result:?} while {action}")]
    Refused {
        /// What was being done.
        action: &'static str,
        /// The code it returned.
        result: vk::Result,
    },
}

/// Gives a Vulkan result code the words of what was being done.
pub(crate) trait During<T> {
    fn during(self, action: &'static str) -> Result<T, DriverError>;
}

impl<T> During<T> for Result<T, vk::Result> {
    fn during(self, action: &'static str) -> Result<T, DriverError> {
        self.map_err(|result| DriverError::new(action, result))
    }
}

impl DriverError {
    pub(crate) fn new(action: &'static str, result: vk::Result) -> Self {
        match result {
            vk::Result::ERROR_DEVICE_LOST => Self::DeviceLost { action },
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY => Self::OutOfMemory { action, device: true },
            vk::Result::ERROR_OUT_OF_HOST_MEMORY => Self::OutOfMemory {
                action,
                device: false,
            },
            result => Self::Refused { action, result },
        }
    }
}

/// What one physical device lacks of what is required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceLacks {
    /// The device's name.
    pub name: String,
    /// Driver name and version text, where the device reports it.
    pub driver: String,
    /// One line for each thing it lacks.
    pub lacks: Vec<String>,
}

impl fmt::Display for DeviceLacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\n  {} ({}) lacks: {}",
            self.name,
            self.driver,
            self.lacks.join(", ")
        )
    }
}

fn list(devices: &[DeviceLacks]) -> String {
    devices.iter().map(ToString::to_string).collect()
}

/// Why no device could be opened.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The Vulkan loader is not installed.
    #[error(
        "no Vulkan loader was found ({reason}); install it (package libvulkan1 on Debian and Ubuntu, \
         vulkan-loader elsewhere)"
    )]
    NoLoader {
        /// The loader library's error text.
        reason: String,
    },
    /// The loader knows no driver, or no driver found a device.
    #[error(
        "the Vulkan loader found no device ({reason}); install your GPU's Vulkan driver, or the software one \
         (package mesa-vulkan-drivers)"
    )]
    NoDriver {
        /// What the loader answered.
        reason: String,
    },
    /// The loader itself is too old.
    #[error("the Vulkan loader speaks {found}, and 1.3 is needed: install a newer libvulkan1")]
    LoaderTooOld {
        /// Version found, as major.minor.
        found: String,
    },
    /// Validation was asked for and its layer is not installed.
    #[error(
        "validation was asked for, and the layer VK_LAYER_KHRONOS_validation is not installed: install the package \
         vulkan-validationlayers, or switch validation off"
    )]
    NoValidationLayer,
    /// The name filter matches no device.
    #[error("no Vulkan device's name contains \"{filter}\"; the devices here are: {}", .seen.join(", "))]
    NoneNamed {
        /// The text looked for.
        filter: String,
        /// Names of all devices.
        seen: Vec<String>,
    },
    /// Devices exist, and none has all that is required.
    #[error("no Vulkan device has all that is required:{}\nA newer driver may help.", list(.devices))]
    NoneSuitable {
        /// Every device looked at, with what it lacks.
        devices: Vec<DeviceLacks>,
    },
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why a buffer could not be made or a range not be taken.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// Zero-sized buffers don't exist in Vulkan.
    #[error("a buffer of 0 bytes was asked for; Vulkan has none: leave it out, or bind a null descriptor")]
    Empty,
    /// A range leaves its buffer.
    #[error("bytes {offset:#x} + {size:#x} lie outside a buffer of {buffer_size:#x} bytes")]
    OutOfRange {
        /// First byte.
        offset: u64,
        /// Length in bytes.
        size: u64,
        /// The buffer's size in bytes.
        buffer_size: u64,
    },
    /// The memory is not host visible.
    #[error("the buffer's memory is device local: the CPU reaches it by a copy only")]
    NotMapped,
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why host memory could not be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The device lacks VK_EXT_external_memory_host.
    #[error("{device} lacks VK_EXT_external_memory_host: copy the memory instead of importing it")]
    Unsupported {
        /// The device's name.
        device: String,
    },
    /// Address or size is not a multiple of the device's import alignment.
    #[error(
        "the window at {address:#x} of {size:#x} bytes must be a non-empty multiple of {alignment:#x} bytes in both \
         address and size"
    )]
    Misaligned {
        /// First byte's address.
        address: u64,
        /// Size in bytes.
        size: u64,
        /// `minImportedHostPointerAlignment` in bytes.
        alignment: u64,
    },
    /// No coherent memory type takes both this memory and a buffer.
    #[error(
        "no coherent memory type of the device takes the window at {address:#x} (host memory: types {host_types:#x}, buffer: \
         types {buffer_types:#x}): copy it instead"
    )]
    NoMemoryType {
        /// First byte's address.
        address: u64,
        /// Memory types that accept the pages.
        host_types: u32,
        /// Memory types that the buffer accepts.
        buffer_types: u32,
    },
    /// The driver's buffer needs more bytes than the window has.
    #[error(
        "a buffer over the window needs {needed:#x} bytes and the window has {size:#x}: import a larger one"
    )]
    TooSmall {
        /// Bytes the buffer requires.
        needed: u64,
        /// Bytes of the window.
        size: u64,
    },
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why a stream gave no memory.
#[derive(Debug, Error)]
pub enum StreamError {
    /// All blocks are in use and the bound is reached.
    #[error(
        "the stream holds {held:#x} of at most {limit:#x} bytes, all in use by the GPU until timeline value {oldest}; \
         {size:#x} more do not fit: submit, let that value complete, then ask again"
    )]
    Full {
        /// Bytes of all blocks.
        held: u64,
        /// Bound in bytes.
        limit: u64,
        /// Bytes asked for.
        size: u64,
        /// Value whose completion frees the first block.
        oldest: TimelineValue,
    },
    /// One allocation above the bound.
    #[error(
        "{size:#x} bytes were asked of a stream that is bounded to {limit:#x}: raise its limit, or split the data"
    )]
    TooLarge {
        /// Bytes asked for.
        size: u64,
        /// Bound in bytes.
        limit: u64,
    },
    /// The alignment is not a power of two, or exceeds 64 KiB.
    #[error("{alignment} is no alignment of a stream slice: it must be a power of two up to 65536")]
    Alignment {
        /// Alignment asked for.
        alignment: u64,
    },
    /// A block could not be made.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why an image, view or sampler could not be made.
#[derive(Debug, Error)]
pub enum ImageError {
    /// The device has no such image.
    #[error("the device has no {description}: {reason}")]
    Unsupported {
        /// The image in words.
        description: String,
        /// Which limit or support bit fails.
        reason: String,
    },
    /// A view that its image can't give.
    #[error("a view of {view} can't be made of {image}: {reason}")]
    View {
        /// The view in words.
        view: String,
        /// The image in words.
        image: String,
        /// What does not fit.
        reason: &'static str,
    },
    /// A sampler needs a feature that the device lacks.
    #[error("a sampler with {what} needs {feature}, which the device lacks")]
    SamplerFeature {
        /// Part of the sampler.
        what: &'static str,
        /// Missing feature.
        feature: Feature,
    },
    /// More distinct samplers than the device allows.
    #[error("the device allows {limit} samplers and all are made")]
    TooManySamplers {
        /// `maxSamplerAllocationCount`.
        limit: u32,
    },
    /// A format whose texel size is not in the table.
    #[error("the texel size of {format:?} is not known; add the format to image/format.rs")]
    UnknownFormat {
        /// The format.
        format: vk::Format,
    },
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why a pipeline or its layout could not be made. Each names the pipeline.
#[derive(Debug, Error)]
pub enum PipelineError {
    /// The description contradicts itself or the device.
    #[error("pipeline {name}: {reason}")]
    Description {
        /// The pipeline's name.
        name: String,
        /// What does not fit.
        reason: String,
    },
    /// The description needs a feature that the device lacks.
    #[error("pipeline {name}: {what} needs {feature}, which the device lacks")]
    Feature {
        /// The pipeline's name.
        name: String,
        /// Part of the pipeline.
        what: &'static str,
        /// Missing feature.
        feature: Feature,
    },
    /// The driver refused a call.
    #[error("pipeline {name}: {source}")]
    Driver {
        /// The pipeline's name.
        name: String,
        /// What the driver said.
        source: DriverError,
    },
}

/// A command that could not be recorded. The recorder keeps the first one and records nothing more until it is
/// taken (`Recorder::take_error`) or reported by `Device::submit`.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A draw outside of rendering.
    #[error("{command} was recorded outside of rendering: call begin_rendering before each draw")]
    NotRendering {
        /// The command.
        command: &'static str,
    },
    /// No pipeline bound.
    #[error("{command} was recorded with no pipeline bound since the last submission")]
    NoPipeline {
        /// The command.
        command: &'static str,
    },
    /// Indexed draw without index buffer.
    #[error("{command} was recorded with no index buffer bound since the last submission")]
    NoIndexBuffer {
        /// The command.
        command: &'static str,
    },
    /// An image was bound in a state it can't be read in.
    #[error(
        "binding {binding}: the image \"{image}\" is in use as {found}, and must be moved to {wanted} first"
    )]
    ImageUse {
        /// Descriptor binding.
        binding: u32,
        /// The image's name.
        image: String,
        /// Tracked use.
        found: &'static str,
        /// Use or uses that would do.
        wanted: &'static str,
    },
    /// The command's size, offset or alignment breaks a rule of Vulkan.
    #[error("{command}: {reason}")]
    Argument {
        /// The command.
        command: &'static str,
        /// What does not fit.
        reason: String,
    },
    /// A large layout's descriptors come from pools, which hold nothing from before.
    #[error(
        "a layout of {expected} descriptors, above the device's {push_limit} push descriptors, was given {found}: give \
         every descriptor in each call (null ones too)"
    )]
    IncompleteDescriptors {
        /// Descriptors in the layout.
        expected: u32,
        /// Descriptors given.
        found: u32,
        /// `maxPushDescriptors`.
        push_limit: u32,
    },
    /// Recording stands still.
    #[error("{command} was not recorded, because an earlier command failed and its error was not taken")]
    Blocked {
        /// The command.
        command: &'static str,
    },
    /// A view, staging block or readback could not be made.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Staging memory could not be had.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A buffer could not be had.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why a submission did not reach the queue. The recording is discarded.
#[derive(Debug, Error)]
pub enum SubmitError {
    /// A command had failed while recording.
    #[error("the recording was not submitted, because a command of it failed: {0}")]
    Record(#[from] RecordError),
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why a wait ended early.
#[derive(Debug, Error)]
pub enum WaitError {
    /// The time ran out.
    #[error(
        "timeline value {value} was not reached within {milliseconds} ms; the GPU has completed {completed}"
    )]
    TimedOut {
        /// Value waited for.
        value: TimelineValue,
        /// Value reached.
        completed: TimelineValue,
        /// Time waited, in milliseconds.
        milliseconds: u128,
    },
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why a readback's bytes are not there.
#[derive(Debug, Error)]
pub enum ReadbackError {
    /// Its recording was not submitted (or was discarded).
    #[error("the recording that fills this readback was not submitted")]
    NotSubmitted,
    /// The GPU has not reached it.
    #[error("the readback is filled at timeline value {value}; the GPU has completed {completed}")]
    NotCompleted {
        /// Value that fills it.
        value: TimelineValue,
        /// Value reached.
        completed: TimelineValue,
    },
    /// The buffer's bytes could not be reached.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The driver refused a call.
    #[error(transparent)]
    Driver(#[from] DriverError),
}
