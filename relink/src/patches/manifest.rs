//! What was patched, kept beside the output, so that an output can be checked later.

use std::{fs, path::Path, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{RelinkError, io_error};

use super::apply::{Applied, hex};

/// The manifest of an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The only format so far.
    pub format: u32,
    /// What was written.
    #[serde(default)]
    pub applied: Vec<Record>,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Name of the patch.
    pub patch: String,
    /// Path of the output from the program's folder.
    pub file: String,
    /// Address in the image.
    pub address: u64,
    /// Offset in the output.
    pub offset: u64,
    /// What stood there.
    pub before: String,
    /// What stands there.
    pub after: String,
}

impl Manifest {
    pub(crate) fn new() -> Self {
        Self {
            format: 1,
            applied: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, file: &str, located: &[Applied]) {
        self.applied.extend(located.iter().map(|applied| Record {
            patch: applied.patch.clone(),
            file: file.to_owned(),
            address: applied.write.address.0,
            offset: applied.offset.0,
            before: hex(&applied.write.expect),
            after: hex(&applied.write.replace),
        }));
    }

    pub(crate) fn text(&self) -> Result<String, RelinkError> {
        toml::to_string(self).map_err(|error| RelinkError::Manifest {
            path: PathBuf::new(),
            problem: error.to_string(),
        })
    }
}

/// Where the manifest of an output is.
#[must_use]
pub fn path_of(output: &Path) -> PathBuf {
    let mut name = output.file_stem().unwrap_or_default().to_owned();
    name.push(".patches.toml");
    output.with_file_name(name)
}

/// Reads the manifest of an output and compares every write with the output's bytes. Returns how many there are.
///
/// # Errors
///
/// [`RelinkError::Manifest`] when there is none, it can't be read, or the first write that is not there.
pub fn verify(output: &Path) -> Result<usize, RelinkError> {
    let path = path_of(output);
    let text = fs::read_to_string(&path).map_err(io_error("reading the manifest", &path))?;
    let refuse = |problem: String| RelinkError::Manifest {
        path: path.clone(),
        problem,
    };
    let manifest: Manifest = toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    if manifest.format != 1 {
        return Err(refuse(format!("format is {}, expected 1", manifest.format)));
    }
    let own_name = output.file_name().unwrap_or_default().to_string_lossy();
    let mut read: Option<(&str, Vec<u8>)> = None;
    for record in &manifest.applied {
        if record.file.starts_with('/') || record.file.split('/').any(|part| part == "..") {
            return Err(refuse(format!(
                "{:?} is no path below the program's folder",
                record.file
            )));
        }
        if read.as_ref().is_none_or(|(file, _)| *file != record.file) {
            // The program may have been renamed together with its manifest.
            let file = if record.file.contains('/') {
                &record.file
            } else {
                &*own_name
            };
            let file = output.with_file_name(file);
            let bytes = fs::read(&file).map_err(io_error("reading", &file))?;
            read = Some((&record.file, bytes));
        }
        let bytes = read.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        let found = usize::try_from(record.offset)
            .ok()
            .and_then(|start| bytes.get(start..start.checked_add(record.after.len() / 2)?))
            .map(hex);
        if found.as_ref() != Some(&record.after) {
            return Err(refuse(format!(
                "patch {:?} is not in {} at offset {:#x}: there stands {}, not {}",
                record.patch,
                record.file,
                record.offset,
                found.unwrap_or_else(|| "nothing".to_owned()),
                record.after
            )));
        }
    }
    Ok(manifest.applied.len())
}
