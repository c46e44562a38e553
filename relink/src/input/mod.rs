//! Reading: the file as it is, with every offset, size and number checked before it is used.

pub mod bytes;
pub mod container;
pub mod dynamic;
pub mod header;
pub mod libraries;
pub mod relocations;
pub mod segments;
pub mod symbols;

use crate::{address::ImageAddress, error::RelinkError};

use bytes::FileBytes;
use dynamic::Dynamic;
use libraries::Libraries;
use relocations::Relocation;
use segments::Segments;
use symbols::Symbol;

/// A PS5 program that has passed every check which needs no plan.
#[derive(Debug)]
pub struct Program<'a> {
    /// The file.
    pub file: FileBytes<'a>,
    /// Where the guest's start-up code begins.
    pub entry: ImageAddress,
    /// What the program headers describe.
    pub segments: Segments,
    /// The three reserved words in front of the jump slots, where the program has them.
    pub plt_got: Option<ImageAddress>,
    /// Which library each library id of a symbol name means.
    pub libraries: Libraries<'a>,
    /// The dynamic symbols, by their index in the file.
    pub symbols: Vec<Symbol<'a>>,
    /// All relocations: first those of DT_RELA, then those of DT_JMPREL, each in the file's order.
    pub relocations: Vec<Relocation>,
}

impl<'a> Program<'a> {
    /// Reads a program.
    ///
    /// # Errors
    ///
    /// Every [`RelinkError`] that concerns the input alone.
    pub fn read(file: &'a [u8]) -> Result<Self, RelinkError> {
        let file = FileBytes::new(file);
        container::refuse_other_files(file)?;
        let header = header::read(file)?;
        let segments = Segments::read(file, &header)?;
        segments.check_entry(header.entry)?;
        let dynamic = Dynamic::read(file, &segments)?;
        let libraries = Libraries::read(&dynamic)?;
        let symbols = symbols::read(&segments, &dynamic)?;
        let relocations = relocations::read(&segments, &dynamic, symbols.len())?;
        Ok(Self {
            file,
            entry: header.entry,
            plt_got: dynamic.plt_got,
            segments,
            libraries,
            symbols,
            relocations,
        })
    }
}
