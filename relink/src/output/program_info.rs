//! The tables of [`relic_core::program`], which the runtime library reads.

use relic_core::program::{ImportKind, MODULE_MAGIC, PROGRAM_MAGIC};

use crate::{
    address::{ImageAddress, ImageRange},
    error::RelinkError,
    input::{Object, ObjectKind, dynamic::Lifecycle},
    plan::{
        Plan,
        imports::Import,
        layout::Part,
        strings::{StringOffset, StringTable},
    },
};

pub(super) fn info(program: &Object<'_>, plan: &Plan<'_>) -> Vec<u8> {
    let here = plan.layout.place(Part::Info).start;
    // Addresses are below 2^32, so that their difference is exact.
    let to = |address: ImageAddress| address.0.wrapping_sub(here.0).to_le_bytes();
    let to_part = |part| to(plan.layout.place(part).start);
    let is_program = program.kind == ObjectKind::Program;
    let mut bytes = if is_program { PROGRAM_MAGIC } else { MODULE_MAGIC }.to_vec();
    bytes.extend(to(ImageAddress(0)));
    bytes.extend(if is_program { to(program.entry) } else { [0; 8] });
    bytes.extend(match program.segments.process_parameters {
        Some(segment) => to(segment.range.start),
        None => [0; 8],
    });
    bytes.extend(to_part(Part::ImportRecords));
    bytes.extend(to_part(Part::ImportSites));
    bytes.extend(to_part(Part::InfoStrings));
    bytes.extend(to_part(Part::TrapStubs));
    bytes.extend((plan.imports.list.len() as u32).to_le_bytes());
    bytes.extend((plan.imports.site_count() as u32).to_le_bytes());
    let protected = plan.relro.protected_slots;
    bytes.extend(if protected.size == 0 {
        [0; 8]
    } else {
        to(protected.start)
    });
    bytes.extend(protected.size.to_le_bytes());
    bytes.extend(to_part(Part::ModuleRecords));
    bytes.extend(to_part(Part::Dependencies));
    let dependencies: usize = plan.modules.iter().map(|module| module.dependencies.len()).sum();
    bytes.extend((plan.modules.len() as u32).to_le_bytes());
    bytes.extend((dependencies as u32).to_le_bytes());

    let Lifecycle {
        initialiser,
        finaliser,
        early_initialisers,
        initialisers,
        finalisers,
    } = program.lifecycle;
    bytes.extend(initialiser.map_or([0; 8], to));
    bytes.extend(finaliser.map_or([0; 8], to));
    let lists = [early_initialisers, initialisers, finalisers];
    bytes.extend(lists.iter().flat_map(|list| to(list.start)));
    // Lists lie in the image, which is below 2^32.
    let count = |list: &ImageRange| (list.size / 8) as u32;
    bytes.extend(lists.iter().flat_map(|list| count(list).to_le_bytes()));
    bytes.extend([0; 4]);
    bytes
}

pub(super) fn records(plan: &Plan<'_>) -> Result<Vec<u8>, RelinkError> {
    let strings = &plan.layout.info_strings;
    let mut bytes = Vec::new();
    let mut first_site: u32 = 0;
    for import in &plan.imports.list {
        let Import {
            nid,
            library,
            name,
            kind,
            ref sites,
            ..
        } = *import;
        let site_count = sites.len() as u32;
        bytes.extend(nid.as_str().bytes());
        bytes.push(kind as u8);
        bytes.extend(offset_of(strings, library)?.0.to_le_bytes());
        bytes.extend(offset_of(strings, name.unwrap_or_default())?.0.to_le_bytes());
        bytes.extend(first_site.to_le_bytes());
        bytes.extend(site_count.to_le_bytes());
        first_site += site_count;
    }
    Ok(bytes)
}

pub(super) fn sites(plan: &Plan<'_>) -> Vec<u8> {
    let sites = plan.imports.list.iter().flat_map(|import| &import.sites);
    sites
        .flat_map(|site| [site.slot.0.to_le_bytes(), site.addend.to_le_bytes()])
        .flatten()
        .collect()
}

pub(super) fn modules(plan: &Plan<'_>) -> Result<Vec<u8>, RelinkError> {
    let strings = &plan.layout.info_strings;
    let mut bytes = Vec::new();
    let mut first_dependency = 0;
    for module in plan.modules {
        let count = module.dependencies.len() as u32;
        bytes.extend(offset_of(strings, &module.path)?.0.to_le_bytes());
        bytes.extend(offset_of(strings, &module.file)?.0.to_le_bytes());
        for number in [first_dependency, count, u32::from(module.at_start)] {
            bytes.extend(number.to_le_bytes());
        }
        first_dependency += count;
    }
    Ok(bytes)
}

pub(super) fn dependencies(plan: &Plan<'_>) -> Vec<u8> {
    let all = plan.modules.iter().flat_map(|module| &module.dependencies);
    all.flat_map(|&index| (index as u32).to_le_bytes()).collect()
}

fn offset_of(strings: &StringTable, text: &str) -> Result<StringOffset, RelinkError> {
    strings.find(text).ok_or(RelinkError::Unbalanced {
        part: "names",
        planned: strings.bytes().len() as u64,
        written: 0,
    })
}

// Every kind fits its byte.
const _: () = assert!(ImportKind::Weak as u32 == 2);
