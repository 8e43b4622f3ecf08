//! `results diff`, from the command line.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::bed::Bed;

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

/// Writes an archive of the suite. Each test has a name, the content of its element, and seconds.
fn archive(bed: &Bed, dir: &str, tests: &[(&str, &str, &str)]) {
    let cases: String = tests
        .iter()
        .map(|(name, inside, time)| format!("<testcase name=\"{name}\" time=\"{time}\">{inside}</testcase>"))
        .collect();
    bed.write(&format!("{dir}/meta/info.json"), r#"{"plugins": ["e2e"]}"#);
    bed.write(
        &format!("{dir}/plugins/e2e/results/global/junit_01.xml"),
        &format!("<testsuites><testsuite name='suite'>{cases}</testsuite></testsuites>"),
    );
}

fn two(bed: &Bed) {
    let failed = "<failure>want 1, got 2</failure>";
    archive(
        bed,
        "before",
        &[
            ("[It] broke", "", "1"),
            ("[It] mended", failed, "2"),
            ("[It] bad", failed, "3"),
            ("[It] gone", "", "1"),
            ("[It] slow", "", "10"),
        ],
    );
    archive(
        bed,
        "after",
        &[
            ("broke &lt;x|y&gt;", failed, "1"),
            ("broke", failed, "1.5"),
            ("mended", "", "2"),
            ("bad", failed, "3"),
            ("gone", "<skipped/>", "0"),
            ("slow", "", "61"),
        ],
    );
}

#[test]
fn changes_are_reported_and_new_failures_set_the_exit_code() {
    let bed = Bed::new();
    two(&bed);
    let text = bed.plumbline(&["results", "diff", "before", "after"]).expect(1).out;
    insta::assert_snapshot!("diff_text", text);
    let markdown = bed.plumbline(&["results", "diff", "before", "after", "-o", "markdown"]).expect(1).out;
    insta::assert_snapshot!("diff_markdown", markdown);
    let json = bed.plumbline(&["results", "diff", "before", "after", "-o", "json"]).expect(1).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["ran-before"], &json["ran-after"]), (&5.into(), &5.into()));
    assert_eq!(json["new-failures"][0]["name"], "broke");
    assert_eq!(json["new-failures"][0]["reason"], "want 1, got 2");
    assert_eq!(
        (&json["slower"][0]["seconds-before"], &json["slower"][0]["seconds-after"]),
        (&10.0.into(), &61.0.into())
    );
    bed.plumbline(&["results", "diff", "before", "after", "--exit-code", "compat"]).expect(0);
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let bed = Bed::new();
    two(&bed);
    fs::copy(FAILURES, bed.path("copy.tar.gz")).unwrap();
    std::os::unix::fs::symlink(FAILURES, bed.path("newest.tar.gz")).unwrap();
    unpack(&bed, "unpacked");
    bed.write("report.xml", "<testsuite name='s'><testcase name='a'/></testsuite>");
    for [before, after] in [
        ["before", "before"],
        ["before", "./before"],
        [FAILURES, FAILURES],
        [FAILURES, "copy.tar.gz"],
        [FAILURES, "newest.tar.gz"],
        ["unpacked", FAILURES],
        ["report.xml", "report.xml"],
    ] {
        let done = bed.plumbline(&["results", "diff", before, after]).expect(2);
        let reason = format!("nothing to compare: `{before}` and `{after}` are of the same run");
        assert!(done.err.contains(&reason) && done.err.contains("pass the archives of two runs"), "{}", done.err);
    }
    // The last two of several runs decide.
    bed.plumbline(&["results", "diff", "before", "after", "after"]).expect(2);
    bed.plumbline(&["results", "diff", "after", "before", "after"]).expect(1);
}

/// Unpacks the archive with failures of the suite.
fn unpack(bed: &Bed, dir: &str) {
    fs::create_dir(bed.path(dir)).unwrap();
    let tar = Command::new("tar").args(["-xzf", FAILURES, "-C"]).arg(bed.path(dir)).status().unwrap();
    assert!(tar.success());
}

