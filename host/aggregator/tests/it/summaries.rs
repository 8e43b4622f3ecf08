//! Tests of summarizers, whose items are in the tree next to the nodes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use plumbline_aggregator::{Finished, LimitPolicy, Outcome, Source, TREE_FILE, post_process, prepare};
use plumbline_core::run_status::PluginStatus;
use plumbline_core::{Item, Status, Verdict};
use serde_json::{Value, json};

use crate::harness::{RunFixture, file, modules, send, source, with_bundle};
use crate::modules_fail::bundle;

fn facts(node: &str, kernel: &str) -> Value {
    json!({
        "ansible_facts": {
            "ansible_hostname": node, "ansible_kernel": kernel, "ansible_distribution": "Debian",
            "ansible_distribution_version": "12", "ansible_architecture": "x86_64"
        },
        "plumbline_facts": {
            "cgroup": {"version": 2, "controllers": ["cpu", "memory"]},
            "kubelet": {"version": "v1.33.1", "config": {"maxPods": 110}},
            "time": {"synchronised": true, "epoch": 1_795_280_160}
        },
        "errors": []
    })
}

fn write(dir: &Path, node: &str, document: &str) {
    let results = dir.join("results").join(node);
    fs::create_dir_all(&results).unwrap();
    fs::write(results.join("host-facts.json"), document).unwrap();
}

fn processed(source: Source, dir: &Path) -> (Item, Outcome) {
    let planned = prepare(&modules(), &LimitPolicy::default(), source).unwrap();
    let tree = dir.join(TREE_FILE);
    let outcome = post_process(&planned.subject(), dir, &planned.post_processor, dir, &tree).unwrap();
    let tree: Item = serde_saphyr::from_str(&fs::read_to_string(tree).unwrap()).unwrap();
    assert_eq!(outcome.total.status, tree.status);
    if !tree.items.is_empty() {
        assert_eq!(outcome.total.counts, plumbline_core::rollup::counts(&tree));
    }
    (tree, outcome)
}

fn host_facts(rest: &str) -> Source {
    source("facts", "DaemonSet", &format!("  result-format: host-facts{rest}"))
}

fn three(kernel: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (node, kernel) in [("n1", "6.1.0-18"), ("n2", "6.1.0-18"), ("n3", kernel)] {
        write(dir.path(), node, &facts(node, kernel).to_string());
    }
    dir
}

fn names(item: &Item) -> Vec<&str> {
    item.items.iter().map(|item| item.name.as_str()).collect()
}

#[test]
fn one_of_three_nodes_drifts() {
    let dir = three("6.1.0-17");
    let (tree, outcome) = processed(host_facts(""), dir.path());
    insta::assert_snapshot!(fs::read_to_string(dir.path().join(TREE_FILE)).unwrap());
    assert_eq!(names(&tree), ["n1", "n2", "n3", "drift", "totals"]);
    // Any custom status means counts everywhere. Nodes are those that sent something.
    let nodes: Vec<(&str, &str)> =
        outcome.nodes.iter().map(|(name, node)| (name.as_str(), node.status.as_str())).collect();
    assert_eq!(nodes, [("n1", "passed: 5"), ("n2", "passed: 5"), ("n3", "passed: 5")]);
    assert_eq!(outcome.nodes["n3"].counts, [("passed".to_owned(), 5)].into());
    assert_eq!(outcome.total.status.as_str(), "passed: 16, warning: 1");
}

#[test]
fn drift_that_is_to_fail_fails_the_plugin_and_no_node() {
    let dir = three("6.1.0-17");
    let (_, outcome) = processed(host_facts("\nplumbline:\n  options: {drift: fail}"), dir.path());
    assert_eq!(outcome.total.status, Status::Failed);
    assert_eq!(outcome.failures[0].name, "kernel: 1 of 3 nodes differs from 6.1.0-18");
    assert_eq!(outcome.failures[0].reason.as_deref(), Some("n3: 6.1.0-17"));
    assert!(outcome.nodes.values().all(|node| node.status == Status::Passed) && outcome.nodes.len() == 3);
}

#[test]
fn nodes_that_are_alike_pass() {
    let dir = three("6.1.0-18");
    let (tree, outcome) = processed(host_facts(""), dir.path());
    assert_eq!((outcome.total.status, outcome.items), (Status::Passed, 3 * 7 + 2));
    assert_eq!(tree.items[3].meta["type"], "summary");
}

