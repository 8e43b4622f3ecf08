//! The clock of the machine, and the service that synchronizes it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::collector::{Collector, present};
use crate::program::{Bounds, ask};
use crate::source::Source;

/// The file that `systemd-timesyncd` touches when it sets the clock, and the directory that exists
/// while it runs.
const TIMESYNCD: &str = "/run/systemd/timesync/synchronized";
const TIMESYNCD_RUNS: &str = "/run/systemd/timesync";

/// Files that show that `chronyd` or `ntpd` is running.
const CHRONY: [&str; 4] =
    ["/run/chrony/chronyd.pid", "/run/chronyd.pid", "/run/chrony/chronyd.sock", "/run/chrony.d/chronyd.pid"];
const NTPD: [&str; 2] = ["/run/ntpd.pid", "/var/run/ntpd.pid"];

const BOUNDS: Bounds = Bounds { patience: std::time::Duration::from_secs(5), bytes: 4096 };

const KEY: &str = "plumbline_facts.time.synchronised";

pub(super) fn gather(collector: &mut Collector<'_>) {
    let source = collector.source;
    let keeper = keeper(source);
    let state = match keeper {
        // chrony reports whether the clock is synchronized, and its offset in seconds.
        Some("chrony") => ask(collector, "chronyc", &["-c", "-n", "tracking"], BOUNDS)
            .and_then(|answer| tracking(&answer))
            .map(|(synchronised, offset)| (synchronised, Some(offset))),
        Some("systemd-timesyncd") => Ok((source.exists(TIMESYNCD), None)),
        Some(other) => Err(format!("only clients of {other} can read whether the clock is synchronized")),
        None => Err("found no time service: neither chronyd, systemd-timesyncd nor ntpd".to_owned()),
    };
    let state = state.map_err(|reason| collector.miss(KEY, reason)).ok();
    let clock = source.value("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok();
    // This is last, so that the time is as close as possible to the moment at which it is read.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    collector.own(
        "time",
        present(json!({
            "clocksource": clock,
            "source": keeper,
            "synchronised": state.map(|(synchronised, _)| synchronised),
            "offset_seconds": state.and_then(|(_, offset)| offset),
            "epoch": now.as_secs_f64(),
        })),
    );
}

fn keeper(source: &Source) -> Option<&'static str> {
    let there = |files: &[&str]| files.iter().any(|file| source.exists(file));
    if there(&CHRONY) {
        Some("chrony")
    } else if source.is_directory(TIMESYNCD_RUNS) {
        Some("systemd-timesyncd")
    } else if there(&NTPD) {
        Some("ntpd")
    } else {
        None
    }
}

/// Parses comma-separated fields. The fifth is the offset, the last is the leap status.
fn tracking(answer: &str) -> Result<(bool, f64), String> {
    let fields: Vec<&str> = answer.trim().split(',').collect();
    let offset = fields.get(4).and_then(|field| field.parse::<f64>().ok()).filter(|offset| offset.is_finite());
    match (offset, fields.last()) {
        (Some(offset), Some(leap)) if fields.len() >= 14 => Ok((*leap != "Not synchronised", offset)),
        _ => Err("failed to parse the output of chronyc".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn the_time_service_is_found() {
        let tree = Tree::new();
        assert_eq!(keeper(&Source::new(tree.root())), None);
        tree.file("/run/systemd/timesync/synchronized", "");
        assert_eq!(keeper(&Source::new(tree.root())), Some("systemd-timesyncd"));
        tree.file("/run/chrony/chronyd.pid", "7\n");
        assert_eq!(keeper(&Source::new(tree.root())), Some("chrony"));
    }

    #[test]
    fn chrony_tells_offset_and_state() {
        let answer = "A9FEA97B,169.254.169.123,4,1709560805.1,0.000012,-0.000005,0.00002,-7.1,0.0,0.01,0.0003,0.0002,16.1,Normal\n";
        assert_eq!(tracking(answer), Ok((true, 0.000_012)));
        assert_eq!(tracking(&answer.replace("Normal", "Not synchronised")), Ok((false, 0.000_012)));
        assert!(tracking("506 Cannot talk to daemon").is_err());
    }
}
