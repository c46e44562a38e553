//! Surface layouts: where a texel of a surface lies.
//!
//! Inside a block the address is linear over GF(2): each address bit is the XOR of some coordinate bits. So an
//! offset is `fx(x) ^ fy(y) ^ fz(z) ^ fs(sample)`, and the equations in `equation.rs` are the whole truth of a mode.
//! `surface.rs` says how blocks make up mip levels, slices and volumes.

mod equation;
mod surface;

pub use surface::{SurfaceLayout, SurfaceShape};

/// How blocks of a surface extend.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dimension {
    /// Rows of one line; also arrays of them.
    D1,
    /// Rows and columns; also arrays and cubes.
    D2,
    /// Volumes.
    D3,
}

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
    /// 64 KiB blocks of partially resident surfaces, standard order.
    Standard64KT = 17,
    /// 64 KiB blocks of partially resident surfaces, display order.
    Display64KT = 18,
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
    /// No equation for these elements in this mode.
    #[error(
        "swizzle mode {mode:?} has no equation for elements of {bytes} bytes ({dimension:?}, samples: {samples})"
    )]
    Element {
        /// The mode.
        mode: SwizzleMode,
        /// Dimension of the surface.
        dimension: Dimension,
        /// Bytes of an element.
        bytes: u32,
        /// Samples of an element.
        samples: u32,
    },
    /// More levels than halving the sides gives, or several levels of several samples.
    #[error("a surface of {width}x{height}x{depth} with {samples} samples has no {levels} mip levels")]
    Levels {
        /// Width in elements.
        width: u32,
        /// Height in elements.
        height: u32,
        /// Slices, or depth of a volume.
        depth: u32,
        /// Samples of an element.
        samples: u32,
        /// Levels asked for.
        levels: u32,
    },
}

impl SwizzleMode {
    /// Every mode, for tests and tables.
    pub const ALL: [Self; 15] = [
        Self::Linear,
        Self::Standard256,
        Self::Display256,
        Self::Standard4K,
        Self::Display4K,
        Self::Standard64K,
        Self::Display64K,
        Self::Standard64KT,
        Self::Display64KT,
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

    /// Whether the mode XORs pipe bits, and so the low bits of a base address with them.
    #[must_use]
    pub const fn has_pipe_xor(self) -> bool {
        self as u8 >= 20
    }

    /// Whether a volume's blocks are as deep as they are wide, instead of one slice each.
    const fn is_thick(self, dimension: Dimension) -> bool {
        matches!(dimension, Dimension::D3)
            && !matches!(self, Self::Linear | Self::Depth64KX | Self::Render64KX)
    }
}
