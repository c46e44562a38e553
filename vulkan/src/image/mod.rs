//! Images. Each knows how it is in use; the recorder moves it between uses.

pub mod format;
pub mod sampler;
pub mod view;

use crate::device::Device;
use crate::device::retire::Retired;
use crate::error::{During, ImageError};
use ash::vk;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use view::ViewDescription;
use vk_mem::Alloc;

/// Shape of an image's storage. Cubes are 2-D images with `cube_compatible`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageDimension {
    /// One row.
    D1,
    /// Rows.
    D2,
    /// Slices of rows; its slices can be viewed as 2-D layers where it is an attachment.
    D3,
}

/// What image to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageDescription {
    /// Name for errors, validation messages and captures.
    pub name: String,
    /// Shape.
    pub dimension: ImageDimension,
    /// Format.
    pub format: vk::Format,
    /// Width, height and depth in texels; 1 where the dimension has none.
    pub extent: vk::Extent3D,
    /// Mip levels.
    pub mips: u32,
    /// Array layers; six for each cube.
    pub layers: u32,
    /// Samples of a texel.
    pub samples: vk::SampleCountFlags,
    /// What it is used for.
    pub usage: vk::ImageUsageFlags,
    /// Whether cube views can be made.
    pub cube_compatible: bool,
    /// Other formats that views may have; the image's own is added.
    pub view_formats: Vec<vk::Format>,
}

impl ImageDescription {
    /// A single-sampled 2-D image of one mip and one layer.
    #[must_use]
    pub fn new_2d(
        name: impl Into<String>,
        format: vk::Format,
        width: u32,
        height: u32,
        usage: vk::ImageUsageFlags,
    ) -> Self {
        Self {
            name: name.into(),
            dimension: ImageDimension::D2,
            format,
            extent: vk::Extent3D {
                width,
                height,
                depth: 1,
            },
            mips: 1,
            layers: 1,
            samples: vk::SampleCountFlags::TYPE_1,
            usage,
            cube_compatible: false,
            view_formats: Vec::new(),
        }
    }
}

impl fmt::Display for ImageDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vk::Extent3D { width, height, depth } = self.extent;
        write!(
            f,
            "{:?} image \"{}\" of {width}x{height}x{depth} {:?}, {} mips, {} layers, {:?} samples, for {:?}",
            self.dimension, self.name, self.format, self.mips, self.layers, self.samples, self.usage
        )
    }
}

/// How all of an image is in use: its Vulkan layout, and the stages and accesses that a change has to order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ImageUse {
    /// Fresh: no content.
    Undefined = 0,
    /// Anything, storage above all: layout GENERAL.
    General,
    /// Read by shaders through a sampled descriptor.
    Sampled,
    /// Colour target.
    ColourAttachment,
    /// Depth or stencil target.
    DepthStencilAttachment,
    /// Depth or stencil test without writes; may be sampled at the same time.
    DepthStencilReadOnly,
    /// Source of copies.
    TransferSource,
    /// Target of copies, clears and uploads.
    TransferDestination,
}

impl ImageUse {
    const ALL: [Self; 8] = [
        Self::Undefined,
        Self::General,
        Self::Sampled,
        Self::ColourAttachment,
        Self::DepthStencilAttachment,
        Self::DepthStencilReadOnly,
        Self::TransferSource,
        Self::TransferDestination,
    ];

