//! When an item started and how long it took, as far as it says so.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::item::{FlatItem, Item, Meta};

/// The meta key for the start of an item: RFC 3339, or seconds since 1970.
const START: &str = "start";

/// The meta key for the duration of an item in seconds.
const DURATION: &str = "duration";

/// The details in which Ginkgo writes when it entered and left a node of a test.
const TIMELINES: [&str; 2] = ["system-err", "failure"];

/// The maximum number of bytes of a timeline that are searched for its first time.
const MAX_SEARCHED: usize = 64 << 10;

impl Item {
    /// Returns when the item started, if it says so: in its meta, or in Ginkgo's timeline.
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        started(&self.meta, &self.details)
    }

    /// Returns how many seconds the item took, if it says so. The number is finite and not negative.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        seconds(&self.meta)
    }
}

impl FlatItem {
    /// Returns when the item started, if it says so: in its meta, or in Ginkgo's timeline.
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        started(&self.meta, &self.details)
    }

    /// Returns how many seconds the item took, if it says so. The number is finite and not negative.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        seconds(&self.meta)
    }
}

fn seconds(meta: &Meta) -> Option<f64> {
    let seconds: f64 = meta.get(DURATION)?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

fn started(meta: &Meta, details: &Map<String, Value>) -> Option<Timestamp> {
    if let Some(start) = meta.get(START) {
        return match start.parse::<f64>() {
            Ok(seconds) => Timestamp::from_duration(SignedDuration::try_from_secs_f64(seconds).ok()?).ok(),
            Err(_) => start.parse().ok(),
        };
    }
    TIMELINES.iter().find_map(|key| match details.get(*key) {
        Some(Value::String(text)) => first_time(text),
        _ => None,
    })
}

/// Returns the first time in a timeline of Ginkgo, such as ` @ 07/30/26 13:22:20.123`. It has no
/// time zone; the suite's containers run in UTC.
fn first_time(text: &str) -> Option<Timestamp> {
    let end = text.floor_char_boundary(MAX_SEARCHED);
    text.get(..end)?.split(" @ ").skip(1).find_map(|rest| {
        let day = rest.find([' ', '\n', '('])?;
        let time = rest.get(day + 1..)?;
        let length = time.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(time.len());
        let stamp = rest.get(..day + 1 + length)?;
        let time = DateTime::strptime("%m/%d/%y %H:%M:%S%.f", stamp).ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str) -> Item {
        Item { details: [("failure".to_owned(), text.into())].into_iter().collect(), ..Item::default() }
    }

    #[test]
    fn a_start_is_in_the_meta_or_in_the_timeline_of_ginkgo() {
        let started = |item: &Item| item.started().map(Timestamp::as_millisecond);
        let meta = |text: &str| Item { meta: [(START.to_owned(), text.to_owned())].into(), ..Item::default() };
        assert_eq!(started(&meta("1970-01-01T00:00:01.5Z")), Some(1500));
        assert_eq!(started(&meta("1764109200.25")), Some(1_764_109_200_250));
        for invalid in ["NaN", "inf", "1e300", "-1e300"] {
            assert_eq!(started(&meta(invalid)), None, "{invalid}");
        }
        let ginkgo = "x > Enter [BeforeEach] [sig-node] Pods - /src/f.go:1 @ 01/02/70 00:00:00.25 (1ms)\n< Exit @ 01/02/70 00:00:01";
        assert_eq!(started(&failed(ginkgo)), Some(86_400_250));
        assert_eq!(started(&failed("mail @ noon\n @ 01/02/70 00:00:01\n")), Some(86_401_000));
        for nothing in ["", "a @ b", " @ 13/40/70 00:00:00", " @ 01/02/70"] {
            assert_eq!(started(&failed(nothing)), None, "{nothing}");
        }
        assert_eq!(started(&meta("yesterday")), None);
    }

    #[test]
    fn only_possible_durations_count() {
        let seconds = |text: &str| {
            FlatItem { meta: [(DURATION.to_owned(), text.to_owned())].into(), ..FlatItem::default() }.seconds()
        };
        assert_eq!(seconds("0.25"), Some(0.25));
        for wrong in ["", "-1", "NaN", "inf", "1s"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
