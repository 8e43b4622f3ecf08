//! Computes the verdict on a plugin from rulings and checks.

use crate::judgement::document::{
    ClassCount, JudgeRecord, JudgedCheck, PluginVerdict, RuledItem, VERDICT_VERSION, VerdictStatus,
};
use crate::judgement::ruling::{Check, CheckOutcome, Ruling};
use crate::status::Status;

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
    #[must_use]
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
        self.skipped += u64::from(*leaf.status == Status::Skipped);
        self.not_read += u64::from(*leaf.status == Status::NotRead);
        let failed = matches!(leaf.status, Status::Failed | Status::Timeout);
        let verdict = &mut self.verdict;
        verdict.failures += u64::from(failed);
        let (ruling, judge) = match leaf.ruling {
            Some((ruling, judge)) => (ruling.clone(), judge),
            None if failed => (
                Ruling { class: UNRULED_CLASS.into(), counts: true, reason: NO_RULING.into(), source: String::new() },
                "",
            ),
            None => {
                verdict.unknown += u64::from(*leaf.status == Status::Unknown);
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
    #[must_use]
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

#[cfg(test)]
#[path = "judging_tests.rs"]
mod tests;
