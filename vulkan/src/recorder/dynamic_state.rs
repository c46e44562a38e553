//! State that is set while recording. Setters compare and note; a draw sends what changed.

use super::Recorder;
use crate::device::Feature;
use crate::error::RecordError;
use ash::vk;
use bitflags::bitflags;
use smallvec::SmallVec;

/// A viewport, in texels; depth in 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viewport {
    /// Left edge.
    pub x: f32,
    /// Upper edge (lower one where the height is negative).
    pub y: f32,
    /// Width, above 0.
    pub width: f32,
    /// Height; negative turns the image upside down.
    pub height: f32,
    /// Depth at clip-space z of 0.
    pub min_depth: f32,
    /// Depth at clip-space z of w.
    pub max_depth: f32,
}

/// Offset of polygons' depth.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DepthBias {
    /// Whether it applies.
    pub enable: bool,
    /// Constant part, in the smallest steps of the depth format.
    pub constant: f32,
    /// Bound of the sum (needs `depthBiasClamp`), or 0.
    pub clamp: f32,
    /// Part that grows with the slope.
    pub slope: f32,
}

/// Depth test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DepthState {
    /// Whether fragments are tested; without a test nothing is written either.
    pub test: bool,
    /// Whether depth is written.
    pub write: bool,
    /// Comparison of the fragment's depth with the target's.
    pub compare: vk::CompareOp,
    /// Bounds of the target's depth outside of which fragments are dropped (needs `depthBounds`).
    pub bounds: Option<[f32; 2]>,
}

impl Default for DepthState {
    fn default() -> Self {
        Self {
            test: false,
            write: false,
            compare: vk::CompareOp::ALWAYS,
            bounds: None,
        }
    }
}

/// Stencil test of one face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StencilFace {
    /// When the stencil test fails.
    pub fail: vk::StencilOp,
    /// When both tests pass.
    pub pass: vk::StencilOp,
    /// When the depth test fails.
    pub depth_fail: vk::StencilOp,
    /// Comparison of the reference with the target's value.
    pub compare: vk::CompareOp,
    /// Bits compared.
    pub compare_mask: u32,
    /// Bits written.
    pub write_mask: u32,
    /// Reference.
    pub reference: u32,
}

impl Default for StencilFace {
    fn default() -> Self {
        Self {
            fail: vk::StencilOp::KEEP,
            pass: vk::StencilOp::KEEP,
            depth_fail: vk::StencilOp::KEEP,
            compare: vk::CompareOp::ALWAYS,
            compare_mask: 0xff,
            write_mask: 0xff,
            reference: 0,
        }
    }
}

/// Stencil test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StencilState {
    /// Whether it applies.
    pub test: bool,
    /// Front faces.
    pub front: StencilFace,
    /// Back faces.
    pub back: StencilFace,
}

bitflags! {
    #[derive(Clone, Copy)]
    struct Dirty: u32 {
        const VIEWPORTS = 1;
        const SCISSORS = 1 << 1;
        const LINE_WIDTH = 1 << 2;
        const DEPTH_BIAS = 1 << 3;
        const BLEND_CONSTANTS = 1 << 4;
        const DEPTH = 1 << 5;
        const STENCIL = 1 << 6;
        const CULL_MODE = 1 << 7;
        const FRONT_FACE = 1 << 8;
        const TOPOLOGY = 1 << 9;
        const RESTART = 1 << 10;
        const DISCARD = 1 << 11;
    }
}

pub(super) struct DynamicState {
    dirty: Dirty,
    viewports: SmallVec<[Viewport; 2]>,
    scissors: SmallVec<[vk::Rect2D; 2]>,
    line_width: f32,
    depth_bias: DepthBias,
    blend_constants: [f32; 4],
    depth: DepthState,
    stencil: StencilState,
    cull_mode: vk::CullModeFlags,
    front_face: vk::FrontFace,
    topology: vk::PrimitiveTopology,
    restart: bool,
    discard: bool,
}

