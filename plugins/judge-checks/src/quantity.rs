//! Numbers with a unit: parsing and formatting.

use plumbline_sdk::text::decimal;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A plain number.
    Number,
    /// Percent.
    Share,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

impl Kind {
    /// Returns the name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Share => "a share",
            Self::Seconds => "a duration",
            Self::Bytes => "a size",
        }
    }
}

/// A number with its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) value: f64,
    pub(crate) kind: Kind,
}

/// Units by name: the kind, and the factor.
const UNITS: [(&str, Kind, f64); 18] = [
    ("", Kind::Number, 1.0),
    ("%", Kind::Share, 1.0),
    ("ns", Kind::Seconds, 1e-9),
    ("us", Kind::Seconds, 1e-6),
    ("µs", Kind::Seconds, 1e-6),
    ("μs", Kind::Seconds, 1e-6),
    ("ms", Kind::Seconds, 1e-3),
    ("s", Kind::Seconds, 1.0),
    ("m", Kind::Seconds, 60.0),
    ("h", Kind::Seconds, 3600.0),
    ("B", Kind::Bytes, 1.0),
    ("KiB", Kind::Bytes, 1024.0),
    ("MiB", Kind::Bytes, 1_048_576.0),
    ("GiB", Kind::Bytes, 1_073_741_824.0),
    ("kB", Kind::Bytes, 1e3),
    ("KB", Kind::Bytes, 1e3),
    ("MB", Kind::Bytes, 1e6),
    ("GB", Kind::Bytes, 1e9),
];

/// Returns the kind and the factor of a unit.
pub(crate) fn unit(name: &str) -> Option<(Kind, f64)> {
    UNITS.iter().find(|(known, ..)| *known == name).map(|(_, kind, factor)| (*kind, *factor))
}

/// Parses a finite, non-negative number without a sign.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let begins_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|value: &f64| begins_well && value.is_finite())
}

/// Parses a number with a unit, or several in a row as in durations: `98 %`, `1m30s`, `64 MiB`,
/// `12`.
pub(crate) fn quantity(text: &str) -> Option<Quantity> {
    let mut rest = text.trim();
    let mut sum: Option<Quantity> = None;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (count, after) = rest.split_at_checked(digits)?;
        let after = after.trim_start();
        let letters = after.find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace()).unwrap_or(after.len());
        let (name, after) = after.split_at_checked(letters)?;
        let ((kind, factor), count) = (unit(name)?, number(count)?);
        let value = match sum {
            None => count * factor,
            // Only durations consist of several parts.
            Some(so_far) if so_far.kind == Kind::Seconds && kind == Kind::Seconds => so_far.value + count * factor,
            Some(_) => return None,
        };
        // A finite number may overflow when it is multiplied by its unit.
        sum = Some(Quantity { value, kind }).filter(|sum| sum.value.is_finite());
        sum?;
        rest = after.trim_start();
    }
    sum
}

/// Formats a quantity for people.
pub(crate) fn show(quantity: Quantity) -> String {
    let value = quantity.value;
    match quantity.kind {
        Kind::Number => decimal(value, 3),
        Kind::Share => format!("{} %", decimal(value, 2)),
        Kind::Bytes => {
            let sizes = [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1024.0)];
            let fit = sizes.into_iter().find(|(_, size)| value >= *size);
            fit.map_or_else(
                || format!("{} B", decimal(value, 0)),
                |(name, size)| format!("{} {name}", decimal(value / size, 1)),
            )
        }
        Kind::Seconds if value >= 60.0 => {
            // Whole seconds are precise enough from a minute on.
            let seconds = value.round();
            let (hours, minutes, rest) =
                ((seconds / 3600.0).floor(), ((seconds % 3600.0) / 60.0).floor(), seconds % 60.0);
            let parts = [(hours, "h"), (minutes, "m"), (rest, "s")];
            parts.iter().filter(|(count, _)| *count > 0.0).map(|(count, name)| format!("{count}{name}")).collect()
        }
        Kind::Seconds if value >= 1.0 || value == 0.0 => format!("{}s", decimal(value, 2)),
        Kind::Seconds if value >= 1e-3 => format!("{}ms", decimal(value * 1e3, 2)),
        Kind::Seconds => format!("{}µs", decimal(value * 1e6, 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_quantities_are_parsed() {
        for (text, value, kind) in [
            ("12", 12.0, Kind::Number),
            ("98 %", 98.0, Kind::Share),
            ("98.5%", 98.5, Kind::Share),
            ("1m30s", 90.0, Kind::Seconds),
            ("1h 0m 5s", 3605.0, Kind::Seconds),
            ("123.456789ms", 0.123_456_789, Kind::Seconds),
            ("98.5µs", 98.5e-6, Kind::Seconds),
            ("64 MiB", 67_108_864.0, Kind::Bytes),
            ("1.5GB", 1.5e9, Kind::Bytes),
        ] {
            let read = quantity(text).unwrap();
            assert!((read.value - value).abs() <= value * 1e-12, "{text}: {read:?}");
            assert_eq!(read.kind, kind, "{text}");
        }
        for text in [
            "",
            "ten",
            "-1",
            "1e999",
            &format!("1{}h", "0".repeat(308)),
            "5 apples",
            "1m 5",
            "5 % 5 %",
            "1 MiB 3 KiB",
            "1..2",
            "%",
            "inf",
            "NaN",
            ".",
        ] {
            assert_eq!(quantity(text), None, "{text}");
        }
    }

    #[test]
    fn quantities_are_shown_in_short_form() {
        let shown = |value, kind| show(Quantity { value, kind });
        assert_eq!(shown(27.0, Kind::Number), "27");
        assert_eq!(shown(2.5, Kind::Number), "2.5");
        assert_eq!(shown(2700.0 / 28.0, Kind::Share), "96.43 %");
        assert_eq!(shown(100.0, Kind::Share), "100 %");
        assert_eq!(shown(723.4, Kind::Seconds), "12m3s");
        assert_eq!(shown(7200.0, Kind::Seconds), "2h");
        assert_eq!(shown(59.99, Kind::Seconds), "59.99s");
        assert_eq!(shown(0.25, Kind::Seconds), "250ms");
        assert_eq!(shown(0.000_012, Kind::Seconds), "12µs");
        assert_eq!(shown(0.0, Kind::Seconds), "0s");
        assert_eq!(shown(1536.0, Kind::Bytes), "1.5 KiB");
        assert_eq!(shown(12.0, Kind::Bytes), "12 B");
    }
}
