//! Zones, plots and frame marks for Tracy. Without the feature `tracy` everything here is nothing: no symbol of
//! Tracy is in the binary.
//!
//! The client listens on localhost only and records nothing until a profiler connects.

/// Opens a zone that lasts to the end of the enclosing block: `zone!("evaluate chunk");`
#[macro_export]
macro_rules! zone {
    ($name:literal) => {
        #[cfg(feature = "tracy")]
        let _zone = $crate::trace::client_zone($name, file!(), line!());
    };
}

#[cfg(feature = "tracy")]
mod enabled {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use tracy_client::{Client, PlotName, Span, SpanLocation};

    /// An open zone.
    pub type Zone = Option<Span>;

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
    pub fn client_zone(name: &str, file: &str, line: u32) -> Zone {
        let client = Client::running()?;
        Some(client.span(location(name, file, line), 0))
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
    /// An open zone: nothing.
    pub type Zone = ();

    /// Does nothing.
    pub fn client_zone(_name: &str, _file: &str, _line: u32) -> Zone {}

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
