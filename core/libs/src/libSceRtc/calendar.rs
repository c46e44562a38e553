//! Days, months, years and ticks.

use relic_macros::guest_fn;

use super::RtcError;
use crate::{
    pointer::{In, Out},
    result::SceResult,
};

/// A point of time, in microseconds since the beginning of year 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Tick(pub(crate) u64);

pub(super) const SECOND: u64 = 1_000_000;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const HOUR: u64 = 60 * MINUTE;
pub(super) const DAY: u64 = 24 * HOUR;
/// Days of 400 years, after which the calendar begins anew.
const ERA: u64 = 146_097;
/// First day of year 10000, counted from that of year 1: dates have four digits.
const END: u64 = 3_652_059;

/// `SceRtcDateTime`: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct DateTime {
    pub(super) year: u16,
    pub(super) month: u16,
    pub(super) day: u16,
    pub(super) hour: u16,
    pub(super) minute: u16,
    pub(super) second: u16,
    pub(super) microsecond: u32,
}

pub(super) fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// `month` from 1 to 12.
pub(super) fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first of year 1 to the first of a year.
fn days_before_year(year: u64) -> u64 {
    let passed = year - 1;
    passed * 365 + passed / 4 - passed / 100 + passed / 400
}

impl DateTime {
    pub(super) fn check(&self) -> Result<(), RtcError> {
        let (year, month, day) = (u32::from(self.year), u32::from(self.month), u32::from(self.day));
        let checks = [
            ((1..=9999).contains(&year), RtcError::Year),
            ((1..=12).contains(&month), RtcError::Month),
            ((1..=days_in_month(year, month)).contains(&day), RtcError::Day),
            (self.hour < 24, RtcError::Hour),
            (self.minute < 60, RtcError::Minute),
            (self.second < 60, RtcError::Second),
            (self.microsecond < 1_000_000, RtcError::Microsecond),
        ];
        match checks.iter().find(|(fits, _)| !fits) {
            Some((_, error)) => Err(*error),
            None => Ok(()),
        }
    }

    pub(super) fn tick(&self) -> Result<Tick, RtcError> {
        self.check()?;
        let year = u32::from(self.year);
        let months = (1..u32::from(self.month)).map(|month| u64::from(days_in_month(year, month)));
        let days = days_before_year(u64::from(year)) + months.sum::<u64>() + u64::from(self.day) - 1;
        Ok(Tick(
            days * DAY
                + u64::from(self.hour) * HOUR
                + u64::from(self.minute) * MINUTE
                + u64::from(self.second) * SECOND
                + u64::from(self.microsecond),
        ))
    }

    /// Sunday is 0.
    pub(super) fn day_of_week(&self) -> Result<usize, RtcError> {
        // The first of year 1 was a Monday.
        Ok(((self.tick()?.0 / DAY + 1) % 7) as usize)
    }
}

impl Tick {
    /// The date; an error from year 10000 on.
    pub(super) fn date(self) -> Result<DateTime, RtcError> {
        let (days, time) = (self.0 / DAY, self.0 % DAY);
        if days >= END {
            return Err(RtcError::Value);
        }
        // No year is longer than 366 days, none on average shorter than an era's: at most one off.
        let mut year = days * 400 / ERA + 1;
        while days_before_year(year) > days {
            year -= 1;
        }
        while days_before_year(year + 1) <= days {
            year += 1;
        }
        let mut day = (days - days_before_year(year)) as u32;
        let mut month = 1;
        while day >= days_in_month(year as u32, month) {
            day -= days_in_month(year as u32, month);
            month += 1;
        }
        Ok(DateTime {
            year: year as u16,
            month: month as u16,
            day: day as u16 + 1,
            hour: (time / HOUR) as u16,
            minute: (time / MINUTE % 60) as u16,
            second: (time / SECOND % 60) as u16,
            microsecond: (time % SECOND) as u32,
        })
    }

    pub(super) fn add(self, amount: i64, unit: u64) -> Result<Self, RtcError> {
        let sum = i128::from(self.0) + i128::from(amount) * i128::from(unit);
        u64::try_from(sum).map(Self).map_err(|_| RtcError::Value)
    }

    /// The same day of another month, or that month's last.
    pub(super) fn add_months(self, months: i64) -> Result<Self, RtcError> {
        let mut date = self.date()?;
        let sum = i64::from(date.year) * 12 + i64::from(date.month) - 1 + months;
        let year = sum.div_euclid(12);
        if !(1..=9999).contains(&year) {
            return Err(RtcError::Year);
        }
        date.year = year as u16;
        date.month = sum.rem_euclid(12) as u16 + 1;
        let last = days_in_month(u32::from(date.year), u32::from(date.month));
        date.day = date.day.min(last as u16);
        date.tick()
    }
}

/// Whether a date and time is one: 0, or the code for the first field that does not fit.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcCheckValid(date: In<DateTime>) -> SceResult {
    let check = || date.read().ok_or(RtcError::Pointer)?.check();
    check().into()
}

/// 1 for a leap year, else 0.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcIsLeapYear(year: i32) -> SceResult {
    match u32::try_from(year) {
        Ok(year @ 1..) => SceResult(i32::from(is_leap(year))),
        _ => RtcError::Year.into(),
    }
}

/// How many days a month has.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetDaysInMonth(year: i32, month: i32) -> SceResult {
    match (u32::try_from(year), u32::try_from(month)) {
        (Ok(year @ 1..), Ok(month @ 1..=12)) => SceResult(days_in_month(year, month) as i32),
        (Ok(1..), _) => RtcError::Month.into(),
        _ => RtcError::Year.into(),
    }
}

