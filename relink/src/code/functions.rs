//! Function bounds by the unwind table, which compilers make for every function, and which the loader keeps.

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, ParsedEhFrameHdr, Pointer,
    UnwindSection as _,
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
    header: ParsedEhFrameHdr<Bytes<'a>>,
    frames: EhFrame<Bytes<'a>>,
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
        let pointer = table.header.table()?.lookup(address.0, &table.bases).ok()?;
        table
            .function(pointer)
            .filter(|function| function.range.covers(address, 1))
    }

    /// All functions, in the order of their addresses.
    #[must_use]
    pub fn all(&self) -> Vec<Function> {
        let Some(table) = &self.table else {
            return Vec::new();
        };
        let mut all = Vec::new();
        if let Some(search) = table.header.table() {
            let mut entries = search.iter(&table.bases);
            while let Ok(Some((_, pointer))) = entries.next() {
                all.extend(table.function(pointer));
            }
        }
        all.sort_unstable_by_key(|function| function.range.start);
        all.dedup_by_key(|function| function.range.start);
        all
    }

    /// The range around an address that no function covers: up to the nearest functions, or to the ends of `within`.
    #[must_use]
    pub fn gap_around(&self, address: ImageAddress, within: ImageRange) -> ImageRange {
        let mut gap = within;
        let Some(table) = &self.table else { return gap };
        let Some(search) = table.header.table() else {
            return gap;
        };
        // The entry at or below the address, which does not cover it.
        if let Ok(pointer) = search.lookup(address.0, &table.bases)
            && let Some(below) = table.function(pointer)
            && below.range.end() <= address
            && below.range.end() > gap.start
        {
            gap.size = gap.end().0 - below.range.end().0;
            gap.start = below.range.end();
        }
        // The next entry: entries are found by address only, so double the step until one begins above.
        let mut step = 16;
        while address.0 + step < within.end().0 {
            if let Ok(pointer) = search.lookup(address.0 + step, &table.bases)
                && let Some(next) = table.function(pointer)
                && next.range.start > address
            {
                // Between the two may be a nearer one.
                let (mut low, mut high) = (address.0, next.range.start.0);
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    let nearer = search
                        .lookup(middle, &table.bases)
                        .ok()
                        .and_then(|pointer| table.function(pointer))
                        .filter(|function| function.range.start > address);
                    match nearer {
                        Some(nearer) => high = nearer.range.start.0,
                        None => low = middle,
                    }
                }
                gap.size = high - gap.start.0;
                break;
            }
            step *= 2;
        }
        gap
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
        header.table()?;
        let Pointer::Direct(frames) = header.eh_frame_ptr() else {
            return None;
        };
        let load = object.segments.load_of(ImageAddress(frames), 1)?;
        Some(Self {
            header,
            frames: EhFrame::new(bytes_at(load, ImageAddress(frames))?, LittleEndian),
            bases: bases.set_eh_frame(frames),
        })
    }

    fn function(&self, pointer: Pointer) -> Option<Function> {
        let (Pointer::Direct(address), Pointer::Direct(frames)) = (pointer, self.header.eh_frame_ptr())
        else {
            return None;
        };
        let offset = usize::try_from(address.checked_sub(frames)?).ok()?.into();
        let fde = self
            .frames
            .fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset)
            .ok()?;
        let landing_pads = match fde.lsda() {
            Some(Pointer::Direct(address)) => Some(ImageAddress(address)),
            _ => None,
        };
        let range = ImageRange {
            start: ImageAddress(fde.initial_address()),
            size: fde.len(),
        };
        // A record that wraps around belongs to no code.
        range.start.0.checked_add(range.size)?;
        Some(Function { range, landing_pads })
    }
}
