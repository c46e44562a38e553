//! Mip levels, slices and volumes of a surface.
//!
//! A slice holds a whole mip chain, the smallest level first; slices follow one another. In thick modes of volumes a
//! slab of slices, as deep as a block, takes the slice's place. Small levels of a flat or thick surface share one
//! block, the tail, at fixed coordinates inside it. Sizes are those of AMD's address library, and the tests compare
//! every texel's place with its.

use std::{fmt, ops::Range};

use super::{
    Dimension, LayoutError, SwizzleMode,
    equation::{self, AddressBit},
};

/// What a surface is laid out by. An element is a texel, or a block of a block-compressed format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SurfaceShape {
    /// Swizzle mode.
    pub mode: SwizzleMode,
    /// Dimension.
    pub dimension: Dimension,
    /// Bytes of an element.
    pub bytes: u32,
    /// Texels that an element is wide and high: 1 or 4.
    pub block: u32,
    /// Width of level 0 in texels.
    pub width: u32,
    /// Height of level 0 in texels.
    pub height: u32,
    /// Slices of an array, or depth of level 0 of a volume.
    pub depth: u32,
    /// Mip levels.
    pub levels: u32,
    /// Samples of an element.
    pub samples: u32,
    /// Pipe/bank XOR: the low bits of the surface's base in units of 256 bytes.
    pub xor: u32,
}

impl SurfaceShape {
    /// One level of one slice, of texels of `bytes` bytes.
    #[must_use]
    pub const fn flat(mode: SwizzleMode, bytes: u32, width: u32, height: u32, xor: u32) -> Self {
        Self {
            mode,
            dimension: Dimension::D2,
            bytes,
            block: 1,
            width,
            height,
            depth: 1,
            levels: 1,
            samples: 1,
            xor,
        }
    }
}

/// Lengths along x, y and z.
type Lengths = [u32; 3];

/// One mip level.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Level {
    /// Width, height and depth in elements, as the level is used.
    size: Lengths,
    /// Elements from one padded row to the next.
    pitch: u32,
    /// First byte in the slice.
    offset: u64,
    /// Where the level begins inside the tail block.
    tail: [u32; 2],
}

/// Where the elements of a surface lie.
#[derive(Clone, PartialEq, Eq)]
pub struct SurfaceLayout {
    shape: SurfaceShape,
    element_log2: u32,
    /// log2 of the block's lengths; for linear the alignment of a row.
    block_log2: Lengths,
    /// Address bits that the base takes part in.
    xor: u32,
    /// One for each address bit in a block; `None` for linear.
    equation: Option<&'static [AddressBit]>,
    levels: Vec<Level>,
    /// Bytes of a slice, or of a slab.
    slice: u64,
}

impl fmt::Debug for SurfaceLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = &self.shape;
        write!(
            f,
            "{:?} {:?} {}x{}x{} of {} bytes, {} levels, {} samples, xor {:#x}",
            s.mode, s.dimension, s.width, s.height, s.depth, s.bytes, s.levels, s.samples, s.xor
        )
    }
}

/// log2 of a block's width, height and depth.
fn block_log2(shape: &SurfaceShape, bytes_log2: u32, element_log2: u32) -> Lengths {
    let bits = bytes_log2 - element_log2;
    if shape.mode == SwizzleMode::Linear {
        return [bits, 0, 0];
    }
    if shape.mode.is_thick(shape.dimension) {
        let (least, most) = (bits / 3, bits.div_ceil(3));
        let rest = bits - least - most;
        return match bytes_log2 {
            16 => [most, rest, least],
            12 => [least, most, rest],
            // The blocks inside, in which the tail is counted.
            _ => [rest, least, most],
        };
    }
    let samples_log2 = shape.samples.trailing_zeros();
    [
        bits.div_ceil(2) - samples_log2.div_ceil(2),
        bits / 2 - samples_log2 / 2,
        0,
    ]
}

/// Every other bit of `bits` from bit `first` on, packed.
fn gather_bits(bits: u32, first: u32) -> u32 {
    (0..8).fold(0, |packed, i| packed | (bits >> (first + 2 * i) & 1) << i)
}

