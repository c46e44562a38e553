//! Graphics pipelines. Vertices are fetched by the shaders, so there is no vertex input; every state that core
//! Vulkan 1.3 can set while recording is dynamic, so one pipeline serves many draws.

use super::compute::{PipelineInner, first};
use super::layout::PipelineLayout;
use super::shader::{Constants, Module, ShaderStage};
use crate::device::{Device, Feature};
use crate::error::PipelineError;
use ash::vk;
use smallvec::SmallVec;
use std::sync::Arc;

/// Stages of a graphics pipeline.
#[derive(Debug, Clone, Copy, Default)]
pub struct GraphicsStages<'a> {
    /// Vertex stage; required.
    pub vertex: Option<ShaderStage<'a>>,
    /// Tessellation control; comes with evaluation.
    pub tessellation_control: Option<ShaderStage<'a>>,
    /// Tessellation evaluation; comes with control.
    pub tessellation_evaluation: Option<ShaderStage<'a>>,
    /// Geometry stage.
    pub geometry: Option<ShaderStage<'a>>,
    /// Fragment stage; absent for depth-only drawing.
    pub fragment: Option<ShaderStage<'a>>,
}

/// Topologies that one pipeline can be switched between while recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TopologyClass {
    /// Point list.
    Point,
    /// Line lists and strips, with or without adjacency.
    Line,
    /// Triangle lists, strips and fans, with or without adjacency.
    #[default]
    Triangle,
    /// Patches of a number of control points.
    Patch {
        /// Control points of a patch.
        control_points: u32,
    },
}

/// What happens to depth outside of the viewport's range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DepthClip {
    /// Primitives are clipped by the near and far planes.
    #[default]
    Clip,
    /// Not clipped, depth clamped to the range (needs `depthClamp`).
    Clamp,
    /// Clipped and clamped (needs `depthClamp` and `depthClipEnable`).
    ClipAndClamp,
    /// Neither (needs `depthClipEnable`).
    Neither,
}

/// Rasteriser state that can't be set while recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rasteriser {
    /// Filled, lines or points (others than filled need `fillModeNonSolid`).
    pub polygon_mode: vk::PolygonMode,
    /// Near and far planes.
    pub depth_clip: DepthClip,
    /// Whether clip-space z spans -w to w and not 0 to w (needs `depthClipControl`).
    pub negative_one_to_one: bool,
    /// Whether flat attributes come from a primitive's last vertex (needs `provokingVertexLast`).
    pub provoking_last: bool,
}

impl Default for Rasteriser {
    fn default() -> Self {
        Self {
            polygon_mode: vk::PolygonMode::FILL,
            depth_clip: DepthClip::Clip,
            negative_one_to_one: false,
            provoking_last: false,
        }
    }
}

/// source x factor, operation, destination x factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlendEquation {
    /// Factor of the shader's value.
    pub source: vk::BlendFactor,
    /// Factor of the target's value.
    pub destination: vk::BlendFactor,
    /// Operation between them.
    pub operation: vk::BlendOp,
}

/// Blending of one colour target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlendTarget {
    /// Equations of colour and alpha; `None` writes the shader's value.
    pub blend: Option<(BlendEquation, BlendEquation)>,
    /// Components written.
    pub write_mask: vk::ColorComponentFlags,
}

impl Default for BlendTarget {
    fn default() -> Self {
        Self {
            blend: None,
            write_mask: vk::ColorComponentFlags::RGBA,
        }
    }
}

/// What graphics pipeline to make.
#[derive(Debug, Clone)]
pub struct GraphicsPipelineDescription<'a> {
    /// Name for errors, validation messages and captures.
    pub name: &'a str,
    /// Descriptors and push constants.
    pub layout: &'a PipelineLayout,
    /// Shaders.
    pub stages: GraphicsStages<'a>,
    /// Topologies it is drawn with.
    pub topology: TopologyClass,
    /// Rasteriser.
    pub rasteriser: Rasteriser,
    /// Formats of the colour targets; `UNDEFINED` for a slot with none.
    pub colour_formats: &'a [vk::Format],
    /// Blending of each colour target, as many as formats.
    pub blend: &'a [BlendTarget],
    /// Logic operation in place of blending (needs `logicOp`).
    pub logic_op: Option<vk::LogicOp>,
    /// Format of the depth target, or `UNDEFINED`.
    pub depth_format: vk::Format,
    /// Format of the stencil target, or `UNDEFINED`.
    pub stencil_format: vk::Format,
    /// Samples of the targets.
    pub samples: vk::SampleCountFlags,
    /// Samples that are written, bit by bit.
    pub sample_mask: u64,
    /// Whether the shader runs for each sample (needs `sampleRateShading`).
    pub sample_shading: bool,
    /// Whether alpha becomes coverage.
    pub alpha_to_coverage: bool,
}

