//! Finding the runtime library that relinked programs load.

use std::path::{Path, PathBuf};

use relic_core::program::RUNTIME_LIBRARY;
use relic_relink::check_runtime_library;

use crate::failure::Failure;

/// Names the library in place of the one beside this program.
const VARIABLE: &str = "RELIC_RUNTIME_LIBRARY";
/// File name that cargo gives it.
const BUILT_NAME: &str = "librelic_libs.so";

/// The runtime library: what `named` says, else `RELIC_RUNTIME_LIBRARY`, else the one beside this program or in the
/// `lib` folder beside its folder.
///
/// # Errors
/// When the named file is missing, or nothing is found; the text lists the places. When what is found is no runtime
/// library.
pub fn find(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = place(named)?;
    check_runtime_library(&path).map_err(Failure::relink(&path))?;
    Ok(path)
}

fn place(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return existing(path, "--runtime");
    }
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return existing(Path::new(&path), VARIABLE);
    }
    let own = std::env::current_exe().map_err(Failure::work("finding this program's own folder"))?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let looked: Vec<PathBuf> = [folder.to_owned(), folder.join("../lib")]
        .iter()
        .flat_map(|folder| [folder.join(BUILT_NAME), folder.join(RUNTIME_LIBRARY)])
        .collect();
    match looked.iter().find(|path| path.is_file()) {
        Some(path) => absolute(path),
        None => Err(Failure::NoRuntimeLibrary { looked }),
    }
}

fn existing(path: &Path, said_by: &'static str) -> Result<PathBuf, Failure> {
    if path.is_file() {
        absolute(path)
    } else {
        Err(Failure::NamedRuntimeLibrary {
            path: path.to_owned(),
            said_by,
        })
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(Failure::io("finding", path))
}
