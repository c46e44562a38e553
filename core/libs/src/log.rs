//! The last lines of the libraries' log, kept for reports.
//!
//! Lines go into a ring of fixed slots that a signal handler can read: no lock, no allocation. Lines of importance
//! also go to stderr.

use std::{
    fmt::{self, Write as _},
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
};

const LINES: usize = 16;
const LINE_SIZE: usize = 160;

struct Slot {
    /// Number of the line it holds, counted from 1; 0 while it is written.
    serial: AtomicU64,
    bytes: [AtomicU8; LINE_SIZE],
}

static RING: [Slot; LINES] = [const {
    Slot {
        serial: AtomicU64::new(0),
        bytes: [const { AtomicU8::new(0) }; LINE_SIZE],
    }
}; LINES];
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A text buffer on the stack, cut where it is full: what signal handlers format into.
pub(crate) struct Line<const SIZE: usize> {
    bytes: [u8; SIZE],
    length: usize,
}

impl<const SIZE: usize> Line<SIZE> {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; SIZE],
            length: 0,
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl<const SIZE: usize> fmt::Write for Line<SIZE> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = SIZE - self.length;
        let taken = text.len().min(room);
        self.bytes[self.length..self.length + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        Ok(())
    }
}

/// Keeps a line for reports.
pub(crate) fn note(arguments: fmt::Arguments<'_>) {
    let mut line = Line::<LINE_SIZE>::new();
    // Writing to a `Line` never fails.
    let _ = line.write_fmt(arguments);
    let serial = NEXT.fetch_add(1, Ordering::Relaxed);
    let slot = &RING[serial as usize % LINES];
    slot.serial.store(0, Ordering::Release);
    for (i, place) in slot.bytes.iter().enumerate() {
        place.store(line.as_bytes().get(i).copied().unwrap_or(0), Ordering::Relaxed);
    }
    slot.serial.store(serial, Ordering::Release);
}

/// Keeps a line for reports and shows it on stderr.
pub(crate) fn warn(arguments: fmt::Arguments<'_>) {
    note(arguments);
    eprintln!("relic: {arguments}");
}

/// Calls `each` with the kept lines, oldest first. Safe in a signal handler.
pub(crate) fn for_each_line(mut each: impl FnMut(&[u8])) {
    let next = NEXT.load(Ordering::Acquire);
    for serial in next.saturating_sub(LINES as u64).max(1)..next {
        let slot = &RING[serial as usize % LINES];
        if slot.serial.load(Ordering::Acquire) != serial {
            continue;
        }
        let mut bytes = [0; LINE_SIZE];
        for (byte, place) in bytes.iter_mut().zip(&slot.bytes) {
            *byte = place.load(Ordering::Relaxed);
        }
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(LINE_SIZE);
        each(&bytes[..length]);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_ring_keeps_the_newest_lines_in_order() {
        for i in 0..40 {
            super::note(format_args!("ring line {i}"));
        }
        let mut lines = Vec::new();
        super::for_each_line(|line| lines.push(String::from_utf8_lossy(line).into_owned()));
        lines.retain(|line| line.starts_with("ring line"));
        assert_eq!(lines.last().map(String::as_str), Some("ring line 39"));
        assert!(lines.len() > 5 && lines.len() <= super::LINES);
        let numbers: Vec<u32> = lines.iter().map(|line| line[10..].parse().unwrap()).collect();
        assert!(numbers.is_sorted());
    }
}
