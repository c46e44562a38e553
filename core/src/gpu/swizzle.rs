//! Surface layouts: where a texel of a tiled surface lies.
//!
//! Inside a block the address is linear over GF(2): each address bit is the XOR of some coordinate bits. So an
//! offset is `fx(x) ^ fy(y) ^ fz(z)`, and the equations below are the whole truth of a mode. They are those of a
//! gfx10.1 chip with 16 pipes and a 256-byte interleave (GB_ADDR_CONFIG 0x00100044), which console read-backs
//! agree with; coordinates beyond the block take part where an equation names them.

use std::fmt;

/// A swizzle mode that Relic has equations for, with the console's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum SwizzleMode {
    /// Rows, each padded to 256 bytes.
    Linear = 0,
    /// 256-byte blocks, standard order.
    Standard256 = 1,
    /// 256-byte blocks, display order.
    Display256 = 2,
    /// 4 KiB blocks, standard order.
    Standard4K = 5,
    /// 4 KiB blocks, display order.
    Display4K = 6,
    /// 64 KiB blocks, standard order.
    Standard64K = 9,
    /// 64 KiB blocks, display order.
    Display64K = 10,
    /// 4 KiB blocks, standard order, pipe bits XORed.
    Standard4KX = 21,
    /// 4 KiB blocks, display order, pipe bits XORed.
    Display4KX = 22,
    /// 64 KiB blocks, depth order, pipe bits XORed.
    Depth64KX = 24,
    /// 64 KiB blocks, standard order, pipe bits XORed.
    Standard64KX = 25,
    /// 64 KiB blocks, display order, pipe bits XORed.
    Display64KX = 26,
    /// 64 KiB blocks, render-target order, pipe bits XORed.
    Render64KX = 27,
}

/// Why a layout can't be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayoutError {
    /// No equations for the mode.
    #[error("swizzle mode {0} is not supported")]
    Mode(u32),
    /// No equations for the element size in this mode.
    #[error("swizzle mode {mode:?} has no equation for elements of {bytes} bytes")]
    ElementSize {
        /// The mode.
        mode: SwizzleMode,
        /// Bytes of an element.
        bytes: u32,
    },
}

/// Coordinate bits in the order of rising address bits: `x0` is `X(0)`, pairs are XORed.
#[derive(Clone, Copy)]
enum Source {
    /// One bit of x.
    X(u8),
    /// One bit of y.
    Y(u8),
    /// A bit of x XOR a bit of y.
    Xy(u8, u8),
}
use Source::{X, Xy, Y};

/// Standard order: address bits from log2(element size) up to 15, by element size.
const STANDARD: [&[Source]; 5] = [
    &[
        X(0),
        X(1),
        X(2),
        X(3),
        Y(0),
        Y(1),
        Y(2),
        Y(3),
        Y(4),
        X(4),
        Y(5),
        X(5),
        Y(6),
        X(6),
        Y(7),
        X(7),
    ],
    &[
        X(0),
        X(1),
        X(2),
        Y(0),
        Y(1),
        Y(2),
        X(3),
        Y(3),
        X(4),
        Y(4),
        X(5),
        Y(5),
        X(6),
        Y(6),
        X(7),
    ],
    &[
        X(0),
        X(1),
        Y(0),
        Y(1),
        Y(2),
        X(2),
        Y(3),
        X(3),
        Y(4),
        X(4),
        Y(5),
        X(5),
        Y(6),
        X(6),
    ],
    &[
        X(0),
        Y(0),
        Y(1),
        X(1),
        X(2),
        Y(2),
        X(3),
        Y(3),
        X(4),
        Y(4),
        X(5),
        Y(5),
        X(6),
    ],
    &[
        Y(0),
        Y(1),
        X(0),
        X(1),
        Y(2),
        X(2),
        Y(3),
        X(3),
        Y(4),
        X(4),
        Y(5),
        X(5),
    ],
];

/// Display order below address bit 8.
const DISPLAY_LOW: [&[Source]; 5] = [
    &[X(0), X(1), X(2), Y(1), Y(0), Y(2), X(3), Y(3)],
    &[X(0), X(1), X(2), Y(0), Y(1), Y(2), X(3)],
    &[X(0), X(1), Y(0), Y(1), Y(2), X(2)],
    &[X(0), Y(0), X(1), X(2), Y(1)],
    &[X(0), Y(0), X(1), Y(1)],
];

