//! Counts the nodes of each kind.

use std::collections::BTreeMap;

use plumbline_sdk::{Item, Output, Status};
use serde_json::{Map, Value, json};

/// Maximum number of kinds of one property that are counted by name. A cluster has a handful.
const MAX_KINDS: usize = 50;
/// The name under which further kinds are counted.
const OTHER: &str = "other";

/// The number of nodes by kind.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    by: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// The number of nodes without a readable document.
    pub(crate) silent: usize,
}

impl Totals {
    pub(crate) fn add(&mut self, sort: &'static str, kind: String) {
        let kinds = self.by.entry(sort).or_default();
        let known = kinds.contains_key(&kind) || kinds.len() < MAX_KINDS;
        *kinds.entry(if known { kind } else { OTHER.to_owned() }).or_default() += 1;
    }

    /// Emits `totals`.
    pub(crate) fn emit(&self, nodes: usize, out: &mut Output) {
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
