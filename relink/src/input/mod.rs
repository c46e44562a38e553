//! Reading: the file as it is, with every offset, size and number checked before it is used.

pub mod bytes;
pub mod container;
pub mod dynamic;
pub mod header;
pub mod libraries;
pub mod relocations;
pub mod segments;
pub mod symbols;
mod tags;

use crate::{
    address::{FileOffset, ImageAddress},
    error::RelinkError,
};

use bytes::FileBytes;
use dynamic::{Dynamic, Lifecycle};
pub use header::ObjectKind;
use libraries::Libraries;
use relocations::Relocation;
use segments::Segments;
use symbols::Symbol;

/// A PS5 program or module that has passed every check which needs no plan.
#[derive(Debug)]
pub struct Object<'a> {
    /// What it is for.
    pub kind: ObjectKind,
    /// The file.
    pub file: FileBytes<'a>,
    /// Where its program header table is.
    pub(crate) program_headers: (FileOffset, u64),
    /// Where a program's start-up code begins. A module's is not used: its initialiser does the work.
    pub entry: ImageAddress,
    /// What the program headers describe.
    pub segments: Segments,
    /// The three reserved words in front of the jump slots, where the program has them.
    pub plt_got: Option<ImageAddress>,
    /// File names of the modules that it needs.
    pub needed: Vec<&'a str>,
    /// The module's own name, where the file says it.
    pub module_name: Option<&'a str>,
    /// What runs when it is loaded and unloaded.
    pub lifecycle: Lifecycle,
    /// Which library each library id of a symbol name means.
    pub libraries: Libraries<'a>,
    /// The dynamic symbols, by their index in the file.
    pub symbols: Vec<Symbol<'a>>,
    /// All relocations: first those of DT_RELA, then those of DT_JMPREL, each in the file's order.
    pub relocations: Vec<Relocation>,
}

impl<'a> Object<'a> {
    /// What the file's headers are and where: start and size of each.
    #[must_use]
    pub const fn header_ranges(&self) -> [(&'static str, u64, u64); 2] {
        let (start, size) = self.program_headers;
        [
            ("the ELF header", 0, 64),
            ("the program header table", start.0, size),
        ]
    }

    /// Reads a program or a module.
    ///
    /// # Errors
    ///
    /// Every [`RelinkError`] that concerns the input alone.
    pub fn read(file: &'a [u8], kind: ObjectKind) -> Result<Self, RelinkError> {
        let file = FileBytes::new(file);
        container::refuse_other_files(file)?;
        let header = header::read(file, kind)?;
        let segments = Segments::read(file, &header)?;
        if kind == ObjectKind::Program {
            segments.check_entry(header.entry)?;
        }
        let dynamic = Dynamic::read(file, &segments, kind)?;
        let libraries = Libraries::read(&dynamic)?;
        let symbols = symbols::read(&segments, &dynamic)?;
        let relocations = relocations::read(&segments, &dynamic, symbols.len())?;
        Ok(Self {
            kind,
            file,
            program_headers: (
                header.program_headers,
                56 * u64::from(header.program_header_count),
            ),
            entry: header.entry,
            plt_got: dynamic.plt_got,
            segments,
            needed: dynamic.needed,
            module_name: dynamic.module_name,
            lifecycle: dynamic.lifecycle,
            libraries,
            symbols,
            relocations,
        })
    }
}