/// Address bits 8 to 11 of the standard and display orders with pipe XOR.
const PIPES: [&[Source]; 5] = [
    &[Xy(7, 4), Xy(4, 7), Xy(6, 5), Xy(5, 6)],
    &[Xy(7, 3), Xy(4, 6), Xy(6, 4), Xy(5, 5)],
    &[Xy(6, 3), Xy(3, 6), Xy(5, 4), Xy(4, 5)],
    &[Xy(6, 2), Xy(3, 5), Xy(5, 3), Xy(4, 4)],
    &[Xy(5, 2), Xy(2, 5), Xy(4, 3), Xy(3, 4)],
];

/// Render-target order below address bit 8.
const RENDER_LOW: [&[Source]; 5] = [
    &[X(0), X(1), X(2), Y(1), Y(0), Y(2), X(3), Y(4)],
    &[X(0), X(1), X(2), Y(0), Y(1), Y(2), X(3)],
    &[X(0), X(1), Y(0), Y(1), Y(2), X(2)],
    &[X(0), Y(0), X(1), X(2), Y(1)],
    &[X(0), Y(0), X(1), Y(1)],
];

/// Depth order below address bit 8; 16-byte elements do not occur.
const DEPTH_LOW: [&[Source]; 4] = [
    &[X(0), Y(0), X(1), Y(1), X(2), Y(2), X(3), Y(4)],
    &[X(0), Y(0), X(1), Y(1), X(2), Y(2), X(3)],
    &[X(0), Y(0), X(1), Y(1), X(2), Y(2)],
    &[X(0), Y(0), X(1), Y(1), X(2)],
];

/// Address bits 8 to 11 of the render-target and depth orders, for every element size.
const RENDER_PIPES: &[Source] = &[Xy(3, 3), Xy(4, 4), Xy(6, 5), Xy(5, 6)];

/// Address bits 12 to 15 of the render-target and depth orders.
const RENDER_HIGH: [&[Source]; 5] = [
    &[Y(6), X(6), Y(7), X(7)],
    &[Y(4), X(6), Y(6), X(7)],
    &[Y(3), X(4), Y(6), X(6)],
    &[Y(2), X(3), Y(4), X(6)],
    &[Y(2), X(2), Y(3), X(4)],
];

/// Masks of the coordinate bits that make up each address bit.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct AddressBit {
    x: u32,
    y: u32,
}

impl SwizzleMode {
    /// Every mode, for tests and tables.
    pub const ALL: [Self; 13] = [
        Self::Linear,
        Self::Standard256,
        Self::Display256,
        Self::Standard4K,
        Self::Display4K,
        Self::Standard64K,
        Self::Display64K,
        Self::Standard4KX,
        Self::Display4KX,
        Self::Depth64KX,
        Self::Standard64KX,
        Self::Display64KX,
        Self::Render64KX,
    ];

    /// The mode with the console's number.
    ///
    /// # Errors
    /// [`LayoutError::Mode`] for one that Relic has no equations for: never a copy as if it were linear.
    pub fn from_number(number: u32) -> Result<Self, LayoutError> {
        Self::ALL
            .into_iter()
            .find(|mode| *mode as u32 == number)
            .ok_or(LayoutError::Mode(number))
    }

    /// log2 of the block's bytes; 8 for linear, where it is the alignment of a row.
    #[must_use]
    pub const fn block_bytes_log2(self) -> u32 {
        match self {
            Self::Linear | Self::Standard256 | Self::Display256 => 8,
            Self::Standard4K | Self::Display4K | Self::Standard4KX | Self::Display4KX => 12,
            _ => 16,
        }
    }

