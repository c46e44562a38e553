//! Opening, reading and setting a controller.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use relic_macros::guest_fn;

use super::{PadError, script::Script, state::PadData};
use crate::{
    libkernel::time::sceKernelGetProcessTime,
    log,
    pointer::{In, Opaque, Out},
    result::SceResult,
    system::user_service::USER,
};

/// The one controller's handle.
const HANDLE: i32 = 1;
/// The kind of an ordinary controller's port.
const STANDARD: i32 = 0;
/// Most states of one read.
const HISTORY: i32 = 64;
/// Names the script that plays the controller.
const SCRIPT: &str = "RELIC_PAD";

/// What was asked of the controller: nothing of it is felt or seen, but the next question is answered by it.
#[derive(Debug, Default)]
struct Device {
    open: bool,
    script: Script,
    /// Large and small motor.
    vibration: [u8; 2],
    /// Red, green, blue.
    light: Option<[u8; 3]>,
    motion: bool,
    tilt_correction: bool,
    velocity_dead_band: bool,
}

/// `None` until the library is started.
static DEVICE: Mutex<Option<Device>> = Mutex::new(None);

fn with_device<T>(body: impl FnOnce(&mut Device) -> Result<T, PadError>) -> Result<T, PadError> {
    let mut device = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    body(device.as_mut().ok_or(PadError::NotInitialized)?)
}

fn with_handle<T>(handle: i32, body: impl FnOnce(&mut Device) -> Result<T, PadError>) -> Result<T, PadError> {
    with_device(|device| {
        if handle != HANDLE || !device.open {
            return Err(PadError::InvalidHandle);
        }
        body(device)
    })
}

fn count(result: Result<i32, PadError>) -> SceResult {
    result.map_or_else(SceResult::from, SceResult)
}

fn script() -> Result<Script, PadError> {
    let Some(path) = std::env::var_os(SCRIPT).filter(|path| !path.is_empty()) else {
        return Ok(Script::default());
    };
    let parsed = std::fs::read_to_string(&path)
        .map_err(|error| error.to_string())
        .and_then(|text| Script::parse(&text));
    parsed.map_err(|error| {
        log::warn(format_args!("{SCRIPT}: {}: {error}", path.display()));
        PadError::Fatal
    })
}

/// Starts the library. A script that can't be read is an error.
#[guest_fn(libScePad)]
pub(crate) extern "sysv64" fn scePadInit() -> SceResult {
    let start = || {
        let mut device = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
        if device.is_none() {
            *device = Some(Device {
                script: script()?,
                ..Device::default()
            });
        }
        Ok::<(), PadError>(())
    };
    start().into()
}

/// Whether this is the first player's ordinary controller.
fn check_port(user: i32, kind: i32, index: i32) -> Result<(), PadError> {
    if user != USER {
        return Err(PadError::NoHandle);
    }
    if kind != STANDARD {
        return Err(PadError::InvalidPort);
    }
    if index != 0 {
        return Err(PadError::InvalidArgument);
    }
    Ok(())
}

/// Opens a user's controller. Returns its handle.
#[guest_fn(libScePad, partial = "the first player's ordinary controller only")]
pub(crate) extern "sysv64" fn scePadOpen(user: i32, kind: i32, index: i32, _parameters: Opaque) -> SceResult {
    count(with_device(|device| {
        check_port(user, kind, index)?;
        if std::mem::replace(&mut device.open, true) {
            return Err(PadError::AlreadyOpened);
        }
        Ok(HANDLE)
    }))
}

/// Returns the handle of a controller that is open.
#[guest_fn(libScePad)]
pub(crate) extern "sysv64" fn scePadGetHandle(user: i32, kind: i32, index: i32) -> SceResult {
    count(with_device(|device| {
        check_port(user, kind, index)?;
        device.open.then_some(HANDLE).ok_or(PadError::NoHandle)
    }))
}

/// Closes a controller.
#[guest_fn(libScePad)]
pub(crate) extern "sysv64" fn scePadClose(handle: i32) -> SceResult {
    with_handle(handle, |device| {
        *device = Device {
            script: std::mem::take(&mut device.script),
            ..Device::default()
        };
        Ok(())
    })
    .into()
}

fn read(device: &mut Device) -> PadData {
    PadData::new(&device.script.read(Instant::now()), sceKernelGetProcessTime())
}

/// Stores the state now.
#[guest_fn(
    libScePad,
    partial = "no host's controller yet: at rest, or by the script that RELIC_PAD names; lies still, no touches"
)]
pub(crate) extern "sysv64" fn scePadReadState(handle: i32, out: Out<PadData>) -> SceResult {
    with_handle(handle, |device| {
        if out.is_null() {
            return Err(PadError::InvalidArgument);
        }
        out.write(read(device));
        Ok(())
    })
    .into()
}

/// Stores the states since the last read, the newest last. Returns how many: one.
#[guest_fn(libScePad, partial = "one state, as scePadReadState stores it")]
pub(crate) extern "sysv64" fn scePadRead(handle: i32, out: Out<PadData>, limit: i32) -> SceResult {
    count(with_handle(handle, |device| {
        if out.is_null() || !(1..=HISTORY).contains(&limit) {
            return Err(PadError::InvalidArgument);
        }
        out.write(read(device));
        Ok(1)
    }))
}

