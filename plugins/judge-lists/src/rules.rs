//! Shared parts of these judges, and the judges that only look at lists.

use plumbline_sdk::Status;

use crate::list::{Found, List};

/// The class of a failure whose entry in a list has expired.
pub(crate) const EXPIRED: &str = "expired";

/// A leaf of the tree without a ruling.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    /// The plain name.
    pub(crate) name: &'a str,
    /// The plain name followed by the class in parentheses, if there is one.
    pub(crate) full_name: &'a str,
    /// The suites around it, outermost first.
    pub(crate) suites: &'a [String],
    /// The id of the cause, if the leaf failed and the host knows its cause.
    pub(crate) cause: Option<&'a str>,
    pub(crate) status: &'a Status,
}

impl Leaf<'_> {
    /// Returns whether the leaf counts as a failure without a ruling.
    pub(crate) fn failed(&self) -> bool {
        matches!(self.status.meaning(), Status::Failed | Status::Timeout)
    }
}

/// A ruling on a leaf.
#[derive(Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) class: &'static str,
    pub(crate) counts: bool,
    pub(crate) reason: String,
    pub(crate) source: String,
}

/// A judge of leaves.
pub(crate) trait Rules {
    /// Returns the ruling on a leaf, if there is one.
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said>;

    /// Returns a line for the log at the end, if there is something to report.
    fn remark(&self) -> Option<String> {
        None
    }
}

/// The judges `known-failures` and `flaky`, which excuse listed failures.
pub(crate) struct Listed {
    pub(crate) list: List,
    pub(crate) class: &'static str,
    /// The reason if the entry gives none. It also describes an entry that has expired.
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

/// Returns a message on the entries that matched nothing.
pub(crate) fn unused(list: &List) -> Option<String> {
    let (all, unused) = list.unused();
    (unused > 0).then(|| format!("{unused} of {all} entries match nothing in these results"))
}

/// Joins the two parts of a reason; the second may be empty.
pub(crate) fn join(first: &str, second: &str) -> String {
    if second.is_empty() { first.to_owned() } else { format!("{first}: {second}") }
}
