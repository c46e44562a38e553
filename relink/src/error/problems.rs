//! What can be wrong with one thing in a file.

use crate::address::{FileOffset, ImageAddress, ImageRange};

/// Why an instruction can't be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LowerProblem {
    /// A branch leads into the replaced bytes.
    #[error("a branch leads to {target}, which the jump to its replacement covers")]
    BranchInto {
        /// Where it leads.
        target: ImageAddress,
    },
    /// Nothing that can move follows.
    #[error("it is shorter than a jump, and what follows can't be moved")]
    NoRoom,
    /// A call follows.
    #[error("it is shorter than a jump, and the call that follows can't be moved")]
    CallBehind,
    /// Nobody knows who branches where.
    #[error("it is shorter than a jump, and in no function whose bounds are known")]
    NoBounds,
    /// Another one begins inside it.
    #[error("branches lead both to it and into its bytes, where another one to replace begins at {other}")]
    Overlap {
        /// The other.
        other: ImageAddress,
    },
    /// Out of reach.
    #[error("its replacement would be at {trampoline}, out of a jump's reach")]
    TooFar {
        /// Where.
        trampoline: ImageAddress,
    },
    /// Something does not encode.
    #[error("encoding its replacement: {0}")]
    Encoding(String),
}

/// What is wrong with a plain SELF container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerProblem {
    /// Something is not in the file.
    #[error("{size:#x} bytes at file offset {offset:#x} are not in it")]
    Cut {
        /// Where they should be.
        offset: u64,
        /// How many.
        size: u64,
    },
    /// No ELF header.
    #[error("there is no 64-bit ELF header at file offset {offset:#x}, behind its segment records")]
    NoElf {
        /// Where it should be.
        offset: u64,
    },
    /// A record names a program header that is not there.
    #[error("a segment record names program header {index} of {count}")]
    Index {
        /// The index.
        index: u64,
        /// How many there are.
        count: u64,
    },
    /// A record has fewer bytes than its program header wants.
    #[error("program header {index} wants {size:#x} bytes, its segment record has {found:#x}")]
    Short {
        /// The program header's index.
        index: u64,
        /// Bytes wanted.
        size: u64,
        /// Bytes there.
        found: u64,
    },
    /// The unpacked file would be far longer than the container.
    #[error(
        "a part belongs at offset {offset:#x}, beyond the {limit:#x} bytes that the file inside may have"
    )]
    Far {
        /// Where it belongs.
        offset: u64,
        /// The limit.
        limit: u64,
    },
}

/// What is wrong with a program header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentProblem {
    /// Unknown type.
    #[error("this type is unknown")]
    UnknownType,
    /// File part beyond the file.
    #[error("its {size:#x} file bytes at offset {offset} reach beyond the file's {file_size:#x} bytes")]
    BeyondFile {
        /// Where it begins.
        offset: FileOffset,
        /// How long it is.
        size: u64,
        /// How long the file is.
        file_size: u64,
    },
    /// More file than memory.
    #[error("it has {file:#x} file bytes but only {memory:#x} memory bytes")]
    FileExceedsMemory {
        /// Bytes in the file.
        file: u64,
        /// Bytes in memory.
        memory: u64,
    },
    /// Address arithmetic wraps.
    #[error("address {address} plus {size:#x} bytes wraps around")]
    Wraps {
        /// Its address.
        address: ImageAddress,
        /// Its size.
        size: u64,
    },
    /// Alignment.
    #[error("alignment {alignment:#x} is not a power of two")]
    Alignment {
        /// The value.
        alignment: u64,
    },
    /// Offset and address differ modulo the page.
    #[error(
        "file offset {offset} and address {address} differ modulo the page size 0x1000, so it can't be mapped"
    )]
    Incongruent {
        /// Its offset.
        offset: FileOffset,
        /// Its address.
        address: ImageAddress,
    },
    /// LOADs overlap or are not ascending.
    #[error(
        "it begins at {address}, on or below the last page of the LOAD segment before it, which ends at {previous}"
    )]
    Overlap {
        /// Its address.
        address: ImageAddress,
        /// End of the previous one.
        previous: ImageAddress,
    },
    /// Unknown access flags.
    #[error("access flags {flags:#x} have bits other than read, write and execute")]
    Flags {
        /// The flags.
        flags: u32,
    },
    /// Writable and executable.
    #[error("it is writable and executable at once")]
    WritableCode,
    /// More than one.
    #[error("there is already one of this type")]
    Duplicate,
    /// Not inside a LOAD.
    #[error("its range {range} is not inside one LOAD segment")]
    OutsideLoads {
        /// The range.
        range: ImageRange,
    },
}

