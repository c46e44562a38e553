//! Who reads code. The console's code segments can be executed and not read; one that nothing reads may stay so.
//!
//! What counts as reading: a table that the loader or the unwinder looks at lies there; an instruction has an operand
//! there; or an address there is taken or held by data that is not where a function begins. The address of a function is
//! for calling.

use std::fmt;

use iced_x86::{Instruction, Mnemonic};

use crate::{
    address::{ImageAddress, ImageRange},
    input::{Object, relocations::RelocationKind, segments::Segment, symbols::SymbolKind},
};

use super::{Code, search};

/// Who reads a segment that the input lets nobody read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// A table in it.
    Table(&'static str),
    /// The unwinder, which looks at code without unwind information.
    Unwinder {
        /// Such code.
        at: ImageAddress,
    },
    /// Data holds an address in it where no function begins.
    Pointer {
        /// The address.
        to: ImageAddress,
    },
    /// An instruction reads it, or takes an address in it where no function begins.
    Instruction {
        /// Where the instruction is.
        at: ImageAddress,
        /// What it refers to.
        to: ImageAddress,
    },
    /// It holds no code, so the rules of code say nothing.
    NoCode,
    /// Code was not looked at.
    Unknown,
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(what) => write!(f, "{what} lies in it"),
            Self::Unwinder { at } => write!(f, "there is no unwind information for the code at {at}"),
            Self::Pointer { to } => write!(f, "data holds {to}, where no function begins"),
            Self::Instruction { at, to } => write!(f, "the instruction at {at} refers to {to}"),
            Self::NoCode => f.write_str("it holds no code"),
            Self::Unknown => f.write_str("nobody looked at what its code reads"),
        }
    }
}

/// What is known of each LOAD segment's readers, in their order: `None` for one that nothing reads, or that is readable.
#[must_use]
pub fn readers(code: &Code<'_>, look: bool) -> Vec<Option<Reader>> {
    let loads = &code.object.segments.loads;
    loads.iter().map(|load| reader(code, load, look)).collect()
}

fn reader(code: &Code<'_>, load: &Segment, look: bool) -> Option<Reader> {
    if load.access == load.access.readable() {
        return None;
    }
    if !load.access.executable() || load.access.writable() {
        return Some(Reader::NoCode);
    }
    if !look {
        return Some(Reader::Unknown);
    }
    table(code.object, load.range)
        .or_else(|| pointer(code, load.range))
        .or_else(|| instruction(code, load.range))
}

/// A table that is read while the program runs.
fn table(object: &Object<'_>, within: ImageRange) -> Option<Reader> {
    let segments = &object.segments;
    let tables = [
        ("the initial thread-local data", segments.tls),
        ("the unwinder's search table", segments.eh_frame),
        ("the process parameter block", segments.process_parameters),
    ];
    let lists = [
        object.lifecycle.early_initialisers,
        object.lifecycle.initialisers,
        object.lifecycle.finalisers,
    ];
    let overlap =
        |range: ImageRange| range.size > 0 && range.start < within.end() && within.start < range.end();
    let data = |symbol: &&crate::input::symbols::Symbol<'_>| {
        !symbol.is_import()
            && symbol.kind == SymbolKind::Object
            && within.covers(ImageAddress(symbol.value), 1)
    };
    tables
        .into_iter()
        .find(|(_, segment)| segment.is_some_and(|segment| overlap(segment.range)))
        .map(|(name, _)| name)
        .or_else(|| lists.into_iter().any(overlap).then_some("a list of functions"))
        .or_else(|| object.symbols.iter().find(data).map(|_| "exported data"))
        .map(Reader::Table)
}

/// An address in code that data holds.
fn pointer(code: &Code<'_>, within: ImageRange) -> Option<Reader> {
    let object = code.object;
    if let Some(frames) = code.functions.frames()
        && within.covers(frames, 1)
    {
        return Some(Reader::Table("the unwind table"));
    }
    let relative = |address: ImageAddress| {
        object.relocations.iter().any(|relocation| {
            relocation.kind == RelocationKind::Relative && relocation.addend.cast_unsigned() == address.0
        })
    };
    let first = code.entry_points_in(within).iter().copied();
    // Function by function is quick; the few others are looked at one by one.
    first
        .filter(|address| !code.functions.begins_at(*address))
        .take(1)
        .map(|address| {
            if relative(address) {
                Reader::Pointer { to: address }
            } else {
                Reader::Unwinder { at: address }
            }
        })
        .next()
}

/// An instruction that refers to code otherwise than to go there.
fn instruction(code: &Code<'_>, within: ImageRange) -> Option<Reader> {
    let places = search::operands(code, within, |target| code.functions.begins_at(target));
    let found = code.find_at(places, |instruction| refers(code, instruction, within));
    // What may read counts: a segment that stays unreadable by mistake ends the program.
    found.instructions.into_iter().chain(found.uncertain).min()
}

fn refers(code: &Code<'_>, instruction: &Instruction, within: ImageRange) -> Option<Reader> {
    if !instruction.is_ip_rel_memory_operand() {
        return None;
    }
    let to = ImageAddress(instruction.ip_rel_memory_address());
    let goes_there = instruction.mnemonic() == Mnemonic::Lea && code.functions.begins_at(to);
    (within.covers(to, 1) && !goes_there).then_some(Reader::Instruction {
        at: ImageAddress(instruction.ip()),
        to,
    })
}
