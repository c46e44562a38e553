//! The registry: a JSON file that lists every reference of a title to something outside the file that holds it.

use serde::Serialize;

use crate::{
    error::RelinkError,
    input::Object,
    plan::{Plan, imports::Import},
};

/// Everything that a title refers to.
#[derive(Debug, Serialize)]
pub(crate) struct Registry<'p> {
    format: u32,
    objects: Vec<ObjectRecord<'p>>,
}

/// One program or module.
#[derive(Debug, Serialize)]
struct ObjectRecord<'p> {
    /// Its path in the title.
    file: &'p str,
    /// Its own LOAD segments, ascending.
    segments: Vec<SegmentRecord>,
    imports: Vec<ImportRecord<'p>>,
    /// What it asks for and was left out.
    unused: Vec<ImportRecord<'p>>,
}

/// One LOAD segment.
#[derive(Debug, Serialize)]
struct SegmentRecord {
    address: u64,
    size: u64,
    /// What the input lets one do, and the output.
    input: String,
    output: String,
    /// Who reads it, where the input does not let anyone read it and the output does.
    #[serde(skip_serializing_if = "Option::is_none")]
    reader: Option<String>,
}

/// One import.
#[derive(Debug, Serialize)]
struct ImportRecord<'p> {
    library: &'p str,
    nid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    kind: &'static str,
    /// The symbol of the title's own object that answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<&'p str>,
    sites: Vec<SiteRecord>,
}

/// One slot.
#[derive(Debug, Serialize)]
struct SiteRecord {
    address: u64,
    addend: i64,
}

impl<'p> Registry<'p> {
    pub(crate) fn new(objects: impl Iterator<Item = (&'p str, &'p Object<'p>, &'p Plan<'p>)>) -> Self {
        let objects = objects
            .map(|(file, object, plan)| ObjectRecord {
                file,
                segments: plan
                    .loads(object)
                    .map(|(load, access, reader)| SegmentRecord {
                        address: load.range.start.0,
                        size: load.range.size,
                        input: load.access.to_string(),
                        output: access.to_string(),
                        reader: reader.map(|reader| reader.to_string()),
                    })
                    .collect(),
                imports: plan.imports.list.iter().map(record).collect(),
                unused: plan.unused.iter().map(record).collect(),
            })
            .collect();
        Self { format: 1, objects }
    }

    pub(crate) fn text(&self) -> Result<String, RelinkError> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| RelinkError::Registry {
                problem: error.to_string(),
            })
    }
}

fn record<'p>(import: &'p Import<'p>) -> ImportRecord<'p> {
    ImportRecord {
        library: import.library,
        nid: import.nid.to_string(),
        name: import.name,
        kind: crate::report::kind_name(import.kind),
        bound: import.bound.as_ref().map(|bound| &*bound.name),
        sites: import
            .sites
            .iter()
            .map(|site| SiteRecord {
                address: site.slot.0,
                addend: site.addend,
            })
            .collect(),
    }
}
