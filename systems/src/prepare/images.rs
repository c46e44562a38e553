//! The image store: guest surfaces as Vulkan images.
//!
//! A surface is found by its address, size, layout and texel size. Its texels come from guest memory when the
//! image is made, and again whenever memory has changed, until the GPU renders to it: from then on the image is
//! newer than memory. What was written since is compared by hash, as a store beside a texture, or of the same bytes,
//! changes nothing.

use std::hash::Hasher as _;

use ash::vk;
use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use relic_components::work::{ImageId, SamplerId, ViewId};
use relic_core::{
    GuestAddress, GuestRange, MemoryReader,
    gpu::{Dimension, ImageDescriptor, SamplerDescriptor, SurfaceLayout, SurfaceShape},
};
use relic_recompiler::ImageDim;
use relic_vulkan::{Device, Image, ImageDescription, ImageDimension, ImageView, Sampler, ViewDescription};
use smallvec::SmallVec;

use crate::resources::{Look, Looks};

use super::{
    state::{ColourTarget, DepthTarget},
    surface::{self, Surface, view_formats},
};

/// Where a surface begins and how its blocks lie, whatever its slices, levels and format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    address: GuestAddress,
    shape: SurfaceShape,
}

impl Place {
    fn of(surface: &Surface) -> Self {
        let volume = surface.shape.dimension == Dimension::D3;
        Self {
            address: surface.address,
            shape: SurfaceShape {
                levels: 1,
                depth: if volume { surface.shape.depth } else { 1 },
                ..surface.shape
            },
        }
    }
}

/// One aspect of an image in guest memory: depth and stencil are surfaces of their own there.
#[derive(Clone, Debug)]
pub struct Plane {
    /// The aspect.
    pub aspect: vk::ImageAspectFlags,
    /// Where its texels lie.
    pub range: GuestRange,
    /// How they lie there.
    pub layout: SurfaceLayout,
}

/// One guest surface, or a depth surface with its stencil surface.
pub struct GuestImage {
    /// The host image.
    pub image: Image,
    /// Its surfaces in guest memory.
    pub planes: SmallVec<[Plane; 2]>,
    /// Rendered or stored to by the GPU: newer than memory.
    pub gpu_written: bool,
    /// Hash of the memory last uploaded.
    content: Option<u64>,
    /// When memory was read last, and its hash then.
    look: Look,
    hash: u64,
    /// Batch of the last use.
    pub last_use: u64,
}

impl GuestImage {
    /// Its guest bytes: about what it holds on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.planes.iter().map(|plane| plane.range.size()).sum()
    }

    /// Whether guest memory still says what it holds: not once the GPU has written it.
    #[must_use]
    pub fn follows_memory(&self) -> bool {
        !self.gpu_written || self.content.is_none()
    }

    /// Hash of its guest memory.
    fn hash_of(&self, memory: &MemoryReader) -> Result<u64, String> {
        let mut hasher = rapidhash::fast::RapidHasher::default();
        let mut bytes = [0; 4096];
        for plane in &self.planes {
            let mut at = plane.range.start();
            while at < plane.range.end() {
                let size = (plane.range.end().0 - at.0).min(bytes.len() as u64) as usize;
                memory
                    .read_bytes(at, &mut bytes[..size])
                    .map_err(|error| format!("the surface's {error}"))?;
                hasher.write(&bytes[..size]);
                at.0 += size as u64;
            }
        }
        Ok(hasher.finish())
    }
}

/// A T#, whether it is stored to, and what its instructions address.
type TextureKey = (ImageDescriptor, bool, ImageDim);

