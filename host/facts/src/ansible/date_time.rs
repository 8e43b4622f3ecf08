//! The current time of the machine, in the machine's time zone.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};

use crate::gathering::Collector;
use crate::source::{Source, Unreadable};

const ZONE: &str = "/etc/localtime";

/// Size limit for a time zone file, in bytes. The largest ones have 4 KiB.
const MAX_ZONE: u64 = 256 << 10;

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let zone = match zone(gathering.source) {
        // According to `localtime(5)`, a machine without the file is in UTC.
        Err(reason) if reason.is_missing() => TimeZone::UTC,
        found => gathering.keep("date_time", found).unwrap_or(TimeZone::UTC),
    };
    gathering.set("date_time", date_time(Timestamp::now(), zone));
}

fn zone(source: &Source) -> Result<TimeZone, Unreadable> {
    let bytes = source.bytes(ZONE, MAX_ZONE)?;
    TimeZone::tzif("localtime", &bytes).map_err(|error| Unreadable::malformed(ZONE, error.to_string()))
}

fn date_time(now: Timestamp, zone: TimeZone) -> Value {
    let daylight = daylight_name(now, &zone);
    let local = now.to_zoned(zone);
    let utc = now.to_zoned(TimeZone::UTC);
    let text = |zoned: &Zoned, format: &str| zoned.strftime(format).to_string();
    let epoch = now.as_second().to_string();
    json!({
        "year": text(&local, "%Y"),
        "month": text(&local, "%m"),
        "day": text(&local, "%d"),
        "weekday": text(&local, "%A"),
        "weekday_number": text(&local, "%w"),
        "weeknumber": text(&local, "%W"),
        "hour": text(&local, "%H"),
        "minute": text(&local, "%M"),
        "second": text(&local, "%S"),
        "epoch": epoch,
        "epoch_int": epoch,
        "date": text(&local, "%Y-%m-%d"),
        "time": text(&local, "%H:%M:%S"),
        "iso8601_micro": text(&utc, "%Y-%m-%dT%H:%M:%S.%6fZ"),
        "iso8601": text(&utc, "%Y-%m-%dT%H:%M:%SZ"),
        "iso8601_basic": text(&local, "%Y%m%dT%H%M%S%6f"),
        "iso8601_basic_short": text(&local, "%Y%m%dT%H%M%S"),
        "tz": text(&local, "%Z"),
        "tz_dst": daylight.unwrap_or_else(|| text(&local, "%Z")),
        "tz_offset": text(&local, "%z"),
    })
}

/// Returns the name of daylight saving time in this zone, if it is or will be in effect within the
/// next four changes.
fn daylight_name(now: Timestamp, zone: &TimeZone) -> Option<String> {
    // A year has at most a few changes. The limit protects against a file with random content.
    std::iter::once(zone.to_offset_info(now))
        .filter(|info| info.dst().is_dst())
        .map(|info| info.abbreviation().to_owned())
        .chain(
            zone.following(now)
                .take(4)
                .filter(|change| change.dst().is_dst())
                .map(|change| change.abbreviation().to_owned()),
        )
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_in_a_zone_with_daylight_saving() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let told = date_time("2024-01-15T23:30:05.25Z".parse().unwrap(), zone);
        for (key, want) in [
            ("date", "2024-01-16"),
            ("time", "00:30:05"),
            ("weekday", "Tuesday"),
            ("weekday_number", "2"),
            ("weeknumber", "03"),
            ("epoch", "1705361405"),
            ("iso8601_micro", "2024-01-15T23:30:05.250000Z"),
            ("iso8601_basic", "20240116T003005250000"),
            ("tz", "CET"),
            ("tz_dst", "CEST"),
            ("tz_offset", "+0100"),
        ] {
            assert_eq!(told[key], want, "{key}");
        }
    }
}
