//! Tests with whole machines as file trees. Each file has one machine, as different from the others
//! as possible.

mod alpine_board;
mod flatcar_node;
mod red_hat;
mod rubbish;
mod ubuntu;

use serde_json::Value;

use crate::collector::Options;
use crate::fixture::Tree;
use crate::gather;

/// Returns the facts of a tree, parsed from the JSON output.
fn facts_of(tree: &Tree) -> Value {
    serde_json::from_str(&gather(&Options::new(tree.root())).to_json()).unwrap()
}

/// Returns only the Ansible facts in `names`, with `null` for a missing one.
fn pick(document: &Value, names: &[&str]) -> Value {
    let facts =
        names.iter().map(|name| ((*name).to_owned(), document["ansible_facts"][format!("ansible_{name}")].clone()));
    facts.collect::<serde_json::Map<_, _>>().into()
}

/// Returns the keys of the errors.
fn errors(document: &Value) -> Vec<&str> {
    document["errors"].as_array().unwrap().iter().map(|error| error["fact"].as_str().unwrap()).collect()
}

/// Formats an address as the kernel does in its routing table.
fn hex(address: [u8; 4]) -> String {
    format!("{:08X}", u32::from_ne_bytes(address))
}