    /// The layout, the stages and the accesses of the use, and whether it writes.
    pub(crate) fn scope(self) -> (vk::ImageLayout, vk::PipelineStageFlags2, vk::AccessFlags2, bool) {
        use vk::{AccessFlags2 as A, ImageLayout as L, PipelineStageFlags2 as S};
        let shaders = S::PRE_RASTERIZATION_SHADERS | S::FRAGMENT_SHADER | S::COMPUTE_SHADER;
        let depth = S::EARLY_FRAGMENT_TESTS | S::LATE_FRAGMENT_TESTS;
        match self {
            Self::Undefined => (L::UNDEFINED, S::NONE, A::NONE, false),
            Self::General => (
                L::GENERAL,
                S::ALL_COMMANDS,
                A::MEMORY_READ | A::MEMORY_WRITE,
                true,
            ),
            Self::Sampled => (
                L::SHADER_READ_ONLY_OPTIMAL,
                shaders,
                A::SHADER_SAMPLED_READ,
                false,
            ),
            Self::ColourAttachment => (
                L::COLOR_ATTACHMENT_OPTIMAL,
                S::COLOR_ATTACHMENT_OUTPUT,
                A::COLOR_ATTACHMENT_READ | A::COLOR_ATTACHMENT_WRITE,
                true,
            ),
            Self::DepthStencilAttachment => (
                L::DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
                // Depth resolves run in the colour output stage.
                depth | S::COLOR_ATTACHMENT_OUTPUT,
                A::DEPTH_STENCIL_ATTACHMENT_READ
                    | A::DEPTH_STENCIL_ATTACHMENT_WRITE
                    | A::COLOR_ATTACHMENT_READ
                    | A::COLOR_ATTACHMENT_WRITE,
                true,
            ),
            Self::DepthStencilReadOnly => (
                L::DEPTH_STENCIL_READ_ONLY_OPTIMAL,
                depth | shaders,
                A::DEPTH_STENCIL_ATTACHMENT_READ | A::SHADER_SAMPLED_READ,
                false,
            ),
            Self::TransferSource => (L::TRANSFER_SRC_OPTIMAL, S::ALL_TRANSFER, A::TRANSFER_READ, false),
            Self::TransferDestination => (
                L::TRANSFER_DST_OPTIMAL,
                S::ALL_TRANSFER,
                A::TRANSFER_READ | A::TRANSFER_WRITE,
                true,
            ),
        }
    }

    pub(crate) fn layout(self) -> vk::ImageLayout {
        self.scope().0
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Undefined => "nothing yet",
            Self::General => "general",
            Self::Sampled => "sampled",
            Self::ColourAttachment => "colour attachment",
            Self::DepthStencilAttachment => "depth-stencil attachment",
            Self::DepthStencilReadOnly => "read-only depth-stencil",
            Self::TransferSource => "copy source",
            Self::TransferDestination => "copy destination",
        }
    }
}

pub(crate) struct ImageInner {
    pub(crate) device: Device,
    pub(crate) raw: vk::Image,
    /// `None` only while dropping.
    allocation: Option<vk_mem::Allocation>,
    pub(crate) description: ImageDescription,
    aspects: vk::ImageAspectFlags,
    /// An [`ImageUse`], as of the newest recorded command.
    state: AtomicU8,
    pub(crate) views: Mutex<HashMap<ViewDescription, vk::ImageView>>,
}

impl ImageInner {
    pub(crate) fn use_now(&self) -> ImageUse {
        let index = self.state.load(Ordering::Relaxed);
        ImageUse::ALL
            .get(usize::from(index))
            .copied()
            .unwrap_or(ImageUse::Undefined)
    }

    pub(crate) fn set_use(&self, to: ImageUse) {
        self.state.store(to as u8, Ordering::Relaxed);
    }
}

impl Drop for ImageInner {
    fn drop(&mut self) {
        if let Some(allocation) = self.allocation.take() {
            let views = self.views.get_mut().drain().map(|(_, view)| view).collect();
            self.device.retire(Retired::Image(self.raw, allocation, views));
        }
    }
}

/// An image. Clones share it.
///
/// Its use is tracked in the order of recording, for the image as a whole. So recordings that touch the same image
/// must be submitted in the order they were recorded in; Relic records with one thread at a time.
#[derive(Clone)]
pub struct Image {
    pub(crate) inner: Arc<ImageInner>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Image({}, in use as {})",
            self.inner.description,
            self.inner.use_now().words()
        )
    }
}

impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Image {}

