//! Dynamic rendering.

use super::Recorder;
use crate::error::RecordError;
use crate::image::ImageUse;
use crate::image::view::ImageView;
use ash::vk;
use smallvec::SmallVec;

/// A value to clear to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClearValue {
    /// Float and normalised colour formats.
    Float([f32; 4]),
    /// Unsigned integer colour formats.
    Uint([u32; 4]),
    /// Signed integer colour formats.
    Sint([i32; 4]),
    /// Depth.
    Depth(f32),
    /// Stencil.
    Stencil(u32),
}

impl ClearValue {
    fn raw(self) -> vk::ClearValue {
        let depth_stencil = |depth, stencil| vk::ClearValue {
            depth_stencil: vk::ClearDepthStencilValue { depth, stencil },
        };
        match self {
            Self::Float(float32) => vk::ClearValue {
                color: vk::ClearColorValue { float32 },
            },
            Self::Uint(uint32) => vk::ClearValue {
                color: vk::ClearColorValue { uint32 },
            },
            Self::Sint(int32) => vk::ClearValue {
                color: vk::ClearColorValue { int32 },
            },
            Self::Depth(depth) => depth_stencil(depth, 0),
            Self::Stencil(stencil) => depth_stencil(0.0, stencil),
        }
    }
}

/// What becomes of an attachment's content when rendering begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadOp {
    /// It stays.
    Load,
    /// It is set to a value inside the area.
    Clear(ClearValue),
    /// It may be lost.
    Discard,
}

/// How an attachment is used while rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttachmentUse {
    /// Written.
    #[default]
    Write,
    /// Depth or stencil that is tested and not written; shaders may sample it at the same time.
    ReadOnly,
    /// Written and at the same time reached by descriptors, in the layout GENERAL.
    General,
}

/// Where a multisampled attachment is resolved to when rendering ends.
#[derive(Debug, Clone, Copy)]
pub struct Resolve<'a> {
    /// Single-sampled target.
    pub view: &'a ImageView,
    /// How samples become one.
    pub mode: vk::ResolveModeFlags,
}

/// One attachment.
#[derive(Debug, Clone, Copy)]
pub struct Attachment<'a> {
    /// What is drawn to.
    pub view: &'a ImageView,
    /// Content at the begin.
    pub load: LoadOp,
    /// Whether the content is kept at the end.
    pub store: bool,
    /// How it is used.
    pub usage: AttachmentUse,
    /// Resolve at the end.
    pub resolve: Option<Resolve<'a>>,
}

impl<'a> Attachment<'a> {
    /// Written, kept at the end, without resolve.
    #[must_use]
    pub fn new(view: &'a ImageView, load: LoadOp) -> Self {
        Self {
            view,
            load,
            store: true,
            usage: AttachmentUse::Write,
            resolve: None,
        }
    }
}

/// Targets of the draws that follow.
#[derive(Debug, Clone, Copy)]
pub struct RenderingInfo<'a> {
    /// Texels that may be drawn to.
    pub area: vk::Rect2D,
    /// Layers that may be drawn to; 1 for most.
    pub layers: u32,
    /// Colour targets by slot.
    pub colour: &'a [Option<Attachment<'a>>],
    /// Depth target.
    pub depth: Option<Attachment<'a>>,
    /// Stencil target.
    pub stencil: Option<Attachment<'a>>,
}

#[derive(Clone, Copy, PartialEq, Default)]
struct SlotKey {
    view: vk::ImageView,
    resolve: vk::ImageView,
    layout: vk::ImageLayout,
    store: bool,
}

/// What a run of rendering is told apart by.
#[derive(Clone, PartialEq, Default)]
struct RenderingKey {
    area: vk::Rect2D,
    layers: u32,
    /// Each slot; depth and stencil last.
    slots: SmallVec<[SlotKey; 10]>,
}

#[derive(Default)]
pub(super) struct RenderingState {
    active: bool,
    key: RenderingKey,
    scratch: RenderingKey,
}

impl RenderingState {
    pub(super) fn active(&self) -> bool {
        self.active
    }

    pub(super) fn forget(&mut self) {
        self.active = false;
    }
}

