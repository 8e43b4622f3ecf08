//! Formats durations for condition messages.

use std::time::Duration;

/// Formats whole seconds as Go prints a duration: `45s`, `5m0s`, `1h0m0s`. Fractions are dropped.
#[must_use]
pub fn go_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_below_the_largest_is_told() {
        for (seconds, text) in
            [(0, "0s"), (59, "59s"), (60, "1m0s"), (300, "5m0s"), (3600, "1h0m0s"), (90_061, "25h1m1s")]
        {
            assert_eq!(go_duration(Duration::from_secs(seconds)), text);
        }
    }
}
