//! The guest GPU plain data: descriptors, formats and swizzle modes.
