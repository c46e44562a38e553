//! The one timeline: each submission gets the next value, and the GPU counts them off in order.

use crate::device::Device;
use crate::error::{DriverError, During, SubmitError, WaitError};
use crate::recorder::Recorder;
use ash::vk;
use std::fmt;
use std::time::Duration;

/// A point on the device's timeline semaphore. 0 is before any submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimelineValue(pub u64);

impl fmt::Display for TimelineValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Device {
    /// Submits what `recorder` holds and makes it ready for the next recording. An empty recording is submitted
    /// too, so that the answer is always a value of its own.
    ///
    /// At its end all writes become visible to everything submitted later and to the host, so the reader of a
    /// completed value needs no barrier.
    ///
    /// # Errors
    /// [`SubmitError::Record`] when a command failed while recording; the recording is then discarded.
    /// [`SubmitError::Driver`] when the driver refused, device loss included.
    pub fn submit(&self, recorder: &mut Recorder) -> Result<TimelineValue, SubmitError> {
        let recording = recorder.finish()?;
        let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(recording.command)];
        let mut last = self.inner.submitted.lock();
        let value = TimelineValue(last.0 + 1);
        let signal = [vk::SemaphoreSubmitInfo::default()
            .semaphore(self.inner.timeline)
            .value(value.0)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)];
        let submit = [vk::SubmitInfo2::default()
            .command_buffer_infos(&commands)
            .signal_semaphore_infos(&signal)];
        // SAFETY: the command buffer ended recording and is not pending; the queue is used under `submitted` only.
        let result = unsafe {
            self.inner
                .raw
                .queue_submit2(self.inner.queue, &submit, vk::Fence::null())
        }
        .during("submitting commands");
        match result {
            Ok(()) => {
                *last = value;
                self.inner.retire.lock().submitted(recording.ticket, value);
                drop(last);
                recorder.submitted(value);
                Ok(value)
            }
            Err(error) => {
                drop(last);
                recorder.discard();
                Err(error.into())
            }
        }
    }

    /// The value the next submission gets. Exact where one thread submits; use it to say until when a stream slice
    /// that the next submission reads has to live.
    #[must_use]
    pub fn next_value(&self) -> TimelineValue {
        TimelineValue(self.inner.submitted.lock().0 + 1)
    }

    /// The newest value that the GPU has completed. Never blocks.
    ///
    /// # Errors
    /// [`DriverError::DeviceLost`].
    pub fn completed(&self) -> Result<TimelineValue, DriverError> {
        // SAFETY: the semaphore lives as long as the device.
        unsafe { self.inner.raw.get_semaphore_counter_value(self.inner.timeline) }
            .map(TimelineValue)
            .during("reading the timeline")
    }

    /// Blocks until `value` is completed. For the waiter thread, tools and tests; never for a system.
    /// A value that is not submitted yet may be waited for.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] with the value reached; [`WaitError::Driver`] on device loss.
    pub fn wait(&self, value: TimelineValue, timeout: Duration) -> Result<(), WaitError> {
        let semaphores = [self.inner.timeline];
        let values = [value.0];
        let info = vk::SemaphoreWaitInfo::default()
            .semaphores(&semaphores)
            .values(&values);
        let nanoseconds = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the semaphore lives as long as the device.
        match unsafe { self.inner.raw.wait_semaphores(&info, nanoseconds) } {
            Ok(()) => Ok(()),
            Err(vk::Result::TIMEOUT) => Err(WaitError::TimedOut {
                value,
                completed: self.completed()?,
                milliseconds: timeout.as_millis(),
            }),
            Err(result) => Err(DriverError::new("waiting for the timeline", result).into()),
        }
    }
}
