//! Measured loops: all submissions of a scene played again, as far as a stage, and what a frame of them takes.

use std::time::{Duration, Instant};

use bevy_ecs::prelude::*;
use relic_components::{
    Commands, Counters, Dispatches, Draws,
    work::{Completions, PendingLabels},
};
use relic_schedules::{Label, PumpControl, Stage};

use super::{
    clock::CpuClock,
    player::{PlayError, PlayOptions, Player},
    script::Event,
};
use crate::{
    gpu::GpuTimeline,
    settle::{BatchWrites, GpuRecording},
};

/// How far measured loops go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Until {
    /// Packets to rows.
    Decode,
    /// Resource plans to descriptor words.
    Evaluate,
    /// Vulkan commands, which are not submitted.
    Record,
    /// All: the GPU executes them.
    #[default]
    Render,
}

impl Until {
    /// The last stage in front of Settle; none where all of them run.
    const fn stage(self) -> Option<Stage> {
        match self {
            Self::Decode => Some(Stage::Decode),
            Self::Evaluate => Some(Stage::Evaluate),
            Self::Record => Some(Stage::Commit),
            Self::Render => None,
        }
    }
}

/// What one frame took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameTime {
    /// From its first submission to the end of its work.
    pub wall: Duration,
    /// CPU time of the pump and the task pool, from packets on. Waiting for the GPU costs none.
    pub cpu: Duration,
}

/// What it took to play all submissions again, warm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopTimes {
    /// How far they went.
    pub until: Until,
    /// What a loop counts.
    pub counters: Counters,
    /// CPU time, loop by loop.
    pub cpu: Vec<Duration>,
    /// Frames of all loops.
    pub frames: Vec<FrameTime>,
    /// Resident memory of the process in bytes: loops before, and how much.
    pub resident: Vec<(u32, u64)>,
    /// Vulkan commands of a loop, where it records any and the device has a tap.
    pub commands: usize,
    /// CPU time of recording these commands again and nothing else, time after time.
    pub native: Vec<Duration>,
}

/// The value that `permille` of `times` stay under; 0 of none.
#[must_use]
pub fn percentile(times: impl IntoIterator<Item = Duration>, permille: usize) -> Duration {
    let mut sorted: Vec<Duration> = times.into_iter().collect();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((sorted.len() * permille / 1000).min(last))
        .copied()
        .unwrap_or_default()
}

/// How often resident memory is looked at, over all loops.
const RESIDENT_SAMPLES: u32 = 50;

