use super::*;

const GOOD_LOG: &str = "\
=== RUN   TestGangScheduling
--- PASS: TestGangScheduling (1.00s)
    --- PASS: TestGangScheduling/AllOrNothing (0.50s)
--- SKIP: TestAcceleratorClusterAutoscaling (0.00s)
PASS
ok  \tkubernetes-sigs/ai-conformance/test\t1.2s
";

const GOOD_JUNIT: &str = r#"<?xml version="1.0"?>
<testsuites tests="3" failures="0" errors="0"><testsuite failures="0" name="test">
  <testcase name="TestGangScheduling" time="1"/>
  <testcase name="TestGangScheduling/All&amp;Nothing"></testcase>
  <testcase name="TestAcceleratorClusterAutoscaling"><skipped message="no pool"/></testcase>
</testsuite></testsuites>"#;

const GOOD_EVENTS: &str = r#"{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestGangScheduling","Output":"x"}
{"Action":"pass","Package":"p","Test":"TestGangScheduling"}
{"Action":"skip","Package":"p","Test":"TestAcceleratorClusterAutoscaling"}
{"Action":"pass","Package":"p"}
"#;

#[test]
fn all_forms_have_the_same_outcomes() {
    for (name, text) in [(LOG, GOOD_LOG), (JUNIT, GOOD_JUNIT), (RESULTS, GOOD_EVENTS)] {
        let report = parse(name, text).unwrap();
        assert_eq!(report.outcome_of("TestGangScheduling"), Some(Outcome::Passed), "{name}");
        assert_eq!(report.outcome_of("TestAcceleratorClusterAutoscaling"), Some(Outcome::Skipped), "{name}");
        assert_eq!(report.outcome_of("TestGang"), None, "{name}");
        assert_eq!(report.failures(), Vec::<String>::new(), "{name}");
    }
    assert!(parse(JUNIT, GOOD_JUNIT).unwrap().tests.contains_key("TestGangScheduling/All&Nothing"));
}

#[test]
fn a_failure_is_never_lost() {
    for (name, text) in [
        (LOG, GOOD_LOG.replace("    --- PASS", "    --- FAIL")),
        (LOG, GOOD_LOG.replace("PASS\nok", "FAIL\nok")),
        (LOG, GOOD_LOG.replace("PASS\nok", "panic: nil pointer\nok")),
        // The log was cut off.
        (LOG, GOOD_LOG.split("\nPASS").next().unwrap().to_owned()),
        (JUNIT, GOOD_JUNIT.replace("<skipped message=\"no pool\"/>", "<skipped/><failure/>")),
        (JUNIT, GOOD_JUNIT.replace("<skipped message=\"no pool\"/>", "<error>panic</error>")),
        (JUNIT, GOOD_JUNIT.replace("errors=\"0\"", "errors=\"1\"")),
        (RESULTS, GOOD_EVENTS.replace("\"pass\",\"Package\":\"p\",\"Test\"", "\"fail\",\"Package\":\"p\",\"Test\"")),
        (
            RESULTS,
            GOOD_EVENTS.replace("{\"Action\":\"pass\",\"Package\":\"p\"}", "{\"Action\":\"fail\",\"Package\":\"p\"}"),
        ),
        (RESULTS, GOOD_EVENTS.replace("{\"Action\":\"pass\",\"Package\":\"p\"}", "")),
        (RESULTS, format!("{{\"Action\":\"build-fail\"}}\n{GOOD_EVENTS}")),
    ] {
        let report = parse(name, &text).unwrap();
        assert!(!report.failures().is_empty(), "{name}: {text}");
    }
}

#[test]
fn what_is_no_report_is_an_error() {
    for (name, text) in [
        (LOG, ""),
        (LOG, "PASS\nok  \tp\t1s\n"),
        (JUNIT, ""),
        (JUNIT, "<testsuites/>"),
        (JUNIT, "<html><testcase name='a'/></html>"),
        (JUNIT, "<testsuite><testcase/></testsuite>"),
        (JUNIT, "<testsuite><testcase name='a'>"),
        (JUNIT, "<testsuite><testcase name='a'/></testsuit>"),
        (JUNIT, "<testsuite><testcase name='a'><testcase name='b'/></testcase></testsuite>"),
        (RESULTS, ""),
        (RESULTS, "{\"Action\":\"pass\",\"Package\":\"p\"}"),
        (RESULTS, "PASS\n"),
    ] {
        assert!(parse(name, text).is_err(), "{name}: {text:?}: {:?}", parse(name, text));
    }
    assert!(parse(JUNIT, GOOD_JUNIT.split("</testsuite>").next().unwrap()).is_err());
}

#[test]
fn subtests_decide_about_a_test() {
    let report = |lines: &str| parse(LOG, &format!("{lines}PASS\n")).unwrap().outcome_of("TestA");
    assert_eq!(report("--- PASS: TestA/x\n--- SKIP: TestA/y\n"), Some(Outcome::Passed));
    assert_eq!(report("--- PASS: TestA/x\n--- FAIL: TestA/y\n"), Some(Outcome::Failed));
    assert_eq!(report("--- SKIP: TestA/x\n"), Some(Outcome::Skipped));
    assert_eq!(report("--- PASS: TestAB/x\n"), None);
    // Go reports a test as passed although all of its subtests were skipped.
    assert_eq!(report("--- PASS: TestA\n    --- SKIP: TestA/x\n"), Some(Outcome::Skipped));
    assert_eq!(
        report("--- PASS: TestA\n    --- PASS: TestA/x\n        --- SKIP: TestA/x/1\n    --- SKIP: TestA/x-y\n"),
        Some(Outcome::Skipped)
    );
    assert_eq!(report("--- PASS: TestA\n    --- PASS: TestA/x\n    --- SKIP: TestA/y\n"), Some(Outcome::Passed));
    assert_eq!(report("--- PASS: TestA\n    --- FAIL: TestA/x\n"), Some(Outcome::Failed));
    // The same name twice: the worse outcome counts.
    assert_eq!(report("--- SKIP: TestA\n--- PASS: TestA\n"), Some(Outcome::Skipped));
}