    fn equation(self, element_log2: usize) -> Option<[AddressBit; 16]> {
        let low: &[Source] = match self {
            Self::Linear => return Some([AddressBit::default(); 16]),
            Self::Standard256
            | Self::Standard4K
            | Self::Standard64K
            | Self::Standard4KX
            | Self::Standard64KX => &STANDARD[element_log2][..8 - element_log2],
            Self::Display256 | Self::Display4K | Self::Display64K | Self::Display4KX | Self::Display64KX => {
                DISPLAY_LOW[element_log2]
            }
            Self::Render64KX => RENDER_LOW[element_log2],
            Self::Depth64KX => DEPTH_LOW.get(element_log2)?,
        };
        let standard_high = &STANDARD[element_log2][8 - element_log2..];
        let (middle, high): (&[Source], &[Source]) = match self {
            Self::Standard4KX | Self::Display4KX | Self::Standard64KX | Self::Display64KX => {
                (PIPES[element_log2], &standard_high[4..])
            }
            Self::Render64KX | Self::Depth64KX => (RENDER_PIPES, RENDER_HIGH[element_log2]),
            _ => (&standard_high[..4], &standard_high[4..]),
        };
        let mut bits = [AddressBit::default(); 16];
        let count = self.block_bytes_log2() as usize - element_log2;
        for (bit, source) in bits[element_log2..]
            .iter_mut()
            .zip(low.iter().chain(middle).chain(high))
            .take(count)
        {
            *bit = match *source {
                X(x) => AddressBit { x: 1 << x, y: 0 },
                Y(y) => AddressBit { x: 0, y: 1 << y },
                Xy(x, y) => AddressBit { x: 1 << x, y: 1 << y },
            };
        }
        Some(bits)
    }
}

/// Layout of one slice of one mip level.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SurfaceLayout {
    mode: SwizzleMode,
    element_log2: u32,
    width: u32,
    height: u32,
    pitch: u32,
    block_width_log2: u32,
    block_height_log2: u32,
    xor: u32,
    equation: [AddressBit; 16],
}

impl fmt::Debug for SurfaceLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} {}x{} (pitch {}) of {} bytes, xor {:#x}",
            self.mode,
            self.width,
            self.height,
            self.pitch,
            1 << self.element_log2,
            self.xor
        )
    }
}

impl SurfaceLayout {
    /// Layout of `width` x `height` elements (texels, or blocks of a block-compressed format) of `bytes` bytes
    /// each. `pipe_bank_xor` is the low byte of the surface's base in units of 256 bytes.
    ///
    /// # Errors
    /// [`LayoutError::ElementSize`] when the mode has no equation for the element size.
    pub fn new(
        mode: SwizzleMode,
        bytes: u32,
        width: u32,
        height: u32,
        pipe_bank_xor: u32,
    ) -> Result<Self, LayoutError> {
        let refused = LayoutError::ElementSize { mode, bytes };
        if !bytes.is_power_of_two() || bytes > 16 {
            return Err(refused);
        }
        let element_log2 = bytes.trailing_zeros();
        let equation = mode.equation(element_log2 as usize).ok_or(refused)?;
        let elements_log2 = mode.block_bytes_log2() - element_log2;
        let (block_width_log2, block_height_log2) = if mode == SwizzleMode::Linear {
            (elements_log2, 0)
        } else {
            (elements_log2.div_ceil(2), elements_log2 / 2)
        };
        Ok(Self {
            mode,
            element_log2,
            width,
            height,
            pitch: width.next_multiple_of(1 << block_width_log2),
            block_width_log2,
            block_height_log2,
            xor: pipe_bank_xor << 8 & ((1 << mode.block_bytes_log2()) - 1),
            equation,
        })
    }

    /// Bytes that the slice covers.
    #[must_use]
    pub fn size(&self) -> u64 {
        let rows = self.height.next_multiple_of(1 << self.block_height_log2);
        (u64::from(self.pitch) * u64::from(rows)) << self.element_log2
    }

    /// Elements from one row of the padded surface to the next.
    #[must_use]
    pub const fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Byte offset of the element at column `x`, row `y`.
    #[must_use]
    pub fn offset(&self, x: u32, y: u32) -> u64 {
        self.row_base(y) + u64::from(self.column(x).0) + u64::from(self.column(x).1 ^ self.row(y))
    }

    /// Offset of the row of blocks that `y` lies in.
    fn row_base(&self, y: u32) -> u64 {
        let block_row = u64::from(y >> self.block_height_log2);
        (block_row * u64::from(self.pitch >> self.block_width_log2)) << self.mode.block_bytes_log2()
    }

    /// Block offset and in-block part of column `x`.
    fn column(&self, x: u32) -> (u32, u32) {
        if self.mode == SwizzleMode::Linear {
            return (x << self.element_log2, 0);
        }
        let block = x >> self.block_width_log2 << self.mode.block_bytes_log2();
        (block, self.fold(|bit| bit.x & x) ^ self.xor)
    }

    /// In-block part of row `y`.
    fn row(&self, y: u32) -> u32 {
        self.fold(|bit| bit.y & y)
    }

