//! Views, cached by the image they show.

use super::{Image, ImageDimension};
use crate::error::{During, ImageError};
use ash::vk;
use std::fmt;

/// Which part of an image a view shows, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ViewDescription {
    /// Shape that the shader sees.
    pub kind: vk::ImageViewType,
    /// Format that the shader sees: the image's, or one of its view formats.
    pub format: vk::Format,
    /// Aspect. A depth-stencil target shows both of its own; a view that is sampled shows one.
    pub aspect: vk::ImageAspectFlags,
    /// First mip.
    pub base_mip: u32,
    /// Mips.
    pub mips: u32,
    /// First layer (slice, for a 2-D view of a 3-D image).
    pub base_layer: u32,
    /// Layers.
    pub layers: u32,
    /// Where each component comes from; identity for attachments and storage.
    pub components: [vk::ComponentSwizzle; 4],
    /// Usages that this view keeps. It must leave out what `format` can't do (storage of an sRGB view).
    pub usage: vk::ImageUsageFlags,
}

const IDENTITY: [vk::ComponentSwizzle; 4] = [vk::ComponentSwizzle::IDENTITY; 4];

impl ViewDescription {
    /// All of `image`, as it is.
    #[must_use]
    pub fn whole(image: &Image) -> Self {
        let d = image.description();
        let kind = match (d.dimension, d.layers > 1) {
            (ImageDimension::D1, false) => vk::ImageViewType::TYPE_1D,
            (ImageDimension::D1, true) => vk::ImageViewType::TYPE_1D_ARRAY,
            (ImageDimension::D2, false) => vk::ImageViewType::TYPE_2D,
            (ImageDimension::D2, true) => vk::ImageViewType::TYPE_2D_ARRAY,
            (ImageDimension::D3, _) => vk::ImageViewType::TYPE_3D,
        };
        Self {
            kind,
            format: d.format,
            aspect: image.aspects(),
            base_mip: 0,
            mips: d.mips,
            base_layer: 0,
            layers: d.layers,
            components: IDENTITY,
            usage: d.usage,
        }
    }

    /// One mip and one layer of `image`, as a 2-D target.
    #[must_use]
    pub fn target(image: &Image, mip: u32, layer: u32) -> Self {
        Self {
            kind: vk::ImageViewType::TYPE_2D,
            base_mip: mip,
            mips: 1,
            base_layer: layer,
            layers: 1,
            ..Self::whole(image)
        }
    }
}

/// A view of an image. It holds the image, which holds the Vulkan view.
#[derive(Clone)]
pub struct ImageView {
    pub(crate) image: Image,
    pub(crate) raw: vk::ImageView,
    description: ViewDescription,
}

impl fmt::Debug for ImageView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImageView({:?} of {:?})", self.description, self.image)
    }
}

impl PartialEq for ImageView {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw && self.image == other.image
    }
}

impl Eq for ImageView {}

impl ImageView {
    /// The image shown.
    #[must_use]
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// What it shows.
    #[must_use]
    pub fn description(&self) -> &ViewDescription {
        &self.description
    }

    /// The Vulkan handle, valid as long as the image.
    #[must_use]
    pub fn raw(&self) -> vk::ImageView {
        self.raw
    }
}

impl Image {
    /// The view of `description`, made at the first request.
    ///
    /// # Errors
    /// [`ImageError::View`] says what does not fit the image.
    pub fn view(&self, description: &ViewDescription) -> Result<ImageView, ImageError> {
        let found = self.inner.views.lock().get(description).copied();
        let raw = match found {
            Some(raw) => raw,
            None => self.make_view(description)?,
        };
        Ok(ImageView {
            image: self.clone(),
            raw,
            description: *description,
        })
    }

    /// A view of the whole image.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn whole_view(&self) -> Result<ImageView, ImageError> {
        self.view(&ViewDescription::whole(self))
    }

    fn make_view(&self, view: &ViewDescription) -> Result<vk::ImageView, ImageError> {
        self.check_view(view)?;
        let [r, g, b, a] = view.components;
        let mut usage = vk::ImageViewUsageCreateInfo::default().usage(view.usage);
        let info = vk::ImageViewCreateInfo::default()
            .image(self.inner.raw)
            .view_type(view.kind)
            .format(view.format)
            .components(vk::ComponentMapping { r, g, b, a })
            .subresource_range(vk::ImageSubresourceRange {
                aspect_mask: view.aspect,
                base_mip_level: view.base_mip,
                level_count: view.mips,
                base_array_layer: view.base_layer,
                layer_count: view.layers,
            })
            .push_next(&mut usage);
        let device = &self.inner.device.inner.raw;
        // SAFETY: the image is alive, and the range was checked against it.
        let raw = unsafe { device.create_image_view(&info, None) }.during("creating an image view")?;
        let kept = *self.inner.views.lock().entry(*view).or_insert(raw);
        if kept != raw {
            // Another thread made the same view meanwhile, and its own is the one in use.
            // SAFETY: nobody has seen ours.
            unsafe { device.destroy_image_view(raw, None) };
        }
        Ok(kept)
    }

    fn check_view(&self, view: &ViewDescription) -> Result<(), ImageError> {
        let image = self.description();
        let refuse = |reason| {
            Err(ImageError::View {
                view: format!("{view:?}"),
                image: image.to_string(),
                reason,
            })
        };
        let slices = image.dimension == ImageDimension::D3
            && matches!(
                view.kind,
                vk::ImageViewType::TYPE_2D | vk::ImageViewType::TYPE_2D_ARRAY
            );
        let layers = if slices {
            self.mip_extent(view.base_mip).depth
        } else {
            image.layers
        };
        if view.mips == 0 || view.layers == 0 {
            return refuse("a view has at least one mip and one layer");
        }
        if view
            .base_mip
            .checked_add(view.mips)
            .is_none_or(|end| end > image.mips)
        {
            return refuse("its mips lie outside the image");
        }
        if view
            .base_layer
            .checked_add(view.layers)
            .is_none_or(|end| end > layers)
        {
            return refuse("its layers lie outside the image");
        }
        if view.format != image.format && !image.view_formats.contains(&view.format) {
            return refuse("its format is not among the image's view formats");
        }
        if !self.aspects().contains(view.aspect) || view.aspect.is_empty() {
            return refuse("the image has no such aspect");
        }
        if view.usage.is_empty() || !image.usage.contains(view.usage) {
            return refuse("its usages are not among the image's");
        }
        let cube = matches!(view.kind, vk::ImageViewType::CUBE | vk::ImageViewType::CUBE_ARRAY);
        if cube && (!image.cube_compatible || !view.layers.is_multiple_of(6)) {
            return refuse("a cube view needs a cube-compatible image and six layers for each cube");
        }
        if slices && !image.usage.contains(vk::ImageUsageFlags::COLOR_ATTACHMENT) {
            return refuse("2-D views of a 3-D image exist only for colour targets");
        }
        Ok(())
    }
}
