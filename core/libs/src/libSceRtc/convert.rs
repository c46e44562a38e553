//! Other systems' times: MS-DOS, C, Windows.

use relic_macros::guest_fn;

use super::{
    RtcError,
    calendar::{DateTime, SECOND, Tick},
};
use crate::{
    pointer::{In, Out},
    result::SceResult,
};

/// The tick of 1970-01-01, where `time_t` begins.
pub(super) const UNIX: u64 = 62_135_596_800 * SECOND;
/// The tick of 1601-01-01, where Windows' file times begin.
const WINDOWS: u64 = 50_491_123_200 * SECOND;
/// Units of a file time in a microsecond.
const FILE_TIME_UNITS: u64 = 10;
/// First year that an MS-DOS time can hold, and how many.
const DOS_YEAR: u16 = 1980;
const DOS_YEARS: u16 = 128;

fn from_date<T>(
    date: In<DateTime>,
    out: Out<T>,
    convert: impl FnOnce(DateTime) -> Result<T, RtcError>,
) -> SceResult {
    let body = || {
        let date = date.read().ok_or(RtcError::Pointer)?;
        if out.is_null() {
            return Err(RtcError::Pointer);
        }
        date.check()?;
        out.write(convert(date)?);
        Ok(())
    };
    body().into()
}

fn to_date(out: Out<DateTime>, tick: impl FnOnce() -> Result<Tick, RtcError>) -> SceResult {
    let body = || {
        if out.is_null() {
            return Err(RtcError::Pointer);
        }
        out.write(tick()?.date()?);
        Ok(())
    };
    body().into()
}

/// Stores seconds since 1970; 0 for what was before.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetTime_t(date: In<DateTime>, out: Out<i64>) -> SceResult {
    from_date(date, out, |date| {
        Ok((date.tick()?.0.saturating_sub(UNIX) / SECOND).cast_signed())
    })
}

/// Stores the date of seconds since 1970; no time before.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcSetTime_t(out: Out<DateTime>, seconds: i64) -> SceResult {
    to_date(out, || {
        if seconds < 0 {
            return Err(RtcError::Value);
        }
        Tick(UNIX).add(seconds, SECOND)
    })
}

/// Stores tenths of microseconds since 1601; 0 for what was before.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetWin32FileTime(date: In<DateTime>, out: Out<u64>) -> SceResult {
    from_date(date, out, |date| {
        Ok(date.tick()?.0.saturating_sub(WINDOWS) * FILE_TIME_UNITS)
    })
}

/// Stores the date of tenths of microseconds since 1601.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcSetWin32FileTime(out: Out<DateTime>, time: u64) -> SceResult {
    to_date(out, || Ok(Tick(WINDOWS + time / FILE_TIME_UNITS)))
}

/// Stores an MS-DOS time: two seconds, minutes, hours, day, month and year from bit 0, 5, 11, 16, 21 and 25.
#[guest_fn(
    libSceRtc,
    partial = "years that MS-DOS can't hold, before 1980 and after 2107, are an invalid year"
)]
pub(crate) extern "sysv64" fn sceRtcGetDosTime(date: In<DateTime>, out: Out<u32>) -> SceResult {
    from_date(date, out, |date| {
        let year = date
            .year
            .checked_sub(DOS_YEAR)
            .filter(|year| *year < DOS_YEARS)
            .ok_or(RtcError::Year)?;
        let fields = [
            (date.second / 2, 0),
            (date.minute, 5),
            (date.hour, 11),
            (date.day, 16),
            (date.month, 21),
            (year, 25),
        ];
        Ok(fields
            .iter()
            .fold(0, |time, (field, bit)| time | u32::from(*field) << bit))
    })
}

/// Stores the date of an MS-DOS time, as its fields say.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcSetDosTime(out: Out<DateTime>, time: u32) -> SceResult {
    let field = |bit: u32, bits: u32| (time >> bit & ((1 << bits) - 1)) as u16;
    let written = out.write(DateTime {
        year: DOS_YEAR + field(25, 7),
        month: field(21, 4),
        day: field(16, 5),
        hour: field(11, 5),
        minute: field(5, 6),
        second: field(0, 5) * 2,
        microsecond: 0,
    });
    if written {
        SceResult::OK
    } else {
        RtcError::Pointer.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENING: DateTime = DateTime {
        year: 2024,
        month: 2,
        day: 29,
        hour: 21,
        minute: 37,
        second: 42,
        microsecond: 123_456,
    };

    #[test]
    fn times_go_to_other_systems_and_back() {
        let mut date = EVENING;
        let (mut seconds, mut units, mut dos) = (0, 0, 0);
        // SAFETY: places of ours.
        let (from, out) = unsafe { (In::new(&raw const date), Out::new(&raw mut date)) };
        // SAFETY: as above.
        let (seconds, units, dos) = unsafe {
            (
                Out::new(&raw mut seconds),
                Out::new(&raw mut units),
                Out::new(&raw mut dos),
            )
        };
        assert_eq!(sceRtcGetTime_t(from, seconds), SceResult::OK);
        // `date -d 2024-02-29T21:37:42Z +%s`.
        assert_eq!(seconds.read(), Some(1_709_242_662));
        assert_eq!(sceRtcGetWin32FileTime(from, units), SceResult::OK);
        assert_eq!(
            units.read(),
            Some((1_709_242_662 + 11_644_473_600) * 10_000_000 + 1_234_560)
        );
        assert_eq!(sceRtcGetDosTime(from, dos), SceResult::OK);
        assert_eq!(
            dos.read(),
            Some(44 << 25 | 2 << 21 | 29 << 16 | 21 << 11 | 37 << 5 | 21)
        );

        assert_eq!(sceRtcSetTime_t(out, 1_709_242_662), SceResult::OK);
        assert_eq!(
            out.read(),
            Some(DateTime {
                microsecond: 0,
                ..EVENING
            })
        );
        assert_eq!(sceRtcSetTime_t(out, -1), RtcError::Value.into());
        assert_eq!(sceRtcSetTime_t(out, i64::MAX), RtcError::Value.into());
        assert_eq!(sceRtcSetWin32FileTime(out, units.read().unwrap()), SceResult::OK);
        assert_eq!(out.read(), Some(EVENING));
        assert_eq!(sceRtcSetWin32FileTime(out, u64::MAX), RtcError::Value.into());
        assert_eq!(sceRtcSetDosTime(out, dos.read().unwrap()), SceResult::OK);
        assert_eq!(
            out.read(),
            Some(DateTime {
                microsecond: 0,
                ..EVENING
            })
        );

        for (year, code) in [(1979, RtcError::Year), (2108, RtcError::Year)] {
            out.write(DateTime {
                year,
                day: 1,
                ..EVENING
            });
            assert_eq!(sceRtcGetDosTime(from, dos), code.into());
        }
        out.write(DateTime {
            year: 1600,
            ..EVENING
        });
        assert_eq!(sceRtcGetTime_t(from, seconds), SceResult::OK);
        assert_eq!(seconds.read(), Some(0));
        assert_eq!(sceRtcGetWin32FileTime(from, units), SceResult::OK);
        assert_eq!(units.read(), Some(0));
    }
}
