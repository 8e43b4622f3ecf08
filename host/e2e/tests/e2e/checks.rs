//! Checks as plugins: a component in the pods of every node.

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use serde_json::Value;

use crate::bed::Bed;
use crate::faults::retrieve;
use crate::place::Places;

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
pub(crate) fn tree(bed: &Bed, archive: &str, plugin: &str) -> Value {
    bed.plumbline(&["results", archive, "-p", plugin, "-o", "json"]).json()[0].clone()
}

/// The results of a plugin by node.
fn nodes(tree: &Value) -> Vec<String> {
    let results = tree["items"].as_array().unwrap().iter().filter(|item| item["meta"]["type"] == "node");
    let mut names: Vec<String> = results.map(|item| item["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Returns the directory of an example, with its component built.
pub(crate) fn example(bed: &Bed, name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    bed.plumbline(&["plugin", "build", directory.to_str().unwrap()]).expect(0);
    directory
}

/// Returns the status of an item below a node: group and name.
fn status<'a>(tree: &'a Value, [node, group, name]: [&str; 3]) -> &'a Value {
    let child = |of: &'a Value, name: &str| of["items"].as_array().unwrap().iter().find(|item| item["name"] == name);
    let found = child(tree, node).and_then(|node| child(node, group)).and_then(|group| child(group, name));
    found.map_or(&Value::Null, |item| &item["status"])
}

/// Without `files`, pods of checks fit into a restricted namespace. They find out that one node
/// drops the connections of others to its pods.
#[test]
fn checks_of_all_nodes_find_the_node_whose_pods_cannot_be_reached() {
    let test = "check";
    let Some(bed) = Bed::new(test) else { return };
    let Some(places) = Places::of(&bed, test) else { return };
    let nodes = bed.nodes();
    let directory = bed.path("reachability");
    fs::create_dir(&directory).unwrap();
    let example = example(&bed, "node-reachability");
    fs::copy(example.join("node-reachability.wasm"), directory.join("node-reachability.wasm")).unwrap();
    let yaml = fs::read_to_string(example.join("plugin.yaml")).unwrap();
    fs::write(directory.join("plugin.yaml"), yaml.replace("wait-seconds: 60", "wait-seconds: 20")).unwrap();
    let dropped = places.filter(2, "filter", "FORWARD -p tcp --dport 18099 -j DROP");
    let level = ["--namespace-psa-enforce-level", "restricted"];
    bed.run(&[], &[&["-p", directory.to_str().unwrap(), "--wait"][..], &level].concat()).expect(1);
    drop(dropped);
    let archive = retrieve(&bed);
    let tree = tree(&bed, &archive, "node-reachability");
    assert_eq!(self::nodes(&tree), nodes, "{tree}");
    for node in &nodes {
        assert_eq!(status(&tree, [node, "names", "kubernetes.default.svc"]), "passed", "{tree}");
        for other in nodes.iter().filter(|other| *other != node) {
            let expected = if [node, other].contains(&&nodes[1]) { "failed" } else { "passed" };
            assert_eq!(status(&tree, [node, "pods", other]), expected, "from {node} to {other}: {tree}");
            assert_eq!(status(&tree, [node, "kubelets", other]), "passed", "from {node} to {other}: {tree}");
        }
    }
}

#[test]
fn a_check_reads_the_files_of_every_node() {
    let Some(bed) = Bed::new("check-files") else { return };
    let plugin = bundle(&bed, "reader", "read-proc-root", "{files: [/proc]}");
    bed.run(&[], &["-p", plugin.to_str().unwrap(), "--wait"]).expect(0);
    // The pods of the nodes got compiled code.
    let logs = bed.command("logs", &[]).expect(0).out;
    assert!(logs.contains("compiled the check in "), "{logs}");
    let maps = bed.ask(bed.api::<ConfigMap>().list(&ListParams::default()));
    let names: Vec<String> = maps.into_iter().filter_map(|map| map.metadata.name).collect();
    assert!(names.iter().any(|name| name.starts_with("plumbline-check-") && name.contains("-code-")), "{names:?}");
    let archive = retrieve(&bed);
    let tree = tree(&bed, &archive, "reader");
    assert_eq!((nodes(&tree), &tree["status"]), (bed.nodes(), &"passed".into()), "{tree}");
}
