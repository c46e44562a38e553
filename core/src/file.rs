//! Whole files or none, and where files of Relic's own go.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// `RELIC_CACHE`, else `relic` in the user's cache folder. `None` where the environment names neither.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("RELIC_CACHE")
        // The specification has relative paths ignored.
        .or_else(|| {
            variable("XDG_CACHE_HOME")
                .filter(|path| path.is_absolute())
                .map(|path| path.join("relic"))
        })
        .or_else(|| variable("HOME").map(|path| path.join(".cache/relic")))
}

/// Writes a file by way of a temporary name beside it, so that no half file is ever seen under its own.
///
/// # Errors
/// As the system says; nothing is left then, and a file that was there stays as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The part file may not exist.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("relic-replace-{}", std::process::id()));
        fs::create_dir_all(folder.join("taken/in")).unwrap();
        assert!(replace(&folder.join("taken"), b"x").is_err());
        let left: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["taken"]);
        replace(&folder.join("new"), b"1").unwrap();
        replace(&folder.join("new"), b"2").unwrap();
        assert_eq!(fs::read(folder.join("new")).unwrap(), b"2");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
