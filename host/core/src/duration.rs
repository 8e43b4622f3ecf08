//! Durations as users and configurations write them: `90s`, `1h30m`, `500ms`. The syntax is that of
//! Go's `time.ParseDuration`, which common environment variables use.

use std::time::Duration;

use crate::text::first_chars;

/// Nanoseconds per unit. Longer names come first, so that `ms` is not read as `m`.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The longest duration in whole seconds, about 584 years.
pub const MAX_SECONDS: u64 = u64::MAX / 1_000_000_000;

const MAX_TEXT: usize = 64;

/// Error while parsing a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text does not have the form of a duration.
    #[error("invalid duration `{0}`: write numbers with units, such as `90s`, `1h30m` or `500ms`")]
    Invalid(String),
    /// A number has no unit.
    #[error("invalid duration `{0}`: the unit is missing: write `{0}s`, `{0}m` or `{0}h`")]
    NoUnit(String),
    /// The duration is negative.
    #[error("invalid duration `{0}`: it is negative")]
    Negative(String),
    /// The duration exceeds the maximum of about 584 years.
    #[error("invalid duration `{0}`: it is too long")]
    TooLong(String),
}

/// Parses a duration: `0`, or one or more decimal numbers with a unit each. Units are `ns`, `us`,
/// `µs`, `ms`, `s`, `m` and `h`. Fractions of a nanosecond are dropped.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let shown = || first_chars(text, MAX_TEXT).to_owned();
    if text.len() > MAX_TEXT {
        return Err(DurationError::Invalid(shown()));
    }
    if text.starts_with('-') {
        return Err(DurationError::Negative(shown()));
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total: u64 = 0;
    loop {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(DurationError::Invalid(shown()));
        }
        if after.is_empty() {
            return Err(DurationError::NoUnit(shown()));
        }
        let (unit, after) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((*unit, after.strip_prefix(name)?)))
            .ok_or_else(|| DurationError::Invalid(shown()))?;
        let part = nanoseconds(whole, fraction, unit).ok_or_else(|| DurationError::TooLong(shown()))?;
        total = total.checked_add(part).ok_or_else(|| DurationError::TooLong(shown()))?;
        rest = after;
        if rest.is_empty() {
            return Ok(Duration::from_nanos(total));
        }
    }
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn nanoseconds(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // This is exact: at most 18 digits of a fraction matter, and 10^18 times the longest unit fits
    // in 128 bits.
    let fraction = fraction.get(..18).unwrap_or(fraction);
    let scale = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let digits: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let part = u64::try_from(digits * u128::from(unit) / scale).ok()?;
    whole.checked_mul(unit)?.checked_add(part)
}

/// Formats a duration such that [`parse_duration`] reads the same value: `1h30m`, `1m30s`, `500ms`.
/// Longer durations become the maximum of about 584 years.
pub fn format_duration(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    if rest == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, unit) in UNITS.into_iter().rev().filter(|(name, _)| name.is_ascii()) {
        if rest >= unit {
            text.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_go_reads() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("5s", 5_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("500ms", 500_000_000),
            ("+3us", 3_000),
            ("3µs", 3_000),
            ("3μs", 3_000),
            ("1.0000000019s", 1_000_000_001),
            ("2h45m10.25s", 9_910_250_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn errors_say_what_to_write() {
        let said: Vec<String> = ["90", "", "5x", "1h 30m", "-3s", "9999999999h", ".s", "ten minutes"]
            .map(|text| parse_duration(text).unwrap_err().to_string())
            .to_vec();
        insta::assert_snapshot!(said.join("\n"));
    }

    proptest! {
        #[test]
        fn written_data_reads_back_equal(nanos: u64) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = parse_duration(&text);
        }
    }
}
