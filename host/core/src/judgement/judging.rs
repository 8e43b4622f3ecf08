//! Computes the verdict on a plugin from rulings and checks, and its summary: the counts that the status
//! of a run carries, and a sentence for users.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::judgement::document::{
    Check, CheckOutcome, ClassCount, JudgeRecord, JudgedCheck, PluginVerdict, RuledItem, Ruling, VERDICT_VERSION,
    VerdictStatus,
};
use crate::rollup::{meaning, worst};
use crate::status::Status;
use crate::text::excerpt;

/// The maximum number of items that a verdict lists, more than any test suite has tests.
pub const MAX_ITEMS: usize = 100_000;
/// The maximum number of listed items that do not count, so that there is room for those that do.
const MAX_HARMLESS: usize = 80_000;
/// The maximum size of the strings of these items, 64 MiB, which a reader of the document holds in
/// memory.
const MAX_BYTES: usize = 64 << 20;
/// The maximum size of the strings of items that do not count. The rest is reserved for those that
/// do, however long the rulings on excused items are.
const MAX_HARMLESS_BYTES: usize = 48 << 20;
/// The maximum number of different classes. Real judges have a handful.
const MAX_CLASSES: usize = 200;

/// The class of a failed leaf without a ruling.
pub const UNRULED_CLASS: &str = "failure";
/// The reason why such a leaf counts.
pub const NO_RULING: &str = "no judge ruled on it";
/// Replaces the classes beyond `MAX_CLASSES`.
pub const OTHER_CLASSES: &str = "other-classes";

/// A leaf of the tree and its latest ruling.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    /// The name of the result set.
    pub set: &'a str,
    /// The names from the root of the result set down to the leaf.
    pub path: &'a [String],
    /// The status of the leaf.
    pub status: &'a Status,
    /// The ruling and the judge that made it.
    pub ruling: Option<(&'a Ruling, &'a str)>,
}

/// Collects the output of judges and every leaf of the tree in order, and computes the verdict.
///
/// The first matching rule applies:
///
/// 1. A leaf counts, or a check failed: failed. Without a ruling, leaves that failed or timed out
///    count, and no others.
/// 2. A judge failed, a check could not be evaluated, or a leaf has unknown status and no ruling:
///    unknown. The same applies if there was nothing to judge. That is the case if there is no
///    leaf, if no leaf ran and some were skipped, or if no leaf was read and there is no check.
/// 3. Otherwise: passed.
#[derive(Debug, Clone)]
pub struct Judging {
    verdict: PluginVerdict,
    leaves: u64,
    skipped: u64,
    not_read: u64,
    bytes: usize,
}

impl Judging {
    /// Creates an empty verdict on `plugin`.
    pub fn new(plugin: impl Into<String>) -> Self {
        let verdict = PluginVerdict { version: VERDICT_VERSION, plugin: plugin.into(), ..PluginVerdict::default() };
        Self { verdict, leaves: 0, skipped: 0, not_read: 0, bytes: 0 }
    }

    /// Adds the next judge of the chain.
    pub fn judge(&mut self, record: JudgeRecord) {
        self.verdict.chain.push(record);
    }

    /// Adds a check that `judge` reported.
    pub fn check(&mut self, judge: &str, check: Check) {
        self.verdict.checks.push(JudgedCheck { check, judge: judge.to_owned() });
    }

    /// Adds the next leaf of the tree.
    pub fn leaf(&mut self, leaf: Leaf<'_>) {
        self.leaves += 1;
        let meaning = meaning(leaf.status);
        self.skipped += u64::from(meaning == Status::Skipped);
        self.not_read += u64::from(meaning == Status::NotRead);
        let worst = worst(leaf.status);
        let failed = matches!(worst, Some(Status::Failed | Status::Timeout));
        let verdict = &mut self.verdict;
        verdict.failures += u64::from(failed);
        let (ruling, judge) = match leaf.ruling {
            Some((ruling, judge)) => (ruling.clone(), judge),
            None if failed => (
                Ruling { class: UNRULED_CLASS.into(), counts: true, reason: NO_RULING.into(), source: String::new() },
                "",
            ),
            None => {
                verdict.unknown += u64::from(worst == Some(Status::Unknown));
                return;
            }
        };
        verdict.counting += u64::from(ruling.counts);
        verdict.excused += u64::from(failed && !ruling.counts);
        let known = verdict.classes.contains_key(&ruling.class) || verdict.classes.len() < MAX_CLASSES;
        let class = if known { ruling.class.as_str() } else { OTHER_CLASSES };
        let count: &mut ClassCount = verdict.classes.entry(class.to_owned()).or_default();
        count.items += 1;
        count.counting += u64::from(ruling.counts);
        count.failures += u64::from(failed);
        self.keep(leaf, ruling, judge);
    }

