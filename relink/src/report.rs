//! What a relink did.

use std::{fmt, path::PathBuf, time::Duration};

use hashbrown::HashMap;
use relic_core::{Nid, program::ImportKind};

use crate::{
    address::{FileOffset, ImageRange},
    code::reads::Reader,
    input::{Object, segments::Access},
    plan::{
        Plan,
        imports::Import,
        linkage::ListedModule,
        rewrites::{Reason, Rewrite, places},
    },
    title::modules::ModuleFile,
};

/// What a relink did.
#[derive(Debug, Clone)]
pub struct RelinkReport {
    /// What the program asks the runtime library for.
    pub imports: Vec<ImportReport>,
    /// How many definitions of its own the program exports under a NID; they are renamed.
    pub exports: usize,
    /// What it asks for and does not use, and was therefore left out.
    pub unused: Vec<ImportReport>,
    /// How many writes of patches were applied, in the program and its modules.
    pub patched: usize,
    /// Code that was replaced.
    pub rewrites: Vec<Rewrite>,
    /// How many relocations the output has.
    pub relocations: usize,
    /// The title's modules, in the order in which they are loaded.
    pub modules: Vec<ModuleReport>,
    /// The output's LOAD segments, ascending.
    pub segments: Vec<SegmentReport>,
    /// What differs from the input in a way that a reader may want to know.
    pub notes: Vec<Note>,
    /// How long it took.
    pub timings: Timings,
}

/// One module.
#[derive(Debug, Clone)]
pub struct ModuleReport {
    /// The file.
    pub input: PathBuf,
    /// Its path in the title, below `/app0`.
    pub path: String,
    /// Where it was written, from the program's folder.
    pub output: String,
    /// Whether the program needs it from the start; otherwise it loads it itself.
    pub at_start: bool,
    /// What it asks for, exports, and so on. Without modules of its own and without times.
    pub relink: Box<RelinkReport>,
}

impl ModuleReport {
    pub(crate) fn new(file: &ModuleFile, listed: &ListedModule, relink: RelinkReport) -> Self {
        Self {
            input: file.file.clone(),
            path: listed.path.clone(),
            output: listed.file.clone(),
            at_start: listed.at_start,
            relink: Box::new(relink),
        }
    }
}

/// One import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportReport {
    /// The library that the program asks for it.
    pub library: String,
    /// Its NID.
    pub nid: Nid,
    /// Its name, where it is known.
    pub name: Option<&'static str>,
    /// What it is.
    pub kind: ImportKind,
    /// Whether a module of the title answers it, and not the runtime library.
    pub bound: bool,
    /// How many slots hold it.
    pub sites: usize,
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = kind_name(self.kind);
        write!(
            f,
            "{} {} {} ({kind})",
            self.library,
            self.nid,
            self.name.unwrap_or("?")
        )
    }
}

/// A kind's name for people and tools.
#[must_use]
pub const fn kind_name(kind: ImportKind) -> &'static str {
    match kind {
        ImportKind::Function => "function",
        ImportKind::Object => "data",
        ImportKind::Weak => "optional",
    }
}

/// One LOAD segment of the output.
#[derive(Debug, Clone, Copy)]
pub struct SegmentReport {
    /// Where it lies.
    pub range: ImageRange,
    /// Where its file bytes begin.
    pub offset: FileOffset,
    /// What may be done with it.
    pub access: Access,
    /// Whether the relinker appended it; otherwise it is the guest's.
    pub appended: bool,
}

/// A difference worth a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A segment that the input does not let anyone read is readable in the output.
    MadeReadable {
        /// The segment.
        range: ImageRange,
        /// What the input lets one do.
        was: Access,
        /// Who reads it.
        reader: Reader,
    },
    /// A segment that the input does not let anyone read stays so.
    KeptUnreadable {
        /// The segment.
        range: ImageRange,
        /// What the input lets one do.
        was: Access,
    },
    /// The read-only-after-relocation range could not be kept.
    RelroDropped,
    /// Byte pairs in code look like system calls, and no control flow that is known reaches them as such.
    UnreachedPairs {
        /// How many.
        count: usize,
    },
    /// Code without unwind information may hold system calls, or data with their bytes.
    UncertainCalls {
        /// How many.
        count: usize,
        /// The first of them.
        places: String,
    },
    /// The same of instructions that only AMD's processors have.
    LeftAlone {
        /// How many.
        count: usize,
        /// The first of them.
        places: String,
    },
    /// System calls were replaced.
    Trapped {
        /// How many.
        count: usize,
    },
    /// Instructions that only AMD's processors have were replaced.
    Lowered {
        /// How many.
        count: usize,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MadeReadable { range, was, reader } => {
                write!(f, "segment {range} ({was}) was made readable: {reader}")
            }
            Self::KeptUnreadable { range, was } => {
                write!(f, "segment {range} ({was}) stays unreadable: nothing reads it")
            }
            Self::UnreachedPairs { count } => write!(
                f,
                "{count} byte pairs in code look like system calls and are data, or code that nothing is known to reach"
            ),
            Self::UncertainCalls { count, places } => write!(
                f,
                "{count} places in code without unwind information may be system calls, or data with their bytes ({places}): \
                 only a guess leads there, so they stay as they are; disassemble around them, and where one is a system call, \
                 let a patch write 0f 0b over its last two bytes"
            ),
            Self::LeftAlone { count, places } => write!(
                f,
                "{count} places in code without unwind information may be instructions that only AMD's processors have, or \
                 data with their bytes ({places}): only a guess leads there, so they stay as they are"
            ),
            Self::Trapped { count } => write!(
                f,
                "{count} system calls were replaced: the program ends with an illegal instruction where it reaches one"
            ),
            Self::Lowered { count } => write!(
                f,
                "{count} instructions that only AMD's processors have were replaced"
            ),
            Self::RelroDropped => f.write_str(
                "GNU_RELRO was dropped: it does not begin on a page of a writable segment, so it would protect other data",
            ),
        }
    }
}

