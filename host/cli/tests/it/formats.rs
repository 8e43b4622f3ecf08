//! `results` in the formats of other tools.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::bed::Bed;

const CLUSTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/cluster");
const SONOBUOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The leaves of the trees in `-o json`, with those of plugins without items.
fn leaves(bed: &Bed, archive: &str) -> usize {
    fn count(item: &Value) -> usize {
        item["items"].as_array().map_or(1, |items| items.iter().map(count).sum())
    }
    let trees = json_of(&bed.plumbline(&["results", archive, "-o", "json"]).out);
    trees.as_array().unwrap().iter().map(count).sum()
}

#[test]
fn every_leaf_is_in_every_format_and_the_exit_code_stays() {
    let bed = Bed::new();
    let all = leaves(&bed, CLUSTER);
    let ctrf = bed.plumbline(&["results", CLUSTER, "-o", "ctrf"]).expect(3).out;
    let report = json_of(&ctrf);
    assert_eq!(report["results"]["tests"].as_array().unwrap().len(), all);
    assert_eq!(report["results"]["summary"]["tests"], all);

    let dir = bed.path("allure-results");
    let done = bed.plumbline(&["results", CLUSTER, "-o", "allure", "--dir", dir.to_str().unwrap()]).expect(3);
    assert_eq!(done.out, "");
    let names: Vec<String> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| name.ends_with("-result.json")).count(), all);

    let reports = bed.plumbline(&["results", CLUSTER, "-o", "openreports", "--namespace", "checks"]).expect(3).out;
    let results: usize = reports
        .split("---\n")
        .skip(1)
        .map(|report| serde_saphyr::from_str::<Value>(report).unwrap()["results"].as_array().unwrap().len())
        .sum();
    assert_eq!(results, all);
    let junit = bed.plumbline(&["results", CLUSTER, "-o", "junit"]).expect(3).out;
    assert_eq!(junit.matches("<testcase ").count(), all);
}

#[test]
fn a_scan_is_the_same_after_it_was_written_as_sarif() {
    let bed = Bed::new();
    let place = |line: u64| json!([{"physicalLocation": {"artifactLocation": {"uri": "src/a.c"}, "region": {"startLine": line, "startColumn": 7}}}]);
    let log = json!({"version": "2.1.0", "runs": [
        {"tool": {"driver": {"name": "lint", "version": "1.2", "rules": [{"id": "E", "helpUri": "https://example.org/e"}]}}, "results": [
            {"ruleId": "E", "level": "error", "message": {"text": "bad"}, "locations": place(3)},
            {"ruleId": "W", "level": "warning", "message": {"text": "odd"}, "locations": place(4)},
            {"ruleId": "N", "level": "note", "message": {"text": "hm"}, "locations": place(5)},
            {"ruleId": "P", "kind": "pass", "message": {"text": "fine"}, "locations": place(6)},
            {"ruleId": "R", "kind": "review", "message": {"text": "look"}, "locations": place(7)},
            {"ruleId": "S", "level": "error", "message": {"text": "old"}, "locations": place(8), "suppressions": [{"kind": "inSource", "justification": "agreed"}]},
            {"ruleId": "F", "level": "error", "message": {"text": "in f"}, "locations": [{"logicalLocations": [{"fullyQualifiedName": "crate::f"}]}]}]},
        {"tool": {"driver": {"name": "clean"}}, "results": []},
        {"tool": {"driver": {"name": "broken"}}, "results": [], "invocations": [{"executionSuccessful": false, "exitCode": 2}]}]});
    let first = bed.write("scan.sarif", &log.to_string());
    let runs = |path: &str| {
        let trees = json_of(&bed.plumbline(&["results", path, "-o", "json"]).out);
        let runs = trees[0]["items"][0]["items"].as_array().unwrap().clone();
        let shown = |item: &Value| {
            (
                item["name"].clone(),
                item["status"].clone(),
                item["meta"]["location"].clone(),
                item["details"]["failure"].clone(),
            )
        };
        let of_run = |run: &Value| {
            let items = run["items"].as_array().cloned().unwrap_or_default();
            (run["name"].clone(), items.iter().map(shown).collect::<Vec<_>>(), run["status"].clone())
        };
        runs.iter().map(of_run).collect::<Vec<_>>()
    };
    let written = bed.plumbline(&["results", first.to_str().unwrap(), "-o", "sarif"]).expect(1).out;
    let second = bed.write("again.sarif", &written);
    let (before, after) = (runs(first.to_str().unwrap()), runs(second.to_str().unwrap()));
    assert_eq!(before.len(), 3);
    assert_eq!(before[..2], after[..2], "{written}");
    // A run that failed stays one, with the exit code as a notification.
    assert_eq!(before[2].2, after[2].2, "{written}");
    assert!(written.contains("exit code 2"), "{written}");
}

