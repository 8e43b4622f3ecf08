//! The role `summarizer`, which finds differences between nodes.

use std::collections::BTreeSet;

use plumbline_drift_common::{Tally, emit};
use plumbline_sdk::{Entry, Item, Output, PluginInfo, Results, Summarizer};

use crate::HostFacts;
use crate::compared::{compared, counted};
use crate::groups::DEPTH;
use crate::options::Options;
use crate::report::Totals;

/// The result set of a plugin that runs once.
const GLOBAL: &str = "global";

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
        } else if item.depth == DEPTH && self.file {
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
