//! The facts of a tree that a verdict needs.

use plumbline_archive::layout::{ERROR_FILE, ERRORS_DIR};
use plumbline_core::rollup::{REASON, Tally, is_failure, worst};
use plumbline_core::{Item, Status};

use crate::report::text::one_line;

/// The facts of a tree that a verdict needs.
pub struct TreeFacts {
    /// The root, without its children.
    pub root: Item,
    /// Whether a leaf stands for a missing result.
    pub has_missing: bool,
    /// Whether the tree has no items.
    pub(super) is_empty: bool,
    pub(super) tally: Tally,
    /// How bad the worst item below the root is.
    pub(super) below: Severity,
    /// The number of leaves that Sonobuoy made for files that it did not read.
    pub(super) unread: u64,
}

impl TreeFacts {
    /// Collects the facts of the tree below `root`.
    #[must_use]
    pub fn of(root: &Item) -> Self {
        let mut facts = Self::new(bare(root), root.is_leaf());
        root.leaves().for_each(|leaf| facts.add(leaf));
        facts
    }

    /// Returns whether a leaf failed.
    pub(crate) fn has_failures(&self) -> bool {
        self.count(is_failure) > 0
    }

    /// Returns the number of leaves whose status `counts`.
    pub(super) fn count(&self, counts: impl Fn(&Status) -> bool) -> u64 {
        let by_status = self.tally.counts();
        let counted = by_status.iter().filter(|(status, _)| counts(&status.as_str().into()));
        counted.map(|(_, n)| *n).fold(0, u64::saturating_add)
    }

    /// Returns whether the status of the root is better than that of an item below it.
    pub(super) fn is_contradictory(&self) -> bool {
        self.below > Severity::of(&self.root.status)
    }

    pub(super) fn new(root: Item, is_leaf: bool) -> Self {
        let is_empty = is_leaf && is_summary(&root);
        let (tally, below) = (Tally::default(), Severity::default());
        Self { root, has_missing: false, is_empty, tally, below, unread: 0 }
    }

    pub(super) fn add(&mut self, leaf: &Item) {
        self.tally.add_leaf(&leaf.status);
        self.unread = self.unread.saturating_add(u64::from(is_unread_file(leaf)));
        self.has_missing |= replaces_a_missing_result(leaf);
    }
}

/// How bad a status is for a verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    #[default]
    Harmless,
    Unknown,
    Failed,
}

impl Severity {
    pub(super) fn of(status: &Status) -> Self {
        match worst(status) {
            Some(Status::Failed | Status::Timeout) => Self::Failed,
            Some(_) => Self::Unknown,
            None => Self::Harmless,
        }
    }
}

/// Corrects the status of a root that is better than that of an item below it, and stores the
/// reason. Only damaged and edited archives have such roots. A root that is worse keeps its status.
pub(super) fn correct_root(root: &mut Item) {
    let below = root.walk().skip(1).map(|item| Severity::of(&item.status)).max().unwrap_or_default();
    if below <= Severity::of(&root.status) {
        return;
    }
    let (status, found) = match below {
        Severity::Failed => (Status::Failed, "failed"),
        Severity::Unknown | Severity::Harmless => (Status::Unknown, "is unknown"),
    };
    let archived = one_line(&root.status.brief());
    let reason = format!("its status in the archive is `{archived}`, but an item below it {found}");
    root.meta.insert(REASON.to_owned(), reason);
    root.status = status;
}

/// Gives what Sonobuoy marks as passed although nothing was read its status for a verdict: files, and a
/// plugin without results.
pub(crate) fn mark_unread(root: &mut Item) {
    if root.is_leaf() && is_summary(root) && root.status == Status::Passed {
        root.status = Status::NotRead;
    }
    let mut open = vec![root];
    while let Some(item) = open.pop() {
        if item.is_leaf() && is_unread_file(item) {
            item.status = Status::NotRead;
        }
        open.extend(&mut item.items);
    }
}

fn is_summary(root: &Item) -> bool {
    root.meta.get("type").is_some_and(|kind| kind == "summary")
}

/// The item without its children.
pub(crate) fn bare(item: &Item) -> Item {
    Item {
        name: item.name.clone(),
        status: item.status.clone(),
        meta: item.meta.clone(),
        details: item.details.clone(),
        items: Vec::new(),
    }
}

/// Whether Sonobuoy made the leaf for a file that it did not read: only such leaves have a file of
/// the results and no type.
fn is_unread_file(leaf: &Item) -> bool {
    let names_a_result = leaf.meta.get("file").is_some_and(|file| file.starts_with("results"));
    leaf.status == Status::Passed && names_a_result && !leaf.meta.contains_key("type")
}

fn replaces_a_missing_result(leaf: &Item) -> bool {
    let file = leaf.meta.get("file").map(String::as_str).unwrap_or_default();
    file.starts_with(&format!("{ERRORS_DIR}/")) && file.ends_with(&format!("/{ERROR_FILE}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_root_is_never_better_than_what_is_below_it() {
        for (root, leaves, expected) in [
            ("passed", &["passed", "failed"][..], "failed"),
            ("passed", &["passed", "timeout"], "failed"),
            ("passed", &["passed", "unknown"], "unknown"),
            ("passed: 1", &["passed", "failed"], "failed"),
            ("unknown", &["failed"], "failed"),
            // What the archive has is kept if it is not better.
            ("failed", &["passed"], "failed"),
            ("unknown", &["passed"], "unknown"),
            ("passed", &["skipped"], "passed"),
            ("blocked, see log: 1, failed: 1", &["blocked, see log", "failed"], "blocked, see log: 1, failed: 1"),
        ] {
            let items: Vec<_> = leaves.iter().map(|status| json!({"name": "a", "status": status})).collect();
            let tree =
                json!({"name": "p", "status": root, "items": [{"name": "n", "status": "passed", "items": items}]});
            let mut item: Item = serde_json::from_value(tree).unwrap();
            correct_root(&mut item);
            assert_eq!(item.status.as_str(), expected, "{root} {leaves:?}");
            assert_eq!(item.meta.contains_key(REASON), root != expected, "{root} {leaves:?}");
        }
    }

    #[test]
    fn only_files_that_sonobuoy_did_not_read_are_meant() {
        for (leaf, unread) in [
            (json!({"name": "a", "status": "passed", "meta": {"file": "results/n1/a"}}), true),
            (json!({"name": "a", "status": "passed", "meta": {"file": "results\\n1\\a"}}), true),
            (json!({"name": "a", "status": "failed", "meta": {"file": "results/n1/a", "error": "gone"}}), false),
            (json!({"name": "a", "status": "passed", "meta": {"file": "results/n1/a.xml", "type": "file"}}), false),
            (json!({"name": "a", "status": "passed"}), false),
            (json!({"name": "a", "status": "failed", "meta": {"file": "errors/n1/error.json"}}), false),
        ] {
            let item: Item = serde_json::from_value(leaf.clone()).unwrap();
            assert_eq!(is_unread_file(&item), unread, "{leaf}");
        }
    }
}