#[test]
fn ctrf_is_read_again_with_the_same_results() {
    let bed = Bed::new();
    let report = "<testsuite name='s'><testcase name='a' time='1.5'/><testcase name='b'><failure message='no route'>at line 3</failure></testcase>\
                  <testcase name='c'><skipped/></testcase></testsuite>";
    let first = bed.write("junit.xml", report);
    let ctrf = bed.plumbline(&["results", first.to_str().unwrap(), "-o", "ctrf"]).expect(1).out;
    let second = bed.write("ctrf.json", &ctrf);
    let tree = json_of(&bed.plumbline(&["results", second.to_str().unwrap(), "-o", "json"]).expect(1).out);
    let suite = &tree[0]["items"][0]["items"][0];
    let statuses: Vec<_> =
        suite["items"].as_array().unwrap().iter().map(|item| (&item["name"], &item["status"])).collect();
    assert_eq!(json!(statuses), json!([["a", "passed"], ["b", "failed"], ["c", "skipped"]]), "{tree}");
    assert_eq!(suite["items"][0]["meta"]["duration"], "1.5");
}

/// Validates reports with the npm package `ctrf`.
#[test]
fn the_reference_implementation_of_ctrf_accepts_our_reports() {
    let Some(library) = std::env::var_os("PLUMBLINE_CTRF").filter(|named| !named.is_empty()) else {
        eprintln!("SKIPPED: PLUMBLINE_CTRF names no package `ctrf`; `cargo xtask test` installs it with npm");
        return;
    };
    let bed = Bed::new();
    let script = "const [library, file] = process.argv.slice(1);\n\
                  require(library).validateStrict(JSON.parse(require('fs').readFileSync(file, 'utf8')));";
    let validate = |report: &str| {
        let file = bed.write("report.json", report);
        Command::new("node").args(["-e", script]).arg(&library).arg(file).output().unwrap()
    };
    bed.write("report.xml", "<testsuite name='s'><testcase name='a'/></testsuite>");
    for (archive, code) in [(CLUSTER, 3), (SONOBUOY, 1), ("report.xml", 0)] {
        let report = bed.plumbline(&["results", archive, "-o", "ctrf"]).expect(code).out;
        let output = validate(&report);
        assert!(output.status.success(), "{archive}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // It notices what is missing.
    let output = validate(r#"{"reportFormat": "CTRF", "specVersion": "0.0.0", "results": {"tests": []}}"#);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("summary"), "{output:?}");
}

#[test]
fn an_unreadable_archive_is_not_a_success_in_any_format() {
    let bed = Bed::new();
    let good = bed.write("good.xml", "<testsuite name='s'><testcase name='a'/></testsuite>");
    let inputs = ["results", good.to_str().unwrap(), "missing.tar.gz"];
    for (format, shown) in [
        ("junit", "<error message="),
        ("ctrf", "\"name\":\"verdict: incomplete\""),
        ("github", "::error title=plumbline%3A verdict%3A incomplete::"),
        ("sarif", "\"executionSuccessful\":false"),
        ("openreports", "result: error"),
    ] {
        let done = bed.plumbline(&[&inputs[..], &["-o", format]].concat()).expect(3);
        assert!(done.out.contains(shown), "{format}: {}", done.out);
        assert!(done.err.contains("missing.tar.gz"), "{}", done.err);
    }
}

#[test]
fn a_limit_cuts_markdown_after_its_head() {
    let bed = Bed::new();
    let show = |more: &[&str]| bed.plumbline(&[&["results", CLUSTER, "-o", "markdown"], more].concat()).expect(3).out;
    let (all, cut) = (show(&[]), show(&["--max-bytes", "300"]));
    assert_eq!(show(&["--max-bytes", "1MiB"]), all);
    assert!(all.len() > 300 && cut.len() <= 300, "{}", cut.len());
    let (shown, note) = cut.split_once("\n… ").unwrap();
    assert!(all.starts_with(shown) && shown.contains("**incomplete**: 3 failures count of 10 items"), "{cut}");
    let left_out = all.lines().count() - shown.lines().count();
    assert_eq!(note, format!("{left_out} more lines are left out: the limit is 300 bytes\n"));
}

#[test]
fn options_of_a_format_are_rejected_with_others() {
    let bed = Bed::new();
    for (args, said) in [
        (&["-o", "allure"][..], "--dir"),
        (&["-o", "ctrf", "--dir", "x"], "`--dir` needs the format `allure`"),
        (&["--namespace", "x"], "`--namespace` needs the format `openreports`"),
        (&["-o", "html", "--max-bytes", "1MiB"], "`--max-bytes` needs the format `markdown`"),
        (&["-o", "json", "--previous", CLUSTER], "`--previous` needs the format `html` or `markdown`"),
        (&["--skip-prefix"], "`--skip-prefix` needs the mode `detailed`"),
        (&["-s", "-m", "dump"], "`--skip-prefix` needs the mode `detailed`"),
        (&["--result-format", "junit"], "`--result-format` is for a result file, but"),
        (&["-o", "html", "--previous", CLUSTER, "--node", "n"], "cannot be used with"),
        (&[CLUSTER, "-o", "html", "--previous", CLUSTER], "`--previous` compares one run"),
    ] {
        let done = bed.plumbline(&[&["results", CLUSTER][..], args].concat()).expect(2);
        assert!(done.err.contains(said) && done.out.is_empty(), "{}", done.err);
    }
    bed.write("full/file", "");
    let done = bed.plumbline(&["results", CLUSTER, "-o", "allure", "--dir", "full"]).expect(4);
    assert!(
        done.err.contains("failed to write results to directory `full`\ncause: the directory is not empty"),
        "{}",
        done.err
    );
}
