//! Tests of fuzzing, with modules that fail on damaged inputs and modules that do not.

use plumbline_aggregator::LimitPolicy;
use plumbline_author::AuthorError;
use plumbline_author::fuzz::{self, FuzzOptions, FuzzReport};
use plumbline_author::golden::{self, Runner};

use crate::bed::{Bed, REFUSE, handmade, modules};

fn run(bed: &Bed, inputs: u64, seed: u64) -> Result<FuzzReport, AuthorError> {
    let project = bed.project();
    let cases = golden::find(&project, &[]).unwrap();
    let (modules, limits) = (modules(), LimitPolicy::default());
    fuzz::run(&project, &cases, &Runner::new(&modules, &limits), FuzzOptions { inputs, seed })
}

fn bed(body: &str) -> Bed {
    let bed = Bed::new("hand", "");
    bed.write("hand.wasm", handmade(body));
    bed.write("tests/one/results/global/a.txt", "some text that is long enough to be cut");
    bed.write("tests/one/results/global/b.txt", "more of it");
    bed
}

#[test]
fn a_robust_module_has_no_findings() {
    let report = run(&bed(""), 200, 0).unwrap();
    assert_eq!((report.inputs, report.findings.len(), report.refused), (200, 0, 0));
    assert!(report.rate() > 0.0);
}

#[test]
fn files_beyond_the_limit_are_left_out_and_the_others_are_damaged() {
    let bed = bed("");
    let text = "x".repeat(1 << 20);
    (0..65).for_each(|n| bed.write(&format!("tests/one/results/global/large-{n}.txt"), &text));
    assert_eq!(run(&bed, 3, 0).unwrap().inputs, 3);
}

#[test]
fn an_error_of_a_module_is_not_a_finding() {
    let report = run(&bed(REFUSE), 100, 0).unwrap();
    assert_eq!((report.findings.len(), report.refused), (0, 100));
}

#[test]
fn a_trap_is_found_kept_and_can_be_run_again() {
    // Two ways to fail: on empty files and on long ones.
    let traps = "(if (i64.eqz (local.get $size)) (then (unreachable)))
        (if (i64.gt_u (local.get $size) (i64.const 500000)) (then (drop (i64.div_u (local.get $size) (i64.const 0)))))";
    let bed = bed(traps);
    let report = run(&bed, 300, 7).unwrap();
    let failures: Vec<&str> = report.findings.iter().map(|finding| finding.failure.as_str()).collect();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures.iter().all(|failure| failure.contains("module `hand` crashed")), "{failures:?}");
    let again = run(&bed, 300, 7).unwrap();
    let kept = |report: &FuzzReport| {
        report.findings.iter().map(|finding| (finding.input, finding.kept.clone())).collect::<Vec<_>>()
    };
    assert_eq!(kept(&report), kept(&again), "the same seed gives the same findings");

    let finding = &report.findings[0];
    let story = std::fs::read_to_string(finding.kept.join("finding.json")).unwrap();
    assert!(story.contains("\"seed\": 7") && story.contains("\"damage\""), "{story}");
    let name = format!(".fuzz/{}", finding.kept.file_name().unwrap().to_str().unwrap());
    assert_eq!(bed.run(&[&name], false).unwrap().cases[0].result.word(), "broken");
    // A finding runs only if it is named, and passes once the module is fixed.
    assert_eq!(bed.run(&[], false).unwrap().cases.len(), 1);
    bed.write("hand.wasm", handmade(""));
    assert_eq!(bed.run(&[&name], false).unwrap().cases[0].result.word(), "passed");
}

#[test]
fn an_endless_loop_is_found_within_the_limits_of_the_definition() {
    let bed = bed("(if (i64.eqz (local.get $size)) (then (loop $more (br $more))))");
    let yaml = bed.read("plugin.yaml");
    bed.write("plugin.yaml", format!("{yaml}plumbline:\n  limits: {{wall: 1s}}\n"));
    let report = run(&bed, 40, 0).unwrap();
    assert_eq!(report.findings.len(), 1);
    assert!(report.findings[0].failure.contains("`wall-seconds`: 1 second"), "{}", report.findings[0].failure);
}

#[test]
fn without_files_there_is_nothing_to_damage() {
    let bed = Bed::new("hand", "");
    bed.write("hand.wasm", handmade(""));
    bed.write("tests/one/errors/global/error.json", "{\"error\": \"x\"}");
    assert!(run(&bed, 1, 0).unwrap_err().to_string().contains("there is nothing to damage"));
}

/// The built-in module for JUnit does not fail on a thousand damaged inputs.
#[test]
fn the_built_in_junit_module_survives_damaged_files() {
    let bed = Bed::new("junit", "");
    bed.write(
        "tests/one/results/global/a.xml",
        "<?xml version='1.0'?><testsuites><testsuite name='s'><testcase name='a'><failure message='m'>text &amp; <![CDATA[x]]></failure></testcase></testsuite></testsuites>",
    );
    let report = run(&bed, 300, 1).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(report.inputs, 300);
}
