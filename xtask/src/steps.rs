//! The steps of a check. Each is announced, timed, and listed at the end.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::report;

/// The outcome of a step that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The step was skipped, with the reason.
    Skipped(String),
}

/// The completed steps.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(&'static str, String, Duration)>,
}

impl Steps {
    /// Runs a step. A failure is shown at once, with the table of all steps so far. Do not run
    /// further steps after it.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<Outcome, Error>,
    ) -> Result<(), Error> {
        report::line(format_args!("\n==== {name}"));
        let start = Instant::now();
        let outcome = work();
        let (result, time) = self.record(name, &outcome, start.elapsed());
        report::line(format_args!("==== {name}: {result} ({time})"));
        match outcome {
            Ok(_) => Ok(()),
            Err(error) => {
                report::error(&error);
                report::line(format_args!("\n{}", self.table()));
                Err(Error::Step { name })
            }
        }
    }

    /// Adds a row to the table. Returns its result and duration as text.
    fn record(&mut self, name: &'static str, outcome: &Result<Outcome, Error>, duration: Duration) -> (String, String) {
        let result = match outcome {
            Ok(Outcome::Passed) => "passed".to_owned(),
            Ok(Outcome::Skipped(reason)) => format!("skipped: {reason}"),
            Err(_) => "failed".to_owned(),
        };
        self.done.push((name, result.clone(), duration));
        (result, seconds(duration))
    }

    /// Returns the table of all steps with their durations and results.
    pub(crate) fn table(&self) -> String {
        let total = self.done.iter().map(|(_, _, duration)| *duration).sum();
        let width = self.done.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
        let mut table = String::new();
        let rows = self.done.iter().map(|(name, result, duration)| (*name, result.as_str(), *duration));
        for (name, result, duration) in rows.chain([("total", "", total)]) {
            let row = format!("{name:width$}  {:>9}  {result}", seconds(duration));
            let _ = writeln!(table, "{}", row.trim_end());
        }
        table
    }
}

/// Formats a duration: tenths of a second for short ones, minutes and seconds for long ones.
pub(crate) fn seconds(duration: Duration) -> String {
    let whole = duration.as_secs();
    if whole < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_readable() {
        assert_eq!(seconds(Duration::from_millis(1_240)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn a_skipped_step_shows_its_reason_and_a_failed_one_is_named() {
        let mut steps = Steps::default();
        steps.record("format", &Ok(Outcome::Passed), Duration::from_millis(900));
        steps.record("advisories", &Ok(Outcome::Skipped("no network".to_owned())), Duration::from_secs(1));
        steps.record("tests", &Err(Error::unexpected("two failed")), Duration::from_secs(119));

        let table = steps.table();
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows.len(), 4, "{table}");
        assert!(rows[0].starts_with("format      ") && rows[0].ends_with("0.9 s  passed"), "{table}");
        assert!(rows[1].ends_with("skipped: no network"), "{table}");
        assert!(rows[2].starts_with("tests") && rows[2].ends_with("failed"), "{table}");
        assert!(rows[3].starts_with("total") && rows[3].ends_with("2 min 00 s"), "{table}");
    }
}
