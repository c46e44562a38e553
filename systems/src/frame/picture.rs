//! Pictures: PNG files of what is presented, written on a thread of their own.

use std::{
    io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread::{self, JoinHandle},
};

use bevy_ecs::prelude::*;

/// Rows of RGBA bytes, top row first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Four bytes a pixel.
    pub rgba: Vec<u8>,
}

impl Picture {
    /// Puts bytes in B, G, R, A order into R, G, B, A order.
    pub fn swap_red_and_blue(&mut self) {
        for pixel in self.rgba.as_chunks_mut::<4>().0 {
            pixel.swap(0, 2);
        }
    }
}

/// A picture that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("can't write the picture {path}: {source}")]
pub struct PictureError {
    path: PathBuf,
    source: io::Error,
}

/// A picture as the bytes of a PNG file.
///
/// # Errors
/// When the picture's bytes do not fit its size.
pub fn encode_png(picture: &Picture) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, picture.width, picture.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(io::Error::other)?;
    writer.write_image_data(&picture.rgba).map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)?;
    Ok(bytes)
}

/// Writes a PNG file, by way of a temporary name, so that no half picture is left.
///
/// # Errors
/// [`PictureError`] with the path.
pub fn write_png(path: &Path, picture: &Picture) -> Result<(), PictureError> {
    encode_png(picture)
        .and_then(|bytes| relic_core::file::replace(path, &bytes))
        .map_err(|source| PictureError {
            path: path.to_owned(),
            source,
        })
}

/// The thread that writes pictures.
#[derive(Resource)]
pub struct PictureWriter {
    jobs: Option<mpsc::Sender<(PathBuf, Picture)>>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl PictureWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn start() -> io::Result<Self> {
        let (jobs, waiting) = mpsc::channel::<(PathBuf, Picture)>();
        let thread = thread::Builder::new()
            .name("relic-pictures".to_owned())
            .spawn(move || {
                relic_core::trace::name_thread("pictures");
                let mut errors = Vec::new();
                for (path, picture) in waiting {
                    if let Err(error) = write_png(&path, &picture) {
                        tracing::error!("{error}");
                        errors.push(error.to_string());
                    }
                }
                errors
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Has a picture written.
    pub fn write(&self, path: PathBuf, picture: Picture) {
        if let Some(jobs) = &self.jobs {
            // The thread lives until `finish`.
            let _ = jobs.send((path, picture));
        }
    }

    /// Waits until everything is written. Returns what failed.
    pub fn finish(&mut self) -> Vec<String> {
        self.jobs = None;
        self.thread
            .take()
            .map_or_else(Vec::new, |thread| thread.join().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_written_picture_reads_back_and_a_bad_path_says_which() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let picture = Picture {
            width: 2,
            height: 1,
            rgba: vec![1, 2, 3, 255, 4, 5, 6, 255],
        };
        write_png(&path, &picture).unwrap();
        let mut reader = png::Decoder::new(io::BufReader::new(File::open(&path).unwrap()))
            .read_info()
            .unwrap();
        let mut bytes = vec![0; 8];
        reader.next_frame(&mut bytes).unwrap();
        assert_eq!(bytes, picture.rgba);
        let bad = folder.path().join("missing/b.png");
        assert!(
            write_png(&bad, &picture)
                .unwrap_err()
                .to_string()
                .contains("missing/b.png")
        );
    }
}
