//! From the status of a run to its verdict and exit code.

use std::collections::BTreeMap;
use std::fmt;

use crate::judgement::VerdictStatus;
use crate::rollup::counts_in;
use crate::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use crate::status::Status;

/// What a run comes to, and the exit code that every command giving a verdict ends with. Exit code 2 is not among them: it belongs to
/// command lines and input files that are wrong, before there is a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Complete, and everything passed: 0.
    Passed,
    /// Complete, and something failed: 1.
    Failed,
    /// A timeout, or results missing or unreadable: 3.
    Incomplete,
    /// The system failed, not what was tested: 4.
    SystemFailure,
    /// No results, or only unknown ones: 5.
    NothingToJudge,
    /// Somebody ended the run; what was gathered is kept: 130.
    Interrupted,
}

impl Verdict {
    /// The exit code of a command that ends with this verdict.
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

    /// The verdict as one word or two.
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

    /// The verdict over a run. The first that applies:
    ///
    /// 1. the run was interrupted: [`Verdict::Interrupted`];
    /// 2. its phase is `failed`: [`Verdict::SystemFailure`];
    /// 3. it is not complete, an expected result is missing (awaited, or an error stands in its place), or something ended with status
    ///    `timeout`: [`Verdict::Incomplete`], even if something else failed, because "failed" speaks of a complete run;
    /// 4. something failed: [`Verdict::Failed`];
    /// 5. nothing ran: there are no results, or only `unknown`, `skipped` and `not-read` ones: [`Verdict::NothingToJudge`];
    /// 6. something is `unknown` next to items that ran, in the same plugin or another, or a plugin has only skipped items: [`Verdict::Incomplete`], because nobody
    ///    can say how that part came out;
    /// 7. [`Verdict::Passed`]. Skipped items of a plugin that ran something, statuses of a plugin's own and items that are
    ///    `not-read` are no failures.
    ///
    /// Where judges have spoken ([`RunStatus::verdicts`]), their verdict over a plugin takes the place of the statuses and counts of its
    /// results; a result that is missing stays missing.
    #[must_use]
    pub fn from_run(run: &RunStatus) -> Self {
        Self::judge(run, [])
    }

    /// Like [`Verdict::from_run`], with further results (plugins that were not judged, with statuses and leaf counts of their whole
    /// trees) taken into account.
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

/// Leaves by status.
type Counts = BTreeMap<String, u64>;

/// What results say, as far as a verdict depends on it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) failed: bool,
    pub(crate) timeout: bool,
    pub(crate) unknown: bool,
    /// Something ran, and did not fail.
    pub(crate) good: bool,
    pub(crate) skipped: bool,
    pub(crate) not_read: bool,
}

impl Seen {
    /// The result of `entry`; `unknown` where there is none.
    pub(crate) fn look_at_entry(&mut self, entry: &PluginStatus) {
        self.look_at(entry.result_status.as_ref().unwrap_or(&Status::Unknown), entry.result_counts.as_ref());
    }

    /// What judges made of the plugin whose results were seen. Where nobody can say how it came out, it is still told from a
    /// plugin that has nothing to judge.
    fn judged(&mut self, verdict: VerdictStatus) {
        *self = match verdict {
            VerdictStatus::Passed => Self { good: true, ..Self::default() },
            VerdictStatus::Failed => Self { failed: true, ..Self::default() },
            VerdictStatus::Unknown => {
                Self { unknown: true, good: self.good || self.failed || self.timeout, ..Self::default() }
            }
        };
    }

    /// Adds a plugin. One that skipped everything and ran nothing is as good as one of which nothing is known.
    fn add(&mut self, plugin: Self) {
        self.failed |= plugin.failed;
        self.timeout |= plugin.timeout;
        self.good |= plugin.good;
        self.unknown |= plugin.unknown || plugin.ran_nothing();
    }

    /// Whether everything of a plugin with results was skipped.
    pub(crate) fn ran_nothing(self) -> bool {
        self.skipped && !self.good
    }

    /// A result whose status is `passed`. Sonobuoy gives this status also to a plugin that skipped everything, and to one without
    /// any result.
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

/// Whether a leaf has a status that `wanted` accepts.
fn has(counts: &Counts, wanted: fn(&Status) -> bool) -> bool {
    counts.iter().any(|(status, &n)| n > 0 && wanted(&Status::from(status.as_str())))
}

/// Whether a leaf with this status ran to an end that somebody read.
fn ran(status: &Status) -> bool {
    matches!(status, Status::Passed | Status::Custom(_))
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
