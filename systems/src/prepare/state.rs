//! Registers to Vulkan state. What Vulkan or Relic can't express is refused by register, bit and value.

use arrayvec::ArrayVec;
use ash::vk;
use relic_components::batch::StateSnapshot;
use relic_core::gpu::{Dimension, SurfaceShape, SwizzleMode, colour::ColourFormat};
use relic_recompiler::NumericClass;
use relic_vulkan::{
    BlendEquation, BlendTarget, DepthBias, DepthState, StencilFace, StencilState, TopologyClass, Viewport,
};
use smallvec::SmallVec;

use super::surface::{Surface, surface_base};
use crate::registers::{COLOUR_STRIDE, context as r, context_name};

/// The state of draws that share a register snapshot.
#[derive(Clone, Debug)]
pub struct DrawState {
    /// What is baked into pipelines.
    pub fixed: FixedState,
    /// What is set while recording.
    pub dynamic: DynamicState,
    /// Colour targets by slot.
    pub colour: [Option<ColourTarget>; 8],
    /// Depth target.
    pub depth: Option<DepthTarget>,
    /// What each colour target holds, for the pixel program's exports.
    pub classes: [NumericClass; 8],
}

/// What is baked into pipelines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FixedState {
    /// Topologies the pipeline can be drawn with.
    pub topology: TopologyClass,
    /// Three vertices are three corners of a rectangle, and a geometry shader adds the fourth.
    pub rect_list: bool,
    /// Formats by slot, up to the last one in use.
    pub formats: SmallVec<[vk::Format; 8]>,
    /// Blending by slot.
    pub blend: SmallVec<[BlendTarget; 8]>,
    /// Format of the depth target, or `UNDEFINED`.
    pub depth_format: vk::Format,
    /// Whether the depth target has stencil.
    pub has_stencil: bool,
    /// Samples of a pixel.
    pub samples: u32,
    /// Depth is clamped and not clipped.
    pub depth_clamp: bool,
    /// Flat attributes come from the last vertex.
    pub provoking_last: bool,
}

/// What is set while recording.
#[derive(Clone, PartialEq, Debug)]
pub struct DynamicState {
    /// Topology.
    pub topology: vk::PrimitiveTopology,
    /// Viewport 0.
    pub viewport: Viewport,
    /// Intersection of all scissors.
    pub scissor: vk::Rect2D,
    /// Blend constants.
    pub blend_constants: [f32; 4],
    /// Depth test.
    pub depth: DepthState,
    /// Stencil test.
    pub stencil: StencilState,
    /// Depth offset.
    pub depth_bias: DepthBias,
    /// Culled faces.
    pub cull: vk::CullModeFlags,
    /// Winding of front faces.
    pub front_face: vk::FrontFace,
    /// The largest index restarts strips.
    pub restart: bool,
}

/// A colour surface that is rendered to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ColourTarget {
    /// The surface.
    pub surface: Surface,
    /// Mip level.
    pub level: u32,
    /// Slice.
    pub slice: u32,
}

/// A depth surface that is rendered to, with its stencil surface where there is one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DepthTarget {
    /// The depth surface.
    pub depth: Surface,
    /// The stencil surface.
    pub stencil: Option<Surface>,
    /// Mip level.
    pub level: u32,
    /// Slice.
    pub slice: u32,
}

impl DepthTarget {
    /// Format of the host image.
    #[must_use]
    pub const fn format(&self) -> vk::Format {
        match self.stencil {
            Some(_) => vk::Format::D32_SFLOAT_S8_UINT,
            None => self.depth.format,
        }
    }
}

/// Refuses bits of a context register outside `known`.
fn known(state: &StateSnapshot, offset: usize, known: u32) -> Result<u32, String> {
    let value = state.context[offset];
    if value & !known == 0 {
        Ok(value)
    } else {
        Err(format!(
            "{} {value:#010x}: bits {:#010x} are not executed",
            context_name(offset),
            value & !known
        ))
    }
}

const fn bit(value: u32, at: u32) -> bool {
    value >> at & 1 != 0
}