#[test]
fn without_results_there_is_no_summary_and_nothing_passes() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, outcome) = processed(host_facts(""), dir.path());
    assert_eq!((tree.items.len(), outcome.total.status), (0, Status::Unknown));
}

/// The guest has the name `misbehave`. A regular module reads the files of nodes, and the guest
/// fails as a summarizer.
fn summarised_by(name: &str, behaviour: &str, bundle: &tempfile::TempDir) -> Source {
    let rest = format!(
        "  result-format: raw\nplumbline:\n  summarizer: {name}\n  options: {{behaviour: {behaviour}}}\n  limits: {{wall: 1s, items: 1000}}"
    );
    with_bundle(source("facts", "DaemonSet", &rest), bundle.path())
}

#[test]
fn the_definition_names_a_summarizer_of_the_bundle() {
    let (dir, bundle) = (three("x"), bundle());
    let (tree, outcome) = processed(summarised_by("misbehave", "behave", &bundle), dir.path());
    assert_eq!(
        names(&tree),
        ["n1", "n2", "n3", "n1/0/host-facts.json", "n2/0/host-facts.json", "n3/0/host-facts.json"]
    );
    assert_eq!(outcome.nodes.keys().collect::<Vec<_>>(), ["n1", "n2", "n3"]);
    assert_eq!(outcome.total.status, Status::NotRead);
}

#[test]
fn a_summarizer_that_fails_is_one_unknown_item_and_the_others_stay() {
    let (dir, bundle) = (three("x"), bundle());
    for (behaviour, beginning, before) in [
        ("panic-halfway", "module `misbehave` crashed: ", 3),
        ("refuse-halfway", "there is nothing to be said of this", 3),
        ("endless-loop", "module `misbehave` exceeded its limit `wall-seconds`: 1 second", 0),
        ("item-flood", "module `misbehave` exceeded its limit `items`: 1000 items", 768),
        ("empty-name", "module `misbehave` violated the contract: ", 0),
    ] {
        let (tree, outcome) = processed(summarised_by("misbehave", behaviour, &bundle), dir.path());
        let last = tree.items.last().unwrap();
        assert!(last.name.starts_with(beginning), "{behaviour}: {}", last.name);
        assert_eq!((&last.status, last.meta["type"].as_str()), (&Status::Unknown, "summary"), "{behaviour}");
        assert_eq!(tree.items.len(), 3 + before + 1, "{behaviour}");
        assert_eq!(outcome.total.status, Status::Unknown, "{behaviour}");
        assert!(outcome.nodes.values().all(|node| node.status == Status::NotRead), "{behaviour}");
        assert_eq!(outcome.nodes.len(), 3, "{behaviour}");
    }
}

#[test]
fn an_unknown_summarizer_is_an_error() {
    // A built-in module with another role is not a summarizer either.
    for name in ["nobody", "raw"] {
        let source = host_facts(&format!("\nplumbline:\n  summarizer: {name}"));
        let error = prepare(&modules(), &LimitPolicy::default(), source).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(&format!("unknown summarizer `{name}`")), "{error}");
    }
}

/// Runs the plugin `facts` on three nodes, each of which sends one file.
async fn on_three_nodes(source: Source, name: &str, content: impl Fn(&str) -> String) -> Finished {
    let fixture = RunFixture::new();
    let mut live = fixture.live(vec![source], &["n1", "n2", "n3"]).await;
    let launch = live.launch().await;
    for node in ["n1", "n2", "n3"] {
        send(&launch.access, &format!("facts/{node}"), &file(name, content(node))).await.unwrap();
    }
    let finished = live.finished().await;
    let entries = finished.status.plugins.iter().flatten();
    assert_eq!(entries.map(|entry| entry.node.as_str()).collect::<Vec<_>>(), ["n1", "n2", "n3"]);
    assert_eq!(Verdict::from_run(&finished.status), finished.verdict, "readers of the status see the same verdict");
    finished
}

#[tokio::test]
async fn in_a_run_a_summary_is_not_a_node() {
    let plugin = |rest: &str| host_facts(&format!("\n  result-files: [host-facts.json]{rest}"));
    let content = |node: &str| facts(node, if node == "n3" { "b" } else { "a" }).to_string();
    let finished = on_three_nodes(plugin(""), "host-facts.json", content).await;
    assert_eq!(finished.verdict, Verdict::Passed, "a warning is seen, and fails nothing");

    let drift = plugin("\nplumbline:\n  options: {drift: fail}");
    let finished = on_three_nodes(drift, "host-facts.json", content).await;
    let passed = |entry: &PluginStatus| entry.result_status == Some(Status::Passed);
    assert!(finished.status.plugins.iter().flatten().all(passed), "{:?}", finished.status);
    assert_eq!((finished.verdict, &finished.status.totals["facts"].status), (Verdict::Failed, &Status::Failed));
}