fn image_use(attachment: &Attachment<'_>, depth: bool) -> ImageUse {
    match (attachment.usage, depth) {
        (AttachmentUse::General, _) => ImageUse::General,
        (AttachmentUse::ReadOnly, true) => ImageUse::DepthStencilReadOnly,
        (AttachmentUse::Write, true) => ImageUse::DepthStencilAttachment,
        (_, false) => ImageUse::ColourAttachment,
    }
}

impl RenderingInfo<'_> {
    /// The one use of the depth-stencil image: what writes wins.
    fn depth_use(&self) -> ImageUse {
        let uses = [self.depth.as_ref(), self.stencil.as_ref()];
        let uses = uses
            .into_iter()
            .flatten()
            .map(|attachment| image_use(attachment, true));
        let rank = |to: &ImageUse| match to {
            ImageUse::General => 2,
            ImageUse::DepthStencilAttachment => 1,
            _ => 0,
        };
        uses.max_by_key(rank).unwrap_or(ImageUse::DepthStencilReadOnly)
    }
}

impl Recorder {
    /// Whether draws can be recorded.
    #[must_use]
    pub fn is_rendering(&self) -> bool {
        self.rendering.active()
    }

    /// Begins drawing to the targets of `info`, moving their images to the uses it says. If the same targets are
    /// being drawn to already and all of them load their content, this does nothing.
    pub fn begin_rendering(&mut self, info: &RenderingInfo<'_>) {
        if self.error.is_some() {
            return;
        }
        let depth_use = info.depth_use();
        self.note_key(info, depth_use);
        let all = || {
            info.colour
                .iter()
                .flatten()
                .chain(info.depth.as_ref())
                .chain(info.stencil.as_ref())
        };
        if self.rendering.active
            && self.rendering.key == self.rendering.scratch
            && all().all(|attachment| attachment.load == LoadOp::Load)
        {
            return;
        }
        self.end_rendering();
        if !self.check_rendering(info) {
            return;
        }
        for attachment in info.colour.iter().flatten() {
            self.queue_transition(&attachment.view.image.inner, image_use(attachment, false), false);
            if let Some(resolve) = attachment.resolve {
                self.queue_transition(&resolve.view.image.inner, ImageUse::ColourAttachment, false);
            }
        }
        let depth_image = info.depth.map(|attachment| &attachment.view.image);
        let stencil_image = info.stencil.map(|attachment| &attachment.view.image);
        let second = stencil_image.filter(|image| Some(*image) != depth_image);
        for image in depth_image.into_iter().chain(second) {
            self.queue_transition(&image.inner, depth_use, false);
        }
        let mut resolved = None;
        for resolve in [info.depth, info.stencil]
            .into_iter()
            .flatten()
            .filter_map(|a| a.resolve)
        {
            if resolved != Some(&resolve.view.image) {
                self.queue_transition(&resolve.view.image.inner, ImageUse::DepthStencilAttachment, false);
                resolved = Some(&resolve.view.image);
            }
        }
        self.flush_transitions();
        let Some(command) = self.command() else { return };

        let colour: SmallVec<[_; 8]> = info
            .colour
            .iter()
            .map(|slot| match slot {
                None => vk::RenderingAttachmentInfo::default(),
                Some(attachment) => raw_attachment(
                    attachment,
                    image_use(attachment, false),
                    ImageUse::ColourAttachment,
                ),
            })
            .collect();
        let depth_stencil =
            |attachment| raw_attachment(attachment, depth_use, ImageUse::DepthStencilAttachment);
        let depth = info.depth.as_ref().map(depth_stencil);
        let stencil = info.stencil.as_ref().map(depth_stencil);
        let mut raw = vk::RenderingInfo::default()
            .render_area(info.area)
            .layer_count(info.layers)
            .color_attachments(&colour);
        if let Some(depth) = &depth {
            raw = raw.depth_attachment(depth);
        }
        if let Some(stencil) = &stencil {
            raw = raw.stencil_attachment(stencil);
        }
        // SAFETY: the command buffer is recording, outside of rendering; all views are alive, and their images were
        // moved to the layouts named.
        unsafe { self.device.inner.raw.cmd_begin_rendering(command, &raw) };
        self.rendering.active = true;
        std::mem::swap(&mut self.rendering.key, &mut self.rendering.scratch);
    }

