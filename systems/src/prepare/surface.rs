//! Guest surfaces, as target registers and T#s name them.

use ash::vk;
use relic_core::{
    GuestAddress,
    gpu::{
        Dimension, ImageDescriptor, ImageType, NumberClass, Selector, SurfaceShape, SwizzleMode,
        descriptor::Selectors, format::FORMATS,
    },
};
use relic_recompiler::{ImageDim, ImageShape, NumericClass};
use relic_vulkan::Device;

/// A surface in guest memory and the Vulkan format of its texels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Surface {
    /// First byte, without the pipe/bank XOR.
    pub address: GuestAddress,
    /// How its texels lie there.
    pub shape: SurfaceShape,
    /// Format of a texel.
    pub format: vk::Format,
}

impl Surface {
    /// Width and height of a level in texels.
    #[must_use]
    pub fn level_extent(&self, level: u32) -> [u32; 2] {
        [self.shape.width, self.shape.height].map(|length| (length >> level).max(1))
    }
}

/// Splits a base in units of 256 bytes into the address and the pipe/bank XOR that modes with XORed pipe bits keep
/// in its low bits.
#[must_use]
pub fn surface_base(base_256: u64, mode: SwizzleMode) -> (GuestAddress, u32) {
    if !mode.has_pipe_xor() {
        return (GuestAddress(base_256 << 8), 0);
    }
    let low = (1u64 << (mode.block_bytes_log2() - 8)) - 1;
    (GuestAddress((base_256 & !low) << 8), (base_256 & low) as u32)
}

/// A T#: a surface, and the part of it that is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Texture {
    /// The surface.
    pub surface: Surface,
    /// First mip level.
    pub base_level: u32,
    /// Mip levels.
    pub levels: u32,
    /// First slice.
    pub base_slice: u32,
    /// Slices; 1 for volumes, whose depth is their own.
    pub slices: u32,
    /// Where the four components come from.
    pub components: [vk::ComponentSwizzle; 4],
}

/// Reads a T#. `None` for a null descriptor.
///
/// # Errors
/// The field that can't be expressed.
pub fn texture(t: &ImageDescriptor) -> Result<Option<Texture>, String> {
    let Some(kind) = t.image_type() else {
        return Ok(None);
    };
    let refuse = |reason: String| Err(format!("T#: {reason}"));
    if t.compression() != 0 {
        return refuse("DCC compression is not bound yet".to_owned());
    }
    if t.min_lod() != 0 {
        return refuse(format!("a least level of {}/256 is not bound yet", t.min_lod()));
    }
    let number = t.format_number();
    let Some(info) = t.format().info().filter(|info| info.vulkan != 0) else {
        return refuse(format!("format {number} has no host format yet"));
    };
    let mode = SwizzleMode::from_number(t.swizzle_mode()).map_err(|error| format!("T#: {error}"))?;
    let multisampled = matches!(kind, ImageType::D2Msaa | ImageType::D2MsaaArray);
    let (dimension, array) = match kind {
        ImageType::D1 => (Dimension::D1, false),
        ImageType::D1Array => (Dimension::D1, true),
        ImageType::D3 => (Dimension::D3, false),
        ImageType::D2 | ImageType::D2Msaa => (Dimension::D2, false),
        ImageType::Cube | ImageType::D2Array | ImageType::D2MsaaArray => (Dimension::D2, true),
    };
    // The field is the last slice, the depth less one of a volume, or the pitch less one of a linear surface.
    let field = t.depth_field();
    let depth = if array || dimension == Dimension::D3 {
        field + 1
    } else {
        1
    };
    if mode == SwizzleMode::Linear && dimension == Dimension::D2 && !array && field != 0 {
        let derived = t.width().next_multiple_of(256 / u32::from(info.bytes).max(1));
        if field + 1 != derived.div_ceil(u32::from(info.block)) && field + 1 != derived {
            return refuse(format!(
                "a linear surface of {} texels with a pitch of {} is not bound yet",
                t.width(),
                field + 1
            ));
        }
    }
    let (samples, base_level, last_level, chain) = if multisampled {
        (1 << t.last_level(), 0, 0, 1)
    } else {
        (1, t.base_level(), t.last_level(), t.max_mip() + 1)
    };
    if last_level < base_level || last_level >= chain {
        return refuse(format!("mip levels {base_level} to {last_level} of {chain}"));
    }
    let base_slice = if array { t.base_array() } else { 0 };
    if base_slice >= depth {
        return refuse(format!("slices from {base_slice} of {depth}"));
    }
    let (address, xor) = surface_base(t.base_256(), mode);
    Ok(Some(Texture {
        surface: Surface {
            address,
            shape: SurfaceShape {
                mode,
                dimension,
                bytes: u32::from(info.bytes),
                block: u32::from(info.block),
                width: t.width(),
                height: if dimension == Dimension::D1 { 1 } else { t.height() },
                depth,
                levels: chain,
                samples,
                xor,
            },
            format: vk::Format::from_raw(info.vulkan.cast_signed()),
        },
        base_level,
        levels: last_level - base_level + 1,
        base_slice,
        slices: if dimension == Dimension::D3 {
            1
        } else {
            depth - base_slice
        },
        components: components(t.selectors(), info.component_count())?,
    }))
}

