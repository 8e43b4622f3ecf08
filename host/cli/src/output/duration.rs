//! How long items took.

use plumbline_core::Item;

/// The meta key under which modules say it: seconds, as decimal text.
const KEY: &str = "duration";

/// The seconds that `item` took, if it says so in a way that makes sense.
pub(crate) fn seconds_of(item: &Item) -> Option<f64> {
    let seconds: f64 = item.meta.get(KEY)?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

/// Seconds for a person: `12 ms`, `1.9 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn short_seconds(seconds: f64) -> String {
    // Rounded before it is sorted in, so that nothing is 60 s.
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
