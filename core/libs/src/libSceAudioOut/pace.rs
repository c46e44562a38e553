//! How long a push waits.

use std::time::{Duration, Instant};

/// A device that plays one grain while the next one waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// How long a grain lasts.
    pub(super) period: Duration,
    /// When what was pushed has been played.
    silent_from: Option<Instant>,
}

impl Pace {
    pub(super) fn new(samples: u32, rate: u32) -> Self {
        Self {
            period: Duration::from_secs(u64::from(samples)) / rate,
            silent_from: None,
        }
    }

    /// Pushes a grain. Returns when the caller goes on: when there is room, which is when the grain before this one begins.
    pub(super) fn push(&mut self, now: Instant) -> Instant {
        let begins = self.silent_from.map_or(now, |silent| silent.max(now));
        self.silent_from = Some(begins + self.period);
        begins
    }

    /// When all that was pushed has been played.
    pub(super) fn drained(&self, now: Instant) -> Instant {
        self.silent_from.map_or(now, |silent| silent.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grains_follow_each_other_without_drifting() {
        let mut pace = Pace::new(256, 48_000);
        assert_eq!(pace.period, Duration::from_nanos(5_333_333));
        let start = Instant::now();
        // The first at once; each further when the one before has been played, however little late one comes.
        assert_eq!(pace.push(start), start);
        let mut now = start;
        for i in 1..100 {
            now = pace.push(now + Duration::from_micros(700));
            assert_eq!(now, start + pace.period * i);
        }
        assert_eq!(pace.drained(now), start + pace.period * 100);
        // After a gap it begins anew.
        let late = now + Duration::from_secs(1);
        assert_eq!(pace.push(late), late);
        assert_eq!(pace.drained(late), late + pace.period);
        assert_eq!(
            pace.drained(late + Duration::from_secs(1)),
            late + Duration::from_secs(1)
        );
    }
}
