//! Tests of the life of a run: start, status, download, verdict, deletion.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::bed::{Bed, Done};
use crate::plugin::Plugin;

/// Returns (plugin, node, status, verdict) of every expected result, sorted.
fn results(status: &Value) -> Vec<(String, String, String, String)> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = status["plugins"]
        .as_array()
        .unwrap_or_else(|| panic!("{status}"))
        .iter()
        .map(|entry| (text(entry, "plugin"), text(entry, "node"), text(entry, "status"), text(entry, "result-status")))
        .collect();
    all.sort();
    all
}

/// Returns the path that `retrieve` printed, after checking that the archive exists.
fn archive(bed: &Bed, retrieved: &Done) -> String {
    let paths: Vec<&str> = retrieved.out.lines().collect();
    assert_eq!(paths.len(), 1, "{retrieved:?}");
    assert!(bed.path(paths[0]).is_file(), "{retrieved:?}");
    paths[0].to_owned()
}

#[test]
fn a_job_and_a_daemon_set_that_pass() {
    let Some(bed) = Bed::new("passes") else { return };
    let nodes = bed.nodes();
    let done = bed.run(&[Plugin::job("once"), Plugin::daemon_set("each")], &["--wait"]).expect(0);
    // The preflight check finds the DNS server of the cluster, and the version is supported.
    assert!(!done.err.contains("warning: no DNS server") && !done.err.contains("the API server is"), "{done:?}");

    let status = bed.command("status", &["--json"]).expect(0).json();
    assert_eq!(status["status"], "complete", "{status}");
    let complete =
        |plugin: &str, node: &str| (plugin.to_owned(), node.to_owned(), "complete".to_owned(), "passed".to_owned());
    let mut expected: Vec<_> = nodes.iter().map(|node| complete("each", node)).collect();
    expected.push(complete("once", "global"));
    assert_eq!(results(&status), expected);

    fs::create_dir(bed.path("out")).unwrap();
    let retrieved = bed.command("retrieve", &["out"]).expect(0);
    let archive = archive(&bed, &retrieved);
    let trees = bed.plumbline(&["results", &archive, "-o", "json"]).expect(0).json();
    let names: Vec<&str> = trees.as_array().unwrap().iter().filter_map(|tree| tree["name"].as_str()).collect();
    assert!(names.contains(&"once") && names.contains(&"each"), "{names:?}");
    // The summary counts errors in logs. Workers have none, unless a busy machine delays the aggregator.
    let summary = bed.plumbline(&["results", &archive]).expect(0).out;
    assert!(summary.contains("Node health: "), "{summary}");
    if summary.contains("sonobuoy-worker") {
        let members = ["-xzOf", &archive, "--wildcards", "podlogs/*/sonobuoy-worker.txt"];
        let logs = bed.program(Path::new("tar"), &members).expect(0).out;
        let is_delay = |line: &str| ["retrying", "next attempt", "no answer"].iter().any(|part| line.contains(part));
        let trouble = |line: &&str| (line.contains("rror") || line.contains("ailed")) && !is_delay(line);
        assert_eq!(logs.lines().find(trouble), None, "{summary}\n{logs}");
    }

    bed.command("delete", &["--wait", "--yes"]).expect(0);
    assert!(!bed.exists());
    // Deleting a run that does not exist is not an error.
    bed.command("delete", &["--wait", "--yes"]).expect(0);
}

#[test]
fn a_failed_item_is_a_failed_run_and_the_archive_says_which() {
    let Some(bed) = Bed::new("fails") else { return };
    let plugin = Plugin::job("once").format("gojson").args(&["--outcome=fail", "--items=5", "--archive"]);
    bed.run(&[plugin], &["--wait"]).expect(1);
    fs::create_dir(bed.path("out")).unwrap();
    let retrieved = bed.command("retrieve", &["out"]).expect(0);
    let report = bed.plumbline(&["results", &archive(&bed, &retrieved)]).expect(1);
    assert!(report.out.contains("item-0000005"), "{}", report.out);
}

#[test]
fn logs_of_a_plugin_are_shown() {
    let Some(bed) = Bed::new("logs") else { return };
    bed.run(&[Plugin::job("once")], &["--wait"]).expect(0);
    let logs = bed.command("logs", &[]).expect(0);
    assert!(logs.out.contains(&format!("namespace=\"{}\"", bed.namespace())), "{}", logs.out);
    assert!(logs.out.contains("container=\"kube-sonobuoy\""), "{}", logs.out);
}

#[test]
fn a_plugin_that_crashes_is_an_error_and_not_a_hang() {
    let Some(bed) = Bed::new("crashes") else { return };
    // The result of a plugin that passes is kept.
    let plugins = [Plugin::job("good"), Plugin::job("bad").args(&["--outcome=crash", "--exit=9"])];
    let done = bed.run(&plugins, &["--wait", "--timeout", "300s"]);
    assert!([1, 3].contains(&done.code), "{done:?}");
    let status = bed.command("status", &["--json"]).json();
    let results = results(&status);
    assert_eq!(results[0].0, "bad");
    assert_eq!(results[0].2, "failed", "{status}");
    assert_eq!((results[1].0.as_str(), results[1].3.as_str()), ("good", "passed"), "{status}");
}
