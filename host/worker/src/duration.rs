//! Durations in the notation of Go's `time.ParseDuration`, which the variable `SONOBUOY_DONE_FILE_DELAY` uses.

use std::time::Duration;

/// A text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration: write numbers with units, such as `5s`, `1m30s` or `500ms`")]
pub struct NotADuration(String);

/// Parses a sequence of decimal numbers, each with a unit (`ns`, `us`, `µs`, `ms`, `s`, `m`, `h`) and an optional fraction, such as
/// `1h2.5s`; also `0` without a unit. A negative duration is no wait at all, so it gives zero.
///
/// # Errors
/// [`NotADuration`] for anything else, and for more than about 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, NotADuration> {
    let not_a_duration = || NotADuration(text.chars().take(100).collect());
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..)),
        Some(b'+') => (false, text.get(1..)),
        _ => (false, Some(text)),
    };
    let mut rest = unsigned.filter(|t| !t.is_empty()).ok_or_else(not_a_duration)?;
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (nanos, left) = one_part(rest).ok_or_else(not_a_duration)?;
        total = total.checked_add(nanos).ok_or_else(not_a_duration)?;
        rest = left;
    }
    let total = u64::try_from(total).map_err(|_| not_a_duration())?;
    Ok(if negative { Duration::ZERO } else { Duration::from_nanos(total) })
}

/// One number with its unit, in nanoseconds, and what follows it.
fn one_part(text: &str) -> Option<(u128, &str)> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => split_digits(after),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Longer units first: `ms` is not `m` followed by `s`.
    let units: [(&str, u128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let (left, scale) = units.iter().find_map(|(name, scale)| Some((rest.strip_prefix(name)?, *scale)))?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Digits after the 18th are far below a nanosecond of an hour.
    let fraction = fraction.get(..fraction.len().min(18))?;
    let part = if fraction.is_empty() {
        0
    } else {
        u128::from(fraction.parse::<u64>().ok()?) * scale / 10_u128.pow(u32::try_from(fraction.len()).ok()?)
    };
    Some((u128::from(whole) * scale + part, left))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_go_reads() {
        for (text, millis) in [
            ("5s", 5_000),
            ("0", 0),
            ("+5s", 5_000),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("1.s", 1_000),
            ("500ms", 500),
            ("2000us", 2),
            ("2000µs", 2),
            ("1h1m1s1ms", 3_661_001),
            ("-5s", 0),
            ("-0", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "s", ".s", "5 s", "5x", "+", "-", "1e3s", "5s5", "99999999999999999999h", "5124096h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,40}") {
            let _ = parse_duration(&text);
        }

        #[test]
        fn whole_parts_add_up(h in 0_u64..1000, m in 0_u64..1000, s in 0_u64..1000, ms in 0_u64..1000) {
            let text = format!("{h}h{m}m{s}s{ms}ms");
            let millis = ((h * 60 + m) * 60 + s) * 1000 + ms;
            prop_assert_eq!(parse_duration(&text), Ok(Duration::from_millis(millis)));
        }
    }
}
