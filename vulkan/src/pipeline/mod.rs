//! Pipeline layouts and pipelines. Everything here can be made from any thread.

pub mod compute;
pub mod graphics;
pub mod layout;
pub mod shader;