/// See the module's text.
#[derive(Resource, Default)]
pub struct ImageStore {
    by_place: HashMap<Place, SmallVec<[ImageId; 1]>>,
    images: Vec<GuestImage>,
    view_ids: HashMap<(ImageId, ViewDescription), ViewId>,
    views: Vec<(ImageId, ImageView)>,
    /// What T#s were found to be, as long as no image comes or goes.
    textures: HashMap<TextureKey, (ImageId, ViewId)>,
    sampler_ids: HashMap<SamplerDescriptor, SamplerId>,
    samplers: Vec<Sampler>,
    /// Changes whenever a T# may come to another image or view.
    generation: u64,
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
            .filter(|image| image.planes.iter().any(|plane| plane.range.start() == address))
            .max_by_key(|image| (image.gpu_written, image.last_use))
    }

    /// A view of a colour target.
    ///
    /// # Errors
    /// When the device can't make it.
    pub fn colour_target(
        &mut self,
        device: &Device,
        target: &ColourTarget,
        epoch: u64,
    ) -> Result<ViewId, String> {
        let id = match self.find(&target.surface, vk::ImageAspectFlags::COLOR)? {
            Some(id) => id,
            None => self.make(device, &[(target.surface, vk::ImageAspectFlags::COLOR)], epoch)?,
        };
        let description = ViewDescription {
            format: target.surface.format,
            ..self.target_view(id, target.level, target.slice, epoch)
        };
        self.view_id(id, description)
    }

    /// A view of a depth target, with its stencil where it has one.
    ///
    /// # Errors
    /// When the device can't make it.
    pub fn depth_target(
        &mut self,
        device: &Device,
        target: &DepthTarget,
        epoch: u64,
    ) -> Result<ViewId, String> {
        let found = self.find(&target.depth, vk::ImageAspectFlags::DEPTH)?;
        let id = match found {
            Some(id) => id,
            None => {
                let stencil = target
                    .stencil
                    .map(|surface| (surface, vk::ImageAspectFlags::STENCIL));
                let planes: SmallVec<[_; 2]> = std::iter::once((target.depth, vk::ImageAspectFlags::DEPTH))
                    .chain(stencil)
                    .collect();
                self.make(device, &planes, epoch)?
            }
        };
        if let Some(stencil) = &target.stencil
            && self.find(stencil, vk::ImageAspectFlags::STENCIL)? != Some(id)
        {
            return Err(format!(
                "the depth surface at {} was used with another stencil surface, or none, before",
                target.depth.address
            ));
        }
        let description = self.target_view(id, target.level, target.slice, epoch);
        self.view_id(id, description)
    }

    fn target_view(&mut self, id: ImageId, level: u32, slice: u32, epoch: u64) -> ViewDescription {
        let image = &mut self.images[id.0 as usize];
        image.last_use = epoch;
        ViewDescription {
            usage: if image.image.aspects() == vk::ImageAspectFlags::COLOR {
                vk::ImageUsageFlags::COLOR_ATTACHMENT
            } else {
                vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT
            },
            ..ViewDescription::target(&image.image, level, slice)
        }
    }

    fn forget_textures(&mut self) {
        self.textures.clear();
        self.generation += 1;
    }

    /// Changes whenever a T# may come to another image or view than before.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Notes that an image is in use.
    pub fn touch(&mut self, id: ImageId, epoch: u64) {
        self.images[id.0 as usize].last_use = epoch;
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
        dim: ImageDim,
        epoch: u64,
    ) -> Result<Option<(ImageId, ViewId)>, String> {
        use vk::ImageAspectFlags as A;
        let key = (*descriptor, storage, dim);
        if let Some(&(id, view)) = self.textures.get(&key) {
            self.images[id.0 as usize].last_use = epoch;
            return Ok(Some((id, view)));
        }
        let Some(texture) = surface::texture(descriptor)? else {
            return Ok(None);
        };
        let (kind, layers) = surface::view_kind(dim, &texture)?;
        // Depth targets come first: their own format shows their depth.
        let mut found = None;
        for aspect in [A::DEPTH, A::STENCIL, A::COLOR] {
            if let Some(id) = self.find(&texture.surface, aspect)? {
                found = Some((id, aspect));
                break;
            }
        }
        let (id, aspect) = match found {
            Some(found) => found,
            None => (
                self.make(device, &[(texture.surface, A::COLOR)], epoch)?,
                A::COLOR,
            ),
        };
        let image = &mut self.images[id.0 as usize];
        image.last_use = epoch;
        let image = &image.image;
        let description = ViewDescription {
            kind,
            format: if aspect == A::COLOR {
                texture.surface.format
            } else {
                image.description().format
            },
            aspect,
            base_mip: texture.base_level,
            mips: if storage { 1 } else { texture.levels },
            base_layer: texture.base_slice,
            layers,
            components: if storage {
                [vk::ComponentSwizzle::IDENTITY; 4]
            } else {
                texture.components
            },
            usage: if storage {
                vk::ImageUsageFlags::STORAGE
            } else {
                vk::ImageUsageFlags::SAMPLED
            },
        };
        let view = self.view_id(id, description)?;
        self.textures.insert(key, (id, view));
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
    pub fn upload_due(&mut self, id: ImageId, looks: &mut Looks<'_>) -> Result<Option<u64>, String> {
        let image = &mut self.images[id.0 as usize];
        if !image.follows_memory() {
            return Ok(None);
        }
        if !looks.stands(&mut image.look, image.planes.iter().map(|plane| plane.range)) {
            image.hash = image.hash_of(looks.memory)?;
        }
        Ok((image.content != Some(image.hash)).then_some(image.hash))
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
        self.images.iter().map(GuestImage::bytes).sum()
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
            excess = excess.saturating_sub(self.images[index].bytes());
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
        self.by_place.retain(|_, ids| {
            *ids = ids.iter().filter_map(|id| new_ids[id.0 as usize]).collect();
            !ids.is_empty()
        });
        // Views are cached by their images; the ids are given anew.
        self.forget_textures();
        self.view_ids.clear();
        self.views.clear();
        count
    }

    /// An image that holds all of a surface as this aspect.
    fn find(&self, surface: &Surface, aspect: vk::ImageAspectFlags) -> Result<Option<ImageId>, String> {
        let wanted = &surface.shape;
        let ids = self
            .by_place
            .get(&Place::of(surface))
            .map_or(&[][..], SmallVec::as_slice);
        for &id in ids {
            let image = &self.images[id.0 as usize];
            let Some(plane) = image
                .planes
                .iter()
                .find(|plane| plane.aspect == aspect && plane.range.start() == surface.address)
            else {
                continue;
            };
            let held = plane.layout.shape();
            if held.levels < wanted.levels || held.depth < wanted.depth {
                if image.gpu_written {
                    return Err(format!(
                        "the surface at {} was written with {} slices and {} levels, and is used with {} and {} now",
                        surface.address, held.depth, held.levels, wanted.depth, wanted.levels
                    ));
                }
                continue;
            }
            let description = image.image.description();
            let viewable = description.format == surface.format
                || description.view_formats.contains(&surface.format)
                || aspect != vk::ImageAspectFlags::COLOR;
            if !viewable {
                return Err(format!(
                    "the surface at {} is used as {:?} and as {:?}, which Vulkan can't view as one another",
                    surface.address, surface.format, description.format
                ));
            }
            return Ok(Some(id));
        }
        Ok(None)
    }

    /// Makes an image for one surface, or for a depth and a stencil surface.
    fn make(
        &mut self,
        device: &Device,
        surfaces: &[(Surface, vk::ImageAspectFlags)],
        epoch: u64,
    ) -> Result<ImageId, String> {
        let (first, first_aspect) = surfaces[0];
        let shape = first.shape;
        let planes = surfaces
            .iter()
            .map(|(surface, aspect)| {
                let layout = SurfaceLayout::new(surface.shape)
                    .map_err(|error| format!("the surface at {}: {error}", surface.address))?;
                Ok(Plane {
                    aspect: *aspect,
                    range: GuestRange::new(surface.address, layout.size()),
                    layout,
                })
            })
            .collect::<Result<SmallVec<[Plane; 2]>, String>>()?;
        let format = match surfaces {
            [_, _] => vk::Format::D32_SFLOAT_S8_UINT,
            _ => first.format,
        };
        let dimension = match shape.dimension {
            Dimension::D1 => ImageDimension::D1,
            Dimension::D2 => ImageDimension::D2,
            Dimension::D3 => ImageDimension::D3,
        };
        let volume = shape.dimension == Dimension::D3;
        let view_formats = if first_aspect == vk::ImageAspectFlags::COLOR {
            view_formats(device, &first)
        } else {
            Vec::new()
        };
        let features = view_formats
            .iter()
            .fold(device.format_features(format), |all, format| {
                all | device.format_features(*format)
            });
        let description = ImageDescription {
            name: format!("surface {}", first.address),
            dimension,
            format,
            extent: vk::Extent3D {
                width: shape.width,
                height: shape.height,
                depth: if volume { shape.depth } else { 1 },
            },
            mips: shape.levels,
            layers: if volume { 1 } else { shape.depth },
            samples: vk::SampleCountFlags::from_raw(shape.samples),
            usage: usage(features, shape.samples),
            cube_compatible: false,
            view_formats,
        };
        let image = device
            .create_image(description)
            .map_err(|error| error.to_string())?;
        let id = ImageId(self.images.len() as u32);
        self.images.push(GuestImage {
            image,
            planes,
            gpu_written: false,
            content: None,
            look: Look::default(),
            hash: 0,
            last_use: epoch,
        });
        // A T# may be another image from now on: a depth target, or one with more levels.
        self.forget_textures();
        for (surface, _) in surfaces {
            // The newest first: it holds the most.
            self.by_place.entry(Place::of(surface)).or_default().insert(0, id);
        }
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

/// Every usage that a format can have.
fn usage(features: vk::FormatFeatureFlags2, samples: u32) -> vk::ImageUsageFlags {
    use vk::{FormatFeatureFlags2 as F, ImageUsageFlags as U};
    let mut usage = U::TRANSFER_SRC | U::TRANSFER_DST;
    for (feature, flag) in [
        (F::SAMPLED_IMAGE, U::SAMPLED),
        (F::STORAGE_IMAGE, U::STORAGE),
        (F::COLOR_ATTACHMENT, U::COLOR_ATTACHMENT),
        (F::DEPTH_STENCIL_ATTACHMENT, U::DEPTH_STENCIL_ATTACHMENT),
    ] {
        if features.contains(feature) && !(samples > 1 && flag == U::STORAGE) {
            usage |= flag;
        }
    }
    usage
}
