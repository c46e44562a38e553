//! What the program asks others for.

use hashbrown::{HashMap, HashSet};
use relic_core::{Nid, program::ImportKind};

use crate::{
    address::ImageAddress,
    error::{RelinkError, SymbolProblem},
    input::{
        Object,
        libraries::{Libraries, decode_id},
        symbols::{Binding, Symbol, SymbolKind},
    },
    names,
};

use super::linkage::{BoundSymbol, Linkage, ObjectIndex};

/// Index of an import, which is also the index of its record and of its trap stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImportIndex(pub usize);

/// One slot that the OS loader fills with an import's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Where it is.
    pub slot: ImageAddress,
    /// What is added to the address.
    pub addend: i64,
}

/// One import: a NID of one library.
#[derive(Debug, Clone)]
pub struct Import<'a> {
    /// Its NID.
    pub nid: Nid,
    /// Which library the program asks for it.
    pub library: &'a str,
    /// Its name, where the table of names has it.
    pub name: Option<&'static str>,
    /// What it is.
    pub kind: ImportKind,
    /// The definition in another object of the title that answers it; `None` leaves it to the runtime library.
    pub bound: Option<BoundSymbol>,
    /// Whether it is a thread-local variable: then `bound` is there.
    pub thread_local: bool,
    /// Whether the symbol has no type. What it is then depends on how it is used: see [`Imports::add_site`].
    pub(super) untyped: bool,
    /// Every slot that holds it, in the order of the input's relocations.
    pub sites: Vec<Site>,
}

/// All imports, in the order in which the input's symbol table first names them.
#[derive(Debug)]
pub struct Imports<'a> {
    /// The imports.
    pub list: Vec<Import<'a>>,
    by_symbol: HashMap<u32, ImportIndex>,
    left_out: HashSet<u32>,
}

impl<'a> Imports<'a> {
    pub(super) fn of(program: &Object<'a>, linkage: &Linkage<'_>) -> Result<Self, RelinkError> {
        let mut list: Vec<Import<'a>> = Vec::new();
        let mut by_symbol = HashMap::new();
        let mut by_key: HashMap<(Nid, &str), ImportIndex> = HashMap::new();
        // The first symbol is the null symbol.
        for (index, symbol) in program.symbols.iter().enumerate().skip(1) {
            if !symbol.is_import() || symbol.binding == Binding::Local {
                continue;
            }
            let refuse = |problem| RelinkError::Symbol {
                index,
                name: symbol.name.to_owned(),
                problem,
            };
            let mut import = import(symbol, &program.libraries).map_err(refuse)?;
            import.bound = bind(&import, linkage)?;
            if import.thread_local && import.bound.is_none() && linkage.in_title {
                return Err(refuse(SymbolProblem::ThreadLocalImport));
            }
            let place = *by_key
                .entry((import.nid, import.library))
                .or_insert(ImportIndex(list.len()));
            match list.get_mut(place.0) {
                None => list.push(import),
                // Named twice: one strong mention is enough to need it.
                Some(known) if known.kind == ImportKind::Weak => known.kind = import.kind,
                Some(_) => {}
            }
            by_symbol.insert(super::number("symbols", index)?, place);
        }
        Ok(Self {
            list,
            by_symbol,
            left_out: HashSet::new(),
        })
    }

    /// The import that a symbol of the input stands for.
    #[must_use]
    pub fn by_symbol(&self, symbol: u32) -> Option<ImportIndex> {
        self.by_symbol.get(&symbol).copied()
    }

    /// Leaves imports out: their slots keep what the file has. Returns them.
    pub(super) fn leave_out(&mut self, unused: &HashSet<ImportIndex>) -> Vec<Import<'a>> {
        if unused.is_empty() {
            return Vec::new();
        }
        let mut places = Vec::with_capacity(self.list.len());
        let mut kept = Vec::new();
        let mut dropped = Vec::new();
        for (index, import) in std::mem::take(&mut self.list).into_iter().enumerate() {
            if unused.contains(&ImportIndex(index)) {
                places.push(None);
                dropped.push(import);
            } else {
                places.push(Some(ImportIndex(kept.len())));
                kept.push(import);
            }
        }
        self.list = kept;
        let symbols = std::mem::take(&mut self.by_symbol);
        for (symbol, index) in symbols {
            match places.get(index.0).copied().flatten() {
                Some(place) => {
                    self.by_symbol.insert(symbol, place);
                }
                None => {
                    self.left_out.insert(symbol);
                }
            }
        }
        dropped
    }

    /// Whether a symbol of the input stands for an import that was left out.
    #[must_use]
    pub fn is_left_out(&self, symbol: u32) -> bool {
        self.left_out.contains(&symbol)
    }

    /// Notes a slot that holds an import. A slot that code jumps through proves that an untyped import is a function;
    /// without that it stays data, so that a missing one is refused at start-up and never read as code.
    pub(super) fn add_site(&mut self, index: ImportIndex, site: Site, jumped_through: bool) {
        if let Some(import) = self.list.get_mut(index.0) {
            if jumped_through && import.untyped && import.kind == ImportKind::Object {
                import.kind = ImportKind::Function;
            }
            import.sites.push(site);
        }
    }

    /// How many slots there are.
    #[must_use]
    pub fn site_count(&self) -> usize {
        self.list.iter().map(|import| import.sites.len()).sum()
    }
}

/// What an undefined symbol asks for.
fn import<'a>(symbol: &Symbol<'a>, libraries: &Libraries<'a>) -> Result<Import<'a>, SymbolProblem> {
    let strong = match symbol.kind {
        SymbolKind::Function => ImportKind::Function,
        SymbolKind::Object | SymbolKind::Untyped => ImportKind::Object,
        SymbolKind::ThreadLocal => ImportKind::Object,
        SymbolKind::Other(kind) => return Err(SymbolProblem::ImportKind { kind }),
    };
    let nid = Nid::of_symbol(symbol.name).ok_or(SymbolProblem::NotANid)?;
    let mut ids = symbol.name.split('#').skip(1);
    let library = ids.next().and_then(decode_id).ok_or(SymbolProblem::NotANid)?;
    ids.next().and_then(decode_id).ok_or(SymbolProblem::NotANid)?;
    if ids.next().is_some() {
        return Err(SymbolProblem::NotANid);
    }
    let library = libraries
        .import(library)
        .ok_or(SymbolProblem::UnknownLibrary { id: library.0 })?;
    Ok(Import {
        nid,
        library,
        name: names::name_of(nid),
        kind: if symbol.binding == Binding::Weak {
            ImportKind::Weak
        } else {
            strong
        },
        bound: None,
        thread_local: symbol.kind == SymbolKind::ThreadLocal,
        untyped: symbol.kind == SymbolKind::Untyped,
        sites: Vec::new(),
    })
}

/// The definition in the title that answers an import.
fn bind(import: &Import<'_>, linkage: &Linkage<'_>) -> Result<Option<BoundSymbol>, RelinkError> {
    let all = linkage.definitions.of(import.library, import.nid);
    let mut visible = all.filter(|definition| linkage.visible.contains(&definition.object));
    let Some(first) = visible.next() else {
        return Ok(None);
    };
    match visible.next() {
        None => Ok(Some(first.symbol.clone())),
        Some(second) => {
            let name_of = |object: ObjectIndex| linkage.names.get(object.0).cloned().unwrap_or_default();
            Err(RelinkError::Ambiguous {
                nid: import.nid,
                name: import.name.unwrap_or("name unknown"),
                library: import.library.to_owned(),
                first: name_of(first.object),
                second: name_of(second.object),
            })
        }
    }
}
