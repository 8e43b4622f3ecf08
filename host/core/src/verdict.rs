//! The verdict of a run and its exit code.

use std::collections::BTreeMap;
use std::fmt;

use crate::judgement::VerdictStatus;
use crate::rollup::{LIST_SEPARATOR, counts_in, meanings};
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
    /// The counts of leaves decide where they exist. They may be worse than the status of the
    /// plugin, such as that of an edited archive, but they never improve it. Custom statuses count
    /// as [`meanings`] says.
    ///
    /// The result of a plugin as a whole ([`RunStatus::totals`]) counts in addition to those of its
    /// nodes. It may be worse, such as with a summary that failed.
    ///
    /// For plugins with judges ([`RunStatus::verdicts`]), the verdict on the plugin replaces the
    /// statuses and counts of its results. A missing result stays missing.
    pub fn from_run(run: &RunStatus) -> Self {
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
        for (plugin, total) in &run.totals {
            plugins.entry(plugin).or_default().look_at(&total.status, total.counts.as_ref());
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
        self.merge(plugin);
        self.unknown |= plugin.ran_nothing();
    }

    fn merge(&mut self, other: Self) {
        self.failed |= other.failed;
        self.timeout |= other.timeout;
        self.unknown |= other.unknown;
        self.good |= other.good;
        self.skipped |= other.skipped;
        self.not_read |= other.not_read;
    }

    /// Returns whether all results of the plugin were skipped.
    pub(crate) fn ran_nothing(self) -> bool {
        self.skipped && !self.good
    }

    /// Adds a result with this status, and with the counts of its leaves if they are known.
    pub(crate) fn look_at(&mut self, status: &Status, counts: Option<&Counts>) {
        let Some(counts) = counts else { return self.look_at_status(status) };
        let (root, leaves) = (Self::of(&meanings(status)), Self::of_leaves(counts));
        for seen in [root, leaves] {
            self.failed |= seen.failed;
            self.timeout |= seen.timeout;
            self.unknown |= seen.unknown;
        }
        match status.meaning() {
            Status::Failed | Status::Timeout => {}
            Status::Unknown => self.good |= leaves.good,
            Status::Skipped => self.skipped = true,
            Status::NotRead => self.not_read = true,
            // Sonobuoy also assigns `passed` to a plugin that skipped everything or has no result.
            Status::Passed | Status::Custom(_) if leaves.good => self.good = true,
            Status::Passed | Status::Custom(_) if leaves.skipped => self.skipped = true,
            Status::Passed | Status::Custom(_) if leaves.not_read => self.not_read = true,
            Status::Passed | Status::Custom(_) => self.unknown |= !leaves.failed && !leaves.timeout,
        }
    }

    /// Adds a result with this status whose leaves are unknown. A list whose names contain a comma
    /// is ambiguous. It counts as unknown, and as failed if one of its parts is a failure.
    fn look_at_status(&mut self, status: &Status) {
        let text = status.as_str();
        let is_clear = |counts: &Vec<(&str, u64)>| !counts.iter().any(|(name, _)| name.contains(LIST_SEPARATOR));
        if !text.contains(LIST_SEPARATOR) || counts_in(text).as_ref().is_some_and(is_clear) {
            return self.merge(Self::of(&meanings(status)));
        }
        for part in text.split(LIST_SEPARATOR) {
            let seen = Self::of(&meanings(&Status::from(part)));
            self.failed |= seen.failed;
            self.timeout |= seen.timeout;
        }
        self.unknown = true;
    }

    fn of_leaves(counts: &Counts) -> Self {
        let mut leaves = Self::default();
        for (status, _) in counts.iter().filter(|&(_, &n)| n > 0) {
            leaves.merge(Self::of(&meanings(&Status::from(status.as_str()))));
        }
        leaves
    }

    fn of(meanings: &[Status]) -> Self {
        let mut seen = Self::default();
        for meaning in meanings {
            match meaning {
                Status::Failed => seen.failed = true,
                Status::Timeout => seen.timeout = true,
                Status::Unknown => seen.unknown = true,
                Status::Skipped => seen.skipped = true,
                Status::NotRead => seen.not_read = true,
                Status::Passed | Status::Custom(_) => seen.good = true,
            }
        }
        seen
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
