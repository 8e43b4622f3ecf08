//! Failures and what the cluster went through.

use serde_json::{Value, json};

use crate::bed::Bed;

const NOT_READY: &str = "Ready is Unknown: NodeStatusUnknown: Kubelet stopped posting node status.";

/// Writes an archive of a suite and of a plugin for each node, and returns its path. Six tests of
/// the suite fail, and three of them name a node or a namespace.
pub(crate) fn archive(bed: &Bed, timeline: &[u8]) -> String {
    let failed = |name: &str, second: u32, text: &str| {
        json!({"name": name, "status": "failed", "meta": {"start": format!("2026-11-25T12:01:{second:02}Z"), "duration": "1.0"},
            "details": {"failure": text}})
    };
    let suite = json!({"name": "e2e", "status": "failed", "items": [
        {"name": "good", "status": "passed"},
        failed("one", 20, "pod on node \"lab2\" is not ready"),
        failed("two", 30, "timed out on lab2"),
        failed("three", 40, "Destroying namespace \"pods-12\" for this suite."),
        failed("four", 50, "it is the default namespace"),
    ]});
    let lost = json!({"name": "no answer from the node", "status": "failed"});
    let nodes = json!({"name": "facts", "status": "failed", "items": [
        {"name": "lab1", "status": "passed", "meta": {"type": "node"}, "items": [{"name": "os", "status": "passed"}]},
        {"name": "lab2", "status": "failed", "meta": {"type": "node"}, "items": [lost]},
    ]});
    bed.write("run/meta/info.json", r#"{"plugins": ["e2e", "facts"]}"#);
    bed.write("run/plugins/e2e/sonobuoy_results.yaml", &suite.to_string());
    bed.write("run/plugins/facts/sonobuoy_results.yaml", &nodes.to_string());
    if !timeline.is_empty() {
        std::fs::write(bed.path("run/meta/timeline.jsonl"), timeline).unwrap();
    }
    "run".to_owned()
}

pub(crate) fn timeline() -> Vec<u8> {
    let plugin = |time: &str, plugin: &str, change: &str| json!({"time": time, "kind": "plugin", "change": change, "plugin": plugin});
    let entries = [
        plugin("2026-11-25T12:00:00Z", "e2e", "start"),
        plugin("2026-11-25T12:00:00Z", "facts", "start"),
        json!({"time": "2026-11-25T12:00:41Z", "kind": "node-condition", "change": "start", "name": "Ready", "node": "lab2", "text": NOT_READY}),
        json!({"time": "2026-11-25T12:01:02Z", "until": "2026-11-25T12:01:31Z", "kind": "scheduling", "name": "FailedScheduling",
            "namespace": "pods-12", "pod": "pod-a", "text": "FailedScheduling: 0/2 nodes are available", "count": 7}),
        json!({"time": "2026-11-25T12:01:30Z", "kind": "warning", "name": "Failed", "namespace": "default", "pod": "b", "text": "Failed: b"}),
        json!({"time": "2026-11-25T12:01:30Z", "kind": "api", "text": "2 of 9 requests failed: 503 ×2; slowest 0.1 s"}),
        json!({"time": "2026-11-25T12:02:00Z", "kind": "node-condition", "change": "end", "name": "Ready", "node": "lab2"}),
        plugin("2026-11-25T12:02:10Z", "e2e", "end"),
        plugin("2026-11-25T12:02:10Z", "facts", "end"),
    ];
    entries.iter().flat_map(|entry| format!("{entry}\n").into_bytes()).collect()
}

#[test]
fn failures_are_shown_with_related_cluster_events() {
    let bed = Bed::new();
    let run = archive(&bed, &timeline());
    let text = bed.plumbline(&["results", &run]).expect(1).out;
    insta::assert_snapshot!("timeline_text", text);
    let markdown = bed.plumbline(&["results", &run, "-o", "markdown"]).expect(1).out;
    insta::assert_snapshot!("timeline_markdown", markdown);
    let trees = bed.plumbline(&["results", &run, "-o", "json"]).expect(1).out;
    let trees: Value = serde_json::from_str(&trees).unwrap();
    let events = &trees[0]["cluster-events"];
    assert_eq!(events.as_array().map(Vec::len), Some(2), "{events:#}");
    let want = json!({
        "kind": "node-condition", "name": "Ready", "node": "lab2", "count": 1,
        "from": "2026-11-25T12:00:41Z", "until": "2026-11-25T12:02:00Z", "text": NOT_READY,
        "sentence": format!("node lab2 was not ready from 40 s before these 2 failures: {NOT_READY}"),
        "tests": [{"name": "one"}, {"name": "two"}],
    });
    assert_eq!(events[0], want);
    let page = bed.plumbline(&["results", &run, "-o", "html"]).expect(1).out;
    assert!(page.contains("<p class=\"cluster\">node lab2 was not ready from 40 s before these 2 failures"), "{page}");
}

#[test]
fn an_archive_without_a_recording_has_no_cluster_events() {
    let bed = Bed::new();
    let run = archive(&bed, b"");
    let done = bed.plumbline(&["results", &run, "-o", "json"]).expect(1);
    assert!(!done.out.contains("cluster-events") && !done.err.contains("timeline"), "{}", done.out);
    let page = bed.plumbline(&["results", &run, "-o", "html"]).expect(1).out;
    assert!(!page.contains("class=\"cluster\""));
}

#[test]
fn a_hostile_recording_is_reported_and_harmless() {
    let bed = Bed::new();
    let mut bytes = timeline();
    bytes.extend(b"\xff\xfe not json\n");
    bytes.extend(vec![b'['; 100_000]);
    bytes.extend(b"\n{\"time\":\"2026-11-25T12:01:25Z\",\"kind\":\"warning\",\"node\":\"lab2\",\"text\":\"<script>\\u001b[2J\\u202e\"}\n{\"time\":");
    let run = archive(&bed, &bytes);
    let done = bed.plumbline(&["results", &run]).expect(1);
    assert!(done.err.contains("the cluster timeline of `run` is incomplete: 3 lines"), "{}", done.err);
    assert!(done.out.contains("node lab2: <script>\u{fffd}[2J\u{fffd}"), "{}", done.out);
    let page = bed.plumbline(&["results", &run, "-o", "html"]).expect(1).out;
    assert!(page.contains("node lab2: &lt;script&gt;\u{fffd}[2J\u{fffd}"));
}