/// Parses the draw state of a snapshot.
///
/// # Errors
/// The first register that can't be expressed.
pub fn draw_state(state: &StateSnapshot) -> Result<DrawState, String> {
    let (topology, class) = topology(state.primitive_type)?;
    let mut colour = [None; 8];
    let mut classes = [NumericClass::Float; 8];
    let mut formats = SmallVec::new();
    let mut blend = SmallVec::new();
    let control = known(state, r::CB_COLOR_CONTROL, 1 | 7 << 4 | 0xFF << 16)?;
    let rop = control >> 16 & 0xFF;
    match control >> 4 & 7 {
        0 => {}
        1 => {
            if rop != 0xCC {
                return Err(format!(
                    "CB_COLOR_CONTROL {control:#x}: raster operation {rop:#04x} is not executed, only copy (0xcc)"
                ));
            }
            for slot in 0..8 {
                let masks = state.context[r::CB_TARGET_MASK] & state.context[r::CB_SHADER_MASK];
                let mask = masks >> (4 * slot) & 15;
                let Some((target, class)) = colour_target(state, slot)?.filter(|_| mask != 0) else {
                    continue;
                };
                colour[slot] = Some(target);
                classes[slot] = class;
                formats.resize(slot + 1, vk::Format::UNDEFINED);
                blend.resize(slot + 1, BlendTarget::default());
                formats[slot] = target.surface.format;
                blend[slot] = blend_target(state.context[r::CB_BLEND0_CONTROL + slot], mask)?;
            }
        }
        mode => {
            return Err(format!(
                "CB_COLOR_CONTROL {control:#x}: colour mode {mode} is not executed"
            ));
        }
    }
    let depth = depth_target(state)?;
    let clip = known(
        state,
        r::PA_CL_CLIP_CNTL,
        1 << 16 | 1 << 19 | 1 << 22 | 1 << 24 | 3 << 26,
    )?;
    if !bit(clip, 19) {
        return Err(format!(
            "PA_CL_CLIP_CNTL {clip:#x}: clip space from -w to w is not executed yet"
        ));
    }
    if bit(clip, 22) {
        return Err(format!(
            "PA_CL_CLIP_CNTL {clip:#x}: rasteriser kill is not executed yet"
        ));
    }
    let depth_clamp = match clip >> 26 & 3 {
        0 => false,
        3 => true,
        _ => {
            return Err(format!(
                "PA_CL_CLIP_CNTL {clip:#x}: near and far clip must be on or off together"
            ));
        }
    };
    let raster = known(
        state,
        r::PA_SU_SC_MODE_CNTL,
        7 | 3 << 3 | 0x3F << 5 | 7 << 11 | 1 << 16 | 1 << 19 | 1 << 21 | 1 << 22,
    )?;
    if raster >> 3 & 3 != 0 && raster >> 5 & 0x3F != 0x12 {
        return Err(format!(
            "PA_SU_SC_MODE_CNTL {raster:#x}: polygons as lines or points are not executed yet"
        ));
    }
    let samples = sample_count(state, &colour, depth.as_ref())?;
    if bit(state.context[r::DB_ALPHA_TO_MASK], 0) {
        return Err("DB_ALPHA_TO_MASK: alpha to coverage is not executed yet".to_owned());
    }
    let mut cull = vk::CullModeFlags::NONE;
    if bit(raster, 0) {
        cull |= vk::CullModeFlags::FRONT;
    }
    if bit(raster, 1) {
        cull |= vk::CullModeFlags::BACK;
    }
    let depth_control = known(state, r::DB_DEPTH_CONTROL, 0x0070_07F7 | 1 << 7 | 1 << 3)?;
    let float = |offset: usize| f32::from_bits(state.context[offset]);
    let bias_enable = raster >> 11 & 3 != 0;
    let restart_control = state.restart;
    Ok(DrawState {
        fixed: FixedState {
            topology: class,
            rect_list: state.primitive_type == RECT_LIST,
            depth_format: depth.map_or(vk::Format::UNDEFINED, |target| target.format()),
            has_stencil: depth.is_some_and(|target| target.stencil.is_some()),
            samples,
            formats,
            blend,
            depth_clamp,
            provoking_last: bit(raster, 19),
        },
        dynamic: DynamicState {
            topology,
            viewport: viewport(state)?,
            scissor: scissor(state)?,
            blend_constants: std::array::from_fn(|i| float(r::CB_BLEND_RED + i)),
            depth: DepthState {
                test: bit(depth_control, 1) && depth.is_some(),
                write: bit(depth_control, 2) && depth.is_some() && !bit(state.context[r::DB_DEPTH_VIEW], 24),
                compare: compare_op(depth_control >> 4 & 7),
                bounds: bit(depth_control, 3)
                    .then(|| [float(r::DB_DEPTH_BOUNDS_MIN), float(r::DB_DEPTH_BOUNDS_MAX)]),
            },
            stencil: if depth.is_some_and(|target| target.stencil.is_some()) {
                stencil(state, depth_control)?
            } else {
                StencilState::default()
            },
            depth_bias: DepthBias {
                enable: bias_enable,
                constant: if bias_enable {
                    float(r::PA_SU_POLY_OFFSET_FRONT_OFFSET)
                } else {
                    0.0
                },
                clamp: if bias_enable {
                    float(r::PA_SU_POLY_OFFSET_CLAMP)
                } else {
                    0.0
                },
                // The scale register counts sixteenths.
                slope: if bias_enable {
                    float(r::PA_SU_POLY_OFFSET_FRONT_SCALE) / 16.0
                } else {
                    0.0
                },
            },
            cull,
            front_face: if bit(raster, 2) {
                vk::FrontFace::CLOCKWISE
            } else {
                vk::FrontFace::COUNTER_CLOCKWISE
            },
            restart: bit(restart_control, 0),
        },
        colour,
        depth,
        classes,
    })
}

