//! Ingest: the inbox's messages become entities, components and resources.
//!
//! Together with the end of Settle this is the only place of Submit where entities are made and removed.

use bevy_ecs::prelude::*;
use hashbrown::HashMap;
use relic_components::{
    Accesses, Commands, Counters, Dispatches, Draws, Message, PacketRows, Queue, QueueStatus, RegisterBanks,
    batch::Snapshots,
    queue::{CommandCursor, PacketState, PendingSubmissions},
    shader::{BinaryType, CodeAddress, Header, LastUse},
    thread::{GuestThread, Priority, StackRange, ThreadName},
    video::{FlipRequest, VideoBuffers, VideoHandle, VideoOutput},
    work::{Captures, Completion, Completions, Evaluations, PendingLabels, Prepared},
};
use relic_core::{GuestAddress, QueueId};
use relic_schedules::{PacketTable, PumpControl};

use crate::{
    capture::StatePrograms, gpu::GpuTimeline, hazard::CutReason, prepare::DrawStates, resources::PumpInbox,
    settle::BatchWrites,
};

/// Entities by the ids that messages name them with.
#[derive(Resource, Default)]
pub struct Directory {
    queues: HashMap<QueueId, Entity>,
    threads: HashMap<u64, Entity>,
    outputs: HashMap<VideoHandle, Entity>,
    shaders: HashMap<(GuestAddress, GuestAddress), Entity>,
}

/// What is taken from the inbox, for whoever records it.
#[derive(Resource, Default, Debug)]
pub struct NotedMessages {
    /// Messages of this run, in order.
    pub messages: Vec<Message>,
    /// Nothing is taken for now.
    pub hold: bool,
}

/// Most messages taken in one run: the stages behind get their turn.
const MESSAGES: usize = 4096;

/// Takes what the inbox holds.
pub(crate) fn drain_inbox(world: &mut World) {
    let inbox = world.resource::<PumpInbox>().0.clone();
    if world
        .get_resource::<NotedMessages>()
        .is_some_and(|noted| noted.hold)
    {
        return;
    }
    for _ in 0..MESSAGES {
        let Some(message) = inbox.take() else { break };
        if let Some(mut noted) = world.get_resource_mut::<NotedMessages>() {
            noted.messages.push(message.clone());
        }
        take(world, message);
    }
}

