//! Calculating with ticks. The result may lie where the tick lies.

use relic_macros::guest_fn;

use super::{
    RtcError,
    calendar::{DAY, HOUR, MINUTE, SECOND, Tick},
};
use crate::{
    pointer::{In, Out},
    result::SceResult,
};

fn change(out: Out<Tick>, tick: In<Tick>, by: impl FnOnce(Tick) -> Result<Tick, RtcError>) -> SceResult {
    let change = || {
        let tick = tick.read().ok_or(RtcError::Pointer)?;
        if out.is_null() {
            return Err(RtcError::Pointer);
        }
        out.write(by(tick)?);
        Ok(())
    };
    change().into()
}

/// Declares functions that add so many of a unit.
macro_rules! adds {
    ($($(#[$doc:meta])* $name:ident($amount:ty), $unit:expr;)*) => {$(
        $(#[$doc])*
        #[guest_fn(libSceRtc)]
        pub(crate) extern "sysv64" fn $name(out: Out<Tick>, tick: In<Tick>, amount: $amount) -> SceResult {
            change(out, tick, |tick| tick.add(i64::from(amount), $unit))
        }
    )*};
}

adds! {
    /// Adds ticks.
    sceRtcTickAddTicks(i64), 1;
    /// Adds microseconds.
    sceRtcTickAddMicroseconds(i64), 1;
    /// Adds seconds.
    sceRtcTickAddSeconds(i64), SECOND;
    /// Adds minutes.
    sceRtcTickAddMinutes(i64), MINUTE;
    /// Adds hours.
    sceRtcTickAddHours(i32), HOUR;
    /// Adds days.
    sceRtcTickAddDays(i32), DAY;
    /// Adds weeks.
    sceRtcTickAddWeeks(i32), 7 * DAY;
}

/// Adds months; the day is the month's last where the month is too short.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcTickAddMonths(out: Out<Tick>, tick: In<Tick>, months: i32) -> SceResult {
    change(out, tick, |tick| tick.add_months(i64::from(months)))
}

/// Adds years. A 29th of February in a year that has none is the 28th.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcTickAddYears(out: Out<Tick>, tick: In<Tick>, years: i32) -> SceResult {
    change(out, tick, |tick| tick.add_months(i64::from(years) * 12))
}

/// -1, 0 or 1: whether the first is earlier, the same or later.
#[guest_fn(
    libSceRtc,
    partial = "answers -1, 0 or 1, as earlier consoles are documented to; what this one answers is not known for sure"
)]
pub(crate) extern "sysv64" fn sceRtcCompareTick(one: In<Tick>, other: In<Tick>) -> SceResult {
    match (one.read(), other.read()) {
        (Some(one), Some(other)) => SceResult(one.cmp(&other) as i32),
        _ => RtcError::Pointer.into(),
    }
}

/// Ticks a second.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetTickResolution() -> u32 {
    SECOND as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_added_and_the_beginning_of_time_is_the_beginning() {
        let mut tick = Tick(DAY);
        // SAFETY: a place of ours.
        let (out, from) = unsafe { (Out::new(&raw mut tick), In::new(&raw const tick)) };
        let step = |result: SceResult, expected: u64| {
            assert_eq!((result, from.read()), (SceResult::OK, Some(Tick(expected))));
        };
        step(sceRtcTickAddWeeks(out, from, 2), 15 * DAY);
        step(sceRtcTickAddDays(out, from, -10), 5 * DAY);
        step(sceRtcTickAddHours(out, from, 1), 5 * DAY + HOUR);
        step(sceRtcTickAddMinutes(out, from, -60), 5 * DAY);
        step(sceRtcTickAddSeconds(out, from, 86_400), 6 * DAY);
        step(sceRtcTickAddMicroseconds(out, from, 5), 6 * DAY + 5);
        step(sceRtcTickAddTicks(out, from, -5), 6 * DAY);
        step(sceRtcTickAddYears(out, from, 1), 371 * DAY);
        step(sceRtcTickAddMonths(out, from, -12), 6 * DAY);
        assert_eq!(sceRtcTickAddDays(out, from, -7), RtcError::Value.into());
        assert_eq!(from.read(), Some(Tick(6 * DAY)));
        // SAFETY: null.
        let (nothing, nowhere) = unsafe { (In::new(std::ptr::null()), Out::new(std::ptr::null_mut())) };
        assert_eq!(sceRtcTickAddDays(out, nothing, 1), RtcError::Pointer.into());
        assert_eq!(sceRtcTickAddYears(nowhere, from, 1), RtcError::Pointer.into());
        let later = Tick(6 * DAY + 1);
        // SAFETY: a place of ours.
        let later = unsafe { In::new(&raw const later) };
        assert_eq!(sceRtcCompareTick(from, later), SceResult(-1));
        assert_eq!(sceRtcCompareTick(later, from), SceResult(1));
        assert_eq!(sceRtcCompareTick(from, from), SceResult(0));
        assert_eq!(sceRtcCompareTick(from, nothing), RtcError::Pointer.into());
    }
}
