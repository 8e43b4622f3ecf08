//! Tests of golden cases of judges: a finished tree, and the verdict of the chain.

use plumbline_author::golden::{Bless, CaseResult};

use crate::bed::{Bed, repository};

const TREE: &str = "name: p
status: failed
items:
- name: junit.xml
  items:
  - {name: dns, status: failed}
  - {name: storage, status: timeout}
  - {name: pods, status: passed}
";

/// Creates a plugin with this chain.
fn judged(chain: &str) -> Bed {
    Bed::new("junit", &format!("plumbline:\n  verdict:\n{chain}"))
}

/// Creates a plugin whose judge is the test guest `misbehave` with this behavior.
fn misbehaving(behaviour: &str) -> Bed {
    let bed = judged(&format!("  - {{judge: misbehave, options: {{behaviour: {behaviour}}}, evidence: ['meta/*']}}\n"));
    std::fs::copy(repository().join("target/modules/guests/misbehave.wasm"), bed.path("misbehave.wasm")).unwrap();
    bed.write("tests/one/tree.yaml", TREE);
    bed
}

fn only(bed: &Bed, bless: bool) -> CaseResult {
    bed.run(&[], bless).unwrap().cases.remove(0).result
}

fn broken(bed: &Bed) -> String {
    let result = only(bed, true);
    let CaseResult::Broken(reason) = result else { panic!("{result:?}") };
    assert!(!bed.path("tests/one/expected.yaml").exists(), "what is broken was blessed");
    reason
}

#[test]
fn a_tree_becomes_the_verdict_of_the_chain() {
    let bed = judged("  - {judge: known-failures, data: [known.yaml]}\n  - {judge: checks, data: [checks.yaml]}\n");
    let chain = bed.read("plugin.yaml");
    let known = "config-map:\n  known.yaml: \"- {test: dns, reason: it is old}\"\n  checks.yaml: \"- {id: RUN-1, items: passed, want: '>= 50 %'}\"\n";
    bed.write("plugin.yaml", chain + known);
    bed.write("tests/one/tree.yaml", TREE);
    assert!(matches!(only(&bed, false), CaseResult::Missing));
    assert!(matches!(only(&bed, true), CaseResult::Blessed { new: true }));
    insta::assert_snapshot!(bed.read("tests/one/expected.yaml"));
    assert!(matches!(only(&bed, false), CaseResult::Passed));

    bed.write("tests/one/tree.yaml", TREE.replace("timeout", "passed"));
    let result = only(&bed, false);
    let CaseResult::Failed(diff) = &result else { panic!("{result:?}") };
    let shown = diff.to_string();
    assert!(shown.contains("-failures: 2\n") && shown.contains("+failures: 1\n"), "{shown}");
    let report = bed.run(&[], false).unwrap();
    assert_eq!(report.to_json()[0]["kind"], "judgement");
    assert!(report.cases[0].memory > 0 && !report.cases[0].wall.is_zero());
}

#[test]
fn evidence_lies_below_archive_and_is_not_needed() {
    let bed = misbehaving("behave");
    assert!(matches!(only(&bed, true), CaseResult::Blessed { new: true }));
    assert!(bed.read("tests/one/expected.yaml").contains("checks: []"), "{}", bed.read("tests/one/expected.yaml"));
    bed.write("tests/one/archive/meta/health.txt", "fine");
    bed.write("tests/one/archive/other.txt", "not asked for");
    assert!(matches!(only(&bed, true), CaseResult::Blessed { new: false }));
    let expected = bed.read("tests/one/expected.yaml");
    assert!(expected.contains("id: meta/health.txt") && expected.contains("got: fine"), "{expected}");
    assert!(!expected.contains("other.txt"), "{expected}");
}

