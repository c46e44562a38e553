//! CPU time of Relic's own threads: the calling one, which is the pump's, and the task pool's. Threads of the driver do
//! not count.

use std::{fs, path::PathBuf, time::Duration};

/// Name that the task pool's threads begin with.
const POOL: &str = "relic-compute";

/// See the module's text.
#[derive(Debug)]
pub struct CpuClock {
    threads: Vec<PathBuf>,
}

impl CpuClock {
    /// A clock over the threads that there are now. `None` where the system does not tell threads' times.
    #[must_use]
    pub fn new() -> Option<Self> {
        let own = fs::read_link("/proc/thread-self").ok()?;
        let own = PathBuf::from("/proc").join(own);
        let mut threads = vec![own.join("schedstat")];
        for entry in fs::read_dir("/proc/self/task").ok()?.flatten() {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            if name.starts_with(POOL) {
                threads.push(entry.path().join("schedstat"));
            }
        }
        threads[0].is_file().then_some(Self { threads })
    }

    /// Time that the threads have run so far, all together.
    #[must_use]
    pub fn now(&self) -> Duration {
        let of = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap_or_default();
            text.split(' ')
                .next()
                .and_then(|word| word.parse().ok())
                .unwrap_or(0)
        };
        Duration::from_nanos(self.threads.iter().map(of).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn work_counts_and_sleep_does_not() {
        let mut clock = CpuClock::new().unwrap();
        // Other tests may use the pool.
        clock.threads.truncate(1);
        let start = clock.now();
        std::thread::sleep(Duration::from_millis(30));
        let slept = clock.now() - start;
        let mut sum = 0u64;
        let began = Instant::now();
        while clock.now() - start < slept + Duration::from_millis(5) {
            assert!(began.elapsed() < Duration::from_secs(20), "work does not count");
            sum = std::hint::black_box(sum + 1);
        }
        assert!(slept < Duration::from_millis(20), "{slept:?}");
    }
}
