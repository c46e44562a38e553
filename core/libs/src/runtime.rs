//! The door to the GPU runtime. It starts with the first call that needs it, so that a program without graphics
//! never waits for Vulkan.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError, mpsc},
    time::Duration,
};

use relic_components::message::{EventSink, GuestEvent, Message};
use relic_core::Inbox;
use relic_systems::{
    live::{self, LiveOptions},
    runtime::{RunReport, RuntimeHandle},
};

use crate::{libSceAgcDriver, libSceVideoOut, log, process, report};

/// How long an orderly end waits for the runtime.
const FINISH_LIMIT: Duration = Duration::from_secs(10);

struct Runtime {
    inbox: Arc<Inbox<Message>>,
    /// Taken by whoever ends the process.
    handle: Mutex<Option<RuntimeHandle>>,
}

/// `None` inside where it can't start.
static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();

/// Sends a message to the pump, starting the runtime first where need be. False when there is no runtime (any
/// more): the reason has been logged.
pub(crate) fn send(message: Message) -> bool {
    RUNTIME
        .get_or_init(start)
        .as_ref()
        .is_some_and(|runtime| runtime.inbox.send(message).is_ok())
}

/// Sends a message only if the runtime runs.
pub(crate) fn send_if_running(message: Message) {
    if let Some(Some(runtime)) = RUNTIME.get() {
        // A runtime that has shut down needs no news.
        let _ = runtime.inbox.send(message);
    }
}

fn start() -> Option<Runtime> {
    let options = LiveOptions {
        memory: Arc::clone(process::memory()),
        sink: Arc::new(GuestSide),
    };
    match live::start(options) {
        Ok(handle) => Some(Runtime {
            inbox: Arc::clone(&handle.inbox),
            handle: Mutex::new(Some(handle)),
        }),
        Err(error) => {
            log::warn(format_args!("the GPU runtime can't start: {error}"));
            None
        }
    }
}

/// Lets the runtime finish what was submitted, waits for it, and says what went wrong. Returns whether nothing did;
/// also where it never started or was finished already.
pub(crate) fn finish() -> bool {
    let Some(Some(runtime)) = RUNTIME.get() else {
        return true;
    };
    let handle = runtime
        .handle
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(handle) = handle else { return true };
    let (sender, receiver) = mpsc::channel();
    let started = std::thread::Builder::new()
        .name("finish".to_owned())
        .spawn(move || {
            // Nobody listens any more once the limit has passed.
            let _ = sender.send(handle.finish());
        });
    if let Err(error) = started {
        log::warn(format_args!("no thread to wait for the GPU runtime: {error}"));
        return false;
    }
    match receiver.recv_timeout(FINISH_LIMIT) {
        Ok(report) => {
            tell(&report);
            report.is_clean()
        }
        Err(_) => {
            log::warn(format_args!(
                "the GPU runtime did not finish within {} s; ending without it",
                FINISH_LIMIT.as_secs()
            ));
            false
        }
    }
}

fn tell(report: &RunReport) {
    for fault in &report.faults {
        log::warn(format_args!("GPU: {fault}"));
    }
    for waiting in &report.waiting {
        log::warn(format_args!("at the end, the {waiting}"));
    }
    for message in &report.validation {
        log::warn(format_args!("Vulkan validation: {message}"));
    }
    if let Some(failure) = &report.failure {
        log::warn(format_args!("the GPU runtime stopped: {failure}"));
    }
    if !report.times.is_empty() {
        eprint!("{}", report.times_table());
    }
}

/// Where the runtime's events go. Called on the pump's thread: nothing here blocks.
struct GuestSide;

impl EventSink for GuestSide {
    fn deliver(&self, event: &GuestEvent) {
        match event {
            GuestEvent::FlipDone(request) => libSceVideoOut::flip_done(*request),
            GuestEvent::EndOfPipe { queue } => libSceAgcDriver::end_of_pipe(*queue),
            GuestEvent::QueueFaulted { queue, reason } => {
                log::warn(format_args!("the {queue} queue stopped: {reason}"));
                // The program would wait for ever for what the queue does not do any more.
                report::request_end(report::EndRequest::QueueFaulted);
            }
            GuestEvent::FrameLimit => report::request_end(report::EndRequest::FrameLimit),
        }
    }
}
