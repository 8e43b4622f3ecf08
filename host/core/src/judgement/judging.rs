//! From rulings and checks to the verdict over a plugin: pure rules.

use crate::judgement::document::{
    ClassCount, JudgeRecord, JudgedCheck, PluginVerdict, RuledItem, VERDICT_VERSION, VerdictStatus,
};
use crate::judgement::ruling::{Check, CheckOutcome, Ruling};
use crate::status::Status;

/// Items of a verdict that are kept one by one: more than any suite has tests.
pub const MAX_ITEMS: usize = 100_000;
/// Items that do not count stop here, so that there is room for those that do.
const MAX_HARMLESS: usize = 80_000;
/// Bytes of the texts of these items together: 64 MiB, which is what a reader of the document has to hold.
const MAX_BYTES: usize = 64 << 20;
/// Bytes of the texts of those that do not count: the rest is for those that do, however much is said of what is excused.
const MAX_HARMLESS_BYTES: usize = 48 << 20;
/// Different classes. Real judges have a handful.
const MAX_CLASSES: usize = 200;

/// The class of a leaf that failed and that no judge ruled on.
pub const UNRULED_CLASS: &str = "failure";
/// Why such a leaf counts.
pub const NO_RULING: &str = "no judge knows it";
/// Stands for the classes beyond the number that is counted one by one.
pub const OTHER_CLASSES: &str = "other-classes";

/// A leaf of the tree, and what was said of it last.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    /// The result set.
    pub set: &'a str,
    /// The names from the root of the result set to the leaf.
    pub path: &'a [String],
    /// How it ended.
    pub status: &'a Status,
    /// The ruling, and whose it is.
    pub ruling: Option<(&'a Ruling, &'a str)>,
}

/// Takes in what judges said, and every leaf of the tree in its order.
///
/// The rules, the first that applies:
///
/// 1. a leaf that counts, or a failed check: failed. Without a ruling, leaves that failed or timed out count, and no others;
/// 2. a judge that failed, a check that could not be evaluated, a leaf of unknown status without a ruling, or nothing that could be
///    judged: unknown. Nothing could be judged where there is no leaf, where no leaf ran and some were skipped, and where no leaf
///    was read and there is no check;
/// 3. passed.
#[derive(Debug, Clone)]
pub struct Judging {
    verdict: PluginVerdict,
    leaves: u64,
    skipped: u64,
    not_read: u64,
    bytes: usize,
}

impl Judging {
    /// Nothing was said of `plugin` yet.
    #[must_use]
    pub fn new(plugin: impl Into<String>) -> Self {
        let verdict = PluginVerdict { version: VERDICT_VERSION, plugin: plugin.into(), ..PluginVerdict::default() };
        Self { verdict, leaves: 0, skipped: 0, not_read: 0, bytes: 0 }
    }

    /// The next judge of the chain.
    pub fn judge(&mut self, record: JudgeRecord) {
        self.verdict.chain.push(record);
    }

    /// A check that `judge` reported.
    pub fn check(&mut self, judge: &str, check: Check) {
        self.verdict.checks.push(JudgedCheck { check, judge: judge.to_owned() });
    }

    /// The next leaf of the tree.
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

    /// The verdict, once every leaf was taken in.
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
