use super::*;

fn schedule(cron: &str, zone: &str) -> Schedule {
    Schedule { cron: cron.parse().unwrap(), zone: zone.parse().unwrap(), keep: KeepLimits::default() }
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The first times from the start of 2026 on, in UTC.
fn first(cron: &str, zone: &str, count: usize) -> Vec<String> {
    let schedule = schedule(cron, zone);
    let times = schedule.times(time("2025-12-31T23:59:59Z"), time("2027-01-01T00:00:00Z"));
    times.take(count).map(|time| time.to_string()).collect()
}

#[test]
fn expressions_mean_what_they_mean_in_kubernetes() {
    for (cron, expected) in [
        ("0 3 * * *", ["2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"]),
        ("*/20 * * * *", ["2026-01-01T00:00:00Z", "2026-01-01T00:20:00Z"]),
        ("50/5 * * * *", ["2026-01-01T00:50:00Z", "2026-01-01T00:55:00Z"]),
        ("5,10-11 0 * * *", ["2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z"]),
        ("0 0 * * mon-TUE", ["2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"]),
        ("0 0 29 FEB,may *", ["2026-05-29T00:00:00Z", ""]),
        // If both days are limited, one of them suffices. Otherwise both must match.
        ("0 0 3 * 0", ["2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z"]),
        ("0 0 */10 * 4", ["2026-01-01T00:00:00Z", "2026-01-08T00:00:00Z"]),
        ("0 0 ? * 5", ["2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z"]),
        ("@weekly", ["2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"]),
    ] {
        let expected: Vec<&str> = expected.into_iter().filter(|time| !time.is_empty()).collect();
        assert_eq!(first(cron, "Etc/UTC", 2), expected, "{cron}");
    }
}

#[test]
fn times_are_local_times_of_the_zone() {
    assert_eq!(first("0 3 1 1,7 *", "Europe/Paris", 2), ["2026-01-01T02:00:00Z", "2026-07-01T01:00:00Z"]);
    assert_eq!(first("0 3 1 1 *", "europe/paris", 1), ["2026-01-01T02:00:00Z"], "names ignore case");
    // A local time that the change to summer time skips does not exist.
    assert_eq!(first("30 2 28-30 3 *", "Europe/Paris", 2), ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]);
    assert_eq!("Mars/Olympus".parse::<ScheduleZone>().unwrap_err(), ZoneError("Mars/Olympus".to_owned()));
}

#[test]
fn an_invalid_schedule_is_rejected_with_the_reason() {
    let long = "1,".repeat(200) + "1 * * * *";
    for (cron, why) in [
        ("", "it has 0 fields"),
        ("0 3 * *", "it has 4 fields"),
        ("0 0 3 * * *", "it has 6 fields"),
        ("@every 1h", "it has 2 fields"),
        ("60 * * * *", "`60` is invalid for the minute: use 0 to 59"),
        ("0 0 0 * *", "`0` is invalid for the day of the month"),
        ("0 0 * * 7", "`7` is invalid for the day of the week: use 0 to 6"),
        ("*/0 * * * *", "`*/0` is invalid for the minute"),
        ("5-1 * * * *", "`5-1` is invalid for the minute"),
        ("+5 * * * *", "`+5` is invalid for the minute"),
        ("1,,2 * * * *", "`` is invalid for the minute"),
        ("0 0 * mon *", "`mon` is invalid for the month"),
        ("99999999999 * * * *", "is invalid for the minute"),
        ("0 0 30 2 *", "no date matches"),
        ("TZ=UTC 0 3 * * *", "set the time zone with `--time-zone`"),
        (long.as_str(), "fields"),
    ] {
        let error = cron.parse::<Cron>().unwrap_err().to_string();
        assert!(error.contains(why), "{cron}: {error}");
    }
    "0 0 30 2 1".parse::<Cron>().unwrap();
}

#[test]
fn missed_runs_are_those_between_two_runs() {
    let nightly = schedule("0 3 * * *", "Etc/UTC");
    let missed = |last, now| nightly.missed(time(last), time(now));
    assert_eq!(missed("2026-11-01T03:00:00Z", "2026-11-02T03:00:00Z"), MissedRuns::default());
    let two = missed("2026-11-01T03:00:00Z", "2026-11-04T03:00:00Z");
    assert_eq!(two.times, [time("2026-11-02T03:00:00Z"), time("2026-11-03T03:00:00Z")]);
    assert_eq!(missed("2026-11-04T03:00:00Z", "2026-11-04T03:00:00Z").count, 0);
    assert_eq!(missed("2026-11-05T03:00:00Z", "2026-11-04T03:00:00Z").count, 0);
    let long = missed("1970-01-01T00:00:00Z", "2026-11-04T03:00:00Z");
    assert_eq!((long.count, long.times.len()), (399, MAX_TIMES), "the span is limited");
    assert_eq!(nightly.next(time("2026-11-01T03:00:00Z")), Some(time("2026-11-02T03:00:00Z")));
}