impl SurfaceLayout {
    /// The layout of a surface.
    ///
    /// # Errors
    /// When the chip has no such surface.
    pub fn new(shape: SurfaceShape) -> Result<Self, LayoutError> {
        let SurfaceShape {
            mode,
            dimension,
            bytes,
            block,
            width,
            height,
            depth,
            levels,
            samples,
            xor,
        } = shape;
        let refused = LayoutError::Element {
            mode,
            dimension,
            bytes,
            samples,
        };
        if !bytes.is_power_of_two() || bytes > 16 || !samples.is_power_of_two() || block == 0 {
            return Err(refused);
        }
        let longest = match dimension {
            Dimension::D3 => width.max(height).max(depth),
            _ => width.max(height),
        };
        let empty = width == 0 || height == 0 || depth == 0 || levels == 0;
        if empty || levels > longest.ilog2() + 1 || (samples > 1 && levels > 1) {
            return Err(LayoutError::Levels {
                width,
                height,
                depth,
                samples,
                levels,
            });
        }
        let element_log2 = bytes.trailing_zeros();
        let bytes_log2 = mode.block_bytes_log2();
        let equation = match mode {
            SwizzleMode::Linear if samples == 1 => None,
            _ => {
                let samples_log2 = samples.trailing_zeros();
                let equation = equation::find(mode, dimension, samples_log2, element_log2).ok_or(refused)?;
                // Smaller blocks use the low bits.
                Some(&equation[..bytes_log2 as usize])
            }
        };
        let mut layout = Self {
            shape,
            element_log2,
            block_log2: block_log2(&shape, bytes_log2, element_log2),
            xor: xor << 8 & ((1 << bytes_log2) - 1),
            equation,
            levels: Vec::new(),
            slice: 0,
        };
        layout.place_levels();
        Ok(layout)
    }

    /// Fills in the levels, and what a slice of them takes.
    fn place_levels(&mut self) {
        let shape = self.shape;
        let block = self.block_log2.map(|log2| 1u32 << log2);
        let first_in_tail = self.first_in_tail();
        let mut offset = 0;
        if first_in_tail < shape.levels {
            offset = 1 << shape.mode.block_bytes_log2();
        }
        let mut levels = Vec::with_capacity(shape.levels as usize);
        for level in (0..shape.levels).rev() {
            let halved = |length: u32| (length >> level).max(1);
            let volume = shape.dimension == Dimension::D3;
            let size = [
                halved(shape.width).div_ceil(shape.block),
                halved(shape.height).div_ceil(shape.block),
                if volume { halved(shape.depth) } else { shape.depth },
            ];
            levels.push(if level >= first_in_tail {
                Level {
                    size,
                    pitch: block[0],
                    offset: 0,
                    tail: self.tail_origin(level - first_in_tail),
                }
            } else {
                let [width, height] = self.rounded(level);
                let (pitch, rows) = (
                    width.next_multiple_of(block[0]),
                    height.next_multiple_of(block[1]),
                );
                let place = offset;
                let elements = u64::from(pitch) * u64::from(rows) * u64::from(block[2]);
                offset += (elements * u64::from(shape.samples)) << self.element_log2;
                Level {
                    size,
                    pitch,
                    offset: place,
                    tail: [0, 0],
                }
            });
        }
        levels.reverse();
        self.levels = levels;
        self.slice = offset;
    }

    /// Width and height that a level is given room for, in elements: halves are rounded up.
    fn rounded(&self, level: u32) -> [u32; 2] {
        [self.shape.width, self.shape.height]
            .map(|length| length.div_ceil(self.shape.block).div_ceil(1 << level))
    }

    /// How many levels the tail can hold; `None` for modes without one.
    fn tail_capacity(&self) -> Option<u32> {
        let shape = &self.shape;
        let block = shape.mode.block_bytes_log2();
        if shape.mode == SwizzleMode::Linear || block == 8 || shape.dimension == Dimension::D1 {
            return None;
        }
        let effective = if shape.mode.is_thick(shape.dimension) {
            block - (block - 8) / 3
        } else {
            block
        };
        Some(if effective <= 11 {
            1 + (1 << (effective - 9))
        } else {
            effective - 4
        })
    }

