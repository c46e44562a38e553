//! What the tests share: a validated device, shaders, and the check that validation stayed silent.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers fail by panicking")]

use relic_vulkan::{Device, DeviceError, DeviceOptions, TimelineValue, Validation};
use std::time::Duration;

/// A device under the validation layer, or without it where it is not installed (and the test says so). Where there is
/// no Vulkan loader or driver the test says so and passes; anything else that is missing fails it.
pub fn device() -> Option<Device> {
    match open(Validation::On) {
        Err(error @ DeviceError::NoValidationLayer) => {
            eprintln!("NOT VALIDATED: {error}");
            found(open(Validation::Off))
        }
        answer => found(answer),
    }
}

/// Opens the device that `RELIC_GPU` names.
pub fn open(validation: Validation) -> Result<Device, DeviceError> {
    let name_filter = std::env::var("RELIC_GPU").ok();
    Device::open(&DeviceOptions {
        validation,
        name_filter,
        required: Vec::new(),
        // So that every test sees that the tap lets all commands through.
        tap: true,
    })
}

fn found(answer: Result<Device, DeviceError>) -> Option<Device> {
    match answer {
        Ok(device) => Some(device),
        Err(error @ (DeviceError::NoLoader { .. } | DeviceError::NoDriver { .. })) => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Waits and checks that the layer had nothing to say.
pub fn settle(device: &Device, value: TimelineValue) {
    device.wait(value, Duration::from_secs(60)).unwrap();
    assert_silent(device);
}

pub fn assert_silent(device: &Device) {
    assert_eq!(device.validation_messages(), Vec::<String>::new());
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

/// An assembled shader of `tests/shaders`.
#[macro_export]
macro_rules! shader {
    ($name:literal) => {
        $crate::common::words(include_bytes!(concat!("shaders/", $name, ".spv")))
    };
}
