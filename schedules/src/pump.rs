//! The pump: the one thread that owns the world.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use bevy_ecs::prelude::*;
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};
use relic_components::Message;
use relic_core::Inbox;

use crate::{
    builder::{Runtime, SystemFailures},
    stage::Label,
};

/// What systems tell the pump.
#[derive(Resource, Clone, Debug, Default, PartialEq, Eq)]
pub struct PumpControl {
    /// A queue has work that can go on at once: run Submit again.
    pub again: bool,
    /// Flips whose GPU work is done: run Frame so often.
    pub frames: u32,
    /// Some queue is neither idle nor faulted, or the GPU is still at work.
    pub busy: bool,
    /// A queue waits on guest memory, which nobody announces: look again soon.
    pub polling: bool,
    /// End when nothing is busy.
    pub finishing: bool,
    /// End now.
    pub stop: bool,
}

/// Why a pump ended other than by request.
#[derive(Debug, thiserror::Error)]
pub enum PumpFailure {
    /// A system failed.
    #[error("{0}")]
    System(#[from] SystemFailures),
    /// The thread panicked outside of any system.
    #[error("the pump's thread panicked")]
    Panicked,
}

/// Alias under which callers match failures.
pub type SystemErrors = SystemFailures;

/// A running pump.
#[derive(Debug)]
pub struct Pump {
    thread: JoinHandle<(Runtime, Result<(), SystemFailures>)>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

/// Waits between looks at labels that only a guest thread can change: short at first, for hand-offs between
/// threads that both run, then longer.
const POLL_FIRST: Duration = Duration::from_micros(20);
const POLL_LAST: Duration = Duration::from_millis(1);
/// A parked pump looks around this often even if nobody wakes it.
const IDLE: Duration = Duration::from_millis(250);

impl Pump {
    /// Starts the pump's thread on a runtime. It runs until [`Message::Finish`] or [`Message::Stop`] has come
    /// through the inbox and the systems agree, or a system fails; then it runs Shutdown and closes the inbox.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(runtime: Runtime, inbox: Arc<Inbox<Message>>) -> io::Result<Self> {
        let thread = thread::Builder::new()
            .name("relic-pump".to_owned())
            .spawn(move || {
                relic_core::trace::name_thread("pump");
                let mut runtime = runtime;
                let result = run(&mut runtime, &inbox);
                inbox.close();
                (runtime, result)
            })?;
        Ok(Self { thread })
    }

    /// Waits for the end and gives the runtime back, to read reports from, with the failure if there was one.
    ///
    /// # Errors
    /// [`PumpFailure::Panicked`] when there is no runtime left.
    pub fn join(self) -> Result<(Runtime, Option<PumpFailure>), PumpFailure> {
        let (runtime, result) = self.thread.join().map_err(|_| PumpFailure::Panicked)?;
        Ok((runtime, result.err().map(PumpFailure::System)))
    }
}

fn run(runtime: &mut Runtime, inbox: &Inbox<Message>) -> Result<(), SystemFailures> {
    let mut result = runtime.run(Label::Startup);
    let mut poll = POLL_FIRST;
    while result.is_ok() {
        result = turn(runtime);
        let control = runtime.world.resource::<PumpControl>();
        if result.is_err() || control.stop || (control.finishing && !control.busy && inbox.is_empty()) {
            break;
        }
        if control.again || !inbox.is_empty() {
            poll = POLL_FIRST;
        } else if control.polling {
            if inbox.park(poll) {
                poll = POLL_FIRST;
            } else {
                poll = (poll * 2).min(POLL_LAST);
            }
        } else {
            inbox.park(IDLE);
        }
    }
    let closed = runtime.run(Label::Shutdown);
    result.and(closed)
}

/// Submit once, and Frame for each flip that became ready.
fn turn(runtime: &mut Runtime) -> Result<(), SystemFailures> {
    {
        let mut control = runtime.world.resource_mut::<PumpControl>();
        control.again = false;
        control.polling = false;
        control.busy = false;
    }
    runtime.run(Label::Submit)?;
    let frames = std::mem::take(&mut runtime.world.resource_mut::<PumpControl>().frames);
    for _ in 0..frames {
        runtime.run(Label::Frame)?;
    }
    Ok(())
}

/// Makes the process's task pool, once: `threads` of them, or one less than the machine has cores, at least one.
/// The pump helps inside a scope, so that every core is used.
pub fn init_task_pool(threads: Option<usize>) {
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let threads = threads.unwrap_or(cores.saturating_sub(1)).max(1);
    ComputeTaskPool::get_or_init(|| {
        TaskPoolBuilder::new()
            .num_threads(threads)
            .thread_name("relic-compute".to_owned())
            .on_thread_spawn(|| relic_core::trace::name_thread("compute"))
            .build()
    });
}
