//! libSceSystemService.

use std::time::{SystemTime, UNIX_EPOCH};

use relic_macros::guest_fn;

use crate::{
    libSceRtc,
    pointer::{Opaque, Out},
    result::SceResult,
};

const PARAMETER: SceResult = SceResult::code(0x80a1_0003);
const NO_EVENT: SceResult = SceResult::code(0x80a1_0004);

/// Settings of the system, by number.
const LANGUAGE: i32 = 1;
const DATE_FORMAT: i32 = 2;
const TIME_FORMAT: i32 = 3;
const TIME_ZONE: i32 = 4;
const SUMMER_TIME: i32 = 5;
const SYSTEM_NAME: i32 = 6;
const PARENTAL_LEVEL: i32 = 7;
const ENTER_BUTTON: i32 = 1000;

/// Takes the splash screen away: the host shows none.
#[guest_fn(libSceSystemService)]
pub(crate) extern "sysv64" fn sceSystemServiceHideSplashScreen() -> SceResult {
    SceResult::OK
}

/// Stores the next event of the system: there is none.
#[guest_fn(libSceSystemService)]
pub(crate) extern "sysv64" fn sceSystemServiceReceiveEvent(event: Opaque) -> SceResult {
    if event.is_null() { PARAMETER } else { NO_EVENT }
}

/// Stores how many events wait, and a byte each for: covered by the system's screens, in the background, the CPU at its
/// usual speed, broadcast live, outside the play area.
#[guest_fn(
    libSceSystemService,
    partial = "the first nine bytes; what lies behind them is not known and stays"
)]
pub(crate) extern "sysv64" fn sceSystemServiceGetStatus(events: Out<i32>) -> SceResult {
    if !events.write(0) {
        return PARAMETER;
    }
    events.byte_add::<[u8; 5]>(4).write([0, 0, 1, 0, 0]);
    SceResult::OK
}

/// Stores how much of the screen's width and height is surely seen: all of it.
#[guest_fn(libSceSystemService)]
pub(crate) extern "sysv64" fn sceSystemServiceGetDisplaySafeAreaInfo(ratio: Out<f32>) -> SceResult {
    if ratio.write(1.0) {
        SceResult::OK
    } else {
        PARAMETER
    }
}

/// Stores a setting of the system: 1 language, 2 date format, 3 time format, 4 time zone in minutes ahead of UTC,
/// 5 daylight saving, 7 parental level, 1000 the button that confirms.
#[guest_fn(
    libSceSystemService,
    partial = "fixed settings: English, day first, 24 hours, cross confirms; the time zone is the host's"
)]
pub(crate) extern "sysv64" fn sceSystemServiceParamGetInt(id: i32, out: Out<i32>) -> SceResult {
    let zone = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        libSceRtc::zone(now.as_secs().cast_signed())
    };
    let value = match id {
        // English (United States), day first, 24 hours.
        LANGUAGE | DATE_FORMAT | TIME_FORMAT => 1,
        TIME_ZONE => {
            let (ahead, saved) = zone();
            ((ahead - saved) / 60) as i32
        }
        SUMMER_TIME => i32::from(zone().1 != 0),
        // Off.
        PARENTAL_LEVEL => 0,
        // Cross.
        ENTER_BUTTON => 1,
        _ => return PARAMETER,
    };
    if out.write(value) {
        SceResult::OK
    } else {
        PARAMETER
    }
}

/// Stores a setting that is a text: 6 is the system's name. It is cut where it is too long.
#[guest_fn(libSceSystemService)]
pub(crate) extern "sysv64" fn sceSystemServiceParamGetString(id: i32, out: Out<u8>, size: u64) -> SceResult {
    if id != SYSTEM_NAME || out.is_null() || size == 0 {
        return PARAMETER;
    }
    out.write_text(b"Relic", size as usize);
    SceResult::OK
}
