//! Results as an HTML page.

use serde_json::json;

use crate::bed::Bed;

const CLUSTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/cluster");
const SONOBUOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

/// Returns what the page says without a script: without its policy, style sheet, data and script,
/// which are not compared.
fn static_part(page: &str) -> String {
    let (before, rest) = page.split_once("<meta http-equiv").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (shown, _) = rest.split_once("<script").unwrap();
    format!("{before}…{shown}")
}

#[test]
fn a_page_says_what_failed_first_and_needs_nothing_else() {
    let bed = Bed::new();
    let page = bed.plumbline(&["results", CLUSTER, "-o", "html"]).expect(3).out;
    insta::assert_snapshot!(static_part(&page));
    for foreign in ["src=", "@import", "url(", "http://", "https://", " style=", "'unsafe-inline'"] {
        let (before, rest) = page.split_once("<script type=\"application/gzip\"").unwrap();
        let (_, script) = rest.split_once("<script>").unwrap();
        assert!(!before.contains(foreign) && !script.contains(foreign), "{foreign}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("<html lang=\"en\">"));
}

#[test]
fn a_real_archive_of_sonobuoy_has_the_run_and_its_causes() {
    let bed = Bed::new();
    let page = bed.plumbline(&["results", SONOBUOY, "-p", "e2e", "-o", "html"]).expect(1).out;
    for part in [
        "<dt>cluster</dt><dd>ff8861ac-3c94-48fb-8fbf-f4b2fa1c2120</dd>",
        "<dt>Kubernetes</dt><dd>v1.21.1</dd></div><div><dt>nodes</dt><dd>1</dd>",
        "<dt>made by</dt><dd>Sonobuoy v0.53.2</dd>",
        "4 failures, 3 causes",
        "2 ×</span> <b>We need at least two pods",
    ] {
        assert!(page.contains(part), "{part}: {}", static_part(&page));
    }
    let markdown = bed.plumbline(&["results", SONOBUOY, "-p", "e2e", "-o", "markdown"]).expect(1).out;
    assert!(markdown.contains("cluster: ff8861ac-3c94-48fb-8fbf-f4b2fa1c2120"), "{markdown}");
    assert!(markdown.contains("### e2e: 4 failed"), "{markdown}");
}

