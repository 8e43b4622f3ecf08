//! Every format, of the same results.

use plumbline_core::judgement::PluginVerdict;
use serde_json::json;

use crate::causes::Cause;
use crate::report::renderers::{ArchiveFacts, Format, Leaf, Leaves, Outcome, Renderer, renderer, source, unexplained};
use crate::report::testing::{leaf, node};
use plumbline_core::{Item, Status, Verdict};

pub(super) fn item(name: &str, items: Vec<Item>) -> Item {
    Item { items, ..leaf(name, "failed") }
}

fn send(renderer: &mut dyn Renderer, root: &Item, verdict: Option<&PluginVerdict>, causes: &[Cause]) -> bool {
    let mut leaves = Leaves::new(root.name.clone(), "e2e", root, verdict, causes, renderer).unwrap();
    let mut walk = root.walk();
    while let Some(item) = walk.next() {
        leaves.item(walk.depth(), item, item.is_leaf()).unwrap();
    }
    leaves.finish(root).unwrap()
}

/// The trees in `format`.
pub(super) fn rendered(format: &Format, roots: &[Item]) -> String {
    rendered_with(format, |renderer| {
        for root in roots {
            send(renderer, root, None, &[]);
        }
    })
}

/// What `fill` sends, in `format`.
fn rendered_with(format: &Format, fill: impl FnOnce(&mut dyn Renderer)) -> String {
    let mut out = Vec::new();
    let mut renderer = renderer(format, &mut out).unwrap();
    fill(renderer.as_mut());
    renderer.finish().unwrap();
    drop(renderer);
    String::from_utf8(out).unwrap()
}

/// The formats that are text, without the directory of Allure.
const TEXTS: [Format; 5] = [Format::Junit, Format::Ctrf, Format::Github, Format::Sarif, Format::Openreports(None)];

fn files(dir: &std::path::Path) -> String {
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let show = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        format!("{name}\n{}\n", std::fs::read_to_string(path).unwrap())
    };
    files.iter().map(show).collect()
}

fn facts() -> ArchiveFacts {
    ArchiveFacts {
        file: "run.tar.gz".into(),
        run: Some("5f0f8c1e-0000-4000-8000-000000000001".into()),
        tool: Some(("Plumbline", "0.1.0".into())),
        cluster: None,
        kubernetes: Some("v1.33.1".into()),
        started: Some("2026-07-01T03:00:00Z".parse().unwrap()),
        ended: Some("2026-07-01T03:10:00Z".parse().unwrap()),
    }
}

fn tree() -> Item {
    serde_json::from_value(json!({"name": "e2e", "status": "failed", "items": [
        {"name": "n1", "status": "failed", "meta": {"type": "node"}, "items": [
            {"name": "scan.sarif", "status": "failed", "meta": {"type": "file", "file": "results/n1/scan.sarif"}, "items": [
                {"name": "linter 1.2", "status": "failed", "meta": {"type": "run", "tool": "linter"}, "items": [
                    {"name": "R1 src/a b.rs:3:7", "status": "failed", "meta": {"rule": "R1", "location": "src/a b.rs:3:7", "help": "https://example.org/r1"}, "details": {"failure": "too long"}},
                    {"name": "R2 src/c.rs:9", "status": "warning", "meta": {"rule": "R2", "location": "src/c.rs:9"}, "details": {"failure": "odd"}},
                    {"name": "R3 crate::f", "status": "skipped", "meta": {"rule": "R3", "symbol": "crate::f"}, "details": {"message": "x", "skipped": "suppressed: agreed"}}]}]},
            {"name": "suite", "status": "failed", "items": [
                {"name": "known", "status": "failed", "meta": {"duration": "12.25", "start": "2026-07-01T03:01:00Z"}, "details": {"failure": "as ever", "system-out": "line 1\nline 2"}},
                {"name": "new", "status": "failed", "meta": {"classname": "a.B", "duration": "0.5"}, "details": {"failure-message": "no route", "failure": "no route \u{1b}[31mat line 1\nat line 2"}},
                {"name": "lost", "status": "timeout", "details": {"error": "no result in 60 s"}},
                {"name": "good", "status": "passed", "meta": {"flaky": "true", "retries": "1"}},
                {"name": "twice", "status": "failed"}, {"name": "twice", "status": "passed"}]}]},
        {"name": "raw.txt", "status": "not-read", "meta": {"file": "results/global/raw.txt"}}]}))
    .unwrap()
}

fn verdict() -> PluginVerdict {
    let path = |name: &str| json!(["suite", name]);
    serde_json::from_value(json!({"version": 1, "plugin": "e2e", "status": "failed",
        "chain": [{"judge": "known-failures"}, {"judge": "checks", "error": "it crashed"}], "classes": {},
        "items": [
            {"set": "n1", "path": path("known"), "status": "failed", "class": "known-failure", "counts": false, "reason": "no UDP", "source": "https://example.org/1", "judge": "known-failures"},
            {"set": "n1", "path": path("new"), "status": "failed", "class": "failure", "counts": true, "reason": "no judge ruled on it"}],
        "checks": [{"id": "PODS-001", "name": "pods are healthy", "outcome": "failed", "want": ">= 98 %", "got": "96 %", "judge": "checks"}]}))
    .unwrap()
}