    /// The first level in the tail, or the number of levels.
    fn first_in_tail(&self) -> u32 {
        let shape = &self.shape;
        let Some(capacity) = self.tail_capacity().filter(|_| shape.levels > 1) else {
            return shape.levels;
        };
        let mut most = self.block_log2.map(|log2| 1u32 << log2);
        let thick = shape.mode.is_thick(shape.dimension);
        let high = thick && shape.mode.block_bytes_log2().is_multiple_of(3);
        most[usize::from(high)] /= 2;
        (0..shape.levels)
            .find(|level| {
                let [width, height] = self.rounded(*level);
                width <= most[0] && height <= most[1] && shape.levels - level <= capacity
            })
            .unwrap_or(shape.levels)
    }

    /// Column and row at which the `nth` level of the tail begins.
    fn tail_origin(&self, nth: u32) -> [u32; 2] {
        let place = self.tail_capacity().unwrap_or(0).saturating_sub(1 + nth);
        let offset = if place > 6 { 16 << place } else { place << 8 };
        let inner = block_log2(&self.shape, 8, self.element_log2);
        [
            gather_bits(offset, 9) << inner[0],
            gather_bits(offset, 8) << inner[1],
        ]
    }

    /// What it is the layout of.
    #[must_use]
    pub const fn shape(&self) -> &SurfaceShape {
        &self.shape
    }

    /// Bytes that the surface covers.
    #[must_use]
    pub fn size(&self) -> u64 {
        u64::from(self.shape.depth.div_ceil(1 << self.block_log2[2])) * self.slice
    }

    /// Elements from one row of the padded level 0 to the next.
    #[must_use]
    pub fn pitch(&self) -> u32 {
        self.levels[0].pitch
    }

    /// Width, height and slices of a level, in elements.
    #[must_use]
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        self.levels[level as usize].size
    }

    /// Byte offset of a sample of the element at column `x`, row `y`, slice `z` of a level.
    #[must_use]
    pub fn offset(&self, level: u32, x: u32, y: u32, z: u32, sample: u32) -> u64 {
        let level = &self.levels[level as usize];
        let (row, inside) = self.row(level, y, z, sample);
        let (column, column_inside) = self.column(level, x);
        row + column + u64::from(inside ^ column_inside)
    }

    /// Offset of the blocks that row `y` lies in, and the row's part of the offset in a block.
    fn row(&self, level: &Level, y: u32, z: u32, sample: u32) -> (u64, u32) {
        let slab = u64::from(z >> self.block_log2[2]) * self.slice + level.offset;
        let Some(equation) = self.equation else {
            let rows = u64::from(y) * u64::from(level.pitch);
            return (slab + (rows << self.element_log2), 0);
        };
        let y = y + level.tail[1];
        let blocks = u64::from(y >> self.block_log2[1]) * u64::from(level.pitch >> self.block_log2[0]);
        let inside = fold(equation, |bit| {
            (bit.y & y).count_ones() + (bit.z & z).count_ones() + (bit.sample & sample).count_ones()
        });
        (slab + (blocks << self.shape.mode.block_bytes_log2()), inside)
    }

    /// The same for column `x`, with the base's own bits.
    fn column(&self, level: &Level, x: u32) -> (u64, u32) {
        let Some(equation) = self.equation else {
            return (u64::from(x) << self.element_log2, 0);
        };
        let x = x + level.tail[0];
        let block = u64::from(x >> self.block_log2[0]) << self.shape.mode.block_bytes_log2();
        (block, fold(equation, |bit| (bit.x & x).count_ones()) ^ self.xor)
    }

    /// Copies a slice of a level from `tiled` (the surface, at least [`Self::size`] bytes) to tight rows in `linear`.
    ///
    /// Returns `false`, having copied nothing, when a buffer is too small or there is no such slice.
    #[must_use]
    pub fn detile(&self, level: u32, z: u32, tiled: &[u8], linear: &mut [u8]) -> bool {
        self.each(level, z, tiled.len(), linear.len(), |from, to| {
            linear[to].copy_from_slice(&tiled[from]);
        })
    }

    /// Copies tight rows in `linear` to their places in `tiled`. Padding keeps its bytes.
    ///
    /// Returns `false`, having copied nothing, when a buffer is too small or there is no such slice.
    #[must_use]
    pub fn tile(&self, level: u32, z: u32, linear: &[u8], tiled: &mut [u8]) -> bool {
        self.each(level, z, tiled.len(), linear.len(), |to, from| {
            tiled[to].copy_from_slice(&linear[from]);
        })
    }

    /// Calls `copy` with the places of each element, tiled and linear.
    fn each(
        &self,
        level: u32,
        z: u32,
        tiled: usize,
        linear: usize,
        mut copy: impl FnMut(Range<usize>, Range<usize>),
    ) -> bool {
        let bytes = 1usize << self.element_log2;
        let Some(level) = self.levels.get(level as usize).filter(|level| z < level.size[2]) else {
            return false;
        };
        let [width, height, _] = level.size;
        let tight = (u64::from(width) * u64::from(height)) << self.element_log2;
        if (tiled as u64) < self.size() || (linear as u64) < tight {
            return false;
        }
        let columns: Vec<(u64, u32)> = (0..width).map(|x| self.column(level, x)).collect();
        let mut at = 0;
        for y in 0..height {
            let (base, inside) = self.row(level, y, z, 0);
            for (block, column) in &columns {
                let from = (base + block) as usize + (column ^ inside) as usize;
                copy(from..from + bytes, at..at + bytes);
                at += bytes;
            }
        }
        true
    }
}