fn take(world: &mut World, message: Message) {
    match message {
        Message::Submit(submission) => {
            world.resource_mut::<Counters>().submissions += 1;
            let queue = queue(world, submission.queue);
            let mut entity = world.entity_mut(queue);
            if matches!(entity.get::<QueueStatus>(), Some(QueueStatus::Faulted(_))) {
                tracing::warn!("submission {} dropped: its queue has faulted", submission.id);
                return;
            }
            if let Some(mut pending) = entity.get_mut::<PendingSubmissions>() {
                pending.0.push_back(submission);
            }
            if let Some(mut status) = entity.get_mut::<QueueStatus>()
                && *status == QueueStatus::Idle
            {
                *status = QueueStatus::Ready;
            }
        }
        Message::RegisterShader {
            code,
            header,
            binary_type,
            ..
        } => {
            let known = world
                .resource::<Directory>()
                .shaders
                .get(&(code, header))
                .copied();
            if known.is_none() {
                let entity = world
                    .spawn((
                        CodeAddress(code),
                        Header(header),
                        BinaryType(binary_type),
                        LastUse::default(),
                    ))
                    .id();
                world
                    .resource_mut::<Directory>()
                    .shaders
                    .insert((code, header), entity);
            }
        }
        Message::ThreadStarted {
            thread,
            name,
            stack,
            priority,
        } => {
            let entity = world
                .spawn((
                    GuestThread(thread),
                    ThreadName(name),
                    StackRange(stack),
                    Priority(priority),
                ))
                .id();
            world.resource_mut::<Directory>().threads.insert(thread, entity);
        }
        Message::ThreadEnded { thread } => {
            if let Some(entity) = world.resource_mut::<Directory>().threads.remove(&thread) {
                world.despawn(entity);
            }
        }
        Message::VideoOpened(handle) => {
            let entity = world.spawn((VideoOutput(handle), VideoBuffers::default())).id();
            world.resource_mut::<Directory>().outputs.insert(handle, entity);
        }
        Message::VideoClosed(handle) => {
            if let Some(entity) = world.resource_mut::<Directory>().outputs.remove(&handle) {
                world.despawn(entity);
            }
        }
        Message::BuffersRegistered {
            handle,
            first,
            buffers,
        } => {
            let output = world.resource::<Directory>().outputs.get(&handle).copied();
            if let Some(mut slots) = output.and_then(|entity| world.get_mut::<VideoBuffers>(entity)) {
                let end = first as usize + buffers.len();
                if slots.0.len() < end {
                    slots.0.resize(end, None);
                }
                for (i, buffer) in buffers.into_iter().enumerate() {
                    slots.0[first as usize + i] = Some(buffer);
                }
            } else {
                tracing::error!("buffers for video output {handle:?}, which is not open");
            }
        }
        Message::Flip(request) => cpu_flip(world, request),
        Message::GpuProgress(value) => {
            let mut timeline = world.resource_mut::<GpuTimeline>();
            timeline.completed = timeline.completed.max(value);
        }
        Message::GpuLost(reason) => {
            world
                .resource_mut::<crate::resources::Faults>()
                .0
                .push(format!("the GPU is lost: {reason}"));
            world.resource_mut::<PumpControl>().stop = true;
        }
        Message::ShaderPrepared => {
            let mut statuses = world.query::<&mut QueueStatus>();
            for mut status in statuses.iter_mut(world) {
                if *status == QueueStatus::WaitingShaders {
                    *status = QueueStatus::Ready;
                }
            }
        }
        Message::Poke => {}
        Message::Finish => world.resource_mut::<PumpControl>().finishing = true,
        Message::Stop => world.resource_mut::<PumpControl>().stop = true,
    }
}

/// A flip by the CPU comes behind everything the graphics queue has been given.
fn cpu_flip(world: &mut World, request: FlipRequest) {
    let queue = queue(world, QueueId::GRAPHICS);
    if let Some(mut completions) = world.get_mut::<Completions>(queue) {
        let last = completions.last;
        completions.submitted.push_back((last, Completion::Flip(request)));
    }
}

fn queue(world: &mut World, id: QueueId) -> Entity {
    if let Some(entity) = world.resource::<Directory>().queues.get(&id) {
        return *entity;
    }
    let bundle = queue_bundle(id, world.resource::<PacketTable>());
    let entity = world.spawn(bundle).id();
    world.resource_mut::<Directory>().queues.insert(id, entity);
    entity
}

/// Puts registers and packet state into a queue, which comes into being where there is none.
pub(crate) fn restore_queue(world: &mut World, id: QueueId, components: (RegisterBanks, PacketState)) {
    let entity = queue(world, id);
    world.entity_mut(entity).insert(components);
}

/// Everything a new queue entity has.
#[must_use]
pub fn queue_bundle(id: QueueId, table: &PacketTable) -> impl Bundle {
    (
        (
            Queue(id),
            QueueStatus::default(),
            CommandCursor::default(),
            PendingSubmissions::default(),
        ),
        (RegisterBanks::default(), PacketState::default()),
        (
            Commands::default(),
            Accesses::default(),
            PacketRows {
                columns: table.columns(),
            },
        ),
        (Draws::default(), Dispatches::default(), Snapshots::default()),
        (Captures::default(), Evaluations::default(), Prepared::default()),
        (
            StatePrograms::default(),
            DrawStates::default(),
            CutReason::default(),
        ),
        (
            PendingLabels::default(),
            Completions::default(),
            BatchWrites::default(),
        ),
    )
}
