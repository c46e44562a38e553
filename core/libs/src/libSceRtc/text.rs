//! Dates as text: RFC 3339 with hundredths of seconds, RFC 2822, and C's `asctime` for reading.

use relic_macros::guest_fn;

use super::{
    RtcError,
    calendar::{DateTime, MINUTE, Tick},
    now,
};
use crate::{
    pointer::{In, Out, Text},
    result::SceResult,
};

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// No date is longer.
const LIMIT: usize = 64;

/// Sign, hours and minutes of a zone.
fn zone_text(minutes: i64, between: &str) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    let minutes = minutes.abs();
    format!("{sign}{:02}{between}{:02}", minutes / 60, minutes % 60)
}

fn rfc3339(date: &DateTime, minutes: i64) -> Result<String, RtcError> {
    let zone = if minutes == 0 {
        "Z".to_owned()
    } else {
        zone_text(minutes, ":")
    };
    Ok(format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:02}{zone}",
        date.year,
        date.month,
        date.day,
        date.hour,
        date.minute,
        date.second,
        date.microsecond / 10_000,
    ))
}

fn rfc2822(date: &DateTime, minutes: i64) -> Result<String, RtcError> {
    Ok(format!(
        "{}, {:02} {} {:04} {:02}:{:02}:{:02} {}",
        DAYS[date.day_of_week()?],
        date.day,
        MONTHS[usize::from(date.month) - 1],
        date.year,
        date.hour,
        date.minute,
        date.second,
        zone_text(minutes, ""),
    ))
}

type Format = fn(&DateTime, i64) -> Result<String, RtcError>;

/// Writes a time, now where there is none, in a zone; `None`: the host's.
fn write(out: Out<u8>, utc: In<Tick>, minutes: Option<i32>, format: Format) -> SceResult {
    let body = || {
        if out.is_null() {
            return Err(RtcError::Pointer);
        }
        let utc = utc.read().unwrap_or_else(now::now);
        let minutes = minutes.map_or_else(|| now::minutes_ahead(utc), i64::from);
        let text = format(&utc.add(minutes, MINUTE)?.date()?, minutes)?;
        out.write_text(text.as_bytes(), text.len() + 1);
        Ok(())
    };
    body().into()
}

/// Writes a time in a zone, so many minutes ahead of UTC: `2024-02-29T21:37:42.12+01:00`.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcFormatRFC3339(out: Out<u8>, utc: In<Tick>, minutes: i32) -> SceResult {
    write(out, utc, Some(minutes), rfc3339)
}

/// Writes a time in the host's zone: `2024-02-29T21:37:42.12+01:00`.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcFormatRFC3339LocalTime(out: Out<u8>, utc: In<Tick>) -> SceResult {
    write(out, utc, None, rfc3339)
}

/// Writes a time in a zone, so many minutes ahead of UTC: `Thu, 29 Feb 2024 21:37:42 +0100`.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcFormatRFC2822(out: Out<u8>, utc: In<Tick>, minutes: i32) -> SceResult {
    write(out, utc, Some(minutes), rfc2822)
}

/// Writes a time in the host's zone: `Thu, 29 Feb 2024 21:37:42 +0100`.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcFormatRFC2822LocalTime(out: Out<u8>, utc: In<Tick>) -> SceResult {
    write(out, utc, None, rfc2822)
}

