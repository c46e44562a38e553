//! What the OS loader makes read-only once it has relocated the program.

use crate::{
    address::{HOST_PAGE, ImageRange, align_down},
    input::{Object, segments::Segment},
};

use super::imports::Imports;

/// The plan for the input's GNU_RELRO.
#[derive(Debug, Clone, Copy)]
pub struct Relro {
    /// The program header to keep.
    pub segment: Option<Segment>,
    /// Whether the input has one that can't be kept: the loader works in whole pages and would also protect what
    /// stands in front of it.
    pub dropped: bool,
    /// Whole pages that will be read-only and hold import slots; empty where no slot is protected.
    pub protected_slots: ImageRange,
}

impl Relro {
    pub(super) fn of(program: &Object<'_>, imports: &Imports<'_>) -> Self {
        let Some(segment) = program.segments.relro else {
            return Self {
                segment: None,
                dropped: false,
                protected_slots: ImageRange::default(),
            };
        };
        let start = segment.range.start;
        let writable = program
            .segments
            .load_of(start, segment.range.size)
            .is_some_and(|load| load.access.writable());
        if !writable || !start.0.is_multiple_of(HOST_PAGE) {
            return Self {
                segment: None,
                dropped: true,
                protected_slots: ImageRange::default(),
            };
        }
        // The loader rounds the end down: the last page may hold other data.
        let pages = ImageRange {
            start,
            size: align_down(segment.range.end().0, HOST_PAGE) - start.0,
        };
        let holds_slots = imports
            .list
            .iter()
            .flat_map(|import| &import.sites)
            .any(|site| site.slot.0.saturating_add(8) > pages.start.0 && site.slot < pages.end());
        let protected_slots = if holds_slots { pages } else { ImageRange::default() };
        Self {
            segment: Some(segment),
            dropped: false,
            protected_slots,
        }
    }
}
