//! The verdict of a run and its exit code.

use std::collections::BTreeMap;
use std::fmt;

use crate::judgement::VerdictStatus;
use crate::rollup::counts_in;
use crate::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use crate::status::Status;

/// The verdict of a run, and the exit code of every command that produces one. Exit code 2 is
/// reserved for invalid command lines and input files, before there is a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The run is complete and everything passed. Exit code 0.
    Passed,
    /// The run is complete and something failed. Exit code 1.
    Failed,
    /// There was a timeout, or results are missing or unreadable. Exit code 3.
    Incomplete,
    /// The system itself failed, not what was tested. Exit code 4.
    SystemFailure,
    /// There are no results, or only unknown ones. Exit code 5.
    NothingToJudge,
    /// The run was interrupted, and what was gathered is kept. Exit code 130.
    Interrupted,
}

impl Verdict {
    /// Returns the exit code of a command that ends with this verdict.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Incomplete => 3,
            Self::SystemFailure => 4,
            Self::NothingToJudge => 5,
            Self::Interrupted => 130,
        }
    }

    /// Returns the verdict in one or two words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
            Self::SystemFailure => "system failure",
            Self::NothingToJudge => "nothing to judge",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the verdict of a run. The first matching rule applies:
    ///
    /// 1. The run was interrupted: [`Verdict::Interrupted`].
    /// 2. Its phase is `failed`: [`Verdict::SystemFailure`].
    /// 3. The run is not complete, an expected result is missing, or something has the status
    ///    `timeout`: [`Verdict::Incomplete`]. This applies even if something else failed, because
    ///    "failed" describes a complete run.
    /// 4. Something failed: [`Verdict::Failed`].
    /// 5. Nothing ran, so there are no results, or only `unknown`, `skipped` and `not-read` ones:
    ///    [`Verdict::NothingToJudge`].
    /// 6. Something is `unknown` while other items ran, in the same plugin or another:
    ///    [`Verdict::Incomplete`], because the outcome of that part is unknown. The same applies to
    ///    a plugin with only skipped items.
    /// 7. Otherwise: [`Verdict::Passed`]. Skipped items of a plugin that ran something, custom
    ///    statuses and `not-read` items are not failures.
    ///
    /// For plugins with judges ([`RunStatus::verdicts`]), the verdict on the plugin replaces the
    /// statuses and counts of its results. A missing result stays missing.
    #[must_use]
    pub fn from_run(run: &RunStatus) -> Self {
        Self::judge(run, [])
    }

    /// Returns the verdict of a run like [`Verdict::from_run`], with further results taken into
    /// account: plugins without a verdict of judges, with the statuses and leaf counts of their
    /// whole trees.
    #[must_use]
    pub fn judge<'a>(run: &'a RunStatus, more: impl IntoIterator<Item = (&'a str, &'a Status, &'a Counts)>) -> Self {
        if run.interrupted {
            return Self::Interrupted;
        }
        if run.status == RunPhase::Failed {
            return Self::SystemFailure;
        }
        let entries = run.plugins.as_deref().unwrap_or_default();
        let missing =
            run.status != RunPhase::Complete || entries.iter().any(|entry| entry.status != EntryStatus::Complete);
        let mut plugins: BTreeMap<&str, Seen> = BTreeMap::new();
        for entry in entries {
            plugins.entry(&entry.plugin).or_default().look_at_entry(entry);
        }
        for (plugin, status, counts) in more {
            plugins.entry(plugin).or_default().look_at(status, Some(counts));
        }
        for (plugin, verdict) in run.verdicts.iter().flatten() {
            plugins.entry(plugin).or_default().judged(verdict.status);
        }
        let mut all = Seen::default();
        plugins.into_values().for_each(|plugin| all.add(plugin));
        match all {
            _ if missing => Self::Incomplete,
            Seen { timeout: true, .. } => Self::Incomplete,
            Seen { failed: true, .. } => Self::Failed,
            Seen { good: false, .. } => Self::NothingToJudge,
            Seen { unknown: true, .. } => Self::Incomplete,
            Seen { .. } => Self::Passed,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The number of leaves by status.
type Counts = BTreeMap<String, u64>;

/// The properties of results that determine a verdict.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) failed: bool,
    pub(crate) timeout: bool,
    pub(crate) unknown: bool,
    /// Whether something ran and did not fail.
    pub(crate) good: bool,
    pub(crate) skipped: bool,
    pub(crate) not_read: bool,
}

impl Seen {
    /// Adds the result of `entry`, or `unknown` if there is none.
    pub(crate) fn look_at_entry(&mut self, entry: &PluginStatus) {
        self.look_at(entry.result_status.as_ref().unwrap_or(&Status::Unknown), entry.result_counts.as_ref());
    }

    /// Replaces what was seen of a plugin with the verdict of its judges. An unknown verdict still
    /// distinguishes a plugin that ran from one with nothing to judge.
    fn judged(&mut self, verdict: VerdictStatus) {
        *self = match verdict {
            VerdictStatus::Passed => Self { good: true, ..Self::default() },
            VerdictStatus::Failed => Self { failed: true, ..Self::default() },
            VerdictStatus::Unknown => {
                Self { unknown: true, good: self.good || self.failed || self.timeout, ..Self::default() }
            }
        };
    }

    /// Adds a plugin. One that skipped everything and ran nothing counts as unknown.
    fn add(&mut self, plugin: Self) {
        self.failed |= plugin.failed;
        self.timeout |= plugin.timeout;
        self.good |= plugin.good;
        self.unknown |= plugin.unknown || plugin.ran_nothing();
    }

    /// Returns whether all results of the plugin were skipped.
    pub(crate) fn ran_nothing(self) -> bool {
        self.skipped && !self.good
    }

    /// Adds a result with status `passed`. Sonobuoy also assigns this status to a plugin that
    /// skipped everything, or that has no result.
    fn passed(&mut self, counts: Option<&Counts>) {
        let Some(counts) = counts else {
            self.good = true;
            return;
        };
        if has(counts, |status| !matches!(status, Status::Skipped | Status::NotRead)) {
            self.good = true;
        } else if has(counts, |status| *status == Status::Skipped) {
            self.skipped = true;
        } else if has(counts, |status| *status == Status::NotRead) {
            self.not_read = true;
        } else {
            self.unknown = true;
        }
    }

    fn look_at(&mut self, status: &Status, counts: Option<&Counts>) {
        self.timeout |= counts.is_some_and(|counts| counts.get("timeout").is_some_and(|&n| n > 0));
        match status {
            Status::Failed => self.failed = true,
            Status::Timeout => self.timeout = true,
            Status::Unknown => {
                self.unknown = true;
                self.good |= counts.is_some_and(|counts| has(counts, ran));
            }
            Status::Skipped => self.skipped = true,
            Status::NotRead => self.not_read = true,
            Status::Passed => self.passed(counts),
            Status::Custom(text) => match counts_in(text) {
                None => self.good = true,
                Some(parts) => {
                    for (name, _) in parts.into_iter().filter(|&(_, n)| n > 0) {
                        match Status::from(name) {
                            Status::Custom(_) => self.good = true,
                            standard => self.look_at(&standard, None),
                        }
                    }
                }
            },
        }
    }
}

fn has(counts: &Counts, wanted: fn(&Status) -> bool) -> bool {
    counts.iter().any(|(status, &n)| n > 0 && wanted(&Status::from(status.as_str())))
}

/// Returns whether a leaf with this status ran to completion and was read.
fn ran(status: &Status) -> bool {
    matches!(status, Status::Passed | Status::Custom(_))
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
