use std::fs;
use std::path::Path;
use std::rc::Rc;

use plumbline_core::{Item, Verdict};
use serde_json::{Value, json};

use super::*;
use crate::report::facts::ReportFacts;
use crate::report::html::spool::decoded;
use crate::report::html::{Page, Section};
use crate::report::testing::written;

fn write(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// An unpacked archive with these files.
fn archive(files: &[(&str, &str)]) -> (tempfile::TempDir, ResultsArchive) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "meta/info.json", r#"{"plugins": ["e2e", "check"]}"#);
    files.iter().for_each(|(file, text)| write(dir.path(), file, text));
    let archive = ResultsArchive::open(dir.path()).unwrap();
    (dir, archive)
}

/// The decoded content of an element of the page.
fn element(page: &str, id: &str) -> String {
    let (_, rest) = page.split_once(&format!("id=\"{id}\"")).unwrap();
    decoded(rest)
}

/// The logs that the page of these trees embeds: plugin, node, file and the parts of the text.
fn embedded(files: &[(&str, &str)], trees: &[Value]) -> Vec<(u64, String, String, Value)> {
    let (_dir, mut archive) = archive(files);
    let mut page = Page::new().unwrap();
    for tree in trees {
        let root: Item = serde_json::from_value(tree.clone()).unwrap();
        let mut section = Section::new(&mut page, &root.name, &root.name, &root, None, &[], &[]);
        let mut walk = root.walk();
        while let Some(item) = walk.next() {
            section.item(walk.depth(), item, item.is_leaf()).unwrap();
        }
        section.finish();
    }
    page.logs(&mut archive).unwrap();
    let page = written(|out| page.finish(Verdict::Failed, &ReportFacts::default(), out));
    let head: Value = serde_json::from_str(element(&page, "data").lines().next().unwrap()).unwrap();
    let text = |number: u64| match number.checked_sub(1) {
        None => Value::Null,
        Some(at) => {
            let block: Value = serde_json::from_str(&element(&page, "texts-0")).unwrap();
            block[usize::try_from(at).unwrap()]["texts"][0][1].clone()
        }
    };
    let string = |value: &Value| value.as_str().unwrap().to_owned();
    let log = |log: &Value| {
        let text = text(log["text"].as_u64().unwrap());
        (log["plugin"].as_u64().unwrap(), string(&log["node"]), string(&log["file"]), text)
    };
    head["logs"].as_array().unwrap().iter().map(log).collect()
}

/// A plugin with these leaves: name and status.
fn tree(plugin: &str, leaves: &[(&str, &str)]) -> Value {
    let items: Vec<Value> = leaves.iter().map(|(name, status)| json!({"name": name, "status": status})).collect();
    json!({"name": plugin, "status": "failed", "items": items})
}

/// A plugin with these nodes, each with one leaf of this status.
fn per_node(plugin: &str, nodes: &[(&str, &str)]) -> Value {
    let node = |(node, status): &(&str, &str)| json!({"name": node, "status": status, "meta": {"type": "node"}, "items": [{"name": "a", "status": status}]});
    json!({"name": plugin, "status": "failed", "items": nodes.iter().map(node).collect::<Vec<_>>()})
}

const E2E: &str = "podlogs/sonobuoy/sonobuoy-e2e-job-e26600506d6c420f/logs/e2e.txt";

#[test]
fn failures_have_the_log_of_their_pod_with_its_colours() {
    let files = [
        (E2E, "start\n\u{1b}[31mred\u{1b}[0m\u{1b}[2J\n"),
        ("podlogs/sonobuoy/sonobuoy-e2e-job-e26600506d6c420f/logs/sonobuoy-worker.txt", "worker"),
        ("podlogs/sonobuoy/sonobuoy-fine-job-0000000000000000/logs/fine.txt", "passed"),
        ("podlogs/sonobuoy/sonobuoy/logs/kube-sonobuoy.txt", "aggregator"),
        ("podlogs/kube-system/coredns-5d78c9869d-4twsk/logs/coredns.txt", "other"),
    ];
    let logs = embedded(&files, &[tree("fine", &[("a", "passed")]), tree("e2e", &[("a", "passed"), ("b", "failed")])]);
    let files: Vec<(u64, &str)> = logs.iter().map(|(plugin, _, file, _)| (*plugin, file.as_str())).collect();
    // The log of the plugin is before that of its worker.
    assert_eq!(files, [(1, E2E), (1, &*E2E.replace("e2e.txt", "sonobuoy-worker.txt"))]);
    assert_eq!(logs[0].1, "");
    assert_eq!(logs[0].3, json!([["", "start\n"], ["c1", "red"], ["", "\u{fffd}[2J\n"]]));
}

