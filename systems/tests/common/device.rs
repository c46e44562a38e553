//! The device that the tests of a process share.

use std::sync::OnceLock;

use relic_systems::gpu::open_device;
use relic_vulkan::Device;

/// The device of this test process, with the validation layer on.
#[expect(clippy::panic, reason = "without a device there is nothing to test")]
pub fn device() -> Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE
        .get_or_init(|| {
            open_device(true, std::env::var("RELIC_GPU").ok()).unwrap_or_else(|error| {
                panic!("these tests need a Vulkan driver and the validation layer: {error}")
            })
        })
        .clone()
}
