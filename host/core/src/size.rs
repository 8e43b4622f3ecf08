//! Sizes in bytes as users write them: `256MiB`, `1.5Gi`, `64k`.

use std::fmt;

use crate::text::first_chars;

/// The number of bytes per unit, for common units (`MiB`, `MB`) and those of Kubernetes (`Mi`,
/// `M`).
const UNITS: [(&str, u64); 20] = [
    ("B", 1),
    ("k", 1_000),
    ("K", 1_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("M", 1_000_000),
    ("MB", 1_000_000),
    ("G", 1_000_000_000),
    ("GB", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("TB", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("KiB", 1 << 10),
    ("Mi", 1 << 20),
    ("MiB", 1 << 20),
    ("Gi", 1 << 30),
    ("GiB", 1 << 30),
    ("Ti", 1 << 40),
    ("TiB", 1 << 40),
    ("", 1),
];

const MAX_TEXT: usize = 64;

/// Error while parsing a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid size `{0}`: write a number of bytes, or one with a unit, such as `256MiB`, `1.5GiB` or `64kB`")]
pub struct SizeError(pub String);

/// Parses a size: a decimal number with an optional unit, which may follow a space. Without a unit,
/// the number is in bytes. Fractions of a byte are dropped.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let error = || SizeError(first_chars(text, MAX_TEXT).to_owned());
    if text.len() > MAX_TEXT {
        return Err(error());
    }
    let end = text.bytes().position(|b| !b.is_ascii_digit() && b != b'.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end).ok_or_else(error)?;
    let unit = unit.trim_start();
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().map_err(|_| error())?;
    let fraction = fraction.get(..15).unwrap_or(fraction);
    let scale = 10u128.pow(u32::try_from(fraction.len()).map_err(|_| error())?);
    let digits: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| error())? };
    let part = u64::try_from(digits * u128::from(*unit) / scale).map_err(|_| error())?;
    whole.checked_mul(*unit).and_then(|bytes| bytes.checked_add(part)).ok_or_else(error)
}

/// A size in bytes that displays as `256 MiB`, `1.5 GiB` or `17 B`, with at most one decimal,
/// rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        let Some((name, shift)) = units.into_iter().find(|(_, shift)| self.0 >> shift > 0) else {
            return write!(f, "{} B", self.0);
        };
        let tenths = (u128::from(self.0) * 10) >> shift;
        match tenths % 10 {
            0 => write!(f, "{} {name}", tenths / 10),
            tenth => write!(f, "{}.{tenth} {name}", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_both_families_of_units() {
        for (text, bytes) in [
            ("0", 0),
            ("1024", 1024),
            ("256MiB", 256 << 20),
            ("256 MiB", 256 << 20),
            ("256Mi", 256 << 20),
            ("1.5GiB", 3 << 29),
            ("64kB", 64_000),
            ("2G", 2_000_000_000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "MiB", "1.2.3MiB", "-1", "1mib", "1 MiB extra", "99999999TiB", "256m", "1e3", "."] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shows_sizes_for_people() {
        let shown: Vec<String> = [0, 17, 1023, 1024, 1536, 256 << 20, (1 << 30) + (1 << 29), u64::MAX]
            .map(|n| Bytes(n).to_string())
            .to_vec();
        assert_eq!(shown, ["0 B", "17 B", "1023 B", "1 KiB", "1.5 KiB", "256 MiB", "1.5 GiB", "16777215.9 TiB"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9.]{0,20}[ kKMGTiBx]{0,4}") {
            let _ = parse_size(&text);
        }

        #[test]
        fn plain_numbers_are_bytes(n: u64) {
            prop_assert_eq!(parse_size(&n.to_string()), Ok(n));
        }
    }
}
