//! Dates of the journal's times, in UTC, and spans of days.

use std::fmt;
use std::str::FromStr;

use time::{Date, Duration, Month, OffsetDateTime};
use truthfed::protocol::Time;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Date and time to the second, such as `2026-11-17T09:30:05Z`.
pub fn stamp(at: Time) -> String {
    match moment(at) {
        Some(it) => format!("{}T{:02}:{:02}:{:02}Z", it.date(), it.hour(), it.minute(), it.second()),
        None => format!("{} ms", at.0),
    }
}

/// Date and time to the minute, such as `2026-11-17 09:30`.
pub fn minute(at: Time) -> String {
    match moment(at) {
        Some(it) => format!("{} {:02}:{:02}", it.date(), it.hour(), it.minute()),
        None => format!("{} ms", at.0),
    }
}

/// None after the year 9999.
fn moment(Time(ms): Time) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp((ms / 1000) as i64).ok()
}

/// A calendar day in UTC, such as `2026-11-17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(Date);

/// A calendar month, such as `2026-11`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarMonth(Day);

/// Whoever wrote it: it is not a date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DateError {
    #[error("`{0}` is not a day from 1970 to 9998: write it as 2026-11-17")]
    Day(String),
    #[error("`{0}` is not a month from 1970 to 9998: write it as 2026-11")]
    Month(String),
}

/// From a moment on, and before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub from: Time,
    pub before: Time,
}

impl Period {
    pub const ALWAYS: Period = Period { from: Time(0), before: Time(u64::MAX) };

    /// From the beginning of one day to the end of another, which is in it.
    pub fn between(first: Option<Day>, last: Option<Day>) -> Period {
        Period {
            from: first.map_or(Period::ALWAYS.from, Day::begin),
            before: last.map_or(Period::ALWAYS.before, |day| day.begin().plus_ms(DAY_MS)),
        }
    }

    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at < self.before
    }
}

impl From<CalendarMonth> for Period {
    fn from(CalendarMonth(Day(first)): CalendarMonth) -> Period {
        let next = first + Duration::days(i64::from(first.month().length(first.year())));
        Period { from: Day(first).begin(), before: Day(next).begin() }
    }
}

impl Day {
    fn of(year: &str, month: &str, day: &str) -> Option<Day> {
        let is_written = [year, month, day]
            .into_iter()
            .zip([4, 2, 2])
            .all(|(digits, length)| digits.len() == length && digits.bytes().all(|digit| digit.is_ascii_digit()));
        let year: i32 = year.parse().ok().filter(|year| is_written && (1970..=9998).contains(year))?;
        let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
        Date::from_calendar_date(year, month, day.parse().ok()?).ok().map(Day)
    }

    fn begin(self) -> Time {
        Time(u64::try_from(self.0.midnight().assume_utc().unix_timestamp()).unwrap_or(0) * 1000)
    }
}

impl FromStr for Day {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Day, DateError> {
        let mut parts = text.splitn(3, '-');
        let day = (|| Day::of(parts.next()?, parts.next()?, parts.next()?))();
        day.ok_or_else(|| DateError::Day(text.to_owned()))
    }
}

impl FromStr for CalendarMonth {
    type Err = DateError;

    fn from_str(text: &str) -> Result<CalendarMonth, DateError> {
        let first = text.split_once('-').and_then(|(year, month)| Day::of(year, month, "01"));
        first.map(CalendarMonth).ok_or_else(|| DateError::Month(text.to_owned()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_its_date_in_utc() {
        assert_eq!(stamp(Time(1_793_957_405_999)), "2026-11-06T09:30:05Z");
        assert_eq!(minute(Time(1_793_957_405_999)), "2026-11-06 09:30");
        assert_eq!(stamp(Time(0)), "1970-01-01T00:00:00Z");
        assert_eq!(stamp(Time(u64::MAX)), format!("{} ms", u64::MAX));
    }

    #[test]
    fn a_month_has_all_its_days_and_no_other() {
        let [first, last]: [Day; 2] = ["2028-02-01", "2028-02-29"].map(|day| day.parse().unwrap());
        let month: CalendarMonth = "2028-02".parse().unwrap();
        assert_eq!(Period::from(month), Period::between(Some(first), Some(last)));
        let period = Period::from("2026-12".parse::<CalendarMonth>().unwrap());
        let new_year = "2027-01-01".parse::<Day>().unwrap().begin();
        assert!(period.contains(Time(new_year.0 - 1)) && !period.contains(new_year));
        assert!(Period::between(None, None).contains(Time(0)));
    }

    #[test]
    fn what_is_no_date_is_refused_with_the_form_of_one() {
        for text in ["", "2026", "2026-11", "2026-11-31", "2026-13-01", "1969-12-31", "9999-01-01", "2026-1-1", "x-y-z"]
        {
            assert_eq!(text.parse::<Day>(), Err(DateError::Day(text.to_owned())));
        }
        for text in ["", "2026", "2026-00", "2026-13", "2026-11-01", "1969-12", "+026-01"] {
            assert_eq!(text.parse::<CalendarMonth>(), Err(DateError::Month(text.to_owned())));
        }
    }
}