/// Samples of a pixel, which all targets must share.
fn sample_count(
    state: &StateSnapshot,
    colour: &[Option<ColourTarget>; 8],
    depth: Option<&DepthTarget>,
) -> Result<u32, String> {
    let config = state.context[r::PA_SC_AA_CONFIG];
    let samples = 1 << (config & 7);
    let surfaces = colour
        .iter()
        .flatten()
        .map(|target| &target.surface)
        .chain(depth.map(|target| &target.depth));
    for surface in surfaces {
        if surface.shape.samples != samples {
            return Err(format!(
                "PA_SC_AA_CONFIG {config:#x}: {samples} samples on a target of {} are not executed",
                surface.shape.samples
            ));
        }
    }
    let Some(&(_, standard)) = SAMPLE_LOCATIONS.iter().find(|(count, _)| *count == samples) else {
        return Err(format!(
            "PA_SC_AA_CONFIG {config:#x}: {samples} samples are not executed"
        ));
    };
    let exposed = config >> 20 & 7;
    if exposed != config & 7 {
        return Err(format!(
            "PA_SC_AA_CONFIG {config:#x}: pixel programs that see {} of {samples} samples are not executed",
            1 << exposed
        ));
    }
    if samples == 1 {
        return Ok(1);
    }
    let per_sample = state.context[r::DB_EQAA] >> 4 & 7;
    if per_sample != 0 {
        return Err(format!(
            "DB_EQAA {:#x}: pixel programs that run for each sample are not executed yet",
            state.context[r::DB_EQAA]
        ));
    }
    for (i, word) in standard.iter().enumerate() {
        let own = state.context[r::PA_SC_AA_SAMPLE_LOCS_PIXEL_X0Y0_0 + i];
        if own != *word {
            return Err(format!(
                "PA_SC_AA_SAMPLE_LOCS_PIXEL_X0Y0_{i} {own:#010x}: sample places other than Vulkan's ({word:#010x}) are not executed yet"
            ));
        }
    }
    let masks = [r::PA_SC_AA_MASK_X0Y0_X1Y0, r::PA_SC_AA_MASK_X0Y1_X1Y1].map(|mask| state.context[mask]);
    let all = (1 << samples) - 1;
    if masks
        .iter()
        .any(|mask| mask & all != all || mask >> 16 & all != all)
    {
        return Err(format!(
            "PA_SC_AA_MASK {:#x}, {:#x}: sample masks are not executed yet",
            masks[0], masks[1]
        ));
    }
    Ok(samples)
}

