//! Relic's own scene files (`.scene`): what captures write.
//!
//! A file is the eight bytes `RELSCENE`, a version (u32, 1), four zero bytes, and chunks up to one with the tag `END `. A
//! chunk is a tag, a codec (u32: 0 stored, 1 zlib), the stored size (u64), the size (u64), a checksum (SHA-256 of the
//! chunk's number as u64, these 24 bytes, and the stored bytes), and the stored bytes. All numbers are little-endian.
//! So a file that was cut or changed anywhere is refused.
//!
//! | tag | holds |
//! | --- | --- |
//! | `HEAD` | the first: chip, NGG, address mask, and `key=value` pairs |
//! | `PAGE` | pages of 4096 bytes, numbered on over all such chunks |
//! | `EVNT` | events of the script |
//! | `END ` | the number of chunks before it; nothing follows |
//!
//! `HEAD`, `EVNT` and `END ` are in the `postcard` format, of the types in [`super::script`].

use std::io::{self, Read as _, Write};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use hashbrown::{HashMap, hash_map::Entry};
use relic_core::GuestRange;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::script::{Event, PAGE, Page, Scene};

/// What a file begins with.
pub const MAGIC: &[u8; 8] = b"RELSCENE";
const VERSION: u32 = 1;
const FILE_HEADER: usize = 16;
const CHUNK_HEADER: usize = 24;
const CHECKSUM: usize = 32;
/// Pages of a chunk that is written.
const PAGES: usize = 1024;
/// Bytes of events that are written as one chunk.
const EVENTS: usize = 1 << 20;
/// Largest chunk that is read: guards against sizes that no file has. Events are written whole.
const LARGEST_CHUNK: u64 = 1 << 31;

#[derive(Serialize, Deserialize)]
struct Head {
    chip: u32,
    ngg: bool,
    address_mask: u64,
    meta: Vec<(String, String)>,
}

/// Why a file is no scene.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It does not begin like one.
    #[error("this is no scene of Relic's: it does not begin with RELSCENE")]
    Magic,
    /// It is of another version.
    #[error(
        "the scene's format has version {0}, and this program reads version 1: capture it again, or use the program it was made with"
    )]
    Version(u32),
    /// It ends too early.
    #[error("the file ends at byte {end} inside the chunk at byte {at}: it is cut short, copy it again")]
    Ends {
        /// Its length.
        end: u64,
        /// Where the chunk begins.
        at: u64,
    },
    /// A chunk is wrong.
    #[error("the chunk at byte {at} (number {number}): {reason}")]
    Chunk {
        /// Where it begins.
        at: u64,
        /// Chunks before it.
        number: u64,
        /// What is wrong.
        reason: String,
    },
}

/// Writes a scene piece by piece.
pub struct SceneWriter<W: Write> {
    to: W,
    chunks: u64,
    /// Pages so far, by their bytes.
    known: HashMap<[u8; 32], u32>,
    pages: Vec<u8>,
    events: Vec<u8>,
}

