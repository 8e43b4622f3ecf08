//! The role `summarizer`, which finds differences between nodes, and counts the nodes of each kind.

use std::collections::{BTreeMap, BTreeSet};

use plumbline_drift_common::{Tally, emit};
use plumbline_sdk::{Entry, Item, Output, PluginInfo, Results, Status, Summarizer};
use serde_json::{Map, Value, json};

use crate::HostFacts;
use crate::compared::{compared, counted};
use crate::groups::DEPTH;
use crate::options::Options;

/// The result set of a plugin that runs once.
const GLOBAL: &str = "global";

/// Maximum number of kinds of one property that are counted by name. A cluster has a handful.
const MAX_KINDS: usize = 50;
/// The name under which further kinds are counted.
const OTHER: &str = "other";

impl Summarizer for HostFacts {
    fn summarize(plugin: &PluginInfo, results: Results, out: &mut Output) -> Result<(), String> {
        let options: Options = plugin.options()?;
        let mut summary = Summary { options, ..Summary::default() };
        for entry in results {
            let Entry { set, item } = entry?;
            // There is nothing to compare a single machine with.
            if set != GLOBAL {
                summary.see(&set, &item);
            }
        }
        summary.emit(out);
        Ok(())
    }
}

#[derive(Default)]
struct Summary {
    options: Options,
    tally: Tally,
    totals: Totals,
    /// The result sets without facts so far. The host's items for a node without results look like
    /// a set too.
    silent: BTreeSet<String>,
    set: String,
    /// Whether the current root is the first file of its set.
    file: bool,
    /// Whether the set has had a fact.
    has_facts: bool,
}

impl Summary {
    fn see(&mut self, set: &str, item: &Item) {
        if self.set != set {
            set.clone_into(&mut self.set);
            (self.file, self.has_facts) = (false, false);
            // A set may occur a second time, possibly after it already had facts.
            if !self.tally.knows(set) {
                self.silent.insert(set.to_owned());
            }
        }
        // Groups of facts are below a file. The items below them are evaluated by themselves.
        if item.depth == 0 {
            self.file = !self.has_facts && item.meta.iter().any(|(key, value)| key == "type" && value == "file");
        } else if item.depth == DEPTH && self.file && item.status != Some(Status::Skipped) {
            // What is skipped are the facts that could not be read.
            if !std::mem::replace(&mut self.has_facts, true) {
                self.silent.remove(set);
                self.tally.node(set);
            }
            let (tally, totals) = (&mut self.tally, &mut self.totals);
            compared(item, &self.options, |fact, value| tally.add(fact, value));
            counted(item, |sort, kind| totals.add(sort, kind));
        }
    }

    fn emit(mut self, out: &mut Output) {
        if self.tally.count() > 0 {
            self.totals.silent = self.silent.len();
            emit(&self.tally, self.options.drift, out);
            self.totals.emit(self.tally.count(), out);
        }
    }
}

/// The number of nodes by kind.
#[derive(Debug, Default)]
struct Totals {
    by: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// The number of nodes without a readable document.
    silent: usize,
}

impl Totals {
    fn add(&mut self, sort: &'static str, kind: String) {
        let kinds = self.by.entry(sort).or_default();
        let known = kinds.contains_key(&kind) || kinds.len() < MAX_KINDS;
        *kinds.entry(if known { kind } else { OTHER.to_owned() }).or_default() += 1;
    }

    /// Emits `totals`.
    fn emit(&self, nodes: usize, out: &mut Output) {
        let mut item = Item::new(0, "totals").status(Status::Passed).json("nodes", &json!(nodes));
        for (sort, kinds) in &self.by {
            let kinds: Map<String, Value> = kinds.iter().map(|(kind, count)| (kind.clone(), json!(count))).collect();
            item = item.json(*sort, &Value::Object(kinds));
        }
        if self.silent > 0 {
            item = item.json("without facts", &json!(self.silent));
        }
        out.emit(item);
    }
}
