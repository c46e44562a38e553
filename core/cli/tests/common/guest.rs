//! Guest programs, relinked and run.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test itself"
)]

use std::{fs, path::PathBuf, process::Command};

use relic_tests::{kit::Kit, runtime_library};
use tempfile::TempDir;

use super::common::relic;

/// A guest program, relinking and running it: everything in one folder that goes away.
pub struct Guest {
    folder: TempDir,
    pub runtime: PathBuf,
}

impl Guest {
    /// Builds a guest of tests/guests, or from a source text. `None` where there is no toolchain, which is said.
    pub fn build(guest: &str, source: Option<&str>) -> Option<Self> {
        let kit = match Kit::new() {
            Ok(kit) => kit,
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let sources = match source {
            None => kit.guest(guest),
            Some(text) => {
                let sources = folder.path().join("source");
                fs::create_dir(&sources).unwrap();
                fs::write(sources.join("main.c"), text).unwrap();
                sources
            }
        };
        kit.build_guest(&sources, &folder.path().join("title")).unwrap();
        Some(Self {
            folder,
            runtime: runtime_library().unwrap(),
        })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn eboot(&self) -> PathBuf {
        self.path("title/eboot.bin")
    }

    pub fn relic(&self) -> Command {
        let mut command = relic();
        command
            .env("RELIC_RUNTIME_LIBRARY", &self.runtime)
            .env("RELIC_CACHE", self.path("cache"));
        command
    }
}