impl<W: Write> SceneWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// As writing does.
    pub fn new(
        mut to: W,
        chip: u32,
        ngg: bool,
        address_mask: u64,
        meta: &[(String, String)],
    ) -> io::Result<Self> {
        to.write_all(MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        to.write_all(&[0; 4])?;
        let mut writer = Self {
            to,
            chunks: 0,
            known: HashMap::new(),
            pages: Vec::new(),
            events: Vec::new(),
        };
        let head = Head {
            chip,
            ngg,
            address_mask,
            meta: meta.to_vec(),
        };
        let head = postcard::to_stdvec(&head).map_err(io::Error::other)?;
        writer.chunk(*b"HEAD", &head)?;
        Ok(writer)
    }

    /// Adds a page, unless it is known. Returns its number.
    ///
    /// # Errors
    /// As writing does, and where there are more pages than numbers.
    pub fn page(&mut self, bytes: &[u8; PAGE]) -> io::Result<u32> {
        let number = u32::try_from(self.known.len()).map_err(io::Error::other)?;
        match self.known.entry(Sha256::digest(bytes).into()) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(new) => new.insert(number),
        };
        self.pages.extend_from_slice(bytes);
        if self.pages.len() == PAGES * PAGE {
            self.flush_pages()?;
        }
        Ok(number)
    }

    /// Adds an event.
    ///
    /// # Errors
    /// As writing does.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let events = std::mem::take(&mut self.events);
        self.events = postcard::to_extend(event, events).map_err(io::Error::other)?;
        if self.events.len() >= EVENTS {
            self.flush_events()?;
        }
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// As writing does.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush_pages()?;
        self.flush_events()?;
        let chunks = postcard::to_stdvec(&self.chunks).map_err(io::Error::other)?;
        self.chunk(*b"END ", &chunks)?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn flush_pages(&mut self) -> io::Result<()> {
        let mut pages = std::mem::take(&mut self.pages);
        if !pages.is_empty() {
            self.chunk(*b"PAGE", &pages)?;
        }
        pages.clear();
        self.pages = pages;
        Ok(())
    }

    fn flush_events(&mut self) -> io::Result<()> {
        let mut events = std::mem::take(&mut self.events);
        if !events.is_empty() {
            self.chunk(*b"EVNT", &events)?;
        }
        events.clear();
        self.events = events;
        Ok(())
    }

    fn chunk(&mut self, tag: [u8; 4], bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > LARGEST_CHUNK {
            return Err(io::Error::other(format!(
                "an event of {} bytes is larger than a scene can hold",
                bytes.len()
            )));
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes)?;
        let packed = encoder.finish()?;
        let (codec, stored) = if packed.len() < bytes.len() {
            (1u32, packed.as_slice())
        } else {
            (0, bytes)
        };
        let mut header = Vec::with_capacity(CHUNK_HEADER);
        header.extend_from_slice(&tag);
        header.extend_from_slice(&codec.to_le_bytes());
        header.extend_from_slice(&(stored.len() as u64).to_le_bytes());
        header.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.to.write_all(&header)?;
        self.to.write_all(&checksum(self.chunks, &header, stored))?;
        self.to.write_all(stored)?;
        self.chunks += 1;
        Ok(())
    }
}

/// Writes a whole scene.
///
/// # Errors
/// As writing does, and for an event that names a page which the scene has not.
pub fn write<W: Write>(scene: &Scene, to: W) -> io::Result<W> {
    let mut writer = SceneWriter::new(to, scene.chip, scene.ngg, scene.address_mask, &scene.meta)?;
    let numbers = scene
        .pages
        .iter()
        .map(|page| writer.page(page))
        .collect::<io::Result<Vec<_>>>()?;
    for event in &scene.events {
        if let Event::Pages { address, pages } = event {
            let pages = pages
                .iter()
                .map(|page| numbers.get(*page as usize).copied())
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| {
                    io::Error::other(format!("the scene has no page that is written at {address}"))
                })?;
            writer.event(&Event::Pages {
                address: *address,
                pages,
            })?;
        } else {
            writer.event(event)?;
        }
    }
    writer.finish()
}

fn checksum(number: u64, header: &[u8], stored: &[u8]) -> [u8; CHECKSUM] {
    let mut hash = Sha256::new();
    hash.update(number.to_le_bytes());
    hash.update(header);
    hash.update(stored);
    hash.finalize().into()
}

/// Parses a file.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(file: &[u8]) -> Result<Scene, FileError> {
    let end = file.len() as u64;
    let Some((header, mut rest)) = file.split_at_checked(FILE_HEADER) else {
        let same = file.iter().zip(MAGIC).all(|(a, b)| a == b);
        return Err(if same {
            FileError::Ends { end, at: 0 }
        } else {
            FileError::Magic
        });
    };
    if &header[..8] != MAGIC {
        return Err(FileError::Magic);
    }
    let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    if version != VERSION || header[12..] != [0; 4] {
        return Err(FileError::Version(version));
    }
    let mut scene = None;
    for number in 0.. {
        let at = (file.len() - rest.len()) as u64;
        let wrong = |reason: String| FileError::Chunk { at, number, reason };
        let tag = chunk(&mut rest, number, at, end)?;
        let (tag, bytes) = tag;
        match (&tag, &mut scene) {
            (b"HEAD", scene @ None) => *scene = Some(head(&bytes).map_err(wrong)?),
            (b"PAGE", Some(scene)) => pages(&bytes, scene).map_err(wrong)?,
            (b"EVNT", Some(scene)) => events(&bytes, scene).map_err(wrong)?,
            (b"END ", Some(_)) => {
                let chunks: u64 = decode(&bytes).map_err(wrong)?;
                if chunks != number || !rest.is_empty() {
                    return Err(wrong(
                        "the file goes on behind its end, or lacks chunks".to_owned(),
                    ));
                }
                break;
            }
            _ => {
                return Err(wrong(format!(
                    "{} is not expected here",
                    String::from_utf8_lossy(&tag).trim_end()
                )));
            }
        }
    }
    // Nothing else leaves the loop.
    let scene = scene.ok_or(FileError::Magic)?;
    check(&scene).map_err(|reason| FileError::Chunk {
        at: end,
        number: 0,
        reason,
    })?;
    Ok(scene)
}

