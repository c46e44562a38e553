//! The dependency arrows of the workspace point one way only.

use std::{collections::BTreeMap, fs, path::Path};

/// What each crate may use of the workspace's own crates. Development dependencies are free.
const ALLOWED: &[(&str, &str, &[&str])] = &[
    ("relic-core", "core", &[]),
    ("relic-macros", "core/macros", &[]),
    ("relic-components", "components", &["relic-core"]),
    (
        "relic-schedules",
        "schedules",
        &["relic-core", "relic-components"],
    ),
    ("relic-recompiler", "recompiler", &["relic-core"]),
    ("relic-vulkan", "vulkan", &["relic-core"]),
    ("relic-relink", "relink", &["relic-core"]),
    (
        "relic-systems",
        "systems",
        &[
            "relic-core",
            "relic-components",
            "relic-schedules",
            "relic-recompiler",
            "relic-vulkan",
        ],
    ),
    (
        "relic-libs",
        "core/libs",
        &[
            "relic-core",
            "relic-macros",
            "relic-components",
            "relic-schedules",
            "relic-systems",
        ],
    ),
    (
        "relic",
        "core/cli",
        &[
            "relic-core",
            "relic-components",
            "relic-schedules",
            "relic-systems",
            "relic-relink",
            "relic-recompiler",
            "relic-vulkan",
            "relic-libs",
        ],
    ),
];

/// Names under `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            names.push(name.to_owned());
        }
    }
    names
}

#[test]
fn crates_use_only_what_they_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (name, folder, allowed) in ALLOWED {
        let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains(&format!("name = \"{name}\"")),
            "{folder} holds another crate"
        );
        for used in dependencies(&manifest)
            .iter()
            .filter(|used| used.starts_with("relic-"))
        {
            assert!(
                allowed.contains(&used.as_str()),
                "{name} must not use {used}: see docs/architecture.md"
            );
        }
    }
}

/// What only one part of the tree may speak: Vulkan, ELF files, SPIR-V.
#[test]
fn foreign_crates_stay_in_their_rooms() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let rooms: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("ash", &["vulkan", "systems"][..]),
        ("vk-mem", &["vulkan"][..]),
        ("rspirv", &["recompiler"][..]),
        ("goblin", &["relink"][..]),
        ("bevy_ecs", &["components", "schedules", "systems"][..]),
    ]);
    for (_, folder, _) in ALLOWED {
        let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
        for used in dependencies(&manifest) {
            if let Some(folders) = rooms.get(used.as_str()) {
                assert!(
                    folders.contains(folder),
                    "{folder} uses {used}, which belongs to {folders:?}"
                );
            }
        }
    }
}