impl Device {
    /// Makes an image, in use as [`ImageUse::Undefined`].
    ///
    /// # Errors
    /// [`ImageError::Unsupported`] where format, usage, extent or samples exceed the device.
    pub fn create_image(&self, description: ImageDescription) -> Result<Image, ImageError> {
        let d = &description;
        let mut flags = vk::ImageCreateFlags::empty();
        if d.cube_compatible {
            flags |= vk::ImageCreateFlags::CUBE_COMPATIBLE;
        }
        if d.dimension == ImageDimension::D3 && d.usage.contains(vk::ImageUsageFlags::COLOR_ATTACHMENT) {
            flags |= vk::ImageCreateFlags::TYPE_2D_ARRAY_COMPATIBLE;
        }
        let mut formats = d.view_formats.clone();
        formats.retain(|format| *format != d.format);
        let mutable = !formats.is_empty();
        formats.push(d.format);
        if mutable {
            // EXTENDED_USAGE: a usage that only some of the formats support (storage through UNORM, colour through
            // sRGB) is then legal, and each view says which usages it keeps.
            flags |= vk::ImageCreateFlags::MUTABLE_FORMAT | vk::ImageCreateFlags::EXTENDED_USAGE;
        }
        let kind = match d.dimension {
            ImageDimension::D1 => vk::ImageType::TYPE_1D,
            ImageDimension::D2 => vk::ImageType::TYPE_2D,
            ImageDimension::D3 => vk::ImageType::TYPE_3D,
        };
        self.check_image(d, kind, flags)?;
        let mut list = vk::ImageFormatListCreateInfo::default().view_formats(&formats);
        let mut info = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(kind)
            .format(d.format)
            .extent(d.extent)
            .mip_levels(d.mips)
            .array_layers(d.layers)
            .samples(d.samples)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(d.usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .initial_layout(vk::ImageLayout::UNDEFINED);
        if mutable {
            info = info.push_next(&mut list);
        }
        let placement = vk_mem::AllocationCreateInfo {
            usage: vk_mem::MemoryUsage::AutoPreferDevice,
            ..Default::default()
        };
        // SAFETY: the description is complete and was checked against the device.
        let (raw, allocation) =
            unsafe { self.inner.allocator.create_image(&info, &placement) }.during("creating an image")?;
        self.name_object(raw, &description.name);
        Ok(Image {
            inner: Arc::new(ImageInner {
                device: self.clone(),
                raw,
                allocation: Some(allocation),
                aspects: format::format_aspects(description.format),
                description,
                state: AtomicU8::new(ImageUse::Undefined as u8),
                views: Mutex::default(),
            }),
        })
    }

    fn check_image(
        &self,
        d: &ImageDescription,
        kind: vk::ImageType,
        flags: vk::ImageCreateFlags,
    ) -> Result<(), ImageError> {
        let refuse = |reason: String| {
            Err(ImageError::Unsupported {
                description: d.to_string(),
                reason,
            })
        };
        if d.extent.width == 0 || d.extent.height == 0 || d.extent.depth == 0 || d.mips == 0 || d.layers == 0
        {
            return refuse("an extent, mip or layer count is 0".into());
        }
        let longest = d.extent.width.max(d.extent.height).max(d.extent.depth);
        if d.mips > longest.ilog2() + 1 {
            return refuse(format!(
                "{longest} texels have at most {} mips",
                longest.ilog2() + 1
            ));
        }
        let info = vk::PhysicalDeviceImageFormatInfo2::default()
            .format(d.format)
            .ty(kind)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(d.usage)
            .flags(flags);
        let mut properties = vk::ImageFormatProperties2::default();
        // SAFETY: the physical device is alive.
        let result = unsafe {
            self.inner
                .instance
                .raw
                .get_physical_device_image_format_properties2(self.inner.physical, &info, &mut properties)
        };
        if let Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED) = result {
            let able = self.format_features(d.format);
            return refuse(format!(
                "the driver does not support this format with that usage (it supports {able:?})"
            ));
        }
        result.during("asking whether an image is supported")?;
        let limits = properties.image_format_properties;
        let most = limits.max_extent;
        if d.extent.width > most.width || d.extent.height > most.height || d.extent.depth > most.depth {
            return refuse(format!(
                "at most {}x{}x{} are supported",
                most.width, most.height, most.depth
            ));
        }
        if d.mips > limits.max_mip_levels || d.layers > limits.max_array_layers {
            return refuse(format!(
                "at most {} mips and {} layers are supported",
                limits.max_mip_levels, limits.max_array_layers
            ));
        }
        if !limits.sample_counts.contains(d.samples) {
            return refuse(format!(
                "the supported sample counts are {:?}",
                limits.sample_counts
            ));
        }
        Ok(())
    }
}

impl Image {
    /// What it was made as.
    #[must_use]
    pub fn description(&self) -> &ImageDescription {
        &self.inner.description
    }

    /// The Vulkan handle, valid while a clone of this lives (and until the device's retire list lets go).
    #[must_use]
    pub fn raw(&self) -> vk::Image {
        self.inner.raw
    }

    /// All aspects of its format.
    #[must_use]
    pub fn aspects(&self) -> vk::ImageAspectFlags {
        self.inner.aspects
    }

    /// How it is in use, as of the newest recorded command.
    #[must_use]
    pub fn current_use(&self) -> ImageUse {
        self.inner.use_now()
    }

    /// Width, height and depth of a mip, in texels.
    pub fn mip_extent(&self, mip: u32) -> vk::Extent3D {
        let vk::Extent3D { width, height, depth } = self.inner.description.extent;
        let shrink = |length: u32| length.checked_shr(mip).unwrap_or(0).max(1);
        vk::Extent3D {
            width: shrink(width),
            height: shrink(height),
            depth: shrink(depth),
        }
    }
}