    fn keep(&mut self, leaf: Leaf<'_>, ruling: Ruling, judge: &str) {
        let names: usize = leaf.path.iter().map(String::len).sum();
        let size = names + leaf.set.len() + ruling.class.len() + ruling.reason.len() + ruling.source.len();
        let bytes = self.bytes.saturating_add(size);
        let (most, most_bytes) =
            if ruling.counts { (MAX_ITEMS, MAX_BYTES) } else { (MAX_HARMLESS, MAX_HARMLESS_BYTES) };
        if self.verdict.items.len() >= most || bytes > most_bytes {
            self.verdict.left_out += 1;
            return;
        }
        self.bytes = bytes;
        self.verdict.items.push(RuledItem {
            set: leaf.set.to_owned(),
            path: leaf.path.to_vec(),
            status: leaf.status.clone(),
            ruling,
            judge: judge.to_owned(),
        });
    }

    /// Returns the verdict, after all leaves were added.
    pub fn finish(self) -> PluginVerdict {
        let mut verdict = self.verdict;
        let has = |outcome| verdict.checks.iter().any(|check| check.check.outcome == outcome);
        let ran = self.leaves.saturating_sub(self.skipped).saturating_sub(self.not_read);
        let nothing = ran == 0 && (self.leaves == 0 || self.skipped > 0 || verdict.checks.is_empty());
        let failed_judge = verdict.chain.iter().any(|judge| judge.error.is_some());
        verdict.status = if verdict.counting > 0 || has(CheckOutcome::Failed) {
            VerdictStatus::Failed
        } else if failed_judge || has(CheckOutcome::Unknown) || verdict.unknown > 0 || nothing {
            VerdictStatus::Unknown
        } else {
            VerdictStatus::Passed
        };
        verdict
    }
}

/// The maximum number of classes in a summary. A status must fit into an annotation, and a sentence
/// on a screen.
pub const MAX_SUMMARY_CLASSES: usize = 8;
/// The maximum number of characters of the reason of a class in a summary.
const MAX_CLASS_REASON: usize = 48;

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
    #[serde(skip_serializing_if = "crate::is_default")]
    pub unknown: u64,
    /// The number of checks.
    pub checks: u64,
    /// The number of checks that failed.
    pub checks_failed: u64,
    /// The number of checks that could not be evaluated.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub checks_unknown: u64,
    /// The number of judges that did not finish.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub judges_failed: u64,
    /// The most frequent classes, at most [`MAX_SUMMARY_CLASSES`]. The others are combined as
    /// `other-classes`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassCount>,
    /// The reasons of these classes, see [`PluginVerdict::reasons`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reasons: BTreeMap<String, String>,
}

impl PluginVerdict {
    /// Returns the summary of the verdict.
    pub fn summary(&self) -> VerdictSummary {
        let checks = |outcome| self.checks.iter().filter(|check| check.check.outcome == outcome).count() as u64;
        let classes = most_frequent(&self.classes);
        let mut reasons = self.reasons();
        reasons.retain(|class, _| classes.contains_key(class));
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
            classes,
            reasons,
        }
    }

    /// Returns why the items of each class were ruled as they were, in a few words: the first reason,
    /// or the source of a ruling without one, and how many other reasons there are.
    pub fn reasons(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::<&str, (&str, HashSet<&str>)>::new();
        for item in &self.items {
            let Ruling { class, reason, source, .. } = &item.ruling;
            let text = if reason.is_empty() { source.as_str() } else { reason.as_str() };
            if !text.is_empty() {
                found.entry(class.as_str()).or_insert_with(|| (text, HashSet::new())).1.insert(text);
            }
        }
        let words = |(first, all): (&str, HashSet<&str>)| {
            let first = excerpt(first, MAX_CLASS_REASON);
            match all.len().saturating_sub(1) {
                0 => first,
                1 => format!("{first}, and 1 other reason"),
                others => format!("{first}, and {others} other reasons"),
            }
        };
        found.into_iter().map(|(class, reasons)| (class.to_owned(), words(reasons))).collect()
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

#[cfg(test)]
#[path = "judging_tests.rs"]
mod tests;
