//! The duration of a test case.

use plumbline_sdk::text::decimal;

/// Maximum number of characters of a number. The longest that tools write has about 20.
const MAX_TEXT: usize = 32;

/// Number of seconds from which a duration is considered invalid: 30,000 years.
const MAX_SECONDS: f64 = 1e12;

/// The value of an attribute `time` as decimal text: digits, with at most one point. It is stored
/// inline, because most of thousands of test cases are skipped, and their durations are dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seconds {
    text: [u8; MAX_TEXT],
    length: usize,
}

impl Seconds {
    /// Parses the value as in the file. Returns `None` if it is not a number or is negative.
    pub(crate) fn read(raw: &[u8]) -> Option<Self> {
        // Nearly all values already have this form, and checking that is cheaper than parsing a
        // number.
        if is_plain(raw) {
            return Self::of(raw);
        }
        let seconds: f64 = std::str::from_utf8(raw).ok()?.trim().parse().ok()?;
        if !(0.0..MAX_SECONDS).contains(&seconds) {
            return None;
        }
        // `abs` removes the sign of a negative zero. Nine decimals are nanoseconds.
        Self::of(decimal(seconds.abs(), 9).as_bytes())
    }

    fn of(digits: &[u8]) -> Option<Self> {
        let mut text = [0; MAX_TEXT];
        text.get_mut(..digits.len())?.copy_from_slice(digits);
        Some(Self { text, length: digits.len() })
    }

    /// Returns the text.
    pub(crate) fn to_text(self) -> String {
        String::from_utf8_lossy(self.text.get(..self.length).unwrap_or_default()).into_owned()
    }
}

/// Returns whether the text has only digits and at most one point, and few enough digits before the
/// point to be a duration.
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
    text.len() <= MAX_TEXT && (1..=12).contains(&whole) && whole + 1 != text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(raw: &[u8]) -> Option<String> {
        Seconds::read(raw).map(Seconds::to_text)
    }

    #[test]
    fn numbers_become_decimal_text_and_nothing_else_does() {
        for (raw, want) in [
            ("0", Some("0")),
            ("0.000176585", Some("0.000176585")),
            (" 12.50 ", Some("12.5")),
            ("1e-3", Some("0.001")),
            (".5", Some("0.5")),
            ("5.", Some("5")),
            ("+1.5", Some("1.5")),
            ("-0", Some("0")),
            ("1.5E2", Some("150")),
            ("1e-300", Some("0")),
            ("1e-12x", None),
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
        assert_eq!(seconds(long.as_bytes()).as_deref(), Some("0.111111111"));
    }
}
