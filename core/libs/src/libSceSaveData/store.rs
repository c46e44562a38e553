//! Saves on the host's disk.

use std::{
    fs::{self, File},
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

/// The copy that a program writes to.
const WORKING: &str = "working";
/// A copy on its way to be the next number.
const NEXT: &str = "next";

/// One save: a folder, and in it what was committed, by number.
#[derive(Debug)]
pub(super) struct Save {
    folder: PathBuf,
    /// Keeps other processes out.
    _lock: File,
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Everything beneath a folder, and the folder, onto the disk.
fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            sync(&entry.path())?;
        }
    }
    sync(folder)
}

/// Copies files and folders; what is neither is left out.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn remove_tree(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Bytes of all files beneath a folder.
pub(super) fn size(folder: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += if entry.file_type()?.is_dir() {
            size(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(sum)
}

/// Replaces a file: whoever reads it sees the old bytes or the new ones, after a crash too.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)?;
    let temporary = path.with_extension("new");
    {
        let mut file = File::create(&temporary)?;
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()?;
    }
    fs::rename(&temporary, path)?;
    sync(parent)
}

/// The highest number in a save's folder, and its folder.
fn newest(folder: &Path) -> io::Result<Option<(u64, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut newest = None;
    for entry in entries {
        let entry = entry?;
        if let Some(number) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u64>().ok())
        {
            newest = newest.max(Some((number, entry.path())));
        }
    }
    Ok(newest)
}

/// What was committed of a save; `None` where nothing was.
pub(super) fn committed(folder: &Path) -> io::Result<Option<PathBuf>> {
    Ok(newest(folder)?.map(|(_, path)| path))
}

/// Removes a save at once.
pub(super) fn remove(root: &Path, name: &str) -> io::Result<()> {
    // No save's name begins with a dot.
    let removed = root.join(".removed");
    remove_tree(&removed)?;
    fs::rename(root.join(name), &removed)?;
    sync(root)?;
    remove_tree(&removed)
}

impl Save {
    /// Opens a save's folder, made if need be, and clears what a process left that ended before it committed. `None` where
    /// another process has it open.
    pub(super) fn open(folder: &Path) -> io::Result<Option<Self>> {
        fs::create_dir_all(folder)?;
        let lock = File::open(folder)?;
        // SAFETY: our descriptor.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock {
                Ok(None)
            } else {
                Err(error)
            };
        }
        let save = Self {
            folder: folder.to_owned(),
            _lock: lock,
        };
        remove_tree(&save.working())?;
        remove_tree(&folder.join(NEXT))?;
        save.remove_older()?;
        Ok(Some(save))
    }

    pub(super) fn working(&self) -> PathBuf {
        self.folder.join(WORKING)
    }

    pub(super) fn committed(&self) -> io::Result<Option<PathBuf>> {
        committed(&self.folder)
    }

    fn remove_older(&self) -> io::Result<()> {
        let Some((newest, _)) = newest(&self.folder)? else {
            return Ok(());
        };
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let number = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u64>().ok());
            if number.is_some_and(|number| number < newest) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Makes the copy to write to.
    pub(super) fn begin(&self) -> io::Result<()> {
        match self.committed()? {
            Some(committed) => copy_tree(&committed, &self.working()),
            None => fs::create_dir(self.working()),
        }
    }

    fn publish(&self, ready: &Path) -> io::Result<()> {
        let next = newest(&self.folder)?.map_or(1, |(number, _)| number + 1);
        sync_tree(ready)?;
        fs::rename(ready, self.folder.join(next.to_string()))?;
        sync(&self.folder)?;
        // The save's own name, where it is new.
        sync(self.folder.parent().unwrap_or(&self.folder))?;
        self.remove_older()
    }

    /// Commits the copy as it is now; it can be written to further.
    pub(super) fn commit(&self) -> io::Result<()> {
        let next = self.folder.join(NEXT);
        remove_tree(&next)?;
        copy_tree(&self.working(), &next)?;
        self.publish(&next)
    }

    /// Commits the copy, which is no more.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.publish(&self.working())
    }

    /// Forgets the copy, and the folder where nothing was ever committed.
    pub(super) fn abandon(&self) -> io::Result<()> {
        remove_tree(&self.working())?;
        match fs::remove_dir(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(folder: &Path) -> Option<String> {
        let committed = committed(folder).unwrap()?;
        Some(fs::read_to_string(committed.join("sub/file")).unwrap())
    }

    fn write(save: &Save, text: &str) {
        fs::create_dir_all(save.working().join("sub")).unwrap();
        fs::write(save.working().join("sub/file"), text).unwrap();
    }

    #[test]
    fn what_was_committed_stays_until_the_next_is_complete() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("SAVE");
        {
            let save = Save::open(&folder).unwrap().unwrap();
            save.begin().unwrap();
            write(&save, "one");
            assert_eq!(read(&folder), None);
            save.commit().unwrap();
            assert_eq!(read(&folder).as_deref(), Some("one"));
            write(&save, "two");
            assert_eq!(read(&folder).as_deref(), Some("one"));
            // The process ends here.
        }
        // Ends of processes at other places: half a copy, and an older state that nobody has removed.
        copy_tree(&folder.join("1"), &folder.join("next")).unwrap();
        copy_tree(&folder.join("1"), &folder.join("0")).unwrap();
        let save = Save::open(&folder).unwrap().unwrap();
        let names = |folder: &Path| {
            let mut names: Vec<_> = fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&folder), ["1"]);
        save.begin().unwrap();
        assert_eq!(
            fs::read_to_string(save.working().join("sub/file")).unwrap(),
            "one"
        );
        write(&save, "three");
        save.finish().unwrap();
        assert_eq!(read(&folder).as_deref(), Some("three"));
        assert_eq!(names(&folder), ["2"]);
    }

    #[test]
    fn one_has_a_save_open_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("SAVE");
        let save = Save::open(&folder).unwrap().unwrap();
        assert!(Save::open(&folder).unwrap().is_none());
        save.begin().unwrap();
        save.abandon().unwrap();
        assert!(!folder.exists());
        drop(save);
        let save = Save::open(&folder).unwrap().unwrap();
        save.begin().unwrap();
        save.finish().unwrap();
        drop(save);
        remove(root.path(), "SAVE").unwrap();
        assert!(!folder.exists() && !root.path().join(".removed").exists());
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/0.dat");
        replace_file(&path, b"first").unwrap();
        replace_file(&path, b"2").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 1);
    }
}
