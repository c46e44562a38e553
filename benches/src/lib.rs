//! Measuring: many short rounds of two or more things in turn, so that other load on the machine hits all alike.

pub mod driver;
pub mod scenes;

use std::time::{Duration, Instant};

/// One thing to measure.
pub struct Subject<'a> {
    /// What it is called in the table.
    pub name: &'static str,
    /// Does it once.
    pub run: Box<dyn FnMut() + 'a>,
}

/// Lower quartile of the time of one run of each subject, in the order given.
///
/// Rounds alternate between the subjects. The lower quartile is near the undisturbed time without being its luckiest.
pub fn measure(subjects: &mut [Subject<'_>], rounds: usize, runs_a_round: u32) -> Vec<Duration> {
    let mut times = vec![Vec::with_capacity(rounds); subjects.len()];
    for round in 0..rounds + 1 {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..runs_a_round {
                (subject.run)();
            }
            // The first round warms caches and is not counted.
            if round > 0 {
                times.push(start.elapsed() / runs_a_round);
            }
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort();
            times[times.len() / 4]
        })
        .collect()
}

/// The value in the middle; NaN of none.
#[must_use]
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
