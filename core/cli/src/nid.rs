//! `relic nid`: names to NIDs and back.

use std::{fmt::Write as _, process::ExitCode};

use clap::builder::NonEmptyStringValueParser;
use relic_core::Nid;
use relic_libs::export::ExportStatus;

use crate::{failure::Failure, imports, output};

/// Compute the NID of a name, or look up the name of a NID
///
/// Text of eleven characters may be either: it is taken as a NID where its name is known, and as a name otherwise.
/// A symbol of the form NID#library#module is taken as its NID. A NID that begins with - goes behind a --.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Names or NIDs
    #[arg(required = true, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    names: Vec<String>,
}

/// Prints a line for each.
///
/// # Errors
/// When standard output fails.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let lines: Vec<String> = arguments.names.iter().map(|text| line(text)).collect();
    output::print(&lines.concat())?;
    Ok(ExitCode::SUCCESS)
}

/// NID, name, and who exports it.
fn line(text: &str) -> String {
    let as_nid = Nid::of_symbol(text);
    let (nid, name) = match as_nid {
        Some(nid) if imports::name_of(nid).is_some() => (nid, imports::name_of(nid)),
        // A symbol with its library is no name.
        Some(nid) if text.contains('#') => (nid, None),
        _ => (Nid::of(text), Some(text)),
    };
    let mut line = format!("{nid}  {}", name.unwrap_or("(name unknown)"));
    for export in imports::exports_of(nid) {
        let _ = match export.status {
            ExportStatus::Implemented => write!(line, "  {}: implemented", export.library),
            ExportStatus::Partial(missing) => write!(line, "  {}: partial ({missing})", export.library),
        };
    }
    if as_nid.is_some() && name == Some(text) {
        line.push_str("  (taken as a name: no name is known for it as a NID)");
    }
    line.push('\n');
    line
}
