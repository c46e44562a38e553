//! The door to the GPU runtime. It starts with the first call that needs it, so that a program without graphics
//! never waits for Vulkan.
//!
//! Until `relic_systems::live` is there, a stand-in drains the inbox on a thread and answers flips at once.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use relic_components::message::{EventSink, GuestEvent, Message};
use relic_core::Inbox;

use crate::{libSceAgcDriver, libSceVideoOut, log, process};

/// How long an orderly end waits for the runtime.
const FINISH_LIMIT: Duration = Duration::from_secs(10);

struct Runtime {
    inbox: Arc<Inbox<Message>>,
    handle: Mutex<Option<std::thread::JoinHandle<()>>>,
}

static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();

/// Sends a message to the pump, starting the runtime first where need be. False when there is no runtime (any
/// more): the reason has been logged.
pub(crate) fn send(message: Message) -> bool {
    let runtime = RUNTIME.get_or_init(|| match start(Arc::new(GuestSide)) {
        Ok(runtime) => Some(runtime),
        Err(error) => {
            log::warn(format_args!("the GPU runtime can't start: {error}"));
            None
        }
    });
    runtime
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

/// Lets the runtime finish what was submitted, and waits for it. Does nothing where it never started.
pub(crate) fn finish() {
    let Some(Some(runtime)) = RUNTIME.get() else {
        return;
    };
    let _ = runtime.inbox.send(Message::Finish);
    let handle = runtime
        .handle
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(handle) = handle else { return };
    let deadline = Instant::now() + FINISH_LIMIT;
    while !handle.is_finished() {
        if Instant::now() > deadline {
            log::warn(format_args!(
                "the GPU runtime did not finish within {} s; ending without it",
                FINISH_LIMIT.as_secs()
            ));
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = handle.join();
}

/// Why the runtime can't start.
#[derive(Debug, thiserror::Error)]
#[error("no thread for the pump: {0}")]
struct StartError(#[from] std::io::Error);

fn start(sink: Arc<dyn EventSink>) -> Result<Runtime, StartError> {
    // Enough for several frames' submissions; a guest that is further ahead waits.
    let inbox = Inbox::new(1024);
    let ours = Arc::clone(&inbox);
    let handle = std::thread::Builder::new()
        .name("pump".to_owned())
        .spawn(move || {
            loop {
                match ours.take() {
                    Some(Message::Flip(request)) => sink.deliver(&GuestEvent::FlipDone(request)),
                    Some(Message::Finish | Message::Stop) => break,
                    Some(_) => {}
                    None => {
                        ours.park(Duration::from_millis(100));
                    }
                }
            }
            ours.close();
        })?;
    Ok(Runtime {
        inbox,
        handle: Mutex::new(Some(handle)),
    })
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
            }
            GuestEvent::FrameLimit => crate::report::request_end(crate::report::EndRequest::FrameLimit),
        }
    }
}

#[expect(dead_code, reason = "keeps the interface in view while the stand-in is here")]
fn memory_for_runtime() -> Arc<relic_core::GuestMemory> {
    Arc::clone(process::memory())
}
