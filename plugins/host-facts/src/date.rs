//! Timestamps, as certificates have them.

use serde_json::Value;

use crate::document::number;

/// Number of seconds in a day.
pub(crate) const DAY: f64 = 86_400.0;

/// Returns the seconds since 1970 of a timestamp, which is a number of seconds, or text as in RFC
/// 3339 (`2026-01-02T03:04:05Z`).
pub(crate) fn moment(value: &Value) -> Option<f64> {
    number(value).or_else(|| rfc3339(value.as_str()?))
}

fn rfc3339(text: &str) -> Option<f64> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at_checked(at)?,
        None => (time, "Z"),
    };
    let (time, _fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.splitn(3, ':').map(digits);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if !((1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60) {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset_seconds(offset)?;
    // The conversion is exact, because a year has four digits.
    Some(seconds as f64)
}

fn offset_seconds(offset: &str) -> Option<i64> {
    let sign = match offset.get(..1)? {
        "Z" | "z" => return (offset.len() == 1).then_some(0),
        "+" => 1,
        _ => -1,
    };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    Some(sign * (digits(hours)? * 3600 + digits(minutes)? * 60))
}

/// Parses a number of one to four digits.
fn digits(text: &str) -> Option<i64> {
    let good = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    good.then(|| text.parse().ok()).flatten()
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar. Years start in March here,
/// so that the leap day is the last day of a year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moments_are_seconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-02-29T12:00:00Z", 951_825_600.0),
            ("2026-11-21T16:56:00.25Z", 1_795_280_160.0),
            ("2026-11-21T18:56:00+02:00", 1_795_280_160.0),
            ("2026-11-21 16:56:00", 1_795_280_160.0),
            ("1950-01-01T00:00:00Z", -631_152_000.0),
        ] {
            assert_eq!(moment(&json!(text)), Some(seconds), "{text}");
        }
        assert_eq!(moment(&json!(12.5)), Some(12.5));
        assert_eq!(moment(&json!("12")), Some(12.0));
        for text in ["", "soon", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T1:2:3+x", "20260-01-01T00:00:00Z"] {
            assert_eq!(moment(&json!(text)), None, "{text}");
        }
    }
}
