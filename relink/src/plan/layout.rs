//! Where the appended parts lie.
//!
//! The guest's segments keep their addresses and file offsets. The three appended segments follow behind both the
//! image's last address and the file's last loaded byte, at the same distance between address and file offset as the
//! first guest segment has: kernels before 5.18 find the program headers by that distance.

use relic_core::program::{ImportRecord, ImportSite, ModuleRecord, ProgramInfo, TRAP_STUB_SIZE};

use crate::{
    address::{FileOffset, HOST_PAGE, ImageAddress, ImageRange, align_up},
    error::RelinkError,
    input::{Object, ObjectKind, relocations, segments::Access, symbols},
};

use super::{
    imports::Imports, linkage::ListedModule, relocations::Relocations, relro::Relro, strings::StringTable,
    symbols::SymbolTable,
};

/// Path of the OS loader.
pub const INTERPRETER: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
/// Size in bytes of the entry stub.
pub const ENTRY_STUB_SIZE: u64 = 24;
/// How many entries the output's dynamic table has beside those that name files, with the null entry.
const DYNAMIC_ENTRIES: u64 = 20;
/// Size in bytes of the code that all trap stubs share.
pub const TRAP_TAIL_SIZE: u64 = 16;
/// Offset in [`Part::Slots`] of the slot for `relic_trap`; the one for `relic_start` is at 0.
pub const TRAP_SLOT: u64 = 8;
/// What the output may span, in bytes. Far above any title's, and low enough that a damaged size can't fill a disk.
pub const IMAGE_LIMIT: u64 = 1 << 32;
/// Appended segments begin on a guest page, so that nothing of ours shares one with guest data.
const GUEST_PAGE: u64 = 0x4000;

/// The parts that are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// The program header table.
    ProgramHeaders,
    /// Path of the OS loader.
    Interpreter,
    /// The symbols' hash.
    GnuHash,
    /// The dynamic symbols.
    Symbols,
    /// Their names.
    DynamicStrings,
    /// Relocations other than jump slots.
    Relocations,
    /// Jump slot relocations.
    JumpRelocations,
    /// The [`ProgramInfo`].
    Info,
    /// The import records.
    ImportRecords,
    /// The import sites.
    ImportSites,
    /// The module records.
    ModuleRecords,
    /// Which modules each module needs.
    Dependencies,
    /// Strings of the import and module records.
    InfoStrings,
    /// The entry stub.
    EntryStub,
    /// The trap stubs.
    TrapStubs,
    /// Replacements of instructions.
    Trampolines,
    /// The dynamic table.
    Dynamic,
    /// The slots for `relic_start` and `relic_trap`.
    Slots,
}

/// The table of parts in the order of their addresses: name, segment's access, alignment.
pub const PARTS: [(Part, &str, Access, u64); 18] = [
    (Part::ProgramHeaders, "program headers", Access::R, 8),
    (Part::Interpreter, "interpreter", Access::R, 1),
    (Part::GnuHash, "hash", Access::R, 8),
    (Part::Symbols, "symbols", Access::R, 8),
    (Part::DynamicStrings, "symbol names", Access::R, 1),
    (Part::Relocations, "relocations", Access::R, 8),
    (Part::JumpRelocations, "jump slot relocations", Access::R, 8),
    (Part::Info, "program info", Access::R, 8),
    (Part::ImportRecords, "import records", Access::R, 8),
    (Part::ImportSites, "import sites", Access::R, 8),
    (Part::ModuleRecords, "module records", Access::R, 8),
    (Part::Dependencies, "module dependencies", Access::R, 8),
    (Part::InfoStrings, "names", Access::R, 1),
    (Part::EntryStub, "entry stub", Access::RX, 16),
    (Part::TrapStubs, "trap stubs", Access::RX, 16),
    (Part::Trampolines, "trampolines", Access::RX, 16),
    (Part::Dynamic, "dynamic table", Access::RW, 16),
    (Part::Slots, "runtime slots", Access::RW, 8),
];

/// One appended segment.
#[derive(Debug, Clone, Copy)]
pub struct AppendedSegment {
    /// Where it lies; every byte of it is in the file.
    pub range: ImageRange,
    /// What may be done with it.
    pub access: Access,
}

/// Where everything lies.
#[derive(Debug)]
pub struct Layout {
    /// The appended segments, ascending.
    pub appended: Vec<AppendedSegment>,
    /// How many program headers there are.
    pub program_header_count: u16,
    /// Strings of the import and module records.
    pub info_strings: StringTable,
    /// What is subtracted from an appended address to get its file offset (modulo 2^64).
    distance: u64,
    places: [ImageRange; PARTS.len()],
}

