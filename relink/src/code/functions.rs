//! Function bounds by the unwind table, which compilers make for every function, and which the loader keeps.

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EhFrameOffset, EndianSlice, LittleEndian, Pointer, UnwindSection as _,
};

use crate::{
    address::{ImageAddress, ImageRange},
    input::{Object, segments::Segment},
};

/// How every linker encodes the table: version, distance to the frames, 32-bit count, pairs of 32-bit distances. Other
/// encodings are not searched.
const ENCODING: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The functions of an object. Empty where it has no unwind table that can be searched.
#[derive(Debug)]
pub struct Functions<'a> {
    table: Option<Table<'a>>,
}

#[derive(Debug)]
struct Table<'a> {
    /// Address of the table, from which its entries count.
    start: ImageAddress,
    /// Pairs: where a function begins, and where its record is. Strictly ascending.
    entries: &'a [[u8; 8]],
    frames: EhFrame<Bytes<'a>>,
    frame_bytes: &'a [u8],
    bases: BaseAddresses,
}

/// One function, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Function {
    /// From its first byte to behind its last.
    pub range: ImageRange,
    /// Where its table of call sites and landing pads is.
    pub landing_pads: Option<ImageAddress>,
}

impl<'a> Functions<'a> {
    /// Finds the table.
    #[must_use]
    pub fn of(object: &Object<'a>) -> Self {
        Self {
            table: object
                .segments
                .eh_frame
                .and_then(|segment| Table::read(object, &segment)),
        }
    }

    /// Whether there are any.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.table.is_none()
    }

    /// The function around an address.
    #[must_use]
    pub fn around(&self, address: ImageAddress) -> Option<Function> {
        let table = self.table.as_ref()?;
        table
            .function(table.behind(address).checked_sub(1)?)
            .filter(|function| function.range.covers(address, 1))
    }

    /// Whether a function begins at an address.
    #[must_use]
    pub fn begins_at(&self, address: ImageAddress) -> bool {
        let index = |table: &Table<'_>| table.behind(address).checked_sub(1);
        self.table
            .as_ref()
            .is_some_and(|table| index(table).and_then(|index| table.start(index)) == Some(address))
    }

    /// Where the unwind table is.
    #[must_use]
    pub fn frames(&self) -> Option<ImageAddress> {
        self.table
            .as_ref()
            .and_then(|table| table.bases.eh_frame.section)
            .map(ImageAddress)
    }

    /// All functions, in the order of their addresses.
    #[must_use]
    pub fn all(&self) -> Vec<Function> {
        let tables = self.table.iter();
        tables
            .flat_map(|table| (0..table.entries.len()).filter_map(|index| table.function(index)))
            .collect()
    }

    /// The range around an address that no function covers: up to the nearest records of functions, or to the ends of
    /// `within`.
    #[must_use]
    pub fn gap_around(&self, address: ImageAddress, within: ImageRange) -> ImageRange {
        let Some(table) = &self.table else { return within };
        let next = table.behind(address);
        let below = next.checked_sub(1).and_then(|index| table.end(index));
        let start = below.map_or(within.start, |below| below.max(within.start));
        let end = table
            .start(next)
            .map_or(within.end(), |start| start.min(within.end()));
        ImageRange {
            start,
            size: end.0.saturating_sub(start.0),
        }
    }

    /// All ranges within one that no function covers, as [`Self::gap_around`] has them, ascending.
    #[must_use]
    pub fn gaps(&self, within: ImageRange) -> Vec<ImageRange> {
        let Some(table) = &self.table else {
            return vec![within];
        };
        let mut gaps = Vec::new();
        let mut start = within.start;
        let mut add = |start: ImageAddress, end: ImageAddress| {
            if start < end {
                let size = end.0 - start.0;
                gaps.push(ImageRange { start, size });
            }
        };
        for index in table.behind(within.start).saturating_sub(1)..table.entries.len() {
            let begin = table.start(index).unwrap_or(within.end());
            if begin >= within.end() {
                break;
            }
            add(start, begin);
            start = table.end(index).unwrap_or(begin).max(within.start);
        }
        add(start, within.end());
        gaps
    }
}