/// What is wrong with a dynamic tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagProblem {
    /// Unknown.
    #[error("this tag is unknown (value {value:#x})")]
    Unknown {
        /// Its value.
        value: u64,
    },
    /// Known and not supported.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: &'static str,
    },
    /// Repeated.
    #[error("this tag may stand only once")]
    Duplicate,
    /// A value that isn't the one possible.
    #[error("its value is {found:#x}, expected {expected}")]
    Value {
        /// The value.
        found: u64,
        /// What would do.
        expected: &'static str,
    },
}

/// What is wrong with a symbol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SymbolProblem {
    /// Binding.
    #[error("binding {binding} is none of local, global, weak")]
    Binding {
        /// The number.
        binding: u8,
    },
    /// A TLS import.
    #[error(
        "a thread-local variable is imported, and no file of the title exports it: is a module missing? --module-dir names folders with more"
    )]
    ThreadLocalImport,
    /// A kind that can't be imported.
    #[error("type {kind} can't be imported: only functions, data and untyped symbols can")]
    ImportKind {
        /// The type's number.
        kind: u8,
    },
    /// Not a NID name.
    #[error("an import must be named NID#library#module")]
    NotANid,
    /// Unknown library id.
    #[error("library id {id} has no IMPORT_LIB tag")]
    UnknownLibrary {
        /// The id.
        id: u16,
    },
    /// A defined symbol outside the image.
    #[error("its address {address} is in no LOAD segment")]
    Unmapped {
        /// The address.
        address: ImageAddress,
    },
}

/// What is wrong with a relocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RelocationProblem {
    /// Type outside the list.
    #[error(
        "this type can't stand in a PS5 program's tables; known are NONE, 64, GLOB_DAT, JUMP_SLOT, RELATIVE, DTPMOD64, DTPOFF64 and TPOFF64"
    )]
    Kind,
    /// Symbol index too large.
    #[error("symbol {symbol} is beyond the {count} symbols")]
    SymbolIndex {
        /// The index.
        symbol: u32,
        /// How many symbols there are.
        count: usize,
    },
    /// RELATIVE with a symbol.
    #[error("it names symbol {symbol}, but a relative relocation has none")]
    RelativeWithSymbol {
        /// The index.
        symbol: u32,
    },
    /// No symbol where one is needed.
    #[error("it names no symbol")]
    NoSymbol,
    /// Target not in memory.
    #[error("its eight bytes are in no LOAD segment")]
    Unmapped,
    /// Target read only.
    #[error("its eight bytes are in a LOAD segment that is not writable")]
    ReadOnly,
    /// An addend where the ABI has none.
    #[error("its addend is {addend:#x}, but this type uses the symbol's address alone")]
    Addend {
        /// The addend.
        addend: i64,
    },
    /// TLS without TLS.
    #[error("the program has no TLS segment")]
    NoTls,
    /// A TLS relocation on another kind of symbol, or the reverse.
    #[error("symbol {symbol} is {found}, but this type needs {expected}")]
    SymbolKind {
        /// The index.
        symbol: u32,
        /// What the symbol is.
        found: &'static str,
        /// What it should be.
        expected: &'static str,
    },
}
