//! The two relocation tables.

use crate::{
    address::ImageAddress,
    error::{RelinkError, RelocationProblem},
};

use super::{
    bytes::{field, records},
    dynamic::Dynamic,
    segments::Segments,
};

/// Size in bytes of one record.
pub const RECORD: usize = 24;
/// Size in bytes of what every relocation on the list patches.
pub const SLOT: u64 = 8;

/// The relocation types of PS5 programs. S is the symbol's address, A the addend, B the load bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RelocationKind {
    /// S + A.
    Absolute = 1,
    /// S, in the global offset table.
    GlobalData = 6,
    /// S, in a slot that a procedure linkage stub jumps through.
    JumpSlot = 7,
    /// B + A.
    Relative = 8,
    /// The TLS module id of the symbol's file.
    TlsModule = 16,
    /// The symbol's offset in its file's TLS block, plus A.
    TlsOffset = 17,
    /// The symbol's offset from the thread pointer, plus A.
    TlsPointerOffset = 18,
}

/// R_X86_64_NONE: no work at all.
const NONE: u32 = 0;

impl RelocationKind {
    /// The table of types.
    pub const ALL: &[(Self, &'static str)] = &[
        (Self::Absolute, "64"),
        (Self::GlobalData, "GLOB_DAT"),
        (Self::JumpSlot, "JUMP_SLOT"),
        (Self::Relative, "RELATIVE"),
        (Self::TlsModule, "DTPMOD64"),
        (Self::TlsOffset, "DTPOFF64"),
        (Self::TlsPointerOffset, "TPOFF64"),
    ];

    /// Whether it is about thread-local storage.
    #[must_use]
    pub const fn is_thread_local(self) -> bool {
        matches!(self, Self::TlsModule | Self::TlsOffset | Self::TlsPointerOffset)
    }

    fn from_number(number: u32) -> Option<Self> {
        Self::ALL
            .iter()
            .map(|(kind, _)| *kind)
            .find(|kind| *kind as u32 == number)
    }
}

/// One of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationTable {
    /// DT_RELA.
    General,
    /// DT_JMPREL.
    JumpSlots,
}

impl RelocationTable {
    const fn name(self) -> &'static str {
        match self {
            Self::General => "RELA",
            Self::JumpSlots => "JMPREL",
        }
    }
}

/// A place in the input's tables, for messages.
#[derive(Debug, Clone, Copy)]
pub struct RelocationOrigin {
    /// The table.
    pub table: RelocationTable,
    /// Index in the table.
    pub index: u32,
}

/// One relocation: its target is eight bytes in a writable LOAD segment.
#[derive(Debug, Clone, Copy)]
pub struct Relocation {
    /// Where it stands.
    pub origin: RelocationOrigin,
    /// What it computes.
    pub kind: RelocationKind,
    /// What it patches.
    pub target: ImageAddress,
    /// Index of its symbol, 0 for none; within the symbol table.
    pub symbol: u32,
    /// What is added.
    pub addend: i64,
}

impl Relocation {
    /// An error about this relocation.
    #[must_use]
    pub fn refuse(&self, problem: RelocationProblem) -> RelinkError {
        refuse(self.origin, self.kind as u32, self.target, problem)
    }
}

fn refuse(
    origin: RelocationOrigin,
    kind: u32,
    target: ImageAddress,
    problem: RelocationProblem,
) -> RelinkError {
    let name = RelocationKind::ALL
        .iter()
        .find(|(known, _)| *known as u32 == kind);
    RelinkError::Relocation {
        index: origin.index as usize,
        table: origin.table.name(),
        kind: name.map_or_else(|| format!("type {kind}"), |(_, name)| (*name).to_owned()),
        target,
        problem,
    }
}

pub(super) fn read(
    segments: &Segments,
    dynamic: &Dynamic<'_>,
    symbol_count: usize,
) -> Result<Vec<Relocation>, RelinkError> {
    let tables = [
        (RelocationTable::General, dynamic.relocations),
        (RelocationTable::JumpSlots, dynamic.jump_relocations),
    ];
    let mut relocations = Vec::with_capacity(tables.iter().map(|(_, bytes)| bytes.len() / RECORD).sum());
    for (table, bytes) in tables {
        let records = records::<RECORD>(table.name(), bytes)?;
        // The numbers of records are 32-bit in messages and in the output's tables.
        u32::try_from(records.len()).map_err(|_| RelinkError::TooMany {
            what: "relocations",
            count: records.len(),
        })?;
        for (index, record) in (0..).zip(records) {
            let origin = RelocationOrigin { table, index };
            let target = ImageAddress(u64::from_le_bytes(field::<0, 8, RECORD>(record)));
            let number = u32::from_le_bytes(field::<8, 4, RECORD>(record));
            let symbol = u32::from_le_bytes(field::<12, 4, RECORD>(record));
            let addend = i64::from_le_bytes(field::<16, 8, RECORD>(record));
            if number == NONE {
                continue;
            }
            let Some(kind) = RelocationKind::from_number(number) else {
                return Err(refuse(origin, number, target, RelocationProblem::Kind));
            };
            let relocation = Relocation {
                origin,
                kind,
                target,
                symbol,
                addend,
            };
            if kind == RelocationKind::Relative && symbol != 0 {
                return Err(relocation.refuse(RelocationProblem::RelativeWithSymbol { symbol }));
            }
            if usize::try_from(symbol).is_ok_and(|symbol| symbol >= symbol_count) && symbol != 0 {
                let problem = RelocationProblem::SymbolIndex {
                    symbol,
                    count: symbol_count,
                };
                return Err(relocation.refuse(problem));
            }
            match segments.load_of(target, SLOT) {
                None => return Err(relocation.refuse(RelocationProblem::Unmapped)),
                Some(load) if !load.access.writable() => {
                    return Err(relocation.refuse(RelocationProblem::ReadOnly));
                }
                Some(_) => relocations.push(relocation),
            }
        }
    }
    check_overlaps(&relocations)?;
    Ok(relocations)
}

/// Two relocations of the same bytes would make the result depend on the loader's order.
fn check_overlaps(relocations: &[Relocation]) -> Result<(), RelinkError> {
    let mut targets: Vec<ImageAddress> = relocations.iter().map(|relocation| relocation.target).collect();
    targets.sort_unstable();
    for pair in targets.windows(2) {
        if let [first, second] = *pair
            && second.0 - first.0 < SLOT
        {
            return Err(RelinkError::RelocationOverlap { first, second });
        }
    }
    Ok(())
}
