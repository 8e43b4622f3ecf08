//! The tests of a run, by names that stay the same from run to run.

use std::collections::BTreeMap;

use plumbline_conformance::submission::cleaned;
use plumbline_core::{Item, Status};

use crate::output::{one_line, seconds_of};

/// What a test is known by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The plugin.
    pub(crate) plugin: String,
    /// The names above it in the tree, without the plugin's and those of files, which differ from tool to tool.
    pub(crate) place: String,
    /// Its name, without what frameworks put before it.
    pub(crate) name: String,
}

/// How a test went.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Test {
    /// How it ended.
    pub(crate) status: Status,
    /// How long it took.
    pub(crate) seconds: Option<f64>,
    /// The first line of why it failed.
    pub(crate) reason: Option<String>,
}

impl Test {
    /// Whether it failed, or its time was up.
    pub(crate) fn failed(&self) -> bool {
        matches!(self.status, Status::Failed | Status::Timeout)
    }

    /// Whether it ran, as far as is known.
    pub(crate) fn ran(&self) -> bool {
        !matches!(self.status, Status::Skipped | Status::Unknown | Status::NotRead)
    }

    /// Of several of one name the one that counts: a failure before a pass, a pass before nothing.
    fn weight(&self) -> u8 {
        if self.failed() { 2 } else { u8::from(self.ran()) }
    }
}

/// The tests of a run.
pub(crate) type Tests = BTreeMap<Key, Test>;

/// Adds the leaves of `plugin`'s tree.
pub(crate) fn add(tests: &mut Tests, plugin: &str, root: &Item) {
    let mut leaves = root.leaves();
    while let Some(leaf) = leaves.next() {
        let walk = leaves.walk();
        let above = walk.ancestors().skip(1).filter(|item| item.meta.get("type").is_none_or(|kind| kind != "file"));
        let place: Vec<&str> = above.map(|item| item.name.as_str()).collect();
        let key =
            Key { plugin: plugin.to_owned(), place: place.join(" | "), name: cleaned(&leaf.name).trim().to_owned() };
        let mut test = Test { status: leaf.status.clone(), seconds: seconds_of(leaf), reason: None };
        if test.failed() {
            test.reason = ["failure", "error"].iter().find_map(|key| leaf.details.get(*key)?.as_str()).map(one_line);
        }
        match tests.get(&key) {
            Some(known) if known.weight() >= test.weight() => {}
            _ => drop(tests.insert(key, test)),
        }
    }
}
