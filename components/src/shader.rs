//! Shader registrations.

use bevy_ecs::prelude::*;
use relic_core::GuestAddress;

/// Index of a program in the shader store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ProgramId(pub u32);

/// A registered shader's code: an entity per registration.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[component(immutable)]
pub struct CodeAddress(pub GuestAddress);

/// The header it was registered with.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header(pub GuestAddress);

/// Binary type of the header: 0 CS, 1 PS, 2 GS (any vertex stage), 3 HS, 4 and 5 front halves, 6 and 7 back
/// halves, 8 FS.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
pub struct BinaryType(pub u8);

/// How far a program's preparation has come.
#[derive(Component, Clone, PartialEq, Eq, Debug)]
pub enum Preparation {
    /// On the shader pool.
    Pending,
    /// Ready to be specialised and drawn with.
    Ready,
    /// Refused, with the reason.
    Failed(String),
}

/// Batch number of the last use.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LastUse(pub u64);
