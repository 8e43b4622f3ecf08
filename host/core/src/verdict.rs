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
    /// 5. nothing is there, or everything is `unknown`: [`Verdict::NothingToJudge`];
    /// 6. something is `unknown` beside things that are not: [`Verdict::Incomplete`], because nobody can say how that part came out;
    /// 7. [`Verdict::Passed`]. Skipped items and statuses of a plugin's own are no failures.
    ///
    /// Where judges have spoken ([`RunStatus::verdicts`]), their verdict over a plugin takes the place of the statuses and counts of its
    /// results; a result that is missing stays missing.
    #[must_use]
    pub fn from_run(run: &RunStatus) -> Self {
        Self::judge(run, [])
    }

    /// Like [`Verdict::from_run`], with further results (statuses and leaf counts of whole trees of plugins that were not judged) taken
    /// into account.
    #[must_use]
    pub fn judge<'a>(run: &'a RunStatus, more: impl IntoIterator<Item = (&'a Status, Option<&'a Counts>)>) -> Self {
        if run.interrupted {
            return Self::Interrupted;
        }
        if run.status == RunPhase::Failed {
            return Self::SystemFailure;
        }
        let entries = run.plugins.as_deref().unwrap_or_default();
        let missing =
            run.status != RunPhase::Complete || entries.iter().any(|entry| entry.status != EntryStatus::Complete);
        let verdicts = run.verdicts.as_ref();
        let is_judged = |plugin: &str| verdicts.is_some_and(|verdicts| verdicts.contains_key(plugin));
        let results = entries
            .iter()
            .filter(|entry| !is_judged(&entry.plugin))
            .map(|entry| (entry.result_status.as_ref().unwrap_or(&Status::Unknown), entry.result_counts.as_ref()));
        let mut seen = Seen::default();
        for (status, counts) in results.chain(more) {
            seen.look_at(status, counts);
        }
        for (plugin, verdict) in verdicts.into_iter().flatten() {
            let of_plugin = entries.iter().filter(|entry| entry.plugin == *plugin);
            seen.judged(verdict.status, of_plugin);
        }
        match seen {
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

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    failed: bool,
    timeout: bool,
    unknown: bool,
    good: bool,
}

impl Seen {
    /// What judges made of a plugin with these results. Where nobody can say how it came out, it is still told
    /// from a plugin that has nothing to judge.
    fn judged<'a>(&mut self, verdict: VerdictStatus, entries: impl Iterator<Item = &'a PluginStatus>) {
        match verdict {
            VerdictStatus::Passed => self.good = true,
            VerdictStatus::Failed => self.failed = true,
            VerdictStatus::Unknown => {
                self.unknown = true;
                let mut own = Self::default();
                for entry in entries {
                    if let Some(status) = &entry.result_status {
                        own.look_at(status, entry.result_counts.as_ref());
                    }
                }
                self.good |= own.good || own.failed || own.timeout;
            }
        }
    }

    fn look_at(&mut self, status: &Status, counts: Option<&Counts>) {
        self.timeout |= counts.is_some_and(|counts| counts.get("timeout").is_some_and(|&n| n > 0));
        match status {
            Status::Failed => self.failed = true,
            Status::Timeout => self.timeout = true,
            Status::Unknown => self.unknown = true,
            Status::Passed | Status::Skipped => self.good = true,
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

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