#[test]
fn only_the_pods_of_failed_nodes_have_logs() {
    let pod = |end: &str| format!("sonobuoy-check-daemon-set-ffed1e6f44474c9e-{end}");
    let log = |end: &str| format!("podlogs/run/{}/logs/check.txt", pod(end));
    let on = |end: &str, node: &str| json!({"metadata": {"name": pod(end)}, "spec": {"nodeName": node}});
    let pods = json!([on("aaaaa", "n1"), on("bbbbb", "n2"), {"metadata": {"name": "pending"}}]).to_string();
    let (first, second, unknown) = (log("aaaaa"), log("bbbbb"), log("ccccc"));
    let files = [
        (first.as_str(), "one"),
        (second.as_str(), "two"),
        (unknown.as_str(), "three"),
        ("resources/ns/run/core_v1_pods.json", pods.as_str()),
    ];
    let nodes = [("n1", "passed"), ("n2", "failed"), ("n3", "failed")];
    let logs = embedded(&files, &[per_node("check", &nodes)]);
    assert_eq!(logs, [(0, "n2".to_owned(), second.clone(), json!([["", "two"]]))]);
    // Without the list of pods, their nodes are unknown.
    assert!(embedded(&files[..3], &[per_node("check", &nodes)]).is_empty());
}

#[test]
fn nodes_without_any_failure_take_no_places() {
    let mut files: Vec<(String, &str)> =
        (0..MAX_LOGS + 20).map(|n| (format!("podlogs/local/check/logs/a{n:03}.txt"), "passed")).collect();
    files.push(("podlogs/local/check/logs/z-excused.txt".to_owned(), "excused"));
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    let (_dir, mut archive) = archive(&files);
    let mut row = PluginRow::new("check".to_owned(), "check", &Item::default(), 0, None);
    row.excused = 1;
    let prefix = "podlogs/local/check/logs/".len();
    row.nodes = files.iter().map(|(file, _)| (Rc::from(&file[prefix..file.len() - 4]), false)).collect();
    row.failed_nodes.insert(Rc::from("z-excused"));
    let logs = chosen(&[row], 0, &mut archive, MAX_LOGS);
    assert_eq!(logs.iter().map(|log| log.node.as_str()).collect::<Vec<_>>(), ["z-excused"]);
}

#[test]
fn only_the_namespace_of_the_run_has_its_logs() {
    let other = E2E.replace("podlogs/sonobuoy/", "podlogs/another-run/");
    let tree = tree("e2e", &[("b", "failed")]);
    let of = |files: &[(&str, &str)]| -> Vec<String> {
        embedded(files, std::slice::from_ref(&tree)).into_iter().map(|(_, _, file, _)| file).collect()
    };
    let config = ("meta/config.json", r#"{"Namespace": "sonobuoy"}"#);
    assert_eq!(of(&[(E2E, "own"), (other.as_str(), "other"), config]), [E2E]);
    assert!(of(&[(other.as_str(), "other"), config]).is_empty());
    // If the archive does not say which namespace is that of the run, there must be only one.
    assert!(of(&[(E2E, "own"), (other.as_str(), "other")]).is_empty());
    assert_eq!(of(&[(other.as_str(), "other")]), [other.as_str()]);
}

#[test]
fn runs_on_one_machine_have_logs_by_node() {
    let files = [
        ("podlogs/local/e2e/logs/global.txt", "suite"),
        ("podlogs/local/e2e/logs/global-worker.txt", "worker"),
        ("podlogs/local/check/logs/a-worker.txt", "check"),
        ("podlogs/local/check/logs/a-worker-worker.txt", ""),
    ];
    let logs = embedded(&files, &[tree("e2e", &[("b", "failed")]), per_node("check", &[("a-worker", "timeout")])]);
    let shown: Vec<(u64, &str, &str)> =
        logs.iter().map(|(plugin, node, file, _)| (*plugin, node.as_str(), file.as_str())).collect();
    // Each plugin gets a log before another one gets its second, and empty logs are left out.
    assert_eq!(shown, [(0, "", files[0].0), (1, "a-worker", files[2].0), (0, "", files[1].0)]);
    // The page replaces characters in the names of nodes, and finds their logs.
    let steering = "a\u{202e}-worker";
    let file = format!("podlogs/local/check/logs/{steering}.txt");
    let logs = embedded(&[(file.as_str(), "check")], &[per_node("check", &[(steering, "failed")])]);
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0].1, "a\u{fffd}-worker");
}

