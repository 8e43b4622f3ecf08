//! Texts of results on a terminal: foreign, so nothing in them may steer it.

use plumbline_core::text::printable;

/// Characters of a text that a one-line summary shows.
const MAX_LINE: usize = 160;

/// The first line that says something, without control characters, cut to a length that a person reads.
pub(crate) fn one_line(text: &str) -> String {
    shortened(text, MAX_LINE)
}

/// The first line that says something, without control characters, cut to `most` characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut out: String = line.chars().map(printable).take(most).collect();
    if line.chars().count() > most {
        out.push('…');
    }
    out
}

/// A name on one line.
pub(crate) fn name(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// Bytes for a person.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" || value >= 10.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_steers_the_terminal() {
        assert_eq!(one_line("\n  \u{1b}[31mred\tand\u{202e} more\nnext"), "\u{fffd}[31mred and\u{fffd} more");
        assert_eq!(one_line(&"x".repeat(500)).chars().count(), MAX_LINE + 1);
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(24 << 10), "24 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
    }
}
