//! Tests of golden cases.

use std::sync::Mutex;
use std::time::Duration;

use plumbline_aggregator::LimitPolicy;
use plumbline_author::golden::{self, Bless, CaseResult, Project, Report, Runner};

use crate::bed::{Bed, REFUSE, handmade, modules};

const JUNIT: &str =
    "<testsuite name='s'><testcase name='a'/><testcase name='b'><failure message='no'/></testcase></testsuite>";

fn said(words: &[(String, &'static str)]) -> Vec<String> {
    words.iter().map(|(name, word)| format!("{name}: {word}")).collect()
}

#[test]
fn a_case_goes_from_missing_to_blessed_to_passed_to_failed() {
    let bed = Bed::new("junit", "");
    bed.write("tests/one/results/global/junit.xml", JUNIT);
    bed.write("tests/data/not-a-case.txt", "belongs to somebody else");
    assert_eq!(said(&bed.words(false)), ["one: missing"]);
    assert_eq!(said(&bed.words(true)), ["one: blessed"]);
    insta::assert_snapshot!(bed.read("tests/one/expected.yaml"));
    assert_eq!(said(&bed.words(false)), ["one: passed"]);
    // An output that is already as expected is not written again.
    assert_eq!(said(&bed.words(true)), ["one: passed"]);

    bed.write("tests/one/results/global/junit.xml", JUNIT.replace("name='a'", "name='z'"));
    let report = bed.run(&[], false).unwrap();
    assert!(!report.is_good());
    let CaseResult::Failed(diff) = &report.cases[0].result else { panic!("{report:?}") };
    insta::assert_snapshot!(diff.to_string());
    assert!(report.cases[0].memory > 0 && !report.cases[0].wall.is_zero());
    assert_eq!(report.to_json()[0]["result"], "failed");
    assert!(report.to_json()[0]["diff"].as_str().unwrap().contains("+    - name: z"));
}

#[test]
fn many_cases_keep_their_order_and_some_can_be_named() {
    let bed = Bed::new("junit", "");
    for n in 0..20 {
        bed.write(&format!("tests/case-{n:02}/results/global/junit.xml"), JUNIT);
    }
    let names: Vec<String> = bed.words(true).into_iter().map(|(name, _)| name).collect();
    assert!(names.is_sorted() && names.len() == 20);
    assert_eq!(bed.run(&["tests/case-07/", "case-03"], false).unwrap().summary(), "2 passed");
    for odd in ["case-99", "../tests", "", "/etc", "."] {
        let error = bed.run(&[odd], false).unwrap_err();
        assert!(error.what.starts_with("unknown case `"), "{odd}: {error}");
    }
}

#[test]
fn definitions_and_options_of_a_case_hold_for_it_alone() {
    let bed = Bed::new("manual", "");
    bed.write(
        "tests/manual/results/global/sonobuoy_results.yaml",
        "name: x\nstatus: passed\nitems:\n- name: a\n  status: passed\n",
    );
    bed.write("tests/raw/results/global/sonobuoy_results.yaml", "name: x\n");
    bed.write(
        "tests/raw/definition.yaml",
        "sonobuoy-config: {plugin-name: p, driver: Job, result-format: raw}\nspec: {name: plugin}\n",
    );
    bed.words(true);
    assert!(bed.read("tests/raw/expected.yaml").contains("sonobuoy_results.yaml"));
    assert!(bed.read("tests/manual/expected.yaml").contains("name: a"));

    let bed = Bed::new("misbehave", "plumbline:\n  options: {behaviour: panic-halfway}\n");
    std::fs::copy(crate::bed::repository().join("target/modules/guests/misbehave.wasm"), bed.path("misbehave.wasm"))
        .unwrap();
    for case in ["bad", "good"] {
        bed.write(&format!("tests/{case}/results/global/a.txt"), "12");
    }
    bed.write("tests/good/options.yaml", "behaviour: behave\n");
    // The partial output of a module that the host ended is never blessed.
    assert_eq!(said(&bed.words(true)), ["bad: broken", "good: blessed"]);
    assert!(!bed.path("tests/bad/expected.yaml").exists());
    let report = bed.run(&["bad"], false).unwrap();
    let CaseResult::Broken(reason) = &report.cases[0].result else { panic!("{report:?}") };
    assert!(reason.contains("module `misbehave` crashed: panicked at "), "{reason}");
    assert!(reason.contains(": a result that is not there") && reason.contains("--level debug"), "{reason}");
}

#[test]
fn an_error_of_a_module_can_be_expected() {
    let bed = Bed::new("hand", "");
    bed.write("hand.wasm", handmade(REFUSE));
    bed.write("tests/one/results/global/a", "x");
    // The error may be a caught exception, so it is blessed only on request.
    let report = bed.run(&[], true).unwrap();
    let CaseResult::Broken(reason) = &report.cases[0].result else { panic!("{report:?}") };
    assert!(reason.contains("returned an error: no") && reason.contains("--bless-errors"), "{reason}");
    assert!(!bed.path("tests/one/expected.yaml").exists());
    assert!(bed.run_with(|runner| runner.bless = Bless::Errors).is_good());
    assert!(bed.read("tests/one/expected.yaml").contains("error: \"no\""), "{}", bed.read("tests/one/expected.yaml"));
    assert_eq!(said(&bed.words(true)), ["one: passed"]);
}

#[test]
fn an_endless_loop_ends_at_the_timeout_and_is_reported_while_it_runs() {
    let bed = Bed::new("hand", "");
    bed.write("hand.wasm", handmade("(loop $l (br $l))"));
    bed.write("tests/one/results/global/a", "x");
    let slow = Mutex::new(Vec::new());
    let report = slow_cases(&bed, &slow);
    let CaseResult::Broken(reason) = &report.cases[0].result else { panic!("{report:?}") };
    assert!(reason.contains("limit `wall-seconds`: 3 seconds") && reason.contains("--timeout"), "{reason}");
    assert_eq!(*slow.lock().unwrap(), ["one"]);
    bed.write("hand.wasm", handmade(""));
    slow.lock().unwrap().clear();
    assert_eq!(slow_cases(&bed, &slow).summary(), "1 missing");
    assert!(slow.lock().unwrap().is_empty());
}

/// Runs all cases with a timeout of three seconds, and collects the names of slow ones in `slow`.
fn slow_cases(bed: &Bed, slow: &Mutex<Vec<String>>) -> Report {
    let project = bed.project();
    let cases = golden::find(&project, &[]).unwrap();
    let (modules, limits) = (modules(), LimitPolicy::default());
    let note = |case: &str| slow.lock().unwrap().push(case.to_owned());
    let runner = Runner { timeout: Duration::from_secs(3), slow: &note, ..Runner::new(&modules, &limits) };
    golden::run(&project, &cases, &runner)
}

#[test]
fn a_module_that_is_not_there_is_not_taken_for_another() {
    let bed = Bed::new("hand", "");
    bed.write("tests/one/results/global/a", "x");
    let report = bed.run(&[], true).unwrap();
    let CaseResult::Broken(reason) = &report.cases[0].result else { panic!("{report:?}") };
    assert!(reason.contains("unknown result format `hand`") && reason.contains("plugin build"), "{reason}");
    bed.write("hand.wasm", "no module");
    let report = bed.run(&[], true).unwrap();
    let CaseResult::Broken(reason) = &report.cases[0].result else { panic!("{report:?}") };
    assert!(reason.contains("it is not WebAssembly"), "{reason}");
}

#[test]
fn expectations_are_asked_with_the_nodes_of_the_case() {
    let bed = Bed::new("raw", "plumbline:\n  expectations: daemonset\npodSpec:\n  nodeSelector: {gpu: \"1\"}\n");
    bed.write(
        "tests/gpu/nodes.yaml",
        "- name: b\n  labels: {gpu: \"1\"}\n- name: plain\n- name: a\n  labels: {gpu: \"1\"}\n",
    );
    bed.write("tests/none/nodes.yaml", "");
    assert_eq!(said(&bed.words(true)), ["gpu: blessed", "none: blessed"]);
    assert_eq!(bed.read("tests/gpu/expected.yaml"), "- a\n- b\n");
    assert_eq!(bed.read("tests/none/expected.yaml"), "[]\n");
    bed.write("tests/gpu/expected.yaml", "- b # any order\n- a\n");
    assert_eq!(said(&bed.words(false)), ["gpu: passed", "none: passed"]);
    bed.write("tests/gpu/nodes.yaml", "- nam: b\n");
    assert_eq!(said(&bed.words(false)), ["gpu: broken", "none: passed"]);
}

#[test]
fn a_refusal_of_expectations_can_be_expected() {
    let bed = Bed::new("raw", "plumbline:\n  expectations: daemonset\npodSpec:\n  nodeSelector: 3\n");
    bed.write("tests/one/nodes.yaml", "- name: a\n");
    assert_eq!(said(&bed.words(true)), ["one: broken"]);
    assert!(bed.run_with(|runner| runner.bless = Bless::Errors).is_good());
    assert!(bed.read("tests/one/expected.yaml").starts_with("error: "), "{}", bed.read("tests/one/expected.yaml"));
}

#[test]
fn summarizers_see_all_result_sets_of_a_case() {
    let bed = Bed::new("host-facts", "");
    let yaml = bed.read("plugin.yaml").replace("driver: Job", "driver: DaemonSet");
    bed.write("plugin.yaml", yaml);
    for (node, kernel) in [("n1", "6.1"), ("n2", "6.1"), ("n3", "5.10")] {
        let facts = serde_json::json!({"ansible_facts": {"ansible_hostname": node, "ansible_kernel": kernel}, "plumbline_facts": {}, "errors": []});
        bed.write(&format!("tests/drift/results/{node}/host-facts.json"), facts.to_string());
    }
    assert_eq!(said(&bed.words(true)), ["drift: blessed"]);
    assert!(bed.read("tests/drift/expected.yaml").contains("kernel: 1 of 3 nodes differs from 6.1"));
}

#[test]
fn nothing_to_run_is_an_error_that_says_what_a_case_is() {
    let bed = Bed::new("junit", "");
    assert!(bed.run(&[], false).unwrap_err().what.contains("has no case: a case is a directory with"));
    bed.write("tests/unit.rs", "");
    let error = bed.run(&[], false).unwrap_err();
    assert!(error.hint.unwrap().contains("results/global"));
    // Git does not keep the empty directory `results/global`.
    bed.write("tests/one/results/global/a.xml", "<testsuite><testcase name='t'/></testsuite>");
    bed.write("tests/two/expected.yaml", "name: p\n");
    let error = bed.run(&[], false).unwrap_err();
    assert_eq!(error.what, "case `two` has an `expected.yaml` and nothing to read");
    assert_eq!(bed.run(&["one"], true).unwrap().cases.len(), 1, "another case can still be named");
    let empty = tempfile::tempdir().unwrap();
    assert!(Project::open(empty.path()).unwrap_err().what.ends_with("has no `plugin.yaml`"));
}
