//! Buffers, imported host memory, the stream of short-lived data, and readbacks.

pub mod buffer;
pub mod host_import;
pub mod readback;
pub mod stream;
