//! The finished tree that a judge reads, and the rulings and checks that it reports.

use std::fmt;

use crate::batches::Batches;
use crate::{Item, Status};

/// Maximum size of [`Ruling::class`] in bytes. The host ends the call if a class is longer.
pub const MAX_CLASS: usize = 64;
/// Maximum size in bytes of every other string of a [`Ruling`] or [`Check`], except [`Check::id`].
/// The host ends the call if a string is longer; see [`shorten`].
pub const MAX_TEXT: usize = 4 << 10;
/// Maximum length of [`Check::id`] in characters. The host ends the call if an ID is longer.
pub const MAX_ID: usize = 64;
/// Maximum number of checks per call. The host ends the call if there are more.
pub const MAX_CHECKS: usize = 10_000;

/// Maximum number of rulings or checks in one batch.
const BATCH: usize = 256;

/// What a judge decides about one leaf of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The class in one word, with `-` inside if needed, such as `known-failure`, `flaky`,
    /// `regression`. It has 1 to 64 characters of `a-z`, `0-9` and `-`.
    pub class: String,
    /// Whether the leaf counts as a failure. Without a ruling, a leaf counts if it failed or timed
    /// out.
    pub counts: bool,
    /// The reason, as a sentence for people. At most [`MAX_TEXT`] bytes.
    pub reason: String,
    /// The source of the ruling: the entry of a list, an archive, the URL of an issue. May be
    /// empty. At most [`MAX_TEXT`] bytes.
    pub source: String,
}

impl Ruling {
    /// Creates a ruling by which the leaf counts as a failure.
    pub fn counts(class: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { class: class.into(), counts: true, reason: reason.into(), source: String::new() }
    }

    /// Creates a ruling by which the leaf does not count as a failure, whatever its status.
    pub fn excused(class: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { counts: false, ..Self::counts(class, reason) }
    }

    /// Sets the source of the ruling.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }
}

/// An item of the tree, with the ruling of earlier judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedItem {
    /// The number of the item in the tree. Pass it to [`Rulings::rule`].
    pub index: u64,
    /// The result set: the name of the node, or `global` for a plugin that runs once. Empty for
    /// items that a summarizer added.
    pub set: String,
    /// The item in the tree; `depth` 0 is a root of the result set. Its status is always set by the
    /// host.
    pub item: Item,
    /// Whether the item has no children. Only leaves can have rulings.
    pub leaf: bool,
    /// The ruling of an earlier judge in the chain, if there is one.
    pub ruling: Option<Ruling>,
}

impl JudgedItem {
    /// Returns whether this is a leaf that failed or timed out, or whose custom status counts as
    /// that ([`Status::meaning`]). Such an item counts as a failure unless a judge excuses it.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        let meaning = self.item.status.as_ref().map(Status::meaning);
        self.leaf && matches!(meaning, Some(Status::Failed | Status::Timeout))
    }

    /// Returns whether this is a failure without a ruling. A judge that respects the rulings of
    /// earlier judges only looks at these.
    #[must_use]
    pub fn is_open_failure(&self) -> bool {
        self.is_failure() && self.ruling.is_none()
    }
}

/// The items of a finished tree.
///
/// Result sets come in lexical order of their names, as in [`Results`](crate::Results), each with
/// its items in pre-order. The items of the summarizer follow.
pub type Tree = Batches<JudgedItem>;

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The requirement is met.
    Passed,
    /// The requirement is not met.
    Failed,
    /// The requirement could not be evaluated, and the reason says why. A plugin with such a check
    /// does not pass.
    Unknown,
}

/// A requirement on the results as a whole. Its strings have at most [`MAX_TEXT`] bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The ID of the check, such as `PODS-001`: 1 to [`MAX_ID`] characters, unique within one call.
    pub id: String,
    /// The requirement, in a few words.
    pub name: String,
    /// The outcome.
    pub outcome: Outcome,
    /// What was wanted, such as `>= 98 %`.
    pub want: String,
    /// What was found, such as `96.4 % (27 of 28)`.
    pub got: String,
    /// Further information for people; may be empty.
    pub reason: String,
}