/// Writes an archive with one report of pytest, which names every suite `pytest`.
fn pytest(bed: &Bed, dir: &str, cases: &str) {
    bed.write(&format!("{dir}/meta/info.json"), r#"{"plugins": ["unit"]}"#);
    let definition = r#"{"Definition": {"sonobuoy-config": {"driver": "Job", "plugin-name": "unit", "result-format": "junit"}, "spec": {"name": "p"}}}"#;
    bed.write(&format!("{dir}/plugins/unit/definition.json"), definition);
    bed.write(
        &format!("{dir}/plugins/unit/results/global/report.xml"),
        &format!("<testsuites><testsuite name='pytest'>{cases}</testsuite></testsuites>"),
    );
}

#[test]
fn tests_of_one_name_in_two_classes_are_two_tests() {
    let bed = Bed::new();
    let failed = "<failure message='no route'>trace</failure>";
    let case =
        |class: &str, inside: &str| format!("<testcase classname='tests.{class}' name='test_x'>{inside}</testcase>");
    pytest(&bed, "before", &(case("a", failed) + &case("b", "")));
    pytest(&bed, "swapped", &(case("a", "") + &case("b", failed)));
    pytest(&bed, "worse", &(case("a", failed) + &case("b", failed)));
    let text = bed.plumbline(&["results", "diff", "before", "swapped"]).expect(1).out;
    assert!(
        text.contains("new failures: 1\n  unit pytest test_x (tests.b)  (failed, previously passed)\n      no route\n"),
        "{text}"
    );
    assert!(text.contains("fixed: 1\n  unit pytest test_x (tests.a)  (passed, previously failed)\n"), "{text}");
    let json = bed.plumbline(&["results", "diff", "before", "worse", "-o", "json"]).expect(1).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["new-failures"][0]["classname"], "tests.b");
    assert_eq!(json["still-failing"][0]["classname"], "tests.a");
    // Every view distinguishes them.
    for format in ["markdown", "html", "junit", "json"] {
        let shown = bed.plumbline(&["results", "worse", "-o", format]).expect(1).out;
        assert!(shown.contains("tests.a") && shown.contains("tests.b"), "{format}: {shown}");
    }
    let report = bed.plumbline(&["results", "worse"]).expect(1).out;
    assert!(report.contains("Failed tests:\ntest_x (tests.a)\ntest_x (tests.b)\n"), "{report}");
}

