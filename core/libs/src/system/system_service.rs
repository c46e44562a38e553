//! libSceSystemService.

use relic_macros::guest_fn;

use crate::{
    pointer::{Opaque, Out},
    result::SceResult,
};

const PARAMETER: SceResult = SceResult::code(0x80a1_0003);
const NO_EVENT: SceResult = SceResult::code(0x80a1_0004);

/// Takes the splash screen away: the host shows none.
#[guest_fn(libSceSystemService)]
pub(crate) extern "sysv64" fn sceSystemServiceHideSplashScreen() -> SceResult {
    SceResult::OK
}

/// Stores the next event of the system: there is none.
#[guest_fn(libSceSystemService)]
pub(crate) extern "sysv64" fn sceSystemServiceReceiveEvent(_event: Opaque) -> SceResult {
    NO_EVENT
}

/// Stores a setting of the system: 1 language, 2 date format, 3 time format, 4 time zone, 5 daylight saving,
/// 6 system name, 7 parental level, 1000 confirm button.
#[guest_fn(
    libSceSystemService,
    partial = "fixed settings: English, 24 hours, UTC, cross confirms"
)]
pub(crate) extern "sysv64" fn sceSystemServiceParamGetInt(id: i32, out: Out<i32>) -> SceResult {
    let value = match id {
        // English (United States), day first, 24 hours.
        1..=3 => 1,
        4 | 5 => 0,
        // Parental control off; the cross button confirms.
        7 => 0,
        1000 => 1,
        _ => return PARAMETER,
    };
    if out.write(value) {
        SceResult::OK
    } else {
        PARAMETER
    }
}
