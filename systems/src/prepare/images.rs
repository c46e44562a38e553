//! The image store: guest surfaces as Vulkan images.
//!
//! A surface is found by its address, size, layout and texel size. Its texels come from guest memory when the
//! image is made, and again whenever memory has changed, until the GPU renders to it: from then on the image is
//! newer than memory. (A write tracker will tell what changed; until it is there, contents are compared by hash
//! once a batch.)

use std::hash::Hasher as _;

use ash::vk;
use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use relic_components::work::{ImageId, SamplerId, ViewId};
use relic_core::{
    GuestAddress, GuestRange, MemoryReader,
    gpu::{
        ImageDescriptor, ImageType, NumberClass, SamplerDescriptor, Selector, SurfaceLayout, SwizzleMode,
        descriptor::Selectors,
    },
};
use relic_recompiler::{ImageShape, NumericClass};
use relic_vulkan::{Device, Image, ImageDescription, ImageView, Sampler, ViewDescription};

use super::state::{TargetSurface, surface_base};

/// What a surface is told apart by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct SurfaceKey {
    address: GuestAddress,
    xor: u32,
    mode: SwizzleMode,
    width: u32,
    height: u32,
    /// Bytes of a texel or block.
    bytes: u32,
    /// Texels a block is wide: 1 or 4.
    block: u32,
    depth: bool,
}

/// One surface.
pub struct GuestImage {
    /// The host image.
    pub image: Image,
    /// Where its texels lie in guest memory.
    pub range: GuestRange,
    /// How they lie there.
    pub layout: SurfaceLayout,
    /// Rendered or stored to by the GPU: newer than memory.
    pub gpu_written: bool,
    /// Hash of the memory last uploaded.
    content: Option<u64>,
    /// Batch in which memory was hashed last, and the hash.
    checked: (u64, u64),
    /// Batch of the last use.
    pub last_use: u64,
}

/// See the module's text.
#[derive(Resource, Default)]
pub struct ImageStore {
    by_key: HashMap<SurfaceKey, ImageId>,
    images: Vec<GuestImage>,
    view_ids: HashMap<(ImageId, ViewDescription), ViewId>,
    views: Vec<(ImageId, ImageView)>,
    sampler_ids: HashMap<SamplerDescriptor, SamplerId>,
    samplers: Vec<Sampler>,
}

impl ImageStore {
    /// The image behind a view.
    #[must_use]
    pub fn view(&self, id: ViewId) -> (ImageId, &ImageView) {
        let (image, view) = &self.views[id.0 as usize];
        (*image, view)
    }

    /// An image.
    #[must_use]
    pub fn image(&self, id: ImageId) -> &GuestImage {
        &self.images[id.0 as usize]
    }

    /// A sampler.
    #[must_use]
    pub fn sampler(&self, id: SamplerId) -> Sampler {
        self.samplers[id.0 as usize]
    }

    /// Every image, for readback by address.
    pub fn images(&self) -> impl Iterator<Item = &GuestImage> {
        self.images.iter()
    }

    /// The newest image of a surface at `address`, preferring one that the GPU has written.
    #[must_use]
    pub fn at(&self, address: GuestAddress) -> Option<&GuestImage> {
        self.images
            .iter()
            .filter(|image| image.range.start() == address)
            .max_by_key(|image| (image.gpu_written, image.last_use))
    }

    /// A view to render to. Marks the image as written by the GPU.
    ///
    /// # Errors
    /// When the device can't make it.
    pub fn target(
        &mut self,
        device: &Device,
        surface: &TargetSurface,
        epoch: u64,
    ) -> Result<(ImageId, ViewId), String> {
        let depth = surface.format == vk::Format::D32_SFLOAT || surface.format == vk::Format::D16_UNORM;
        let key = SurfaceKey {
            address: surface.address,
            xor: surface.xor,
            mode: surface.mode,
            width: surface.width,
            height: surface.height,
            bytes: surface.bytes,
            block: 1,
            depth,
        };
        let id = self.surface(device, key, surface.format, epoch)?;
        let image = &mut self.images[id.0 as usize];
        image.last_use = epoch;
        let description = ViewDescription {
            format: surface.format,
            ..ViewDescription::target(&image.image, 0, 0)
        };
        Ok((id, self.view_id(id, description)?))
    }

