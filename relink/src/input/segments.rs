//! Program headers: what is loaded where, and the few others that a running program needs.

use std::fmt;

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::program_header::{
    PF_R, PF_W, PF_X, PT_DYNAMIC, PT_GNU_EH_FRAME, PT_GNU_RELRO, PT_GNU_STACK, PT_INTERP, PT_LOAD, PT_NOTE,
    PT_NULL, PT_PHDR, PT_TLS, ProgramHeader,
};

use crate::{
    address::{FileOffset, HOST_PAGE, ImageAddress, ImageRange, align_down, align_up},
    error::{RelinkError, SegmentProblem},
};

use super::{bytes::FileBytes, header::Header};

/// Type of the process parameter block of a program.
pub const PT_SCE_PROCPARAM: u32 = 0x6100_0001;
const PT_SCE_RELA: u32 = 0x6000_0000;
const PT_SCE_DYNLIBDATA: u32 = 0x6100_0000;
const PT_SCE_MODULE_PARAM: u32 = 0x6100_0002;
const PT_SCE_RELRO: u32 = 0x6100_0010;
const PT_SCE_COMMENT: u32 = 0x6fff_ff00;
const PT_SCE_LIBVERSION: u32 = 0x6fff_ff01;
const PT_GNU_PROPERTY: u32 = 0x6474_e553;

/// What code may do with a segment's bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Access(u32);

impl Access {
    /// Nothing: how console files mark what only the linker and the loader look at.
    pub const NONE: Self = Self(0);
    /// Reading.
    pub const R: Self = Self(PF_R);
    /// Reading and writing.
    pub const RW: Self = Self(PF_R | PF_W);
    /// Reading and executing.
    pub const RX: Self = Self(PF_R | PF_X);

    /// Whether it may be written.
    #[must_use]
    pub const fn writable(self) -> bool {
        self.0 & PF_W != 0
    }

    /// Whether it may be executed.
    #[must_use]
    pub const fn executable(self) -> bool {
        self.0 & PF_X != 0
    }

    /// The same with reading.
    #[must_use]
    pub const fn readable(self) -> Self {
        Self(self.0 | PF_R)
    }

    /// The `p_flags` word.
    #[must_use]
    pub const fn flags(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, letter) in [(PF_R, 'R'), (PF_W, 'W'), (PF_X, 'X')] {
            if self.0 & bit != 0 {
                write!(f, "{letter}")?;
            }
        }
        if self.0 == 0 { f.write_str("none") } else { Ok(()) }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One program header, checked: its file bytes are in the file, and its memory range does not wrap.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Where it lies in memory.
    pub range: ImageRange,
    /// Where its file bytes begin.
    pub offset: FileOffset,
    /// How many file bytes it has; the rest of the range is zero.
    pub file_size: u64,
    /// `p_align`: 0 or a power of two.
    pub alignment: u64,
    /// What the file asks for.
    pub access: Access,
}

impl Segment {
    /// The part of the range that the file backs.
    #[must_use]
    pub const fn file_range(&self) -> ImageRange {
        ImageRange {
            start: self.range.start,
            size: self.file_size,
        }
    }
}

/// The program headers that matter. What the console alone reads (comment, library version, notes) is passed over:
/// their offsets may lie outside the file.
#[derive(Debug)]
pub struct Segments {
    /// LOAD segments: at least one, ascending, no two on one host page.
    pub loads: Vec<Segment>,
    /// The dynamic table.
    pub dynamic: Segment,
    /// The TLS initialisation image; `None` also when it is empty.
    pub tls: Option<Segment>,
    /// The unwinder's search table.
    pub eh_frame: Option<Segment>,
    /// What may be made read-only after relocation.
    pub relro: Option<Segment>,
    /// The process parameter block.
    pub process_parameters: Option<Segment>,
}

/// What the reader does with a type.
enum Role {
    Load,
    Dynamic,
    Tls,
    EhFrame,
    Relro,
    ProcessParameters,
    /// Nothing in it is needed at run time, and nothing of it is checked.
    Ignored,
}

