//! GPU timestamps.

use super::Recorder;
use crate::device::Device;
use crate::device::retire::Retired;
use crate::error::{DriverError, During, RecordError};
use ash::vk;
use std::sync::Arc;

struct TimestampInner {
    device: Device,
    raw: vk::QueryPool,
    count: u32,
}

impl Drop for TimestampInner {
    fn drop(&mut self) {
        self.device.retire(Retired::QueryPool(self.raw));
    }
}

/// A number of timestamps. Clones share them.
#[derive(Clone)]
pub struct TimestampPool {
    inner: Arc<TimestampInner>,
}

impl Device {
    /// Makes `count` timestamps, to be reset before their first use.
    ///
    /// # Errors
    /// What the driver refused; a queue without timestamps counts as `ERROR_FEATURE_NOT_PRESENT`.
    pub fn create_timestamps(&self, count: u32) -> Result<TimestampPool, DriverError> {
        let action = "creating timestamps";
        if self.limits().timestamp_period == 0.0 {
            return Err(DriverError::new(action, vk::Result::ERROR_FEATURE_NOT_PRESENT));
        }
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TIMESTAMP)
            .query_count(count.max(1));
        // SAFETY: the device is alive.
        let raw = unsafe { self.inner.raw.create_query_pool(&info, None) }.during(action)?;
        Ok(TimestampPool {
            inner: Arc::new(TimestampInner {
                device: self.clone(),
                raw,
                count: count.max(1),
            }),
        })
    }
}

impl TimestampPool {
    /// The timestamps that the GPU has written since their reset, in nanoseconds of its own clock. Never waits.
    ///
    /// # Errors
    /// What the driver refused.
    pub fn nanoseconds(&self) -> Result<Vec<Option<u64>>, DriverError> {
        // Each result is the ticks and a word that says whether they are there.
        let mut results = vec![[0_u64; 2]; self.inner.count as usize];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
        // SAFETY: the pool is alive, and the results hold two words for each of its queries.
        let answer = unsafe {
            self.inner
                .device
                .inner
                .raw
                .get_query_pool_results(self.inner.raw, 0, &mut results, flags)
        };
        match answer {
            Ok(()) | Err(vk::Result::NOT_READY) => {}
            Err(result) => return Err(DriverError::new("reading timestamps", result)),
        }
        let period = f64::from(self.inner.device.limits().timestamp_period);
        let nanoseconds = |ticks: u64| (ticks as f64 * period) as u64;
        Ok(results
            .iter()
            .map(|[ticks, there]| (*there != 0).then(|| nanoseconds(*ticks)))
            .collect())
    }
}

impl Recorder {
    /// Makes all timestamps of `pool` ready to be written. Ends rendering.
    pub fn reset_timestamps(&mut self, pool: &TimestampPool) {
        let Some(command) = self.command_outside() else {
            return;
        };
        // SAFETY: the command buffer is recording, outside of rendering.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_reset_query_pool(command, pool.inner.raw, 0, pool.inner.count);
        };
    }

    /// Writes a timestamp once the commands before it have passed `stage`.
    pub fn write_timestamp(&mut self, pool: &TimestampPool, index: u32, stage: vk::PipelineStageFlags2) {
        let Some(command) = self.command() else { return };
        if index >= pool.inner.count {
            let reason = format!("timestamp {index} of a pool of {}", pool.inner.count);
            return self.fail(RecordError::Argument {
                command: "write_timestamp",
                reason,
            });
        }
        // SAFETY: the command buffer is recording.
        unsafe {
            self.device
                .inner
                .raw
                .cmd_write_timestamp2(command, stage, pool.inner.raw, index);
        };
    }
}
