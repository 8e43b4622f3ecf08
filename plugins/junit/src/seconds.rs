//! How long a test case took.

/// Characters of a number that is taken as it is written. The longest that tools write has about 20.
const MAX_PLAIN: usize = 32;

/// Seconds from which on a number is no duration but a mistake: 30,000 years.
const MAX_SECONDS: f64 = 1e12;

/// The value of an attribute `time` as decimal text: digits, with a point among them at most. `None` if it is no number, or less than nothing.
pub(crate) fn seconds(raw: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(raw).ok()?.trim();
    // Nearly all are written in this way already: to check that costs less than to read a number.
    if is_plain(text.as_bytes()) {
        return Some(text.to_owned());
    }
    let seconds: f64 = text.parse().ok()?;
    // The sign of nothing goes with `abs`; what is no number is not in the range.
    (0.0..MAX_SECONDS).contains(&seconds).then(|| seconds.abs().to_string())
}

/// Digits, and a point between them at most; so few before it that it is a duration.
fn is_plain(text: &[u8]) -> bool {
    let mut point = None;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {}
            b'.' if point.is_none() => point = Some(at),
            _ => return false,
        }
    }
    let whole = point.unwrap_or(text.len());
    text.len() <= MAX_PLAIN && (1..=12).contains(&whole) && whole + 1 != text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_decimal_text_and_nothing_else_does() {
        for (raw, want) in [
            ("0", Some("0")),
            ("0.000176585", Some("0.000176585")),
            (" 12.50 ", Some("12.50")),
            ("1e-3", Some("0.001")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            ("+1.5", Some("1.5")),
            ("-0", Some("0")),
            ("1.5E2", Some("150")),
            ("999999999999", Some("999999999999")),
            ("1000000000000", None),
            ("-1", None),
            ("inf", None),
            ("NaN", None),
            ("1,234.5", None),
            ("0.1s", None),
            ("1.2.3", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(seconds(raw.as_bytes()).as_deref(), want, "{raw}");
        }
        assert_eq!(seconds(b"\xff"), None);
        let long = format!("0.{}", "1".repeat(100));
        assert_eq!(seconds(long.as_bytes()).as_deref(), Some("0.1111111111111111"));
    }
}