/// The day of the week: Sunday is 0.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetDayOfWeek(year: i32, month: i32, day: i32) -> SceResult {
    // What does not fit is out of range all the same.
    let field = |value: i32| u16::try_from(value).unwrap_or(0);
    let date = DateTime {
        year: field(year),
        month: field(month),
        day: field(day),
        hour: 0,
        minute: 0,
        second: 0,
        microsecond: 0,
    };
    date.day_of_week()
        .map_or_else(SceResult::from, |day| SceResult(day as i32))
}

/// Stores the tick of a date and time.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcGetTick(date: In<DateTime>, out: Out<Tick>) -> SceResult {
    let convert = || {
        let tick = date.read().ok_or(RtcError::Pointer)?.tick();
        if out.is_null() {
            return Err(RtcError::Pointer);
        }
        out.write(tick?);
        Ok(())
    };
    convert().into()
}

/// Stores the date and time of a tick.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcSetTick(out: Out<DateTime>, tick: In<Tick>) -> SceResult {
    let convert = || {
        let date = tick.read().ok_or(RtcError::Pointer)?.date();
        if out.is_null() {
            return Err(RtcError::Pointer);
        }
        out.write(date?);
        Ok(())
    };
    convert().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: u16, month: u16, day: u16) -> DateTime {
        DateTime {
            year,
            month,
            day,
            hour: 0,
            minute: 0,
            second: 0,
            microsecond: 0,
        }
    }

    #[test]
    fn every_day_of_ten_thousand_years_is_the_one_after_the_day_before() {
        let mut expected = date(1, 1, 1);
        for number in 0..END {
            let found = Tick(number * DAY).date().unwrap();
            assert_eq!(found, expected);
            assert_eq!(found.tick().unwrap(), Tick(number * DAY));
            assert_eq!(found.day_of_week().unwrap() as u64, (number + 1) % 7);
            expected.day += 1;
            if u32::from(expected.day) > days_in_month(u32::from(expected.year), u32::from(expected.month)) {
                expected.day = 1;
                expected.month += 1;
            }
            if expected.month > 12 {
                expected.month = 1;
                expected.year += 1;
            }
        }
        assert_eq!(expected, date(10_000, 1, 1));
        assert_eq!(Tick(END * DAY).date(), Err(RtcError::Value));
        assert_eq!(date(1970, 1, 1).tick(), Ok(Tick(0x00dc_bffe_ff2b_c000)));
        // A Thursday.
        assert_eq!(sceRtcGetDayOfWeek(1970, 1, 1), SceResult(4));
    }

    #[test]
    fn months_end_where_they_end() {
        let add = |from: DateTime, months| {
            from.tick()
                .unwrap()
                .add_months(months)
                .map(|tick| tick.date().unwrap())
        };
        assert_eq!(add(date(2024, 1, 31), 1), Ok(date(2024, 2, 29)));
        assert_eq!(add(date(2024, 1, 31), 13), Ok(date(2025, 2, 28)));
        assert_eq!(add(date(2024, 3, 31), -1), Ok(date(2024, 2, 29)));
        assert_eq!(add(date(2024, 1, 15), -1), Ok(date(2023, 12, 15)));
        assert_eq!(add(date(2024, 2, 29), 12), Ok(date(2025, 2, 28)));
        assert_eq!(add(date(2024, 2, 29), 0), Ok(date(2024, 2, 29)));
        assert_eq!(add(date(1, 1, 1), -1), Err(RtcError::Year));
        assert_eq!(add(date(9999, 12, 1), 1), Err(RtcError::Year));
    }

    #[test]
    fn each_field_that_does_not_fit_has_its_code() {
        let good = DateTime {
            hour: 23,
            minute: 59,
            second: 59,
            microsecond: 999_999,
            ..date(2000, 2, 29)
        };
        assert_eq!(good.check(), Ok(()));
        for (wrong, code) in [
            (DateTime { year: 0, ..good }, 8),
            (DateTime { year: 10_000, ..good }, 8),
            (DateTime { month: 0, ..good }, 9),
            (DateTime { month: 13, ..good }, 9),
            (DateTime { day: 0, ..good }, 10),
            (DateTime { year: 1900, ..good }, 10),
            (DateTime { hour: 24, ..good }, 11),
            (DateTime { minute: 60, ..good }, 12),
            (DateTime { second: 60, ..good }, 13),
            (
                DateTime {
                    microsecond: 1_000_000,
                    ..good
                },
                14,
            ),
        ] {
            // SAFETY: a place of ours.
            let found = sceRtcCheckValid(unsafe { In::new(&raw const wrong) });
            assert_eq!(found, SceResult::code(0x80b5_0000 + code), "{wrong:?}");
        }
        assert_eq!(sceRtcIsLeapYear(2000), SceResult(1));
        assert_eq!(sceRtcIsLeapYear(2100), SceResult(0));
        assert_eq!(sceRtcIsLeapYear(0), RtcError::Year.into());
        assert_eq!(sceRtcGetDaysInMonth(2023, 2), SceResult(28));
        assert_eq!(sceRtcGetDaysInMonth(2023, 13), RtcError::Month.into());
        assert_eq!(sceRtcGetDaysInMonth(-5, 1), RtcError::Year.into());
        assert_eq!(sceRtcGetDayOfWeek(2023, 2, 29), RtcError::Day.into());
    }
}
