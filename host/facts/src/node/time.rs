//! The clock of the machine, and the service that synchronizes it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use crate::gathering::Collector;
use crate::program::{Bounds, Programs};
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

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let mut told = Map::new();
    if let Ok(clock) = source.value("/sys/devices/system/clocksource/clocksource0/current_clocksource") {
        told.insert("clocksource".to_owned(), clock.into());
    }
    let mut put = |key: &str, value: Value| drop(told.insert(key.to_owned(), value));
    match keeper(source) {
        Some("chrony") => {
            put("source", "chrony".into());
            match ask_chrony(gathering) {
                Ok((synchronised, offset)) => {
                    put("synchronised", synchronised.into());
                    put("offset_seconds", offset.into());
                }
                Err(reason) => gathering.miss(KEY, reason),
            }
        }
        Some("systemd-timesyncd") => {
            put("source", "systemd-timesyncd".into());
            put("synchronised", source.exists(TIMESYNCD).into());
        }
        Some(other) => {
            put("source", other.into());
            gathering.miss(KEY, format!("{other} tells only its own clients whether the clock is right"));
        }
        None => {
            gathering.miss(KEY, "neither chronyd, systemd-timesyncd nor ntpd was found to keep the clock".to_owned())
        }
    }
    // This is last, so that the time is as close as possible to the moment at which it is read.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    put("epoch", now.as_secs_f64().into());
    gathering.own("time", told);
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

/// Asks chrony whether the clock is synchronized, and for its offset in seconds.
fn ask_chrony(gathering: &Collector<'_>) -> Result<(bool, f64), String> {
    let program = Programs::find(gathering.source, "chronyc").ok_or("no program `chronyc` in the usual directories")?;
    if !gathering.options.run_programs {
        return Err(format!("no file tells it, and {program} was not asked: `--run-programs` was not given"));
    }
    let answer = Programs::new(gathering.options).run(&program, &["-c", "-n", "tracking"], BOUNDS);
    tracking(&answer.map_err(|failure| failure.to_string())?)
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
    fn what_keeps_the_clock_is_found() {
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
