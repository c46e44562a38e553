//! The triangle: a PS5-format program draws 60 frames with RDNA shaders, and every one is as computed here.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{ffi::OsStr, fs::File, io::BufReader, path::Path};

use relic_relink::{RelinkOptions, relink};
use relic_tests::{kit::Kit, programs::run_with, runtime_library};

const SIZE: u32 = 256;
const FRAMES: u32 = 60;

/// RGBA rows of a PNG file.
fn read_png(path: &Path) -> (u32, u32, Vec<u8>) {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width, info.height, bytes)
}

/// A channel as the target stores it: half-float export, then 8 bits. One step of rounding either way is the
/// rasteriser's own.
fn near(stored: u8, value: f32) -> bool {
    (f32::from(stored) - value * 255.0).abs() <= 1.0
}

/// What pixel (x, y) of a frame must be; `None` on the slanted edge itself, where either side may own the pixel.
fn expected(frame: u32, x: u32, y: u32) -> Option<[f32; 4]> {
    // Clip space has y up; pixel centres lie at halves. The triangle: (-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5).
    let right = (x as f32 + 0.5) / 128.0 - 1.0;
    let up = 1.0 - (y as f32 + 0.5) / 128.0;
    let slant = (right + 0.5) + (up + 0.5) - 1.0;
    if slant.abs() < 1e-4 {
        return None;
    }
    let inside = right > -0.5 && up > -0.5 && slant < 0.0;
    let moved = frame as f32 / FRAMES as f32;
    Some(if inside {
        [moved, 1.0 - moved, 0.5, 1.0]
    } else {
        [0.1, 0.2, 0.3, 1.0]
    })
}

#[test]
fn sixty_frames_are_drawn_and_flipped() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let input = kit.build_guest(&kit.guest("triangle"), folder.path()).unwrap();
    let program = folder.path().join("program/triangle");
    let runtime_library = Some(runtime_library().unwrap());
    relink(&RelinkOptions {
        input,
        output: program.clone(),
        runtime_library,
        ..RelinkOptions::default()
    })
    .unwrap();
    let pictures = folder.path().join("pictures");
    std::fs::create_dir(&pictures).unwrap();
    let last = folder.path().join("last.png");
    let variables = [
        ("RELIC_VALIDATION", OsStr::new("1")),
        ("RELIC_PICTURES", pictures.as_os_str()),
        ("RELIC_SCREENSHOT", last.as_os_str()),
    ];
    let outcome = run_with(&program, &[], &variables, &mut |_| ()).unwrap();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.stdout.contains("flips 60, last 59, pending 0"),
        "{outcome:?}"
    );

    for frame in 0..FRAMES {
        let (width, height, pixels) = read_png(&pictures.join(format!("frame{:05}.png", frame + 1)));
        assert_eq!((width, height), (SIZE, SIZE), "frame {frame}");
        let mut inside = 0;
        for y in 0..SIZE {
            for x in 0..SIZE {
                let Some(colour) = expected(frame, x, y) else {
                    continue;
                };
                let at = 4 * (y * SIZE + x) as usize;
                let got = &pixels[at..at + 4];
                let same = got.iter().zip(colour).all(|(stored, value)| near(*stored, value));
                assert!(same, "frame {frame}, pixel {x},{y}: {got:?}, expected {colour:?}");
                inside += u32::from(colour[2] == 0.5);
            }
        }
        assert_eq!(inside, 128 * 127 / 2, "frame {frame}");
    }
    assert_eq!(read_png(&last), read_png(&pictures.join("frame00060.png")));
}

#[test]
fn a_frame_limit_ends_the_program_with_success() {
    let kit = Kit::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let input = kit.build_guest(&kit.guest("triangle"), folder.path()).unwrap();
    let program = folder.path().join("program/triangle");
    relink(&RelinkOptions {
        input,
        output: program.clone(),
        runtime_library: Some(runtime_library().unwrap()),
        ..RelinkOptions::default()
    })
    .unwrap();
    let outcome = run_with(&program, &[], &[("RELIC_FRAMES", OsStr::new("3"))], &mut |_| ()).unwrap();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!outcome.stdout.contains("flips 60"), "{outcome:?}");
}