    fn note_key(&mut self, info: &RenderingInfo<'_>, depth_use: ImageUse) {
        let key = &mut self.rendering.scratch;
        key.area = info.area;
        key.layers = info.layers;
        key.slots.clear();
        let mut slot = |attachment: Option<&Attachment<'_>>, to: Option<ImageUse>| {
            key.slots
                .push(attachment.map_or_else(Default::default, |attachment| {
                    let resolve = attachment
                        .resolve
                        .map_or(vk::ImageView::null(), |resolve| resolve.view.raw);
                    let to = to.unwrap_or_else(|| image_use(attachment, false));
                    SlotKey {
                        view: attachment.view.raw,
                        resolve,
                        layout: to.layout(),
                        store: attachment.store,
                    }
                }));
        };
        for attachment in info.colour {
            slot(attachment.as_ref(), None);
        }
        slot(info.depth.as_ref(), Some(depth_use));
        slot(info.stencil.as_ref(), Some(depth_use));
    }

    /// Vulkan's rules that a caller can break with data; each would be undefined behaviour in the driver.
    fn check_rendering(&mut self, info: &RenderingInfo<'_>) -> bool {
        let command = "begin_rendering";
        let end_x = i64::from(info.area.offset.x) + i64::from(info.area.extent.width);
        let end_y = i64::from(info.area.offset.y) + i64::from(info.area.extent.height);
        let mut reason = None;
        if info.layers == 0 || info.area.extent.width == 0 || info.area.extent.height == 0 {
            reason = Some("the area or the layer count is empty".to_owned());
        }
        if info.area.offset.x < 0 || info.area.offset.y < 0 {
            reason = Some("the area begins outside of the targets".to_owned());
        }
        if info.colour.len() > self.device.limits().max_colour_attachments as usize {
            reason = Some(format!(
                "{} colour slots are more than the device has",
                info.colour.len()
            ));
        }
        for attachment in info
            .colour
            .iter()
            .flatten()
            .chain(info.depth.as_ref())
            .chain(info.stencil.as_ref())
        {
            let view = attachment.view.description();
            let extent = attachment.view.image.mip_extent(view.base_mip);
            if end_x > i64::from(extent.width) || end_y > i64::from(extent.height) {
                reason = Some(format!(
                    "the area ends at {end_x} x {end_y}, and the target {} at {} x {}",
                    attachment.view.image.description().name,
                    extent.width,
                    extent.height
                ));
            }
            if info.layers > view.layers {
                reason = Some(format!(
                    "{} layers are asked of a view of {}",
                    info.layers, view.layers
                ));
            }
        }
        match reason {
            None => true,
            Some(reason) => {
                self.fail(RecordError::Argument { command, reason });
                false
            }
        }
    }

    /// Ends drawing to the current targets. Nothing where there are none.
    pub fn end_rendering(&mut self) {
        if !self.rendering.active {
            return;
        }
        self.rendering.active = false;
        if let Some(open) = &self.open {
            // SAFETY: the command buffer is recording, inside of rendering.
            unsafe { self.device.inner.raw.cmd_end_rendering(open.slot.command) };
        }
    }
}

fn raw_attachment<'a>(
    attachment: &Attachment<'_>,
    to: ImageUse,
    resolve_use: ImageUse,
) -> vk::RenderingAttachmentInfo<'a> {
    let (load, clear) = match attachment.load {
        LoadOp::Load => (vk::AttachmentLoadOp::LOAD, vk::ClearValue::default()),
        LoadOp::Clear(value) => (vk::AttachmentLoadOp::CLEAR, value.raw()),
        LoadOp::Discard => (vk::AttachmentLoadOp::DONT_CARE, vk::ClearValue::default()),
    };
    let store = if attachment.store {
        vk::AttachmentStoreOp::STORE
    } else {
        vk::AttachmentStoreOp::DONT_CARE
    };
    let raw = vk::RenderingAttachmentInfo::default()
        .image_view(attachment.view.raw)
        .image_layout(to.layout())
        .load_op(load)
        .store_op(store)
        .clear_value(clear);
    match attachment.resolve {
        None => raw,
        Some(resolve) => raw
            .resolve_mode(resolve.mode)
            .resolve_image_view(resolve.view.raw)
            .resolve_image_layout(resolve_use.layout()),
    }
}