/// The table of types: its name in messages, and its role.
const TYPES: &[(u32, &str, Role)] = &[
    (PT_NULL, "NULL", Role::Ignored),
    (PT_LOAD, "LOAD", Role::Load),
    (PT_DYNAMIC, "DYNAMIC", Role::Dynamic),
    (PT_INTERP, "INTERP", Role::Ignored),
    (PT_NOTE, "NOTE", Role::Ignored),
    (PT_PHDR, "PHDR", Role::Ignored),
    (PT_TLS, "TLS", Role::Tls),
    (PT_GNU_EH_FRAME, "GNU_EH_FRAME", Role::EhFrame),
    (PT_GNU_STACK, "GNU_STACK", Role::Ignored),
    (PT_GNU_RELRO, "GNU_RELRO", Role::Relro),
    (PT_GNU_PROPERTY, "GNU_PROPERTY", Role::Ignored),
    (PT_SCE_RELA, "SCE_RELA", Role::Ignored),
    (PT_SCE_DYNLIBDATA, "SCE_DYNLIBDATA", Role::Ignored),
    (PT_SCE_PROCPARAM, "SCE_PROCPARAM", Role::ProcessParameters),
    (PT_SCE_MODULE_PARAM, "SCE_MODULE_PARAM", Role::Ignored),
    (PT_SCE_RELRO, "SCE_RELRO", Role::Ignored),
    (PT_SCE_COMMENT, "SCE_COMMENT", Role::Ignored),
    (PT_SCE_LIBVERSION, "SCE_LIBVERSION", Role::Ignored),
];

impl Segments {
    pub(super) fn read(file: FileBytes<'_>, header: &Header) -> Result<Self, RelinkError> {
        let count = usize::from(header.program_header_count);
        let size = goblin::elf64::program_header::SIZEOF_PHDR as u64 * u64::from(header.program_header_count);
        let table = file.range("the program header table", header.program_headers, size)?;
        let context = Ctx::new(Container::Big, Endian::Little);
        let headers = ProgramHeader::parse(table, 0, count, context).map_err(|_| RelinkError::Truncated {
            what: "the program header table",
            offset: header.program_headers,
            size,
            file_size: file.size(),
        })?;

        let mut loads: Vec<Segment> = Vec::new();
        let (mut dynamic, mut tls, mut eh_frame, mut relro, mut process_parameters) =
            (None, None, None, None, None);
        for (index, header) in headers.iter().enumerate() {
            let known = TYPES.iter().find(|(number, ..)| *number == header.p_type);
            let kind = known.map_or_else(
                || format!("type {:#x}", header.p_type),
                |(_, name, _)| (*name).to_owned(),
            );
            let refuse = |problem| RelinkError::Segment {
                index,
                kind: kind.clone(),
                problem,
            };
            let Some((_, _, role)) = known else {
                return Err(refuse(SegmentProblem::UnknownType));
            };
            let slot = match role {
                Role::Ignored => continue,
                Role::Load => {
                    // An empty LOAD maps nothing.
                    if header.p_memsz > 0 {
                        let load = segment(file, header).map_err(refuse)?;
                        check_load(&load, loads.last()).map_err(refuse)?;
                        loads.push(load);
                    }
                    continue;
                }
                Role::Dynamic => &mut dynamic,
                Role::Tls => &mut tls,
                Role::EhFrame => &mut eh_frame,
                Role::Relro => &mut relro,
                Role::ProcessParameters => &mut process_parameters,
            };
            let mut read = segment(file, header).map_err(refuse)?;
            if slot.is_some() {
                return Err(refuse(SegmentProblem::Duplicate));
            }
            if matches!(role, Role::Dynamic) {
                // Its offset can be wrong in modules that were taken out of a container; the address is what
                // loaders go by.
                read.file_size = read.range.size;
            }
            if read.range.size > 0 {
                *slot = Some(Found {
                    index,
                    kind,
                    segment: read,
                    thread_local: matches!(role, Role::Tls),
                });
            }
        }
        if loads.is_empty() {
            return Err(RelinkError::NoSegment { kind: "LOAD" });
        }

        let inside = |found: Option<Found>| found.map(|found| found.inside(&loads)).transpose();
        Ok(Self {
            dynamic: inside(dynamic)?.ok_or(RelinkError::NoSegment { kind: "DYNAMIC" })?,
            tls: inside(tls)?,
            eh_frame: inside(eh_frame)?,
            relro: inside(relro)?,
            process_parameters: inside(process_parameters)?,
            loads,
        })
    }

    /// The LOAD segment that holds all of a memory range.
    #[must_use]
    pub fn load_of(&self, address: ImageAddress, size: u64) -> Option<&Segment> {
        // Ascending, so the last that begins at or below the address is the only candidate.
        let after = self.loads.partition_point(|load| load.range.start <= address);
        let load = self.loads.get(after.checked_sub(1)?)?;
        load.range.covers(address, size).then_some(load)
    }