/// An address from the parity of each of its bits.
fn fold(equation: &[AddressBit], part: impl Fn(&AddressBit) -> u32) -> u32 {
    let mut offset = 0;
    for (i, bit) in equation.iter().enumerate() {
        offset |= (part(bit) & 1) << i;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the golden file: a shape and the hash of its places.
    fn golden() -> impl Iterator<Item = (SurfaceShape, u64)> {
        include_str!("places.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let number = |i: usize| words[i].parse::<u32>().unwrap();
                let shape = SurfaceShape {
                    dimension: [Dimension::D1, Dimension::D2, Dimension::D3][number(0) as usize - 1],
                    mode: SwizzleMode::from_number(number(1)).unwrap(),
                    bytes: number(2),
                    block: 1,
                    width: number(3),
                    height: number(4),
                    depth: number(5),
                    levels: number(6),
                    samples: number(7),
                    xor: 0,
                };
                (shape, u64::from_str_radix(words[8], 16).unwrap())
            })
    }

    /// Every place of a level: x, y, z and sample.
    fn places(layout: &SurfaceLayout, level: u32) -> impl Iterator<Item = [u32; 4]> {
        let [width, height, depth] = layout.level_size(level);
        let samples = layout.shape().samples;
        (0..depth).flat_map(move |z| {
            (0..height).flat_map(move |y| {
                (0..width).flat_map(move |x| (0..samples).map(move |sample| [x, y, z, sample]))
            })
        })
    }

    #[test]
    fn every_texel_lies_where_amd_says() {
        let mut wrong = Vec::new();
        let mut count = 0;
        for (shape, expected) in golden() {
            let layout = SurfaceLayout::new(shape).unwrap();
            let mut hash = 0xCBF2_9CE4_8422_2325u64;
            for level in 0..shape.levels {
                for [x, y, z, sample] in places(&layout, level) {
                    hash = (hash ^ layout.offset(level, x, y, z, sample)).wrapping_mul(0x100_0000_01B3);
                }
            }
            count += 1;
            if hash != expected {
                wrong.push(layout);
            }
        }
        assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
        assert!(count > 200);
    }

    /// No two elements of a surface share a byte, and all lie inside it, whatever the base's low bits.
    #[test]
    fn places_are_distinct() {
        for (shape, _) in golden() {
            let layout = SurfaceLayout::new(SurfaceShape { xor: 0x35, ..shape }).unwrap();
            let mut seen = vec![false; (layout.size() / u64::from(shape.bytes)) as usize];
            for level in 0..shape.levels {
                for [x, y, z, sample] in places(&layout, level) {
                    let offset = layout.offset(level, x, y, z, sample);
                    assert_eq!(offset % u64::from(shape.bytes), 0);
                    let slot = &mut seen[(offset / u64::from(shape.bytes)) as usize];
                    assert!(
                        !*slot,
                        "{layout:?}: {x},{y},{z},{sample} of level {level} shares its place"
                    );
                    *slot = true;
                }
            }
        }
    }

    /// Orders of the 4 KiB standard mode that round trips can't tell from wrong ones (known trap 16).
    #[test]
    fn golden_offsets() {
        for (mode, bytes, x, y, offset) in [
            (SwizzleMode::Standard4K, 1, 4, 0, 0x4),
            (SwizzleMode::Standard4K, 1, 0, 1, 0x10),
            (SwizzleMode::Standard4K, 2, 0, 1, 0x10),
            (SwizzleMode::Standard4K, 4, 4, 0, 0x80),
            (SwizzleMode::Standard4K, 8, 2, 0, 0x40),
            (SwizzleMode::Standard4K, 16, 1, 0, 0x40),
            (SwizzleMode::Display4KX, 4, 0, 1, 0x10),
            (SwizzleMode::Display4KX, 4, 8, 0, 0x200),
            (SwizzleMode::Display4KX, 4, 0, 8, 0x100),
            (SwizzleMode::Render64KX, 4, 8, 0, 0x100),
            (SwizzleMode::Render64KX, 4, 0, 8, 0x1100),
            // 8-byte blocks are 128x64, two to a row here; y6 lies outside the block and still flips bit 11.
            (SwizzleMode::Render64KX, 8, 0, 64, 2 * 0x10000 + 0x800),
        ] {
            let layout = SurfaceLayout::new(SurfaceShape::flat(mode, bytes, 256, 256, 0)).unwrap();
            assert_eq!(layout.offset(0, x, y, 0, 0), offset, "{layout:?} at {x},{y}");
        }
    }

    /// Levels of block-compressed surfaces are rounded from texels, their room from elements.
    #[test]
    fn block_compressed_levels_have_their_own_size() {
        let layout = SurfaceLayout::new(SurfaceShape {
            block: 4,
            levels: 5,
            ..SurfaceShape::flat(SwizzleMode::Standard4KX, 8, 17, 40, 0)
        })
        .unwrap();
        let sizes: Vec<_> = (0..5).map(|level| layout.level_size(level)).collect();
        assert_eq!(sizes, [[5, 10, 1], [2, 5, 1], [1, 3, 1], [1, 2, 1], [1, 1, 1]]);
    }

    #[test]
    fn tiling_and_back_gives_the_same_rows() {
        for levels in [1, 7] {
            let layout = SurfaceLayout::new(SurfaceShape {
                levels,
                depth: 2,
                ..SurfaceShape::flat(SwizzleMode::Render64KX, 4, 100, 60, 0x12)
            })
            .unwrap();
            let mut tiled = vec![0; layout.size() as usize];
            let rows = |level: u32, z: u32| -> Vec<u8> {
                let [width, height, _] = layout.level_size(level);
                (0..width * height * 4)
                    .map(|i| ((i + level + 3 * z) * 7 % 251) as u8)
                    .collect()
            };
            let slices: Vec<(u32, u32)> = (0..levels).flat_map(|level| [(level, 0), (level, 1)]).collect();
            for (level, z) in &slices {
                assert!(layout.tile(*level, *z, &rows(*level, *z), &mut tiled));
            }
            for (level, z) in &slices {
                let mut back = vec![0; rows(*level, *z).len()];
                assert!(layout.detile(*level, *z, &tiled, &mut back));
                assert_eq!(back, rows(*level, *z), "level {level}, slice {z}");
                assert!(!layout.detile(*level, *z, &tiled[1..], &mut back));
                assert!(!layout.detile(*level, 2, &tiled, &mut back));
            }
        }
    }

    #[test]
    fn what_the_chip_does_not_have_is_refused() {
        for number in [3, 4, 16, 19, 23, 28, 31, 99] {
            assert_eq!(SwizzleMode::from_number(number), Err(LayoutError::Mode(number)));
        }
        assert_eq!(SwizzleMode::from_number(27), Ok(SwizzleMode::Render64KX));
        let flat = SurfaceShape::flat(SwizzleMode::Depth64KX, 4, 64, 64, 0);
        let linear = SwizzleMode::Linear;
        for (shape, part) in [
            (SurfaceShape { bytes: 16, ..flat }, "elements of 16 bytes"),
            (SurfaceShape { bytes: 3, ..flat }, "elements of 3 bytes"),
            (SurfaceShape { samples: 16, ..flat }, "samples: 16"),
            (
                SurfaceShape {
                    mode: linear,
                    samples: 2,
                    ..flat
                },
                "samples: 2",
            ),
            (SurfaceShape { levels: 8, ..flat }, "no 8 mip levels"),
            (SurfaceShape { levels: 0, ..flat }, "no 0 mip levels"),
            (
                SurfaceShape {
                    levels: 2,
                    samples: 2,
                    ..flat
                },
                "no 2 mip levels",
            ),
        ] {
            let error = SurfaceLayout::new(shape).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
