//! Tells the crate what its sources are, so that nobody takes an older recompiler's results for its own.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// FNV-1a.
fn hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut found = Vec::new();
    // What it knows of formats and descriptors lies in the core; what writes its SPIR-V is a library of a locked version.
    for folder in ["src", "../core/src/gpu"] {
        sources(Path::new(folder), &mut found)?;
        println!("cargo::rerun-if-changed={folder}");
    }
    found.push(PathBuf::from("../Cargo.lock"));
    println!("cargo::rerun-if-changed=../Cargo.lock");
    println!("cargo::rerun-if-changed=build.rs");
    found.sort();
    let mut sum = hash(0xcbf2_9ce4_8422_2325, env!("CARGO_PKG_VERSION").as_bytes());
    for path in found {
        sum = hash(sum, path.as_os_str().as_encoded_bytes());
        sum = hash(sum, &fs::read(&path)?);
    }
    println!("cargo::rustc-env=RELIC_RECOMPILER={sum:016x}");
    Ok(())
}
