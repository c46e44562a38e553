//! Files that appear whole or not at all.

use std::{
    borrow::Cow,
    fs, io,
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use relic_core::program::RUNTIME_LIBRARY;
use rustix::fs::{CWD, RenameFlags};

use crate::{
    error::{RelinkError, io_error},
    title::source::Source,
};

use super::Image;

/// Permission bits of a program: everybody may read and run it.
const PROGRAM_MODE: u32 = 0o755;

/// One file to write.
pub(crate) struct OutputFile<'a> {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub content: Content<'a>,
}

/// What a file holds.
pub(crate) enum Content<'a> {
    /// A program or a module, and the file that it was made of.
    Image(&'a Image<'a>, &'a Source),
    /// Text about it.
    Text(&'a str),
}

/// Writes the files, and beside the program the runtime library. All are complete under temporary names before the first
/// takes its own, in the order given; on failure what is new is removed again, folders too.
pub(crate) fn write_all(
    files: &[OutputFile<'_>],
    program: &Path,
    runtime: Option<&Path>,
) -> Result<(), RelinkError> {
    for OutputFile { path, .. } in files {
        if let Ok(there) = fs::metadata(path)
            && !there.is_file()
        {
            return Err(RelinkError::OutputNotAFile { path: path.clone() });
        }
    }
    let library = runtime.map(super::runtime::open).transpose()?;
    let mut made = MadeFolders::default();
    let mut ready: Vec<(tempfile::NamedTempFile, PathBuf)> = Vec::new();
    if let Some(mut library) = library {
        let libraries = folder_of(program).join("libs");
        made.create(&libraries)?;
        let copy = temporary(&libraries)?;
        // From file to file: the kernel does it.
        io::copy(&mut library, &mut copy.as_file())
            .and_then(|_| make_executable(copy.as_file()))
            .map_err(io_error("copying the runtime library to", copy.path()))?;
        ready.push((copy, libraries.join(RUNTIME_LIBRARY)));
    }
    for OutputFile { path, content } in files {
        let folder = folder_of(path);
        made.create(folder)?;
        let file = temporary(folder)?;
        let written = match content {
            Content::Image(image, source) => fill(file.as_file(), image, source),
            Content::Text(text) => file.as_file().write_all_at(text.as_bytes(), 0),
        };
        written.map_err(io_error("writing to", file.path()))?;
        ready.push((file, path.clone()));
    }
    let mut new_files = NewFiles::default();
    for (file, path) in ready {
        let is_new = !path.exists();
        persist(file, &path)?;
        if is_new {
            new_files.0.push(path);
        }
    }
    new_files.0.clear();
    made.keep();
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn fill(file: &fs::File, image: &Image<'_>, source: &Source) -> io::Result<()> {
    // What no piece covers stays a hole: zeros that take no space.
    file.set_len(image.size)?;
    for (offset, bytes) in &image.pieces {
        let copied = match bytes {
            Cow::Borrowed(bytes) => copy(source, bytes, file, offset.0),
            Cow::Owned(_) => 0,
        };
        let rest = bytes.get(copied..).unwrap_or_default();
        file.write_all_at(rest, offset.0 + copied as u64)?;
    }
    make_executable(file)
}

/// Has the kernel copy bytes of the input, which it does without mapping them. Returns how many it copied: not every pair
/// of file systems can.
fn copy(source: &Source, bytes: &[u8], file: &fs::File, to: u64) -> usize {
    let Some((input, from)) = source.in_file(bytes) else {
        return 0;
    };
    let mut copied = 0;
    while copied < bytes.len() {
        let (mut from, mut to) = (from + copied as u64, to + copied as u64);
        let left = bytes.len() - copied;
        match rustix::fs::copy_file_range(input, Some(&mut from), file, Some(&mut to), left) {
            Ok(count) if count > 0 => copied += count,
            _ => break,
        }
    }
    copied
}

/// Files that took their names and were not there before: removed when dropped.
#[derive(Default)]
struct NewFiles(Vec<PathBuf>);

impl Drop for NewFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            // The error that is on its way says more than this one could.
            let _ = fs::remove_file(path);
        }
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

/// Gives a file its own name. One that has it already changes places with it and is removed: renaming over it would have
/// ext4 write the new file to disk first, which takes longer than making it.
fn persist(file: tempfile::NamedTempFile, path: &Path) -> Result<(), RelinkError> {
    if rustix::fs::renameat_with(CWD, file.path(), CWD, path, RenameFlags::EXCHANGE).is_ok() {
        return file.close().map_err(io_error("removing the former file", path));
    }
    file.persist(path)
        .map(drop)
        .map_err(|error| io_error("renaming the finished file to", path)(error.error))
}

fn make_executable(file: &fs::File) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(PROGRAM_MODE))
}
