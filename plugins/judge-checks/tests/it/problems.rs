//! Tests of invalid checks.

use plumbline_module_checks::Checks;
use plumbline_sdk::testing::Case;
use serde_json::json;

use crate::support::{checks, shown};

#[test]
fn every_problem_is_named_with_its_place_and_the_rest_is_checked() {
    let list = r#"
- {id: A, items: failed, want: "== 0"}
- {items: failed, want: "== 0"}
- {id: B, items: failed, want: "about 0"}
- {id: C, items: failed, want: "< 5m"}
- {id: A, items: skipped, want: "== 0"}
- {id: D, want: "== 0"}
- {id: E, items: failed, healthy: pods, want: "== 0"}
- {id: F, healthy: people, want: "== 0"}
- {id: G, duration: longest, want: "< 5m"}
- {id: H, items: failed, wants: "== 0"}
- {id: I, log: {files: x, pattern: (a)(b), measure: max}, want: "< 1s"}
- {id: J, log: {files: x, pattern: (a), measure: max, unit: parsec}, want: "< 1s"}
- {id: K, log: {files: "[x]", pattern: (a), measure: max}, want: "< 1s"}
- {id: L, healthy: pods, matching: x, want: "== 0"}
- 7
- {id: M, log: {files: x, pattern: (a), measure: p99, unit: MiB}, want: "< 1s"}
"#;
    let said = checks(list).judge::<Checks>();
    assert_eq!(said.checks.len(), 1);
    insta::assert_snapshot!(said.outcome.unwrap_err().replace("; checks.yaml", "\nchecks.yaml"));
}

#[test]
fn checks_come_from_the_option_and_from_files() {
    let case = Case::new()
        .option("checks", json!([{"id": "A", "items": "failed", "want": "== 0"}]))
        .file("data/more.json", r#"{"checks": [{"id": "B", "items": "failed", "want": "== 0"}]}"#);
    assert_eq!(shown(&case).lines().count(), 2);
    let none = Case::new().judge::<Checks>().outcome.unwrap_err();
    assert!(none.contains("there is nothing to check"), "{none}");
    let odd = Case::new().option("check", json!([])).judge::<Checks>().outcome.unwrap_err();
    assert!(odd.contains("unknown field `check`"), "{odd}");
    for (list, says) in [
        ("a: b\n", "checks.yaml: it must be a list of checks, alone or under the key `checks`"),
        ("{checks: [], a: b}\n", "checks.yaml: it must be a list of checks, alone or under the key `checks`"),
        ("A\n", "checks.yaml: it must be a list of checks, each beginning with `- `"),
        ("- {id: A, id: B}\n", "checks.yaml: it cannot be read: "),
    ] {
        let error = checks(list).judge::<Checks>().outcome.unwrap_err();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn a_list_without_checks_is_an_error() {
    let good = json!([{"id": "A", "items": "failed", "want": "== 0"}]);
    for list in ["", "\n", "# none\n", "null\n", "[]\n", "checks: []\n", "checks:\n", r#"{"checks": []}"#] {
        let says = "checks.yaml: it has no checks, so there is nothing to check";
        assert_eq!(checks(list).judge::<Checks>().outcome.unwrap_err(), says, "{list:?}");
        // Checks from elsewhere do not replace those that the user thinks are in the file.
        let judged = checks(list).option("checks", good.clone()).judge::<Checks>();
        assert_eq!((judged.outcome.unwrap_err().as_str(), judged.checks.len()), (says, 1), "{list:?}");
    }
    let error = Case::new().option("checks", json!([])).judge::<Checks>().outcome.unwrap_err();
    assert_eq!(error, "option `checks`: it has no checks, so there is nothing to check");
}
