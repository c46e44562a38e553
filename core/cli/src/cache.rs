//! Where `relic run` keeps relinked programs.
//!
//! ```text
//! <cache>/programs/<hash of the title>/lock
//!                                      <hash of everything else>/app
//!                                                                app0/
//!                                                                libs/librelic.so -> the runtime library
//!                                                                files
//! ```
//!
//! `files` has the sizes of all others: where they are not so, the program is relinked. `lock` is held meanwhile.
//!
//! The title is its executable with its modules. "Everything else" is how it is converted, with the contents of the patch
//! file, and the version, and place, size and time of this program and of the runtime library: after an update nothing
//! old is used.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use relic_core::program::{PROGRAM_MAGIC, RUNTIME_LIBRARY};
use relic_relink::{RelinkOptions, relink, title::modules};
use sha1::{Digest as _, Sha1};

use crate::{conversion::Conversion, failure::Failure};

/// Results of other versions are removed after this time without a run.
const KEEP_OTHERS: Duration = Duration::from_hours(24);

/// The relinked program of `eboot`, made if there is none yet.
///
/// # Errors
/// When the input is refused, or the cache can't be written.
pub fn relinked(eboot: &Path, runtime: &Path, conversion: &Conversion) -> Result<PathBuf, Failure> {
    let content = folder()?
        .join("programs")
        .join(hash_title(eboot, &conversion.module_dir)?);
    let mut options = conversion.options(eboot, Path::new(""));
    let place = content.join(build_key(runtime, &options)?);
    let program = place.join("app");
    let list = place.join(LIST);
    // One at a time: another run of the same title may be at it.
    fs::create_dir_all(&content).map_err(Failure::io("making the folder", &content))?;
    let lock = content.join("lock");
    let lock = File::create(&lock).map_err(Failure::io("opening", &lock))?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| Failure::io("locking", &content)(error.into()))?;
    if !is_whole(&place, &list) {
        // Damaged, or half of it removed: made again from nothing.
        match fs::remove_dir_all(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::io("removing what is damaged at", &place)(error));
            }
            _ => {}
        }
        options.output.clone_from(&program);
        relink(&options).map_err(Failure::relink(eboot))?;
        let sizes = sizes(&place).map_err(Failure::io("looking at", &place))?;
        relic_core::file::replace(&list, sizes.as_bytes()).map_err(Failure::io("writing", &list))?;
        remove_stale(&content, &place);
    }
    link_runtime(&place, runtime)?;
    Ok(program)
}

/// The file with the sizes of all others: it is written last.
const LIST: &str = "files";

/// Whether a relinked program is there with all its files as they were written, as far as their sizes tell.
fn is_whole(place: &Path, list: &Path) -> bool {
    fs::read_to_string(list).is_ok_and(|listed| sizes(place).is_ok_and(|found| found == listed))
}

/// A line for each file below `place`, but for the list and the link to the runtime library.
fn sizes(place: &Path) -> io::Result<String> {
    let mut open = vec![place.to_owned()];
    let mut lines = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() && path != place.join(LIST) {
                lines.push(format!("{} {}\n", entry.metadata()?.len(), path.display()));
            }
        }
    }
    lines.sort();
    Ok(lines.concat())
}

/// The cache's folder, absolute.
pub fn folder() -> Result<PathBuf, Failure> {
    let folder = relic_core::file::cache_folder().ok_or(Failure::NoCache)?;
    std::path::absolute(&folder).map_err(Failure::io("finding", &folder))
}

/// The executable, and names and contents of its modules.
fn hash_title(eboot: &Path, module_folders: &[PathBuf]) -> Result<String, Failure> {
    let mut hash = Sha1::new();
    hash_file(&mut hash, eboot)?;
    for module in modules::find(eboot, module_folders).map_err(Failure::relink(eboot))? {
        hash.update(&module.title_path);
        hash.update([0]);
        hash_file(&mut hash, &module.file)?;
    }
    Ok(hex(&hash.finalize()))
}

fn hash_file(hash: &mut Sha1, path: &Path) -> Result<(), Failure> {
    let mut file = File::open(path).map_err(Failure::io("opening", path))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => hash.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::io("reading", path)(error)),
        }
    }
}

fn build_key(runtime: &Path, options: &RelinkOptions) -> Result<String, Failure> {
    let own = std::env::current_exe().map_err(Failure::work("finding this program's own file"))?;
    let mut hash = Sha1::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(PROGRAM_MAGIC);
    for path in [own.as_path(), runtime] {
        let file = fs::metadata(path).map_err(Failure::io("looking at", path))?;
        hash.update(path.as_os_str().as_encoded_bytes());
        for number in [file.size().cast_signed(), file.mtime(), file.mtime_nsec()] {
            hash.update(number.to_le_bytes());
        }
    }
    let RelinkOptions {
        system_calls,
        filter,
        lowerings,
        ..
    } = options;
    hash.update(format!("{system_calls:?} {filter:?} {lowerings:?}"));
    if let Some(patches) = &options.patches {
        hash_file(&mut hash, patches)?;
    }
    Ok(hex(&hash.finalize()[..8]))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A link, not a copy: the library is large, and the key follows its changes.
fn link_runtime(place: &Path, runtime: &Path) -> Result<(), Failure> {
    let libraries = place.join("libs");
    let link = libraries.join(RUNTIME_LIBRARY);
    if fs::read_link(&link).is_ok_and(|target| target == runtime) {
        return Ok(());
    }
    fs::create_dir_all(&libraries).map_err(Failure::io("making the folder", &libraries))?;
    match symlink(runtime, &link) {
        // Another run of the same program was faster: the key says that it links to the same file.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && link.exists() => Ok(()),
        result => result.map_err(Failure::io("linking the runtime library at", &link)),
    }
}

/// Removes what other versions made of the same executable. A program that runs keeps its file.
fn remove_stale(content: &Path, keep: &Path) {
    let Ok(entries) = fs::read_dir(content) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let old = entry
            .metadata()
            .and_then(|file| file.modified())
            .is_ok_and(|time| {
                SystemTime::now()
                    .duration_since(time)
                    .is_ok_and(|age| age > KEEP_OTHERS)
            });
        if path != keep && old {
            // What can't be removed costs room, nothing else.
            let _ = fs::remove_dir_all(&path);
        }
    }
}