impl Player<'_> {
    /// Plays all submissions again, and again.
    pub(super) fn play_loops(&mut self, options: &PlayOptions<'_>) -> Result<(), PlayError> {
        let (loops, until) = (options.loops, options.until);
        if loops == 0 || !self.faults().is_empty() {
            return Ok(());
        }
        let clock = CpuClock::new().ok_or_else(|| {
            PlayError::System("this system does not tell the CPU time of threads".to_owned())
        })?;
        let mut times = LoopTimes {
            until,
            ..LoopTimes::default()
        };
        let scene = self.scene;
        // The first loop still finds what the script changed on its way.
        for round in 0..=loops {
            if round == 1 {
                self.runtime.reset_times(Label::Submit);
            }
            let before = *self.runtime.world().resource::<Counters>();
            let start = clock.now();
            let mut frame = (Instant::now(), start);
            let mut open = false;
            let mut end = |frame: &mut (Instant, Duration)| {
                let now = (Instant::now(), clock.now());
                if round > 0 {
                    times.frames.push(FrameTime {
                        wall: now.0 - frame.0,
                        cpu: now.1.saturating_sub(frame.1),
                    });
                }
                *frame = now;
            };
            for event in &scene.events {
                match event {
                    Event::Submit(submission) => {
                        open = true;
                        self.submit(submission)?;
                        self.settle_until(until)?;
                    }
                    Event::Frame(_) if std::mem::take(&mut open) => end(&mut frame),
                    _ => {}
                }
            }
            if open {
                end(&mut frame);
            }
            (options.each_loop)();
            if round > 0 {
                times.cpu.push(clock.now().saturating_sub(start));
                times.counters = self.runtime.world().resource::<Counters>().since(&before);
                if (round - 1).is_multiple_of(loops.div_ceil(RESIDENT_SAMPLES)) || round == loops {
                    times.resident.extend(resident().map(|bytes| (round, bytes)));
                }
            }
        }
        if until >= Until::Record {
            self.record_natively(&mut times, loops, &clock)?;
        }
        self.report.loops = Some(times);
        Ok(())
    }

    /// The floor: the commands of one more loop, recorded again without the work of finding out which they are.
    fn record_natively(
        &mut self,
        times: &mut LoopTimes,
        loops: u32,
        clock: &CpuClock,
    ) -> Result<(), PlayError> {
        self.device.keep_commands();
        let scene = self.scene;
        for event in &scene.events {
            if let Event::Submit(submission) = event {
                self.submit(submission)?;
                self.settle_until(times.until)?;
            }
        }
        let log = self.device.take_commands();
        if log.is_empty() {
            return Ok(());
        }
        times.commands = log.len();
        let mut last = None;
        // SAFETY: pipelines, buffers and images stay, as no frame ends meanwhile; neither do the stream's buffers move.
        let recorded = unsafe {
            self.device.record_again(&log, loops as usize, || {
                let now = clock.now();
                times.native.extend(last.map(|last| now.saturating_sub(last)));
                last = Some(now);
            })
        };
        recorded.map_err(|error| PlayError::System(error.to_string()))
    }

    /// Runs Submit until a submission is done, as far as `until`; sleeps while the GPU works.
    fn settle_until(&mut self, until: Until) -> Result<(), PlayError> {
        loop {
            *self.runtime.world_mut().resource_mut::<PumpControl>() = PumpControl::default();
            match until.stage() {
                None => self.run(Label::Submit)?,
                Some(last) => {
                    self.run_stages(Label::Submit, ..=last)?;
                    self.drop_rows(until);
                    self.run_stages(Label::Submit, Stage::Settle..)?;
                }
            }
            let control = self.runtime.world().resource::<PumpControl>().clone();
            let timeline = *self.runtime.world().resource::<GpuTimeline>();
            if control.stop {
                return Err(PlayError::System(self.faults().join("\n")));
            }
            if control.again || !self.inbox.is_empty() {
                continue;
            }
            if timeline.completed < timeline.submitted {
                self.device
                    .wait(relic_vulkan::TimelineValue(timeline.submitted), self.timeout)
                    .map_err(|error| PlayError::System(error.to_string()))?;
            } else if self.is_quiet() {
                let waiting = self.statuses(false);
                // The script has ended so, too, where it is to.
                if until != Until::Render && !waiting.is_empty() {
                    return Err(PlayError::System(format!(
                        "a loop that is not rendered waits for what the GPU would write: {}",
                        waiting.join("; ")
                    )));
                }
                return Ok(());
            } else {
                self.inbox.park(Duration::from_millis(1));
            }
        }
    }

    /// Drops what the stages so far have made of the rows: they count as committed, and nothing is submitted.
    fn drop_rows(&mut self, until: Until) {
        let world = self.runtime.world_mut();
        let mut dropped = (0, 0);
        let mut recording = world.resource_mut::<GpuRecording>();
        if std::mem::take(&mut recording.dirty) {
            // So that what is kept of a loop can be recorded again as a whole.
            recording.recorder.end_rendering();
            recording.recorder.discard();
            recording.zones.discarded();
            recording.barrier_due = false;
        }
        let mut queues = world.query::<(
            &mut Commands,
            (&Draws, &Dispatches),
            &mut Completions,
            &mut PendingLabels,
            &mut BatchWrites,
        )>();
        for (mut commands, (draws, dispatches), mut completions, mut labels, mut writes) in
            queues.iter_mut(world)
        {
            dropped.0 += draws.rows.len() as u64;
            dropped.1 += dispatches.rows.len() as u64;
            commands.committed = commands.rows.len();
            commands.cut = commands.rows.len();
            completions.recorded.clear();
            labels.0.clear();
            writes.0.clear();
        }
        if until != Until::Record {
            // Commit, which counts them, did not run.
            let mut counters = world.resource_mut::<Counters>();
            counters.draws += dropped.0;
            counters.dispatches += dropped.1;
        }
    }
}

/// Resident memory of this process in bytes. `None` where the system does not tell.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let times = [5, 1, 3, 2, 4].map(Duration::from_millis);
        let at = |permille| percentile(times, permille).as_millis();
        assert_eq!([at(0), at(500), at(900), at(1000)], [1, 3, 5, 5]);
        assert_eq!(percentile([], 500), Duration::ZERO);
    }
}
