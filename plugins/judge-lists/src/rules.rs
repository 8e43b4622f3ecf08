//! The judges that look at lists, and at the failures of an earlier run.

use std::collections::HashSet;

use plumbline_sdk::Status;
use plumbline_sdk::text::shortened;
use regex::bytes::Regex;

use crate::list::{Found, List};
use crate::name::plain;
use crate::options::Others;

/// Maximum number of bytes of the source to show.
const MAX_SOURCE: usize = 2000;

/// The class of a failure whose entry in a list has expired.
const EXPIRED: &str = "expired";

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

/// Allows listed tests to be skipped. Of the others, required tests must not be skipped.
pub(crate) struct Skips {
    pub(crate) list: List,
    /// The required tests; `None` means all.
    pub(crate) required: Option<Regex>,
}

impl Rules for Skips {
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said> {
        if leaf.status.meaning() != Status::Skipped {
            return None;
        }
        let not_allowed = |reason, source| Said { class: "skip-not-allowed", counts: true, reason, source };
        match self.list.find(leaf) {
            Some(Found::Listed(entry)) => {
                let reason =
                    if entry.reason.is_empty() { "it may be skipped".to_owned() } else { entry.reason.clone() };
                Some(Said { class: "allowed-skip", counts: false, reason, source: entry.source() })
            }
            Some(Found::Expired(entry, until)) => {
                let reason = join(&format!("skipping it was allowed until {until}, which has passed"), &entry.reason);
                Some(not_allowed(reason, entry.source()))
            }
            None => {
                let names = [leaf.name, leaf.full_name];
                let required = self
                    .required
                    .as_ref()
                    .is_none_or(|pattern| names.iter().any(|name| pattern.is_match(name.as_bytes())));
                let reason = "it was skipped, and is not in the list of what may be".to_owned();
                required.then(|| not_allowed(reason, String::new()))
            }
        }
    }

    fn remark(&self) -> Option<String> {
        unused(&self.list)
    }
}

/// Excuses the failures of an earlier run. Other failures are new.
pub(crate) struct Baseline {
    failed: HashSet<String>,
    source: String,
    others: Others,
}

impl Baseline {
    pub(crate) fn new(failed: &[String], source: &str, others: Others) -> Self {
        let failed = failed.iter().map(|name| plain(name).to_owned()).collect();
        Self { failed, source: shortened(source, MAX_SOURCE), others }
    }
}

impl Rules for Baseline {
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said> {
        if !leaf.failed() {
            return None;
        }
        let source = self.source.clone();
        if self.failed.contains(leaf.full_name) || self.failed.contains(leaf.name) {
            let reason = "it failed in the baseline, too".to_owned();
            return Some(Said { class: "baseline-failure", counts: false, reason, source });
        }
        let reason = "it did not fail in the baseline".to_owned();
        let said = Said { class: "new-failure", counts: true, reason, source };
        (self.others == Others::NewFailure).then_some(said)
    }
}

/// Returns a message on the entries that matched nothing.
fn unused(list: &List) -> Option<String> {
    let (all, unused) = list.unused();
    (unused > 0).then(|| format!("{unused} of {all} entries match nothing in these results"))
}

/// Joins the two parts of a reason; the second may be empty.
fn join(first: &str, second: &str) -> String {
    if second.is_empty() { first.to_owned() } else { format!("{first}: {second}") }
}