    /// Notes that the GPU writes an image: its memory is not read any more.
    pub fn mark_written(&mut self, id: ImageId) {
        self.images[id.0 as usize].gpu_written = true;
    }

    /// A view to sample from, or to load from and store to. `None` for a null descriptor.
    ///
    /// # Errors
    /// The field of the descriptor that can't be expressed.
    pub fn texture(
        &mut self,
        device: &Device,
        descriptor: &ImageDescriptor,
        storage: bool,
        array: bool,
        epoch: u64,
    ) -> Result<Option<(ImageId, ViewId)>, String> {
        let Some(kind) = descriptor.image_type() else {
            return Ok(None);
        };
        match kind {
            ImageType::D2 => {}
            ImageType::D2Array if descriptor.base_array() == 0 && descriptor.depth_field() == 0 => {}
            other => {
                return Err(format!(
                    "T# type {other:?} is not bound yet (two-dimensional images are)"
                ));
            }
        }
        if descriptor.last_level() > 0 || descriptor.base_level() > 0 || descriptor.max_mip() > 0 {
            return Err(format!(
                "T# with mip levels {} to {} of {} is not bound yet (single levels are)",
                descriptor.base_level(),
                descriptor.last_level(),
                descriptor.max_mip() + 1
            ));
        }
        if descriptor.compression() != 0 {
            return Err("T# with DCC compression is not bound yet".to_owned());
        }
        let number = descriptor.format_number();
        let info = descriptor
            .format()
            .info()
            .filter(|info| info.vulkan != 0)
            .ok_or_else(|| format!("T# format {number} has no host format yet"))?;
        let mode =
            SwizzleMode::from_number(descriptor.swizzle_mode()).map_err(|error| format!("T#: {error}"))?;
        let (address, xor) = surface_base(descriptor.base_256(), mode);
        let format = vk::Format::from_raw(info.vulkan.cast_signed());
        let key = SurfaceKey {
            address,
            xor,
            mode,
            width: descriptor.width(),
            height: descriptor.height(),
            bytes: u32::from(info.bytes),
            block: u32::from(info.block),
            depth: false,
        };
        let id = match self.by_key.get(&SurfaceKey { depth: true, ..key }) {
            // A depth target sampled as a texture: its own format shows its depth.
            Some(&depth) => depth,
            None => self.surface(device, key, format, epoch)?,
        };
        self.images[id.0 as usize].last_use = epoch;
        let image = &self.images[id.0 as usize].image;
        let own = image.description().format;
        let format = if image.aspects() == vk::ImageAspectFlags::COLOR {
            format
        } else {
            own
        };
        let components = if storage {
            [vk::ComponentSwizzle::IDENTITY; 4]
        } else {
            components(descriptor.selectors(), info.component_count())?
        };
        let aspect = if image.aspects().contains(vk::ImageAspectFlags::DEPTH) {
            vk::ImageAspectFlags::DEPTH
        } else {
            vk::ImageAspectFlags::COLOR
        };
        let description = ViewDescription {
            kind: if array {
                vk::ImageViewType::TYPE_2D_ARRAY
            } else {
                vk::ImageViewType::TYPE_2D
            },
            format,
            aspect,
            components,
            usage: if storage {
                vk::ImageUsageFlags::STORAGE
            } else {
                vk::ImageUsageFlags::SAMPLED
            },
            ..ViewDescription::whole(image)
        };
        let view = self.view_id(id, description)?;
        Ok(Some((id, view)))
    }

    /// A sampler.
    ///
    /// # Errors
    /// The field of the descriptor that can't be expressed.
    pub fn sampler_for(
        &mut self,
        device: &Device,
        descriptor: &SamplerDescriptor,
    ) -> Result<SamplerId, String> {
        if let Some(&id) = self.sampler_ids.get(descriptor) {
            return Ok(id);
        }
        let description = super::samplers::describe(descriptor)?;
        let sampler = device.sampler(&description).map_err(|error| error.to_string())?;
        let id = SamplerId(self.samplers.len() as u32);
        self.samplers.push(sampler);
        self.sampler_ids.insert(*descriptor, id);
        Ok(id)
    }