impl Default for DynamicState {
    fn default() -> Self {
        let extent = vk::Extent2D { width: 1, height: 1 };
        let mut scissors = SmallVec::new();
        scissors.push(vk::Rect2D {
            offset: vk::Offset2D::default(),
            extent,
        });
        let mut viewports = SmallVec::new();
        viewports.push(Viewport {
            x: 0.0,
            y: 0.0,
            width: 1.0,
            height: 1.0,
            min_depth: 0.0,
            max_depth: 1.0,
        });
        Self {
            dirty: Dirty::all(),
            viewports,
            scissors,
            line_width: 1.0,
            depth_bias: DepthBias::default(),
            blend_constants: [0.0; 4],
            depth: DepthState::default(),
            stencil: StencilState::default(),
            cull_mode: vk::CullModeFlags::NONE,
            front_face: vk::FrontFace::COUNTER_CLOCKWISE,
            topology: vk::PrimitiveTopology::TRIANGLE_LIST,
            restart: false,
            discard: false,
        }
    }
}

impl DynamicState {
    /// A new command buffer knows nothing: everything goes back to its default and is sent at the first draw.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($field:ident: $type:ty) $flag:ident;)*) => {
        impl Recorder {
            $($(#[$doc])*
            pub fn $name(&mut self, $field: $type) {
                if self.dynamic.$field != $field {
                    self.dynamic.$field = $field;
                    self.dynamic.dirty |= Dirty::$flag;
                }
            })*
        }
    };
}

setters! {
    /// Width of lines in texels; others than 1 need `wideLines`.
    set_line_width(line_width: f32) LINE_WIDTH;
    /// Depth offset.
    set_depth_bias(depth_bias: DepthBias) DEPTH_BIAS;
    /// Constants that blend factors name.
    set_blend_constants(blend_constants: [f32; 4]) BLEND_CONSTANTS;
    /// Depth test.
    set_depth(depth: DepthState) DEPTH;
    /// Stencil test.
    set_stencil(stencil: StencilState) STENCIL;
    /// Faces dropped.
    set_cull_mode(cull_mode: vk::CullModeFlags) CULL_MODE;
    /// Winding of front faces.
    set_front_face(front_face: vk::FrontFace) FRONT_FACE;
    /// Topology, of the bound pipeline's class.
    set_topology(topology: vk::PrimitiveTopology) TOPOLOGY;
    /// Whether the largest index starts a new primitive.
    set_primitive_restart(restart: bool) RESTART;
    /// Whether nothing reaches the rasteriser.
    set_rasteriser_discard(discard: bool) DISCARD;
}

impl Recorder {
    /// Viewports by index; more than one needs `multiViewport`. An empty slice changes nothing.
    pub fn set_viewports(&mut self, viewports: &[Viewport]) {
        if !viewports.is_empty() && self.dynamic.viewports.as_slice() != viewports {
            self.dynamic.viewports.clear();
            self.dynamic.viewports.extend_from_slice(viewports);
            self.dynamic.dirty |= Dirty::VIEWPORTS;
        }
    }

    /// Scissors by index, as many as viewports. An empty slice changes nothing.
    pub fn set_scissors(&mut self, scissors: &[vk::Rect2D]) {
        if !scissors.is_empty() && self.dynamic.scissors.as_slice() != scissors {
            self.dynamic.scissors.clear();
            self.dynamic.scissors.extend_from_slice(scissors);
            self.dynamic.dirty |= Dirty::SCISSORS;
        }
    }

    /// Sends what changed since the last draw. Whether the device can do it.
    #[inline]
    pub(super) fn flush_dynamic_state(&mut self, name: &'static str, command: vk::CommandBuffer) -> bool {
        if self.dynamic.dirty.is_empty() {
            return true;
        }
        if let Some(reason) = self.unable() {
            self.fail(RecordError::Argument {
                command: name,
                reason,
            });
            return false;
        }
        self.send_dynamic_state(command);
        true
    }

