//! Statistics: what a profiler plots, once a frame.

use bevy_ecs::prelude::*;
use relic_components::Counters;

/// Counters as they stood at the last frame.
#[derive(Resource, Default)]
pub struct LastFrame(Counters);

/// Plots what the frame added.
pub(crate) fn plot_counters(counters: Res<Counters>, mut last: ResMut<LastFrame>) {
    for (name, now, before) in [
        ("draws", counters.draws, last.0.draws),
        ("dispatches", counters.dispatches, last.0.dispatches),
        ("cuts", counters.cuts, last.0.cuts),
        ("waits", counters.waits, last.0.waits),
        ("walks", counters.walks, last.0.walks),
        ("walks handed back", counters.handed_back, last.0.handed_back),
        ("bytes compared", counters.compared, last.0.compared),
        ("batches", counters.batches, last.0.batches),
    ] {
        relic_core::trace::plot(name, (now - before) as f64);
    }
    last.0 = *counters;
}