/// Reads a text piece by piece.
struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a str, RtcError> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(RtcError::Parse)?;
        self.0 = rest;
        Ok(taken)
    }

    fn literal(&mut self, text: &str) -> Result<(), RtcError> {
        if self.take(text.len())?.eq_ignore_ascii_case(text) {
            Ok(())
        } else {
            Err(RtcError::Parse)
        }
    }

    fn number(&mut self, digits: usize) -> Result<u16, RtcError> {
        let text = self.take(digits)?;
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().map_err(|_| RtcError::Parse)
        } else {
            Err(RtcError::Parse)
        }
    }

    /// A day of one or two digits, with a space or a zero in front or nothing.
    fn day(&mut self) -> Result<u16, RtcError> {
        self.spaces();
        let two = self.0.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        self.number(1 + usize::from(two))
    }

    fn spaces(&mut self) {
        self.0 = self.0.trim_start_matches(' ');
    }

    fn month(&mut self) -> Result<u16, RtcError> {
        let text = self.take(3)?;
        let month = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(text));
        month.map(|month| month as u16 + 1).ok_or(RtcError::Parse)
    }

    fn clock(&mut self) -> Result<(u16, u16, u16), RtcError> {
        let hour = self.number(2)?;
        self.literal(":")?;
        let minute = self.number(2)?;
        self.literal(":")?;
        Ok((hour, minute, self.number(2)?))
    }

    /// What follows a point, to microseconds.
    fn fraction(&mut self) -> Result<u32, RtcError> {
        let Some(rest) = self.0.strip_prefix('.') else {
            return Ok(0);
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(RtcError::Parse);
        }
        self.0 = &rest[digits..];
        let places = rest[..digits].bytes().chain(std::iter::repeat(b'0')).take(6);
        Ok(places.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')))
    }

    /// Minutes ahead of UTC.
    fn zone(&mut self, between: &str) -> Result<i64, RtcError> {
        let sign = match self.take(1)? {
            "Z" | "z" => return Ok(0),
            "+" => 1,
            "-" => -1,
            _ => return Err(RtcError::Parse),
        };
        let hours = self.number(2)?;
        self.literal(between)?;
        let minutes = self.number(2)?;
        if hours > 23 || minutes > 59 {
            return Err(RtcError::Parse);
        }
        Ok(sign * (i64::from(hours) * 60 + i64::from(minutes)))
    }

    fn end(&self) -> Result<(), RtcError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(RtcError::Parse)
        }
    }
}

fn read_rfc3339(text: &str) -> Result<Tick, RtcError> {
    let mut reader = Reader(text);
    let year = reader.number(4)?;
    reader.literal("-")?;
    let month = reader.number(2)?;
    reader.literal("-")?;
    let day = reader.number(2)?;
    reader.literal("T")?;
    let (hour, minute, second) = reader.clock()?;
    let microsecond = reader.fraction()?;
    let ahead = reader.zone(":")?;
    reader.end()?;
    let date = DateTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
        microsecond,
    };
    date.tick()?.add(-ahead, MINUTE)
}

fn read_rfc2822(text: &str) -> Result<Tick, RtcError> {
    let mut reader = Reader(text);
    reader.take(3)?;
    reader.literal(",")?;
    let day = reader.day()?;
    reader.literal(" ")?;
    let month = reader.month()?;
    reader.literal(" ")?;
    let year = reader.number(4)?;
    reader.literal(" ")?;
    let (hour, minute, second) = reader.clock()?;
    reader.literal(" ")?;
    let ahead = match reader.0 {
        "GMT" | "UT" => 0,
        _ => {
            let ahead = reader.zone("")?;
            reader.end()?;
            ahead
        }
    };
    let date = DateTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
        microsecond: 0,
    };
    date.tick()?.add(-ahead, MINUTE)
}

/// `Thu Feb 29 21:37:42 2024`, in UTC.
fn read_asctime(text: &str) -> Result<Tick, RtcError> {
    let mut reader = Reader(text.trim_end_matches('\n'));
    reader.take(3)?;
    reader.literal(" ")?;
    let month = reader.month()?;
    reader.literal(" ")?;
    let day = reader.day()?;
    reader.literal(" ")?;
    let (hour, minute, second) = reader.clock()?;
    reader.literal(" ")?;
    let year = reader.number(4)?;
    reader.end()?;
    let date = DateTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
        microsecond: 0,
    };
    date.tick()
}

fn read(out: Out<Tick>, text: Text, parse: impl FnOnce(&str) -> Result<Tick, RtcError>) -> SceResult {
    let body = || {
        let bytes = text.bytes(LIMIT).ok_or(RtcError::Pointer)?;
        if out.is_null() {
            return Err(RtcError::Pointer);
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| RtcError::Parse)?;
        out.write(parse(text)?);
        Ok(())
    };
    body().into()
}

