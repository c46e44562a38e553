//! Wave files, right at any time: a program that is killed leaves one that plays.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use super::format::Format;

const HEADER: u64 = 44;

/// A wave file that grows.
#[derive(Debug)]
pub(super) struct Wave {
    file: File,
    bytes: u64,
}

/// The path for the `number`th port, counted from 0: the first has the name itself, the second `name.2.wav`.
pub(super) fn path_of(path: &Path, number: usize) -> PathBuf {
    if number == 0 {
        path.to_owned()
    } else {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        path.with_file_name(format!("{stem}.{}.wav", number + 1))
    }
}

fn header(format: Format, rate: u32, bytes: u32) -> [u8; HEADER as usize] {
    let frame = format.frame_bytes() as u32;
    let mut header = [0; HEADER as usize];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"RIFF");
    put(4, &(bytes + 36).to_le_bytes());
    put(8, b"WAVEfmt ");
    put(16, &16_u32.to_le_bytes());
    // Integers or floats.
    put(20, &(if format.is_float { 3_u16 } else { 1 }).to_le_bytes());
    put(22, &u16::from(format.channels).to_le_bytes());
    put(24, &rate.to_le_bytes());
    put(28, &(rate * frame).to_le_bytes());
    put(32, &(frame as u16).to_le_bytes());
    put(34, &(format.sample_bytes() as u16 * 8).to_le_bytes());
    put(36, b"data");
    put(40, &bytes.to_le_bytes());
    header
}

impl Wave {
    pub(super) fn create(path: &Path, format: Format, rate: u32) -> io::Result<Self> {
        let file = File::create(path)?;
        file.write_all_at(&header(format, rate, 0), 0)?;
        Ok(Self { file, bytes: 0 })
    }

    /// Appends samples; an error where the file has no room in its 32-bit length.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sum = u32::try_from(self.bytes + bytes.len() as u64 + 36)
            .map_err(|_| io::Error::other("a wave file holds no more than 4 GiB"))?;
        self.file.write_all_at(bytes, HEADER + self.bytes)?;
        self.file.write_all_at(&sum.to_le_bytes(), 4)?;
        self.file.write_all_at(&(sum - 36).to_le_bytes(), 40)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_says_what_it_holds_after_every_grain() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.wav");
        let mut wave = Wave::create(&path, Format::new(4).unwrap(), 48_000).unwrap();
        wave.append(&[1; 16]).unwrap();
        wave.append(&[2; 8]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 44 + 24);
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((number(4), number(40)), (60, 24));
        // Floats, two channels; bytes a second; 8 bytes a frame, 32 bits a sample.
        assert_eq!(
            (number(20), number(24), number(28), number(32)),
            (0x2_0003, 48_000, 384_000, 0x20_0008)
        );
        assert_eq!(path_of(&path, 0), path);
        assert_eq!(path_of(&path, 1), folder.path().join("out.2.wav"));
    }
}
