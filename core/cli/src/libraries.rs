//! `relic info --libraries`: everything that the runtime library exports, by library. The same list decides what a program's
//! imports find.

use std::{collections::BTreeMap, fmt::Write as _, process::ExitCode};

use relic_libs::export::{ExportStatus, GuestExport, sorted};
use serde::Serialize;

use crate::{failure::Failure, output};

/// One library.
#[derive(Default, Serialize)]
struct Library {
    implemented: usize,
    partial: usize,
    exports: Vec<Export>,
}

/// One function or datum.
#[derive(Serialize)]
struct Export {
    /// Empty where nobody knows it.
    name: &'static str,
    nid: &'static str,
    /// What is missing; none where it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'static str>,
}

fn by_library(exports: Vec<GuestExport>) -> BTreeMap<&'static str, Library> {
    let mut libraries: BTreeMap<&str, Library> = BTreeMap::new();
    for export in exports {
        let library = libraries.entry(export.library).or_default();
        let missing = match export.status {
            ExportStatus::Implemented => None,
            ExportStatus::Partial(missing) => Some(missing),
        };
        if missing.is_some() {
            library.partial += 1;
        } else {
            library.implemented += 1;
        }
        library.exports.push(Export {
            name: export.name,
            nid: export.nid,
            missing,
        });
    }
    libraries
}

/// Prints the list.
///
/// # Errors
/// When standard output can't be written.
pub fn print(json: bool) -> Result<ExitCode, Failure> {
    let libraries = by_library(sorted());
    let text = if json {
        let json = serde_json::to_string_pretty(&libraries).map_err(Failure::work("writing JSON"))?;
        format!("{json}\n")
    } else {
        text(&libraries)
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text(libraries: &BTreeMap<&str, Library>) -> String {
    let mut text = String::new();
    // Writing to a String never fails.
    for (name, library) in libraries {
        let _ = writeln!(
            text,
            "{name}: {} implemented, {} partial",
            library.implemented, library.partial
        );
    }
    for (name, library) in libraries {
        let _ = writeln!(text, "\n{name}");
        for export in &library.exports {
            let status = match export.missing {
                Some(missing) => format!("partial: {missing}"),
                None => "implemented".to_owned(),
            };
            let label = if export.name.is_empty() {
                "(name unknown)"
            } else {
                export.name
            };
            let _ = writeln!(text, "  {} {label:<40} {status}", export.nid);
        }
    }
    text
}
