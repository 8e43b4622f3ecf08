//! Dates in lists.

use std::fmt;

/// A date in the Gregorian calendar. Later dates compare as greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Parses a date such as `2027-03-31`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (year, month, day) = (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
        let (month, day) = (u8::try_from(month).ok()?, u8::try_from(day).ok()?);
        let good = parts.next().is_none() && (1..=length(year, month)?).contains(&day);
        good.then_some(Self { year, month, day })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Parses a number of exactly this many digits.
fn digits(text: &str, count: usize) -> Option<u16> {
    let good = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    good.then(|| text.parse().ok()).flatten()
}

/// Returns the number of days in a month.
fn length(year: u16, month: u8) -> Option<u8> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => Some(if leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_compared() {
        let parse = |text: &str| Date::parse(text).unwrap();
        assert!(parse("2027-03-31") < parse("2027-04-01"));
        assert!(parse("2026-12-31") < parse("2027-01-01"));
        assert_eq!(parse(" 2028-02-29 ").to_string(), "2028-02-29");
    }

    #[test]
    fn an_invalid_date_is_rejected() {
        for text in ["", "soon", "2027-3-31", "2027-02-29", "2100-02-29", "2027-13-01", "2027-00-01", "2027-01-00"] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        for text in ["2027-04-31", "2027-04-01-01", "2027-04-01T00:00:00Z", "+027-04-01", "20270401"] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
    }
}
