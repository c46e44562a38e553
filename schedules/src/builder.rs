//! Builds a runtime from plug-ins, and refuses one whose order is not a fact.

use std::{
    ops::{Bound, RangeBounds},
    sync::{Arc, atomic::Ordering},
};

use bevy_ecs::{
    prelude::*,
    schedule::{IntoScheduleConfigs, LogLevel, ScheduleBuildSettings, SystemSet},
    system::ScheduleSystem,
};

use crate::{
    executor::{ErrorLog, Extent, PumpExecutor, SystemTime, SystemTimes, short_name},
    packet::{Packet, PacketTable},
    pump::PumpControl,
    stage::{Label, Stage},
};

/// Something that adds packets and systems to a runtime.
pub trait Plugin: 'static {
    /// Its name in messages.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// Adds what it has.
    fn build(&self, runtime: &mut RuntimeBuilder);
}

/// One reason why a runtime can't start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Two packet types claim one header.
    #[error(
        "packets {first} and {second} both claim {header}: remove one of the two plug-ins, or change its header"
    )]
    HeaderClash {
        /// The header.
        header: String,
        /// Packet and plug-in that had it first.
        first: String,
        /// Packet and plug-in that want it too.
        second: String,
    },
    /// A system in none of its schedule's stages.
    #[error(
        "system {system} of plug-in {plugin} is in no stage of schedule {schedule:?}: add it with .in_set(Stage::...), one of {stages:?}"
    )]
    NoStage {
        /// The system.
        system: String,
        /// Who added it, as far as known.
        plugin: String,
        /// The schedule.
        schedule: Label,
        /// Stages to choose from.
        stages: Vec<Stage>,
    },
    /// A system that may be skipped.
    #[error(
        "system {system} of schedule {schedule:?} has a run condition: decide inside the system instead, so that it shows in every report"
    )]
    RunCondition {
        /// The system.
        system: String,
        /// The schedule.
        schedule: Label,
    },
    /// bevy_ecs refused the schedule: ambiguous systems, cycles.
    #[error("schedule {schedule:?} can't be built: {text}")]
    Schedule {
        /// The schedule.
        schedule: Label,
        /// What it said, with the names of the systems and of what they both touch.
        text: String,
    },
}

/// Everything wrong with a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildErrors(pub Vec<StartError>);

impl std::fmt::Display for BuildErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildErrors {}

/// Collects plug-ins, packets, systems and resources, and checks them.
pub struct RuntimeBuilder {
    world: World,
    schedules: Vec<(Label, Schedule)>,
    packets: PacketTable,
    errors: Vec<StartError>,
    plugin: &'static str,
    /// Who added systems to which schedule, for messages.
    added: Vec<(Label, &'static str)>,
    timed: bool,
    shuffle: Option<u64>,
}

impl Default for RuntimeBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl RuntimeBuilder {
    /// A runtime with the four schedules and their stages, and nothing in them.
    #[must_use]
    pub fn new() -> Self {
        let schedules = Label::ALL
            .into_iter()
            .map(|label| {
                let mut schedule = Schedule::new(label);
                for pair in label.stages().windows(2) {
                    schedule.configure_sets((pair[0], pair[1]).chain());
                }
                (label, schedule)
            })
            .collect();
        Self {
            world: World::new(),
            schedules,
            packets: PacketTable::default(),
            errors: Vec::new(),
            plugin: "the application",
            added: Vec::new(),
            timed: false,
            shuffle: None,
        }
    }

    /// Adds a plug-in.
    pub fn add_plugin(&mut self, plugin: &impl Plugin) -> &mut Self {
        let outer = std::mem::replace(&mut self.plugin, plugin.name());
        plugin.build(self);
        self.plugin = outer;
        self
    }

    /// Adds a packet type.
    pub fn add_packet<P: Packet>(&mut self) -> &mut Self {
        if let Err(clashes) = self.packets.add::<P>(self.plugin) {
            self.errors
                .extend(clashes.into_iter().map(|clash| StartError::HeaderClash {
                    header: clash.header.to_string(),
                    first: clash.first,
                    second: clash.second,
                }));
        }
        self
    }

    /// Adds systems to a schedule. Each must be in exactly one of its stages.
    pub fn add_systems<M>(
        &mut self,
        label: Label,
        systems: impl IntoScheduleConfigs<ScheduleSystem, M>,
    ) -> &mut Self {
        self.added.push((label, self.plugin));
        if let Some((_, schedule)) = self.schedules.iter_mut().find(|(own, _)| *own == label) {
            schedule.add_systems(systems);
        }
        self
    }

    /// Adds a resource.
    pub fn insert_resource(&mut self, resource: impl Resource) -> &mut Self {
        self.world.insert_resource(resource);
        self
    }

    /// Whether systems' times are taken: about 20 ns a system.
    pub fn timed(&mut self, timed: bool) -> &mut Self {
        self.timed = timed;
        self
    }

    /// Runs systems in a random order within what the declared order allows, to prove that the declaration
    /// suffices.
    pub fn shuffle(&mut self, seed: u64) -> &mut Self {
        self.shuffle = Some(seed);
        self
    }

