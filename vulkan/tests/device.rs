//! Opening devices: what is reported, what is refused, and what was kept from validation.

mod common;

use common::{device, settle};
use relic_vulkan::{Device, DeviceError, DeviceOptions, Feature, Need};
use std::process::Command;

#[test]
fn the_report_names_device_driver_and_features() {
    let Some(device) = device() else { return };
    let report = device.report();
    assert!(report.api[0] > 1 || report.api[1] >= 3, "{:?}", report.api);
    assert!(report.subgroup_size >= 1);
    for feature in Feature::all().filter(|feature| feature.need() == Need::Required) {
        assert!(device.has(feature), "{feature} is required, so it is enabled");
    }
    let text = report.to_string();
    assert!(
        text.contains(&report.name) && text.contains("optional features present"),
        "{text}"
    );
    eprintln!("{text}");
    if report.name.contains("llvmpipe") {
        assert_eq!(report.subgroup_size, 8);
        assert!(device.has(Feature::ExternalMemoryHost) && !device.has(Feature::RuntimeDescriptorArray));
        assert!(
            text.contains("absent: ") && text.contains("runtimeDescriptorArray"),
            "{text}"
        );
    }
    let value = device.submit(&mut device.create_recorder()).unwrap();
    settle(&device, value);
}

#[test]
fn an_impossible_requirement_is_named_for_each_device() {
    let Some(device) = device() else { return };
    let absent: Vec<_> = Feature::all().filter(|feature| !device.has(*feature)).collect();
    let Some(feature) = absent.first().copied() else {
        eprintln!("SKIPPED: this device has every optional feature");
        return;
    };
    let options = DeviceOptions {
        name_filter: Some(device.report().name.clone()),
        required: vec![feature],
        ..DeviceOptions::default()
    };
    let error = Device::open(&options).err().unwrap();
    let text = error.to_string();
    let DeviceError::NoneSuitable { devices } = error else {
        panic!("{text}")
    };
    assert_eq!(devices.len(), 1);
    assert_eq!(
        devices[0].lacks.len(),
        1,
        "only what was added is missing: {:?}",
        devices[0].lacks
    );
    assert!(
        text.contains(&device.report().name) && text.contains(feature.name()),
        "{text}"
    );
}

#[test]
fn a_name_that_no_device_has_lists_those_there_are() {
    let Some(device) = device() else { return };
    let options = DeviceOptions {
        name_filter: Some("no such device".into()),
        ..DeviceOptions::default()
    };
    let text = Device::open(&options).err().unwrap().to_string();
    assert!(
        text.contains("no such device") && text.contains(&device.report().name),
        "{text}"
    );
}

/// The loader reads its driver list from the environment once, so this runs in a process of its own.
#[test]
fn a_machine_without_drivers_is_told_what_to_install() {
    if std::env::var_os("RELIC_TEST_NO_DRIVER").is_some() {
        match Device::open(&DeviceOptions::default()) {
            Err(error) => println!("ANSWER {error}"),
            Ok(_) => println!("ANSWER opened"),
        }
        return;
    }
    if device().is_none() {
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_machine_without_drivers_is_told_what_to_install",
            "--nocapture",
        ])
        .env("RELIC_TEST_NO_DRIVER", "1")
        .env("VK_ICD_FILENAMES", "/nonexistent/icd.json")
        .env("VK_DRIVER_FILES", "/nonexistent/icd.json")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("ANSWER") && text.contains("mesa-vulkan-drivers"),
        "{text}"
    );
}

#[test]
fn committed_shaders_are_what_their_source_assembles_to() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shaders");
    if !std::path::Path::new(folder).exists() {
        eprintln!("SKIPPED: the sources are not on this machine");
        return;
    }
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let source = entry.unwrap().path();
        if source.extension().is_none_or(|extension| extension != "spvasm") {
            continue;
        }
        let target = tempfile::NamedTempFile::new().unwrap();
        let run = Command::new("spirv-as")
            .args(["--target-env", "vulkan1.3", "-o"])
            .arg(target.path())
            .arg(&source)
            .status();
        let Ok(status) = run else {
            eprintln!("SKIPPED: spirv-as is not installed (package spirv-tools)");
            return;
        };
        assert!(status.success(), "{}", source.display());
        let instructions = |bytes: Vec<u8>| {
            // Word 2 is the assembler's own version.
            let mut words = common::words(&bytes);
            words[2] = 0;
            words
        };
        let fresh = instructions(std::fs::read(target.path()).unwrap());
        let committed = instructions(std::fs::read(source.with_extension("spv")).unwrap());
        assert!(fresh == committed, "assemble {} again", source.display());
        seen += 1;
    }
    assert!(seen >= 5, "the shaders are there");
}