impl<'a> GraphicsPipelineDescription<'a> {
    /// Filled triangles, one sample, no targets: set what differs.
    #[must_use]
    pub fn new(name: &'a str, layout: &'a PipelineLayout, stages: GraphicsStages<'a>) -> Self {
        Self {
            name,
            layout,
            stages,
            topology: TopologyClass::Triangle,
            rasteriser: Rasteriser::default(),
            colour_formats: &[],
            blend: &[],
            logic_op: None,
            depth_format: vk::Format::UNDEFINED,
            stencil_format: vk::Format::UNDEFINED,
            samples: vk::SampleCountFlags::TYPE_1,
            sample_mask: u64::MAX,
            sample_shading: false,
            alpha_to_coverage: false,
        }
    }
}

/// A graphics pipeline. Clones share it.
#[derive(Clone)]
pub struct GraphicsPipeline {
    pub(crate) inner: Arc<PipelineInner>,
}

impl GraphicsPipeline {
    /// Its layout.
    #[must_use]
    pub fn layout(&self) -> &PipelineLayout {
        &self.inner.layout
    }
}

/// What the recorder sets before each draw where it changed. All of core Vulkan 1.3's, but for those of vertex input.
const DYNAMIC_STATES: [vk::DynamicState; 21] = [
    vk::DynamicState::VIEWPORT_WITH_COUNT,
    vk::DynamicState::SCISSOR_WITH_COUNT,
    vk::DynamicState::LINE_WIDTH,
    vk::DynamicState::DEPTH_BIAS,
    vk::DynamicState::DEPTH_BIAS_ENABLE,
    vk::DynamicState::BLEND_CONSTANTS,
    vk::DynamicState::DEPTH_BOUNDS,
    vk::DynamicState::DEPTH_BOUNDS_TEST_ENABLE,
    vk::DynamicState::DEPTH_TEST_ENABLE,
    vk::DynamicState::DEPTH_WRITE_ENABLE,
    vk::DynamicState::DEPTH_COMPARE_OP,
    vk::DynamicState::STENCIL_TEST_ENABLE,
    vk::DynamicState::STENCIL_OP,
    vk::DynamicState::STENCIL_COMPARE_MASK,
    vk::DynamicState::STENCIL_WRITE_MASK,
    vk::DynamicState::STENCIL_REFERENCE,
    vk::DynamicState::CULL_MODE,
    vk::DynamicState::FRONT_FACE,
    vk::DynamicState::PRIMITIVE_TOPOLOGY,
    vk::DynamicState::PRIMITIVE_RESTART_ENABLE,
    vk::DynamicState::RASTERIZER_DISCARD_ENABLE,
];

