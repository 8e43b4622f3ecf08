//! Judges in whole runs, and how their verdicts are shown.

use std::fs;

use serde_json::Value;

use crate::bed::Bed;

const JUNIT: &str = r#"<testsuite name="suite"><testcase name="[It] udp works"><failure message="no route"/></testcase><testcase name="tcp works"/><testcase name="slow"><skipped/></testcase></testsuite>"#;

/// Writes a plugin whose results are `junit`. The definition ends with the keys in `more`.
fn plugin(bed: &Bed, junit: &str, more: &str) {
    bed.write("report.xml", junit);
    bed.plugin(
        "suite",
        "result-format: junit",
        &format!("cp {}/report.xml $SONOBUOY_RESULTS_DIR/\nprintf %s $SONOBUOY_RESULTS_DIR/report.xml > $SONOBUOY_RESULTS_DIR/done", bed.root().display()),
    );
    let path = bed.path("suite.yaml");
    let yaml = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{yaml}{more}")).unwrap();
}

const KNOWN: &str = "config-map:\n  known.yaml: |\n    - test: udp works\n      reason: the cloud has no UDP\n      source: https://example.org/1\n  checks.yaml: |\n    - {id: ITEMS-001, name: nothing timed out, items: [timeout], want: '== 0'}\nplumbline:\n  verdict:\n  - judge: known-failures\n    data: [known.yaml]\n  - judge: checks\n    data: [checks.yaml]\n";

#[test]
fn a_known_failure_does_not_fail_a_run() {
    let bed = Bed::new();
    plugin(&bed, JUNIT, KNOWN);
    let done = bed.run(&["suite"], &[]).expect(0);
    assert!(
        done.err.contains("suite: verdict: passed: 1 failure, excused: 1 known-failure; 1 of 1 checks"),
        "{}",
        done.err
    );
    insta::assert_snapshot!("end_of_a_run", done.shown(&bed));
    let status = bed.plumbline(&["status", "--local"]).expect(0);
    let row =
        "suite: passed\n  class           tests   counts\n  known-failure       1   no      the cloud has no UDP\n";
    assert!(status.out.contains(row), "{}", status.out);

    let archive = bed.archive();
    insta::assert_snapshot!("report", bed.plumbline(&["results", &archive]).expect(0).shown(&bed));
    let shown = |format: &str| bed.plumbline(&["results", &archive, "-o", format]).expect(0);
    let json: Value = serde_json::from_str(&shown("json").out).unwrap();
    assert_eq!((&json[0]["status"], &json[0]["verdict"]["status"]), (&"failed".into(), &"passed".into()));
    assert!(json[0]["verdict"]["items"][0]["source"].as_str().unwrap().contains("https://example.org/1"));
    let junit = shown("junit").out;
    assert!(junit.contains(r#"failures="0""#) && junit.contains("known-failure: the cloud has no UDP"), "{junit}");
    let markdown = shown("markdown").out;
    assert!(markdown.contains("| known-failure | no | the cloud has no UDP |"), "{markdown}");
    assert!(
        markdown.contains("### Verdict on suite: passed") && markdown.contains("| checks | 1 of 1 met |"),
        "{markdown}"
    );
    assert!(shown("yaml").out.contains("verdict:"));
    // A part of the tree has no verdict of judges, so its own statuses count.
    let node = bed.plumbline(&["results", &archive, "--node", "report.xml"]).expect(1);
    assert!(!node.out.contains("Verdict"), "{}", node.out);

    // Judged again, the verdict is the same. Without its judges, the failure counts.
    let again = bed.plumbline(&["results", &archive, "--reprocess"]).expect(0);
    assert_eq!(again.out, bed.plumbline(&["results", &archive]).expect(0).out);
    plugin(&bed, JUNIT, "");
    let args = ["results", &archive, "--reprocess", "--plugin", "suite", "--definition", "suite.yaml"];
    let plain = bed.plumbline(&args).expect(1);
    assert!(!plain.out.contains("Verdict"), "{}", plain.out);
}

#[test]
fn a_failure_that_no_judge_excuses_fails_and_is_listed() {
    let bed = Bed::new();
    let two = JUNIT
        .replace("</testsuite>", r#"<testcase name="dns works"><failure message="timeout"/></testcase></testsuite>"#);
    plugin(&bed, &two, KNOWN);
    let done = bed.run(&["suite"], &["--wait-output", "silent"]).expect(1);
    assert!(done.out.contains("dns works") && !done.out.contains("udp works"), "{}", done.out);
    let report = bed.plumbline(&["results", &bed.archive()]).expect(1).out;
    assert!(report.contains("\nFailures that count:\ndns works (failure: no judge ruled on it)\n"), "{report}");
}

#[test]
fn a_failed_check_fails_a_run_in_which_everything_passed() {
    let bed = Bed::new();
    let checks = "config-map:\n  checks.yaml: |\n    - {id: ITEMS-001, name: enough passed, items: [passed], want: '>= 2'}\nplumbline:\n  verdict: [{judge: checks, data: [checks.yaml]}]\n";
    plugin(&bed, r#"<testsuite name="s"><testcase name="a"/></testsuite>"#, checks);
    let done = bed.run(&["suite"], &["-o", "json"]).expect(1);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&document["plugins"][0]["status"], &document["verdict"]), (&"passed".into(), &"failed".into()));
    assert_eq!(document["plugins"][0]["verdict"]["checks-failed"], 1);
    let report = bed.plumbline(&["results", &bed.archive()]).expect(1).out;
    assert!(report.contains("ITEMS-001 enough passed: want >= 2, got 1"), "{report}");
}

#[test]
fn an_unknown_judge_is_reported_before_anything_runs() {
    let bed = Bed::new();
    plugin(&bed, JUNIT, "plumbline:\n  verdict: [{judge: nobody}]\n");
    let stderr = bed.run(&["suite"], &[]).expect(2).err;
    assert!(stderr.contains("unknown judge `nobody`") && stderr.contains("known-failures"), "{stderr}");
}

#[test]
fn a_result_that_is_missing_stays_missing() {
    let bed = Bed::new();
    bed.plugin("suite", "", "exit 3");
    let path = bed.path("suite.yaml");
    let yaml = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{yaml}{KNOWN}")).unwrap();
    let done = bed.run(&["suite"], &[]).expect(3);
    assert!(done.out.contains("incomplete: 1 of 1 results did not arrive"), "{}", done.out);
    let report = bed.plumbline(&["results", &bed.archive()]).expect(3).out;
    assert!(report.contains("\nVerdict: failed\n") && report.contains("  failure       1   yes"), "{report}");
}
