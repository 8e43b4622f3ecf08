//! Tests of the conversion of logs.

use plumbline_module_sarif::{MAX_FILE, Sarif};
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Status};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(content: impl Into<Vec<u8>>) -> Run {
    let run = Case::new().file("results/global/a.sarif", content).run::<Sarif>();
    assert_eq!(run.outcome, Ok(()));
    run
}

fn log(run: &Value) -> String {
    json!({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}).to_string()
}

fn outline(results: &Value) -> String {
    let rules = json!([{"id": "E", "defaultConfiguration": {"level": "error"}, "messageStrings": {"m": {"text": "bad {0}"}}}, {"id": "W"}]);
    let run = json!({"tool": {"driver": {"name": "lint", "version": "1", "rules": rules}}, "results": results});
    read(log(&run)).outline().lines().skip(2).map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn levels_kinds_and_suppressions_decide() {
    for (result, want) in [
        (json!({"ruleId": "E"}), "E: failed\n"),
        (json!({"ruleIndex": 0}), "E: failed\n"),
        (json!({"ruleId": "E/sub"}), "E/sub: failed\n"),
        (json!({"rule": {"id": "E"}}), "E: failed\n"),
        (json!({"ruleId": "W"}), "W: warning\n"),
        (json!({"ruleId": "x", "level": "error"}), "x: failed\n"),
        (json!({"ruleId": "E", "level": "note"}), "E: note\n"),
        (json!({"ruleId": "E", "level": "fatal"}), "E: unknown\n"),
        (json!({"ruleId": "E", "kind": "pass"}), "E: passed\n"),
        (json!({"ruleId": "E", "kind": "notApplicable"}), "E: skipped\n"),
        (json!({"ruleId": "E", "kind": "review"}), "E: review\n"),
        (json!({"ruleId": "E", "kind": "odd"}), "E: unknown\n"),
        (json!({"ruleId": "E", "suppressions": [{"status": "accepted"}, {"kind": "inSource"}]}), "E: skipped\n"),
        (json!({"ruleId": "E", "suppressions": [{"status": "underReview"}, {"kind": "inSource"}]}), "E: failed\n"),
        (json!({"ruleId": "E", "suppressions": [{"status": "accepted"}, {"status": "rejected"}]}), "E: failed\n"),
        (json!({"ruleId": "W", "suppressions": [{"kind": "inSource"}, {"status": "odd"}]}), "W: warning\n"),
        (json!({"ruleId": "E", "suppressions": [{"status": "rejected"}]}), "E: failed\n"),
        (json!({"ruleId": "E", "suppressions": []}), "E: failed\n"),
        (json!({"ruleId": "E", "baselineState": "absent"}), "E: skipped\n"),
        (json!({}), "(no rule): warning\n"),
    ] {
        assert_eq!(outline(&json!([result])), want, "{result}");
    }
}

#[test]
fn a_result_has_its_place_and_its_text() {
    let result = json!({"ruleId": "E", "message": {"id": "m", "arguments": ["luck"]}, "locations": [{"physicalLocation": {
        "artifactLocation": {"uri": "src/a.c"}, "region": {"startLine": 3, "startColumn": 7}}}]});
    let run = json!({"tool": {"driver": {"name": "lint", "rules": [{"id": "E", "messageStrings": {"m": {"text": "bad {0}"}},
        "defaultConfiguration": {"level": "error"}}]}}, "results": [result]});
    let run = read(log(&run));
    let item = run.item("E src/a.c:3:7").unwrap();
    assert_eq!(item.status, Some(Status::Failed));
    assert_eq!(item.details, [("failure".to_owned(), Detail::Text("bad luck".to_owned()))]);
}

#[test]
fn a_run_passes_only_if_it_looked_and_found_nothing() {
    let tool = json!({"driver": {"name": "lint"}});
    let status = |run: Value| read(log(&run)).items.last().unwrap().status.clone();
    assert_eq!(status(json!({"tool": tool, "results": []})), Some(Status::Passed));
    assert_eq!(status(json!({"tool": tool})), Some(Status::Unknown));
    assert_eq!(status(json!({"tool": tool, "results": null})), Some(Status::Unknown));
    let failed = json!([{"executionSuccessful": false, "exitCode": 2}]);
    assert_eq!(status(json!({"tool": tool, "results": [], "invocations": failed})), Some(Status::Unknown));
    let conversion = json!({"invocation": {"exitCode": 3}});
    assert_eq!(status(json!({"tool": tool, "results": [], "conversion": conversion})), Some(Status::Unknown));
    let elsewhere = json!({"results": [{"location": {"uri": "x"}}]});
    let run = json!({"tool": tool, "results": [], "externalPropertyFileReferences": elsewhere});
    assert_eq!(status(run), Some(Status::Unknown));
}

#[test]
fn parts_of_a_run_in_other_files_may_hide_a_failure() {
    let tool = json!({"driver": {"name": "lint"}});
    let file = json!({"location": {"uri": "x"}});
    let outline = |elsewhere: Value, results: Value| {
        let run = json!({"tool": tool, "results": results, "externalPropertyFileReferences": elsewhere});
        read(log(&run)).outline().lines().skip(1).map(|line| format!("{}\n", line.trim())).collect::<String>()
    };
    for elsewhere in [json!({"invocations": [file]}), json!({"conversion": file})] {
        assert_eq!(outline(elsewhere, json!([])), "lint: -\ninvocations elsewhere: unknown\n");
    }
    for elsewhere in [json!({"driver": file}), json!({"extensions": [file]})] {
        let found = outline(elsewhere.clone(), json!([{"ruleId": "E"}]));
        assert_eq!(found, "lint: -\nrules elsewhere: unknown\nE: warning\n");
        assert_eq!(outline(elsewhere.clone(), json!([{"ruleId": "E", "level": "note"}])), "lint: -\nE: note\n");
        assert_eq!(outline(elsewhere, json!([{"ruleId": "E", "kind": "pass"}])), "lint: -\nE: passed\n");
    }
    for elsewhere in [json!({"artifacts": [file]}), json!({"invocations": [], "driver": null}), json!(null)] {
        assert_eq!(outline(elsewhere, json!([])), "lint: passed\n");
    }
}

#[test]
fn an_invocation_that_is_incomplete_does_not_pass() {
    let read = |invocation: &Value| {
        read(log(&json!({"tool": {"driver": {"name": "lint", "notifications": [
            {"id": "CFG1", "defaultConfiguration": {"level": "error"}, "messageStrings": {"m": {"text": "no {0}"}}}]}},
            "results": [], "invocations": [{"executionSuccessful": true}, invocation]})))
    };
    for (invocation, name, error) in [
        (json!({"executionSuccessful": false, "exitCode": 2}), "execution", "the tool failed: exit code 2"),
        (json!({"executionSuccessful": false}), "execution", "the tool failed"),
        (json!({"exitCode": 3}), "execution", "the tool failed: exit code 3"),
        (json!({"exitCode": -1, "exitCodeDescription": "oops"}), "execution", "the tool failed: oops"),
        (json!({"exitSignalName": "SIGKILL", "exitSignalNumber": 9}), "execution", "the tool failed: signal SIGKILL"),
        (json!({"executionSuccessful": true, "exitSignalNumber": 9}), "execution", "the tool failed: signal 9"),
        (
            json!({"executionSuccessful": true, "processStartFailureMessage": "no such file"}),
            "execution",
            "the tool failed: it did not start: no such file",
        ),
        (
            json!({"executionSuccessful": true, "toolExecutionNotifications": [
                {"level": "note", "message": {"text": "x"}}, {"level": "error", "message": {"text": "cannot parse a.c"}}]}),
            "notification",
            "cannot parse a.c",
        ),
        (
            json!({"executionSuccessful": true, "toolConfigurationNotifications": [
                {"descriptor": {"id": "CFG1"}, "message": {"id": "m", "arguments": ["rules"]}}]}),
            "notification CFG1",
            "no rules",
        ),
        (
            json!({"executionSuccessful": true, "toolConfigurationNotifications": [
                {"descriptor": {"index": 0}, "message": {}}, {"level": "warning", "descriptor": {"index": 0}}]}),
            "notification CFG1",
            "the tool reported an error",
        ),
        (
            json!({"executionSuccessful": true, "toolExecutionNotifications": [{"level": "fatal"}]}),
            "notification",
            "the tool reported an error",
        ),
    ] {
        let run = read(&invocation);
        assert_eq!(run.outline(), format!("a.sarif: -\n  lint: -\n    {name}: unknown\n"), "{invocation}");
        assert_eq!(run.items.last().unwrap().meta, [("error".to_owned(), error.to_owned())], "{invocation}");
    }
    for invocation in [
        json!({"executionSuccessful": true, "exitCode": 1, "exitCodeDescription": "findings"}),
        json!({"exitCode": 0, "exitSignalName": "", "exitSignalNumber": 0, "processStartFailureMessage": null}),
        json!({"executionSuccessful": true, "toolExecutionNotifications": [
            {"level": "warning"}, {"level": "note"}, {"level": "none"}, {"message": {"text": "x"}}]}),
        json!({"toolConfigurationNotifications": null, "toolExecutionNotifications": []}),
    ] {
        assert_eq!(read(&invocation).outline(), "a.sarif: -\n  lint: passed\n", "{invocation}");
    }
}

#[test]
fn many_notifications_become_a_few_items() {
    let many = vec![json!({"level": "error", "message": {"text": "x"}}); 250];
    let invocations = json!([{"executionSuccessful": true, "toolExecutionNotifications": many}]);
    let run = read(log(&json!({"tool": {"driver": {"name": "lint"}}, "results": [], "invocations": invocations})));
    assert_eq!(run.count(&Status::Unknown), 101);
    let error = &run.item("more notifications").unwrap().meta;
    assert_eq!(*error, [("error".to_owned(), "the tool reported 150 more errors".to_owned())]);
}

#[test]
fn options_choose_the_levels_that_fail() {
    let content = log(&json!({"tool": {"driver": {"name": "lint"}}, "results": [{"ruleId": "W", "level": "note"}]}));
    let run = |key: &str, levels: Value| {
        Case::new().file("results/global/a.sarif", content.clone()).option(key, levels).run::<Sarif>()
    };
    assert_eq!(run("fail-on", json!(["note"])).count(&Status::Failed), 1);
    assert!(run("fail-on", json!(["nota"])).outcome.unwrap_err().contains("`nota`"));
    assert!(run("failon", json!([])).outcome.is_err());
    assert!(run("fail-on", json!([])).outcome.unwrap_err().contains("nothing could fail"));
}

#[test]
fn invocations_can_override_the_level_of_a_rule() {
    let rules = json!([{"id": "W"}, {"id": "E", "defaultConfiguration": {"level": "error"}}]);
    let raise = json!([{"descriptor": {"id": "W"}, "configuration": {"level": "error"}}]);
    let lower = json!([{"descriptor": {"index": 1}, "configuration": {"level": "note"}}]);
    let without =
        json!([{"descriptor": {"id": "W"}, "configuration": {"enabled": true}}, {"configuration": {"level": "error"}}]);
    let status = |invocations: &[&Value], result: Value| {
        let invocations: Vec<Value> =
            invocations.iter().map(|overrides| json!({"ruleConfigurationOverrides": overrides})).collect();
        let run = json!({"tool": {"driver": {"name": "lint", "rules": rules}}, "invocations": invocations, "results": [result]});
        read(log(&run)).items.last().unwrap().status.clone().unwrap().to_string()
    };
    let found_by = |rule: &str, invocation: i64| json!({"ruleId": rule, "provenance": {"invocationIndex": invocation}});
    assert_eq!(status(&[&raise], found_by("W", 0)), "failed");
    assert_eq!(status(&[&raise], found_by("W/1", 0)), "failed");
    assert_eq!(status(&[&lower], found_by("E", 0)), "note");
    assert_eq!(status(&[&lower, &raise], found_by("W", 0)), "warning", "the other invocation raised it");
    assert_eq!(status(&[&without], found_by("W", 0)), "warning");
    // The result has its own level.
    assert_eq!(status(&[&raise], json!({"ruleId": "W", "level": "note"})), "note");
    // Nobody knows which invocation found it.
    assert_eq!(status(&[&lower, &raise], json!({"ruleId": "W"})), "failed");
    assert_eq!(status(&[&lower], json!({"ruleId": "E"})), "failed");
    assert_eq!(status(&[&raise], found_by("W", -1)), "failed");
}

#[test]
fn an_invalid_log_is_unknown_with_a_reason() {
    for (content, why) in [
        (String::new(), "not a SARIF log: EOF"),
        ("{}".to_owned(), "it has no version"),
        (r#"{"version": "2.1.0"}"#.to_owned(), "it has no list of runs"),
        (r#"{"version": "2.0.0", "runs": [{}]}"#.to_owned(), "SARIF version `2.0.0`"),
        (r#"{"version": "2.1.0", "runs": []}"#.to_owned(), "nothing was analysed"),
        (r#"{"version": "2.1.0", "runs": [{"results": [3]}]}"#.to_owned(), "invalid type"),
        (format!("{{\"x\":{}", "[".repeat(100_000)), "EOF while parsing"),
    ] {
        let run = read(content);
        assert_eq!(run.outline(), "a.sarif: unknown\n");
        let error = run.items.first().unwrap().meta.last().unwrap().1.clone();
        assert!(error.contains(why), "{error}");
    }
    let large = read(vec![b' '; usize::try_from(MAX_FILE).unwrap() + 1]);
    assert_eq!(large.count(&Status::Unknown), 1);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..300) {
        read(bytes);
        let whole = log(&json!({"tool": {"driver": {"name": "lint"}}, "results": []}));
        let run = read(whole.as_bytes()[..cut.min(whole.len() - 1)].to_vec());
        prop_assert_eq!(run.count(&Status::Passed), 0);
    }
}
