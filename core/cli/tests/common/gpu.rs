//! Whether anything can be drawn with.

use super::common::{relic, run};

/// Whether there is a GPU; says that the test is skipped where there is none.
pub fn has_gpu() -> bool {
    let found = run(relic().arg("gpu")).0 == Some(0);
    if !found {
        eprintln!("SKIPPED: no GPU, and no lavapipe");
    }
    found
}
