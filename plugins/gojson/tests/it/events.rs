//! Tests of the effect of each event.

use plumbline_module_gojson::{GoJson, MAX_EXCERPT};
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Item, Status};
use serde_json::json;

pub(crate) fn read(content: impl Into<Vec<u8>>) -> Run {
    let run = Case::new().file("results/global/out.json", content).run::<GoJson>();
    assert_eq!(run.outcome, Ok(()));
    run
}

pub(crate) fn text<'r>(item: &'r Item, key: &str) -> &'r str {
    match item.details.iter().find(|(known, _)| known == key) {
        Some((_, Detail::Text(text))) => text,
        other => panic!("{key} is {other:?}"),
    }
}

fn outputs(test: &str, lines: impl IntoIterator<Item = String>) -> String {
    lines
        .into_iter()
        .map(|line| format!("{}\n", json!({"Action": "output", "Package": "p", "Test": test, "Output": line})))
        .collect()
}

#[test]
fn words_become_statuses_and_the_rest_is_skipped() {
    let run = read(
        r#"{"Time":"2024-05-01T10:00:00Z","Action":"start","Package":"example.com/p"}
{"Action":"run","Package":"example.com/p","Test":"TestA"}
{"Action":"output","Package":"example.com/p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pause","Test":"TestA"} {"Action":"cont","Test":"TestA"}{"Action":"bench","Test":"TestA"}
{"Action":"run","Package":"example.com/p","Test":"TestA/sub"}
{"Action":"attr","Test":"TestA/sub","Key":"a","Value":"b"}
{"Action":"pass","Package":"example.com/p","Test":"TestA/sub","Elapsed":0.1}
{"action":"PASS","test":"loud"}
{"aCTION":"pass","TEST":"TestA"}
{"Action":"skip","Test":"TestB"}
{"Action":"fail","Test":"TestC"}
{"Action":"exploded","Test":"TestD"}
{"Test":"TestE"}
{"Action":"fail","Package":"example.com/q"}
{"Action":"fail","Package":""}
{"Action":"pass"}
{"Action":"pass","Package":"example.com/p"}
{}
"#,
    );
    assert_eq!(
        run.outline(),
        "out.json: -\n  TestA/sub: passed\n  loud: unknown\n  TestA: passed\n  TestB: skipped\n  TestC: failed\n  TestD: unknown\n  TestE: unknown\n"
    );
    assert_eq!(
        run.to_json()[0],
        json!({
            "depth": 0, "name": "out.json", "status": null, "meta": {"file": "results/global/out.json", "type": "file"},
        })
    );
    let bare = |item: &Item| {
        item.details.is_empty() && item.meta.iter().all(|(key, _)| key == "duration" || key == "classname")
    };
    assert!(run.items.iter().skip(1).all(bare));
}

#[test]
fn a_failed_test_says_what_it_printed_and_others_say_nothing() {
    let run = read(
        r#"{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: want 1, "}
{"Action":"output","Package":"q","Test":"TestA","Output":"other package\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"noise\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"got 2\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
"#,
    );
    assert_eq!(run.outline(), "out.json: -\n  TestA: failed\n  TestB: passed\n");
    assert_eq!(text(&run.items[1], "failure"), "    a_test.go:7: want 1, got 2\n--- FAIL: TestA (0.00s)");
    assert_eq!(text(&run.items[1], "package"), "p");
    assert!(run.items[2].details.is_empty());
}

#[test]
fn attributes_are_metadata_and_cannot_replace_that_of_the_module() {
    let attribute = |key: &str, value: &str| {
        format!("{}\n", json!({"Action": "attr", "Package": "p", "Test": "TestA", "Key": key, "Value": value}))
    };
    let end = r#"{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1.5}"#;
    let all = [
        attribute("features", "A,B"),
        attribute("duration", "9"),
        attribute("classname", "C"),
        attribute("", "x"),
        end.to_owned(),
    ];
    let run = read(all.concat());
    let meta = [("classname", "p"), ("features", "A,B"), ("duration", "1.5")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(run.items[1].meta, meta);
}

#[test]
fn a_skipped_test_says_why() {
    let run = read(
        r#"{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: no such feature\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    --- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB","Elapsed":0}
"#,
    );
    assert_eq!(run.outline(), "out.json: -\n  TestA: skipped\n  TestB: skipped\n");
    assert_eq!(text(&run.items[1], "skipped"), "a_test.go:7: no such feature");
    assert!(run.items[2].details.is_empty());
}

#[test]
fn a_package_that_fails_without_a_failed_test_does_not_vanish() {
    let run = read(
        r##"{"ImportPath":"p [p.test]","Action":"build-output","Output":"# p\n"}
{"ImportPath":"p [p.test]","Action":"build-output","Output":"./p.go:3:1: syntax error\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p [p.test]"}
{"Action":"pass","Package":"q","Test":"TestFine"}
{"Action":"output","Package":"q","Test":"TestStuck","Output":"waiting\n"}
{"Action":"output","Package":"q","Output":"panic: test timed out after 1s\n"}
{"Action":"fail","Package":"q"}
"##,
    );
    assert_eq!(run.outline(), "out.json: -\n  p: failed\n  TestFine: passed\n  q: failed\n");
    assert_eq!(text(&run.items[1], "failure"), "FAIL\tp [build failed]\n# p\n./p.go:3:1: syntax error");
    assert_eq!(text(&run.items[3], "failure"), "panic: test timed out after 1s\nTestStuck has not ended:\nwaiting");
}

#[test]
fn the_output_of_a_failed_test_is_bounded_and_keeps_both_ends() {
    let mut content = outputs("TestA", (0..20_000).map(|number| format!("line {number}\n")));
    content.push_str(r#"{"Action":"fail","Package":"p","Test":"TestA"}"#);
    let run = read(content);
    let failure = text(&run.items[1], "failure");
    assert!(failure.starts_with("line 0\n") && failure.ends_with("line 19999"), "{}", failure.len());
    assert!(failure.len() < MAX_EXCERPT + 100);
    assert!(failure.contains(" bytes are left out here]\n"));
}

#[test]
fn several_files_are_several_items() {
    let run = Case::new()
        .file("results/global/a.json", r#"{"Action":"pass","Test":"T"}"#)
        .file("results/global/b/b.json", r#"{"Action":"fail","Test":"T"}"#)
        .file("results/global/empty.json", "")
        .run::<GoJson>();
    // The host rolls an item without children up to `unknown`.
    assert_eq!(run.outline(), "a.json: -\n  T: passed\nb.json: -\n  T: failed\nempty.json: -\n");
    assert!(Case::new().run::<GoJson>().items.is_empty());
}

#[test]
fn a_long_name_is_cut_and_kept_as_a_detail() {
    let name = "ä".repeat(100_000);
    let run = read(json!({"Action": "pass", "Test": name}).to_string());
    assert_eq!(run.items[1].name, format!("{}…", "ä".repeat(16 << 10)));
    assert_eq!(text(&run.items[1], "name"), name);
    assert_eq!(run.items[1].status, Some(Status::Passed));
}
