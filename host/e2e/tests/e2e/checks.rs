//! Checks as plugins: a component in the pods of every node.

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use serde_json::Value;

use crate::bed::Bed;
use crate::faults::retrieve;
use crate::place::NodeAccess;
use crate::plugin::Plugin;

/// Writes a bundle whose check is the guest of the sandbox's tests. `behaviour` may be followed by
/// further options, and `own` has further lines of the section `plumbline`.
fn bundle(bed: &Bed, driver: &str, name: &str, behaviour: &str, own: &str) -> String {
    let directory = bed.path(name);
    fs::create_dir(&directory).unwrap();
    let yaml = format!(
        "sonobuoy-config: {{driver: {driver}, plugin-name: {name}}}\nplumbline:\n  component: misbehave.wasm\n  options: {{behaviour: {behaviour}}}\n{own}"
    );
    fs::write(directory.join("plugin.yaml"), yaml).unwrap();
    let modules = std::env::var_os("PLUMBLINE_MODULES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules"), PathBuf::from);
    fs::copy(modules.join("guests/misbehave.wasm"), directory.join("misbehave.wasm")).unwrap();
    directory.to_str().unwrap().to_owned()
}

/// Returns the leaves below an item.
fn leaves(item: &Value) -> Vec<&Value> {
    match item["items"].as_array() {
        Some(items) => items.iter().flat_map(leaves).collect(),
        None => vec![item],
    }
}

/// Returns the outcomes of what a hostile check tried.
fn outcomes(item: &Value) -> Vec<&str> {
    leaves(item).into_iter().filter_map(|leaf| leaf["meta"]["outcome"].as_str()).collect()
}

/// The tree of a plugin.
pub(crate) fn tree(bed: &Bed, archive: &str, plugin: &str) -> Value {
    bed.plumbline(&["results", archive, "-p", plugin, "-o", "json"]).json()[0].clone()
}

/// The results of a plugin by node.
pub(crate) fn nodes(tree: &Value) -> Vec<String> {
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

/// Copies a built example, with changes of its definition.
pub(crate) fn changed_example(bed: &Bed, name: &str, changes: &[(&str, &str)]) -> PathBuf {
    let (example, directory, component) = (example(bed, name), bed.path(name), format!("{name}.wasm"));
    fs::create_dir(&directory).unwrap();
    fs::copy(example.join(&component), directory.join(&component)).unwrap();
    let mut yaml = fs::read_to_string(example.join("plugin.yaml")).unwrap();
    for (from, to) in changes {
        assert!(yaml.contains(from), "no `{from}` in {yaml}");
        yaml = yaml.replace(from, to);
    }
    fs::write(directory.join("plugin.yaml"), yaml).unwrap();
    directory
}

/// Returns an item by the names on the way to it.
pub(crate) fn descendant<'a>(tree: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(tree, |item, name| item["items"].as_array()?.iter().find(|child| child["name"] == **name))
}

/// Returns the status of an item by the names on the way to it, or null if it does not exist.
pub(crate) fn status<'a>(tree: &'a Value, path: &[&str]) -> &'a Value {
    descendant(tree, path).map_or(&Value::Null, |item| &item["status"])
}

/// Without `files`, pods of checks fit into a restricted namespace. They find out that one node
/// drops the connections of others to its pods.
#[test]
fn checks_of_all_nodes_find_the_node_whose_pods_cannot_be_reached() {
    let test = "check";
    let Some(bed) = Bed::new(test) else { return };
    let Some(places) = NodeAccess::of(&bed, test) else { return };
    let nodes = bed.nodes();
    let directory = changed_example(&bed, "node-reachability", &[("wait-seconds: 60", "wait-seconds: 20")]);
    let dropped = places.filter(2, "filter", "FORWARD -p tcp --dport 18099 -j DROP");
    let level = ["--namespace-psa-enforce-level", "restricted"];
    bed.run(&[], &[&["-p", directory.to_str().unwrap(), "--wait"][..], &level].concat()).expect(1);
    drop(dropped);
    let archive = retrieve(&bed);
    let tree = tree(&bed, &archive, "node-reachability");
    assert_eq!(self::nodes(&tree), nodes, "{tree}");
    for node in &nodes {
        assert_eq!(status(&tree, &[node, "names", "kubernetes.default.svc"]), "passed", "{tree}");
        for other in nodes.iter().filter(|other| *other != node) {
            let expected = if [node, other].contains(&&nodes[1]) { "failed" } else { "passed" };
            assert_eq!(status(&tree, &[node, "pods", other]), expected, "from {node} to {other}: {tree}");
            assert_eq!(status(&tree, &[node, "kubelets", other]), "passed", "from {node} to {other}: {tree}");
        }
    }
}