    /// Hash of the memory to upload before an image's next use, `None` when the image holds it already (or what the
    /// GPU has made of it since).
    ///
    /// # Errors
    /// When its memory is not mapped.
    pub fn upload_due(
        &mut self,
        id: ImageId,
        memory: &MemoryReader,
        epoch: u64,
    ) -> Result<Option<u64>, String> {
        let image = &mut self.images[id.0 as usize];
        if image.gpu_written && image.content.is_some() {
            return Ok(None);
        }
        if image.checked.0 != epoch {
            image.checked = (epoch, hash_memory(memory, image.range)?);
        }
        let hash = image.checked.1;
        Ok((image.content != Some(hash)).then_some(hash))
    }

    /// Notes that the upload of memory with this hash was recorded.
    pub fn uploaded(&mut self, id: ImageId, hash: u64) {
        self.images[id.0 as usize].content = Some(hash);
    }

    /// Whether an image holds memory with this hash already.
    #[must_use]
    pub fn holds(&self, id: ImageId, hash: u64) -> bool {
        self.images[id.0 as usize].content == Some(hash)
    }

    /// Guest bytes of all surfaces together: about what their images hold on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.images.iter().map(|image| image.range.size()).sum()
    }

    /// How many images there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.images.len()
    }

    /// Drops the images that were used longest ago until all hold at most `budget` bytes. Images that the GPU has
    /// written stay: memory does not hold their content. Returns how many were dropped.
    ///
    /// Ids change: call this between batches only, as every batch finds its images anew.
    pub fn evict(&mut self, budget: u64) -> usize {
        let mut excess = self.bytes().saturating_sub(budget);
        if excess == 0 {
            return 0;
        }
        let mut order: Vec<usize> = (0..self.images.len())
            .filter(|index| !self.images[*index].gpu_written)
            .collect();
        order.sort_by_key(|index| self.images[*index].last_use);
        let mut dropped = vec![false; self.images.len()];
        for index in order {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(self.images[index].range.size());
            dropped[index] = true;
        }
        let count = dropped.iter().filter(|drop| **drop).count();
        let mut new_ids = Vec::with_capacity(dropped.len());
        let mut next = 0;
        for drop in &dropped {
            new_ids.push((!drop).then_some(ImageId(next)));
            next += u32::from(!drop);
        }
        let mut keep = dropped.iter();
        self.images.retain(|_| !keep.next().copied().unwrap_or(false));
        self.by_key.retain(|_, id| match new_ids[id.0 as usize] {
            Some(new) => {
                *id = new;
                true
            }
            None => false,
        });
        // Views are cached by their images; the ids are given anew.
        self.view_ids.clear();
        self.views.clear();
        count
    }

    fn surface(
        &mut self,
        device: &Device,
        key: SurfaceKey,
        format: vk::Format,
        epoch: u64,
    ) -> Result<ImageId, String> {
        if let Some(&id) = self.by_key.get(&key) {
            let description = self.images[id.0 as usize].image.description();
            if description.format == format || description.view_formats.contains(&format) {
                return Ok(id);
            }
            return Err(format!(
                "the surface at {} is used as {format:?} and as {:?}, which Vulkan can't view as one another",
                key.address, description.format
            ));
        }
        let elements = |size: u32| size.div_ceil(key.block);
        let layout = SurfaceLayout::new(
            key.mode,
            key.bytes,
            elements(key.width),
            elements(key.height),
            key.xor,
        )
        .map_err(|error| format!("the surface at {}: {error}", key.address))?;
        let features = device.format_features(format);
        let mut usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
        for (feature, flag) in [
            (
                vk::FormatFeatureFlags2::SAMPLED_IMAGE,
                vk::ImageUsageFlags::SAMPLED,
            ),
            (
                vk::FormatFeatureFlags2::STORAGE_IMAGE,
                vk::ImageUsageFlags::STORAGE,
            ),
            (
                vk::FormatFeatureFlags2::COLOR_ATTACHMENT,
                vk::ImageUsageFlags::COLOR_ATTACHMENT,
            ),
            (
                vk::FormatFeatureFlags2::DEPTH_STENCIL_ATTACHMENT,
                vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            ),
        ] {
            if features.contains(feature) {
                usage |= flag;
            }
        }
        let mut description = ImageDescription::new_2d(
            format!("surface {}", key.address),
            format,
            key.width,
            key.height,
            usage,
        );
        description.view_formats = related_formats(format).to_vec();
        let image = device
            .create_image(description)
            .map_err(|error| error.to_string())?;
        let id = ImageId(self.images.len() as u32);
        self.images.push(GuestImage {
            image,
            range: GuestRange::new(key.address, layout.size()),
            layout,
            gpu_written: false,
            content: None,
            checked: (0, 0),
            last_use: epoch,
        });
        self.by_key.insert(key, id);
        Ok(id)
    }

    fn view_id(&mut self, image: ImageId, description: ViewDescription) -> Result<ViewId, String> {
        if let Some(&id) = self.view_ids.get(&(image, description)) {
            return Ok(id);
        }
        let view = self.images[image.0 as usize]
            .image
            .view(&description)
            .map_err(|error| error.to_string())?;
        let id = ViewId(self.views.len() as u32);
        self.views.push((image, view));
        self.view_ids.insert((image, description), id);
        Ok(id)
    }
}

