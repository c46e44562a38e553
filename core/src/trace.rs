//! Zones, plots and frame marks: for Tracy, and for a trace of our own that any browser shows.
//!
//! Without the feature `tracy` no symbol of Tracy is in the binary. With it the client listens on localhost only and
//! records nothing until a profiler connects.
//!
//! Between [`record`] and [`take`] every zone is kept with its thread and time. Otherwise that costs one load a zone.

use std::{
    cell::RefCell,
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Opens a zone that lasts to the end of the enclosing block: `zone!("evaluate chunk");`
#[macro_export]
macro_rules! zone {
    ($name:literal) => {
        let _zone = $crate::trace::zone($name, file!(), line!());
    };
}

/// One zone that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneTime {
    /// Its name.
    pub name: &'static str,
    /// When it was opened.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
}

/// The zones of one thread, in the order they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTrace {
    /// The thread's name.
    pub thread: String,
    /// Its zones.
    pub zones: Vec<ZoneTime>,
}

static RECORDING: AtomicBool = AtomicBool::new(false);
/// Every thread that has ended a zone while recording.
static THREADS: Mutex<Vec<Arc<Mutex<ThreadTrace>>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Option<Arc<Mutex<ThreadTrace>>>> = const { RefCell::new(None) };
}

/// Zones of the GPU by its own clock, and the earliest that a moment of this clock was seen to have passed.
#[derive(Default)]
struct GpuTrace {
    /// Name, start and end in nanoseconds.
    zones: Vec<(&'static str, u64, u64)>,
    seen: Option<(Instant, u64)>,
}

static GPU: Mutex<GpuTrace> = Mutex::new(GpuTrace {
    zones: Vec::new(),
    seen: None,
});

impl GpuTrace {
    /// A moment of the GPU's clock as one of ours. Seen late, it seems later than it was: the earliest sight is best.
    fn instant(&self, nanoseconds: u64) -> Option<Instant> {
        let (instant, seen) = self.seen?;
        if nanoseconds >= seen {
            instant.checked_add(Duration::from_nanos(nanoseconds - seen))
        } else {
            instant.checked_sub(Duration::from_nanos(seen - nanoseconds))
        }
    }

    fn note(&mut self, now: Instant, end: u64) {
        if self.instant(end).is_none_or(|known| now < known) {
            self.seen = Some((now, end));
        }
    }
}

/// Whether anyone looks at zones of the GPU.
#[must_use]
pub fn wants_gpu() -> bool {
    RECORDING.load(Ordering::Relaxed) || client_runs()
}

/// A zone of the GPU whose times are to come.
pub struct GpuZone {
    name: &'static str,
    client: ClientGpuZone,
}

impl GpuZone {
    /// Opens a zone where the first of its commands is recorded.
    #[must_use]
    pub fn begin(name: &'static str) -> Self {
        Self {
            name,
            client: client_gpu_zone(name),
        }
    }

    /// Behind the last of its commands.
    pub fn end(&mut self) {
        end_client_gpu_zone(&mut self.client);
    }

