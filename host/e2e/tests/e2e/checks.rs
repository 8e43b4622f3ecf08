//! Checks as plugins: a component in the pods of every node.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bed::Bed;
use crate::faults::retrieve;

/// Writes a bundle whose check is the guest of the sandbox's tests.
fn bundle(bed: &Bed, name: &str, behaviour: &str, grants: &str) -> PathBuf {
    let directory = bed.path(name);
    fs::create_dir(&directory).unwrap();
    let yaml = format!(
        "sonobuoy-config: {{driver: DaemonSet, plugin-name: {name}}}\nplumbline:\n  component: misbehave.wasm\n  options: {{behaviour: {behaviour}}}\n  grants: {grants}\n"
    );
    fs::write(directory.join("plugin.yaml"), yaml).unwrap();
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    fs::copy(modules.join("guests/misbehave.wasm"), directory.join("misbehave.wasm")).unwrap();
    directory
}

/// The tree of a plugin.
fn tree(bed: &Bed, archive: &str, plugin: &str) -> Value {
    bed.plumbline(&["results", archive, "-p", plugin, "-o", "json"]).json()[0].clone()
}

/// The results of a plugin by node.
fn nodes(tree: &Value) -> Vec<String> {
    let results = tree["items"].as_array().unwrap().iter().filter(|item| item["meta"]["type"] == "node");
    let mut names: Vec<String> = results.map(|item| item["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_check_without_files_runs_on_every_node_of_a_restricted_namespace() {
    let Some(bed) = Bed::new("check") else { return };
    let plugin = bundle(&bed, "modest", "progress-flood", "{}");
    let level = ["--namespace-psa-enforce-level", "restricted"];
    bed.run(&[], &[&["-p", plugin.to_str().unwrap(), "--wait"][..], &level].concat()).expect(0);
    let archive = retrieve(&bed);
    let tree = tree(&bed, &archive, "modest");
    assert_eq!((nodes(&tree), &tree["status"]), (bed.nodes(), &"passed".into()), "{tree}");
}

#[test]
fn a_check_reads_the_files_of_every_node() {
    let Some(bed) = Bed::new("check-files") else { return };
    let plugin = bundle(&bed, "reader", "read-proc-root", "{files: [/proc]}");
    bed.run(&[], &["-p", plugin.to_str().unwrap(), "--wait"]).expect(0);
    let archive = retrieve(&bed);
    let tree = tree(&bed, &archive, "reader");
    assert_eq!((nodes(&tree), &tree["status"]), (bed.nodes(), &"passed".into()), "{tree}");
}
