//! How an object is linked with the other objects of its title.
//!
//! ELF has one flat namespace; the console binds by library and NID. So every definition of the title gets a name that
//! no other object has: an import that an object of the title answers is bound to that name, all others keep their bare
//! NID, which the runtime library alone exports. Nothing can be interposed, whatever a module exports.

use hashbrown::HashMap;
use relic_core::Nid;

use super::exports::Exports;

/// Index of an object of a title: the program is 0, modules follow in the order of their dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectIndex(pub usize);

/// What the objects of a title define, by library and NID.
#[derive(Debug, Default)]
pub struct Definitions<'a> {
    by_nid: HashMap<Nid, Vec<Definition<'a>>>,
}

/// One definition.
#[derive(Debug, Clone)]
pub struct Definition<'a> {
    library: &'a str,
    /// Whose it is.
    pub object: ObjectIndex,
    /// Its symbol in the output.
    pub symbol: BoundSymbol,
}

/// A symbol of another object of the title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundSymbol {
    /// Its name.
    pub name: String,
    /// How many bytes behind the definition it is.
    pub offset: u64,
}

impl<'a> Definitions<'a> {
    /// Adds what an object exports.
    pub fn add(&mut self, object: ObjectIndex, exports: &Exports<'a>) {
        for export in &exports.list {
            if let Some(library) = export.library {
                let symbol = BoundSymbol {
                    name: export.name.clone(),
                    offset: export.offset,
                };
                self.by_nid.entry(export.nid).or_default().push(Definition {
                    library,
                    object,
                    symbol,
                });
            }
        }
    }

    /// The definitions of a NID of a library.
    pub fn of(&self, library: &str, nid: Nid) -> impl Iterator<Item = &Definition<'a>> {
        let all = self.by_nid.get(&nid).map_or(&[][..], Vec::as_slice);
        all.iter().filter(move |definition| definition.library == library)
    }
}

/// One module, as the program's tables list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModule {
    /// Its path in the title, below `/app0`.
    pub path: String,
    /// Where it is written, from the program's folder.
    pub file: String,
    /// Indices in the list of the modules that it needs.
    pub dependencies: Vec<usize>,
    /// Whether the program needs it.
    pub at_start: bool,
}

/// How one object is linked with the others.
#[derive(Debug)]
pub struct Linkage<'t> {
    /// File name of a module's output; `None` for the program.
    pub file_name: Option<&'t str>,
    /// What the OS loader loads along, beside the runtime library.
    pub needed: Vec<String>,
    /// Where the OS loader looks for the runtime library.
    pub run_path: &'t str,
    /// All modules of the title; empty for a module.
    pub modules: &'t [ListedModule],
    /// What the title defines.
    pub definitions: &'t Definitions<'t>,
    /// Whose definitions this object sees: the program's, those of what is loaded at start, and those of what it needs.
    pub visible: Vec<ObjectIndex>,
    /// Whether the other objects of the title are known. A module is looked at without them, and then nobody can say
    /// where its thread-local imports come from.
    pub in_title: bool,
    /// File names of the title's objects by their index, for messages.
    pub names: &'t [String],
}

/// Where the OS loader looks for the runtime library: beside the program.
pub const DEFAULT_RUN_PATH: &str = "$ORIGIN/libs";
