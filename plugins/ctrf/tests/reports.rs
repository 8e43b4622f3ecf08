//! Tests of the conversion of reports.

use plumbline_module_ctrf::{Ctrf, MAX_FILE};
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Status};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(content: impl Into<Vec<u8>>) -> Run {
    let run = Case::new().file("results/global/ctrf-report.json", content).run::<Ctrf>();
    assert_eq!(run.outcome, Ok(()));
    run
}

fn report(tests: &Value, summary: &Value) -> String {
    json!({"reportFormat": "CTRF", "specVersion": "0.0.0", "results": {
        "tool": {"name": "playwright", "version": "1.49"}, "summary": summary, "tests": tests, "environment": {"x": [1]},
    }})
    .to_string()
}

#[test]
fn tests_are_grouped_and_failures_say_why() {
    let run = read(report(
        &json!([
            {"name": "logs in", "status": "passed", "duration": 1500, "start": 1_764_109_200_250_i64, "suite": "login", "flaky": true, "retries": 2},
            {"name": "logs out", "status": "failed", "duration": 7, "suite": "login", "message": "504 != 200", "trace": "at x.ts:3"},
            {"name": "later", "status": "pending", "duration": 0, "suite": ["a", "b"], "message": null},
            {"name": "alone", "status": "skipped", "duration": 0, "filePath": "alone.ts"},
            {"name": "odd", "status": "other", "duration": 0},
        ]),
        &json!({"tests": 5, "passed": 1, "failed": 1, "pending": 1, "skipped": 1, "other": 1, "start": 0, "stop": 1}),
    ));
    assert_eq!(
        run.outline(),
        "ctrf-report.json: -\n  login: -\n    logs in: passed\n    logs out: failed\n  a > b: -\n    later: skipped\n  alone.ts: -\n    alone: skipped\n  odd: unknown\n"
    );
    let failed = run.item("logs out").unwrap();
    assert_eq!(failed.details, [("failure".to_owned(), Detail::Text("504 != 200\nat x.ts:3".to_owned()))]);
    let passed = run.item("logs in").unwrap();
    let meta = [("duration", "1.5"), ("start", "1764109200.25"), ("flaky", "true"), ("retries", "2")];
    assert_eq!(passed.meta, meta.map(|(key, value)| (key.to_owned(), value.to_owned())));
}

#[test]
fn totals_that_contradict_the_tests_never_pass() {
    let one = json!([{"name": "a", "status": "passed", "duration": 1}]);
    let status = |summary: Value| read(report(&one, &summary)).item("summary").and_then(|item| item.status.clone());
    assert_eq!(status(json!({"tests": 1, "failed": 0})), None);
    assert_eq!(status(json!({})), None);
    assert_eq!(status(json!({"tests": 1, "failed": 1})), Some(Status::Failed));
    assert_eq!(status(json!({"tests": 2, "failed": 0})), Some(Status::Unknown));
    assert_eq!(status(json!({"tests": 1, "passed": 1, "failed": 0, "skipped": 0, "pending": 0, "other": 0})), None);
    for key in ["skipped", "pending", "other"] {
        assert_eq!(status(json!({"tests": 1, key: 1})), Some(Status::Unknown), "{key}");
    }
    assert_eq!(status(json!({"tests": 1, "passed": 2})), Some(Status::Unknown));
    // A summary that counts fewer of them hides nothing.
    assert_eq!(status(json!({"tests": 1, "passed": 0})), None);
    assert_eq!(status(json!({"passed": 2, "failed": 1})), Some(Status::Failed));
}

#[test]
fn statuses_of_other_tools_are_counted_as_other() {
    let tests = json!([{"name": "a", "status": "broken"}, {"name": "b", "status": "other"}]);
    let run = read(report(&tests, &json!({"tests": 2, "other": 2})));
    assert!(run.item("summary").is_none(), "{}", run.outline());
    let run = read(report(&tests, &json!({"tests": 2, "other": 3})));
    let error = "the summary counts 3 other tests, and the report has 2";
    assert_eq!(run.item("summary").unwrap().meta, [("error".to_owned(), error.to_owned())]);
}

#[test]
fn an_invalid_report_is_unknown_with_a_reason() {
    for (content, why) in [
        (String::new(), "not a CTRF report: EOF"),
        ("{}".to_owned(), "missing field `results`"),
        (r#"{"results":{"tests":{}}}"#.to_owned(), "invalid type: map"),
        (r#"{"results":{"tests":[{"name":"a"}]}}"#.to_owned(), "missing field `status`"),
        (report(&json!([]), &json!({})), "the report has no tests"),
        (format!("{}x", report(&json!([{"name": "a", "status": "passed"}]), &json!({}))), "trailing characters"),
        (format!("{{\"x\":{}", "[".repeat(100_000)), "EOF while parsing"),
    ] {
        let run = read(content);
        assert_eq!(run.outline(), "ctrf-report.json: unknown\n");
        let error = run.items.first().unwrap().meta.last().unwrap().1.clone();
        assert!(error.contains(why), "{error}");
    }
    let large = read(vec![b' '; usize::try_from(MAX_FILE).unwrap() + 1]);
    assert_eq!(large.count(&Status::Unknown), 1);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..400) {
        read(bytes);
        let whole = report(&json!([{"name": "a", "status": "passed"}, {"name": "b", "status": "failed"}]), &json!({"tests": 2, "failed": 1}));
        let run = read(whole.as_bytes()[..cut.min(whole.len() - 1)].to_vec());
        prop_assert_eq!(run.count(&Status::Passed), 0);
    }
}
