//! Looking at code: where functions begin and end, which bytes are instructions, and what they refer to.
//!
//! Decoding everything would cost more than all else together, and a linear sweep would take data between functions
//! for instructions. So each question is asked twice. First the bytes are searched for what an instruction of interest
//! must contain, which is quick and finds too much. Then, around each place found, the function is decoded along its
//! control flow, which says whether that place is an instruction. Function bounds come from the unwind table; in code without
//! it only what control flow proves is certain.

pub mod find;
pub mod flow;
pub mod functions;
mod gaps;
pub mod reads;
pub mod search;
pub mod syscalls;

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

use rayon::prelude::*;

use crate::{
    address::{ImageAddress, ImageRange},
    error::RelinkError,
    input::{
        Object,
        relocations::RelocationKind,
        segments::{Access, Segment},
        symbols::SymbolKind,
    },
};

use functions::Functions;

/// The code of one object.
#[derive(Debug)]
pub struct Code<'a> {
    object: &'a Object<'a>,
    /// Its executable segments.
    pub segments: Vec<CodeSegment<'a>>,
    /// Bounds of its functions.
    pub functions: Functions<'a>,
    /// Addresses in code that data, exports or the headers hold, ascending: see [`Self::entry_points`].
    entry_points: OnceLock<Vec<ImageAddress>>,
    /// The lowest address of code that leads nowhere in too many ways; all ones for none.
    tangle: AtomicU64,
    /// Work in functions beyond what compiled ones of their sizes take.
    work: AtomicU64,
}

/// In table entries and instructions: what small functions with large tables take in a small file.
const ALL_FREE_WORK: u64 = 1 << 22;

/// One executable segment.
#[derive(Debug, Clone, Copy)]
pub struct CodeSegment<'a> {
    /// Address of its first byte.
    pub start: ImageAddress,
    /// Its bytes in the file.
    pub bytes: &'a [u8],
}

impl CodeSegment<'_> {
    /// Where it lies.
    #[must_use]
    pub const fn range(&self) -> ImageRange {
        ImageRange {
            start: self.start,
            size: self.bytes.len() as u64,
        }
    }
}

impl<'a> Code<'a> {
    /// The code of an object.
    #[must_use]
    pub fn of(object: &'a Object<'a>) -> Self {
        let executable = |load: &&Segment| load.access.executable();
        let segments = object
            .segments
            .loads
            .iter()
            .filter(executable)
            .filter_map(|load| {
                let bytes = object.file.get(load.offset, load.file_size)?;
                let start = load.range.start;
                Some(CodeSegment { start, bytes })
            })
            .collect();
        Self {
            object,
            segments,
            functions: Functions::of(object),
            entry_points: OnceLock::new(),
            tangle: AtomicU64::new(u64::MAX),
            work: AtomicU64::new(0),
        }
    }

    fn note_tangle(&self, start: ImageAddress) {
        self.tangle.fetch_min(start.0, Ordering::Relaxed);
    }

    fn is_tangled(&self) -> bool {
        self.tangle.load(Ordering::Relaxed) != u64::MAX
    }

    /// Adds to the work beyond what is ordinary. Whether that is more than all functions together ever take: their tables
    /// are in the file.
    fn note_work(&self, work: usize) -> bool {
        let before = self.work.fetch_add(work as u64, Ordering::Relaxed);
        before + work as u64 > ALL_FREE_WORK + self.object.file.size()
    }

    /// Whether everything that was asked so far was looked at to its end.
    ///
    /// # Errors
    ///
    /// [`RelinkError::Tangled`] where that would have taken work without bound.
    pub fn check(&self) -> Result<(), RelinkError> {
        match self.tangle.load(Ordering::Relaxed) {
            u64::MAX => Ok(()),
            start => Err(RelinkError::Tangled {
                start: ImageAddress(start),
            }),
        }
    }

    /// The code bytes from an address to the end of its segment.
    #[must_use]
    pub fn bytes_from(&self, address: ImageAddress) -> Option<&'a [u8]> {
        self.segments.iter().find_map(|segment| {
            let offset = usize::try_from(address.0.checked_sub(segment.start.0)?).ok()?;
            segment.bytes.get(offset..).filter(|bytes| !bytes.is_empty())
        })
    }

    /// Bytes of readable memory, as far as they are in the file: for tables that code reads.
    fn data_from(&self, address: ImageAddress) -> &'a [u8] {
        let Some(load) = self.object.segments.load_of(address, 1) else {
            return &[];
        };
        let inside = address.0 - load.range.start.0;
        let size = load.file_size.saturating_sub(inside);
        let offset = crate::FileOffset(load.offset.0 + inside);
        self.object.file.get(offset, size).unwrap_or_default()
    }

    /// Whether an address is in code.
    #[must_use]
    pub fn contains(&self, address: ImageAddress) -> bool {
        self.segments
            .iter()
            .any(|segment| segment.range().covers(address, 1))
    }

    /// Addresses in code that something other than code holds, ascending: the entry point, initialisers, exports, and
    /// every pointer that the loader relocates.
    #[must_use]
    pub fn entry_points(&self) -> &[ImageAddress] {
        self.entry_points.get_or_init(|| {
            let object = self.object;
            let relative = object
                .relocations
                .iter()
                .filter_map(|relocation| match relocation.kind {
                    RelocationKind::Relative => Some(ImageAddress(relocation.addend.cast_unsigned())),
                    _ => None,
                });
            let symbols = object
                .symbols
                .iter()
                // The value of a thread-local one is no address.
                .filter(|symbol| !symbol.is_import() && symbol.kind != SymbolKind::ThreadLocal)
                .map(|symbol| ImageAddress(symbol.value));
            let lifecycle = [object.lifecycle.initialiser, object.lifecycle.finaliser];
            let mut all: Vec<ImageAddress> = relative
                .chain(symbols)
                .chain(lifecycle.into_iter().flatten())
                .chain([object.entry])
                .filter(|&address| self.contains(address))
                .collect();
            all.par_sort_unstable();
            all.dedup();
            all
        })
    }

    /// Those of [`Self::entry_points`] in a range.
    fn entry_points_in(&self, range: ImageRange) -> &[ImageAddress] {
        let all = self.entry_points();
        let first = all.partition_point(|address| *address < range.start);
        let end = all.partition_point(|address| *address < range.end());
        all.get(first..end).unwrap_or_default()
    }
}

/// Whether a segment's bytes may be executed and never change.
#[must_use]
pub const fn is_fixed_code(access: Access) -> bool {
    access.executable() && !access.writable()
}
