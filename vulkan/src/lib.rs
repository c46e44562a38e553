//! Headless Vulkan 1.3: device, memory, images, pipelines, host imports and command recording.
//!
//! This crate knows no guest formats and no guest packets: it speaks [`vk`] formats and plain state structs.
//!
//! # Order of reading
//! [`Device`] opens the driver and owns everything. [`Recorder`] records; [`Device::submit`] sends, and answers
//! with a [`TimelineValue`] of the one timeline semaphore. [`Buffer`], [`HostImport`] and [`StreamBuffer`] are
//! memory, [`Image`] and [`ImageView`] are images, [`PipelineLayout`], [`GraphicsPipeline`] and
//! [`ComputePipeline`] are programs.
//!
//! # Lifetimes
//! Handles are reference counted. When the last clone of a buffer, image, pipeline or recorder is dropped, the
//! Vulkan object goes to a retire list with the number of the newest recording; [`Device::collect`] destroys it
//! once every recording up to that number was discarded, or submitted and completed. So a handle may be dropped
//! at any time after its command was recorded, and recording a command costs no reference count.
//!
//! # Threads and locks
//! Every handle is `Send + Sync`; a [`Recorder`] is `Send` and used by one thread at a time. Mutexes guard the
//! caches (layouts, samplers, views), the retire list and the queue. Creation calls into the driver run outside
//! them; only `vkQueueSubmit2`, which Vulkan wants externally synchronised, runs inside the queue's. No lock is
//! ever taken while another is held, except the retire list's inside the queue's.

pub mod device;
pub mod error;
pub mod image;
mod instance;
pub mod memory;
pub mod pipeline;
pub mod recorder;
pub mod timeline;

pub use ash::vk;

pub use device::{
    CommandLog, Device, DeviceOptions, DeviceReport, EnabledFeatures, Feature, Limits, Need, RetireCounts,
    Validation,
};
pub use error::{
    DeviceError, DeviceLacks, DriverError, ImageError, ImportError, MemoryError, PipelineError,
    ReadbackError, RecordError, StreamError, SubmitError, WaitError,
};
pub use image::format::{FormatBlock, format_aspects, format_block};
pub use image::sampler::{BorderColour, Sampler, SamplerDescription};
pub use image::view::{ImageView, ViewDescription};
pub use image::{Image, ImageDescription, ImageDimension, ImageUse};
pub use memory::buffer::{Buffer, BufferDescription, BufferRange, BufferSlice, MemoryKind};
pub use memory::host_import::{HostImport, ReleaseToken};
pub use memory::readback::Readback;
pub use memory::stream::{StreamBuffer, StreamDescription, StreamSlice};
pub use pipeline::compute::{ComputePipeline, ComputePipelineDescription};
pub use pipeline::graphics::{
    BlendEquation, BlendTarget, DepthClip, GraphicsPipeline, GraphicsPipelineDescription, GraphicsStages,
    Rasteriser, TopologyClass,
};
pub use pipeline::layout::{
    Binding, DescriptorKind, PipelineLayout, PipelineLayoutDescription, PushConstantRange,
};
pub use pipeline::shader::ShaderStage;
pub use recorder::Recorder;
pub use recorder::barrier::BarrierScope;
pub use recorder::descriptors::{Descriptor, DescriptorWrite};
pub use recorder::dynamic_state::{DepthBias, DepthState, StencilFace, StencilState, Viewport};
pub use recorder::query::TimestampPool;
pub use recorder::rendering::{Attachment, AttachmentUse, ClearValue, LoadOp, RenderingInfo, Resolve};
pub use recorder::transfer::BufferImageCopy;
pub use recorder::upload::UploadRegion;
pub use timeline::TimelineValue;