/// How long each phase took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// Reading and checking the input.
    pub read: Duration,
    /// Planning the output.
    pub plan: Duration,
    /// Encoding it, and writing the file.
    pub write: Duration,
    /// All of it.
    pub total: Duration,
}

impl RelinkReport {
    /// What the program and its modules ask the runtime library for, each once.
    #[must_use]
    pub fn all_imports(&self) -> Vec<ImportReport> {
        let modules = self.modules.iter().flat_map(|module| &module.relink.imports);
        let mut all: Vec<ImportReport> = Vec::new();
        let mut places = HashMap::new();
        for import in self.imports.iter().chain(modules).filter(|import| !import.bound) {
            let place = *places.entry((import.nid, &*import.library)).or_insert(all.len());
            match all.get_mut(place) {
                Some(known) => known.sites += import.sites,
                None => all.push(import.clone()),
            }
        }
        all
    }

    pub(crate) fn new(program: &Object<'_>, plan: &Plan<'_>, timings: Timings) -> Self {
        let describe = |import: &Import<'_>| ImportReport {
            library: import.library.to_owned(),
            nid: import.nid,
            name: import.name,
            kind: import.kind,
            bound: import.bound.is_some(),
            sites: import.sites.len(),
        };
        let imports = plan.imports.list.iter().map(describe);
        let relocations = &plan.relocations;
        let guest = plan.loads(program).map(|(load, access, _)| SegmentReport {
            range: load.range,
            offset: load.offset,
            access,
            appended: false,
        });
        let appended = plan.layout.appended.iter().map(|segment| SegmentReport {
            range: segment.range,
            offset: plan.layout.offset(segment.range.start),
            access: segment.access,
            appended: true,
        });
        let mut notes: Vec<Note> = plan
            .loads(program)
            .filter_map(|(load, access, reader)| {
                let (range, was) = (load.range, load.access);
                match reader {
                    Some(reader) => Some(Note::MadeReadable { range, was, reader }),
                    None if access != access.readable() => Some(Note::KeptUnreadable { range, was }),
                    None => None,
                }
            })
            .collect();
        let found = &plan.system_calls;
        if found.unreached > 0 {
            notes.push(Note::UnreachedPairs {
                count: found.unreached,
            });
        }
        if !found.uncertain.is_empty() {
            notes.push(Note::UncertainCalls {
                count: found.uncertain.len(),
                places: places(found.uncertain.iter().map(|call| (call.name, call.address))),
            });
        }
        if !plan.left_alone.is_empty() {
            notes.push(Note::LeftAlone {
                count: plan.left_alone.len(),
                places: places(plan.left_alone.iter().copied()),
            });
        }
        let count = |reason| {
            plan.rewrites
                .iter()
                .filter(|rewrite| rewrite.reason == reason)
                .count()
        };
        let (trapped, lowered) = (count(Reason::SystemCall), count(Reason::Lowered));
        if trapped > 0 {
            notes.push(Note::Trapped { count: trapped });
        }
        if lowered > 0 {
            notes.push(Note::Lowered { count: lowered });
        }
        if plan.relro.dropped {
            notes.push(Note::RelroDropped);
        }
        Self {
            imports: imports.collect(),
            exports: plan.symbols.export_count,
            unused: plan.unused.iter().map(describe).collect(),
            patched: 0,
            rewrites: plan.rewrites.clone(),
            relocations: relocations.relative.len() + relocations.others.len() + relocations.jump_slots.len(),
            modules: Vec::new(),
            segments: guest.chain(appended).collect(),
            notes,
            timings,
        }
    }
}
