//! The guest GPU's plain data: descriptors, formats and surface layouts of gfx10.1.
//!
//! Facts come from Mesa's register database (bit positions, enums) unless a line says otherwise. Nothing here
//! reads memory or knows Vulkan's interface; where a format has a Vulkan twin, its number from the Vulkan
//! registry stands in the table.

pub mod colour;
pub mod descriptor;
pub mod format;
pub mod swizzle;

pub use descriptor::{BufferDescriptor, ImageDescriptor, ImageType, SamplerDescriptor, Selector};
pub use format::{GuestFormat, NumberClass};
pub use swizzle::{Dimension, SurfaceLayout, SurfaceShape, SwizzleMode};
