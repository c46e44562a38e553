//! Resources that stand for what the runtime was started with.

use std::sync::Arc;

use bevy_ecs::prelude::*;
use relic_components::{EventSink, Message};
use relic_core::{
    GuestMemory, GuestRange, Inbox, MemoryReader,
    memory::{Stamp, WriteTracker},
};

/// Guest memory.
#[derive(Resource, Clone)]
pub struct Memory(pub Arc<GuestMemory>);

/// Who wrote guest memory since it was looked at last.
#[derive(Resource, Default, Debug)]
pub struct Writes(pub WriteTracker);

/// Looks at guest memory that was read before: whether it is still the same.
pub struct Looks<'a> {
    /// Guest memory.
    pub memory: &'a MemoryReader,
    /// Who wrote it.
    pub writes: &'a mut WriteTracker,
    /// Number of the run: one look in a run is enough.
    pub epoch: u64,
    /// Bytes that had to be compared.
    pub compared: u64,
}

/// When something was read from guest memory last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    epoch: u64,
    stamp: Stamp,
}

impl Looks<'_> {
    /// Whether what was read at `look` from all of `ranges` still stands. Where it may not, the caller reads again, and
    /// `look` is now.
    pub fn stands(&mut self, look: &mut Look, ranges: impl IntoIterator<Item = GuestRange>) -> bool {
        if look.epoch == self.epoch {
            return true;
        }
        look.epoch = self.epoch;
        let mut stands = true;
        let mut bytes = 0;
        for range in ranges {
            // Each is asked about, so that each is watched from now on.
            stands &= self.writes.is_unchanged(self.memory, range, look.stamp);
            bytes += range.size();
        }
        if !stands {
            look.stamp = self.writes.now();
            self.compared += bytes;
        }
        stands
    }
}

/// The pump's inbox.
#[derive(Resource, Clone)]
pub struct PumpInbox(pub Arc<Inbox<Message>>);

/// Where events for the guest go.
#[derive(Resource, Clone)]
pub struct Guest(pub Arc<dyn EventSink>);

/// What went wrong so far, for the report: one text each.
#[derive(Resource, Clone, Default, Debug)]
pub struct Faults(pub Vec<String>);
