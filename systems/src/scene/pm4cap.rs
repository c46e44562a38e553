//! Reads `.pm4cap` files, version 1: a script of memory, submissions and expected results.
//!
//! A file is a 64-byte header and chunks: tag, codec, stored size, size, data, each at a multiple of 8. Files carry
//! no checksums; whatever the bytes, reading ends with a scene or with an error that says where and what.

use std::{fmt, io::Read as _};

use flate2::read::ZlibDecoder;
use relic_core::{GuestAddress, GuestRange, QueueId};

use super::{
    compare::Rule,
    script::{Event, ExpectedImage, Scene, SceneImage, SceneSubmission},
};

/// Why a file is no scene.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SceneError {
    /// It does not begin like one.
    #[error("this is no .pm4cap scene: it does not begin with PM4CAP01")]
    Magic,
    /// It is of another version.
    #[error("the scene has version {0}, and version 1 can be read")]
    Version(u32),
    /// It ends too early.
    #[error("the file ends at byte {end} inside {what} at byte {at}: it is cut short, fetch it again")]
    Ends {
        /// Its length.
        end: u64,
        /// What was being read.
        what: String,
        /// Where that begins.
        at: u64,
    },
    /// A chunk's content is wrong.
    #[error("chunk {tag} at byte {at}: {reason}")]
    Chunk {
        /// Its tag.
        tag: String,
        /// Where it begins.
        at: u64,
        /// What is wrong.
        reason: String,
    },
    /// There is no END chunk.
    #[error("the file has no END chunk: it is cut short, fetch it again")]
    NoEnd,
}

/// Largest chunk after decompression: guards against sizes that no file has.
const LARGEST_CHUNK: u64 = 1 << 30;

/// Parses a file.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(file: &[u8]) -> Result<Scene, SceneError> {
    if file.get(..8) != Some(b"PM4CAP01") {
        return Err(SceneError::Magic);
    }
    let header = Fields {
        bytes: file,
        what: "header",
        at: 0,
        end: file.len() as u64,
    };
    let version = header.u32(8)?;
    if version != 1 {
        return Err(SceneError::Version(version));
    }
    let mut at = u64::from(header.u32(12)?);
    let flags = header.u32(28)?;
    let mut scene = Scene {
        address_mask: header.u64(16)?,
        chip: header.u32(24)?,
        ngg: flags & 1 != 0,
        meta: Vec::new(),
        pages: Vec::new(),
        events: Vec::new(),
    };
    header.u64(56)?;
    loop {
        if at >= file.len() as u64 {
            return Err(SceneError::NoEnd);
        }
        let chunk = Chunk::read(file, at)?;
        if &chunk.tag == b"END " {
            return Ok(scene);
        }
        chunk.parse(&mut scene)?;
        at = chunk.next;
    }
}

/// Little-endian fields of a byte run, bounds-checked.
struct Fields<'a> {
    bytes: &'a [u8],
    what: &'a str,
    at: u64,
    end: u64,
}

impl<'a> Fields<'a> {
    fn take(&self, offset: u64, size: u64) -> Result<&'a [u8], SceneError> {
        let range = usize::try_from(offset)
            .ok()
            .zip(offset.checked_add(size).and_then(|end| usize::try_from(end).ok()));
        range
            .and_then(|(start, end)| self.bytes.get(start..end))
            .ok_or_else(|| SceneError::Ends {
                end: self.end,
                what: self.what.to_owned(),
                at: self.at,
            })
    }

    fn u32(&self, offset: u64) -> Result<u32, SceneError> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(offset, 4)?);
        Ok(u32::from_le_bytes(bytes))
    }

    fn u64(&self, offset: u64) -> Result<u64, SceneError> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(offset, 8)?);
        Ok(u64::from_le_bytes(bytes))
    }
}

struct Chunk {
    tag: [u8; 4],
    at: u64,
    data: Vec<u8>,
    next: u64,
}

impl fmt::Display for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(String::from_utf8_lossy(&self.tag).trim_end())
    }
}

