//! Evict: stores come back under their budgets.

use bevy_ecs::prelude::*;

use crate::prepare::images::ImageStore;

/// Bytes that stores may hold.
#[derive(Resource, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Textures and targets.
    pub images: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { images: 1 << 30 }
    }
}

/// Drops the images used longest ago when all hold more than their budget.
pub(crate) fn evict_images(budgets: Res<Budgets>, mut images: ResMut<ImageStore>) {
    let dropped = images.evict(budgets.images);
    if dropped > 0 {
        tracing::debug!(
            "{dropped} images dropped: {} of {} bytes left",
            images.bytes(),
            budgets.images
        );
    }
}
