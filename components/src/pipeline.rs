//! Pipelines.

use bevy_ecs::prelude::*;

/// Index of a pipeline in the pipeline store: an entity per pipeline.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[component(immutable)]
pub struct PipelineId(pub u32);

/// Hash of everything the pipeline was made from.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[component(immutable)]
pub struct PipelineHash(pub u64);
