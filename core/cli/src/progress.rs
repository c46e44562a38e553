//! A sign of life during long work.

use std::time::Duration;

use indicatif::ProgressBar;

/// Shows what is being done, on standard error and only where that is a terminal, until it is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// Begins.
    pub fn new(what: String) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
