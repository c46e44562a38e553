//! What a runtime is started with.

use std::path::PathBuf;

use bevy_ecs::prelude::*;

/// Settings of a runtime. [`Config::from_environment`] reads them; the command line sets the same variables for the
/// programs it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Text that the GPU's name must contain (`RELIC_GPU`).
    pub gpu: Option<String>,
    /// Load the validation layer (`RELIC_VALIDATION`).
    pub validation: bool,
    /// Threads of the task pool (`RELIC_POOL_THREADS`), one less than there are cores by default.
    pub pool_threads: Option<usize>,
    /// Run systems in a random order within what is declared (`RELIC_SHUFFLE`).
    pub shuffle: Option<u64>,
    /// Take the systems' times and print them at the end (`RELIC_TIMES`).
    pub times: bool,
    /// How resource plans are walked (`RELIC_TAPE`, `RELIC_VERIFY_TAPE`).
    pub tapes: TapeUse,
    /// How writes to guest memory are found (`RELIC_TRACK_WRITES`).
    pub writes: WriteTracking,
    /// Pictures.
    pub pictures: PictureRequest,
    /// Folder where shaders are kept between runs (`RELIC_SHADER_CACHE`).
    pub shader_cache: Option<PathBuf>,
    /// A scene that is to be written (`RELIC_CAPTURE`, `RELIC_CAPTURE_FILE`).
    pub capture: Option<CaptureRequest>,
}

/// Which frames are to be recorded, and where to.
#[derive(Resource, Clone, Debug, PartialEq, Eq)]
pub struct CaptureRequest {
    /// The first frame: the one that ends with this flip, counted from 1.
    pub first: u64,
    /// The last.
    pub last: u64,
    /// The file.
    pub path: PathBuf,
}

/// The frames that a text names: `N..M`, both recorded, or `N`. Counted from 1.
#[must_use]
pub fn frame_range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (1 <= first && first <= last).then_some((first, last))
}

/// How the runtime finds out that textures and programs have changed in guest memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteTracking {
    /// The system says who wrote, where it can.
    #[default]
    Watched,
    /// All that a batch uses is compared.
    Compared,
}

/// How resource plans are walked.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TapeUse {
    /// By tapes; the evaluator walks what they hand back.
    #[default]
    On,
    /// By the evaluator.
    Off,
    /// By both. Differences are logged and counted, and the evaluator's results are used.
    Verified,
}

/// What pictures are wanted, and how many frames.
#[derive(Resource, Clone, Debug, Default, PartialEq, Eq)]
pub struct PictureRequest {
    /// End after so many flips (`RELIC_FRAMES`).
    pub frames: Option<u64>,
    /// File for a picture of the last flip (`RELIC_SCREENSHOT`).
    pub screenshot: Option<PathBuf>,
    /// Folder for a picture of every flip (`RELIC_PICTURES`).
    pub folder: Option<PathBuf>,
}

/// A variable whose text is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value:?} is not {wanted}")]
pub struct BadVariable {
    name: &'static str,
    value: String,
    wanted: &'static str,
}

