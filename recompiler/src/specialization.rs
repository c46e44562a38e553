//! What a draw fixes at compile time: descriptor shapes, where the flat words lie, output classes.

use smallvec::SmallVec;

/// The part of a V# that changes the code. Bases and record counts are part of it only where they are no multiples of 4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BufferShape {
    /// Stride in bytes, V# bits 61:48.
    pub stride: u32,
    /// Unified format number, V# dword 3 bits 18:12. Used by `buffer_load_format_*` and its stores only.
    pub format: u32,
    /// Channel selectors x, y, z, w: 0 zero, 1 one, 4..7 the fetched components.
    pub dst_sel: [u8; 4],
    /// Swizzle enable, V# bit 63.
    pub swizzled: bool,
    /// Index stride in elements (8, 16, 32 or 64); matters only when swizzled.
    pub index_stride: u32,
    /// Add the lane's number to the index, V# dword 3 bit 23.
    pub add_thread_id: bool,
    /// The base is no multiple of the device's storage buffer alignment: the code adds the residual of the
    /// flat block to every offset.
    pub misaligned: bool,
    /// Dwords at the end of the binding that do not lie wholly inside the V#'s extent: 0, or 1 or 2 where base or
    /// extent are no multiples of 4. Bindings end at a multiple of 4, so these dwords are bound; a scalar load of
    /// one has to give 0.
    pub ragged: u8,
    /// The extent is a multiple of 16 bytes, so that dwords can be loaded four at a time.
    pub whole_quads: bool,
}

impl BufferShape {
    /// The shape of a V#, for a device whose storage buffer offsets are multiples of `alignment` bytes.
    #[must_use]
    pub const fn from_words(words: [u32; 4], alignment: u32) -> Self {
        let stride = (words[1] >> 16) & 0x3fff;
        // Only the low bits of the extent matter, so the product may wrap.
        let extent = words[2].wrapping_mul(if stride == 0 { 1 } else { stride });
        Self {
            stride,
            format: (words[3] >> 12) & 0x7f,
            dst_sel: [
                ((words[3]) & 7) as u8,
                ((words[3] >> 3) & 7) as u8,
                ((words[3] >> 6) & 7) as u8,
                ((words[3] >> 9) & 7) as u8,
            ],
            swizzled: words[1] >> 31 != 0,
            index_stride: 8 << ((words[3] >> 21) & 3),
            add_thread_id: (words[3] >> 23) & 1 != 0,
            misaligned: words[0] & (alignment - 1) != 0,
            ragged: ((words[0] & 3) + (extent & 3)).div_ceil(4) as u8,
            whole_quads: extent & 15 == 0,
        }
    }
}

/// How the components of a texel or a colour target are read by the code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum NumericClass {
    /// Floating point, normalised or scaled.
    #[default]
    Float,
    /// Unsigned integers.
    Uint,
    /// Signed integers.
    Sint,
}

/// The part of a T# that changes the code. Dimensions come from the instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ImageShape {
    /// What the bound view's format yields.
    pub class: NumericClass,
    /// Whether the view is a one-component 32-bit integer format; image atomics need it.
    pub r32: bool,
}

/// Where the flat words are found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlatLocation {
    /// In the push constant block, from this byte on.
    PushConstants {
        /// Byte offset, a multiple of 4.
        offset: u32,
    },
    /// In a uniform buffer at the binding after the last descriptor, 16 bytes per 4 words.
    UniformBuffer,
}

/// Everything a draw fixes at compile time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Specialization {
    /// One for each plan descriptor of kind `Buffer`, in plan order.
    pub buffers: SmallVec<[BufferShape; 8]>,
    /// One for each plan descriptor of kind `Image`, in plan order.
    pub images: SmallVec<[ImageShape; 8]>,
    /// Where the flat words lie.
    pub flat: FlatLocation,
    /// Binding of plan descriptor 0; descriptor i is at `binding_base + i`.
    pub binding_base: u32,
    /// What each colour target holds, by SPIR-V output location.
    pub colour: [NumericClass; 8],
    /// Whether OpName instructions are emitted.
    pub names: bool,
}

impl Default for Specialization {
    fn default() -> Self {
        Self {
            buffers: SmallVec::new(),
            images: SmallVec::new(),
            flat: FlatLocation::PushConstants { offset: 0 },
            binding_base: 0,
            colour: [NumericClass::Float; 8],
            names: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BufferShape;

    #[test]
    fn ragged_counts_the_bound_dwords_that_leave_the_extent() {
        // Base, stride, records, dwords.
        for (base, stride, records, ragged) in [
            (0x1000, 0, 64, 0),
            (0x1000, 0, 62, 1),
            (0x1000, 16, 4, 0),
            (0x1000, 6, 3, 1),
            (0x1000, 6, 2, 0),
            // The last dword that a base between dwords reaches into is bound, too.
            (0x1002, 0, 64, 1),
            (0x1002, 0, 62, 1),
            (0x1003, 0, 62, 2),
            (0x1000, 0x3fff, 0xffff_ffff, 1),
        ] {
            let shape = BufferShape::from_words([base, stride << 16, records, 0], 16);
            let bound = (u64::from(base & 3) + u64::from(stride.max(1)) * u64::from(records)).div_ceil(4);
            let inside = u64::from(stride.max(1)) * u64::from(records) / 4;
            assert_eq!(u64::from(shape.ragged), bound - inside);
            assert_eq!(shape.ragged, ragged, "{base:#x} {stride} {records}");
        }
    }
}