/// The Vulkan view for an instruction's dimension, and how many of the texture's slices it has. Cubes are seen as
/// arrays: the program has computed the face.
///
/// # Errors
/// When the instruction addresses another kind of image than the descriptor is.
pub fn view_kind(dim: ImageDim, texture: &Texture) -> Result<(vk::ImageViewType, u32), String> {
    use vk::ImageViewType as V;
    let shape = &texture.surface.shape;
    let (kind, dimension, samples, array) = match dim {
        ImageDim::D1 => (V::TYPE_1D, Dimension::D1, false, false),
        ImageDim::D1Array => (V::TYPE_1D_ARRAY, Dimension::D1, false, true),
        ImageDim::D2 => (V::TYPE_2D, Dimension::D2, false, false),
        ImageDim::Cube | ImageDim::D2Array => (V::TYPE_2D_ARRAY, Dimension::D2, false, true),
        ImageDim::D2Msaa => (V::TYPE_2D, Dimension::D2, true, false),
        ImageDim::D2MsaaArray => (V::TYPE_2D_ARRAY, Dimension::D2, true, true),
        ImageDim::D3 => (V::TYPE_3D, Dimension::D3, false, false),
    };
    if shape.dimension != dimension || (shape.samples > 1) != samples {
        return Err(format!(
            "an instruction for {dim:?} images and a T# of {:?} with {} samples are not bound together",
            shape.dimension, shape.samples
        ));
    }
    Ok((kind, if array { texture.slices } else { 1 }))
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

/// Formats that a surface may be seen in: all of its texel's size, as the guest's descriptors do not care. Of
/// block-compressed ones the same with and without the sRGB curve. None for depth and stencil.
pub fn view_formats(device: &Device, surface: &Surface) -> Vec<vk::Format> {
    use vk::Format as F;
    let pair = match surface.format {
        F::BC1_RGBA_UNORM_BLOCK | F::BC1_RGBA_SRGB_BLOCK => {
            &[F::BC1_RGBA_UNORM_BLOCK, F::BC1_RGBA_SRGB_BLOCK][..]
        }
        F::BC2_UNORM_BLOCK | F::BC2_SRGB_BLOCK => &[F::BC2_UNORM_BLOCK, F::BC2_SRGB_BLOCK],
        F::BC3_UNORM_BLOCK | F::BC3_SRGB_BLOCK => &[F::BC3_UNORM_BLOCK, F::BC3_SRGB_BLOCK],
        F::BC7_UNORM_BLOCK | F::BC7_SRGB_BLOCK => &[F::BC7_UNORM_BLOCK, F::BC7_SRGB_BLOCK],
        _ => &[],
    };
    if surface.shape.block > 1 {
        return pair.to_vec();
    }
    let blue_first: &[F] = match surface.shape.bytes {
        4 => &[F::B8G8R8A8_UNORM, F::B8G8R8A8_SRGB],
        _ => &[],
    };
    let same_size = FORMATS
        .iter()
        .filter(|info| info.block == 1 && u32::from(info.bytes) == surface.shape.bytes)
        .map(|info| F::from_raw(info.vulkan.cast_signed()));
    let mut formats: Vec<F> = same_size.chain(blue_first.iter().copied()).collect();
    formats.sort_unstable();
    formats.dedup();
    formats.retain(|format| *format != F::UNDEFINED && !device.format_features(*format).is_empty());
    formats
}