#[test]
fn every_format_shows_the_same_results() {
    let causes = [Cause { id: "c1".into(), template: "no <*>".into(), count: 1, items: vec![4] }];
    let fill = |renderer: &mut dyn Renderer| {
        renderer.archive(&facts()).unwrap();
        assert!(send(renderer, &tree(), Some(&verdict()), &causes));
    };
    for format in TEXTS {
        let text = rendered_with(&format, fill);
        assert!(!text.contains('\u{1b}'), "{text}");
        let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(format!("{format:?}").to_lowercase().replace("(none)", ""), text);
    }
    let dir = tempfile::tempdir().unwrap();
    rendered_with(&Format::Allure(dir.path().join("new")), fill);
    insta::assert_snapshot!("allure", files(&dir.path().join("new")));
}

/// What each format calls a success.
fn successes(format: &Format, text: &str) -> usize {
    match format {
        // A test case without a child.
        Format::Junit => {
            text.matches("/>").count()
                - text.matches("<skipped").count()
                - text.matches("<error").count()
                - text.matches("<failure").count()
        }
        Format::Ctrf | Format::Allure(_) => text.matches("\"status\":\"passed\"").count(),
        Format::Github => 0,
        Format::Sarif => text.matches("\"kind\":\"pass\"").count(),
        Format::Openreports(_) => text.matches("result: pass").count(),
    }
}

/// What each format calls a failure.
fn failures(format: &Format, text: &str) -> usize {
    match format {
        Format::Junit => text.matches("<error").count() + text.matches("<failure").count(),
        Format::Ctrf => text.matches("\"status\":\"failed\"").count(),
        Format::Allure(_) => {
            text.matches("\"status\":\"failed\"").count() + text.matches("\"status\":\"broken\"").count()
        }
        Format::Github => text.matches("::error ").count(),
        Format::Sarif => text.matches("\"level\":\"error\"").count(),
        Format::Openreports(_) => text.matches("result: fail").count() + text.matches("result: error").count(),
    }
}

#[test]
fn a_status_that_counts_as_failed_is_a_failure_in_every_format() {
    let at = |item: Item| Item { meta: [("location".to_owned(), "a.rs:1".to_owned())].into(), ..item };
    for status in ["FAILED", "error", "errored", "Failure", "fail", "timed-out", "Unknown", "failed: 1, passed: 2"] {
        for leaf in [leaf("t", status), at(leaf("t", status))] {
            let root = item("p", vec![leaf, self::leaf("good", "passed")]);
            for format in &TEXTS {
                let text = rendered(format, std::slice::from_ref(&root));
                assert_eq!(failures(format, &text), 1, "{format:?}: {status}: {text}");
            }
            let dir = tempfile::tempdir().unwrap();
            let format = Format::Allure(dir.path().to_owned());
            rendered(&format, &[root]);
            assert_eq!(failures(&format, &files(dir.path())), 1, "allure: {status}");
        }
    }
}

#[test]
fn only_a_leaf_that_passed_is_a_success() {
    let at = |item: Item| Item { meta: [("location".to_owned(), "a.rs:1".to_owned())].into(), ..item };
    for status in
        ["passed", "failed", "timeout", "unknown", "skipped", "not-read", "warning", "PASSED", "pass", "success", "ok"]
    {
        let root = item("p", vec![at(leaf("t", status))]);
        let want = usize::from(matches!(status, "passed" | "PASSED"));
        for format in TEXTS.iter().filter(|format| **format != Format::Github) {
            let text = rendered(format, std::slice::from_ref(&root));
            assert_eq!(successes(format, &text), want, "{format:?}: {status}: {text}");
        }
        let dir = tempfile::tempdir().unwrap();
        let format = Format::Allure(dir.path().to_owned());
        rendered(&format, &[root]);
        assert_eq!(successes(&format, &files(dir.path())), want, "allure: {status}");
    }
    assert_eq!(Outcome::ALL.iter().filter(|outcome| outcome.is_bad()).count(), 2);
}

#[test]
fn a_verdict_that_no_leaf_explains_becomes_a_failure() {
    for (format, shown) in TEXTS.iter().zip([
        "<error message=\"the verdict is &quot;incomplete&quot;",
        "\"status\":\"failed\"",
        "::error title=plumbline%3A verdict%3A incomplete::",
        "\"executionSuccessful\":false",
        "result: error",
    ]) {
        let text = rendered_with(format, |renderer| {
            send(renderer, &item("p", vec![leaf("t", "passed")]), None, &[]);
            unexplained(Verdict::Incomplete, renderer).unwrap();
        });
        assert!(text.contains(shown), "{format:?}: {text}");
    }
}

