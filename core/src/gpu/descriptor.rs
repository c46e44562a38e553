//! Resource descriptors: V# (buffer), T# (image) and S# (sampler).

use super::format::GuestFormat;
use crate::address::GuestAddress;

/// Getters for bit fields that may lie across words: `name: low bit, width`.
macro_rules! fields {
    ($type:ident { $($(#[$meta:meta])* $name:ident: $low:literal, $width:literal;)* }) => {
        impl $type {
            $(
                $(#[$meta])*
                #[must_use]
                pub const fn $name(&self) -> u32 {
                    bits(&self.0, $low, $width)
                }
            )*
        }
    };
}

/// `width` (at most 32) bits from bit `low` of a descriptor, bit 0 being the lowest of word 0.
const fn bits(words: &[u32], low: usize, width: usize) -> u32 {
    let word = low / 32;
    let shift = low % 32;
    let mut value = words[word] as u64 >> shift;
    if shift + width > 32 {
        value |= (words[word + 1] as u64) << (32 - shift);
    }
    (value & ((1u64 << width) - 1)) as u32
}

/// What a destination channel takes: a constant or a channel of the fetched data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Selector {
    /// Constant 0.
    Zero = 0,
    /// Constant 1.
    One = 1,
    /// First fetched component.
    X = 4,
    /// Second fetched component.
    Y = 5,
    /// Third fetched component.
    Z = 6,
    /// Fourth fetched component.
    W = 7,
}

impl Selector {
    /// The selector with this number; 2 and 3 are reserved.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Zero,
            1 => Self::One,
            4 => Self::X,
            5 => Self::Y,
            6 => Self::Z,
            7 => Self::W,
            _ => return None,
        })
    }
}

/// Four selectors packed as in descriptors, three bits each, x lowest. Identity is `0xFAC`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Selectors(pub u32);

impl Selectors {
    /// x, y, z, w in their own places.
    pub const IDENTITY: Self = Self(0xFAC);

    /// The selector of destination channel `i` (0 to 3), `None` where it is reserved.
    #[must_use]
    pub const fn get(self, i: usize) -> Option<Selector> {
        Selector::from_number(self.0 >> (3 * i) & 7)
    }
}

/// A buffer descriptor, V#.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct BufferDescriptor(pub [u32; 4]);

fields!(BufferDescriptor {
    /// Bytes from one record to the next; 0 means the buffer is a run of bytes.
    stride: 48, 14;
    /// Whether records are swizzled across `index_stride` neighbours.
    swizzle_enable: 63, 1;
    /// Bytes when the stride is 0, records otherwise.
    num_records: 64, 32;
    /// Number in the unified format table.
    format_number: 108, 7;
    /// 0 to 3 for groups of 8, 16, 32, 64 records when swizzled.
    index_stride: 117, 2;
    /// Whether the lane id is added to the index.
    add_tid: 119, 1;
    /// Out-of-range rule: 0 structured with offset check, 1 structured, 2 only `num_records == 0`, 3 raw.
    out_of_bounds: 124, 2;
    /// 0 for a buffer.
    type_number: 126, 2;
});

impl BufferDescriptor {
    /// First byte, 48 bits.
    #[must_use]
    pub const fn base(&self) -> GuestAddress {
        GuestAddress(self.0[0] as u64 | ((self.0[1] & 0xFFFF) as u64) << 32)
    }

    /// Selectors of the four destination channels.
    #[must_use]
    pub const fn selectors(&self) -> Selectors {
        Selectors(bits(&self.0, 96, 12))
    }

    /// Element format.
    #[must_use]
    pub const fn format(&self) -> GuestFormat {
        GuestFormat(self.format_number() as u16)
    }

    /// Bytes that the buffer covers: records times stride, a stride of 0 counting as 1. (The RDNA2 manual's
    /// sentence on this is misprinted, the RDNA3 manual's is right.)
    #[must_use]
    pub const fn extent(&self) -> u64 {
        let stride = self.stride();
        (if stride == 0 { 1 } else { stride as u64 }) * self.num_records() as u64
    }

