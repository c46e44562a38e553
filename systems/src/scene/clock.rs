//! CPU time of Relic's own threads: the calling one, which is the pump's, and the task pool's. Threads of the driver do
//! not count.

use std::{fs, time::Duration};

/// Name that the task pool's threads begin with.
const POOL: &str = "relic-compute";

/// See the module's text.
#[derive(Debug)]
pub struct CpuClock {
    threads: Vec<libc::clockid_t>,
}

/// The clock that counts a thread's CPU time, as the kernel numbers them (`include/linux/posix-timers.h`): the thread's id
/// inverted, above one bit for "of a thread" and two for "as scheduled".
const fn clock_of(thread: i32) -> libc::clockid_t {
    !thread << 3 | 0b110
}

fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes one timespec, which is there.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (done == 0).then(|| Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32))
}

impl CpuClock {
    /// A clock over the threads that there are now. `None` where the system does not tell threads' times.
    #[must_use]
    pub fn new() -> Option<Self> {
        let own = fs::read_link("/proc/thread-self").ok()?;
        let thread = |name: &std::ffi::OsStr| name.to_str()?.parse().ok().map(clock_of);
        let mut threads = vec![thread(own.file_name()?)?];
        for entry in fs::read_dir("/proc/self/task").ok()?.flatten() {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            if name.starts_with(POOL) {
                threads.extend(thread(&entry.file_name()));
            }
        }
        read(threads[0]).map(|_| Self { threads })
    }

    /// Time that the threads have run so far, all together.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.threads.iter().filter_map(|thread| read(*thread)).sum()
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

    /// Work shorter than a scheduler's tick counts too.
    #[test]
    fn short_work_counts() {
        let mut clock = CpuClock::new().unwrap();
        clock.threads.truncate(1);
        let mut last = clock.now();
        for _ in 0..20 {
            let mut sum = 0u64;
            for _ in 0..100_000 {
                sum = std::hint::black_box(sum + 1);
            }
            let now = clock.now();
            assert!(now > last);
            last = now;
        }
    }
}
