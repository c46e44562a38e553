//! Prints a runtime's schedules: every system with its stage, what it reads and what it writes, in the order it
//! runs.

use std::fmt::Write as _;

use bevy_ecs::{schedule::SystemSet as _, system::System as _};
use petgraph::{dot::Dot, graph::DiGraph};

use crate::{
    builder::{BuiltSchedule, Runtime},
    executor::short_name,
};

/// One system as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemDescription {
    /// Its name.
    pub name: String,
    /// Its stage.
    pub stage: String,
    /// Components and resources it reads and does not write.
    pub reads: Vec<String>,
    /// Those it writes.
    pub writes: Vec<String>,
    /// It has the whole world to itself.
    pub exclusive: bool,
}

impl Runtime {
    fn systems_of(&self, built: &BuiltSchedule) -> Vec<SystemDescription> {
        let components = self.world.components();
        let graph = built.schedule.graph();
        let names = |set: Option<&bevy_ecs::query::ComponentIdSet>| -> Option<Vec<String>> {
            let mut names: Vec<String> = set?
                .iter()
                .filter_map(|id| components.get_name(id))
                .map(|name| short_name(&name.to_string()))
                .collect();
            names.sort();
            Some(names)
        };
        let Ok(systems) = built.schedule.systems_with_access() else {
            return Vec::new();
        };
        systems
            .map(|(key, system)| {
                let access = system.access().to_filtered_access_set();
                let access = access.combined_access();
                let writes = names(access.writes().as_finite_set());
                let reads = names(access.reads().as_finite_set());
                let exclusive = writes.is_none() || reads.is_none();
                let writes = writes.unwrap_or_default();
                let reads = reads
                    .unwrap_or_default()
                    .into_iter()
                    .filter(|name| !writes.contains(name))
                    .collect();
                let stage = built
                    .label
                    .stages()
                    .iter()
                    .find(|stage| {
                        graph
                            .systems_in_set(stage.intern())
                            .is_ok_and(|members| members.contains(&key))
                    })
                    .map_or_else(String::new, |stage| format!("{stage:?}"));
                SystemDescription {
                    name: short_name(&system.name().to_string()),
                    stage,
                    reads,
                    writes,
                    exclusive,
                }
            })
            .collect()
    }

    /// The schedules as text, one system a line.
    #[must_use]
    pub fn describe_text(&self) -> String {
        let mut text = String::new();
        for built in &self.schedules {
            let _ = writeln!(text, "{:?}", built.label);
            for system in self.systems_of(built) {
                let _ = write!(text, "  {:10} {}", system.stage, system.name);
                if system.exclusive {
                    text.push_str(" (exclusive)");
                }
                for (what, names) in [("reads", &system.reads), ("writes", &system.writes)] {
                    if !names.is_empty() {
                        let _ = write!(text, "\n{:15}{what} {}", "", names.join(", "));
                    }
                }
                text.push('\n');
            }
        }
        text
    }

    /// The schedules as Graphviz graphs: an edge from each system to the next.
    #[must_use]
    pub fn describe_dot(&self) -> String {
        let mut text = String::new();
        for built in &self.schedules {
            let mut graph = DiGraph::<String, &str>::new();
            let mut last = None;
            for system in self.systems_of(built) {
                let node = graph.add_node(format!(
                    "{}: {}\nreads {}\nwrites {}",
                    system.stage,
                    system.name,
                    if system.exclusive {
                        "everything".to_owned()
                    } else {
                        system.reads.join(" ")
                    },
                    if system.exclusive {
                        "everything".to_owned()
                    } else {
                        system.writes.join(" ")
                    },
                ));
                if let Some(last) = last {
                    graph.add_edge(last, node, "");
                }
                last = Some(node);
            }
            let _ = writeln!(text, "// {:?}", built.label);
            let _ = write!(
                text,
                "{}",
                Dot::with_config(&graph, &[petgraph::dot::Config::EdgeNoLabel])
            );
        }
        text
    }
}
