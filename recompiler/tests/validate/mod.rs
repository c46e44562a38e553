//! The SPIR-V validator.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What `spirv-val` says of a module; `None` where it is not installed.
pub fn spirv_val(words: &[u32]) -> Option<Result<(), String>> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("relic-{}-{number}.spv", std::process::id()));
    std::fs::write(&path, bytes).expect("a temporary file");
    let output = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.3"])
        .arg(&path)
        .output();
    let result = match output {
        Ok(output) if output.status.success() => Some(Ok(())),
        Ok(output) => Some(Err(String::from_utf8_lossy(&output.stderr).into_owned())),
        Err(_) => None,
    };
    let _ = std::fs::remove_file(path);
    result
}
