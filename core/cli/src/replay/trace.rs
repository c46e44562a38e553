//! Zones as a file for Chrome's tracing page and Perfetto: the "JSON trace event format", complete events.

use relic_core::trace::ThreadTrace;
use serde::Serialize;

#[derive(Serialize)]
struct Trace<'a> {
    #[serde(rename = "traceEvents")]
    events: Vec<Event<'a>>,
    #[serde(rename = "displayTimeUnit")]
    unit: &'static str,
}

#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    /// X: a zone. M: a name for a thread.
    ph: &'static str,
    pid: u32,
    tid: usize,
    /// Microseconds.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Name<'a>>,
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

/// The file's text. Times count from the first zone's start.
pub fn json(threads: &[ThreadTrace]) -> Result<String, serde_json::Error> {
    let start = threads
        .iter()
        .flat_map(|thread| &thread.zones)
        .map(|zone| zone.start)
        .min();
    let mut events = Vec::new();
    for (tid, thread) in threads.iter().enumerate() {
        events.push(Event {
            name: "thread_name",
            ph: "M",
            pid: 1,
            tid,
            ts: 0.0,
            dur: None,
            args: Some(Name { name: &thread.thread }),
        });
        for zone in &thread.zones {
            let since = start.map_or(0, |start| (zone.start - start).as_nanos());
            events.push(Event {
                name: zone.name,
                ph: "X",
                pid: 1,
                tid,
                ts: since as f64 / 1e3,
                dur: Some((zone.end - zone.start).as_nanos() as f64 / 1e3),
                args: None,
            });
        }
    }
    serde_json::to_string(&Trace { events, unit: "ms" })
}