impl Chunk {
    fn read(file: &[u8], at: u64) -> Result<Self, SceneError> {
        let outer = Fields {
            bytes: file,
            what: "a chunk",
            at,
            end: file.len() as u64,
        };
        let mut tag = [0; 4];
        tag.copy_from_slice(outer.take(at, 4)?);
        let codec = outer.u32(at + 4)?;
        let stored = outer.u64(at + 8)?;
        let size = outer.u64(at + 16)?;
        let raw = outer.take(at + 24, stored)?;
        let next = (at + 24 + stored).next_multiple_of(8);
        let chunk = Self {
            tag,
            at,
            data: Vec::new(),
            next,
        };
        let wrong = |reason: String| SceneError::Chunk {
            tag: chunk.to_string(),
            at,
            reason,
        };
        if size > LARGEST_CHUNK {
            return Err(wrong(format!(
                "it claims {size} bytes, and {LARGEST_CHUNK} is the most"
            )));
        }
        let data = match codec {
            0 if stored == size => raw.to_vec(),
            0 => {
                return Err(wrong(format!(
                    "{stored} bytes stored and {size} claimed, though it is not compressed"
                )));
            }
            1 => {
                let mut data = Vec::new();
                let mut reader = ZlibDecoder::new(raw).take(size + 1);
                reader
                    .read_to_end(&mut data)
                    .map_err(|error| wrong(format!("it can't be decompressed: {error}")))?;
                if data.len() as u64 != size {
                    return Err(wrong(format!(
                        "it decompresses to {} bytes or more, not {size}",
                        data.len()
                    )));
                }
                data
            }
            other => return Err(wrong(format!("codec {other} is not known (0 stored, 1 zlib)"))),
        };
        Ok(Self { data, ..chunk })
    }

    fn wrong(&self, reason: impl Into<String>) -> SceneError {
        SceneError::Chunk {
            tag: self.to_string(),
            at: self.at,
            reason: reason.into(),
        }
    }

    fn fields<'a>(&'a self, what: &'a str) -> Fields<'a> {
        Fields {
            bytes: &self.data,
            what,
            at: self.at,
            end: self.data.len() as u64,
        }
    }

    fn name(&self, fields: &Fields<'_>, offset: u64, length: u32) -> Result<String, SceneError> {
        String::from_utf8(fields.take(offset, u64::from(length))?.to_vec())
            .map_err(|_| self.wrong("its name is not UTF-8"))
    }

    fn parse(&self, scene: &mut Scene) -> Result<(), SceneError> {
        match &self.tag {
            b"META" => self.meta(scene),
            b"REGN" => self.regions(scene),
            b"MEMW" => self.writes(scene),
            b"SUBM" => self.submission(scene),
            b"FRAM" => {
                scene.events.push(Event::Frame(self.fields("a frame").u32(0)?));
                Ok(())
            }
            b"IMAG" => self.image(scene),
            b"XBUF" => self.expected_buffer(scene),
            b"XIMG" => self.expected_image(scene),
            // CODE is informative, and unknown tags are to be skipped.
            _ => Ok(()),
        }
    }

