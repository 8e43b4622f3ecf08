//! Text for one line: names, excerpts, sizes and durations.

use plumbline_core::Item;
use plumbline_core::text::printable;

/// The most characters of a one-line excerpt.
const MAX_LINE: usize = 160;

/// The first line that is not empty, without control characters, shortened to 160 characters.
pub fn one_line(text: &str) -> String {
    shortened(text, MAX_LINE)
}

/// The first line that is not empty, without control characters, shortened to `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut out: String = line.chars().map(printable).take(most).collect();
    if line.chars().count() > most {
        out.push('…');
    }
    out
}

/// A name on one line, without control characters.
pub fn name(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// A size for people: `512 B`, `1.5 MiB`.
pub fn size(bytes: u64) -> String {
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

/// The meta key for durations: seconds, as decimal text.
const KEY: &str = "duration";

/// The duration of `item` in seconds, if it has a valid one.
pub fn seconds_of(item: &Item) -> Option<f64> {
    let seconds: f64 = item.meta.get(KEY)?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

/// A duration for people: `12 ms`, `1.9 s`, `3 min 20 s`, `2 h 5 min`.
pub fn short_seconds(seconds: f64) -> String {
    // Rounded first, so that no duration is shown as 60 s.
    let whole = seconds.round() as u64;
    if seconds < 0.9995 {
        return format!("{:.0} ms", seconds * 1000.0);
    }
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    if whole < 3600 {
        return format!("{} min {} s", whole / 60, whole % 60);
    }
    format!("{} h {} min", whole / 3600, whole % 3600 / 60)
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

    #[test]
    fn what_makes_no_sense_is_no_duration() {
        let of = |text: &str| {
            let meta = [(KEY.to_owned(), text.to_owned())].into();
            seconds_of(&Item { meta, ..Item::default() })
        };
        assert_eq!(of("1.5"), Some(1.5));
        for text in ["", "-1", "inf", "NaN", "1 s"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(seconds_of(&Item::default()), None);
    }

    #[test]
    fn seconds_are_read_at_a_glance() {
        for (seconds, text) in [
            (0.0, "0 ms"),
            (0.0123, "12 ms"),
            (0.9996, "1.0 s"),
            (1.94, "1.9 s"),
            (59.96, "1 min 0 s"),
            (200.4, "3 min 20 s"),
            (3599.6, "1 h 0 min"),
            (7500.0, "2 h 5 min"),
        ] {
            assert_eq!(short_seconds(seconds), text);
        }
    }
}
