//! Finding the runtime library that relinked programs load.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::kit::KitError;

/// Names the runtime library to test with, in place of the one that cargo builds.
pub const RUNTIME_LIBRARY_VARIABLE: &str = "RELIC_RUNTIME_LIBRARY";

/// File name that cargo gives the library; beside a program it is called
/// [`relic_core::program::RUNTIME_LIBRARY`].
const BUILT_NAME: &str = "librelic_libs.so";

/// Path of the runtime library: that of [`RUNTIME_LIBRARY_VARIABLE`], or else the one of the running test's own
/// profile, brought up to date by cargo.
///
/// # Errors
///
/// [`KitError`] when the variable names no file, or when cargo can't build the library.
pub fn runtime_library() -> Result<PathBuf, KitError> {
    if let Some(path) = env::var_os(RUNTIME_LIBRARY_VARIABLE) {
        let path = PathBuf::from(path);
        if path.is_file() {
            return Ok(path);
        }
        return Err(KitError::NoRuntime {
            path,
            hint: "that is what RELIC_RUNTIME_LIBRARY says",
        });
    }
    let profile = profile_folder()?;
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "relic-libs", "--manifest-path"]);
    cargo.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"));
    if let Some(target) = profile.parent() {
        cargo.arg("--target-dir").arg(target);
    }
    // The folder of the dev profile is called debug.
    match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => {}
        Some(name) => {
            cargo.args(["--profile", name]);
        }
    }
    crate::kit::run(&mut cargo)?;
    let path = profile.join(BUILT_NAME);
    if path.is_file() {
        Ok(path)
    } else {
        Err(KitError::NoRuntime {
            path,
            hint: "cargo built nothing there",
        })
    }
}

/// `target/debug` or its like: where the running test's `deps/` folder lies.
pub(crate) fn profile_folder() -> Result<PathBuf, KitError> {
    let here = env::current_exe().map_err(|source| KitError::Io {
        doing: "finding",
        path: "the running test".into(),
        source,
    })?;
    let folder = here.parent().unwrap_or(Path::new("."));
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    Ok(folder.to_owned())
}
