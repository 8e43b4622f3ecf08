//! The role, which groups the failed leaves of all result sets by their causes.

use std::collections::HashMap;

use plumbline_sdk::{Entry, Item, Output, PluginInfo, Results, Status, Summarizer, log};
use serde_json::Value;

use crate::cause::Cause;

/// Maximum number of causes. Users cannot read more, and the memory of a module is limited.
pub const MAX_CAUSES: usize = 10_000;
/// Maximum number of items that a cause lists by number.
const MAX_ITEMS: usize = 1_000_000;
/// Maximum number of tests that a cause lists by name, and of characters of a name.
const MAX_TESTS: usize = 20;
const MAX_NAME: usize = 400;
/// The status of causes, which counts neither as passed nor as failed.
const NOT_READ: &str = "not-read";

/// The summarizer that groups failures by cause.
#[derive(Debug, Clone, Copy)]
pub struct Causes;

impl Summarizer for Causes {
    fn summarize(_plugin: &PluginInfo, results: Results, out: &mut Output) -> Result<(), String> {
        let mut clusters = Clusters::default();
        let mut last: Option<(u64, Entry)> = None;
        for (number, entry) in (0..).zip(results) {
            let entry = entry?;
            if let Some((number, before)) = &last
                && (before.set != entry.set || entry.item.depth <= before.item.depth)
            {
                clusters.see(*number, &before.item);
            }
            last = Some((number, entry));
        }
        if let Some((number, entry)) = &last {
            clusters.see(*number, &entry.item);
        }
        clusters.emit(out);
        Ok(())
    }
}

#[derive(Default)]
struct Clusters {
    /// Positions in `all`, by id.
    by_id: HashMap<String, usize>,
    all: Vec<Cluster>,
    /// The number of failures without a cause, because there are too many causes.
    left_out: u64,
}

/// The failures of a cause.
struct Cluster {
    cause: Cause,
    count: u64,
    items: Vec<u64>,
    tests: Vec<String>,
}

impl Clusters {
    /// Adds a leaf if it failed.
    fn see(&mut self, number: u64, item: &Item) {
        let meaning = item.status.as_ref().map(Status::meaning);
        if !matches!(meaning, Some(Status::Failed | Status::Timeout)) {
            return;
        }
        let cause = Cause::of(item);
        let at = match self.by_id.get(&cause.id) {
            Some(at) => *at,
            None if self.all.len() >= MAX_CAUSES => {
                self.left_out += 1;
                return;
            }
            None => {
                self.by_id.insert(cause.id.clone(), self.all.len());
                self.all.push(Cluster { cause, count: 0, items: Vec::new(), tests: Vec::new() });
                self.all.len() - 1
            }
        };
        let Some(cluster) = self.all.get_mut(at) else { return };
        cluster.count += 1;
        if cluster.items.len() < MAX_ITEMS {
            cluster.items.push(number);
        }
        if cluster.tests.len() < MAX_TESTS {
            let name: String = item.name.chars().take(MAX_NAME).collect();
            if !cluster.tests.contains(&name) {
                cluster.tests.push(name);
            }
        }
    }

    fn emit(mut self, out: &mut Output) {
        self.all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.cause.id.cmp(&b.cause.id)));
        for Cluster { cause, count, items, tests } in self.all {
            let numbers: Vec<String> = items.iter().map(u64::to_string).collect();
            out.emit(
                Item::new(0, &*cause.template)
                    .status(Status::from(NOT_READ))
                    .meta("type", "cause")
                    .meta("cause", cause.id)
                    .meta("count", count.to_string())
                    .meta("template", cause.template)
                    .raw_json("items", format!("[{}]", numbers.join(",")))
                    .json("tests", &Value::from(tests)),
            );
        }
        if self.left_out > 0 {
            let left_out = self.left_out;
            log::warning(format!(
                "failures without a cause, because there are more than {MAX_CAUSES} causes: {left_out}"
            ));
        }
    }
}