#[tokio::test]
async fn a_summarizer_that_crashes_is_not_hidden_by_nodes_that_passed() {
    let bundle = bundle();
    let rest = "  result-format: tap\nplumbline:\n  summarizer: misbehave\n  options: {behaviour: panic-halfway}";
    let crashes = with_bundle(source("facts", "DaemonSet", rest), bundle.path());
    let finished = on_three_nodes(crashes, "a.tap", |_| "1..1\nok 1 - a\n".to_owned()).await;
    assert_eq!(finished.verdict, Verdict::Incomplete, "{:?}", finished.status);
}

#[tokio::test]
async fn a_plugin_that_matches_no_node_is_not_hidden_by_one_that_passed() {
    let fixture = RunFixture::new();
    let nowhere = source("nowhere", "DaemonSet", "podSpec: {nodeSelector: {disk: none}}");
    let live = fixture.live(vec![source("p", "Job", "  result-format: junit"), nowhere], &["n1", "n2", "n3"]).await;
    let report = r#"<testsuite name="s"><testcase name="a"/></testsuite>"#;
    let finished = live.finished_with("p/global", &file("junit.xml", report)).await;
    assert_eq!((finished.verdict, Verdict::from_run(&finished.status)), (Verdict::Incomplete, Verdict::Incomplete));
    let reason = Some("none of 3 nodes fits (module `daemonset`)");
    assert_eq!(finished.status.totals["nowhere"].reason.as_deref(), reason);
    assert_eq!(finished.plugins[1].outcome.reason.as_deref(), reason);
}

/// Runs with five thousand nodes in its own process, because peak memory is a property of a
/// process.
#[test]
fn five_thousand_nodes_are_summarised_in_bounded_memory() {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "summaries::measure", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    assert!(child.status.success() && out.contains("1 passed"), "{out}\n{err}");
    println!("{out}");
}

/// Maximum growth of the process in KiB, from ten nodes to five thousand. The module may hold what
/// it compares, about 20 MiB in its memory. The rest is the list of nodes and their outcomes.
const GROWTH: u64 = 128 << 10;

#[test]
#[ignore = "started by `five_thousand_nodes_are_summarised_in_bounded_memory` in a process of its own"]
fn measure() {
    let run = |nodes: usize| {
        let dir = tempfile::tempdir().unwrap();
        let sysctls: Value = (0..200).map(|key| (format!("net.key_{key}"), json!(format!("value {key}")))).collect();
        for number in 0..nodes {
            let kernel = if number % 100 == 7 { "b" } else { "a" };
            let node = format!("node-{number:04}");
            let mut document = facts(&node, kernel);
            document["plumbline_facts"]["sysctls"] = sysctls.clone();
            write(dir.path(), &node, &document.to_string());
        }
        let begun = Instant::now();
        let planned = prepare(&modules(), &LimitPolicy::default(), host_facts("")).unwrap();
        let (module, tree) = (&planned.post_processor, dir.path().join(TREE_FILE));
        let outcome = post_process(&planned.subject(), dir.path(), module, dir.path(), &tree).unwrap();
        println!("{nodes} nodes: {:.1?}, {} KiB at most", begun.elapsed(), crate::memory::peak());
        outcome
    };
    run(10);
    let before = crate::memory::peak();
    let outcome = run(5000);
    assert_eq!((outcome.nodes.len(), outcome.total.counts["warning"]), (5000, 1));
    let grown = crate::memory::peak() - before;
    assert!(grown < GROWTH, "grown by {grown} KiB over {before} KiB");
}

#[test]
fn a_definition_without_a_summarizer_has_that_of_its_format() {
    let mut source = host_facts("");
    assert!(prepare(&modules(), &LimitPolicy::default(), source.clone()).unwrap().subject().summarizer.is_some());
    Arc::make_mut(&mut source.definition).result_format = Some("raw".into());
    assert!(prepare(&modules(), &LimitPolicy::default(), source).unwrap().subject().summarizer.is_none());
}