/// Reads a date in RFC 3339's form.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcParseRFC3339(out: Out<Tick>, text: Text) -> SceResult {
    read(out, text, read_rfc3339)
}

/// Reads a date in any of the three forms.
#[guest_fn(libSceRtc)]
pub(crate) extern "sysv64" fn sceRtcParseDateTime(out: Out<Tick>, text: Text) -> SceResult {
    read(out, text, |text| match text.as_bytes() {
        [digit, ..] if digit.is_ascii_digit() => read_rfc3339(text),
        [_, _, _, b',', ..] => read_rfc2822(text),
        _ => read_asctime(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc() -> Tick {
        let date = DateTime {
            year: 2024,
            month: 3,
            day: 1,
            hour: 0,
            minute: 7,
            second: 42,
            microsecond: 120_000,
        };
        date.tick().unwrap()
    }

    fn written(minutes: i32, format: extern "sysv64" fn(Out<u8>, In<Tick>, i32) -> SceResult) -> String {
        let mut bytes = [0xff_u8; 64];
        let tick = utc();
        // SAFETY: places of ours.
        let (out, tick) = unsafe { (Out::new(bytes.as_mut_ptr()), In::new(&raw const tick)) };
        assert_eq!(format(out, tick, minutes), SceResult::OK);
        let length = bytes.iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    fn parsed(text: &std::ffi::CStr) -> Result<Tick, SceResult> {
        let mut tick = Tick(1);
        // SAFETY: places of ours.
        let (out, text) = unsafe { (Out::new(&raw mut tick), Text::new(text.as_ptr().cast())) };
        match sceRtcParseDateTime(out, text) {
            SceResult::OK => Ok(tick),
            error => Err(error),
        }
    }

    #[test]
    fn dates_are_written() {
        assert_eq!(written(0, sceRtcFormatRFC3339), "2024-03-01T00:07:42.12Z");
        assert_eq!(written(90, sceRtcFormatRFC3339), "2024-03-01T01:37:42.12+01:30");
        assert_eq!(written(-30, sceRtcFormatRFC3339), "2024-02-29T23:37:42.12-00:30");
        assert_eq!(written(0, sceRtcFormatRFC2822), "Fri, 01 Mar 2024 00:07:42 +0000");
        assert_eq!(
            written(-150, sceRtcFormatRFC2822),
            "Thu, 29 Feb 2024 21:37:42 -0230"
        );
    }

    #[test]
    fn dates_are_read_in_three_forms() {
        let whole = Tick(utc().0 - 120_000);
        assert_eq!(parsed(c"2024-03-01T00:07:42.12Z"), Ok(utc()));
        assert_eq!(parsed(c"2024-02-29T23:37:42.12-00:30"), Ok(utc()));
        assert_eq!(parsed(c"2024-03-01T01:37:42+01:30"), Ok(whole));
        assert_eq!(
            parsed(c"2024-03-01T00:07:42.1234567Z"),
            Ok(Tick(whole.0 + 123_456))
        );
        assert_eq!(parsed(c"Thu, 29 Feb 2024 21:37:42 -0230"), Ok(whole));
        assert_eq!(parsed(c"Fri, 1 Mar 2024 00:07:42 GMT"), Ok(whole));
        assert_eq!(parsed(c"Fri Mar  1 00:07:42 2024"), Ok(whole));
        for wrong in [
            c"",
            c"2024",
            c"2024-03-01 00:07:42Z",
            c"2024-03-01T00:07:42.Z",
            c"2024-03-01T00:07:42",
            c"2024-03-01T00:07:42Zz",
            c"Thu, 29 Feb 2024 21:37:42 -23",
            c"Fri Mai  1 00:07:42 2024",
            c"\xff\xfe",
        ] {
            assert_eq!(parsed(wrong), Err(RtcError::Parse.into()), "{wrong:?}");
        }
        assert_eq!(parsed(c"2023-02-29T00:00:00Z"), Err(RtcError::Day.into()));
        assert_eq!(parsed(c"0001-01-01T00:00:00+00:01"), Err(RtcError::Value.into()));
    }
}