impl Layout {
    pub(super) fn new(
        program: &Object<'_>,
        imports: &Imports<'_>,
        symbols: &SymbolTable,
        relocations: &Relocations,
        relro: &Relro,
        modules: &[ListedModule],
        trampolines: u64,
    ) -> Result<Self, RelinkError> {
        super::number("import sites", imports.site_count())?;
        let mut info_strings = StringTable::new();
        for import in &imports.list {
            info_strings.add(import.library)?;
            info_strings.add(import.name.unwrap_or_default())?;
        }
        for module in modules {
            info_strings.add(&module.path)?;
            info_strings.add(&module.file)?;
        }
        let is_program = program.kind == ObjectKind::Program;
        let runtime_slots = 1 + usize::from(is_program);
        let only_program = |size| if is_program { size } else { 0 };
        let program_header_count = program_header_count(program, relro)?;
        let records = |count: usize, size: usize| count as u64 * size as u64;
        let size = |part| match part {
            Part::ProgramHeaders => 56 * u64::from(program_header_count),
            Part::Interpreter => only_program(INTERPRETER.len() as u64),
            Part::GnuHash => symbols.hash.size(),
            Part::Symbols => records(symbols.symbols.len(), symbols::RECORD),
            Part::DynamicStrings => symbols.strings.bytes().len() as u64,
            Part::Relocations => records(
                relocations.relative.len() + relocations.others.len() + runtime_slots,
                relocations::RECORD,
            ),
            Part::JumpRelocations => records(relocations.jump_slots.len(), relocations::RECORD),
            Part::Info => size_of::<ProgramInfo>() as u64,
            Part::ImportRecords => records(imports.list.len(), size_of::<ImportRecord>()),
            Part::ImportSites => records(imports.site_count(), size_of::<ImportSite>()),
            Part::InfoStrings => info_strings.bytes().len() as u64,
            Part::ModuleRecords => records(modules.len(), size_of::<ModuleRecord>()),
            Part::Dependencies => records(modules.iter().map(|module| module.dependencies.len()).sum(), 4),
            Part::EntryStub => only_program(ENTRY_STUB_SIZE),
            Part::TrapStubs => imports.list.len() as u64 * TRAP_STUB_SIZE + TRAP_TAIL_SIZE,
            Part::Trampolines => trampolines,
            Part::Dynamic => 16 * (DYNAMIC_ENTRIES + symbols.needed.len() as u64),
            Part::Slots => TRAP_SLOT + 8,
        };

        let (start, distance) = start(program)?;
        let mut address = start;
        let mut places = [ImageRange::default(); PARTS.len()];
        let mut appended: Vec<AppendedSegment> = Vec::new();
        for (part, _, access, alignment) in PARTS {
            let new_segment = appended.last().is_none_or(|segment| segment.access != access);
            address = limited(align_up(address, if new_segment { HOST_PAGE } else { alignment }))?;
            let range = ImageRange {
                start: ImageAddress(address),
                size: size(part),
            };
            address = limited(address.checked_add(range.size))?;
            places[part as usize] = range;
            match appended.last_mut() {
                Some(segment) if !new_segment => segment.range.size = address - segment.range.start.0,
                _ => appended.push(AppendedSegment { range, access }),
            }
        }
        Ok(Self {
            appended,
            program_header_count,
            info_strings,
            distance,
            places,
        })
    }

    /// Where a part lies.
    #[must_use]
    pub const fn place(&self, part: Part) -> ImageRange {
        self.places[part as usize]
    }

    /// Where an appended address lies in the file.
    #[must_use]
    pub const fn offset(&self, address: ImageAddress) -> FileOffset {
        FileOffset(address.0.wrapping_sub(self.distance))
    }

    /// Size of the output file in bytes.
    #[must_use]
    pub fn file_size(&self) -> u64 {
        self.appended
            .last()
            .map_or(0, |segment| self.offset(segment.range.end()).0)
    }
}

/// The first appended address, and its distance from its file offset.
fn start(program: &Object<'_>) -> Result<(u64, u64), RelinkError> {
    let segments = &program.segments;
    let first = segments
        .loads
        .first()
        .ok_or(RelinkError::NoSegment { kind: "LOAD" })?;
    let distance = i128::from(first.range.start.0) - i128::from(first.offset.0);
    // The ELF header, too, stands before the appended part.
    let file_end = segments
        .loads
        .iter()
        .map(|load| load.offset.0 + load.file_size)
        .max()
        .unwrap_or(0)
        .max(64);
    let start = i128::from(segments.end().0).max(i128::from(file_end) + distance);
    let start = limited(
        u64::try_from(start)
            .ok()
            .and_then(|start| align_up(start, GUEST_PAGE)),
    )?;
    Ok((start, first.range.start.0.wrapping_sub(first.offset.0)))
}

fn limited(address: Option<u64>) -> Result<u64, RelinkError> {
    match address {
        Some(address) if address <= IMAGE_LIMIT => Ok(address),
        _ => Err(RelinkError::TooLarge {
            end: ImageAddress(address.unwrap_or(u64::MAX)),
            limit: IMAGE_LIMIT,
        }),
    }
}

/// PHDR, a program's INTERP, the three appended LOADs, DYNAMIC and GNU_STACK, and what the input has.
fn program_header_count(program: &Object<'_>, relro: &Relro) -> Result<u16, RelinkError> {
    let segments = &program.segments;
    let optional = [segments.tls, segments.eh_frame, relro.segment];
    let fixed = 6 + usize::from(program.kind == ObjectKind::Program);
    let count = fixed + segments.loads.len() + optional.iter().flatten().count();
    u16::try_from(count).map_err(|_| RelinkError::TooMany {
        what: "program headers",
        count,
    })
}
