//! Startup: what the log begins with.

use bevy_ecs::prelude::*;

use crate::gpu::Gpu;

/// Tells which device the runtime works with.
pub(crate) fn announce_device(gpu: Res<Gpu>) {
    let report = gpu.device.report();
    tracing::info!(
        "GPU {} ({}), Vulkan {}.{}.{}, subgroups of {}",
        report.name,
        report.driver,
        report.api[0],
        report.api[1],
        report.api[2],
        report.subgroup_size
    );
}