    /// The GPU has passed it: from when to when, in nanoseconds of its clock.
    pub fn resolve(self, start: u64, end: u64) {
        resolve_client_gpu_zone(self.client, start, end);
        if RECORDING.load(Ordering::Relaxed) {
            let mut gpu = GPU.lock().unwrap_or_else(PoisonError::into_inner);
            gpu.note(Instant::now(), end);
            gpu.zones.push((self.name, start, end));
        }
    }
}

/// The GPU's zones as a thread of their own.
fn take_gpu() -> ThreadTrace {
    let gpu = std::mem::take(&mut *GPU.lock().unwrap_or_else(PoisonError::into_inner));
    let zones = gpu.zones.iter().filter_map(|(name, start, end)| {
        Some(ZoneTime {
            name,
            start: gpu.instant(*start)?,
            end: gpu.instant(*end)?,
        })
    });
    ThreadTrace {
        thread: "GPU".to_owned(),
        zones: zones.collect(),
    }
}

/// Keeps zones from now on.
pub fn record() {
    RECORDING.store(true, Ordering::Relaxed);
}

/// Ends keeping zones, and gives those that were kept. Zones that are open are lost.
#[must_use]
pub fn take() -> Vec<ThreadTrace> {
    RECORDING.store(false, Ordering::Relaxed);
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let take = |thread: &Arc<Mutex<ThreadTrace>>| {
        let mut own = thread.lock().unwrap_or_else(PoisonError::into_inner);
        ThreadTrace {
            thread: own.thread.clone(),
            zones: std::mem::take(&mut own.zones),
        }
    };
    threads
        .iter()
        .map(take)
        .chain([take_gpu()])
        .filter(|thread| !thread.zones.is_empty())
        .collect()
}

/// An open zone.
#[must_use = "a zone ends where this is dropped"]
pub struct Zone {
    own: Option<(&'static str, Instant)>,
    _client: ClientZone,
}

/// Opens a zone. `file` and `line` say where.
#[inline]
pub fn zone(name: &'static str, file: &str, line: u32) -> Zone {
    Zone {
        own: RECORDING.load(Ordering::Relaxed).then(|| (name, Instant::now())),
        _client: client_zone(name, file, line),
    }
}

impl Drop for Zone {
    #[inline]
    fn drop(&mut self) {
        if let Some((name, start)) = self.own {
            keep(ZoneTime {
                name,
                start,
                end: Instant::now(),
            });
        }
    }
}

#[cold]
fn keep(zone: ZoneTime) {
    OWN.with(|own| {
        let mut own = own.borrow_mut();
        let own = own.get_or_insert_with(|| {
            let thread = Arc::new(Mutex::new(ThreadTrace {
                thread: std::thread::current().name().unwrap_or("unnamed").to_owned(),
                zones: Vec::new(),
            }));
            let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
            threads.push(Arc::clone(&thread));
            thread
        });
        own.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .zones
            .push(zone);
    });
}

/// A name for zones, for the life of the process: one copy of each text.
#[must_use]
pub fn zone_name(text: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_with(HashSet::new);
    if let Some(known) = names.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}

#[cfg(feature = "tracy")]
mod enabled {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use tracy_client::{Client, GpuContext, GpuContextType, GpuSpan, PlotName, Span, SpanLocation};

    /// An open zone of the client.
    pub type ClientZone = Option<Span>;

    fn location(name: &str, file: &str, line: u32) -> &'static SpanLocation {
        static LOCATIONS: OnceLock<Mutex<HashMap<String, &'static SpanLocation>>> = OnceLock::new();
        let locations = LOCATIONS.get_or_init(Mutex::default);
        let mut locations = locations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = locations.get(name) {
            return found;
        }
        // The client cuts the last three characters of the first argument off, as it expects a closure's type name.
        // One location a name for the life of the process: Tracy keeps pointers to it and to its texts.
        let kept = |text: &str| -> *const u8 { Box::leak(format!("{text}\0").into_boxed_str()).as_ptr() };
        let location = tracy_client::internal::make_span_location("relic::f", kept(name), kept(file), line);
        let made: &'static SpanLocation = Box::leak(Box::new(location));
        locations.insert(name.to_owned(), made);
        made
    }

    /// Opens a zone.
    #[must_use]
    pub fn client_zone(name: &str, file: &str, line: u32) -> ClientZone {
        let client = Client::running()?;
        Some(client.span(location(name, file, line), 0))
    }

    /// Whether a client runs.
    #[must_use]
    pub fn client_runs() -> bool {
        Client::is_running()
    }

    /// A zone of the GPU in the client; none before the GPU's clock is known.
    pub type ClientGpuZone = Option<GpuSpan>;

    static CONTEXT: OnceLock<Option<GpuContext>> = OnceLock::new();

    /// Opens a zone of the GPU.
    #[must_use]
    pub fn client_gpu_zone(name: &str) -> ClientGpuZone {
        let context = CONTEXT.get()?.as_ref()?;
        context.span_alloc(name, "", file!(), line!()).ok()
    }

    /// Behind its last command.
    pub fn end_client_gpu_zone(zone: &mut ClientGpuZone) {
        if let Some(zone) = zone {
            zone.end_zone();
        }
    }

    /// Its times are there. The first of all says what the GPU's clock shows.
    pub fn resolve_client_gpu_zone(zone: ClientGpuZone, start: u64, end: u64) {
        if let Some(zone) = zone {
            zone.upload_timestamp_start(start.cast_signed());
            zone.upload_timestamp_end(end.cast_signed());
            return;
        }
        if let Some(client) = Client::running() {
            CONTEXT.get_or_init(|| {
                client
                    .new_gpu_context(Some("GPU"), GpuContextType::Vulkan, end.cast_signed(), 1.0)
                    .ok()
            });
        }
    }

