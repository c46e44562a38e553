//! A pack: one file of entries that are only ever added, found by kind and key. For caches.
//!
//! A file is a header of 16 bytes (`RELPACK1`, version as u32, four zero bytes) and entries, each at a multiple of 8: a
//! header of 72 bytes (`RELENTRY`, kind and size as u32, key of 32 bytes, checksum of the content, 16 bytes, checksum of
//! the header, 8 bytes; SHA-256, cut), and the content.
//!
//! Several processes may use one pack. Whoever adds holds the file's lock; whoever reads holds none. A process that is
//! killed while it adds leaves a torn entry at the end, which the next to add cuts off; nothing else is lost. An entry that
//! was damaged is not found, and all others are: entries are looked for at every multiple of 8 where their chain breaks.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use hashbrown::HashMap;
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};

const MAGIC: &[u8; 8] = b"RELPACK1";
const VERSION: u32 = 1;
const FILE_HEADER: u64 = 16;
const ENTRY: &[u8; 8] = b"RELENTRY";
const ENTRY_HEADER: usize = 72;
const ALIGN: u64 = 8;
/// Bytes that are looked through at a time.
const WINDOW: usize = 1 << 16;

/// A content's key: a hash of all that it depends on.
pub type Key = [u8; 32];

/// Why a file can't be used as a pack.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The system refuses.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else, or of another version.
    #[error("{path} is no pack of this version: remove it, and it is made anew")]
    Format {
        /// The file.
        path: PathBuf,
    },
}

#[derive(Clone, Copy, Debug)]
struct Place {
    content: u64,
    size: u32,
    sum: [u8; 16],
}

/// What a pack holds, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackStatistics {
    /// Entries that can be found.
    pub entries: u64,
    /// Bytes of their contents.
    pub bytes: u64,
    /// Bytes of the file.
    pub file: u64,
    /// Stretches of the file that hold no entry, and should.
    pub damaged: u64,
}

/// See the module's text.
#[derive(Debug)]
pub struct Pack {
    path: PathBuf,
    file: File,
    is_writable: bool,
    index: HashMap<(u32, Key), Place>,
    /// How far the file has been looked through.
    scanned: u64,
    damaged: u64,
}

