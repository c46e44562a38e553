//! Runs a schedule's systems one after the other on the pump's thread, with a zone and a time for each.
//!
//! Parallelism lives inside systems (chunks on the task pool): the multi-threaded executor of bevy_ecs costs 15 to
//! 55 µs a run, whatever the number of systems. Deferred commands are applied right behind the system that made
//! them. Run conditions are refused when the runtime is built: a skipped system hides in reports.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use bevy_ecs::{
    error::ErrorHandler,
    schedule::{SystemExecutor, SystemSchedule},
    system::{RunSystemError, System as _},
    world::World,
};
use fixedbitset::FixedBitSet;
use relic_core::trace::{zone, zone_name};

/// What one system has cost so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemTime {
    /// Its name.
    pub name: String,
    /// How often it ran.
    pub runs: u64,
    /// All its runs together, in nanoseconds.
    pub nanoseconds: u64,
}

struct Slot {
    name: &'static str,
    runs: AtomicU64,
    nanoseconds: AtomicU64,
}

/// The times of one schedule's systems, in the order they run. Any thread may read them while the pump writes.
#[derive(Clone, Default)]
pub struct SystemTimes {
    slots: Arc<OnceLock<Vec<Slot>>>,
}

impl SystemTimes {
    /// What each system has cost so far; empty before the first run.
    #[must_use]
    pub fn snapshot(&self) -> Vec<SystemTime> {
        self.slots
            .get()
            .into_iter()
            .flatten()
            .map(|slot| SystemTime {
                name: slot.name.to_owned(),
                runs: slot.runs.load(Ordering::Relaxed),
                nanoseconds: slot.nanoseconds.load(Ordering::Relaxed),
            })
            .collect()
    }

    /// Forgets what the systems have cost.
    pub fn reset(&self) {
        for slot in self.slots.get().into_iter().flatten() {
            slot.runs.store(0, Ordering::Relaxed);
            slot.nanoseconds.store(0, Ordering::Relaxed);
        }
    }
}

/// Errors that systems returned, and panics caught in them, with the system's name. Shared by the schedules of one
/// runtime; the pump stops at the first.
#[derive(Clone, Default)]
pub(crate) struct ErrorLog {
    errors: Arc<Mutex<Vec<(String, String)>>>,
}

impl ErrorLog {
    fn push(&self, system: String, error: String) {
        self.errors
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((system, error));
    }

    pub(crate) fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.errors.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Which of a schedule's systems run, by their places in its order.
#[derive(Default)]
pub(crate) struct Extent {
    /// First one.
    pub(crate) from: AtomicUsize,
    /// One behind the last.
    pub(crate) to: AtomicUsize,
}

/// See the module's text.
pub(crate) struct PumpExecutor {
    pub(crate) extent: Arc<Extent>,
    pub(crate) times: SystemTimes,
    pub(crate) errors: ErrorLog,
    /// Whether to take times: one clock reading a system, about 20 ns.
    pub(crate) timed: bool,
}

impl SystemExecutor for PumpExecutor {
    fn init(&mut self, _schedule: &SystemSchedule) {}

    fn run(
        &mut self,
        schedule: &mut SystemSchedule,
        world: &mut World,
        _skip_systems: Option<&FixedBitSet>,
        _error_handler: ErrorHandler,
    ) {
        // SAFETY: the systems are only run, never replaced.
        let systems = unsafe { schedule.systems_mut() };
        let slots = self.times.slots.get_or_init(|| {
            systems
                .iter()
                .map(|system| Slot {
                    name: zone_name(&short_name(&system.name().to_string())),
                    runs: AtomicU64::new(0),
                    nanoseconds: AtomicU64::new(0),
                })
                .collect()
        });
        let from = self.extent.from.load(Ordering::Relaxed);
        let to = self.extent.to.load(Ordering::Relaxed);
        let mut before = self.timed.then(Instant::now);
        for (system, slot) in systems.iter_mut().zip(slots).take(to).skip(from) {
            let _zone = zone(slot.name, file!(), line!());
            // The systems' data stay consistent enough to report: after a panic the pump runs no system again
            // except those of Shutdown.
            let outcome = catch_unwind(AssertUnwindSafe(|| system.run((), world)));
            match outcome {
                Ok(Ok(()) | Err(RunSystemError::Skipped(_))) => {}
                Ok(Err(RunSystemError::Failed(error))) => {
                    self.errors.push(slot.name.to_owned(), error.to_string());
                }
                Err(panic) => {
                    self.errors
                        .push(slot.name.to_owned(), format!("panicked: {}", panic_text(&*panic)));
                }
            }
            if let Some(start) = before {
                let now = Instant::now();
                // One writer: plain additions suffice.
                let spent = (now - start).as_nanos() as u64;
                slot.nanoseconds.store(
                    slot.nanoseconds.load(Ordering::Relaxed) + spent,
                    Ordering::Relaxed,
                );
                slot.runs
                    .store(slot.runs.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                before = Some(now);
            }
        }
    }

    fn set_apply_final_deferred(&mut self, _value: bool) {}
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// `relic_systems::decode::decode_packets` becomes `decode_packets`.
pub(crate) fn short_name(name: &str) -> String {
    name.rsplit("::").next().unwrap_or(name).to_owned()
}
