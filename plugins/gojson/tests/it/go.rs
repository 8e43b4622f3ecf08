//! Tests with the output of a real Go.

use std::path::Path;

use plumbline_module_gojson::GoJson;
use plumbline_sdk::Detail;
use plumbline_sdk::testing::Case;

#[test]
fn a_module_with_every_kind_of_ending() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/go-1.26.json");
    let run = Case::new().file_from("results/global/go.json", file).run::<GoJson>();
    assert_eq!(run.outcome, Ok(()));
    assert_eq!(
        run.outline(),
        "go.json: -
  example.com/checks/broken: failed
  TestPasses: passed
  TestFails/inner: failed
  TestFails/other: passed
  TestFails: failed
  TestSkips: skipped
  TestParallelA: passed
  TestParallelB: failed
  TestFirst: passed
  example.com/checks/stuck: failed
"
    );
    let failure = |name: &str| match &run.item(name).unwrap().details[0] {
        (key, Detail::Text(text)) if key == "failure" => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        failure("TestFails/inner"),
        "    ok_test.go:8: want 1, got \"<two>\"\n--- FAIL: TestFails/inner (0.00s)"
    );
    assert_eq!(failure("TestParallelB"), "    ok_test.go:15: b\n--- FAIL: TestParallelB (0.00s)");
    assert_eq!(
        failure("example.com/checks/broken"),
        "FAIL\texample.com/checks/broken [build failed]\n\
         # example.com/checks/broken [example.com/checks/broken.test]\n\
         broken/broken_test.go:5:32: undefined: undefined"
    );
    assert_eq!(
        failure("example.com/checks/stuck"),
        "FAIL\texample.com/checks/stuck\t0.002s\nTestEnds has not ended:\nleaving\nexit status 3"
    );
    assert!(run.item("TestPasses").unwrap().details.is_empty());
    // The times of events are kept, unless the test was skipped.
    let class = ("classname", "example.com/checks/ok");
    let meta = [class, ("duration", "0"), ("start", "2026-11-21T10:14:43.747149971Z")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(run.item("TestPasses").unwrap().meta, meta);
    let meta = [class].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(run.item("TestSkips").unwrap().meta, meta);
    let reason = Detail::Text("ok_test.go:12: not here".to_owned());
    assert_eq!(run.item("TestSkips").unwrap().details, [("skipped".to_owned(), reason)]);
}
