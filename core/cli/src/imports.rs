//! Which of a program's imports Relic implements.
//!
//! The OS loader binds an import by its NID alone, so one that another library exports is bound too.

use std::{collections::HashMap, fmt, sync::LazyLock};

use relic_core::Nid;
use relic_libs::export::{ExportStatus, GuestExport, sorted};
use relic_relink::report::{ImportReport, kind_name};
use serde::Serialize;

/// Every export of the runtime library, by NID.
static EXPORTS: LazyLock<HashMap<&'static str, Vec<GuestExport>>> = LazyLock::new(|| {
    let mut exports: HashMap<&str, Vec<GuestExport>> = HashMap::new();
    for export in sorted() {
        exports.entry(export.nid).or_default().push(export);
    }
    exports
});

/// How much of an import is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", content = "detail", rename_all = "snake_case")]
pub enum Support {
    /// All of it.
    Implemented,
    /// What the text says is missing.
    Partial(&'static str),
    /// All of it, as an export of another library.
    FromLibrary(&'static str),
    /// Nothing.
    Missing,
}

impl Support {
    /// What is there for this NID when a program asks `library` for it.
    #[must_use]
    pub fn of(library: &str, nid: Nid) -> Self {
        let exports = EXPORTS.get(nid.as_str()).map_or(&[][..], Vec::as_slice);
        let own = exports.iter().find(|export| export.library == library);
        match own.or(exports.first()) {
            None => Self::Missing,
            Some(GuestExport {
                status: ExportStatus::Partial(missing),
                ..
            }) => Self::Partial(missing),
            Some(export) if export.library == library => Self::Implemented,
            Some(export) => Self::FromLibrary(export.library),
        }
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Implemented => f.write_str("implemented"),
            Self::Partial(missing) => write!(f, "partial: {missing}"),
            Self::FromLibrary(library) => write!(f, "implemented, by {library}"),
            Self::Missing => f.write_str("NOT IMPLEMENTED"),
        }
    }
}

/// Where a NID is exported: library, name and status.
#[must_use]
pub fn exports_of(nid: Nid) -> &'static [GuestExport] {
    EXPORTS.get(nid.as_str()).map_or(&[], Vec::as_slice)
}

/// The name behind a NID: an export's own, else the relinker's table.
#[must_use]
pub fn name_of(nid: Nid) -> Option<&'static str> {
    exports_of(nid)
        .iter()
        .map(|export| export.name)
        .find(|name| !name.is_empty())
        .or_else(|| relic_relink::names::name_of(nid))
}

/// One import, as tables and JSON show it.
#[derive(Clone, Debug, Serialize)]
pub struct Import {
    /// Library that the program asks.
    pub library: String,
    /// Name, where it is known.
    pub name: Option<&'static str>,
    /// NID.
    pub nid: String,
    /// `function`, `data` or `optional` (weak data).
    pub kind: &'static str,
    /// How much of it Relic has.
    #[serde(flatten)]
    pub support: Support,
    /// Path in the title of the file that answers it; then what Relic has does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl Import {
    /// Whether nobody answers it.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.support == Support::Missing && self.title.is_none()
    }

    /// Who answers it, for people.
    #[must_use]
    pub fn answer(&self) -> String {
        match &self.title {
            Some(file) => format!("by {file}"),
            None => self.support.to_string(),
        }
    }
}

/// A relink report's imports, sorted by library, then name, unknown names last. `definer` knows the title's files.
#[must_use]
pub fn sorted_imports(
    reports: &[ImportReport],
    definer: impl Fn(&str, Nid) -> Option<String>,
) -> Vec<Import> {
    let mut imports: Vec<Import> = reports
        .iter()
        .map(|report| Import {
            library: report.library.clone(),
            name: report.name.or_else(|| name_of(report.nid)),
            nid: report.nid.to_string(),
            kind: kind_name(report.kind),
            support: Support::of(&report.library, report.nid),
            title: definer(&report.library, report.nid),
        })
        .collect();
    imports.sort_by(|a, b| {
        (&a.library, a.name.is_none(), a.name, &a.nid).cmp(&(&b.library, b.name.is_none(), b.name, &b.nid))
    });
    imports
}

/// How many imports each library has, and how many of them are missing, in the order of `imports`.
#[must_use]
pub fn by_library(imports: &[Import]) -> Vec<(&str, usize, usize)> {
    let mut libraries: Vec<(&str, usize, usize)> = Vec::new();
    for import in imports {
        if libraries.last().is_none_or(|(name, ..)| *name != import.library) {
            libraries.push((&import.library, 0, 0));
        }
        if let Some((_, all, missing)) = libraries.last_mut() {
            *all += 1;
            *missing += usize::from(import.is_missing());
        }
    }
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relinked program's own messages know what the runtime library knows.
    #[test]
    fn the_relinker_knows_the_names_of_all_exports() {
        let unknown: Vec<&str> = sorted()
            .iter()
            .filter(|export| !export.name.is_empty())
            .filter(|export| relic_relink::names::name_of(Nid::of(export.name)) != Some(export.name))
            .map(|export| export.name)
            .collect();
        assert!(unknown.is_empty(), "add to relink/data/names.txt: {unknown:?}");
    }

    /// The linker must keep the export list when the libraries are linked into this program.
    #[test]
    fn the_export_list_reaches_the_command_line() {
        assert!(EXPORTS.len() > 100, "{} exports", EXPORTS.len());
        let printf = Nid::of("printf");
        assert_ne!(Support::of("libc", printf), Support::Missing);
        assert!(
            matches!(Support::of("libNobody", printf), Support::FromLibrary(_)),
            "another library's export is bound too"
        );
        assert_eq!(
            Support::of("libc", Nid::of("no export is called this")),
            Support::Missing
        );
        assert_eq!(name_of(printf), Some("printf"));
    }
}
