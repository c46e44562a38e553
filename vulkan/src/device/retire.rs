//! Deferred deletion.
//!
//! Every recording takes a ticket when it begins. A dropped handle is tagged with the next ticket: only recordings
//! with a smaller one can name it. It is destroyed once none of those is open or in flight.

use crate::timeline::TimelineValue;
use ash::vk;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Order of recordings. Not the timeline: it is known when a recording begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(crate) u64);

/// A Vulkan object whose last handle is gone.
pub(crate) enum Retired {
    Buffer(vk::Buffer, vk_mem::Allocation),
    ImportedBuffer(vk::Buffer, vk::DeviceMemory, Arc<AtomicBool>),
    Image(vk::Image, vk_mem::Allocation, Vec<vk::ImageView>),
    Pipeline(vk::Pipeline),
    CommandPool(vk::CommandPool),
    DescriptorPool(vk::DescriptorPool),
    QueryPool(vk::QueryPool),
}

/// How many objects wait and how many were destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetireCounts {
    /// Objects whose handles are gone and that the GPU may still use.
    pub waiting: usize,
    /// Objects destroyed since the device was opened.
    pub destroyed: u64,
}

#[derive(Default)]
pub(crate) struct RetireList {
    next: u64,
    open: Vec<Ticket>,
    in_flight: VecDeque<(Ticket, TimelineValue)>,
    /// Tags never decrease from front to back.
    waiting: VecDeque<(Ticket, Retired)>,
    destroyed: u64,
}

impl RetireList {
    pub(crate) fn begin(&mut self) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.open.push(ticket);
        ticket
    }

    pub(crate) fn abandon(&mut self, ticket: Ticket) {
        self.open.retain(|open| *open != ticket);
    }

    pub(crate) fn submitted(&mut self, ticket: Ticket, value: TimelineValue) {
        self.abandon(ticket);
        self.in_flight.push_back((ticket, value));
    }

    pub(crate) fn retire(&mut self, object: Retired) {
        self.waiting.push_back((Ticket(self.next), object));
    }

    /// Takes what no recording can reach now that the GPU has completed `completed`.
    pub(crate) fn take_free(&mut self, completed: TimelineValue) -> Vec<Retired> {
        while self
            .in_flight
            .front()
            .is_some_and(|(_, value)| *value <= completed)
        {
            self.in_flight.pop_front();
        }
        let in_flight = self.in_flight.iter().map(|(ticket, _)| *ticket);
        let oldest = self
            .open
            .iter()
            .copied()
            .chain(in_flight)
            .min()
            .unwrap_or(Ticket(self.next));
        let free = self.waiting.partition_point(|(tag, _)| *tag <= oldest);
        self.destroyed += free as u64;
        self.waiting.drain(..free).map(|(_, object)| object).collect()
    }

    /// Takes everything, whoever may use it: for a device that is idle and going away.
    pub(crate) fn take_all(&mut self) -> Vec<Retired> {
        self.waiting.drain(..).map(|(_, object)| object).collect()
    }

    pub(crate) fn counts(&self) -> RetireCounts {
        RetireCounts {
            waiting: self.waiting.len(),
            destroyed: self.destroyed,
        }
    }
}

impl Retired {
    /// Destroys the object.
    ///
    /// # Safety
    /// It was made by `device` and `allocator`, and no recording that may still run names it.
    pub(crate) unsafe fn destroy(self, device: &ash::Device, allocator: &vk_mem::Allocator) {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Self::Buffer(buffer, mut allocation) => allocator.destroy_buffer(buffer, &mut allocation),
                Self::ImportedBuffer(buffer, memory, released) => {
                    device.destroy_buffer(buffer, None);
                    device.free_memory(memory, None);
                    released.store(true, Ordering::Release);
                }
                Self::Image(image, mut allocation, views) => {
                    for view in views {
                        device.destroy_image_view(view, None);
                    }
                    allocator.destroy_image(image, &mut allocation);
                }
                Self::Pipeline(pipeline) => device.destroy_pipeline(pipeline, None),
                Self::CommandPool(pool) => device.destroy_command_pool(pool, None),
                Self::DescriptorPool(pool) => device.destroy_descriptor_pool(pool, None),
                Self::QueryPool(pool) => device.destroy_query_pool(pool, None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeline() -> Retired {
        Retired::Pipeline(vk::Pipeline::null())
    }

    #[test]
    fn an_open_recording_holds_what_was_dropped_after_it_began() {
        let mut list = RetireList::default();
        list.retire(pipeline());
        let ticket = list.begin();
        list.retire(pipeline());
        assert_eq!(
            list.take_free(TimelineValue(0)).len(),
            1,
            "the one dropped before is free"
        );
        list.submitted(ticket, TimelineValue(1));
        assert_eq!(list.take_free(TimelineValue(0)).len(), 0);
        assert_eq!(list.take_free(TimelineValue(1)).len(), 1);
        assert_eq!(
            list.counts(),
            RetireCounts {
                waiting: 0,
                destroyed: 2
            }
        );
    }

    #[test]
    fn recordings_may_be_submitted_out_of_order() {
        let mut list = RetireList::default();
        let first = list.begin();
        let second = list.begin();
        list.submitted(second, TimelineValue(1));
        list.retire(pipeline());
        assert_eq!(
            list.take_free(TimelineValue(1)).len(),
            0,
            "the first recording is still open"
        );
        list.abandon(first);
        assert_eq!(list.take_free(TimelineValue(1)).len(), 1);
    }
}
