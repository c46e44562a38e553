//! Why a relink was refused.

mod problems;

use std::{io, path::Path, path::PathBuf};

use relic_core::Nid;

use crate::{
    address::{FileOffset, ImageAddress},
    patches::{apply::PatchProblem, file::PatchFileError},
};

pub use problems::{
    ContainerProblem, LowerProblem, RelocationProblem, SegmentProblem, SymbolProblem, TagProblem,
};

/// Why a relink was refused. Each message says what was found, where, and where it helps, what to do.
#[derive(Debug, thiserror::Error)]
pub enum RelinkError {
    /// The output is there and is no ordinary file.
    #[error("{} is there and is no ordinary file (a folder or a device): choose another output", path.display())]
    OutputNotAFile {
        /// The output.
        path: PathBuf,
    },
    /// The input is no ordinary file.
    #[error("{} is no ordinary file: name the executable itself (eboot.bin)", path.display())]
    InputNotAFile {
        /// The input.
        path: PathBuf,
    },
    /// The runtime library is none.
    #[error("{} is no runtime library of Relic's: it does not export relic_start", path.display())]
    NoRuntimeLibrary {
        /// The file.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the OS said.
        source: io::Error,
    },
    /// Output and input are one file.
    #[error("the output {} is the input file itself; choose another output path", path.display())]
    OutputIsInput {
        /// That file.
        path: PathBuf,
    },
    /// A SELF container.
    #[error(
        "the input is a SELF container ({details}), not the ELF file inside it; Relic takes an executable that its \
         owner has already decrypted and unpacked, and decrypts nothing itself"
    )]
    SelfContainer {
        /// What its segment records say.
        details: String,
    },
    /// A broken SELF container.
    #[error("the input is a SELF container without encryption, and broken: {0}")]
    Container(ContainerProblem),
    /// An installable package.
    #[error("the input is a package ({magic}), not an executable; give the eboot.bin of the unpacked title")]
    Package {
        /// Which kind.
        magic: &'static str,
    },
    /// Something else.
    #[error("the input is not an ELF file: it begins with {found}, where 7f 45 4c 46 is expected{hint}")]
    NotElf {
        /// Its first bytes in hexadecimal.
        found: String,
        /// More about it, where something can be said.
        hint: &'static str,
    },
    /// The ELF header says something that no PS5 executable says.
    #[error("ELF header: {field} is {found:#x}, expected {expected}")]
    Header {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        found: u64,
        /// What would do.
        expected: &'static str,
    },
    /// A PS4 executable.
    #[error("the input is a PS4 executable (ABI version 0); Relic takes PS5 executables (ABI version 2)")]
    OtherConsole,
    /// A module where a program is wanted.
    #[error(
        "the input is a module (ELF type 0xfe18, a .prx), not a program (0xfe10); relink the eboot.bin that loads it"
    )]
    Module,
    /// A program where a module is wanted.
    #[error(
        "this module is a program (ELF type 0xfe10), not a module (0xfe18): it can't be loaded by another"
    )]
    NotAModule,
    /// Something lies beyond the end of the file.
    #[error(
        "{what} at file offset {offset}, {size:#x} bytes, reaches beyond the file's {file_size:#x} bytes"
    )]
    Truncated {
        /// What.
        what: &'static str,
        /// Where it begins.
        offset: FileOffset,
        /// How long it should be, in bytes.
        size: u64,
        /// How long the file is, in bytes.
        file_size: u64,
    },
    /// Something's address is in no loaded segment's file contents.
    #[error(
        "{what} at address {address}, {size:#x} bytes, is not within the file contents of one LOAD segment"
    )]
    Unmapped {
        /// What.
        what: &'static str,
        /// Its address.
        address: ImageAddress,
        /// Its size in bytes.
        size: u64,
    },
    /// A program header is refused.
    #[error("program header {index} ({kind}): {problem}")]
    Segment {
        /// Its index.
        index: usize,
        /// Name of its type.
        kind: String,
        /// What is wrong.
        problem: SegmentProblem,
    },
    /// A program header that must be there is not.
    #[error("there is no {kind} program header, so this can't be a PS5 executable")]
    NoSegment {
        /// Name of its type.
        kind: &'static str,
    },
    /// The entry point is not in executable memory.
    #[error("the entry point {entry} is in no executable LOAD segment")]
    Entry {
        /// The address.
        entry: ImageAddress,
    },
    /// A function's address is not in executable memory.
    #[error("{what}: its function at {address} is in no executable LOAD segment")]
    NotCode {
        /// Which function.
        what: &'static str,
        /// Its address.
        address: ImageAddress,
    },
    /// A program has a list of functions that nobody would call.
    #[error(
        "the program has {size:#x} bytes of {list}: nobody would call the functions of a program's own list; its start-up code runs .ctors"
    )]
    ProgramList {
        /// Name of the list.
        list: &'static str,
        /// Its size in bytes.
        size: u64,
    },
    /// The image is larger than addressing allows.
    #[error("the image ends at address {end}, beyond the {limit:#x} that a relinked program may span")]
    TooLarge {
        /// Its end.
        end: ImageAddress,
        /// The limit in bytes.
        limit: u64,
    },
    /// A dynamic tag is refused.
    #[error("dynamic entry {index} ({tag}): {problem}")]
    DynamicTag {
        /// Its index in the dynamic table.
        index: usize,
        /// Its name, or its number.
        tag: String,
        /// What is wrong.
        problem: TagProblem,
    },
    /// A dynamic tag that must be there is not.
    #[error("the dynamic table has no {tag}")]
    NoTag {
        /// Its name.
        tag: &'static str,
    },
    /// One table is given twice, by a standard and by a Sony tag.
    #[error("the dynamic table gives {standard} and {sony}; exactly one of them may be there")]
    BothForms {
        /// Name of the standard tag.
        standard: &'static str,
        /// Name of the Sony tag.
        sony: &'static str,
    },
    /// A table's size is not a whole number of records.
    #[error("{table}: {size:#x} bytes is not a whole number of {record}-byte records")]
    TableSize {
        /// Name of the table.
        table: &'static str,
        /// Its size in bytes.
        size: u64,
        /// Size of one record in bytes.
        record: u64,
    },
    /// A string reference is bad.
    #[error("{what}: offset {offset:#x} in the string table of {size:#x} bytes is {problem}")]
    Text {
        /// Whose name.
        what: &'static str,
        /// Offset in the string table.
        offset: u64,
        /// Size of the string table in bytes.
        size: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// A symbol is refused.
    #[error("symbol {index} ({name}): {problem}")]
    Symbol {
        /// Its index in the symbol table.
        index: usize,
        /// Its name.
        name: String,
        /// What is wrong.
        problem: SymbolProblem,
    },
    /// A relocation is refused.
    #[error("relocation {index} of {table} ({kind} at {target}): {problem}")]
    Relocation {
        /// Its index in its table.
        index: usize,
        /// Name of the table.
        table: &'static str,
        /// Name or number of its type.
        kind: String,
        /// The address that it patches.
        target: ImageAddress,
        /// What is wrong.
        problem: RelocationProblem,
    },
    /// Two relocations patch the same bytes.
    #[error("two relocations patch overlapping bytes, at {first} and {second}")]
    RelocationOverlap {
        /// The lower target.
        first: ImageAddress,
        /// The higher one.
        second: ImageAddress,
    },
    /// Two objects answer one import.
    #[error(
        "{library} {nid} ({name}) is imported, and both {first} and {second} export it: the console would take whichever \
         it loaded first; remove the module that does not belong to the title"
    )]
    Ambiguous {
        /// The NID.
        nid: Nid,
        /// Its name, where it is known.
        name: &'static str,
        /// The library.
        library: String,
        /// One object.
        first: String,
        /// The other.
        second: String,
    },
    /// A module is refused.
    #[error("module {}: {source}", path.display())]
    InModule {
        /// The module.
        path: PathBuf,
        /// Why.
        source: Box<RelinkError>,
    },
    /// Both module folders are there.
    #[error("{} has both sce_module and sce_modules: keep the one that belongs to the title", folder.display())]
    TwoModuleFolders {
        /// The title's folder.
        folder: PathBuf,
    },
    /// Two modules answer to one name.
    #[error("{} and {} have the same module name {name}: keep one of them", first.display(), second.display())]
    SameModule {
        /// The name.
        name: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Modules need each other.
    #[error("the modules {} need each other in a circle, so that none can be initialised first", members.join(", "))]
    ModuleCycle {
        /// Their file names, sorted.
        members: Vec<String>,
    },
    /// A run path that the OS loader would not take as meant.
    #[error("the run path {path:?} is neither absolute nor begins with $ORIGIN")]
    RunPath {
        /// The path.
        path: String,
    },
    /// The code holds system calls.
    #[error(
        "the code holds {count} system calls ({places}): the host's kernel would take the console's numbers for its own; \
         relink with --syscalls=trap to have each end the program where it is reached"
    )]
    SystemCalls {
        /// How many.
        count: usize,
        /// The first of them.
        places: String,
    },
    /// Control flow that no compiler makes.
    #[error(
        "the code around {start} leads to bytes that are no instructions in so many ways that following them all has no bound; with --syscalls=keep, --unused-filter=0 and without --to-intel nothing looks at it"
    )]
    Tangled {
        /// Where the function, or the code without known bounds, begins.
        start: ImageAddress,
    },
    /// The unused-import filter can't analyse the program.
    #[error("the unused-import filter can't analyse this: {reason}; use a lower --unused-filter level")]
    Filter {
        /// What it met.
        reason: String,
    },
    /// A patch file is wrong.
    #[error("{}: {source}", path.display())]
    PatchFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: PatchFileError,
    },
    /// A patch does not fit its target.
    #[error("patch {name:?} of {target}: {problem}")]
    Patch {
        /// Its name.
        name: String,
        /// Its target.
        target: String,
        /// Why not.
        problem: PatchProblem,
    },
    /// A patch's target is no file of the title.
    #[error("patch {name:?} is for {target}, which the title does not have; it has {known}")]
    PatchTarget {
        /// The patch's name.
        name: String,
        /// Its target.
        target: String,
        /// What the title has.
        known: String,
    },
    /// A manifest of patches can't be used, or does not match its output.
    #[error("manifest {}: {problem}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The registry can't be written as JSON.
    #[error("writing the registry as JSON: {problem}")]
    Registry {
        /// Why.
        problem: String,
    },
    /// An instruction can't be replaced.
    #[error(
        "{name} at {address} can't be replaced: {problem}; leave --to-intel out on a processor that has it"
    )]
    Lower {
        /// The instruction.
        name: &'static str,
        /// Where it is.
        address: ImageAddress,
        /// Why not.
        problem: LowerProblem,
    },
    /// A table outgrows the 32-bit numbers that index it.
    #[error("there are {count} {what}, more than the output's 32-bit tables can number")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// A writer produced another number of bytes than the plan gave it. This is a bug of the relinker.
    #[error(
        "bug in the relinker: {part} was planned as {planned:#x} bytes and written as {written:#x}; please report it"
    )]
    Unbalanced {
        /// Name of the part.
        part: &'static str,
        /// Planned size in bytes.
        planned: u64,
        /// Written size in bytes.
        written: u64,
    },
}

/// A closure that turns an OS error into a [`RelinkError::Io`].
pub(crate) fn io_error<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> RelinkError + 'a {
    move |source| RelinkError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
