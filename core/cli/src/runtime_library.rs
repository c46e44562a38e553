//! Finding the runtime library that relinked programs load.

use std::path::{Path, PathBuf};

use relic_core::program::RUNTIME_LIBRARY;
use relic_relink::{RelinkError, check_runtime_library};

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
    let (path, said_by) = place(named)?;
    let refuse = |problem| Failure::BadRuntimeLibrary {
        path: path.clone(),
        problem,
        said_by,
    };
    if !path.is_file() {
        return Err(refuse("there is no such file"));
    }
    match check_runtime_library(&path) {
        Ok(()) => path.canonicalize().map_err(Failure::io("finding", &path)),
        Err(RelinkError::NoRuntimeLibrary { .. }) => Err(refuse("it does not export relic_start")),
        Err(error) => Err(Failure::relink(&path)(error)),
    }
}

/// Where it should be, and who says so.
fn place(named: Option<&Path>) -> Result<(PathBuf, &'static str), Failure> {
    if let Some(path) = named {
        return Ok((path.to_owned(), "--runtime names it"));
    }
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return Ok((path.into(), "RELIC_RUNTIME_LIBRARY names it"));
    }
    let own = std::env::current_exe().map_err(Failure::work("finding this program's own folder"))?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let looked: Vec<PathBuf> = [folder.to_owned(), folder.join("../lib")]
        .iter()
        .flat_map(|folder| [folder.join(BUILT_NAME), folder.join(RUNTIME_LIBRARY)])
        .collect();
    match looked.iter().find(|path| path.is_file()) {
        Some(path) => Ok((path.clone(), "it lies where `relic` looks for its own")),
        None => Err(Failure::NoRuntimeLibrary { looked }),
    }
}