/// The next chunk's tag and content.
fn chunk(rest: &mut &[u8], number: u64, at: u64, end: u64) -> Result<([u8; 4], Vec<u8>), FileError> {
    let wrong = |reason: &str| FileError::Chunk {
        at,
        number,
        reason: reason.to_owned(),
    };
    let mut take = |size: u64| {
        let size = usize::try_from(size).ok();
        let (taken, left) = size
            .and_then(|size| rest.split_at_checked(size))
            .ok_or(FileError::Ends { end, at })?;
        *rest = left;
        Ok(taken)
    };
    let header = take(CHUNK_HEADER as u64)?;
    let sum = take(CHECKSUM as u64)?;
    let word = |offset: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&header[offset..offset + 8]);
        u64::from_le_bytes(bytes)
    };
    let (stored, size) = (take(word(8))?, word(16));
    if checksum(number, header, stored) != sum {
        return Err(wrong("its checksum is wrong: the file is damaged, copy it again"));
    }
    if size > LARGEST_CHUNK {
        return Err(wrong("it is larger than any chunk may be"));
    }
    let bytes = match word(0) >> 32 {
        0 => stored.to_vec(),
        1 => {
            let mut bytes = Vec::new();
            ZlibDecoder::new(stored)
                .take(size + 1)
                .read_to_end(&mut bytes)
                .map_err(|_| wrong("it can't be decompressed"))?;
            bytes
        }
        _ => return Err(wrong("its codec is not known (0 stored, 1 zlib)")),
    };
    if bytes.len() as u64 != size {
        return Err(wrong("it has another size than it says"));
    }
    Ok(([header[0], header[1], header[2], header[3]], bytes))
}

fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(|error| error.to_string())?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(format!("{} bytes are left over", rest.len()))
    }
}

fn head(bytes: &[u8]) -> Result<Scene, String> {
    let head: Head = decode(bytes)?;
    Ok(Scene {
        address_mask: head.address_mask,
        chip: head.chip,
        ngg: head.ngg,
        meta: head.meta,
        pages: Vec::new(),
        events: Vec::new(),
    })
}

fn pages(bytes: &[u8], scene: &mut Scene) -> Result<(), String> {
    let (pages, rest) = bytes.as_chunks::<PAGE>();
    if !rest.is_empty() {
        return Err(format!("{} bytes are no whole page", rest.len()));
    }
    scene.pages.extend(pages.iter().map(|page| Page::from(*page)));
    Ok(())
}

fn events(mut bytes: &[u8], scene: &mut Scene) -> Result<(), String> {
    while !bytes.is_empty() {
        let (event, rest) = postcard::take_from_bytes(bytes)
            .map_err(|error| format!("event {}: {error}", scene.events.len()))?;
        scene.events.push(event);
        bytes = rest;
    }
    Ok(())
}