    /// Whether every word is 0: reads give 0, writes do nothing.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }
}

/// Kind of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ImageType {
    /// One-dimensional.
    D1 = 8,
    /// Two-dimensional.
    D2 = 9,
    /// Volume.
    D3 = 10,
    /// Cube, or array of cubes.
    Cube = 11,
    /// Array of one-dimensional images.
    D1Array = 12,
    /// Array of two-dimensional images.
    D2Array = 13,
    /// Two-dimensional, several samples a texel.
    D2Msaa = 14,
    /// Array of the same.
    D2MsaaArray = 15,
}

impl ImageType {
    /// The type with this number. Numbers below 8 are buffers or nothing: a T# with one is a null descriptor.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            8 => Self::D1,
            9 => Self::D2,
            10 => Self::D3,
            11 => Self::Cube,
            12 => Self::D1Array,
            13 => Self::D2Array,
            14 => Self::D2Msaa,
            15 => Self::D2MsaaArray,
            _ => return None,
        })
    }
}

/// An image descriptor, T#.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct ImageDescriptor(pub [u32; 8]);

fields!(ImageDescriptor {
    /// Smallest level of detail, unsigned 4.8 fixed point.
    min_lod: 40, 12;
    /// Number in the unified format table.
    format_number: 52, 9;
    /// First mip level of the view.
    base_level: 108, 4;
    /// Last mip level of the view; log2 of the samples for multisampled types.
    last_level: 112, 4;
    /// Swizzle mode.
    swizzle_mode: 116, 5;
    /// An [`ImageType`], or below 8 for none.
    type_number: 124, 4;
    /// Depth - 1 of a volume, last slice of an array; pitch - 1 for some linear images.
    depth_field: 128, 13;
    /// First slice of an array.
    base_array: 144, 13;
    /// Last mip level that the resource has.
    max_mip: 164, 4;
    /// Whether the surface has DCC metadata.
    compression: 213, 1;
});

impl ImageDescriptor {
    /// Kind of image, `None` for a null descriptor.
    #[must_use]
    pub const fn image_type(&self) -> Option<ImageType> {
        ImageType::from_number(self.type_number())
    }

    /// Base address in units of 256 bytes, 40 bits. The low bits of a 64 KiB aligned surface hold its pipe/bank
    /// XOR.
    #[must_use]
    pub const fn base_256(&self) -> u64 {
        self.0[0] as u64 | ((self.0[1] & 0xFF) as u64) << 32
    }

    /// Width of level 0 in texels.
    #[must_use]
    pub const fn width(&self) -> u32 {
        bits(&self.0, 62, 14) + 1
    }

    /// Height of level 0 in texels.
    #[must_use]
    pub const fn height(&self) -> u32 {
        bits(&self.0, 78, 14) + 1
    }

    /// Selectors of the four destination channels.
    #[must_use]
    pub const fn selectors(&self) -> Selectors {
        Selectors(bits(&self.0, 96, 12))
    }

    /// Texel format.
    #[must_use]
    pub const fn format(&self) -> GuestFormat {
        GuestFormat(self.format_number() as u16)
    }

    /// Whether reads give 0 and nothing is behind it: all words 0, or a type below 8.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        self.image_type().is_none()
    }
}

/// A sampler descriptor, S#.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct SamplerDescriptor(pub [u32; 4]);

