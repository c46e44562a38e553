//! Host imports: guest memory that the GPU reads and writes in place.

use bevy_ecs::prelude::*;
use relic_core::GuestRange;

/// Index of an import in the import store: an entity per import.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[component(immutable)]
pub struct ImportId(pub u32);

/// The guest addresses behind an import.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
#[component(immutable)]
pub struct ImportedRange(pub GuestRange);