/// Writes an archive of one plugin: its tree, and the verdict of its judges.
fn archive(bed: &Bed, tree: &serde_json::Value, verdict: Option<&str>) -> String {
    bed.write("a/meta/info.json", r#"{"plugins": ["e2e"]}"#);
    bed.write("a/plugins/e2e/sonobuoy_results.yaml", &tree.to_string());
    if let Some(verdict) = verdict {
        bed.write("a/plugins/e2e/plumbline_verdict.json", verdict);
    }
    bed.path("a").to_str().unwrap().to_owned()
}

fn tree() -> serde_json::Value {
    json!({"name": "e2e", "status": "failed", "items": [{"name": "junit_01.xml", "status": "failed", "meta": {"type": "file"}, "items": [
        {"name": "suite", "status": "failed", "items": [
            {"name": "known", "status": "failed", "meta": {"duration": "12.25"}, "details": {"failure": "as ever"}},
            {"name": "new", "status": "failed", "meta": {"duration": "600"}},
            {"name": "good", "status": "passed", "meta": {"duration": "0.5"}},
            {"name": "left out", "status": "skipped"}]}]}]})
}

#[test]
fn rulings_of_judges_are_shown_next_to_the_items() {
    let bed = Bed::new();
    let path = |name: &str| json!(["junit_01.xml", "suite", name]);
    let verdict = json!({"version": 1, "plugin": "e2e", "status": "failed",
        "chain": [{"judge": "known-failures"}, {"judge": "checks", "error": "it trapped"}],
        "classes": {"failure": {"items": 1, "counting": 1}, "known-failure": {"items": 1, "counting": 0}, "skip-not-allowed": {"items": 1, "counting": 1}},
        "items": [
            {"set": "global", "path": path("known"), "status": "failed", "class": "known-failure", "counts": false, "reason": "no UDP <here>", "source": "known.yaml", "judge": "known-failures"},
            {"set": "global", "path": path("new"), "status": "failed", "class": "failure", "counts": true, "reason": "no judge ruled on it"},
            {"set": "", "path": path("left out"), "status": "skipped", "class": "skip-not-allowed", "counts": true, "judge": "allowed-skips"}],
        "checks": [{"id": "PODS-001", "name": "pods are healthy", "outcome": "failed", "want": ">= 98 %", "got": "96 %", "judge": "checks"}]});
    let archive = archive(&bed, &tree(), Some(&verdict.to_string()));
    let page = bed.plumbline(&["results", &archive, "-o", "html"]).out;
    insta::assert_snapshot!(static_part(&page));
    // Failures that count are listed before excused ones.
    assert!(page.find("<b>new</b>").unwrap() < page.find("<b>known</b>").unwrap());
}

#[test]
fn an_unreadable_verdict_is_an_error_and_not_left_out() {
    let bed = Bed::new();
    let archive = archive(&bed, &tree(), Some("{\"version\": \"x\""));
    let done = bed.plumbline(&["results", &archive, "-o", "html"]).expect(2);
    assert!(done.err.contains("failed to read") && done.out.is_empty(), "{}", done.err);
}

#[test]
fn hostile_names_stay_text() {
    let bed = Bed::new();
    let name = "</title><script>alert(1)</script>\u{202e}\u{1b}[2J\" onload='x' & <b>";
    let tree = json!({"name": name, "status": name, "items": [{"name": name, "status": "failed", "meta": {"error": name, "file": name, "duration": "-1"},
        "details": {name: name, "map": {name: [name]}}}]});
    let archive = archive(&bed, &tree, None);
    let page = bed.plumbline(&["results", &archive, "-o", "html"]).out;
    // The texts of items, the data, and the script.
    assert_eq!(page.matches("<script").count(), 3, "{page}");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'), "{page}");
    assert_eq!(page.matches("</title>").count(), 1);
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn durations_are_in_every_format_that_has_room_for_them() {
    let bed = Bed::new();
    let archive = archive(&bed, &tree(), None);
    let show = |format: &str| bed.plumbline(&["results", &archive, "-o", format]).expect(1).out;
    assert!(
        show("junit").contains(r#"<testcase name="new" classname="e2e|junit_01.xml|suite" time="600.000">"#),
        "{}",
        show("junit")
    );
    let markdown = show("markdown");
    assert!(
        markdown.contains("- **new** (10 min 0 s)") && markdown.contains("| 12.2 s | failed | known |"),
        "{markdown}"
    );
    assert!(show("html").contains("<td class=\"n\">10 min 0 s</td>"));
    let trees: serde_json::Value = serde_json::from_str(&show("json")).unwrap();
    let slow = |seconds: f64, status: &str, name: &str| json!({"seconds": seconds, "status": status, "name": name, "suites": ["suite"]});
    let slowest = [slow(600.0, "failed", "new"), slow(12.25, "failed", "known"), slow(0.5, "passed", "good")];
    assert_eq!(trees[0]["slowest"], json!(slowest));
}

#[test]
fn a_failure_on_many_nodes_is_one_line_in_every_view() {
    let bed = Bed::new();
    let node = |n: u32| {
        let status = if n <= 12 { "failed" } else { "passed" };
        json!({"name": format!("worker-{n}"), "status": status, "meta": {"type": "node"}, "items": [
            {"name": "check 33", "status": status, "details": {"failure": "/workspace/src/framework.go:630\ndisk is full"}}]})
    };
    let nodes: Vec<_> = (1..=50).map(node).collect();
    let archive = archive(&bed, &json!({"name": "e2e", "status": "failed", "items": nodes}), None);
    let show = |format: &str| bed.plumbline(&["results", &archive, "-o", format]).expect(1).out;
    let nodes = "failed on 12 of 50 nodes: worker-1, worker-2, … 10 more";
    assert!(
        show("markdown").contains(&format!("### e2e: 12 failed\n\n- **check 33**: {nodes}: disk is full\n")),
        "{}",
        show("markdown")
    );
    let page = show("html");
    assert!(page.contains(&format!("<b>check 33</b>: {nodes}")), "{page}");
    assert!(page.contains("12 ×</span> <b>disk is full (src/framework.go)</b>"), "{page}");
    let report = bed.plumbline(&["results", &archive]).expect(1).out;
    assert!(report.ends_with(&format!("Failed: 12\nSkipped: 0\n\nFailed tests:\ncheck 33: {nodes}\n")), "{report}");
}

#[test]
fn a_tree_is_the_same_whether_it_is_read_item_by_item_or_as_a_whole() {
    let bed = Bed::new();
    bed.write("a/meta/info.json", r#"{"plugins": ["p"]}"#);
    bed.write("a/meta/config.json", r#"{"PlumblineVersion": "0.1.0", "PlumblineStarted": "2026-11-25T09:00:00Z"}"#);
    let page = |tree: &str| {
        bed.write("a/plugins/p/sonobuoy_results.yaml", tree);
        bed.plumbline(&["results", bed.path("a").to_str().unwrap(), "-o", "html"]).expect(1).out
    };
    let by_item = page(
        "name: p\nstatus: failed\nmeta:\n  type: summary\nitems:\n- name: n1\n  status: failed\n  meta:\n    type: node\n  items:\n  \
         - name: a\n    status: passed\n  - name: \"b: c\"\n    status: failed\n    details:\n      failure: \"why\\nmore\"\n      n: {\"x\": [1]}\n",
    );
    // Only trees as Plumbline writes them can be read item by item, and it does not write JSON.
    let as_a_whole = page(
        &json!({"name": "p", "status": "failed", "meta": {"type": "summary"}, "items": [{"name": "n1", "status": "failed", "meta": {"type": "node"}, "items": [
            {"name": "a", "status": "passed"}, {"name": "b: c", "status": "failed", "details": {"failure": "why\nmore", "n": {"x": [1]}}}]}]})
        .to_string(),
    );
    assert_eq!(by_item, as_a_whole);
    assert!(by_item.contains("1 failure counts of 2 items") && by_item.contains("<b>b: c</b> on n1"), "{by_item}");
}

#[test]
fn the_run_and_its_nodes_are_in_every_report() {
    let bed = Bed::new();
    let kernel = |n: u32| if n == 1 { "6.1.0-17" } else { "6.1.0-18" };
    let nodes: Vec<_> = (1..=3)
        .map(|n| json!({"metadata": {"name": format!("n{n}")}, "status": {"nodeInfo": {"kernelVersion": kernel(n)}}}))
        .collect();
    bed.write("a/resources/cluster/core_v1_nodes.json", &json!(nodes).to_string());
    bed.write("a/serverversion.json", r#"{"gitVersion": "v1.36.3"}"#);
    bed.write(
        "a/meta/config.json",
        r#"{"PlumblineVersion": "0.1.0", "PlumblineStarted": "2026-11-25T09:00:00Z", "UUID": "7f3a9c00-0000-4000-8000-000000000000"}"#,
    );
    bed.write("a/meta/run.log", "{\"time\":\"2026-11-25T09:00:00Z\"}\n{\"time\":\"2026-11-25T10:30:00Z\"}\n");
    let node = |n: u32| {
        let status = if n == 1 { "failed" } else { "passed" };
        json!({"name": format!("n{n}"), "status": status, "meta": {"type": "node"}, "items": [{"name": "check", "status": status}]})
    };
    let drift = json!({"name": "kernel: 1 of 3 nodes differs", "status": "warning", "meta": {"fact": "kernel"}, "details": {
        "majority": {"nodes": 2, "value": kernel(2)}, "differing": [{"nodes": 1, "value": kernel(1), "names": ["n1"]}]}});
    let tree = json!({"name": "e2e", "status": "failed", "items": [node(1), node(2), node(3), drift]});
    let archive = archive(&bed, &tree, None);
    bed.write(
        "a/meta/info.json",
        r#"{"plugins": ["e2e"], "cluster": {"uid": "0b5f8a4e-1111-4222-8333-444444444444"}}"#,
    );
    let show = |format: &str| bed.plumbline(&["results", &archive, "-o", format]).expect(1).out;

    let page = show("html");
    for fact in [
        "<dt>cluster</dt><dd>0b5f8a4e-1111-4222-8333-444444444444</dd>",
        "<dt>Kubernetes</dt><dd>v1.36.3</dd></div><div><dt>nodes</dt><dd>3</dd>",
        r#"<time datetime="2026-11-25T09:00:00Z">25 November 2026, 09:00 UTC</time>"#,
    ] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    let markdown = show("markdown");
    let head = "## Results of a\n\n**failed**: 1 failure counts of 4 items\n\n\
        cluster: 0b5f8a4e-1111-4222-8333-444444444444 · Kubernetes: v1.36.3 · nodes: 3 · started: 25 November 2026, 09:00 UTC · \
        duration: 1 h 30 min · run: 7f3a9c00-0000-4000-8000-000000000000 · made by: Plumbline 0.1.0\n";
    assert!(markdown.starts_with(head), "{markdown}");
    let tables = "### e2e: what distinguishes failed nodes\n\n| property | value | failed nodes | other nodes |\n|---|---|---:|---:|\n\
        | kernelVersion | 6.1.0-17 | 1 of 1 | 0 of 2 |\n\n### Facts that differ between nodes\n\n\
        | fact | most nodes | other nodes |\n|---|---|---|\n| kernel | 6.1.0-18 on 2 | 6.1.0-17 on 1: n1 |\n";
    assert!(markdown.contains(tables), "{markdown}");
    let trees: serde_json::Value = serde_json::from_str(&show("json")).unwrap();
    let run = json!({"verdict": "failed", "archive": "a", "id": "7f3a9c00-0000-4000-8000-000000000000", "tool": "Plumbline 0.1.0",
        "cluster": "0b5f8a4e-1111-4222-8333-444444444444", "kubernetes": "v1.36.3", "nodes": 3, "started": "2026-11-25T09:00:00Z", "seconds": 5400.0});
    assert_eq!(trees[0]["run"], run);
    let distinctions = json!([{"property": "kernelVersion", "value": "6.1.0-17", "failed-nodes": {"count": 1, "of": 1},
        "other-nodes": {"count": 0, "of": 2}}]);
    assert_eq!(trees[0]["node-distinctions"], distinctions);
    let yaml: serde_json::Value = serde_saphyr::from_str(show("yaml").trim_start_matches("---\n")).unwrap();
    for key in ["verdict", "cluster", "nodes"] {
        assert_eq!(yaml["run"][key], run[key], "{key}");
    }
    assert_eq!(yaml["node-distinctions"], distinctions);
    let both = bed.plumbline(&["results", &archive, &archive, "-o", "json"]).expect(1).out;
    let both: serde_json::Value = serde_json::from_str(&both).unwrap();
    assert_eq!([&both[0], &both[1]].map(|tree| &tree["node-distinctions"]), [&distinctions; 2]);
}
