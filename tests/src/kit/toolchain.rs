//! Finding clang and lld.

use std::{path::PathBuf, process::Command, process::Stdio};

use super::KitError;

/// The console's target triple.
pub const TARGET: &str = "x86_64-sie-ps5";
/// Versions that know the target, newest first.
const VERSIONS: std::ops::RangeInclusive<u32> = 15..=22;

/// A compiler and its linker.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// clang.
    pub clang: PathBuf,
    /// ld.lld of the same version.
    pub lld: PathBuf,
}

impl Toolchain {
    /// The newest pair of `clang-N` and `ld.lld-N` that knows the target, by the search path.
    pub(super) fn find() -> Result<Self, KitError> {
        let mut tried = Vec::new();
        for version in VERSIONS.rev() {
            let tools = Self {
                clang: format!("clang-{version}").into(),
                lld: format!("ld.lld-{version}").into(),
            };
            if tools.works() {
                return Ok(tools);
            }
            tried.push(tools.clang.display().to_string());
        }
        Err(KitError::NoToolchain {
            tried: tried.join(", "),
        })
    }

    fn works(&self) -> bool {
        let succeeds = |command: &mut Command| {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        };
        succeeds(Command::new(&self.clang).args(["-target", TARGET, "-fsyntax-only", "-x", "c", "-"]))
            && succeeds(Command::new(&self.lld).arg("--version"))
    }
}