fields!(SamplerDescriptor {
    /// Address mode of x: 0 wrap, 1 mirror, 2 clamp to edge, 3 mirror once to edge, 4/5 half border, 6 border,
    /// 7 mirror once to border.
    clamp_x: 0, 3;
    /// Address mode of y.
    clamp_y: 3, 3;
    /// Address mode of z.
    clamp_z: 6, 3;
    /// log2 of the largest anisotropy.
    max_aniso_ratio: 9, 3;
    /// Depth compare function, 0 never to 7 always.
    depth_compare: 12, 3;
    /// Coordinates count texels.
    unnormalised: 15, 1;
    /// Cubes sample each face by itself.
    disable_cube_wrap: 28, 1;
    /// 0 weighted average, 1 minimum, 2 maximum.
    filter_mode: 29, 2;
    /// Smallest level, unsigned 4.8.
    min_lod: 32, 12;
    /// Largest level, unsigned 4.8.
    max_lod: 44, 12;
    /// Level bias, signed 5.8 in 14 bits.
    lod_bias: 64, 14;
    /// Magnification: 0 point, 1 linear, 2 and 3 the same with anisotropy.
    mag_filter: 84, 2;
    /// Minification, as above.
    min_filter: 86, 2;
    /// Between mip levels: 0 none, 1 point, 2 linear.
    mip_filter: 90, 2;
    /// Index in the border colour table, when the border type says so.
    border_index: 96, 12;
    /// 0 transparent black, 1 opaque black, 2 opaque white, 3 from the table.
    border_type: 126, 2;
});

#[cfg(test)]
mod tests {
    use super::*;

    /// Sets every bit of one field and checks that only its getter sees it.
    #[test]
    fn buffer_fields_lie_where_mesa_says() {
        let v = BufferDescriptor([0x1234_5678, 0x8010_9ABC, 0x40, 0x1001_6FAC | 22 << 12]);
        assert_eq!(v.base(), GuestAddress(0x9ABC_1234_5678));
        assert_eq!(v.stride(), 0x10);
        assert_eq!(v.swizzle_enable(), 1);
        assert_eq!(v.num_records(), 0x40);
        assert_eq!(v.selectors(), Selectors::IDENTITY);
        assert_eq!(v.extent(), 0x400);
        assert_eq!(v.out_of_bounds(), 1);
        let format_only = BufferDescriptor([0, 0, 0, 77 << 12]);
        assert_eq!(format_only.format(), GuestFormat(77));
        assert_eq!(BufferDescriptor([0, 0, 64, 0]).extent(), 64);
    }

    #[test]
    fn image_fields_lie_where_mesa_says() {
        let mut words = [0u32; 8];
        words[0] = 0x0010_0000;
        words[1] = 0x02 | 56 << 20 | (63 & 3) << 30;
        words[2] = 63 >> 2 | 31 << 14 | 1 << 31;
        words[3] = 0xFAC | 1 << 12 | 4 << 16 | 27 << 20 | 9 << 28;
        words[4] = 5 | 2 << 16;
        words[5] = 7 << 4;
        words[6] = 1 << 21;
        let t = ImageDescriptor(words);
        assert_eq!(t.base_256(), 0x2_0010_0000);
        assert_eq!(t.format(), GuestFormat(56));
        assert_eq!((t.width(), t.height()), (64, 32));
        assert_eq!((t.base_level(), t.last_level()), (1, 4));
        assert_eq!(t.swizzle_mode(), 27);
        assert_eq!(t.image_type(), Some(ImageType::D2));
        assert_eq!((t.depth_field(), t.base_array(), t.max_mip()), (5, 2, 7));
        assert_eq!(t.compression(), 1);
        assert!(ImageDescriptor([0; 8]).is_null());
    }

    #[test]
    fn sampler_fields_lie_where_mesa_says() {
        let s = SamplerDescriptor([
            2 | 2 << 3 | 6 << 6 | 4 << 9 | 3 << 12 | 1 << 29,
            0x100 | 0xFFF << 12,
            0x3F00 | 1 << 20 | 1 << 22 | 2 << 26,
            2 << 30,
        ]);
        assert_eq!((s.clamp_x(), s.clamp_y(), s.clamp_z()), (2, 2, 6));
        assert_eq!(
            (s.max_aniso_ratio(), s.depth_compare(), s.filter_mode()),
            (4, 3, 1)
        );
        assert_eq!((s.min_lod(), s.max_lod(), s.lod_bias()), (0x100, 0xFFF, 0x3F00));
        assert_eq!((s.mag_filter(), s.min_filter(), s.mip_filter()), (1, 1, 2));
        assert_eq!(s.border_type(), 2);
    }
}
