//! Whole machines as file trees: what they must be told as. One file each, as different from the others as can be.

mod alpine_board;
mod flatcar_node;
mod red_hat;
mod rubbish;
mod ubuntu;

use serde_json::Value;

use crate::fixture::Tree;
use crate::gather::gather;
use crate::options::Options;

/// What is gathered of a tree, as others read it.
fn told(tree: &Tree) -> Value {
    serde_json::from_str(&gather(&Options::new(tree.root())).to_json()).unwrap()
}

/// Only those facts of Ansible's that are asked for; `null` for one that is not there.
fn pick(document: &Value, names: &[&str]) -> Value {
    let facts =
        names.iter().map(|name| ((*name).to_owned(), document["ansible_facts"][format!("ansible_{name}")].clone()));
    facts.collect::<serde_json::Map<_, _>>().into()
}

/// The keys of errors.
fn errors(document: &Value) -> Vec<&str> {
    document["errors"].as_array().unwrap().iter().map(|error| error["fact"].as_str().unwrap()).collect()
}

/// An address as the kernel writes it into its table of routes.
fn hex(address: [u8; 4]) -> String {
    format!("{:08X}", u32::from_ne_bytes(address))
}