impl<'a> Table<'a> {
    fn read(object: &Object<'a>, segment: &Segment) -> Option<Self> {
        let bytes_at = |segment: &Segment, address: ImageAddress| {
            let inside = address.0.checked_sub(segment.range.start.0)?;
            let size = segment.file_size.checked_sub(inside)?;
            object
                .file
                .get(crate::FileOffset(segment.offset.0 + inside), size)
        };
        let start = segment.range.start;
        let bytes = bytes_at(segment, start)?;
        bytes.starts_with(&ENCODING).then_some(())?;
        let header = EhFrameHdr::new(bytes, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame_hdr(start.0);
        let header = header.parse(&bases, 8).ok()?;
        let Pointer::Direct(frames) = header.eh_frame_ptr() else {
            return None;
        };
        let count = u32::from_le_bytes(*bytes.get(COUNT..)?.first_chunk()?) as usize;
        let (entries, _) = bytes.get(COUNT + 4..)?.as_chunks::<8>();
        let entries = entries.get(..count)?;
        // What is not sorted can't be searched; and that functions don't overlap bounds the work on all of them.
        let ascending = |pair: &[[u8; 8]]| entry(&pair[0]).0 < entry(&pair[1]).0;
        entries.windows(2).all(ascending).then_some(())?;
        let load = object.segments.load_of(ImageAddress(frames), 1)?;
        let frame_bytes = bytes_at(load, ImageAddress(frames))?;
        Some(Self {
            start,
            entries,
            frames: EhFrame::new(frame_bytes, LittleEndian),
            frame_bytes,
            bases: bases.set_eh_frame(frames),
        })
    }

    /// The first entry whose function begins behind an address.
    fn behind(&self, address: ImageAddress) -> usize {
        self.entries
            .partition_point(|bytes| self.at(entry(bytes).0) <= address)
    }

    fn at(&self, distance: i32) -> ImageAddress {
        ImageAddress(self.start.0.wrapping_add_signed(i64::from(distance)))
    }

    /// Where the function of an entry ends: where it begins, if its record says nothing.
    fn end(&self, index: usize) -> Option<ImageAddress> {
        let end = self.function(index).map(|function| function.range.end());
        end.or_else(|| self.start(index))
    }

    /// Where the function of an entry begins.
    fn start(&self, index: usize) -> Option<ImageAddress> {
        self.entries.get(index).map(|bytes| self.at(entry(bytes).0))
    }

    /// The function of an entry, which ends in front of the next one's at the latest.
    fn function(&self, index: usize) -> Option<Function> {
        let record = self.at(entry(self.entries.get(index)?).1);
        let offset = usize::try_from(record.0.checked_sub(self.bases.eh_frame.section?)?).ok()?;
        // What records share is read again for each: a large one would take its size times their number.
        let parent = |frames: &EhFrame<Bytes<'a>>, bases: &BaseAddresses, at: EhFrameOffset| {
            let size = self.frame_bytes.get(at.0..).and_then(|bytes| bytes.first_chunk());
            if size.is_none_or(|size| u32::from_le_bytes(*size) > LARGEST_CIE) {
                return Err(gimli::Error::BadLength);
            }
            frames.cie_from_offset(bases, at)
        };
        let fde = self
            .frames
            .fde_from_offset(&self.bases, offset.into(), parent)
            .ok()?;
        let landing_pads = match fde.lsda() {
            Some(Pointer::Direct(address)) => Some(ImageAddress(address)),
            _ => None,
        };
        let start = ImageAddress(fde.initial_address());
        // A record of another function, or one that wraps around, belongs to no code.
        (Some(start) == self.start(index)).then_some(())?;
        let end = start.0.checked_add(fde.len())?;
        let end = self.start(index + 1).map_or(end, |next| next.0.min(end));
        let range = ImageRange {
            start,
            size: end - start.0,
        };
        Some(Function { range, landing_pads })
    }
}

/// In bytes; compilers stay below 64.
const LARGEST_CIE: u32 = 4096;

/// Where the count of entries stands in the table.
const COUNT: usize = 8;

/// Both distances of an entry.
fn entry(bytes: &[u8; 8]) -> (i32, i32) {
    let [a, b, c, d, rest @ ..] = *bytes;
    (i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes(rest))
}