impl Device {
    /// Makes a graphics pipeline.
    ///
    /// # Errors
    /// [`PipelineError`] names the pipeline and what does not fit: a missing feature, a contradiction, or what the
    /// driver refused.
    pub fn create_graphics_pipeline(
        &self,
        d: &GraphicsPipelineDescription<'_>,
    ) -> Result<GraphicsPipeline, PipelineError> {
        self.check_graphics(d)?;
        let stages = [
            (vk::ShaderStageFlags::VERTEX, "vertex", d.stages.vertex),
            (
                vk::ShaderStageFlags::TESSELLATION_CONTROL,
                "tessellation control",
                d.stages.tessellation_control,
            ),
            (
                vk::ShaderStageFlags::TESSELLATION_EVALUATION,
                "tessellation evaluation",
                d.stages.tessellation_evaluation,
            ),
            (vk::ShaderStageFlags::GEOMETRY, "geometry", d.stages.geometry),
            (vk::ShaderStageFlags::FRAGMENT, "fragment", d.stages.fragment),
        ];
        let mut modules = SmallVec::<[_; 5]>::new();
        for (flag, name, stage) in stages {
            if let Some(stage) = stage {
                let module = Module::new(self, d.name, name, stage.spirv)?;
                modules.push((flag, module, stage.entry, Constants::new(stage.constants)));
            }
        }
        let specialisations: SmallVec<[_; 5]> =
            modules.iter().map(|(.., constants)| constants.info()).collect();
        let stage_infos: SmallVec<[_; 5]> = modules
            .iter()
            .zip(&specialisations)
            .map(|((flag, module, entry, _), specialisation)| {
                vk::PipelineShaderStageCreateInfo::default()
                    .stage(*flag)
                    .module(module.raw)
                    .name(entry)
                    .specialization_info(specialisation)
            })
            .collect();

        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default();
        let (topology, control_points) = match d.topology {
            TopologyClass::Point => (vk::PrimitiveTopology::POINT_LIST, 0),
            TopologyClass::Line => (vk::PrimitiveTopology::LINE_LIST, 0),
            TopologyClass::Triangle => (vk::PrimitiveTopology::TRIANGLE_LIST, 0),
            TopologyClass::Patch { control_points } => (vk::PrimitiveTopology::PATCH_LIST, control_points),
        };
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology);
        let tessellation =
            vk::PipelineTessellationStateCreateInfo::default().patch_control_points(control_points);
        let mut clip_control =
            vk::PipelineViewportDepthClipControlCreateInfoEXT::default().negative_one_to_one(true);
        let mut viewport = vk::PipelineViewportStateCreateInfo::default();
        if d.rasteriser.negative_one_to_one {
            viewport = viewport.push_next(&mut clip_control);
        }
        let (clip, clamp) = match d.rasteriser.depth_clip {
            DepthClip::Clip => (true, false),
            DepthClip::Clamp => (false, true),
            DepthClip::ClipAndClamp => (true, true),
            DepthClip::Neither => (false, false),
        };
        let mut clip_enable =
            vk::PipelineRasterizationDepthClipStateCreateInfoEXT::default().depth_clip_enable(clip);
        let mut provoking = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
            .provoking_vertex_mode(vk::ProvokingVertexModeEXT::LAST_VERTEX);
        let mut rasteriser = vk::PipelineRasterizationStateCreateInfo::default()
            .depth_clamp_enable(clamp)
            .polygon_mode(d.rasteriser.polygon_mode)
            .line_width(1.0);
        // Without the struct, clipping is the opposite of clamping.
        if clip == clamp {
            rasteriser = rasteriser.push_next(&mut clip_enable);
        }
        if d.rasteriser.provoking_last {
            rasteriser = rasteriser.push_next(&mut provoking);
        }
        let sample_mask = [d.sample_mask as u32, (d.sample_mask >> 32) as u32];
        let multisample = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(d.samples)
            .sample_mask(&sample_mask)
            .sample_shading_enable(d.sample_shading)
            .min_sample_shading(1.0)
            .alpha_to_coverage_enable(d.alpha_to_coverage);
        let depth_stencil = vk::PipelineDepthStencilStateCreateInfo::default();
        let targets: SmallVec<[_; 8]> = d.blend.iter().map(blend_state).collect();
        let blend = vk::PipelineColorBlendStateCreateInfo::default()
            .logic_op_enable(d.logic_op.is_some())
            .logic_op(d.logic_op.unwrap_or(vk::LogicOp::COPY))
            .attachments(&targets);
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&DYNAMIC_STATES);
        let mut rendering = vk::PipelineRenderingCreateInfo::default()
            .color_attachment_formats(d.colour_formats)
            .depth_attachment_format(d.depth_format)
            .stencil_attachment_format(d.stencil_format);
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stage_infos)
            .vertex_input_state(&vertex_input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&rasteriser)
            .multisample_state(&multisample)
            .depth_stencil_state(&depth_stencil)
            .color_blend_state(&blend)
            .dynamic_state(&dynamic)
            .layout(d.layout.raw())
            .push_next(&mut rendering);
        if control_points > 0 {
            info = info.tessellation_state(&tessellation);
        }
        let info = [info];
        // SAFETY: all that `info` points to lives until the call returns; the cache synchronises itself.
        let made = unsafe {
            self.inner
                .raw
                .create_graphics_pipelines(self.inner.pipeline_cache, &info, None)
        };
        let raw = first(made, d.name, "compiling a graphics pipeline")?;
        Ok(GraphicsPipeline {
            inner: Arc::new(PipelineInner::new(self, raw, d.layout, d.name)),
        })
    }

    fn check_graphics(&self, d: &GraphicsPipelineDescription<'_>) -> Result<(), PipelineError> {
        let refuse = |reason: String| {
            Err(PipelineError::Description {
                name: d.name.into(),
                reason,
            })
        };
        if d.stages.vertex.is_none() {
            return refuse("it has no vertex stage".into());
        }
        let control = d.stages.tessellation_control.is_some();
        let patches = matches!(d.topology, TopologyClass::Patch { control_points: 1.. });
        if control != d.stages.tessellation_evaluation.is_some() || control != patches {
            return refuse(format!(
                "tessellation needs both of its stages and patches of at least one control point: control {control}, \
                 evaluation {}, topology {:?}",
                d.stages.tessellation_evaluation.is_some(),
                d.topology
            ));
        }
        if d.blend.len() != d.colour_formats.len() {
            return refuse(format!(
                "{} blend targets for {} colour formats",
                d.blend.len(),
                d.colour_formats.len()
            ));
        }
        if d.colour_formats.len() > self.limits().max_colour_attachments as usize {
            return refuse(format!(
                "{} colour targets, and the device allows {}",
                d.colour_formats.len(),
                self.limits().max_colour_attachments
            ));
        }
        let dual = |factor| {
            matches!(
                factor,
                vk::BlendFactor::SRC1_COLOR
                    | vk::BlendFactor::ONE_MINUS_SRC1_COLOR
                    | vk::BlendFactor::SRC1_ALPHA
                    | vk::BlendFactor::ONE_MINUS_SRC1_ALPHA
            )
        };
        let equations = || {
            d.blend
                .iter()
                .filter_map(|t| t.blend)
                .flat_map(|(colour, alpha)| [colour, alpha])
        };
        let r = &d.rasteriser;
        let clamps = matches!(r.depth_clip, DepthClip::Clamp | DepthClip::ClipAndClamp);
        let unlinked = matches!(r.depth_clip, DepthClip::ClipAndClamp | DepthClip::Neither);
        let needs = [
            (control, "tessellation", Feature::TessellationShader),
            (
                d.stages.geometry.is_some(),
                "a geometry stage",
                Feature::GeometryShader,
            ),
            (
                r.polygon_mode != vk::PolygonMode::FILL,
                "unfilled polygons",
                Feature::FillModeNonSolid,
            ),
            (clamps, "clamped depth", Feature::DepthClamp),
            (
                unlinked,
                "depth clipping apart from clamping",
                Feature::DepthClipEnable,
            ),
            (
                r.negative_one_to_one,
                "clip space from -w to w",
                Feature::DepthClipControl,
            ),
            (
                r.provoking_last,
                "the last vertex as provoking",
                Feature::ProvokingVertexLast,
            ),
            (d.logic_op.is_some(), "a logic operation", Feature::LogicOp),
            (d.sample_shading, "shading by sample", Feature::SampleRateShading),
            (
                equations().any(|e| dual(e.source) || dual(e.destination)),
                "dual-source blending",
                Feature::DualSrcBlend,
            ),
        ];
        for (used, what, feature) in needs {
            if used && !self.has(feature) {
                return Err(PipelineError::Feature {
                    name: d.name.into(),
                    what,
                    feature,
                });
            }
        }
        Ok(())
    }
}

fn blend_state(target: &BlendTarget) -> vk::PipelineColorBlendAttachmentState {
    let state = vk::PipelineColorBlendAttachmentState::default().color_write_mask(target.write_mask);
    match target.blend {
        None => state,
        Some((colour, alpha)) => state
            .blend_enable(true)
            .src_color_blend_factor(colour.source)
            .dst_color_blend_factor(colour.destination)
            .color_blend_op(colour.operation)
            .src_alpha_blend_factor(alpha.source)
            .dst_alpha_blend_factor(alpha.destination)
            .alpha_blend_op(alpha.operation),
    }
}
