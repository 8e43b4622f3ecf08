//! What all of these judges have in common, and those of them that only look into lists.

use plumbline_sdk::Status;

use crate::list::{Found, List};

/// The class of a failure whose entry in a list has expired.
pub(crate) const EXPIRED: &str = "expired";

/// A leaf of the tree on which nobody has ruled.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    /// Its plain name.
    pub(crate) name: &'a str,
    /// Its plain name with its class in brackets, if it has one.
    pub(crate) full_name: &'a str,
    pub(crate) status: &'a Status,
}

impl Leaf<'_> {
    /// Whether it counts as a failure if nobody says anything else.
    pub(crate) fn failed(&self) -> bool {
        matches!(self.status, Status::Failed | Status::Timeout)
    }
}

/// What is said of a leaf.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) class: &'static str,
    pub(crate) counts: bool,
    pub(crate) reason: String,
    pub(crate) source: String,
}

/// A judge of leaves.
pub(crate) trait Rules {
    /// What it says of a leaf, if anything.
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said>;

    /// A line for the log at the end, if there is something to tell.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// `known-failures` and `flaky`: failures that are listed do not count.
pub(crate) struct Listed {
    pub(crate) list: List,
    pub(crate) class: &'static str,
    /// The reason where the entry gives none; also what it was called before it expired.
    pub(crate) what: &'static str,
}

impl Rules for Listed {
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said> {
        if !leaf.failed() {
            return None;
        }
        let (class, what) = (self.class, self.what);
        Some(match self.list.find(leaf)? {
            Found::Listed(entry) => {
                let reason = if entry.reason.is_empty() { format!("it is {what}") } else { entry.reason.clone() };
                Said { class, counts: false, reason, source: entry.source() }
            }
            Found::Expired(entry, until) => {
                let reason = join(&format!("it was {what} until {until}, which has passed"), &entry.reason);
                Said { class: EXPIRED, counts: true, reason, source: entry.source() }
            }
        })
    }

    fn remark(&self) -> Option<String> {
        unused(&self.list)
    }
}

/// How much of the lists could go.
pub(crate) fn unused(list: &List) -> Option<String> {
    let (all, unused) = list.unused();
    (unused > 0).then(|| format!("{unused} of {all} entries stand for nothing in these results"))
}

/// Two halves of a reason, the second of which may be missing.
pub(crate) fn join(first: &str, second: &str) -> String {
    if second.is_empty() { first.to_owned() } else { format!("{first}: {second}") }
}