impl Check {
    /// Creates a check with empty `want`, `got` and `reason`.
    pub fn new(id: impl Into<String>, name: impl Into<String>, outcome: Outcome) -> Self {
        let none = String::new;
        Self { id: id.into(), name: name.into(), outcome, want: none(), got: none(), reason: none() }
    }

    /// Sets what was wanted.
    #[must_use]
    pub fn want(mut self, want: impl Into<String>) -> Self {
        self.want = want.into();
        self
    }

    /// Sets what was found.
    #[must_use]
    pub fn got(mut self, got: impl Into<String>) -> Self {
        self.got = got.into();
        self
    }

    /// Sets the reason, or other information for people.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }
}

/// Shortens `text` to at most [`MAX_TEXT`] bytes, at a character boundary and with `…` at the end.
/// Use it for strings from external sources.
#[must_use]
pub fn shorten(mut text: String) -> String {
    const MARK: &str = "…";
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT - MARK.len()));
        text.push_str(MARK);
    }
    text
}

/// A receiver of rulings and checks: the host, or a test. Whatever it leaves in a batch is dropped.
pub(crate) trait RulingSink {
    fn rule(&mut self, rulings: &mut Vec<(u64, Ruling)>);
    fn report(&mut self, checks: &mut Vec<Check>);
}

/// Collects the rulings and checks of a judge and sends them to the host in batches.
pub struct Rulings {
    rulings: Vec<(u64, Ruling)>,
    checks: Vec<Check>,
    sink: Box<dyn RulingSink>,
}

impl Rulings {
    pub(crate) fn new(sink: Box<dyn RulingSink>) -> Self {
        Self { rulings: Vec::new(), checks: Vec::new(), sink }
    }

    /// Rules on the leaf with this number ([`JudgedItem::index`]). You may also rule after you have
    /// read the whole tree.
    ///
    /// A later ruling on a leaf replaces an earlier one, including that of an earlier judge. The
    /// host ends the call if the item is not a leaf, or if the number is not one that the judge has
    /// read. It keeps the earlier rulings and records the broken rule.
    pub fn rule(&mut self, index: u64, ruling: Ruling) {
        self.rulings.push((index, ruling));
        if self.rulings.len() >= BATCH {
            self.flush();
        }
    }

    /// Reports a check. People see checks in the order in which you report them.
    pub fn report(&mut self, check: Check) {
        self.checks.push(check);
        if self.checks.len() >= BATCH {
            self.flush();
        }
    }

    /// Sends the pending rulings and checks to the host. This also happens when a batch is full and
    /// at the end of the call.
    pub fn flush(&mut self) {
        if !self.rulings.is_empty() {
            self.sink.rule(&mut self.rulings);
            self.rulings.clear();
        }
        if !self.checks.is_empty() {
            self.sink.report(&mut self.checks);
            self.checks.clear();
        }
    }
}

impl Drop for Rulings {
    fn drop(&mut self) {
        self.flush();
    }
}

impl fmt::Debug for Rulings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rulings, checks) = (self.rulings.len(), self.checks.len());
        f.debug_struct("Rulings").field("rulings", &rulings).field("checks", &checks).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    struct Sizes(Sender<(usize, usize)>);

    impl RulingSink for Sizes {
        fn rule(&mut self, rulings: &mut Vec<(u64, Ruling)>) {
            self.0.send((rulings.len(), 0)).unwrap();
        }

        fn report(&mut self, checks: &mut Vec<Check>) {
            self.0.send((0, checks.drain(..).count())).unwrap();
        }
    }

    #[test]
    fn rulings_and_checks_go_out_in_batches_and_the_rest_at_the_end() {
        let (sender, sent) = channel();
        let mut out = Rulings::new(Box::new(Sizes(sender)));
        (0..300).for_each(|index| out.rule(index, Ruling::excused("flaky", "")));
        out.report(Check::new("A", "", Outcome::Passed));
        out.flush();
        out.flush();
        out.report(Check::new("B", "", Outcome::Passed));
        drop(out);
        assert_eq!(sent.iter().collect::<Vec<_>>(), [(256, 0), (44, 0), (0, 1), (0, 1)]);
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(shorten("short".to_owned()), "short");
        let cut = shorten("ü".repeat(MAX_TEXT));
        assert!(cut.len() <= MAX_TEXT && cut.ends_with("ü…"), "{}", cut.len());
    }
}
