//! Recording of commands.
//!
//! A [`Recorder`] owns a ring of command pools. The first command after a submission opens the next pool whose last
//! submission has completed (or a new one); [`Device::submit`] closes and sends it. What a submission left bound or
//! set is forgotten: each starts with no pipeline, no index buffer and default dynamic state.
//!
//! # Errors
//! Commands return nothing. The first that fails is kept as an error, and nothing more is recorded until it is taken:
//! [`Recorder::take_error`] after a row tells which row failed and lets the rest go on, [`Device::submit`] reports
//! what nobody took and discards the recording.
//!
//! # Rendering
//! [`Recorder::begin_rendering`] is to be called before each draw and costs nothing where the targets stay the same.
//! Dispatches, copies, barriers and transitions end rendering by themselves.
//!
//! # Cost
//! No command allocates once the recorder is warm; pipelines and dynamic state are only set where they changed.

pub mod barrier;
pub mod descriptors;
pub mod draw;
pub mod dynamic_state;
pub mod query;
pub mod rendering;
pub mod transfer;
pub mod upload;

use crate::device::Device;
use crate::device::retire::{Retired, Ticket};
use crate::error::{DriverError, During, RecordError, SubmitError};
use crate::image::{ImageInner, ImageUse};
use crate::timeline::TimelineValue;
use ash::vk;
use descriptors::SetPools;
use dynamic_state::DynamicState;
use rendering::RenderingState;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A command pool with its one command buffer.
struct Slot {
    pool: vk::CommandPool,
    command: vk::CommandBuffer,
    sets: SetPools,
    /// Last submission, or 0.
    value: TimelineValue,
}

/// What [`Device::submit`] sends.
pub(crate) struct Recording {
    pub(crate) command: vk::CommandBuffer,
    pub(crate) ticket: Ticket,
}

struct Open {
    slot: Slot,
    ticket: Ticket,
}

/// State that a command buffer carries between commands.
#[derive(Default)]
struct Bound {
    graphics: vk::Pipeline,
    compute: vk::Pipeline,
    index: Option<(vk::Buffer, u64, vk::IndexType)>,
}

/// Records commands for [`Device::submit`]. Used by one thread at a time.
pub struct Recorder {
    device: Device,
    /// Oldest submission first.
    idle: VecDeque<Slot>,
    open: Option<Open>,
    error: Option<RecordError>,
    bound: Bound,
    dynamic: DynamicState,
    rendering: RenderingState,
    barriers: Vec<vk::ImageMemoryBarrier2<'static>>,
    /// Uses that images had before this recording moved them, to go back to if it is discarded.
    moved: Vec<(Arc<ImageInner>, ImageUse)>,
    readbacks: Vec<Arc<AtomicU64>>,
    labels: u32,
}

// SAFETY: command pools are used by whoever holds the recorder mutably, and the barriers' chain pointers are null.
unsafe impl Send for Recorder {}

impl Device {
    /// Makes a recorder with an empty ring.
    #[must_use]
    pub fn create_recorder(&self) -> Recorder {
        Recorder {
            device: self.clone(),
            idle: VecDeque::new(),
            open: None,
            error: None,
            bound: Bound::default(),
            dynamic: DynamicState::default(),
            rendering: RenderingState::default(),
            barriers: Vec::new(),
            moved: Vec::new(),
            readbacks: Vec::new(),
            labels: 0,
        }
    }

    fn create_slot(&self) -> Result<Slot, DriverError> {
        let raw = &self.inner.raw;
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(self.inner.queue_family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: the device is alive.
        let pool = unsafe { raw.create_command_pool(&info, None) }.during("creating a command pool")?;
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        // SAFETY: the pool was just made.
        let buffers = unsafe { raw.allocate_command_buffers(&info) }.during("allocating a command buffer");
        match buffers.map(|buffers| buffers.first().copied()) {
            Ok(Some(command)) => Ok(Slot {
                pool,
                command,
                sets: SetPools::default(),
                value: TimelineValue::default(),
            }),
            other => {
                // SAFETY: nobody uses the pool yet.
                unsafe { raw.destroy_command_pool(pool, None) };
                let unknown = || DriverError::new("allocating a command buffer", vk::Result::ERROR_UNKNOWN);
                Err(other.err().unwrap_or_else(unknown))
            }
        }
    }
}

impl Recorder {
    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether something was recorded since the last submission.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.open.is_some()
    }

    /// Command pools in the ring: as many as submissions were ever in flight at one time.
    #[must_use]
    pub fn pools(&self) -> usize {
        self.idle.len() + usize::from(self.open.is_some())
    }

    /// The first error since the last submission or take.
    #[must_use]
    pub fn error(&self) -> Option<&RecordError> {
        self.error.as_ref()
    }

    /// Takes the error, after which commands are recorded again. What was recorded before it stays.
    pub fn take_error(&mut self) -> Option<RecordError> {
        self.error.take()
    }

    /// The open command buffer, for commands that this crate does not wrap; opens one where none is, and answers
    /// `None` while an error stands. What such commands bind or set, the recorder does not know.
    pub fn raw(&mut self) -> Option<vk::CommandBuffer> {
        self.command()
    }

    fn fail(&mut self, error: impl Into<RecordError>) {
        if self.error.is_none() {
            self.error = Some(error.into());
        }
    }

