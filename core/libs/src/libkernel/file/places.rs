//! Where the mounts' folders lie on the host.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::log;

/// The title's folder: what it reads as `/app0`.
pub(super) fn application() -> PathBuf {
    match env::var_os("RELIC_APP0") {
        Some(folder) if !folder.is_empty() => folder.into(),
        _ => program_folder().join("app0"),
    }
}

/// The folder for what the title writes, by mount: `data`, `temp0`, `download0`, `savedata`. `None`, with a word in the
/// log, where the user has no folder for data.
pub(crate) fn writable(name: &str) -> Option<PathBuf> {
    static TITLE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let title = TITLE.get_or_init(|| {
        let all = data_folder();
        if all.is_none() {
            log::warn(format_args!(
                "no folder for what the program writes: set RELIC_DATA, XDG_DATA_HOME or HOME"
            ));
        }
        Some(all?.join(title_name()))
    });
    Some(title.as_ref()?.join(name))
}

/// The folder for all titles' data.
fn data_folder() -> Option<PathBuf> {
    let variable = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("RELIC_DATA")
        // A relative path there is to be ignored (XDG Base Directory Specification).
        .or_else(|| {
            Some(
                variable("XDG_DATA_HOME")
                    .filter(|path| path.is_absolute())?
                    .join("relic"),
            )
        })
        .or_else(|| Some(variable("HOME")?.join(".local/share/relic")))
}

fn program_folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    program.parent().map(PathBuf::from).unwrap_or_default()
}

/// What the title's folder is called: its id, else the name of its folder, else the program's.
fn title_name() -> String {
    let application = application();
    let id = title_id(&application);
    let folder = application
        .canonicalize()
        .ok()
        .and_then(|path| path.file_name().map(OsStr::to_owned))
        .filter(|name| name != "app0");
    let program = env::current_exe()
        .ok()
        .and_then(|path| path.file_name().map(OsStr::to_owned));
    id.or_else(|| usable(&folder?.to_string_lossy()))
        .or_else(|| usable(&program?.to_string_lossy()))
        .unwrap_or_else(|| "title".to_owned())
}

/// A parameter of the title, from `sce_sys/param.json`.
pub(crate) fn title_parameter(name: &str) -> Option<serde_json::Value> {
    parameter(&application(), name)
}

fn parameter(application: &Path, name: &str) -> Option<serde_json::Value> {
    let text = std::fs::read_to_string(application.join("sce_sys/param.json")).ok()?;
    let mut parameters: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(parameters.get_mut(name)?.take())
}

fn title_id(application: &Path) -> Option<String> {
    usable(parameter(application, "titleId")?.as_str()?)
}

/// Free bytes of the disk that a folder lies on, or will lie on once it is made.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let existing = folder.ancestors().find(|folder| folder.exists())?;
    let path = std::ffi::CString::new(existing.as_os_str().as_encoded_bytes()).ok()?;
    // SAFETY: all zeros is a value of this record.
    let mut status: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a string and a record of ours.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut status) } != 0 {
        return None;
    }
    Some(status.f_bavail * status.f_frsize)
}

/// A name for a folder: nothing that leads elsewhere.
fn usable(name: &str) -> Option<String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '.' | '(' | ')' | '[' | ']');
    let name: String = name.chars().filter(|c| fits(*c)).collect();
    let name = name.trim_matches([' ', '.']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_lead_nowhere_else() {
        assert_eq!(usable("PPSA01234").as_deref(), Some("PPSA01234"));
        assert_eq!(usable("../../etc"), Some("etc".to_owned()));
        assert_eq!(usable("a/b\0c"), Some("abc".to_owned()));
        assert_eq!(usable(" .. "), None);
    }

    #[test]
    fn the_title_id_is_read_from_its_parameters() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(title_id(folder.path()), None);
        std::fs::create_dir(folder.path().join("sce_sys")).unwrap();
        std::fs::write(
            folder.path().join("sce_sys/param.json"),
            r#"{"titleId": "PPSA00001"}"#,
        )
        .unwrap();
        assert_eq!(title_id(folder.path()).as_deref(), Some("PPSA00001"));
    }
}
