//! The time now, and the host's time zone.

use std::time::{SystemTime, UNIX_EPOCH};

use relic_macros::guest_fn;

use super::{
    RtcError,
    calendar::{DateTime, MINUTE, SECOND, Tick},
    convert::UNIX,
};
use crate::{
    pointer::{In, Out},
    result::SceResult,
};

pub(super) fn now() -> Tick {
    // A clock that is set before 1970 has not been set.
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Tick(UNIX + passed.as_micros() as u64)
}

/// The host's zone at a time given by seconds since 1970: seconds east of UTC, and how many of them are daylight saving.
pub(crate) fn zone(seconds: i64) -> (i64, i64) {
    // SAFETY: all zeros is a value of this record.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: a number and a record of ours.
    if unsafe { libc::localtime_r(&raw const seconds, &raw mut local) }.is_null() {
        return (0, 0);
    }
    // Where there is daylight saving, it is an hour but for one island in the South Pacific.
    (local.tm_gmtoff, if local.tm_isdst > 0 { 3600 } else { 0 })
}

/// Minutes that local time is ahead of UTC, at a time in UTC.
pub(super) fn minutes_ahead(utc: Tick) -> i64 {
    let seconds = (utc.0 / SECOND).cast_signed() - (UNIX / SECOND).cast_signed();
    zone(seconds).0.div_euclid(60)
}

fn store<T>(out: Out<T>, value: impl FnOnce() -> Result<T, RtcError>, null: RtcError) -> SceResult {
    let body = || {
        if out.is_null() {
            return Err(null);
        }
        out.write(value()?);
        Ok(())
    };
    body().into()
}

/// Stores the time now, in UTC.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetCurrentTick(out: Out<Tick>) -> SceResult {
    store(out, || Ok(now()), RtcError::Parameter)
}

/// Stores the time of the network, which is the host's, in UTC.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetCurrentNetworkTick(out: Out<Tick>) -> SceResult {
    store(out, || Ok(now()), RtcError::Pointer)
}

/// Stores the date and time now, so many minutes ahead of UTC.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetCurrentClock(out: Out<DateTime>, minutes: i32) -> SceResult {
    store(
        out,
        || now().add(i64::from(minutes), MINUTE)?.date(),
        RtcError::Parameter,
    )
}

/// Stores the date and time now, in the host's zone.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetCurrentClockLocalTime(out: Out<DateTime>) -> SceResult {
    let local = || {
        let now = now();
        now.add(minutes_ahead(now), MINUTE)?.date()
    };
    store(out, local, RtcError::Parameter)
}

/// Stores what time it is in the host's zone at a time in UTC.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcConvertUtcToLocalTime(utc: In<Tick>, out: Out<Tick>) -> SceResult {
    let convert = || {
        let utc = utc.read().ok_or(RtcError::Pointer)?;
        utc.add(minutes_ahead(utc), MINUTE)
    };
    store(out, convert, RtcError::Pointer)
}

/// Stores the time in UTC of a time in the host's zone. A time that there is twice is the earlier one.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcConvertLocalTimeToUtc(local: In<Tick>, out: Out<Tick>) -> SceResult {
    let convert = || {
        let local = local.read().ok_or(RtcError::Pointer)?;
        // The zone a day before and after: one of both is right, and both are but for two days a year.
        let (before, after) = (
            local.add(-1, super::calendar::DAY),
            local.add(1, super::calendar::DAY),
        );
        let ahead = minutes_ahead(before.unwrap_or(local));
        let utc = local.add(-ahead, MINUTE)?;
        if minutes_ahead(utc) == ahead {
            return Ok(utc);
        }
        local.add(-minutes_ahead(after?), MINUTE)
    };
    store(out, convert, RtcError::Pointer)
}

/// Starts the library.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcInit() -> SceResult {
    SceResult::OK
}

/// Ends the library.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcEnd() -> SceResult {
    SceResult::OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_between_two_looks_and_zones_go_both_ways() {
        let mut tick = Tick(0);
        // SAFETY: a place of ours.
        let (out, from) = unsafe { (Out::new(&raw mut tick), In::new(&raw const tick)) };
        let before = now();
        assert_eq!(sceRtcGetCurrentTick(out), SceResult::OK);
        let found = from.read().unwrap();
        assert!(before <= found && found <= now());
        assert_eq!(found.date().unwrap().check(), Ok(()));
        let mut local = Tick(0);
        // SAFETY: a place of ours.
        let (local_out, local_in) = unsafe { (Out::new(&raw mut local), In::new(&raw const local)) };
        // Noon in June and in December: no zone changes then.
        for month in [6, 12] {
            let noon = DateTime {
                year: 2023,
                month,
                day: 10,
                hour: 12,
                minute: 0,
                second: 0,
                microsecond: 7,
            };
            let noon = noon.tick().unwrap();
            out.write(noon);
            assert_eq!(sceRtcConvertUtcToLocalTime(from, local_out), SceResult::OK);
            assert_eq!(local_in.read(), noon.add(minutes_ahead(noon), MINUTE).ok());
            assert_eq!(sceRtcConvertLocalTimeToUtc(local_in, out), SceResult::OK);
            assert_eq!(from.read(), Some(noon));
        }
        // SAFETY: null.
        let nowhere = unsafe { Out::new(std::ptr::null_mut()) };
        assert_eq!(sceRtcGetCurrentTick(nowhere), SceResult::code(0x8001_0602));
        assert_eq!(sceRtcGetCurrentNetworkTick(nowhere), RtcError::Pointer.into());
    }
}
