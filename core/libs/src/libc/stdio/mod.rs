//! Streams: the host's, over the guest's descriptors.
//!
//! A stream is one of the host's C library that reads and writes by callbacks (`fopencookie`), so that buffering, pushing
//! back and seeking are the host's, and files are found, duplicated and closed as the guest's descriptors. The guest knows
//! its address and nothing else of it; the three standard ones are objects of ours that stand for theirs.

mod file;
mod open;
mod print;
mod scan;
mod stream;

pub(crate) use file::{flush_all, flush_for_report, write_stderr};