    fn meta(&self, scene: &mut Scene) -> Result<(), SceneError> {
        let text = std::str::from_utf8(&self.data).map_err(|_| self.wrong("it is not UTF-8"))?;
        scene.meta.extend(
            text.lines()
                .filter_map(|line| line.split_once('='))
                .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        Ok(())
    }

    fn regions(&self, scene: &mut Scene) -> Result<(), SceneError> {
        let fields = self.fields("a region");
        for i in 0..self.data.len() as u64 / 32 {
            let (address, size) = (fields.u64(32 * i)?, fields.u64(32 * i + 8)?);
            if size == 0 || !size.is_multiple_of(4096) || !address.is_multiple_of(4096) {
                return Err(self.wrong(format!(
                    "region {address:#x} of {size:#x} bytes is not made of 4 KiB pages"
                )));
            }
            if address.checked_add(size).is_none_or(|end| end > 1 << 47) {
                return Err(self.wrong(format!(
                    "region {address:#x} of {size:#x} bytes lies beyond 47 bits of address"
                )));
            }
            scene.events.push(Event::Region {
                range: GuestRange::new(GuestAddress(address), size),
                pool: None,
            });
        }
        if !self.data.len().is_multiple_of(32) {
            return Err(self.wrong("its size is no multiple of 32"));
        }
        Ok(())
    }

    fn writes(&self, scene: &mut Scene) -> Result<(), SceneError> {
        let fields = self.fields("a memory write");
        let mut at = 0;
        while at < self.data.len() as u64 {
            let (address, length) = (fields.u64(at)?, fields.u64(at + 8)?);
            let bytes = fields.take(at + 16, length)?.to_vec();
            scene.events.push(Event::Write {
                address: GuestAddress(address),
                bytes,
            });
            // `take` has checked the length against the chunk.
            at = (at + 16 + length).next_multiple_of(8);
        }
        Ok(())
    }

    fn submission(&self, scene: &mut Scene) -> Result<(), SceneError> {
        let fields = self.fields("a submission");
        let count = fields.u32(8)?;
        let buffers = (0..u64::from(count))
            .map(|i| Ok((GuestAddress(fields.u64(16 + 16 * i)?), fields.u32(24 + 16 * i)?)))
            .collect::<Result<Vec<_>, SceneError>>()?;
        let queue = match (fields.u32(0)?, fields.u32(4)?) {
            (0, _) => QueueId::GRAPHICS,
            (1, index) if index < 1 << 16 => QueueId::compute(0, index),
            (kind, index) => return Err(self.wrong(format!("queue {index} of kind {kind} does not exist"))),
        };
        scene
            .events
            .push(Event::Submit(SceneSubmission { queue, buffers }));
        Ok(())
    }

    fn image(&self, scene: &mut Scene) -> Result<(), SceneError> {
        let fields = self.fields("an image");
        let name = self.name(&fields, 72, fields.u32(60)?)?;
        scene.events.push(Event::Image(SceneImage {
            address: GuestAddress(fields.u64(0)?),
            format: fields.u32(16)?,
            extent: [fields.u32(20)?, fields.u32(24)?, fields.u32(28)?],
            layers: fields.u32(32)?,
            levels: fields.u32(36)?,
            mode: fields.u32(44)?,
            xor: fields.u32(48)?,
            name,
        }));
        Ok(())
    }

    fn expected_buffer(&self, scene: &mut Scene) -> Result<(), SceneError> {
        let fields = self.fields("an expected buffer");
        let size = fields.u64(8)?;
        let length = fields.u32(24)?;
        let name = self.name(&fields, 32, length)?;
        let data = (32 + u64::from(length)).next_multiple_of(8);
        scene.events.push(Event::ExpectBuffer {
            address: GuestAddress(fields.u64(0)?),
            name,
            rule: self.rule(fields.u32(16)?, fields.u32(20)?, fields.u32(28)?)?,
            bytes: fields.take(data, size)?.to_vec(),
        });
        Ok(())
    }

    fn expected_image(&self, scene: &mut Scene) -> Result<(), SceneError> {
        let fields = self.fields("an expected image");
        let length = fields.u32(40)?;
        let name = self.name(&fields, 56, length)?;
        let data = (56 + u64::from(length)).next_multiple_of(8);
        let (width, height, texel) = (fields.u32(12)?, fields.u32(16)?, fields.u32(44)?);
        let size = fields.u64(48)?;
        if u64::from(width)
            .checked_mul(u64::from(height))
            .and_then(|n| n.checked_mul(u64::from(texel)))
            != Some(size)
        {
            return Err(self.wrong(format!(
                "{size} bytes for {width}x{height} texels of {texel} bytes"
            )));
        }
        scene.events.push(Event::ExpectImage(ExpectedImage {
            address: GuestAddress(fields.u64(0)?),
            format: fields.u32(8)?,
            width,
            height,
            layer: fields.u32(20)?,
            texel,
            name,
            rule: self.rule(fields.u32(28)?, fields.u32(32)?, fields.u32(36)?)?,
            bytes: fields.take(data, size)?.to_vec(),
        }));
        Ok(())
    }

    fn rule(&self, mode: u32, tolerance: u32, permille: u32) -> Result<Rule, SceneError> {
        Rule::new(mode, f32::from_bits(tolerance), permille)
            .ok_or_else(|| self.wrong(format!("compare mode {mode} does not exist (0 to 3 do)")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIANGLE: &[u8] = include_bytes!("../../../tests/scenes/small_triangle.pm4cap");

    #[test]
    fn the_small_triangle_is_what_its_description_says() {
        let scene = parse(TRIANGLE).unwrap();
        assert_eq!(
            (scene.chip, scene.ngg, scene.address_mask),
            (1010, true, 0xFFFF_FFFF_FFFF)
        );
        assert_eq!(scene.meta("scene"), Some("small_triangle"));
        let submission = scene.events.iter().find_map(|event| match event {
            Event::Submit(submission) => Some(submission),
            _ => None,
        });
        assert_eq!(
            submission
                .unwrap()
                .buffers
                .iter()
                .map(|(_, words)| *words)
                .collect::<Vec<_>>(),
            [14, 301]
        );
        let image = scene.events.iter().find_map(|event| match event {
            Event::ExpectImage(image) => Some(image),
            _ => None,
        });
        let image = image.unwrap();
        assert_eq!(
            (image.width, image.height, image.texel, image.format),
            (64, 64, 4, 37)
        );
        assert_eq!(image.rule, Rule::Exact { permille: 0 });
    }

    #[test]
    fn a_file_cut_anywhere_is_refused() {
        for end in 0..TRIANGLE.len() {
            let error = parse(&TRIANGLE[..end]).unwrap_err().to_string();
            assert!(!error.is_empty());
        }
    }

    /// There are no checksums, so a changed byte may go unnoticed; it must never panic or run away.
    #[test]
    fn no_byte_whatever_its_value_makes_the_reader_panic() {
        for at in 0..TRIANGLE.len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut bytes = TRIANGLE.to_vec();
                bytes[at] ^= flip;
                let _ = parse(&bytes);
            }
        }
    }
}