#[test]
fn the_number_of_logs_is_limited_and_failures_that_count_come_first() {
    let container = |n: usize| format!("podlogs/ns/sonobuoy-a-job-0/logs/c{n:03}.txt");
    let many: Vec<String> = (0..MAX_LOGS + 50).map(container).collect();
    let mut files: Vec<(&str, &str)> = many.iter().map(|file| (file.as_str(), "x")).collect();
    files.push(("podlogs/ns/sonobuoy-b-job-0/logs/b.txt", "y"));
    let (_dir, mut archive) = archive(&files);
    let row = |plugin: &str, counting: u64, excused: u64| {
        let mut row = PluginRow::new(plugin.to_owned(), plugin, &Item::default(), 0, None);
        (row.counting, row.excused) = (counting, excused);
        row
    };
    let plugins = |rows: &[PluginRow], archive: &mut ResultsArchive| {
        let logs = chosen(rows, 0, archive, MAX_LOGS);
        (logs.len(), logs[0].plugin, logs[1].plugin)
    };
    assert_eq!(plugins(&[row("a", 0, 1), row("b", 1, 0)], &mut archive), (MAX_LOGS, 1, 0));
    assert_eq!(plugins(&[row("a", 1, 0), row("b", 1, 0)], &mut archive), (MAX_LOGS, 0, 1));
    assert!(chosen(&[row("a", 0, 0)], 0, &mut archive, MAX_LOGS).is_empty());
    // The plugins of an earlier input have their logs already.
    assert!(chosen(&[row("a", 1, 0)], 1, &mut archive, MAX_LOGS).is_empty());
}

#[test]
fn a_long_log_keeps_whole_lines_of_its_start_and_its_end() {
    let line = "a line of a long log\n";
    let text = format!("first\n{}last\n", line.repeat(100_000));
    let parts = excerpt(&mut text.as_bytes(), "podlogs/x.txt").unwrap();
    let shown: String = parts.iter().map(|(_, text)| text.as_str()).collect();
    assert!(shown.starts_with("first\n") && shown.ends_with("last\n"), "{}", &shown[..50]);
    assert!(shown.len() <= KEPT.0 + KEPT.1 + 100, "{} bytes", shown.len());
    let (note, others): (Vec<&str>, Vec<&str>) = shown.lines().partition(|line| line.starts_with('…'));
    let [note] = note.as_slice() else { panic!("{note:?}") };
    assert!(others.iter().all(|text| ["", "first", "last", line.trim_end()].contains(text)), "{others:?}");
    let lines = others.iter().filter(|text| **text == line.trim_end()).count();
    let left_out = (100_000 - lines) * line.len();
    assert_eq!(*note, format!("… {left_out} bytes are left out: see podlogs/x.txt …"));

    // A log that just fits is complete, and one without lines is cut anyway.
    let fits = "x".repeat(KEPT.0 + KEPT.1);
    let parts = excerpt(&mut fits.as_bytes(), "").unwrap();
    assert_eq!(parts, [(String::new(), fits)]);
    let one_line = format!("{}\n", "é".repeat(100_000));
    let shown: String = excerpt(&mut one_line.as_bytes(), "").unwrap().into_iter().map(|(_, text)| text).collect();
    assert!(shown.starts_with("éé") && shown.ends_with("é\n"));
}
