//! Tests of baselines and reruns.

use plumbline_module_known_failures::Lists;
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Item, Status};
use serde_json::json;

use crate::support::{judged, leaf, suite};

/// Returns the result tree of a plugin that ran failures again, as the host writes it.
fn tree(plugin: &str, tests: &[(&str, &str)]) -> String {
    let mut text = format!(
        "name: {plugin}\nstatus: failed\nmeta:\n  type: summary\nitems:\n- name: junit_01.xml\n  status: failed\n"
    );
    text.push_str("  meta:\n    file: results/global/junit_01.xml\n    type: file\n  items:\n");
    for (name, status) in tests {
        text.push_str(&format!(
            "  - name: '{name}'\n    status: {status}\n    details:\n      failure: |\n        why: not\n"
        ));
    }
    text
}

fn reruns(trees: &[(&str, String)]) -> Case {
    trees.iter().fold(suite("reruns"), |case, (plugin, tree)| {
        case.file(format!("plugins/{plugin}/sonobuoy_results.yaml"), tree.as_str())
    })
}

#[test]
fn failures_of_the_baseline_do_not_count_and_others_are_new() {
    let baseline = suite("baseline")
        .option("failed", json!(["[sig-storage] CSI should detach", "[It] [sig-storage] CSI should attach [Slow]"]))
        .option("source", "202611.tar.gz (sha256 0123)");
    let said = judged(&baseline);
    insta::assert_snapshot!(said.outline(), @"
    global/[It] [sig-network] Services should serve UDP: new-failure, counts: it did not fail in the baseline
    global/[It] [sig-storage] CSI should attach [Slow]: baseline-failure, excused: it failed in the baseline, too
    global/[It] [sig-storage] CSI should detach: baseline-failure, excused: it failed in the baseline, too
    ");
    assert!(said.rulings.iter().all(|(_, ruling)| ruling.source == "202611.tar.gz (sha256 0123)"));
    let said = judged(&baseline.option("others", "leave"));
    assert_eq!((said.count("new-failure"), said.count("baseline-failure")), (0, 2));
}

#[test]
fn a_class_tells_tests_of_one_name_apart() {
    let test = |class: &str| leaf("test_x", Status::Failed).meta("classname", class);
    let run = |judge: &str| {
        Case::new().plugin("p").format(judge).results(
            "global",
            [Item::new(0, "junit.xml").status(Status::Failed).meta("type", "file"), test("tests.a"), test("tests.b")],
        )
    };
    let said = judged(&run("baseline").option("failed", json!(["test_x (tests.a)"])));
    assert_eq!((said.count("baseline-failure"), said.count("new-failure")), (1, 1));
    // Archives of Sonobuoy and of earlier versions have no classes.
    let said = judged(&run("baseline").option("failed", json!(["test_x"])));
    assert_eq!(said.count("baseline-failure"), 2);
    for (entry, excused) in [("test_x (tests.b)", 1), ("test_x (tests.c)", 0), ("test_x", 2)] {
        let said = judged(&run("known-failures").file("data/known.yaml", format!("- {entry}\n")));
        assert_eq!(said.count("known-failure"), excused, "{entry}");
    }
    for (pattern, excused) in [("^test_x$", 2), ("tests[.]a[)]$", 1)] {
        let said = judged(&run("known-failures").file("data/known.yaml", format!("- pattern: '{pattern}'\n")));
        assert_eq!(said.count("known-failure"), excused, "{pattern}");
    }
    let again = "name: r\nitems:\n- {name: test_x, status: passed, meta: {classname: tests.a}}\n";
    let said = judged(&run("reruns").file("plugins/r/sonobuoy_results.yaml", again));
    assert_eq!((said.count("flaky"), said.count("failed-again")), (1, 0));
}

#[test]
fn a_test_that_passes_in_a_rerun_is_flaky() {
    let udp = "[It] [sig-network] Services should serve UDP";
    let attach = "[It] [sig-storage] CSI should attach [Slow]";
    let detach = "[It] [sig-storage] CSI should detach";
    let first = tree("e2e-retry-1", &[(udp, "passed"), (attach, "failed"), (detach, "timeout"), ("other", "skipped")]);
    let second = tree("e2e-retry-2", &[(udp, "skipped"), (attach, "passed"), (detach, "failed")]);
    let said = judged(&reruns(&[("e2e-retry-1", first.clone()), ("e2e-retry-2", second)]));
    insta::assert_snapshot!(said.outline(), @"
    global/[It] [sig-network] Services should serve UDP: flaky, excused: it failed, and passed when it was run again
    global/[It] [sig-storage] CSI should attach [Slow]: flaky, excused: it failed, and passed when it was run again
    global/[It] [sig-storage] CSI should detach: failed-again, counts: it failed, and failed when it was run again
    ");
    assert_eq!(said.ruling(udp).unwrap().source, "plugin `e2e-retry-1`");
    assert_eq!(said.ruling(attach).unwrap().source, "plugin `e2e-retry-2`");
    assert_eq!(said.ruling(detach).unwrap().source, "plugin `e2e-retry-1`, plugin `e2e-retry-2`");
    // A test that was not run again gets no ruling.
    let said = judged(&reruns(&[("e2e-retry-1", tree("e2e-retry-1", &[(udp, "skipped"), (attach, "unknown")]))]));
    assert_eq!(said.rulings, []);
    assert_eq!(judged(&reruns(&[])).rulings, []);
    // A test that occurs twice in one run and does not pass each time has not passed.
    for failed in ["failed", "ERROR", "timed-out"] {
        let twice = tree("e2e-retry-1", &[(udp, failed), (udp, "passed")]);
        assert_eq!(judged(&reruns(&[("e2e-retry-1", twice)])).count("failed-again"), 1, "{failed}");
    }
}

#[test]
fn a_tree_that_cannot_be_read_is_named_and_excuses_nothing() {
    for text in ["name: [", "- a\n", "name: x\nitems: 3\n"] {
        let said = reruns(&[("again", text.to_owned())]).judge::<Lists>();
        let error = said.outcome.unwrap_err();
        assert!(error.starts_with("plugins/again/sonobuoy_results.yaml: it cannot be read: "), "{error}");
        assert_eq!(said.rulings, []);
    }
}

#[test]
fn a_test_of_another_suite_is_another_test() {
    let suite = |name: &str| Item::new(0, name).status(Status::Failed);
    let case = Case::new()
        .plugin("p")
        .format("reruns")
        .results("global", [suite("a"), leaf("x", Status::Failed), suite("b"), leaf("x", Status::Passed)]);
    let again = |suite: &str| format!("name: r\nitems:\n- name: {suite}\n  items:\n  - {{name: x, status: passed}}\n");
    let run = |suite: &str| judged(&case.clone().file("plugins/r/sonobuoy_results.yaml", again(suite)));
    assert_eq!((run("a").count("flaky"), run("b").count("flaky")), (1, 0));
}

#[test]
fn errors_of_the_run_are_no_tests() {
    let crash = || leaf("process was killed by signal 9", Status::Failed).meta("file", "errors/global/exit.json");
    let case = |judge: &str| {
        let file = Item::new(0, "junit.xml").status(Status::Failed);
        Case::new().plugin("p").format(judge).results("global", [file, crash()])
    };
    let baseline = case("baseline").option("failed", json!(["process was killed by signal 9"]));
    let listed = case("known-failures").file("data/known.yaml", "- pattern: killed\n");
    let again = "name: r\nitems:\n- {name: process was killed by signal 9, status: passed}\n";
    let reruns = case("reruns").file("plugins/r/sonobuoy_results.yaml", again);
    for case in [baseline, listed, reruns] {
        assert_eq!(judged(&case).rulings, []);
    }
}