/// `ScePadControllerInformation`: 28 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Information {
    /// Of the touch pad, in dots a millimetre, and its size in dots.
    density: f32,
    resolution: [u16; 2],
    dead_zones: [u8; 2],
    /// 0: local.
    connection: u8,
    connections: u8,
    connected: bool,
    /// 0: an ordinary controller.
    class: i32,
    reserved: [u8; 8],
}

/// Stores what the controller is.
#[guest_fn(
    libScePad,
    partial = "the touch pad's density and the dead zones are not known for sure"
)]
pub(crate) extern "sysv64" fn scePadGetControllerInformation(
    handle: i32,
    out: Out<Information>,
) -> SceResult {
    with_handle(handle, |_| {
        let written = out.write(Information {
            density: 44.86,
            resolution: [1920, 1080],
            dead_zones: [13; 2],
            connection: 0,
            connections: 1,
            connected: true,
            class: 0,
            reserved: [0; 8],
        });
        written.then_some(()).ok_or(PadError::InvalidArgument)
    })
    .into()
}

/// Declares functions that keep what they are given.
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident($value:ident: $kind:ty) |$device:ident| $body:block)*) => {$(
        $(#[$doc])*
        #[guest_fn(libScePad)]
        pub(crate) extern "sysv64" fn $name(handle: i32, $value: $kind) -> SceResult {
            with_handle(handle, |$device| $body).into()
        }
    )*};
}

settings! {
    /// Sets the strength of the large and the small motor: kept, and not felt.
    scePadSetVibration(motors: In<[u8; 2]>) |device| {
        device.vibration = motors.read().ok_or(PadError::InvalidArgument)?;
        Ok(())
    }
    /// Sets the light's red, green and blue: kept, and not seen.
    scePadSetLightBar(colour: In<[u8; 3]>) |device| {
        device.light = Some(colour.read().ok_or(PadError::InvalidArgument)?);
        Ok(())
    }
    /// Switches the motion sensor: it lies still either way.
    scePadSetMotionSensorState(on: u8) |device| {
        device.motion = on != 0;
        Ok(())
    }
    /// Switches the correction of tilts: it lies flat either way.
    scePadSetTiltCorrectionState(on: u8) |device| {
        device.tilt_correction = on != 0;
        Ok(())
    }
    /// Switches the dead band of turning: it lies still either way.
    scePadSetAngularVelocityDeadbandState(on: u8) |device| {
        device.velocity_dead_band = on != 0;
        Ok(())
    }
}

/// Gives the light its first colour back.
#[guest_fn(libScePad)]
pub(crate) extern "sysv64" fn scePadResetLightBar(handle: i32) -> SceResult {
    with_handle(handle, |device| {
        device.light = None;
        Ok(())
    })
    .into()
}

/// Takes the present orientation as the first: it is.
#[guest_fn(libScePad)]
pub(crate) extern "sysv64" fn scePadResetOrientation(handle: i32) -> SceResult {
    with_handle(handle, |_| Ok(())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_until_the_controller_is_closed() {
        assert_eq!(size_of::<Information>(), 28);
        let (motors, colour) = ([200, 7], [1, 2, 3]);
        // SAFETY: places of ours.
        let (motors, colour) = unsafe { (In::new(&raw const motors), In::new(&raw const colour)) };
        assert_eq!(
            scePadSetVibration(HANDLE, motors),
            PadError::NotInitialized.into()
        );
        assert_eq!(scePadInit(), SceResult::OK);
        assert_eq!(scePadSetVibration(HANDLE, motors), PadError::InvalidHandle.into());
        assert_eq!(scePadOpen(USER, 0, 0, std::ptr::null_mut()), SceResult(HANDLE));
        assert_eq!(scePadSetVibration(HANDLE, motors), SceResult::OK);
        assert_eq!(scePadSetLightBar(HANDLE, colour), SceResult::OK);
        assert_eq!(scePadSetMotionSensorState(HANDLE, 1), SceResult::OK);
        assert_eq!(scePadSetTiltCorrectionState(HANDLE, 1), SceResult::OK);
        assert_eq!(scePadSetAngularVelocityDeadbandState(HANDLE, 1), SceResult::OK);
        let kept = with_device(|device| {
            let switches = [device.motion, device.tilt_correction, device.velocity_dead_band];
            Ok((device.vibration, device.light, switches))
        });
        assert_eq!(kept, Ok(([200, 7], Some([1, 2, 3]), [true; 3])));
        assert_eq!(scePadResetLightBar(HANDLE), SceResult::OK);
        assert_eq!(with_device(|device| Ok(device.light)), Ok(None));
        // SAFETY: null.
        let nothing = unsafe { In::new(std::ptr::null()) };
        assert_eq!(
            scePadSetVibration(HANDLE, nothing),
            PadError::InvalidArgument.into()
        );
        assert_eq!(scePadClose(HANDLE), SceResult::OK);
        assert_eq!(
            with_device(|device| Ok((device.vibration, device.motion))),
            Ok(([0; 2], false))
        );
    }
}
