//! Planning: what the output holds, and where. Nothing is encoded here, and nothing of the input is changed.

pub mod exports;
pub mod gnu_hash;
pub mod imports;
pub mod layout;
pub mod linkage;
pub mod relocations;
pub mod relro;
pub mod rewrites;
pub mod strings;
pub mod symbols;

use hashbrown::HashSet;
use relic_core::program::ProgramInfo;

use crate::{
    address::ImageAddress,
    code::{
        Code,
        reads::{self, Reader},
        syscalls::{SystemCallPolicy, SystemCalls},
    },
    error::RelinkError,
    filter::{self, FilterLevel},
    input::{
        Object,
        segments::{Access, Segment},
    },
    lower::{Lowered, Lowerings},
};

use exports::Exports;
use imports::{Import, Imports};
use layout::{Layout, Part};
use linkage::{Linkage, ListedModule};
use relocations::Relocations;
use relro::Relro;
use rewrites::Rewrite;
use symbols::SymbolTable;

/// What is decided for every object of a title alike.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// What happens to system calls in code.
    pub system_calls: SystemCallPolicy,
    /// Which imports are left out.
    pub filter: FilterLevel,
    /// Which instructions are replaced.
    pub lowerings: Lowerings,
}

/// What the output will hold.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What the program asks others for, with every slot that holds it.
    pub imports: Imports<'a>,
    /// The output's dynamic symbols with their strings and their hash.
    pub symbols: SymbolTable,
    /// The output's relocations.
    pub relocations: Relocations,
    /// What becomes read-only after relocation.
    pub relro: Relro,
    /// Code bytes that the output has otherwise than the input.
    pub rewrites: Vec<Rewrite>,
    /// Replacements of instructions, out of place.
    pub trampolines: Vec<u8>,
    /// What the filter left out.
    pub unused: Vec<Import<'a>>,
    /// What looks like system calls.
    pub system_calls: SystemCalls,
    /// What may be instructions to replace and stays, as nobody knows: names and addresses.
    pub left_alone: Vec<(&'static str, ImageAddress)>,
    /// The title's modules, which a program lists.
    pub modules: &'a [ListedModule],
    /// Who reads each LOAD segment of the input that it lets nobody read: see [`reads::readers`].
    pub readers: Vec<Option<Reader>>,
    /// Where everything lies.
    pub layout: Layout,
}

impl<'a> Plan<'a> {
    /// Plans the output of one program or module, which exports what `exports` says.
    ///
    /// # Errors
    ///
    /// Every [`RelinkError`] that concerns what a native program can't express.
    pub fn new(
        program: &Object<'a>,
        exports: &Exports<'_>,
        linkage: &Linkage<'a>,
        rules: Rules,
    ) -> Result<Self, RelinkError> {
        let mut imports = Imports::of(program, linkage)?;
        let code = Code::of(program);
        let mut rewrites = Vec::new();
        let system_calls = rewrites::system_calls(&code, rules.system_calls, &mut rewrites)?;
        let lowered = Lowered::plan(&code, rules.lowerings)?;
        let unused = filter::unused(rules.filter, program, &imports, &code)?;
        let readers = reads::readers(&code, rules.system_calls != SystemCallPolicy::Keep);
        code.check()?;
        let stubs = unused.stubs;
        let unused = imports.leave_out(&unused.imports);
        let mut symbols = SymbolTable::new(&imports, exports, linkage)?;
        let mut relocations = Relocations::new(program, &mut imports, &symbols)?;
        let left_out: HashSet<ImageAddress> = program
            .relocations
            .iter()
            .filter(|relocation| imports.is_left_out(relocation.symbol))
            .map(|relocation| relocation.target)
            .collect();
        rewrites::linkage_table(
            &code,
            &stubs,
            &relocations.jump_slots,
            |slot| left_out.contains(&slot),
            &mut rewrites,
        );
        let relro = Relro::of(program, &imports);
        let layout = Layout::new(
            program,
            &imports,
            &symbols,
            &relocations,
            &relro,
            linkage.modules,
            lowered.size,
        )?;
        let trampolines = layout.place(Part::Trampolines).start;
        rewrites.extend(lowered.rewrites(trampolines)?);
        let trampolines = lowered.trampolines(trampolines)?;
        symbols.place_module(layout.place(Part::Info).start, size_of::<ProgramInfo>() as u64);
        relocations.add_runtime_slots(&symbols, &layout);
        Ok(Self {
            imports,
            symbols,
            relocations,
            relro,
            rewrites,
            trampolines,
            unused,
            system_calls,
            left_alone: lowered.uncertain,
            modules: linkage.modules,
            readers,
            layout,
        })
    }
}

impl Plan<'_> {
    /// The input's LOAD segments with what the output lets one do with each, and who made it readable.
    pub fn loads<'s>(
        &'s self,
        program: &'s Object<'_>,
    ) -> impl Iterator<Item = (&'s Segment, Access, Option<Reader>)> {
        let readers = self.readers.iter().copied();
        program.segments.loads.iter().zip(readers).map(|(load, reader)| {
            let access = if reader.is_some() {
                load.access.readable()
            } else {
                load.access
            };
            (load, access, reader)
        })
    }
}

/// `count` as the 32-bit number that the output's tables use.
fn number(what: &'static str, count: usize) -> Result<u32, RelinkError> {
    u32::try_from(count).map_err(|_| RelinkError::TooMany { what, count })
}
