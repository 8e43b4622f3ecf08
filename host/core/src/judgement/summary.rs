//! The summary of a verdict: the counts that the status of a run carries, and a sentence for users.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judgement::document::{ClassCount, PluginVerdict, VerdictStatus};
use crate::judgement::judging::OTHER_CLASSES;
use crate::judgement::ruling::CheckOutcome;

/// The maximum number of classes in a summary. A status must fit into an annotation, and a sentence
/// on a screen.
pub const MAX_SUMMARY_CLASSES: usize = 8;

/// The counts of the verdict on one plugin. Parsing is lenient.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct VerdictSummary {
    /// The verdict.
    pub status: VerdictStatus,
    /// The number of leaves that failed or timed out, whatever the rulings.
    pub failures: u64,
    /// The number of these leaves that do not count.
    pub excused: u64,
    /// The number of leaves that count as failures, whatever their status.
    pub counting: u64,
    /// The number of leaves with unknown status and without a ruling.
    #[serde(skip_serializing_if = "is_zero")]
    pub unknown: u64,
    /// The number of checks.
    pub checks: u64,
    /// The number of checks that failed.
    pub checks_failed: u64,
    /// The number of checks that could not be evaluated.
    #[serde(skip_serializing_if = "is_zero")]
    pub checks_unknown: u64,
    /// The number of judges that did not finish.
    #[serde(skip_serializing_if = "is_zero")]
    pub judges_failed: u64,
    /// The most frequent classes, at most [`MAX_SUMMARY_CLASSES`]. The others are combined as
    /// `other-classes`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassCount>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl PluginVerdict {
    /// Returns the summary of the verdict.
    #[must_use]
    pub fn summary(&self) -> VerdictSummary {
        let checks = |outcome| self.checks.iter().filter(|check| check.check.outcome == outcome).count() as u64;
        VerdictSummary {
            status: self.status,
            failures: self.failures,
            excused: self.excused,
            counting: self.counting,
            unknown: self.unknown,
            checks: self.checks.len() as u64,
            checks_failed: checks(CheckOutcome::Failed),
            checks_unknown: checks(CheckOutcome::Unknown),
            judges_failed: self.chain.iter().filter(|judge| judge.error.is_some()).count() as u64,
            classes: most_frequent(&self.classes),
        }
    }
}

fn most_frequent(classes: &BTreeMap<String, ClassCount>) -> BTreeMap<String, ClassCount> {
    let mut sorted: Vec<_> = classes.iter().collect();
    // Classes that count come first: excused failures must not hide those that fail a run.
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse((count.counting > 0, count.items)));
    let room = if sorted.len() > MAX_SUMMARY_CLASSES { MAX_SUMMARY_CLASSES - 1 } else { MAX_SUMMARY_CLASSES };
    let mut kept = BTreeMap::new();
    for (at, (class, count)) in sorted.into_iter().enumerate() {
        let class = if at < room { class.as_str() } else { OTHER_CLASSES };
        let sum: &mut ClassCount = kept.entry(class.to_owned()).or_default();
        sum.items = sum.items.saturating_add(count.items);
        sum.counting = sum.counting.saturating_add(count.counting);
        sum.failures = sum.failures.saturating_add(count.failures);
    }
    kept
}

impl VerdictSummary {
    /// Returns the verdict and its reasons, such as `passed: 4 failures, all excused: 3
    /// known-failure, 1 flaky; 7 of 7 checks`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut parts = vec![self.failures_part()];
        if self.counting > 0 {
            let verb = if self.counting == 1 { "counts" } else { "count" };
            parts.push(format!("{} {verb}: {}", self.counting, self.named(|count| count.counting)));
        }
        if self.checks > 0 {
            let bad = self.checks_failed.saturating_add(self.checks_unknown);
            parts.push(format!("{} of {} checks", self.checks.saturating_sub(bad), self.checks));
        }
        if self.unknown > 0 {
            parts.push(format!("{} of unknown status", self.unknown));
        }
        if self.judges_failed > 0 {
            let judges = if self.judges_failed == 1 { "judge" } else { "judges" };
            parts.push(format!("{} {judges} could not finish", self.judges_failed));
        }
        format!("{}: {}", self.status, parts.join("; "))
    }

    fn failures_part(&self) -> String {
        let failures = match self.failures {
            0 => return "no failures".to_owned(),
            1 => "1 failure".to_owned(),
            n => format!("{n} failures"),
        };
        // Excused failures are not counted per class. If no item of a class counts, all its
        // failures are excused.
        let named = self.named(|count| if count.counting == 0 { count.failures } else { 0 });
        let which = if named.is_empty() { String::new() } else { format!(": {named}") };
        match self.excused {
            0 => failures,
            1 if self.failures == 1 => format!("{failures}, excused{which}"),
            n if n == self.failures => format!("{failures}, all excused{which}"),
            n => format!("{failures}, {n} excused{which}"),
        }
    }

    /// Lists the classes with a nonzero count, highest count first.
    fn named(&self, of: impl Fn(&ClassCount) -> u64) -> String {
        let mut classes: Vec<(&str, u64)> =
            self.classes.iter().map(|(class, count)| (class.as_str(), of(count))).filter(|&(_, n)| n > 0).collect();
        classes.sort_by_key(|&(class, n)| (std::cmp::Reverse(n), class));
        classes.iter().map(|(class, n)| format!("{n} {class}")).collect::<Vec<_>>().join(", ")
    }
}
