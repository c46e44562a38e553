//! Bytes on their way from the GPU to the CPU.

use super::buffer::Buffer;
use crate::device::Device;
use crate::error::{MemoryError, ReadbackError};
use crate::timeline::TimelineValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// No submission yet.
pub(crate) const UNSUBMITTED: u64 = u64::MAX;

/// A copy that a recorded command fills. Its bytes are there once the submission has completed.
pub struct Readback {
    pub(crate) device: Device,
    pub(crate) buffer: Buffer,
    /// Timeline value, or [`UNSUBMITTED`].
    pub(crate) value: Arc<AtomicU64>,
}

impl Readback {
    /// The submission that fills it, once there is one.
    #[must_use]
    pub fn value(&self) -> Option<TimelineValue> {
        match self.value.load(Ordering::Acquire) {
            UNSUBMITTED => None,
            value => Some(TimelineValue(value)),
        }
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.buffer.size()
    }

    /// The bytes; rows and layers of an image lie tight, layers behind each other.
    ///
    /// # Errors
    /// [`ReadbackError::NotSubmitted`] and [`ReadbackError::NotCompleted`]; it never waits.
    pub fn bytes(&self) -> Result<&[u8], ReadbackError> {
        let value = self.value().ok_or(ReadbackError::NotSubmitted)?;
        let completed = self.device.completed()?;
        if completed < value {
            return Err(ReadbackError::NotCompleted { value, completed });
        }
        let mapped = self.buffer.mapped().ok_or(MemoryError::NotMapped)?;
        // SAFETY: the buffer belongs to this readback alone and is written by one copy, which has completed; the
        // submission's last barrier made it visible to the host.
        Ok(unsafe { std::slice::from_raw_parts(mapped.as_ptr(), self.buffer.size() as usize) })
    }
}