/// Vulkan's standard sample places as the registers hold them: four samples to a word, x in the low nibble of a byte,
/// y in the high one, signed sixteenths of a pixel from its centre. (One sample: the places are not looked at.)
const SAMPLE_LOCATIONS: [(u32, &[u32]); 4] = [
    (1, &[]),
    (2, &[0x0000_CC44]),
    (4, &[0x622A_E6AE]),
    (8, &[0xB515_3FD1, 0x9773_F95B]),
];

/// VGT_PRIMITIVE_TYPE of rectangle lists.
const RECT_LIST: u32 = 17;

fn topology(number: u32) -> Result<(vk::PrimitiveTopology, TopologyClass), String> {
    use TopologyClass::{Line, Point, Triangle};
    Ok(match number {
        1 => (vk::PrimitiveTopology::POINT_LIST, Point),
        2 => (vk::PrimitiveTopology::LINE_LIST, Line),
        3 => (vk::PrimitiveTopology::LINE_STRIP, Line),
        4 | RECT_LIST => (vk::PrimitiveTopology::TRIANGLE_LIST, Triangle),
        5 => (vk::PrimitiveTopology::TRIANGLE_FAN, Triangle),
        6 => (vk::PrimitiveTopology::TRIANGLE_STRIP, Triangle),
        other => {
            return Err(format!(
                "VGT_PRIMITIVE_TYPE {other} is not drawn yet (points, lines, triangles, strips, fans and rectangles are)"
            ));
        }
    })
}

fn colour_target(state: &StateSnapshot, slot: usize) -> Result<Option<(ColourTarget, NumericClass)>, String> {
    let at = slot * COLOUR_STRIDE;
    let info = state.context[r::CB_COLOR0_INFO + at];
    let Some(format) = ColourFormat::from_register(info) else {
        return Ok(None);
    };
    let name = |what: &str| format!("CB_COLOR{slot}_{what}");
    if info & (1 << 13 | 1 << 14 | 1 << 28) != 0 {
        return Err(format!(
            "{} {info:#010x}: compressed or fast-cleared targets are not executed yet",
            name("INFO")
        ));
    }
    let Some(host) = format.info() else {
        return Err(format!(
            "{} {info:#010x}: format {}, number {}, swap {} has no host format yet",
            name("INFO"),
            format.format,
            format.number,
            format.swap
        ));
    };
    let view = state.context[r::CB_COLOR0_VIEW + at];
    let (slice, last) = (view & 0x1FFF, view >> 13 & 0x1FFF);
    if slice != last {
        return Err(format!(
            "{} {view:#x}: rendering to slices {slice} to {last} at once is not executed yet",
            name("VIEW")
        ));
    }
    let attrib = state.context[r::CB_COLOR0_ATTRIB + at];
    let samples = samples(attrib >> 12 & 7, attrib >> 15 & 3, &|| {
        format!("{} {attrib:#x}", name("ATTRIB"))
    })?;
    let attrib2 = state.context[r::CB_COLOR0_ATTRIB2 + slot];
    let attrib3 = state.context[r::CB_COLOR0_ATTRIB3 + slot];
    let mode = SwizzleMode::from_number(attrib3 >> 14 & 31)
        .map_err(|error| format!("{} {attrib3:#x}: {error}", name("ATTRIB3")))?;
    let dimension = match attrib3 >> 24 & 3 {
        0 => Dimension::D1,
        1 => Dimension::D2,
        2 => Dimension::D3,
        other => {
            return Err(format!(
                "{} {attrib3:#x}: resource type {other} does not exist",
                name("ATTRIB3")
            ));
        }
    };
    let base = u64::from(state.context[r::CB_COLOR0_BASE + at])
        | u64::from(state.context[r::CB_COLOR0_BASE_EXT + slot] & 0xFF) << 32;
    let (address, xor) = surface_base(base, mode);
    let class = match format.number {
        4 => NumericClass::Uint,
        5 => NumericClass::Sint,
        _ => NumericClass::Float,
    };
    let surface = Surface {
        address,
        shape: SurfaceShape {
            mode,
            dimension,
            bytes: u32::from(host.bytes),
            block: 1,
            width: (attrib2 >> 14 & 0x3FFF) + 1,
            height: (attrib2 & 0x3FFF) + 1,
            depth: (attrib3 & 0x1FFF) + 1,
            levels: (attrib2 >> 28 & 15) + 1,
            samples,
            xor,
        },
        format: vk::Format::from_raw(host.vulkan.cast_signed()),
    };
    let target = ColourTarget {
        surface,
        level: view >> 26 & 15,
        slice,
    };
    Ok(Some((target, class)))
}

