//! Resources that stand for what the runtime was started with.

use std::sync::Arc;

use bevy_ecs::prelude::*;
use relic_components::{EventSink, Message};
use relic_core::{GuestMemory, Inbox};

/// Guest memory.
#[derive(Resource, Clone)]
pub struct Memory(pub Arc<GuestMemory>);

/// The pump's inbox.
#[derive(Resource, Clone)]
pub struct PumpInbox(pub Arc<Inbox<Message>>);

/// Where events for the guest go.
#[derive(Resource, Clone)]
pub struct Guest(pub Arc<dyn EventSink>);

/// What went wrong so far, for the report: one text each.
#[derive(Resource, Clone, Default, Debug)]
pub struct Faults(pub Vec<String>);
