//! Guest threads. What guest calls need at once lives in the system libraries' own control blocks; these
//! components mirror it for systems, tools and profilers.

use bevy_ecs::prelude::*;
use relic_core::GuestRange;

/// A guest thread's number.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[component(immutable)]
pub struct GuestThread(pub u64);

/// Its name.
#[derive(Component, Clone, PartialEq, Eq, Debug)]
pub struct ThreadName(pub String);

/// Console priority, 256 (highest) to 767 (lowest).
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority(pub i32);

/// Its stack.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackRange(pub GuestRange);
