//! Zones of the GPU, by timestamps around each queue's commands: for Tracy and traces. They cost nothing while nobody looks.

use std::collections::VecDeque;

use relic_components::Queue;
use relic_core::trace::{GpuZone, wants_gpu, zone_name};
use relic_vulkan::{Device, Recorder, TimestampPool, vk};

/// Most zones of a batch; those beyond are left out.
const ZONES: usize = 16;

/// Zones of one batch: a timestamp in front of each and one behind it.
struct BatchZones {
    pool: TimestampPool,
    zones: Vec<GpuZone>,
    is_open: bool,
}

/// See the module's text.
#[derive(Default)]
pub struct GpuZones {
    open: Option<BatchZones>,
    /// By the timeline value of their batch.
    submitted: VecDeque<(u64, BatchZones)>,
    spare: Vec<TimestampPool>,
    /// The device has no timestamps.
    refused: bool,
}

impl GpuZones {
    /// In front of a queue's commands. Ends the zone before it.
    pub(crate) fn begin(&mut self, recorder: &mut Recorder, queue: Queue) {
        self.end(recorder);
        if self.refused || !wants_gpu() {
            return;
        }
        if self.open.is_none() {
            self.open = self.pool(recorder.device()).map(|pool| {
                recorder.reset_timestamps(&pool);
                BatchZones {
                    pool,
                    zones: Vec::new(),
                    is_open: false,
                }
            });
        }
        if let Some(batch) = &mut self.open
            && batch.zones.len() < ZONES
        {
            let index = 2 * batch.zones.len() as u32;
            recorder.write_timestamp(&batch.pool, index, vk::PipelineStageFlags2::TOP_OF_PIPE);
            batch.zones.push(GpuZone::begin(zone_name(&queue.0.to_string())));
            batch.is_open = true;
        }
    }

    /// Behind a queue's commands.
    pub(crate) fn end(&mut self, recorder: &mut Recorder) {
        if let Some(batch) = &mut self.open
            && std::mem::take(&mut batch.is_open)
            && let Some(zone) = batch.zones.last_mut()
        {
            zone.end();
            let index = 2 * batch.zones.len() as u32 - 1;
            recorder.write_timestamp(&batch.pool, index, vk::PipelineStageFlags2::BOTTOM_OF_PIPE);
        }
    }

    /// The batch has gone to the GPU.
    pub(crate) fn submitted(&mut self, value: u64) {
        self.submitted
            .extend(self.open.take().map(|batch| (value, batch)));
    }

    /// What was recorded is thrown away.
    pub(crate) fn discarded(&mut self) {
        self.spare.extend(self.open.take().map(|batch| batch.pool));
    }

    /// Reads the times of batches that are done.
    pub(crate) fn poll(&mut self, completed: u64) {
        while let Some((_, batch)) = self.submitted.pop_front_if(|(value, _)| *value <= completed) {
            // Times that the driver does not give are of no use, and no reason to stop.
            let times = batch.pool.nanoseconds().unwrap_or_default();
            for (zone, times) in batch.zones.into_iter().zip(times.as_chunks::<2>().0) {
                if let [Some(start), Some(end)] = *times {
                    zone.resolve(start, end);
                }
            }
            self.spare.push(batch.pool);
        }
    }

    fn pool(&mut self, device: &Device) -> Option<TimestampPool> {
        if let Some(pool) = self.spare.pop() {
            return Some(pool);
        }
        let pool = device
            .create_timestamps(2 * ZONES as u32)
            .inspect_err(|error| tracing::info!("no times of the GPU: {error}"));
        self.refused = pool.is_err();
        pool.ok()
    }
}