/// Each node has a file with its name, and a link next to it that leads elsewhere.
#[test]
fn a_check_reads_the_files_of_every_node_and_no_others() {
    let test = "check-files";
    let Some(bed) = Bed::new(test) else { return };
    let Some(places) = NodeAccess::of(&bed, test) else { return };
    let nodes = bed.nodes();
    let directory = format!("/var/lib/kubelet/plumbline-{}", bed.namespace());
    let write = |(number, node): (usize, &String)| {
        let file = places.write(number, &format!("{directory}/name"), node);
        places.run(number, &["ln", "-s", "/etc/passwd", &format!("{directory}/link")]);
        file
    };
    let _files: Vec<_> = (1..).zip(&nodes).map(write).collect();
    let grant = format!("  grants: {{files: [{directory}]}}\n");
    let bundles = [("reader", "name"), ("follower", "link"), ("climber", "../../../../etc/passwd")]
        .map(|(name, file)| bundle(&bed, "DaemonSet", name, &format!("read-named, file: {directory}/{file}"), &grant));
    let plugins: Vec<&str> = bundles.iter().flat_map(|bundle| ["-p", bundle]).collect();
    bed.run(&[], &[&plugins[..], &["--wait"]].concat()).expect(0);
    // The pods of the nodes got compiled code.
    let logs = bed.command("logs", &[]).expect(0).out;
    assert!(logs.contains("compiled the check in "), "{logs}");
    let maps = bed.ask(bed.api::<ConfigMap>().list(&ListParams::default()));
    let names: Vec<String> = maps.into_iter().filter_map(|map| map.metadata.name).collect();
    assert!(names.iter().any(|name| name.starts_with("plumbline-check-") && name.contains("-code-")), "{names:?}");
    let archive = retrieve(&bed);
    let trees = ["reader", "follower", "climber"].map(|plugin| tree(&bed, &archive, plugin));
    for tree in &trees {
        assert_eq!((self::nodes(tree), &tree["status"]), (nodes.clone(), &"passed".into()), "{tree}");
    }
    for node in &nodes {
        let [read, followed, climbed] = trees.each_ref().map(|tree| outcomes(descendant(tree, &[node]).unwrap()));
        assert_eq!(read, [node.as_str()], "the file of this node, and not that of another one");
        for refused in [followed, climbed] {
            assert!(refused.len() == 1 && refused[0].ends_with(": not permitted"), "{node}: {refused:?}");
        }
    }
}

/// The behavior of a hostile check, its grants, and the number and the text of its outcomes.
const ATTEMPTS: [(&str, &str, usize, &str); 5] = [
    ("read-proc-root", "{files: [/proc]}", 4, "failed to read `/proc/"),
    ("read-proc-own", "{files: [/proc]}", 5, "failed to read `/proc/"),
    ("read-device", "{files: [/dev]}", 3, "failed to read `/dev/"),
    ("read-named, file: /proc/kmsg", "{files: [/proc]}", 1, "failed to read `/proc/kmsg`: not permitted"),
    (
        "reach-metadata",
        r#"{http: ["http://0.0.0.0/0:*", "http://[::/0]:*"], tcp: ["0.0.0.0/0:*", "[::/0]:*"]}"#,
        12,
        "is not granted: add it to",
    ),
];

/// The behavior of a hostile check that is ended, its limit, the number of items before its end, and
/// the reason in its last item.
const ENDS: [(&str, &str, usize, &str); 3] = [
    ("memory-growth", "60s", 0, "exceeded its limit `memory`: 256 MiB"),
    ("loop-halfway", "10s", 3, "limit"),
    ("panic-halfway", "60s", 3, "crashed: it panicked"),
];

/// The name of the plugin with a behavior, which options may follow.
fn plugin_of(behaviour: &str) -> &str {
    behaviour.split(',').next().unwrap()
}

#[test]
fn hostile_checks_get_nothing_and_cost_their_own_plugins_only() {
    let Some(bed) = Bed::new("check-hostile") else { return };
    let namespace = bed.namespace();
    let attempt = |(behaviour, grants, ..): &(&str, &str, usize, &str)| {
        bundle(&bed, "Job", plugin_of(behaviour), behaviour, &format!("  grants: {grants}\n"))
    };
    let end = |(behaviour, wall, ..): &(&str, &str, usize, &str)| {
        bundle(&bed, "Job", behaviour, behaviour, &format!("  limits: {{wall: {wall}}}\n"))
    };
    let objects = format!("{{kubernetes: [{{api-version: v1, resources: [pods], namespaces: [{namespace}]}}]}}");
    let others = format!("read-other-objects, namespace: {namespace}");
    let others = bundle(&bed, "Job", "read-other-objects", &others, &format!("  grants: {objects}\n"));
    let bundles: Vec<String> = ATTEMPTS.iter().map(attempt).chain(ENDS.iter().map(end)).chain([others]).collect();
    let plugins: Vec<&str> = bundles.iter().flat_map(|bundle| ["-p", bundle]).collect();
    bed.run(&[Plugin::job("good")], &[&plugins[..], &["--wait"]].concat()).expect(3);

    let archive = retrieve(&bed);
    let tree = |plugin: &str| tree(&bed, &archive, plugin);
    assert_eq!(tree("good")["status"], "passed");
    for (behaviour, _, count, want) in ATTEMPTS {
        let tree = tree(plugin_of(behaviour));
        let outcomes = outcomes(&tree);
        assert!(outcomes.len() == count && outcomes.iter().all(|text| text.contains(want)), "{behaviour}: {tree}");
    }
    for (behaviour, _, count, want) in ENDS {
        let tree = tree(behaviour);
        let leaves = leaves(&tree);
        let kept = leaves.iter().filter(|leaf| leaf["name"] == "item" && leaf["status"] == "passed").count();
        let reason = leaves.last().and_then(|leaf| leaf["meta"]["error"].as_str()).unwrap_or_default();
        assert!(kept == count && reason.contains(want), "{behaviour}: {tree}");
    }
    let tree = tree("read-other-objects");
    let outcomes = outcomes(&tree);
    let (granted, others) = outcomes.split_at(2);
    // No pod has the name that the check asks for.
    assert!(granted[0].starts_with("sonobuoy") && granted[1] == "none", "{tree}");
    assert!(others.len() == 18 && others.iter().all(|text| text.contains("is not granted")), "{tree}");
}
