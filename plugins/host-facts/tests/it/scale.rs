//! Tests with as many nodes as a large cluster has.

use std::time::Instant;

use plumbline_module_host_facts::HostFacts;
use plumbline_sdk::testing::Case;
use serde_json::{Value, json};

use crate::support::{detail, process, with};

const NODES: usize = 5000;
const SYSCTLS: usize = 200;

fn node(kernel: &str) -> Vec<plumbline_sdk::Item> {
    let sysctls: Value = (0..SYSCTLS).map(|key| (format!("net.key_{key}"), json!(format!("value {key}")))).collect();
    process(&with(&[("/plumbline_facts/sysctls", sysctls), ("/ansible_facts/ansible_kernel", json!(kernel))])).items
}

#[test]
fn five_thousand_nodes_are_compared() {
    let (good, bad) = (node("6.1.0-18-amd64"), node("6.1.0-17-amd64"));
    let mut case = Case::new().driver("DaemonSet");
    for number in 0..NODES {
        let items = if number % 100 == 7 { &bad } else { &good };
        case = case.results(format!("node-{number:04}"), items.iter().cloned());
    }
    let begun = Instant::now();
    let run = case.summarize::<HostFacts>();
    println!("{NODES} nodes with {SYSCTLS} sysctls each: {:.1?}, items and all", begun.elapsed());
    let name = "kernel: 50 of 5000 nodes differ from 6.1.0-18-amd64";
    let differing = detail(&run, name, "differing");
    assert_eq!((&differing[0]["nodes"], differing[0]["names"].as_array().unwrap().len()), (&json!(50), 20));
    assert_eq!(run.items.len(), 3, "{}", run.outline());
}
