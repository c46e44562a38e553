//! Writing: the planned parts as bytes, and the file that holds them.

pub mod dynamic;
pub mod file;
pub mod headers;
pub mod program_info;
pub(crate) mod runtime;
pub mod stubs;
pub mod tables;

use std::borrow::Cow;

use crate::{
    address::FileOffset,
    error::RelinkError,
    input::{Object, ObjectKind},
    plan::{
        Plan,
        layout::{INTERPRETER, PARTS, Part},
    },
};

/// The output file's contents: what no piece covers is zero.
#[derive(Debug)]
pub struct Image<'a> {
    /// Size of the file in bytes.
    pub size: u64,
    /// The pieces in the order in which they are written: a later one replaces what it overlaps.
    pub pieces: Vec<(FileOffset, Cow<'a, [u8]>)>,
}

impl<'a> Image<'a> {
    /// Encodes a plan.
    ///
    /// # Errors
    ///
    /// [`RelinkError::Unbalanced`] when a part's bytes are not as many as planned.
    pub fn build(program: &Object<'a>, plan: &Plan<'_>) -> Result<Self, RelinkError> {
        let mut pieces = Vec::new();
        for load in &program.segments.loads {
            let bytes = program
                .file
                .range("a LOAD segment", load.offset, load.file_size)?;
            pieces.push((load.offset, Cow::Borrowed(bytes)));
        }
        for rewrite in &plan.rewrites {
            let load = program
                .segments
                .load_of(rewrite.address, rewrite.bytes.len() as u64);
            let offset =
                load.map(|load| FileOffset(load.offset.0 + (rewrite.address.0 - load.range.start.0)));
            pieces.extend(offset.map(|offset| (offset, Cow::Owned(rewrite.bytes.clone()))));
        }
        pieces.push((FileOffset(0), Cow::Owned(headers::elf_header(plan))));
        for (part, name, ..) in PARTS {
            let bytes = match part {
                Part::ProgramHeaders => headers::program_headers(program, plan),
                Part::Interpreter if program.kind == ObjectKind::Module => Vec::new(),
                Part::Interpreter => INTERPRETER.to_vec(),
                Part::GnuHash => plan.symbols.hash.bytes(),
                Part::Symbols => tables::symbols(&plan.symbols),
                Part::DynamicStrings => plan.symbols.strings.bytes().to_vec(),
                Part::Relocations => {
                    tables::relocations(plan.relocations.relative.iter().chain(&plan.relocations.others))
                }
                Part::JumpRelocations => tables::relocations(plan.relocations.jump_slots.iter()),
                Part::Info => program_info::info(program, plan),
                Part::ImportRecords => program_info::records(plan)?,
                Part::ImportSites => program_info::sites(plan),
                Part::ModuleRecords => program_info::modules(plan)?,
                Part::Dependencies => program_info::dependencies(plan),
                Part::InfoStrings => plan.layout.info_strings.bytes().to_vec(),
                Part::EntryStub if program.kind == ObjectKind::Module => Vec::new(),
                Part::EntryStub => stubs::entry(&plan.layout),
                Part::TrapStubs => stubs::traps(&plan.layout, plan.imports.list.len()),
                Part::Trampolines => plan.trampolines.clone(),
                Part::Dynamic => dynamic::table(program, plan),
                // The OS loader fills them.
                Part::Slots => vec![0; 16],
            };
            let place = plan.layout.place(part);
            if bytes.len() as u64 != place.size {
                let written = bytes.len() as u64;
                return Err(RelinkError::Unbalanced {
                    part: name,
                    planned: place.size,
                    written,
                });
            }
            pieces.push((plan.layout.offset(place.start), Cow::Owned(bytes)));
        }
        Ok(Self {
            size: plan.layout.file_size(),
            pieces,
        })
    }

    /// The whole file in memory: for tests and tools; files are written piece by piece.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.size).unwrap_or(0)];
        for (offset, piece) in &self.pieces {
            let start = usize::try_from(offset.0).unwrap_or(usize::MAX);
            if let Some(place) = start
                .checked_add(piece.len())
                .and_then(|end| bytes.get_mut(start..end))
            {
                place.copy_from_slice(piece);
            }
        }
        bytes
    }
}