/// What no sum finds: a script that speaks of what is not there.
fn check(scene: &Scene) -> Result<(), String> {
    for (at, event) in scene.events.iter().enumerate() {
        let wrong = |reason: String| Err(format!("event {at}: {reason}"));
        match event {
            Event::Region { range, pool } => {
                let whole = |value: u64| value.is_multiple_of(PAGE as u64);
                let fits = range.end().0 <= 1 << 47 && pool.is_none_or(|pool| pool <= 1 << 47);
                if range.is_empty()
                    || !whole(range.start().0)
                    || !whole(range.size())
                    || !pool.is_none_or(whole)
                    || !fits
                {
                    return wrong(format!("region {range} is not made of pages below 2^47"));
                }
            }
            Event::Pages { address, pages } => {
                let size = (pages.len() * PAGE) as u64;
                if GuestRange::new(*address, size).size() != size {
                    return wrong(format!(
                        "{} pages at {address} go beyond all addresses",
                        pages.len()
                    ));
                }
                if let Some(page) = pages.iter().find(|page| **page as usize >= scene.pages.len()) {
                    return wrong(format!("page {page} does not exist ({} do)", scene.pages.len()));
                }
            }
            Event::Queue(state) if state.components().is_none() => {
                return wrong(format!(
                    "the {} queue has another number of registers",
                    state.queue
                ));
            }
            Event::ExpectImage(image) => {
                let texels = u64::from(image.width) * u64::from(image.height);
                if texels.checked_mul(u64::from(image.texel)) != Some(image.bytes.len() as u64) {
                    return wrong(format!(
                        "{} bytes for {}x{} texels of {} bytes",
                        image.bytes.len(),
                        image.width,
                        image.height,
                        image.texel
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use relic_core::GuestAddress;

    use super::super::{SceneBuilder, packet, pm4cap};
    use super::*;

    const TRIANGLE: &[u8] = include_bytes!("../../../tests/scenes/small_triangle.pm4cap");

    fn scenes() -> Vec<Scene> {
        let mut built = SceneBuilder::new()
            .submit(0, &[packet(0x10, &[1, 2, 3])])
            .expect("x", super::super::DATA, &[0])
            .build();
        built.pages = vec![Box::new([7; PAGE]), Box::new([9; PAGE])];
        built.events.push(Event::Pages {
            address: GuestAddress(super::super::DATA),
            pages: vec![1, 0, 1],
        });
        built.meta.push(("scene".to_owned(), "built".to_owned()));
        vec![built, pm4cap::parse(TRIANGLE).unwrap()]
    }

    #[test]
    fn a_scene_reads_back_as_it_was() {
        for scene in scenes() {
            assert_eq!(parse(&write(&scene, Vec::new()).unwrap()).unwrap(), scene);
        }
    }

    #[test]
    fn equal_pages_are_kept_once() {
        let mut writer = SceneWriter::new(Vec::new(), 1010, true, 0, &[]).unwrap();
        let numbers = [1, 2, 1, 3, 2].map(|byte| writer.page(&[byte; PAGE]).unwrap());
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        let scene = parse(&writer.finish().unwrap()).unwrap();
        assert_eq!(
            scene.pages.iter().map(|page| page[0]).collect::<Vec<_>>(),
            [1, 2, 3]
        );
    }

    #[test]
    fn a_file_cut_or_changed_anywhere_is_refused() {
        for scene in scenes() {
            let file = write(&scene, Vec::new()).unwrap();
            for at in 0..file.len() {
                assert!(parse(&file[..at]).is_err(), "cut at {at}");
                for flip in [0x01, 0x80, 0xFF] {
                    let mut bytes = file.clone();
                    bytes[at] ^= flip;
                    assert!(parse(&bytes).is_err(), "byte {at} ^ {flip:#x}");
                }
            }
            let mut longer = file;
            longer.push(0);
            assert!(parse(&longer).is_err());
        }
    }

    #[test]
    fn whole_chunks_can_t_be_left_out_or_change_places() {
        let mut writer = SceneWriter::new(Vec::new(), 1010, true, 0, &[]).unwrap();
        writer.event(&Event::Frame(1)).unwrap();
        writer.flush_events().unwrap();
        let first = writer.to.len();
        writer.event(&Event::Frame(2)).unwrap();
        writer.flush_events().unwrap();
        let second = writer.to.len();
        let file = writer.finish().unwrap();
        assert!(parse(&file).is_ok());
        let without = [&file[..first], &file[second..]].concat();
        let error = parse(&without).unwrap_err().to_string();
        assert!(error.contains("checksum"), "{error}");
    }

    #[test]
    fn a_script_that_speaks_of_what_is_not_there_is_refused() {
        let region = |start, size| Event::Region {
            range: GuestRange::new(GuestAddress(start), size),
            pool: None,
        };
        for (event, word) in [
            (region(1, 4096), "pages"),
            (region(1 << 47, 4096), "2^47"),
            (
                Event::Pages {
                    address: GuestAddress(0),
                    pages: vec![0],
                },
                "page 0 does not exist",
            ),
        ] {
            let mut writer = SceneWriter::new(Vec::new(), 1010, true, 0, &[]).unwrap();
            writer.event(&Event::Frame(1)).unwrap();
            writer.event(&event).unwrap();
            let error = parse(&writer.finish().unwrap()).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("event 1"), "{error}");
        }
    }
}