#[test]
fn an_error_of_a_judge_can_be_expected_and_a_crash_cannot() {
    let bed = misbehaving("refuse-halfway");
    assert!(broken(&bed).contains("returned an error: there is no list to judge by"));
    assert!(bed.run_with(|runner| runner.bless = Bless::Errors).is_good());
    let expected = bed.read("tests/one/expected.yaml");
    assert!(
        expected.contains("error: there is no list to judge by") && expected.contains("class: first"),
        "{expected}"
    );
    for (behaviour, reason) in
        [("panic-halfway", "crashed"), ("rule-unread", "violated the contract"), ("bad-class", "violated the contract")]
    {
        let message = broken(&misbehaving(behaviour));
        assert!(message.contains("module `misbehave`") && message.contains(reason), "{behaviour}: {message}");
    }
}

#[test]
fn options_of_a_case_are_those_of_its_judges() {
    let bed = misbehaving("panic-halfway");
    bed.write("tests/one/options.yaml", "misbehave: {behaviour: behave}\n");
    assert!(matches!(only(&bed, true), CaseResult::Blessed { new: true }));
    std::fs::remove_file(bed.path("tests/one/expected.yaml")).unwrap();
    for (options, expected) in [
        ("behaviour: behave\n", "the options of a judge must be a mapping"),
        ("misbehaves: {behaviour: behave}\n", "`misbehaves` is not a judge of the chain"),
        ("- a\n", "options.yaml`"),
    ] {
        bed.write("tests/one/options.yaml", options);
        let reason = broken(&bed);
        assert!(reason.contains(expected), "{options}: {reason}");
    }
}

#[test]
fn a_case_does_not_depend_on_the_day() {
    let bed = judged("  - {judge: known-failures, data: [known.yaml]}\n");
    let chain = bed.read("plugin.yaml");
    bed.write("plugin.yaml", chain + "config-map:\n  known.yaml: \"- {pattern: ., until: 2001-01-01}\"\n");
    bed.write("tests/one/tree.yaml", TREE);
    bed.write("tests/two/tree.yaml", TREE);
    bed.write("tests/two/options.yaml", "known-failures: {today: 2002-01-01}\n");
    bed.words(true);
    assert!(bed.read("tests/one/expected.yaml").contains("status: passed"), "{}", bed.read("tests/one/expected.yaml"));
    assert!(bed.read("tests/two/expected.yaml").contains("class: expired"), "{}", bed.read("tests/two/expected.yaml"));
}

#[test]
fn a_case_without_a_judge_is_reported() {
    let bed = Bed::new("junit", "");
    bed.write("tests/one/tree.yaml", TREE);
    assert!(broken(&bed).contains("the definition has no judge in `plumbline.verdict`"));
    let bed = judged("  - {judge: my-judge}\n");
    bed.write("tests/one/tree.yaml", TREE);
    let reason = broken(&bed);
    assert!(reason.contains("unknown judge `my-judge`") && reason.contains("plumbline plugin build"), "{reason}");

    let bed = misbehaving("behave");
    bed.write("tests/one/results/global/a", "x");
    assert!(broken(&bed).contains("it has `tree.yaml` and `results`: make two cases of them"));
    let bed = misbehaving("behave");
    for bad in ["name: [", "- a\n", "name: &a x\nmeta: {a: *a}\n", "\u{0}"] {
        bed.write("tests/one/tree.yaml", bad);
        let reason = broken(&bed);
        assert!(reason.contains("tree.yaml`: "), "{bad:?}: {reason}");
    }
}

#[test]
fn a_project_may_have_cases_of_each_kind() {
    let bed = misbehaving("behave");
    bed.write("tests/results/results/global/junit.xml", "<testsuite name='s'><testcase name='a'/></testsuite>");
    bed.write("tests/nodes/nodes.yaml", "- name: a\n");
    let kinds = |bed: &Bed| -> Vec<(String, &str)> {
        let report = bed.run(&[], true).unwrap();
        report.cases.iter().map(|case| (format!("{}: {}", case.name, case.result.word()), case.kind.word())).collect()
    };
    let kinds = kinds(&bed);
    let kinds: Vec<(&str, &str)> = kinds.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    assert_eq!(
        kinds,
        [("nodes: blessed", "expectations"), ("one: blessed", "judgement"), ("results: blessed", "results")]
    );
}
