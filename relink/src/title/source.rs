//! Input files, mapped.

use std::{
    borrow::Cow,
    fs,
    ops::Deref,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::{
    error::{RelinkError, io_error},
    input::container,
};

/// An input file.
#[derive(Debug)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Device and inode: what the file is, whatever it is called.
    pub identity: (u64, u64),
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// An empty file can't be mapped.
    Empty,
    Mapped(fs::File, memmap2::Mmap),
    /// Unpacked from a container, or changed by patches.
    Owned(Vec<u8>),
}

impl Source {
    /// Maps a file as it is.
    ///
    /// # Errors
    ///
    /// [`RelinkError`] when it can't be read, or is no ordinary file.
    pub fn as_it_is(path: &Path) -> Result<Self, RelinkError> {
        Self::new(path, |_| Ok(None))
    }

    /// Maps a file. A plain container is unpacked.
    ///
    /// # Errors
    ///
    /// [`RelinkError`] when it can't be read, is no ordinary file, or is a container that can't be unpacked.
    pub fn open(path: &Path) -> Result<Self, RelinkError> {
        Self::new(path, |bytes| match container::unwrap(bytes)? {
            Cow::Owned(bytes) => Ok(Some(bytes)),
            Cow::Borrowed(_) => Ok(None),
        })
    }

    fn new(
        path: &Path,
        unpack: impl FnOnce(&[u8]) -> Result<Option<Vec<u8>>, RelinkError>,
    ) -> Result<Self, RelinkError> {
        // Before it is opened: opening a named pipe would wait for a writer.
        let metadata = fs::metadata(path).map_err(io_error("opening the input", path))?;
        if !metadata.is_file() {
            return Err(RelinkError::InputNotAFile {
                path: path.to_owned(),
            });
        }
        let file = fs::File::open(path).map_err(io_error("opening the input", path))?;
        let metadata = file.metadata().map_err(io_error("measuring the input", path))?;
        let content = if metadata.len() == 0 {
            Content::Empty
        } else {
            // SAFETY: the mapping is private and read-only, and lives as long as this value. Bytes that another process
            // writes meanwhile may be seen or not; no check is repeated on bytes that were checked by address, and a
            // file cut short under us ends the process by SIGBUS, as with every mapped file.
            let mapping =
                unsafe { memmap2::Mmap::map(&file) }.map_err(io_error("mapping the input", path))?;
            match unpack(&mapping)? {
                Some(bytes) => Content::Owned(bytes),
                None => Content::Mapped(file, mapping),
            }
        };
        Ok(Self {
            path: path.to_owned(),
            identity: (metadata.dev(), metadata.ino()),
            content,
        })
    }

    /// Its file name as text.
    #[must_use]
    pub fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// The open file, where the bytes are its own, and where in it some of them stand.
    #[must_use]
    pub fn in_file(&self, bytes: &[u8]) -> Option<(&fs::File, u64)> {
        match &self.content {
            Content::Mapped(file, mapping) => {
                let offset = bytes.as_ptr().addr().checked_sub(mapping.as_ptr().addr())?;
                let end = offset.checked_add(bytes.len())?;
                (end <= mapping.len()).then_some((file, offset as u64))
            }
            Content::Empty | Content::Owned(_) => None,
        }
    }

    /// Changes the bytes, which are a copy from then on: the file itself is never written.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut bytes = match std::mem::replace(&mut self.content, Content::Empty) {
            Content::Owned(bytes) => bytes,
            Content::Empty => Vec::new(),
            Content::Mapped(_, mapping) => mapping.to_vec(),
        };
        let result = change(&mut bytes);
        self.content = Content::Owned(bytes);
        result
    }
}

impl Deref for Source {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.content {
            Content::Empty => &[],
            Content::Mapped(_, mapping) => mapping,
            Content::Owned(bytes) => bytes,
        }
    }
}