    fn fold(&self, part: impl Fn(&AddressBit) -> u32) -> u32 {
        let mut offset = 0;
        for (i, bit) in self.equation.iter().enumerate() {
            offset |= (part(bit).count_ones() & 1) << i;
        }
        offset
    }

    /// Copies the elements from `tiled` (at least [`Self::size`] bytes) to tight rows in `linear`.
    ///
    /// Returns `false`, having copied nothing, when a buffer is too small.
    #[must_use]
    pub fn detile(&self, tiled: &[u8], linear: &mut [u8]) -> bool {
        self.each(tiled.len(), linear.len(), |tiled_at, linear_at, bytes| {
            linear[linear_at..linear_at + bytes].copy_from_slice(&tiled[tiled_at..tiled_at + bytes]);
        })
    }

    /// Copies tight rows in `linear` to their places in `tiled`. Padding keeps its bytes.
    ///
    /// Returns `false`, having copied nothing, when a buffer is too small.
    #[must_use]
    pub fn tile(&self, linear: &[u8], tiled: &mut [u8]) -> bool {
        self.each(tiled.len(), linear.len(), |tiled_at, linear_at, bytes| {
            tiled[tiled_at..tiled_at + bytes].copy_from_slice(&linear[linear_at..linear_at + bytes]);
        })
    }

    fn each(&self, tiled: usize, linear: usize, mut copy: impl FnMut(usize, usize, usize)) -> bool {
        let bytes = 1usize << self.element_log2;
        let tight = (u64::from(self.width) * u64::from(self.height)) << self.element_log2;
        if (tiled as u64) < self.size() || (linear as u64) < tight {
            return false;
        }
        let columns: Vec<(u32, u32)> = (0..self.width).map(|x| self.column(x)).collect();
        let mut at = 0;
        for y in 0..self.height {
            let base = self.row_base(y);
            let row = self.row(y);
            for (block, column) in &columns {
                copy(
                    base as usize + *block as usize + (column ^ row) as usize,
                    at,
                    bytes,
                );
                at += bytes;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every mode and element size is a bijection of four blocks: no two texels share a byte.
    #[test]
    fn every_mode_is_a_bijection() {
        for mode in SwizzleMode::ALL {
            for bytes in [1, 2, 4, 8, 16] {
                let Ok(one) = SurfaceLayout::new(mode, bytes, 1, 1, 0) else {
                    assert_eq!((mode, bytes), (SwizzleMode::Depth64KX, 16));
                    continue;
                };
                let (width, height) = (2 << one.block_width_log2, 2 << one.block_height_log2);
                let layout = SurfaceLayout::new(mode, bytes, width, height, 0x35).unwrap();
                let mut seen = vec![false; (layout.size() / u64::from(bytes)) as usize];
                for y in 0..height {
                    for x in 0..width {
                        let offset = layout.offset(x, y);
                        assert_eq!(offset % u64::from(bytes), 0);
                        let slot = &mut seen[(offset / u64::from(bytes)) as usize];
                        assert!(!*slot, "{layout:?}: {x},{y} shares its place");
                        *slot = true;
                    }
                }
                assert!(seen.into_iter().all(|slot| slot), "{layout:?}");
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
            let layout = SurfaceLayout::new(mode, bytes, 256, 256, 0).unwrap();
            assert_eq!(layout.offset(x, y), offset, "{layout:?} at {x},{y}");
        }
    }

    #[test]
    fn tiling_and_back_gives_the_same_rows() {
        let layout = SurfaceLayout::new(SwizzleMode::Render64KX, 4, 100, 60, 0x12).unwrap();
        let linear: Vec<u8> = (0..100 * 60 * 4).map(|i| (i * 7 % 251) as u8).collect();
        let mut tiled = vec![0; layout.size() as usize];
        assert!(layout.tile(&linear, &mut tiled));
        let mut back = vec![0; linear.len()];
        assert!(layout.detile(&tiled, &mut back));
        assert_eq!(back, linear);
        assert!(!layout.detile(&tiled[1..], &mut back));
    }

    #[test]
    fn unknown_modes_are_refused() {
        for number in [3, 4, 16, 23, 28, 31, 99] {
            assert_eq!(SwizzleMode::from_number(number), Err(LayoutError::Mode(number)));
        }
        assert_eq!(SwizzleMode::from_number(27), Ok(SwizzleMode::Render64KX));
    }
}