/// Samples of a target from log2 of its samples and fragments.
fn samples(samples_log2: u32, fragments_log2: u32, register: &dyn Fn() -> String) -> Result<u32, String> {
    if samples_log2 != fragments_log2 || samples_log2 > 3 {
        return Err(format!(
            "{}: {} samples kept as {} are not executed",
            register(),
            1 << samples_log2,
            1 << fragments_log2
        ));
    }
    Ok(1 << samples_log2)
}

fn depth_target(state: &StateSnapshot) -> Result<Option<DepthTarget>, String> {
    let info = state.context[r::DB_Z_INFO];
    let stencil_info = state.context[r::DB_STENCIL_INFO];
    let (format, bytes) = match info & 3 {
        0 if stencil_info & 1 != 0 => {
            return Err(format!(
                "DB_STENCIL_INFO {stencil_info:#x}: stencil without depth is not executed yet"
            ));
        }
        0 => return Ok(None),
        1 => (vk::Format::D16_UNORM, 2),
        3 => (vk::Format::D32_SFLOAT, 4),
        other => {
            return Err(format!(
                "DB_Z_INFO {info:#x}: depth format {other} is not executed"
            ));
        }
    };
    if bit(info, 29) {
        return Err(format!(
            "DB_Z_INFO {info:#x}: hierarchical depth (HTILE) is not executed yet"
        ));
    }
    known(state, r::DB_RENDER_CONTROL, 3 << 5 | 1 << 4)?;
    let view = state.context[r::DB_DEPTH_VIEW];
    let slice = view & 0x7FF | (view >> 11 & 3) << 11;
    let last = view >> 13 & 0x7FF | (view >> 30 & 3) << 11;
    if slice != last {
        return Err(format!(
            "DB_DEPTH_VIEW {view:#x}: rendering to slices {slice} to {last} at once is not executed yet"
        ));
    }
    let size = state.context[r::DB_DEPTH_SIZE_XY];
    let plane = |register: &str, info: u32, base: [usize; 2], bytes: u32, format| {
        let mode = SwizzleMode::from_number(info >> 4 & 31)
            .map_err(|error| format!("{register} {info:#x}: {error}"))?;
        let base = u64::from(state.context[base[0]]) | u64::from(state.context[base[1]] & 0xFF) << 32;
        let (address, xor) = surface_base(base, mode);
        Ok::<_, String>(Surface {
            address,
            shape: SurfaceShape {
                mode,
                dimension: Dimension::D2,
                bytes,
                block: 1,
                width: (size & 0x3FFF) + 1,
                height: (size >> 16 & 0x3FFF) + 1,
                depth: last + 1,
                levels: (state.context[r::DB_Z_INFO] >> 16 & 15) + 1,
                samples: 1 << (state.context[r::DB_Z_INFO] >> 2 & 3),
                xor,
            },
            format,
        })
    };
    let z_base = [r::DB_Z_WRITE_BASE, r::DB_Z_WRITE_BASE_HI];
    let stencil_base = [r::DB_STENCIL_WRITE_BASE, r::DB_STENCIL_WRITE_BASE_HI];
    let depth = plane("DB_Z_INFO", info, z_base, bytes, format)?;
    let stencil = if stencil_info & 1 == 0 {
        None
    } else if bytes == 4 {
        Some(plane(
            "DB_STENCIL_INFO",
            stencil_info,
            stencil_base,
            1,
            vk::Format::S8_UINT,
        )?)
    } else {
        return Err(format!(
            "DB_STENCIL_INFO {stencil_info:#x}: stencil beside 16-bit depth is not executed yet"
        ));
    };
    Ok(Some(DepthTarget {
        depth,
        stencil,
        level: view >> 26 & 15,
        slice,
    }))
}

