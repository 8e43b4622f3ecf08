//! Emits the facts that differ as items.

use plumbline_sdk::text::{counted, shortened};
use plumbline_sdk::{Item, Output, Status};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tally::{Tally, Values};

/// Maximum number of facts to list. More differ only if the nodes have nothing in common.
const MAX_ITEMS: usize = 500;
/// Maximum number of values of a fact to list, and of node names for each value.
const MAX_LISTED: usize = 20;
/// Maximum number of nodes in the summary sentence.
const MAX_NAMED: usize = 5;
/// Maximum number of bytes of a value in a name or sentence.
const MAX_SHOWN: usize = 80;

/// Maximum size of a name in bytes.
const MAX_NAME: usize = 1000;

/// The status of a finding that people should look at, but that fails nothing.
pub const WARNING: &str = "warning";

/// The status of a fact that differs between nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftStatus {
    /// The status `warning`: people see it, and the run passes.
    #[default]
    Warn,
    /// The status `failed`: the run fails.
    Fail,
}

impl DriftStatus {
    fn status(self) -> Status {
        match self {
            Self::Warn => Status::Custom(WARNING.to_owned()),
            Self::Fail => Status::Failed,
        }
    }

    /// Returns the detail under which the reason is stored.
    fn key(self) -> &'static str {
        match self {
            Self::Warn => WARNING,
            Self::Fail => "failure",
        }
    }
}

/// Emits `drift`, with an item for each fact that differs, which has this status. Values that were not
/// compared are an item of unknown status.
pub fn emit(tally: &Tally, status: DriftStatus, out: &mut Output) {
    let nodes = tally.count();
    let mut drift = Item::new(0, "drift").text("nodes", nodes.to_string()).text("compared", compared(tally));
    if nodes < 2 {
        return out.emit(drift.status(Status::Skipped).text("skipped", "there is only one node with facts"));
    }
    let differing: Vec<(&String, &Values)> = tally.facts.iter().filter(|(_, values)| values.differ()).collect();
    let dropped = tally.dropped;
    if differing.is_empty() && dropped == 0 {
        // A fact that one node has alone is compared with nothing.
        let is_compared = tally.facts.values().any(|values| values.node_count() > 1);
        return out.emit(match is_compared {
            true => drift.status(Status::Passed),
            false => drift.status(Status::Skipped).text("skipped", "no two nodes report the same fact"),
        });
    }
    if !differing.is_empty() {
        drift = drift.text("differ", counted(differing.len(), "fact"));
    }
    out.emit(drift);
    for (fact, values) in differing.iter().take(MAX_ITEMS) {
        out.emit(item(tally, fact, values, status));
    }
    if let Some(more) = differing.len().checked_sub(MAX_ITEMS).filter(|more| *more > 0) {
        out.emit(Item::new(1, format!("{} more differ", counted(more, "fact"))).status(status.status()));
    }
    if dropped > 0 {
        let values = if dropped == 1 { "1 value was".to_owned() } else { format!("{dropped} values were") };
        let why = format!("only {} can be compared", counted(tally.facts.len(), "fact"));
        out.emit(Item::new(1, format!("{values} not compared")).status(Status::Unknown).text("error", why));
    }
}

fn compared(tally: &Tally) -> String {
    let compared = counted(tally.facts.len(), "fact");
    match tally.dropped {
        0 => compared,
        dropped => format!("{compared}; {dropped} values of further facts were not compared"),
    }
}

fn item(tally: &Tally, fact: &str, values: &Values, status: DriftStatus) -> Item {
    let ranked = values.ranked();
    let (majority, with_it) = ranked.first().copied().unwrap_or_default();
    let reporting = values.node_count();
    let differ = reporting - with_it.len();
    let shown = shortened(majority, MAX_SHOWN);
    let title = format!(
        "{fact}: {differ} of {reporting} nodes {} from {}",
        if differ == 1 { "differs" } else { "differ" },
        if shown.is_empty() { "(empty)" } else { &shown }
    );
    let others: Vec<Value> =
        ranked.iter().skip(1).take(MAX_LISTED).map(|(value, nodes)| entry(tally, value, nodes)).collect();
    let mut item = Item::new(1, name(&title))
        .status(status.status())
        .meta("fact", name(fact))
        .text(status.key(), sentence(tally, &ranked, values, differ))
        .json("majority", &json!({"value": majority, "nodes": with_it.len()}))
        .json("differing", &Value::Array(others));
    let unlisted =
        ranked.iter().skip(1 + MAX_LISTED).map(|(_, nodes)| nodes.len()).sum::<usize>() + values.beyond.len();
    if unlisted > 0 {
        item = item.text("cut", format!("{unlisted} nodes with further values are not listed"));
    }
    let silent = tally.count().saturating_sub(reporting);
    if silent > 0 {
        let nodes = if silent == 1 { "1 node does".to_owned() } else { format!("{silent} nodes do") };
        item = item.text("not reported", format!("{nodes} not report this fact"));
    }
    item
}

fn entry(tally: &Tally, value: &str, nodes: &[u32]) -> Value {
    let names: Vec<&str> = nodes.iter().take(MAX_LISTED).map(|node| tally.name(*node)).collect();
    json!({"value": value, "nodes": nodes.len(), "names": names})
}

/// Returns a sentence with the first nodes that differ, each with its value.
fn sentence(tally: &Tally, ranked: &[(&str, &[u32])], values: &Values, differ: usize) -> String {
    let listed = ranked.iter().skip(1).flat_map(|(value, nodes)| nodes.iter().map(move |node| (*value, *node)));
    let beyond = values.beyond.iter().map(|node| ("another value", *node));
    let named: Vec<String> = listed
        .chain(beyond)
        .take(MAX_NAMED)
        .map(|(value, node)| format!("{}: {}", tally.name(node), shortened(value, MAX_SHOWN)))
        .collect();
    let more = differ.saturating_sub(named.len());
    let named = named.join("; ");
    if more > 0 { format!("{named}; {more} more") } else { named }
}

/// Returns `text` as a name: not empty, and short.
#[must_use]
pub fn name(text: &str) -> String {
    if text.is_empty() { "(no name)".to_owned() } else { shortened(text, MAX_NAME) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_empty_and_never_long() {
        assert_eq!(name(""), "(no name)");
        assert_eq!(name(&"ü".repeat(2000)).len(), MAX_NAME + '…'.len_utf8());
    }
}
