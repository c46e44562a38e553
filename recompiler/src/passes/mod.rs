//! Passes over the IR, one file each.

pub(crate) mod activity;
pub(crate) mod dead;
pub(crate) mod lanes;
pub(crate) mod lockstep;
pub(crate) mod numbering;
pub(crate) mod resources;
pub(crate) mod simplify;
pub(crate) mod straighten;
pub(crate) mod typing;
pub(crate) mod votes;