    /// One past the last address of the image.
    #[must_use]
    pub fn end(&self) -> ImageAddress {
        self.loads.last().map_or(ImageAddress(0), |load| load.range.end())
    }

    /// The file bytes behind a memory range.
    ///
    /// # Errors
    ///
    /// [`RelinkError::Unmapped`] naming `what`.
    pub fn bytes_at<'a>(
        &self,
        file: FileBytes<'a>,
        what: &'static str,
        address: ImageAddress,
        size: u64,
    ) -> Result<&'a [u8], RelinkError> {
        let unmapped = RelinkError::Unmapped { what, address, size };
        match self.load_of(address, size) {
            Some(load) if load.file_range().covers(address, size) => {
                let offset = load.offset.0 + (address.0 - load.range.start.0);
                file.get(FileOffset(offset), size).ok_or(unmapped)
            }
            _ => Err(unmapped),
        }
    }

    pub(super) fn check_entry(&self, entry: ImageAddress) -> Result<(), RelinkError> {
        match self.load_of(entry, 1) {
            Some(load) if load.access.executable() => Ok(()),
            _ => Err(RelinkError::Entry { entry }),
        }
    }
}

/// A header with a role, before it is known to lie in a LOAD segment.
struct Found {
    index: usize,
    kind: String,
    segment: Segment,
    thread_local: bool,
}

impl Found {
    fn inside(self, loads: &[Segment]) -> Result<Segment, RelinkError> {
        // The zero part of a TLS segment takes no memory of the image: each thread has its own.
        let range = if self.thread_local {
            self.segment.file_range()
        } else {
            self.segment.range
        };
        if range.size == 0
            || loads
                .iter()
                .any(|load| load.range.covers(range.start, range.size))
        {
            return Ok(self.segment);
        }
        let problem = SegmentProblem::OutsideLoads { range };
        Err(RelinkError::Segment {
            index: self.index,
            kind: self.kind,
            problem,
        })
    }
}

/// The checks that hold for every header with a role.
fn segment(file: FileBytes<'_>, header: &ProgramHeader) -> Result<Segment, SegmentProblem> {
    let (address, offset) = (ImageAddress(header.p_vaddr), FileOffset(header.p_offset));
    if header.p_align != 0 && !header.p_align.is_power_of_two() {
        return Err(SegmentProblem::Alignment {
            alignment: header.p_align,
        });
    }
    if address.0.checked_add(header.p_memsz).is_none() {
        return Err(SegmentProblem::Wraps {
            address,
            size: header.p_memsz,
        });
    }
    // A dynamic table's offset is not used.
    if header.p_type != PT_DYNAMIC {
        if header.p_filesz > header.p_memsz {
            return Err(SegmentProblem::FileExceedsMemory {
                file: header.p_filesz,
                memory: header.p_memsz,
            });
        }
        if file.get(offset, header.p_filesz).is_none() {
            return Err(SegmentProblem::BeyondFile {
                offset,
                size: header.p_filesz,
                file_size: file.size(),
            });
        }
    }
    if header.p_flags & !(PF_R | PF_W | PF_X) != 0 {
        return Err(SegmentProblem::Flags {
            flags: header.p_flags,
        });
    }
    Ok(Segment {
        range: ImageRange {
            start: address,
            size: header.p_memsz,
        },
        offset,
        file_size: header.p_filesz,
        alignment: header.p_align,
        access: Access(header.p_flags),
    })
}

/// What the OS loader needs of a LOAD segment.
fn check_load(load: &Segment, previous: Option<&Segment>) -> Result<(), SegmentProblem> {
    if load.access.writable() && load.access.executable() {
        return Err(SegmentProblem::WritableCode);
    }
    let address = load.range.start;
    if load.offset.0 % HOST_PAGE != address.0 % HOST_PAGE {
        return Err(SegmentProblem::Incongruent {
            offset: load.offset,
            address,
        });
    }
    if let Some(previous) = previous {
        let end = align_up(previous.range.end().0, HOST_PAGE);
        if end.is_none_or(|end| align_down(address.0, HOST_PAGE) < end) {
            return Err(SegmentProblem::Overlap {
                address,
                previous: previous.range.end(),
            });
        }
    }
    Ok(())
}