fn stencil(state: &StateSnapshot, control: u32) -> Result<StencilState, String> {
    if !bit(control, 0) {
        return Ok(StencilState::default());
    }
    let operations = state.context[r::DB_STENCIL_CONTROL];
    let two_sided = bit(control, 7);
    let read_only = bit(state.context[r::DB_DEPTH_VIEW], 25);
    let face = |shift: u32, function: u32, reference: usize| -> Result<StencilFace, String> {
        let masks = state.context[reference];
        Ok(StencilFace {
            fail: stencil_op(operations >> shift & 15)?,
            pass: stencil_op(operations >> (shift + 4) & 15)?,
            depth_fail: stencil_op(operations >> (shift + 8) & 15)?,
            compare: compare_op(function),
            compare_mask: masks >> 8 & 0xFF,
            write_mask: if read_only { 0 } else { masks >> 16 & 0xFF },
            reference: masks & 0xFF,
        })
    };
    let front = face(0, control >> 8 & 7, r::DB_STENCILREFMASK)?;
    let back = if two_sided {
        face(12, control >> 20 & 7, r::DB_STENCILREFMASK_BF)?
    } else {
        front
    };
    Ok(StencilState {
        test: true,
        front,
        back,
    })
}

fn stencil_op(number: u32) -> Result<vk::StencilOp, String> {
    Ok(match number {
        0 => vk::StencilOp::KEEP,
        1 => vk::StencilOp::ZERO,
        3 => vk::StencilOp::REPLACE,
        5 => vk::StencilOp::INCREMENT_AND_CLAMP,
        6 => vk::StencilOp::DECREMENT_AND_CLAMP,
        7 => vk::StencilOp::INVERT,
        8 => vk::StencilOp::INCREMENT_AND_WRAP,
        9 => vk::StencilOp::DECREMENT_AND_WRAP,
        other => {
            return Err(format!(
                "DB_STENCIL_CONTROL: operation {other} has no Vulkan twin"
            ));
        }
    })
}

fn compare_op(number: u32) -> vk::CompareOp {
    // The console's numbers are Vulkan's.
    vk::CompareOp::from_raw((number & 7).cast_signed())
}

fn viewport(state: &StateSnapshot) -> Result<Viewport, String> {
    let control = state.context[r::PA_CL_VTE_CNTL];
    if control & 0x3F != 0x3F {
        return Err(format!(
            "PA_CL_VTE_CNTL {control:#x}: drawing without the viewport transform is not executed yet"
        ));
    }
    let at = |i: usize| f32::from_bits(state.context[r::PA_CL_VPORT_XSCALE + i]);
    let (x_scale, x_offset, y_scale, y_offset, z_scale, z_offset) =
        (at(0), at(1), at(2), at(3), at(4), at(5));
    Ok(Viewport {
        x: x_offset - x_scale,
        y: y_offset - y_scale,
        width: 2.0 * x_scale,
        height: 2.0 * y_scale,
        min_depth: z_offset,
        max_depth: z_offset + z_scale,
    })
}

/// One scissor rectangle: left, top, right, bottom.
fn corners(top_left: u32, bottom_right: u32, mask: u32) -> [i32; 4] {
    let part = |word: u32, shift: u32| (word >> shift & mask).cast_signed();
    [
        part(top_left, 0),
        part(top_left, 16),
        part(bottom_right, 0),
        part(bottom_right, 16),
    ]
}

