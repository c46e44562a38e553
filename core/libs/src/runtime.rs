//! The door to the GPU runtime. It starts with the first call that needs it, so that a program without graphics
//! never waits for Vulkan.

use std::{
    fmt::Write as _,
    io,
    sync::{Arc, Mutex, OnceLock, PoisonError, mpsc},
    time::Duration,
};

use relic_components::message::{EventSink, GuestEvent, Message};
use relic_core::Inbox;
use relic_systems::{
    live::{self, LiveOptions},
    runtime::{RunReport, RuntimeHandle},
};

use tracing_subscriber::EnvFilter;

use crate::{libSceAgcDriver, libSceVideoOut, log, process, report};

/// How long an orderly end waits for the runtime.
const FINISH_LIMIT: Duration = Duration::from_secs(3);
/// How long a runtime that was told to stop may take.
const STOP_LIMIT: Duration = Duration::from_secs(5);

struct Runtime {
    inbox: Arc<Inbox<Message>>,
    /// Taken by whoever ends the process.
    handle: Mutex<Option<RuntimeHandle>>,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The exit code of a program whose GPU runtime can't start.
const NO_RUNTIME: i32 = 2;

/// Sends a message to the pump, starting the runtime first where need be. False when the runtime has shut down by
/// itself. Does not return once the program is being ended: nothing new begins then.
pub(crate) fn send(message: Message) -> bool {
    let runtime = RUNTIME.get_or_init(start);
    report::stay_if_ending();
    let sent = runtime.inbox.send(message).is_ok();
    if !sent {
        // The end may have begun in between.
        report::stay_if_ending();
    }
    sent
}

/// Sends a message only if the runtime runs.
pub(crate) fn send_if_running(message: Message) {
    if let Some(runtime) = RUNTIME.get() {
        // A runtime that has shut down needs no news.
        let _ = runtime.inbox.send(message);
    }
}

/// Puts the runtime's own log lines into the program's log: those that `RELIC_LOG` asks for, warnings by default.
fn hear() {
    struct ToLog;

    impl io::Write for ToLog {
        /// One line a call.
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            log::warn(format_args!("{}", String::from_utf8_lossy(line.trim_ascii())));
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let filter = EnvFilter::try_from_env("RELIC_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    // A program that has set its own, by Rust code of its own, keeps it.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_writer(|| ToLog)
        .try_init();
}

/// Starts the runtime, or ends the program: what it would draw, and every label it would wait for, would be missing.
fn start() -> Runtime {
    hear();
    let options = LiveOptions {
        memory: Arc::clone(process::memory()),
        sink: Arc::new(GuestSide),
    };
    match live::start(options) {
        Ok(handle) => {
            // SAFETY: the handler lives as long as the process. The driver registered its own before, so they run
            // after it, when nobody uses the driver any more. Where there is no room for it, ends by `exit` alone are
            // less orderly.
            unsafe { libc::atexit(finish_at_exit) };
            Runtime {
                inbox: Arc::clone(&handle.inbox),
                handle: Mutex::new(Some(handle)),
            }
        }
        Err(error) => {
            let mut what = log::Line::<1024>::new();
            // A line holds what fits.
            let _ = write!(what, "the GPU runtime can't start: {error}");
            report::end_with(
                NO_RUNTIME,
                &what,
                None,
                "`relic gpu` shows the GPUs there are; the variables that RELIC_ begins are in docs/environment.md",
            )
        }
    }
}

/// Lets the runtime finish what was submitted, waits for it, and says what went wrong. Returns whether nothing did;
/// also where it never started or was finished already.
pub(crate) fn finish() -> bool {
    let Some(runtime) = RUNTIME.get() else {
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
    let report = receiver.recv_timeout(FINISH_LIMIT).or_else(|_| {
        log::warn(format_args!(
            "the GPU runtime did not finish within {} s: it is stopped",
            FINISH_LIMIT.as_secs()
        ));
        // The report then says what each queue waits for.
        let _ = runtime.inbox.send(Message::Stop);
        receiver.recv_timeout(STOP_LIMIT)
    });
    match report {
        Ok(report) => {
            tell(&report);
            report.is_clean() && report.waiting.is_empty()
        }
        Err(_) => {
            log::warn(format_args!("the GPU runtime does not answer; ending without it"));
            false
        }
    }
}

/// For ends that go through the host's `exit` instead of Relic's own way out, as a host library's may.
extern "C" fn finish_at_exit() {
    finish();
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