#[test]
fn markdown_separates_the_name_from_the_location() {
    let bed = Bed::new();
    for (dir, status) in [("before", "passed"), ("after", "failed")] {
        bed.write(&format!("{dir}/meta/info.json"), r#"{"plugins": ["own"]}"#);
        let tree = format!(
            "name: own\nstatus: {status}\nitems:\n- name: n1\n  status: {status}\n  items:\n  - {{name: '[a] b', status: {status}}}\n"
        );
        bed.write(&format!("{dir}/plugins/own/sonobuoy_results.yaml"), &tree);
    }
    let markdown = bed.plumbline(&["results", "diff", "before", "after", "-o", "markdown"]).expect(1).out;
    assert!(markdown.contains(r"- own n1 **\[a\] b** (failed"), "{markdown}");
}

#[test]
fn an_archive_named_like_a_subcommand_can_be_shown() {
    let bed = Bed::new();
    archive(&bed, "diff", &[("a", "", "1")]);
    assert!(bed.plumbline(&["results", "./diff", "-p", "e2e"]).expect(0).out.contains("Passed: 1"));
    assert!(bed.plumbline(&["results", "-p", "e2e", "./diff"]).expect(0).out.contains("Passed: 1"));
    bed.plumbline(&["results"]).expect(2);
    bed.plumbline(&["results", "diff", "diff"]).expect(2);
}

#[test]
fn archives_that_cannot_be_compared_say_why() {
    let bed = Bed::new();
    archive(&bed, "a", &[("a", "", "1")]);
    bed.write("b/meta/info.json", r#"{"plugins": ["other"]}"#);
    bed.write("b/plugins/other/sonobuoy_results.yaml", "name: other\nstatus: passed\n");
    let none = bed.plumbline(&["results", "diff", "a", "b"]).expect(2);
    assert!(none.err.contains("no plugin in common"), "{}", none.err);
    let named = bed.plumbline(&["results", "diff", "a", "b", "-p", "e2e"]).expect(2);
    assert!(named.err.contains("archive `b` has no plugin `e2e`") && named.err.contains("`other`"), "{}", named.err);
    bed.plumbline(&["results", "diff", "a", "nowhere"]).expect(2);
}

#[test]
fn a_real_archive_does_not_differ_from_that_of_an_equal_run() {
    let bed = Bed::new();
    unpack(&bed, "other");
    bed.write("other/meta/config.json", r#"{"UUID": "another", "Version": "v0.53.2"}"#);
    let done = bed.plumbline(&["results", "diff", FAILURES, "other", "-p", "e2e"]).expect(0);
    assert!(
        done.out.contains("25 tests ran before, 25 after") && done.out.contains("still failing: 4"),
        "{}",
        done.out
    );
}

#[test]
fn a_later_run_in_which_nothing_ran_is_not_an_improvement() {
    let bed = Bed::new();
    archive(&bed, "before", &[("a", "", "1"), ("b", "", "1")]);
    archive(&bed, "after", &[("a", "<skipped/>", "0")]);
    let done = bed.plumbline(&["results", "diff", "before", "after"]).expect(5);
    assert!(done.err.contains("no test of plugin `e2e` is known to have run in `after`"), "{}", done.err);
    bed.plumbline(&["results", "diff", "before", "after", "--exit-code", "compat"]).expect(0);
    // Unreadable results of one plugin, next to readable results of another.
    for dir in ["before", "after"] {
        bed.write(&format!("{dir}/meta/info.json"), r#"{"plugins": ["e2e", "logs"]}"#);
        bed.write(
            &format!("{dir}/plugins/logs/sonobuoy_results.yaml"),
            "name: logs\nstatus: passed\nitems:\n- {name: a, status: passed}\n",
        );
    }
    bed.write("after/plugins/e2e/results/global/junit_01.xml", "<testsuites><testsuite");
    let done = bed.plumbline(&["results", "diff", "before", "after"]).expect(5);
    assert!(done.err.contains("plugin `e2e`") && !done.err.contains("plugin `logs`"), "{}", done.err);
    bed.plumbline(&["results", "diff", "after", "before"]).expect(0);
}

#[test]
fn several_runs_are_columns() {
    let bed = Bed::new();
    let failed = "<failure>want 1, got 2</failure>";
    archive(&bed, "a", &[("good", "", "1"), ("mended", failed, "2"), ("broke", "", "1")]);
    archive(&bed, "b", &[("good", "", "1"), ("mended", "", "2"), ("broke", "", "1")]);
    archive(&bed, "c", &[("good", "", "1"), ("mended", "", "2"), ("broke", failed, "1")]);
    let text = bed.plumbline(&["results", "diff", "a", "b", "c"]).expect(1).out;
    insta::assert_snapshot!("diff_of_three_text", text);
    let markdown = bed.plumbline(&["results", "diff", "a", "b", "c", "-o", "markdown"]).expect(1).out;
    insta::assert_snapshot!("diff_of_three_markdown", markdown);
    let json = bed.plumbline(&["results", "diff", "a", "b", "c", "-o", "json"]).expect(1).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tests"][0]["statuses"], serde_json::json!(["passed", "passed", "failed"]));
    assert_eq!(json["last"]["new-failures"][0]["name"], "broke");
    // The last run decides.
    bed.plumbline(&["results", "diff", "a", "c", "b"]).expect(0);
    for (archives, title) in [(&["a", "c"][..], "Differences of two runs"), (&["a", "b", "c"], "Differences of 3 runs")]
    {
        let page = bed.plumbline(&[&["results", "diff", "-o", "html"], archives].concat()).expect(1).out;
        assert!(page.contains(title) && page.contains("broke") && !page.contains("<script"), "{page}");
    }
}

#[test]
fn a_report_shows_durations_against_an_earlier_run() {
    let bed = Bed::new();
    archive(&bed, "before", &[("[It] same", "", "2"), ("[It] slow", "", "10"), ("[It] quick", "", "100")]);
    archive(&bed, "after", &[("same", "", "2"), ("slow", "", "61"), ("quick", "", "20"), ("new", "", "500")]);
    let show = |format: &str| bed.plumbline(&["results", "after", "--previous", "before", "-o", format]).expect(0).out;
    let markdown = show("markdown");
    let durations = "\n### durations against before\n\nTests with a duration in both runs took 1 min 23 s, previously 1 min 52 s.\n\n\
                     ### much slower: 1\n\n- **slow** (1 min 1 s, previously 10.0 s)\n\n### much faster: 1\n\n- **quick** (20.0 s, previously 1 min 40 s)\n";
    assert!(markdown.contains(durations), "{markdown}");
    let page = show("html");
    let passed = r#"<td><span class="status passed">passed</span></td>"#;
    for (after, before, item, name) in [("1 min 1 s", "10.0 s", 1, "slow"), ("20.0 s", "1 min 40 s", 2, "quick")] {
        let row = format!(
            r##"<td class="n">{after}</td><td class="n">{before}</td>{passed}<td class="long"><a href="#item-{item}">{name}</a></td>"##
        );
        assert!(page.contains(&row), "{row}: {page}");
    }
    // The two runs must have a plugin in common, and `diff` has the same lists.
    bed.write("other/meta/info.json", r#"{"plugins": ["other"]}"#);
    bed.write("other/plugins/other/sonobuoy_results.yaml", "name: other\nstatus: passed\n");
    let none = bed.plumbline(&["results", "after", "--previous", "other", "-o", "html"]).expect(2);
    assert!(none.err.contains("nothing to compare: `other` has none of the plugins"), "{}", none.err);
    let text = bed.plumbline(&["results", "diff", "before", "after"]).expect(0).out;
    assert!(text.contains("much faster: 1\n  quick  (20.0 s, previously 1 min 40 s)\n"), "{text}");
}
