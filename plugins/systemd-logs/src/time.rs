//! Formats times for people. The calendar takes only a few lines, so the module needs no library
//! for it.

/// Number of seconds in a day.
const DAY: u64 = 86_400;

/// Formats microseconds since 1970 as RFC 3339 in UTC, to the second. Times after the year 9999 are
/// shown as a number.
pub(crate) fn rfc3339(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    let (days, second) = (seconds / DAY, seconds % DAY);
    // Days since 1 March of the year 0, so that leap days are the last of their years. The
    // arithmetic is from "Euclidean affine functions and their application to calendar algorithms"
    // (Neri and Schneider).
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    if year > 9999 {
        return format!("{seconds} s");
    }
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (253_402_300_800, "253402300800 s"),
        ] {
            assert_eq!(rfc3339(seconds * 1_000_000), expected);
        }
        assert!(rfc3339(u64::MAX).ends_with(" s"));
    }
}
