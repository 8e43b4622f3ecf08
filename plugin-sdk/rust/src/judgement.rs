//! The finished tree, as a judge reads it, and what it says of it.

use std::fmt;

use crate::batches::Batches;
use crate::{Item, Status};

/// Bytes of [`Ruling::class`] at most. The host ends the call at a longer one.
pub const MAX_CLASS: usize = 64;
/// Bytes of every other text of a [`Ruling`] or [`Check`] but [`Check::id`]. The host ends the call at a longer one: [`shorten`].
pub const MAX_TEXT: usize = 4 << 10;
/// Characters of [`Check::id`] at most. The host ends the call at a longer one.
pub const MAX_ID: usize = 64;
/// Checks of one call at most. The host ends the call at one more.
pub const MAX_CHECKS: usize = 10_000;

/// Rulings, or checks, of a batch at most.
const BATCH: usize = 256;

/// What is said of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The class: one word, or a few with `-` between them, such as `known-failure`, `flaky`, `regression`. 1 to 64 of the characters
    /// `a-z`, `0-9` and `-`.
    pub class: String,
    /// Whether the item counts as a failure. Without a ruling, items that failed or timed out do, and no others.
    pub counts: bool,
    /// Why, as a sentence for a person. At most [`MAX_TEXT`].
    pub reason: String,
    /// Where the judge has it from: the entry of a list, an archive, the address of an issue. May be empty. At most [`MAX_TEXT`].
    pub source: String,
}

impl Ruling {
    /// The item counts as a failure.
    pub fn counts(class: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { class: class.into(), counts: true, reason: reason.into(), source: String::new() }
    }

    /// It does not, whatever its status.
    pub fn excused(class: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { counts: false, ..Self::counts(class, reason) }
    }

    /// Says where it is from.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }
}

/// An item of the tree, and what was said of it so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedItem {
    /// Its number in the tree: what a ruling names it by.
    pub index: u64,
    /// The result set: the node's name, or `global` for the one of a plugin that is not per node; empty for what a summarizer added.
    pub set: String,
    /// As it stands in the tree, `depth` 0 being a root of the result set. The host gives every item a status.
    pub item: Item,
    /// Whether it has no children: only then it can be ruled on.
    pub leaf: bool,
    /// What an earlier judge of the chain said.
    pub ruling: Option<Ruling>,
}

impl JudgedItem {
    /// Whether it is a leaf that failed or timed out: what counts as a failure while nobody says otherwise.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.leaf && matches!(self.item.status, Some(Status::Failed | Status::Timeout))
    }

    /// Whether it is one that no earlier judge has ruled on: what a judge that leaves the words of others alone looks at.
    #[must_use]
    pub fn is_open_failure(&self) -> bool {
        self.is_failure() && self.ruling.is_none()
    }
}

/// The items of a finished tree: set by set in the lexical order of their names, each with its items in pre-order, as in
/// [`Results`](crate::Results); then those of the summarizer.
pub type Tree = Batches<JudgedItem>;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The requirement is met.
    Passed,
    /// It is not.
    Failed,
    /// It could not be evaluated: the reason says why. A plugin with such a check does not pass.
    Unknown,
}

/// One numbered requirement on the results as a whole. Texts have at most [`MAX_TEXT`] bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What it is referred to by, such as `PODS-001`: 1 to [`MAX_ID`] characters, unique within one call.
    pub id: String,
    /// What is required, in a few words.
    pub name: String,
    /// How it came out.
    pub outcome: Outcome,
    /// What was wanted, such as `>= 98 %`.
    pub want: String,
    /// What was found, such as `96.4 % (27 of 28)`.
    pub got: String,
    /// What else a person must know; may be empty.
    pub reason: String,
}

impl Check {
    /// A check without further texts.
    pub fn new(id: impl Into<String>, name: impl Into<String>, outcome: Outcome) -> Self {
        let none = String::new;
        Self { id: id.into(), name: name.into(), outcome, want: none(), got: none(), reason: none() }
    }

    /// Says what was wanted.
    #[must_use]
    pub fn want(mut self, want: impl Into<String>) -> Self {
        self.want = want.into();
        self
    }

    /// Says what was found.
    #[must_use]
    pub fn got(mut self, got: impl Into<String>) -> Self {
        self.got = got.into();
        self
    }

    /// Says what else a person must know.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }
}

/// `text`, cut at a character so that it has at most [`MAX_TEXT`] bytes: for texts that come from elsewhere.
#[must_use]
pub fn shorten(mut text: String) -> String {
    const MARK: &str = "…";
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT - MARK.len()));
        text.push_str(MARK);
    }
    text
}

/// Takes what a judge says: the host, or a test. What is left in a batch is dropped.
pub(crate) trait RulingSink {
    fn rule(&mut self, rulings: &mut Vec<(u64, Ruling)>);
    fn report(&mut self, checks: &mut Vec<Check>);
}

/// Takes rulings and checks, and hands them to the host in batches.
pub struct Rulings {
    rulings: Vec<(u64, Ruling)>,
    checks: Vec<Check>,
    sink: Box<dyn RulingSink>,
}

impl Rulings {
    pub(crate) fn new(sink: Box<dyn RulingSink>) -> Self {
        Self { rulings: Vec::new(), checks: Vec::new(), sink }
    }

    /// Says something of the item of that number ([`JudgedItem::index`]), also when the tree has been read to its end. A later ruling on
    /// an item takes the place of an earlier one, also of one of an earlier judge. A ruling on an item that is no leaf, or on a
    /// number that was not given, ends the call: the host keeps what came before and says which rule it was.
    pub fn rule(&mut self, index: u64, ruling: Ruling) {
        self.rulings.push((index, ruling));
        if self.rulings.len() >= BATCH {
            self.flush();
        }
    }

    /// Reports a check, in the order in which a person is to see them.
    pub fn report(&mut self, check: Check) {
        self.checks.push(check);
        if self.checks.len() >= BATCH {
            self.flush();
        }
    }

    /// Hands over what has gathered. Happens by itself when a batch is full and at the end of the call.
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