/// Formats that views of an image may have beside its own: the same bits, with or without the sRGB curve.
fn related_formats(format: vk::Format) -> &'static [vk::Format] {
    use vk::Format as F;
    match format {
        F::R8G8B8A8_UNORM | F::R8G8B8A8_SRGB => &[F::R8G8B8A8_UNORM, F::R8G8B8A8_SRGB],
        F::B8G8R8A8_UNORM | F::B8G8R8A8_SRGB => &[F::B8G8R8A8_UNORM, F::B8G8R8A8_SRGB],
        F::BC1_RGBA_UNORM_BLOCK | F::BC1_RGBA_SRGB_BLOCK => {
            &[F::BC1_RGBA_UNORM_BLOCK, F::BC1_RGBA_SRGB_BLOCK]
        }
        F::BC2_UNORM_BLOCK | F::BC2_SRGB_BLOCK => &[F::BC2_UNORM_BLOCK, F::BC2_SRGB_BLOCK],
        F::BC3_UNORM_BLOCK | F::BC3_SRGB_BLOCK => &[F::BC3_UNORM_BLOCK, F::BC3_SRGB_BLOCK],
        F::BC7_UNORM_BLOCK | F::BC7_SRGB_BLOCK => &[F::BC7_UNORM_BLOCK, F::BC7_SRGB_BLOCK],
        _ => &[],
    }
}

/// Selectors as view components. Selectors apply to data that is replicated over missing channels: a one-channel
/// texel gives its value in all four, a two-channel one alternates (measured on consoles).
fn components(selectors: Selectors, channels: usize) -> Result<[vk::ComponentSwizzle; 4], String> {
    use vk::ComponentSwizzle as C;
    let mut out = [C::IDENTITY; 4];
    for (i, slot) in out.iter_mut().enumerate() {
        let selector = selectors
            .get(i)
            .ok_or_else(|| format!("T# selectors {:#x} are reserved", selectors.0))?;
        let channel = |wanted: usize| match (channels, wanted) {
            (1, _) => C::R,
            (2, even) if even % 2 == 0 => C::R,
            (2, _) => C::G,
            (_, 0) => C::R,
            (_, 1) => C::G,
            (_, 2) => C::B,
            (3, _) => C::R,
            _ => C::A,
        };
        *slot = match selector {
            Selector::Zero => C::ZERO,
            Selector::One => C::ONE,
            Selector::X => channel(0),
            Selector::Y => channel(1),
            Selector::Z => channel(2),
            Selector::W => channel(3),
        };
    }
    Ok(out)
}

/// What a T# fixes in the code of a shader.
#[must_use]
pub fn image_shape(descriptor: &ImageDescriptor) -> ImageShape {
    let info = descriptor.format().info();
    let class = match info.map(|info| info.class) {
        Some(NumberClass::Uint) => NumericClass::Uint,
        Some(NumberClass::Sint) => NumericClass::Sint,
        _ => NumericClass::Float,
    };
    let r32 = info.is_some_and(|info| info.components == [32, 0, 0, 0] && info.class.is_integer());
    ImageShape { class, r32 }
}

/// Hash of a range of guest memory.
fn hash_memory(memory: &MemoryReader, range: GuestRange) -> Result<u64, String> {
    let mut hasher = rapidhash::fast::RapidHasher::default();
    let mut bytes = [0; 4096];
    let mut at = 0;
    while at < range.size() {
        let size = (range.size() - at).min(bytes.len() as u64) as usize;
        memory
            .read_bytes(GuestAddress(range.start().0 + at), &mut bytes[..size])
            .map_err(|error| format!("the surface's {error}"))?;
        hasher.write(&bytes[..size]);
        at += size as u64;
    }
    Ok(hasher.finish())
}