    /// What the state asks for and the device can't do.
    fn unable(&self) -> Option<String> {
        let state = &self.dynamic;
        let (viewports, scissors) = (state.viewports.len(), state.scissors.len());
        if viewports != scissors {
            return Some(format!(
                "{viewports} viewports and {scissors} scissors: there must be as many"
            ));
        }
        let most = self.device.limits().max_viewports as usize;
        if viewports > most {
            return Some(format!("{viewports} viewports, and the device has {most}"));
        }
        let bias = state.depth_bias;
        let needs = [
            (viewports > 1, "several viewports", Feature::MultiViewport),
            (
                state.line_width != 1.0,
                "a line width that is not 1",
                Feature::WideLines,
            ),
            (
                bias.enable && bias.clamp != 0.0,
                "a bound of the depth bias",
                Feature::DepthBiasClamp,
            ),
            (
                state.depth.bounds.is_some(),
                "a depth bounds test",
                Feature::DepthBounds,
            ),
        ];
        let lacking = needs
            .into_iter()
            .find(|(used, _, feature)| *used && !self.device.has(*feature));
        lacking.map(|(_, what, feature)| format!("{what} needs {feature}, which the device lacks"))
    }

    fn send_dynamic_state(&mut self, command: vk::CommandBuffer) {
        let device = &self.device.inner.raw;
        let state = &mut self.dynamic;
        let dirty = std::mem::replace(&mut state.dirty, Dirty::empty());
        // SAFETY: the command buffer is recording; every value is of the kind that its command takes.
        unsafe {
            if dirty.contains(Dirty::VIEWPORTS) {
                let viewports: SmallVec<[vk::Viewport; 16]> = state
                    .viewports
                    .iter()
                    .map(|v| vk::Viewport {
                        x: v.x,
                        y: v.y,
                        width: v.width,
                        height: v.height,
                        min_depth: v.min_depth,
                        max_depth: v.max_depth,
                    })
                    .collect();
                device.cmd_set_viewport_with_count(command, &viewports);
            }
            if dirty.contains(Dirty::SCISSORS) {
                device.cmd_set_scissor_with_count(command, &state.scissors);
            }
            if dirty.contains(Dirty::LINE_WIDTH) {
                device.cmd_set_line_width(command, state.line_width);
            }
            if dirty.contains(Dirty::DEPTH_BIAS) {
                let bias = state.depth_bias;
                device.cmd_set_depth_bias_enable(command, bias.enable);
                device.cmd_set_depth_bias(command, bias.constant, bias.clamp, bias.slope);
            }
            if dirty.contains(Dirty::BLEND_CONSTANTS) {
                device.cmd_set_blend_constants(command, &state.blend_constants);
            }
            if dirty.contains(Dirty::DEPTH) {
                let depth = state.depth;
                device.cmd_set_depth_test_enable(command, depth.test);
                device.cmd_set_depth_write_enable(command, depth.write);
                device.cmd_set_depth_compare_op(command, depth.compare);
                let [low, high] = depth.bounds.unwrap_or([0.0, 1.0]);
                device.cmd_set_depth_bounds_test_enable(command, depth.bounds.is_some());
                device.cmd_set_depth_bounds(command, low, high);
            }
            if dirty.contains(Dirty::STENCIL) {
                device.cmd_set_stencil_test_enable(command, state.stencil.test);
                let faces = [
                    (vk::StencilFaceFlags::FRONT, state.stencil.front),
                    (vk::StencilFaceFlags::BACK, state.stencil.back),
                ];
                for (flag, face) in faces {
                    device.cmd_set_stencil_op(
                        command,
                        flag,
                        face.fail,
                        face.pass,
                        face.depth_fail,
                        face.compare,
                    );
                    device.cmd_set_stencil_compare_mask(command, flag, face.compare_mask);
                    device.cmd_set_stencil_write_mask(command, flag, face.write_mask);
                    device.cmd_set_stencil_reference(command, flag, face.reference);
                }
            }
            if dirty.contains(Dirty::CULL_MODE) {
                device.cmd_set_cull_mode(command, state.cull_mode);
            }
            if dirty.contains(Dirty::FRONT_FACE) {
                device.cmd_set_front_face(command, state.front_face);
            }
            if dirty.contains(Dirty::TOPOLOGY) {
                device.cmd_set_primitive_topology(command, state.topology);
            }
            if dirty.contains(Dirty::RESTART) {
                device.cmd_set_primitive_restart_enable(command, state.restart);
            }
            if dirty.contains(Dirty::DISCARD) {
                device.cmd_set_rasterizer_discard_enable(command, state.discard);
            }
        }
    }
}