    /// The world, to put entities in before the start.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Checks everything and gives the runtime.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn build(mut self) -> Result<Runtime, BuildErrors> {
        let log = ErrorLog::default();
        let mut runtime_schedules = Vec::new();
        let packets = std::mem::take(&mut self.packets);
        self.world.insert_resource(packets);
        self.world.init_resource::<PumpControl>();
        for (label, mut schedule) in std::mem::take(&mut self.schedules) {
            let times = SystemTimes::default();
            let extent = Arc::new(Extent::default());
            schedule.set_executor(PumpExecutor {
                extent: Arc::clone(&extent),
                times: times.clone(),
                errors: log.clone(),
                timed: self.timed,
            });
            schedule.set_build_settings(ScheduleBuildSettings {
                ambiguity_detection: LogLevel::Error,
                hierarchy_detection: LogLevel::Error,
                auto_insert_apply_deferred: false,
                use_shortnames: true,
                report_sets: true,
                shuffle_seed: self.shuffle,
            });
            // Building moves systems and conditions out of the graph: look before.
            for (_, system, conditions) in schedule.graph().systems.iter() {
                if !conditions.is_empty() {
                    let system = short_name(&system.name().to_string());
                    self.errors.push(StartError::RunCondition {
                        system,
                        schedule: label,
                    });
                }
            }
            if let Err(error) = schedule.initialize(&mut self.world) {
                let text = error.to_string(schedule.graph(), &self.world);
                self.errors.push(StartError::Schedule {
                    schedule: label,
                    text: text.trim().to_owned(),
                });
                continue;
            }
            let stage_ends = self.check_stages(label, &schedule);
            runtime_schedules.push(BuiltSchedule {
                label,
                schedule,
                times,
                extent,
                stage_ends,
            });
        }
        if !self.errors.is_empty() {
            return Err(BuildErrors(self.errors));
        }
        Ok(Runtime {
            world: self.world,
            schedules: runtime_schedules,
            errors: log,
        })
    }

    /// Refuses systems in no stage. Returns how many systems each stage and those in front of it have.
    fn check_stages(&mut self, label: Label, schedule: &Schedule) -> Vec<usize> {
        let graph = schedule.graph();
        let Ok(systems) = schedule.systems() else {
            return Vec::new();
        };
        let sizes = label.stages().iter().map(|stage| {
            graph
                .systems_in_set(stage.intern())
                .map_or(0, |members| members.len())
        });
        let ends = sizes
            .scan(0, |end, size| {
                *end += size;
                Some(*end)
            })
            .collect();
        for (key, system) in systems {
            let name = short_name(&system.name().to_string());
            // A system in two stages is refused by bevy_ecs, as the stages are ordered.
            let in_stage = label.stages().iter().any(|stage| {
                graph
                    .systems_in_set(stage.intern())
                    .is_ok_and(|members| members.contains(&key))
            });
            if !in_stage {
                let mut plugins: Vec<_> = self
                    .added
                    .iter()
                    .filter(|(own, _)| *own == label)
                    .map(|(_, plugin)| *plugin)
                    .collect();
                plugins.dedup();
                self.errors.push(StartError::NoStage {
                    system: name,
                    plugin: plugins.join(" or "),
                    schedule: label,
                    stages: label.stages().to_vec(),
                });
            }
        }
        ends
    }
}

/// One schedule, checked and ready to run.
pub(crate) struct BuiltSchedule {
    pub(crate) label: Label,
    pub(crate) schedule: Schedule,
    pub(crate) times: SystemTimes,
    pub(crate) extent: Arc<Extent>,
    /// How many systems each stage and those in front of it have.
    pub(crate) stage_ends: Vec<usize>,
}

/// A checked runtime: the world and its schedules. The pump runs it.
pub struct Runtime {
    pub(crate) world: World,
    pub(crate) schedules: Vec<BuiltSchedule>,
    pub(crate) errors: ErrorLog,
}

impl Runtime {
    /// Runs one schedule once.
    ///
    /// # Errors
    /// What systems returned or panicked with.
    pub fn run(&mut self, label: Label) -> Result<(), SystemFailures> {
        self.run_stages(label, ..)
    }

    /// Runs some of a schedule's stages, for tools that stop in between: `..=Stage::Decode`, then `Stage::Settle..`.
    /// Stages that the schedule does not have bound nothing.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_stages(
        &mut self,
        label: Label,
        stages: impl RangeBounds<Stage>,
    ) -> Result<(), SystemFailures> {
        if let Some(built) = self.schedules.iter_mut().find(|built| built.label == label) {
            let ends = &built.stage_ends;
            let index = |stage: &Stage| label.stages().iter().position(|own| own == stage);
            // Systems in front of a stage, and systems up to its end.
            let front = |at: usize| at.checked_sub(1).map_or(0, |before| ends[before]);
            let from = match stages.start_bound() {
                Bound::Included(stage) => index(stage).map(front),
                Bound::Excluded(stage) => index(stage).map(|at| ends[at]),
                Bound::Unbounded => None,
            };
            let to = match stages.end_bound() {
                Bound::Included(stage) => index(stage).map(|at| ends[at]),
                Bound::Excluded(stage) => index(stage).map(front),
                Bound::Unbounded => None,
            };
            built.extent.from.store(from.unwrap_or(0), Ordering::Relaxed);
            built.extent.to.store(to.unwrap_or(usize::MAX), Ordering::Relaxed);
            built.schedule.run(&mut self.world);
        }
        let errors = self.errors.take();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(SystemFailures(errors))
        }
    }

    /// The world, to look at between runs.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// The world, to change between runs.
    pub const fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Forgets what the systems of a schedule have cost so far.
    pub fn reset_times(&self, label: Label) {
        for built in self.schedules.iter().filter(|built| built.label == label) {
            built.times.reset();
        }
    }

    /// What the systems of a schedule have cost so far.
    #[must_use]
    pub fn times(&self, label: Label) -> Vec<SystemTime> {
        self.schedules
            .iter()
            .find(|built| built.label == label)
            .map(|built| built.times.snapshot())
            .unwrap_or_default()
    }
}

/// Systems that failed, with what they said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemFailures(pub Vec<(String, String)>);

impl std::fmt::Display for SystemFailures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (system, error)) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "system {system} {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SystemFailures {}