    /// Starts the client. Zones before this are not recorded.
    pub fn start() {
        Client::start();
    }

    /// Names the calling thread.
    pub fn name_thread(name: &str) {
        if let Some(client) = Client::running() {
            client.set_thread_name(name);
        }
    }

    /// Marks the end of a frame.
    pub fn frame_mark() {
        if let Some(client) = Client::running() {
            client.frame_mark();
        }
    }

    /// Adds a point to a plot.
    pub fn plot(name: &'static str, value: f64) {
        static NAMES: OnceLock<Mutex<HashMap<&'static str, PlotName>>> = OnceLock::new();
        let Some(client) = Client::running() else { return };
        let mut names = NAMES
            .get_or_init(Mutex::default)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let name = *names
            .entry(name)
            .or_insert_with(|| PlotName::new_leak(name.to_owned()));
        client.plot(name, value);
    }
}

#[cfg(not(feature = "tracy"))]
mod disabled {
    /// An open zone of the client: nothing.
    pub type ClientZone = ();

    /// Does nothing.
    pub fn client_zone(_name: &str, _file: &str, _line: u32) -> ClientZone {}

    /// There is none.
    #[must_use]
    pub fn client_runs() -> bool {
        false
    }

    /// A zone of the GPU in the client: nothing.
    #[derive(Debug)]
    pub struct ClientGpuZone;

    /// Does nothing.
    #[must_use]
    pub fn client_gpu_zone(_name: &str) -> ClientGpuZone {
        ClientGpuZone
    }

    /// Does nothing.
    pub fn end_client_gpu_zone(_zone: &mut ClientGpuZone) {}

    /// Does nothing.
    pub fn resolve_client_gpu_zone(_zone: ClientGpuZone, _start: u64, _end: u64) {}

    /// Does nothing.
    pub fn start() {}

    /// Does nothing.
    pub fn name_thread(_name: &str) {}

    /// Does nothing.
    pub fn frame_mark() {}

    /// Does nothing.
    pub fn plot(_name: &'static str, _value: f64) {}
}

#[cfg(not(feature = "tracy"))]
pub use disabled::*;
#[cfg(feature = "tracy")]
pub use enabled::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_kept_with_thread_and_time_while_recording() {
        {
            zone!("before");
        }
        record();
        {
            zone!("outer");
            zone!("inner");
        }
        let thread = std::thread::Builder::new().name("other".to_owned());
        let other = thread.spawn(|| {
            zone!("elsewhere");
        });
        other.unwrap().join().unwrap();
        let traces = take();
        {
            zone!("behind");
        }
        // Other tests of the process may have zones too.
        let zones = |name: &str| -> Vec<ZoneTime> {
            let threads = traces.iter();
            threads
                .flat_map(|thread| &thread.zones)
                .filter(|zone| zone.name == name)
                .copied()
                .collect()
        };
        let (outer, inner) = (zones("outer"), zones("inner"));
        assert_eq!((outer.len(), inner.len()), (1, 1));
        let (outer, inner) = (outer[0], inner[0]);
        assert!(outer.start <= inner.start && inner.start <= inner.end && inner.end <= outer.end);
        assert_eq!(zones("before").len() + zones("behind").len(), 0);
        let other = traces.iter().find(|trace| trace.thread == "other").unwrap();
        assert_eq!(other.zones.len(), 1);
        assert!(
            take()
                .iter()
                .all(|trace| trace.zones.iter().all(|zone| zone.name != "behind"))
        );
    }

    #[test]
    fn a_name_is_kept_once() {
        assert_eq!(zone_name("a").as_ptr(), zone_name(&String::from("a")).as_ptr());
    }

    #[test]
    fn the_gpu_s_clock_is_placed_by_the_earliest_sight() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut gpu = GpuTrace::default();
        assert_eq!(gpu.instant(5), None);
        // What ended at 100 ms of its clock was seen 9 ms late, what ended at 120 ms only 2 ms late.
        gpu.note(at(1009), 100_000_000);
        gpu.note(at(1022), 120_000_000);
        gpu.note(at(1044), 140_000_000);
        assert_eq!(gpu.instant(100_000_000), Some(at(1002)));
        assert_eq!(gpu.instant(140_000_000), Some(at(1042)));
    }
}