impl Config {
    /// Reads the `RELIC_*` variables.
    ///
    /// # Errors
    /// The first variable whose text is no value.
    pub fn from_environment() -> Result<Self, BadVariable> {
        Self::from_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, BadVariable> {
        let number = |name: &'static str| {
            get(name)
                .map(|value| {
                    value.trim().parse::<u64>().map_err(|_| BadVariable {
                        name,
                        value,
                        wanted: "a whole number",
                    })
                })
                .transpose()
        };
        let switch = |name: &'static str, default: bool| match get(name) {
            None => Ok(default),
            Some(value) => match value.trim().to_ascii_lowercase().as_str() {
                "" | "0" | "false" | "off" | "no" => Ok(false),
                "1" | "true" | "on" | "yes" => Ok(true),
                _ => Err(BadVariable {
                    name,
                    value,
                    wanted: "0 or 1, false or true, off or on, no or yes",
                }),
            },
        };
        let path = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Ok(Self {
            gpu: get("RELIC_GPU").filter(|value| !value.is_empty()),
            validation: switch("RELIC_VALIDATION", false)?,
            pool_threads: match number("RELIC_POOL_THREADS")? {
                None => None,
                Some(threads @ 1..=256) => Some(threads as usize),
                Some(threads) => {
                    let value = threads.to_string();
                    return Err(BadVariable {
                        name: "RELIC_POOL_THREADS",
                        value,
                        wanted: "from 1 to 256",
                    });
                }
            },
            shuffle: number("RELIC_SHUFFLE")?,
            times: switch("RELIC_TIMES", false)?,
            tapes: match (switch("RELIC_VERIFY_TAPE", false)?, switch("RELIC_TAPE", true)?) {
                (true, _) => TapeUse::Verified,
                (false, true) => TapeUse::On,
                (false, false) => TapeUse::Off,
            },
            writes: if switch("RELIC_TRACK_WRITES", true)? {
                WriteTracking::Watched
            } else {
                WriteTracking::Compared
            },
            pictures: PictureRequest {
                frames: match number("RELIC_FRAMES")? {
                    Some(0) => {
                        return Err(BadVariable {
                            name: "RELIC_FRAMES",
                            value: "0".to_owned(),
                            wanted: "1 or more",
                        });
                    }
                    frames => frames,
                },
                screenshot: path("RELIC_SCREENSHOT"),
                folder: path("RELIC_PICTURES"),
            },
            // A folder, unless it is a word that switches off.
            shader_cache: match (path("RELIC_SHADER_CACHE"), switch("RELIC_SHADER_CACHE", true)) {
                (Some(_), Ok(false)) => None,
                (Some(folder), Err(_)) => Some(folder),
                (None, _) | (_, Ok(true)) => {
                    relic_core::file::cache_folder().map(|folder| folder.join("shaders"))
                }
            },
            capture: match get("RELIC_CAPTURE").filter(|value| !value.is_empty()) {
                None => None,
                Some(value) => match frame_range(&value) {
                    Some((first, last)) => Some(CaptureRequest {
                        first,
                        last,
                        path: path("RELIC_CAPTURE_FILE").unwrap_or_else(|| PathBuf::from("capture.scene")),
                    }),
                    None => {
                        return Err(BadVariable {
                            name: "RELIC_CAPTURE",
                            value,
                            wanted: "the frames to record, as N or N..M, counted from 1",
                        });
                    }
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_booleans_and_bad_values_are_named() {
        assert_eq!(frame_range(" 7 "), Some((7, 7)));
        let read = |name: &'static str, value: &'static str| {
            Config::from_variables(move |asked| (asked == name).then(|| value.to_owned()))
        };
        for off in ["0", "false", "off", "No", ""] {
            assert!(!read("RELIC_VALIDATION", off).unwrap().validation, "{off:?}");
        }
        assert!(read("RELIC_VALIDATION", "On").unwrap().validation);
        let tapes = |name, value| read(name, value).unwrap().tapes;
        assert_eq!(tapes("RELIC_TAPE", "off"), TapeUse::Off);
        assert_eq!(tapes("RELIC_TAPE", "1"), TapeUse::On);
        assert_eq!(tapes("RELIC_VERIFY_TAPE", "1"), TapeUse::Verified);
        assert_eq!(tapes("RELIC_VERIFY_TAPE", "0"), TapeUse::On);
        assert_eq!(
            read("RELIC_TRACK_WRITES", "off").unwrap().writes,
            WriteTracking::Compared
        );
        assert_eq!(read("RELIC_FRAMES", "1").unwrap().writes, WriteTracking::Watched);
        for threads in ["0", "257", "100000"] {
            let error = read("RELIC_POOL_THREADS", threads).unwrap_err().to_string();
            assert!(
                error.contains("RELIC_POOL_THREADS") && error.contains(threads),
                "{error}"
            );
        }
        assert_eq!(read("RELIC_POOL_THREADS", "1").unwrap().pool_threads, Some(1));
        let cache = |value| read("RELIC_SHADER_CACHE", value).unwrap().shader_cache;
        assert_eq!((cache("off"), cache("No")), (None, None));
        assert_eq!(cache("on"), cache(""));
        assert_eq!(cache("/x"), Some(PathBuf::from("/x")));
        let capture = read("RELIC_CAPTURE", "3..5").unwrap().capture.unwrap();
        assert_eq!((capture.first, capture.last), (3, 5));
        for frames in ["0", "5..3", "x", "1..", "..2", "-1"] {
            let error = read("RELIC_CAPTURE", frames).unwrap_err().to_string();
            assert!(
                error.contains("RELIC_CAPTURE") && error.contains(frames),
                "{error}"
            );
        }
        let error = read("RELIC_FRAMES", "many").unwrap_err().to_string();
        assert!(
            error.contains("RELIC_FRAMES") && error.contains("many"),
            "{error}"
        );
    }
}
