//! The Frame schedule: pictures, budgets, statistics.

pub mod evict;
pub mod picture;
pub(crate) mod present;
pub(crate) mod statistics;