fn scissor(state: &StateSnapshot) -> Result<vk::Rect2D, String> {
    let words = &state.context;
    let offset = words[r::PA_SC_WINDOW_OFFSET];
    if offset != 0 && words[r::PA_SC_WINDOW_SCISSOR_TL] >> 31 == 0 {
        return Err(format!("PA_SC_WINDOW_OFFSET {offset:#x} is not executed yet"));
    }
    if words[r::PA_SC_CLIPRECT_RULE] & 0xFFFF != 0xFFFF {
        return Err(format!(
            "PA_SC_CLIPRECT_RULE {:#x}: clip rectangles are not executed yet",
            words[r::PA_SC_CLIPRECT_RULE]
        ));
    }
    let mut all = ArrayVec::<_, 4>::from_iter([
        corners(
            words[r::PA_SC_SCREEN_SCISSOR_TL],
            words[r::PA_SC_SCREEN_SCISSOR_BR],
            0x7FFF,
        ),
        corners(
            words[r::PA_SC_WINDOW_SCISSOR_TL],
            words[r::PA_SC_WINDOW_SCISSOR_BR],
            0x7FFF,
        ),
        corners(
            words[r::PA_SC_GENERIC_SCISSOR_TL],
            words[r::PA_SC_GENERIC_SCISSOR_BR],
            0x7FFF,
        ),
    ]);
    if bit(words[r::PA_SC_MODE_CNTL_0], 1) {
        all.push(corners(
            words[r::PA_SC_VPORT_SCISSOR_0_TL],
            words[r::PA_SC_VPORT_SCISSOR_0_BR],
            0x7FFF,
        ));
    }
    let [mut left, mut top, mut right, mut bottom] = [0, 0, i32::MAX, i32::MAX];
    for [l, t, b_right, b_bottom] in all {
        left = left.max(l);
        top = top.max(t);
        right = right.min(b_right);
        bottom = bottom.min(b_bottom);
    }
    Ok(vk::Rect2D {
        offset: vk::Offset2D { x: left, y: top },
        extent: vk::Extent2D {
            width: (right - left).max(0).cast_unsigned(),
            height: (bottom - top).max(0).cast_unsigned(),
        },
    })
}

fn blend_target(control: u32, mask: u32) -> Result<BlendTarget, String> {
    // R, G, B and A are bits 0 to 3 in both.
    let write_mask = vk::ColorComponentFlags::from_raw(mask);
    if !bit(control, 30) {
        return Ok(BlendTarget {
            blend: None,
            write_mask,
        });
    }
    let colour = equation(control & 31, control >> 5 & 7, control >> 8 & 31)?;
    let alpha = if bit(control, 29) {
        equation(control >> 16 & 31, control >> 21 & 7, control >> 24 & 31)?
    } else {
        colour
    };
    Ok(BlendTarget {
        blend: Some((colour, alpha)),
        write_mask,
    })
}

fn equation(source: u32, operation: u32, destination: u32) -> Result<BlendEquation, String> {
    Ok(BlendEquation {
        source: factor(source)?,
        destination: factor(destination)?,
        operation: match operation {
            0 => vk::BlendOp::ADD,
            1 => vk::BlendOp::SUBTRACT,
            2 => vk::BlendOp::MIN,
            3 => vk::BlendOp::MAX,
            4 => vk::BlendOp::REVERSE_SUBTRACT,
            other => return Err(format!("CB_BLEND_CONTROL: operation {other} does not exist")),
        },
    })
}

fn factor(number: u32) -> Result<vk::BlendFactor, String> {
    use vk::BlendFactor as F;
    Ok(match number {
        0 => F::ZERO,
        1 => F::ONE,
        2 => F::SRC_COLOR,
        3 => F::ONE_MINUS_SRC_COLOR,
        4 => F::SRC_ALPHA,
        5 => F::ONE_MINUS_SRC_ALPHA,
        6 => F::DST_ALPHA,
        7 => F::ONE_MINUS_DST_ALPHA,
        8 => F::DST_COLOR,
        9 => F::ONE_MINUS_DST_COLOR,
        10 => F::SRC_ALPHA_SATURATE,
        13 => F::CONSTANT_COLOR,
        14 => F::ONE_MINUS_CONSTANT_COLOR,
        15 => F::SRC1_COLOR,
        16 => F::ONE_MINUS_SRC1_COLOR,
        17 => F::SRC1_ALPHA,
        18 => F::ONE_MINUS_SRC1_ALPHA,
        19 => F::CONSTANT_ALPHA,
        20 => F::ONE_MINUS_CONSTANT_ALPHA,
        other => return Err(format!("CB_BLEND_CONTROL: factor {other} does not exist")),
    })
}
