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

/// Compares the Ansible facts that `want` has, with `null` for a missing one.
#[track_caller]
fn assert_facts(document: &Value, want: Value) {
    let fact = |name: &String| document["ansible_facts"][format!("ansible_{name}")].clone();
    let found = want.as_object().unwrap().keys().map(|name| (name.clone(), fact(name)));
    assert_eq!(Value::from(found.collect::<serde_json::Map<_, _>>()), want);
}

/// Returns the keys of the errors.
fn errors(document: &Value) -> Vec<&str> {
    document["errors"].as_array().unwrap().iter().map(|error| error["fact"].as_str().unwrap()).collect()
}

/// Formats an address as the kernel does in its routing table.
fn hex(address: [u8; 4]) -> String {
    format!("{:08X}", u32::from_ne_bytes(address))
}