    /// The open command buffer; opens one where none is. `None` while an error stands.
    #[inline]
    fn command(&mut self) -> Option<vk::CommandBuffer> {
        if self.error.is_some() {
            return None;
        }
        match &self.open {
            Some(open) => Some(open.slot.command),
            None => self.begin(),
        }
    }

    /// As [`Self::command`], with rendering ended.
    fn command_outside(&mut self) -> Option<vk::CommandBuffer> {
        self.end_rendering();
        self.command()
    }

    #[cold]
    fn begin(&mut self) -> Option<vk::CommandBuffer> {
        match self.try_begin() {
            Ok(command) => Some(command),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    fn try_begin(&mut self) -> Result<vk::CommandBuffer, DriverError> {
        let completed = self.device.completed()?;
        let slot = if self.idle.front().is_some_and(|slot| slot.value <= completed) {
            self.idle.pop_front()
        } else {
            None
        };
        let mut slot = match slot {
            Some(slot) => slot,
            None => self.device.create_slot()?,
        };
        let raw = &self.device.inner.raw;
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the slot's last submission has completed, so its pools are not in use; the recorder is their only
        // owner.
        let begun = unsafe {
            raw.reset_command_pool(slot.pool, vk::CommandPoolResetFlags::empty())
                .and_then(|()| slot.sets.reset(raw))
                .and_then(|()| raw.begin_command_buffer(slot.command, &info))
        };
        if let Err(result) = begun {
            self.idle.push_back(slot);
            return Err(DriverError::new("opening a command buffer", result));
        }
        let command = slot.command;
        let ticket = self.device.inner.retire.lock().begin();
        self.open = Some(Open { slot, ticket });
        Ok(command)
    }

    /// Closes the recording for submission.
    pub(crate) fn finish(&mut self) -> Result<Recording, SubmitError> {
        self.end_rendering();
        let Some(command) = self.command() else {
            let error = self.error.take();
            self.discard();
            return Err(match error {
                Some(error) => error.into(),
                None => DriverError::new("opening a command buffer", vk::Result::ERROR_UNKNOWN).into(),
            });
        };
        for _ in 0..std::mem::take(&mut self.labels) {
            self.device.end_label(command);
        }
        self.final_barrier(command);
        // SAFETY: the command buffer is recording, outside of rendering.
        let ended =
            unsafe { self.device.inner.raw.end_command_buffer(command) }.during("closing a command buffer");
        match (ended, &self.open) {
            (Ok(()), Some(open)) => Ok(Recording {
                command,
                ticket: open.ticket,
            }),
            (ended, _) => {
                self.discard();
                let unknown = || DriverError::new("closing a command buffer", vk::Result::ERROR_UNKNOWN);
                Err(ended.err().unwrap_or_else(unknown).into())
            }
        }
    }

    /// The recording reached the queue.
    pub(crate) fn submitted(&mut self, value: TimelineValue) {
        if let Some(Open { mut slot, .. }) = self.open.take() {
            slot.value = value;
            self.idle.push_back(slot);
        }
        self.forget_bound();
        self.moved.clear();
        for readback in self.readbacks.drain(..) {
            readback.store(value.0, Ordering::Release);
        }
    }

    /// Throws away what was recorded since the last submission, errors included. Images count as in the use they had.
    pub fn discard(&mut self) {
        if let Some(Open { slot, ticket }) = self.open.take() {
            self.device.inner.retire.lock().abandon(ticket);
            // Its value is of an older submission, which has completed: it is the first to be opened again.
            self.idle.push_front(slot);
        }
        for (image, before) in self.moved.drain(..).rev() {
            image.set_use(before);
        }
        self.readbacks.clear();
        self.forget_bound();
        self.error = None;
    }

    /// What the last command buffer had bound and set says nothing about the next. Done when it ends, so that state
    /// set before the next one's first command counts for it.
    fn forget_bound(&mut self) {
        self.bound = Bound::default();
        self.dynamic.forget();
        self.rendering.forget();
        self.labels = 0;
    }

    /// Opens a named group of commands, shown by captures. Nothing without validation.
    pub fn begin_label(&mut self, name: &str) {
        if self.device.inner.debug_utils.is_none() {
            return;
        }
        let Ok(name) = std::ffi::CString::new(name) else {
            return;
        };
        // Vulkan wants labels to be nested with rendering; ending rendering is the simple way to keep them so.
        let Some(command) = self.command_outside() else {
            return;
        };
        if let Some(debug) = &self.device.inner.debug_utils {
            let label = vk::DebugUtilsLabelEXT::default().label_name(&name);
            // SAFETY: the command buffer is recording.
            unsafe { debug.cmd_begin_debug_utils_label(command, &label) };
            self.labels += 1;
        }
    }

    /// Closes the innermost label. A submission closes those left open.
    pub fn end_label(&mut self) {
        if self.labels == 0 {
            return;
        }
        let Some(command) = self.command_outside() else {
            return;
        };
        self.labels -= 1;
        self.device.end_label(command);
    }
}

impl Device {
    fn end_label(&self, command: vk::CommandBuffer) {
        if let Some(debug) = &self.inner.debug_utils {
            // SAFETY: the command buffer is recording and has an open label.
            unsafe { debug.cmd_end_debug_utils_label(command) };
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.discard();
        let mut retire = self.device.inner.retire.lock();
        for slot in self.idle.drain(..) {
            for pool in slot.sets.into_pools() {
                retire.retire(Retired::DescriptorPool(pool));
            }
            retire.retire(Retired::CommandPool(slot.pool));
        }
    }
}