#[test]
fn rulings_change_what_leaves_mean() {
    struct Seen(Vec<String>);
    impl Renderer for Seen {
        fn leaf(&mut self, leaf: &Leaf<'_>) -> std::io::Result<()> {
            let details = serde_json::to_string(&leaf.item.details)?;
            self.0.push(format!("{} {:?} {details}", leaf.item.name, leaf.outcome()));
            Ok(())
        }
    }
    let root: Item = serde_json::from_value(json!({"name": "e2e", "status": "failed", "items": [
        {"name": "s", "status": "failed", "items": [
            {"name": "a", "status": "passed"},
            {"name": "a", "status": "failed", "details": {"failure": "no route"}},
            {"name": "b", "status": "failed", "details": {"failure": "broken"}},
            {"name": "d", "status": "timeout"},
        ]},
        {"name": "n1", "status": "passed", "meta": {"type": "node"}, "items": [{"name": "c", "status": "skipped"}]},
    ]}))
    .unwrap();
    let verdict = serde_json::from_value(json!({
        "version": 1, "plugin": "e2e", "status": "failed", "chain": [], "classes": {}, "checks": [],
        "items": [
            {"set": "global", "path": ["s", "a"], "status": "failed", "class": "known-failure", "counts": false, "reason": "no UDP\u{1b}", "source": "https://example.org/1"},
            {"set": "global", "path": ["s", "b"], "status": "failed", "class": "failure", "counts": true, "reason": "no judge knows it"},
            {"set": "n1", "path": ["c"], "status": "skipped", "class": "skip-not-allowed", "counts": true},
            {"set": "global", "path": ["s", "d"], "status": "timeout", "class": "known-failure", "counts": false}]}))
    .unwrap();
    let mut seen = Seen(Vec::new());
    assert!(send(&mut seen, &root, Some(&verdict), &[]));
    insta::assert_snapshot!(seen.0.join("\n"));
}

#[test]
fn nothing_in_a_name_is_a_command_of_a_workflow() {
    let hostile = "a\n::set-output name=x::y\r\n::error::%0A::z,file=b";
    let details = [("failure".to_owned(), format!("why\n::stop-commands::x {hostile}").into())].into_iter().collect();
    let meta = [("location".to_owned(), "a,b:c\n::error::\n:3".to_owned())].into();
    let text = rendered(&Format::Github, &[item(hostile, vec![Item { details, meta, ..leaf(hostile, "failed") }])]);
    assert_eq!(text.lines().count(), 1, "{text}");
    let (properties, message) = text.strip_prefix("::error ").unwrap().split_once("::").unwrap();
    assert!(!properties.contains(':') && properties.matches(',').count() == 2, "{properties}");
    assert_eq!(message, "why\n");
}

#[test]
fn github_shows_ten_annotations_of_a_level_and_the_number_of_the_others() {
    let of = |count: usize| {
        let leaves = (0..count).map(|n| leaf(&format!("t{n}"), "failed")).collect();
        rendered(&Format::Github, &[item("p", leaves)])
    };
    assert_eq!(of(10).lines().count(), 10);
    let many = of(25);
    assert_eq!(many.lines().count(), 10);
    assert!(many.ends_with("::error title=Plumbline::16 more results are not shown here\n"), "{many}");
    let nodes = (0..50).map(|n| node(&format!("n{n}"), vec![leaf("disk", "failed")])).collect();
    let nodes = rendered(&Format::Github, &[item("p", nodes)]);
    assert_eq!(nodes, "::error title=p%3A disk::disk: failed on 50 nodes: n0, n1, … 48 more\n");
}

#[test]
fn reports_of_openreports_are_small_enough_for_kubectl() {
    let long = "x".repeat(100_000);
    let root = item(&long, (0..2_000).map(|n| leaf(&format!("{n} {long}"), "failed")).collect());
    let text = rendered(&Format::Openreports(Some("checks".into())), &[root]);
    let reports: Vec<&str> = text.split("---\n").skip(1).collect();
    assert!(reports.len() > 5, "{}", reports.len());
    let mut results = 0;
    for report in reports {
        let report: serde_json::Value = serde_saphyr::from_str(report).unwrap();
        assert!(report.to_string().len() < 250 << 10);
        assert_eq!((&report["kind"], &report["metadata"]["namespace"]), (&json!("Report"), &json!("checks")));
        results += report["results"].as_array().unwrap().len();
        assert_eq!(report["summary"]["fail"], report["results"].as_array().unwrap().len());
    }
    assert_eq!(results, 2_000);
}

#[test]
fn allure_needs_an_empty_directory() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("old-result.json"), "{}").unwrap();
    let mut none = std::io::sink();
    let error = renderer(&Format::Allure(dir.path().to_owned()), &mut none).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
}

#[test]
fn the_source_is_the_nearest_file() {
    let with = |file: &str| Item { meta: [("file".to_owned(), file.to_owned())].into(), ..Item::default() };
    assert_eq!(source("p", &[with("a"), with("b\\c")], &Item::default()), "plugins/p/b/c");
    assert_eq!(source("p", &[with("a")], &with("own")), "plugins/p/own");
    assert_eq!(source("p", &[], &leaf("t", Status::Passed.as_str())), "");
}
