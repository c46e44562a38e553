//! Files that appear whole or not at all.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use relic_core::program::{RUNTIME_LIBRARY, START_SYMBOL};

use crate::error::{RelinkError, io_error};

use super::Image;

/// Permission bits of a program: everybody may read and run it.
const PROGRAM_MODE: u32 = 0o755;

/// Writes the program, and beside it the runtime library. Both are complete under temporary names before the first
/// takes its own; folders that were made for them are removed again on failure.
pub(crate) fn write(image: &Image<'_>, output: &Path, runtime: Option<&Path>) -> Result<(), RelinkError> {
    let folder = match output.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if let Ok(there) = fs::metadata(output)
        && !there.is_file()
    {
        return Err(RelinkError::OutputNotAFile {
            path: output.to_owned(),
        });
    }
    let library = runtime.map(read_runtime).transpose()?;
    let mut made = MadeFolders::default();
    made.create(folder)?;
    let program = temporary(folder)?;
    let fill = || -> io::Result<()> {
        // What no piece covers stays a hole: zeros that take no space.
        program.as_file().set_len(image.size)?;
        for (offset, bytes) in &image.pieces {
            program.as_file().write_all_at(bytes, offset.0)?;
        }
        make_executable(program.as_file())
    };
    fill().map_err(io_error("writing the program to", program.path()))?;

    if let Some(bytes) = library {
        let libraries = folder.join("libs");
        made.create(&libraries)?;
        let mut copy = temporary(&libraries)?;
        copy.write_all(&bytes)
            .and_then(|()| make_executable(copy.as_file()))
            .map_err(io_error("copying the runtime library to", copy.path()))?;
        persist(copy, &libraries.join(RUNTIME_LIBRARY))?;
    }
    persist(program, output)?;
    made.keep();
    Ok(())
}

/// Reads the runtime library, and refuses a file that is none.
fn read_runtime(path: &Path) -> Result<Vec<u8>, RelinkError> {
    let bytes = fs::read(path).map_err(io_error("reading the runtime library", path))?;
    let exports_start = goblin::elf::Elf::parse(&bytes).is_ok_and(|elf| {
        let mut names = elf.dynsyms.iter().filter(|symbol| !symbol.is_import());
        names.any(|symbol| elf.dynstrtab.get_at(symbol.st_name) == Some(START_SYMBOL))
    });
    if exports_start {
        Ok(bytes)
    } else {
        Err(RelinkError::NoRuntimeLibrary {
            path: path.to_owned(),
        })
    }
}

/// Folders that this run made, innermost last: removed when dropped, as far as they are empty.
#[derive(Default)]
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    fn create(&mut self, folder: &Path) -> Result<(), RelinkError> {
        let missing: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
            .map(Path::to_owned)
            .collect();
        for path in missing.into_iter().rev() {
            fs::create_dir(&path).map_err(io_error("making the folder", &path))?;
            self.0.push(path);
        }
        Ok(())
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            // A folder that somebody else has filled meanwhile stays, which is what they want.
            let _ = fs::remove_dir(path);
        }
    }
}

fn temporary(folder: &Path) -> Result<tempfile::NamedTempFile, RelinkError> {
    tempfile::Builder::new()
        .prefix(".relic-")
        .tempfile_in(folder)
        .map_err(io_error("making a temporary file in", folder))
}

fn persist(file: tempfile::NamedTempFile, path: &Path) -> Result<(), RelinkError> {
    file.persist(path)
        .map(drop)
        .map_err(|error| io_error("renaming the finished file to", path)(error.error))
}

fn make_executable(file: &fs::File) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(PROGRAM_MODE))
}