impl Pack {
    /// Opens a pack to read and add; makes it where there is none.
    ///
    /// # Errors
    /// [`PackError`].
    pub fn open(path: &Path) -> Result<Self, PackError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        Self::with(path, &options, true)
    }

    /// Opens a pack to read.
    ///
    /// # Errors
    /// [`PackError`], also where there is none.
    pub fn open_read_only(path: &Path) -> Result<Self, PackError> {
        Self::with(path, OpenOptions::new().read(true), false)
    }

    fn with(path: &Path, options: &OpenOptions, is_writable: bool) -> Result<Self, PackError> {
        let refused = |source| PackError::Io {
            path: path.to_owned(),
            source,
        };
        let file = options.open(path).map_err(refused)?;
        let mut pack = Self {
            path: path.to_owned(),
            file,
            is_writable,
            index: HashMap::new(),
            scanned: FILE_HEADER,
            damaged: 0,
        };
        if is_writable {
            pack.lock().map_err(refused)?;
            let begun = pack.begin();
            pack.unlock();
            begun.map_err(refused)?;
        }
        let mut header = [0; FILE_HEADER as usize];
        let read = pack.file.read_exact_at(&mut header, 0);
        if read.is_err() || header != file_header() {
            return Err(PackError::Format {
                path: path.to_owned(),
            });
        }
        pack.scan().map_err(refused)?;
        Ok(pack)
    }

    /// Writes the header of a file that is new, or whose maker was killed before it was there.
    fn begin(&self) -> io::Result<()> {
        let header = file_header();
        let length = self.file.metadata()?.len();
        if length < FILE_HEADER {
            let mut start = vec![0; length as usize];
            self.file.read_exact_at(&mut start, 0)?;
            if header.starts_with(&start) {
                self.file.write_all_at(&header, 0)?;
            }
        }
        Ok(())
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of a key. `None` where there is none, or it is damaged.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn get(&mut self, kind: u32, key: &Key) -> io::Result<Option<Vec<u8>>> {
        if !self.index.contains_key(&(kind, *key)) {
            // Another process may have added it.
            self.scan()?;
        }
        let Some(place) = self.index.get(&(kind, *key)).copied() else {
            return Ok(None);
        };
        let mut content = vec![0; place.size as usize];
        self.file.read_exact_at(&mut content, place.content)?;
        if content_sum(&content) == place.sum {
            return Ok(Some(content));
        }
        self.damaged += 1;
        self.index.remove(&(kind, *key));
        Ok(None)
    }

    /// Adds a content, unless its key is there. It is there for good when this returns, whatever happens to the process.
    ///
    /// # Errors
    /// When the file can't be written, or the pack was opened to read.
    pub fn put(&mut self, kind: u32, key: &Key, content: &[u8]) -> io::Result<()> {
        if !self.is_writable {
            return Err(io::Error::new(
                io::ErrorKind::ReadOnlyFilesystem,
                "the pack was opened to read",
            ));
        }
        let size = u32::try_from(content.len()).map_err(io::Error::other)?;
        self.lock()?;
        let added = self.add(kind, key, content, size);
        self.unlock();
        added
    }

    fn add(&mut self, kind: u32, key: &Key, content: &[u8], size: u32) -> io::Result<()> {
        self.scan()?;
        if self.index.contains_key(&(kind, *key)) {
            return Ok(());
        }
        // With the lock held, what lies behind the last whole entry is what a killed process left.
        let at = self.scanned;
        self.file.set_len(at)?;
        let sum = content_sum(content);
        let mut entry = Vec::with_capacity(ENTRY_HEADER + content.len() + ALIGN as usize);
        entry.extend_from_slice(ENTRY);
        entry.extend_from_slice(&kind.to_le_bytes());
        entry.extend_from_slice(&size.to_le_bytes());
        entry.extend_from_slice(key);
        entry.extend_from_slice(&sum);
        let own = header_sum(&entry);
        entry.extend_from_slice(&own);
        entry.extend_from_slice(content);
        entry.resize(entry.len().next_multiple_of(ALIGN as usize), 0);
        self.file.write_all_at(&entry, at)?;
        self.scanned = at + entry.len() as u64;
        let place = Place {
            content: at + ENTRY_HEADER as u64,
            size,
            sum,
        };
        self.index.insert((kind, *key), place);
        Ok(())
    }

    /// Looks through what was added since the last time. A torn entry at the end is left for later.
    fn scan(&mut self) -> io::Result<()> {
        let end = self.file.metadata()?.len();
        let mut lost = false;
        while self.scanned + ENTRY_HEADER as u64 <= end {
            let mut header = [0; ENTRY_HEADER];
            self.file.read_exact_at(&mut header, self.scanned)?;
            if let Some((kind, key, size, sum)) = parse(&header) {
                let content = self.scanned + ENTRY_HEADER as u64;
                let next = (content + u64::from(size)).next_multiple_of(ALIGN);
                if next > end {
                    break;
                }
                self.index.insert((kind, key), Place { content, size, sum });
                self.scanned = next;
                lost = false;
                continue;
            }
            let Some(next) = self.next_entry(self.scanned + ALIGN, end)? else {
                break;
            };
            self.damaged += u64::from(!lost);
            lost = true;
            self.scanned = next;
        }
        Ok(())
    }

    /// Where the next thing that looks like an entry begins.
    fn next_entry(&self, from: u64, end: u64) -> io::Result<Option<u64>> {
        let mut window = vec![0; WINDOW];
        let mut at = from;
        while at + ENTRY_HEADER as u64 <= end {
            let size = (end - at).min(WINDOW as u64) as usize;
            self.file.read_exact_at(&mut window[..size], at)?;
            let words = window[..size].chunks_exact(ALIGN as usize);
            if let Some(found) = words.clone().position(|word| word == ENTRY) {
                return Ok(Some(at + (found as u64) * ALIGN));
            }
            at += (words.len() as u64) * ALIGN;
        }
        Ok(None)
    }

    /// Counts.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn statistics(&mut self) -> io::Result<PackStatistics> {
        self.scan()?;
        Ok(PackStatistics {
            entries: self.index.len() as u64,
            bytes: self.index.values().map(|place| u64::from(place.size)).sum(),
            file: self.file.metadata()?.len(),
            damaged: self.damaged,
        })
    }

    /// Kinds and keys, in the order they were added.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn keys(&mut self) -> io::Result<Vec<(u32, Key)>> {
        self.scan()?;
        let mut all: Vec<_> = self.index.iter().collect();
        all.sort_by_key(|(_, place)| place.content);
        Ok(all.into_iter().map(|(key, _)| *key).collect())
    }

    /// Reads every entry. Damaged ones are not found any more, and counted.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn verify(&mut self) -> io::Result<PackStatistics> {
        for (kind, key) in self.keys()? {
            self.get(kind, &key)?;
        }
        self.statistics()
    }

    /// Writes the newest entries that fit into `bytes` to a new file in this one's place. Other processes go on with it when
    /// they add next.
    ///
    /// # Errors
    /// When the new file can't be written: the old one stays.
    pub fn prune(&mut self, bytes: u64) -> io::Result<()> {
        self.lock()?;
        let pruned = self.prune_locked(bytes);
        self.unlock();
        let fresh = pruned?;
        *self = fresh;
        Ok(())
    }

    fn prune_locked(&mut self, bytes: u64) -> io::Result<Self> {
        let mut room = bytes;
        let mut kept = Vec::new();
        for (kind, key) in self.keys()?.into_iter().rev() {
            let Some(content) = self.get(kind, &key)? else {
                continue;
            };
            let Some(left) = room.checked_sub(content.len() as u64) else {
                break;
            };
            room = left;
            kept.push((kind, key, content));
        }
        let mut temporary = self.path.as_os_str().to_owned();
        temporary.push(format!(".{}.part", std::process::id()));
        let temporary = PathBuf::from(temporary);
        // A killed process of the same number may have left one.
        let _ = std::fs::remove_file(&temporary);
        let written = Self::open(&temporary)
            .map_err(io::Error::other)
            .and_then(|mut fresh| {
                for (kind, key, content) in kept.into_iter().rev() {
                    fresh.put(kind, &key, &content)?;
                }
                fresh.file.sync_data()?;
                std::fs::rename(&temporary, &self.path)?;
                fresh.path.clone_from(&self.path);
                Ok(fresh)
            });
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }

    /// Takes the lock of the file that has this pack's name now.
    fn lock(&mut self) -> io::Result<()> {
        loop {
            flock(&self.file, FlockOperation::LockExclusive)?;
            let own = self.file.metadata()?;
            match std::fs::metadata(&self.path) {
                Ok(named) if (named.dev(), named.ino()) == (own.dev(), own.ino()) => return Ok(()),
                // Another file is in its place: it was pruned, or removed.
                _ => {
                    self.unlock();
                    let mut options = OpenOptions::new();
                    options.read(true).write(true).create(true).truncate(false);
                    self.file = options.open(&self.path)?;
                    self.index.clear();
                    self.scanned = FILE_HEADER;
                    flock(&self.file, FlockOperation::LockExclusive)?;
                    let begun = self.begin();
                    self.unlock();
                    begun?;
                }
            }
        }
    }

    fn unlock(&self) {
        // A lock that can't be given back ends with the file.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn file_header() -> [u8; FILE_HEADER as usize] {
    let mut header = [0; FILE_HEADER as usize];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header
}

fn content_sum(content: &[u8]) -> [u8; 16] {
    let mut sum = [0; 16];
    sum.copy_from_slice(&Sha256::digest(content)[..16]);
    sum
}

fn header_sum(header: &[u8]) -> [u8; 8] {
    let mut sum = [0; 8];
    sum.copy_from_slice(&Sha256::digest(header)[..8]);
    sum
}

/// Kind, key, size and checksum of an entry's content.
fn parse(header: &[u8; ENTRY_HEADER]) -> Option<(u32, Key, u32, [u8; 16])> {
    let (own, sum) = header.split_at(ENTRY_HEADER - 8);
    if !own.starts_with(ENTRY) || header_sum(own) != sum {
        return None;
    }
    let word = |at: usize| u32::from_le_bytes([own[at], own[at + 1], own[at + 2], own[at + 3]]);
    let (mut key, mut content) = ([0; 32], [0; 16]);
    key.copy_from_slice(&own[16..48]);
    content.copy_from_slice(&own[48..64]);
    Some((word(8), key, word(12), content))
}

#[cfg(test)]
mod tests;
