use serde_json::json;

use super::*;

fn id(node: &str, name: &str) -> TestId {
    let node = (!node.is_empty()).then(|| node.to_owned());
    TestId { node, name: name.to_owned(), ..TestId::default() }
}

fn lines(tests: FailedTests<u32>) -> Vec<String> {
    let entries = tests.into_tests().into_iter();
    entries.map(|test| format!("{} {} {}", test.id.name, test.failed_nodes, test.nodes.join(","))).collect()
}

fn gathered(ids: &[(&str, &str)]) -> FailedTests<u32> {
    let mut tests = FailedTests::new(3);
    for (node, name) in ids {
        tests.entry(id(node, name));
    }
    tests
}

#[test]
fn a_test_is_one_entry_however_many_nodes_it_failed_on() {
    let tests = gathered(&[("n1", "a"), ("n1", "b"), ("n2", "a"), ("n3", "a")]);
    assert_eq!(lines(tests), ["a 3 n1,n2,n3", "b 1 n1"]);
}

#[test]
fn tests_of_one_name_on_one_node_are_not_merged() {
    let tests = gathered(&[("n1", "a"), ("n1", "a"), ("n2", "a"), ("n2", "a")]);
    assert_eq!(lines(tests), ["a 2 n1,n2", "a 2 n1,n2"]);
    assert_eq!(lines(gathered(&[("", "a"), ("", "a")])), ["a 0 ", "a 0 "]);
}

#[test]
fn beyond_the_bound_known_tests_are_still_counted() {
    let tests = gathered(&[("n1", "a"), ("n1", "b"), ("n1", "c"), ("n1", "d"), ("n2", "a")]);
    assert_eq!(lines(tests), ["a 2 n1,n2", "b 1 n1", "c 1 n1"]);
}

#[test]
fn parts_of_a_tree_are_joined() {
    let mut tests = gathered(&[("n1", "a"), ("n1", "a"), ("n2", "a")]);
    tests.append(gathered(&[("n3", "a"), ("n3", "b"), ("n4", "a")]), |_, _| {});
    assert_eq!(lines(tests), ["a 4 n1,n2,n3,n4", "a 1 n1", "b 1 n3"]);
}

#[test]
fn the_identity_includes_nodes_and_not_files() {
    let item = |name: &str, kind: &str, items| Item {
        name: name.to_owned(),
        meta: if kind.is_empty() { Meta::new() } else { [("type".to_owned(), kind.to_owned())].into() },
        items,
        ..Item::default()
    };
    let meta = [(CLASSNAME.to_owned(), "tests.a".to_owned())].into();
    let leaf = Item { name: "test_x".to_owned(), meta, ..Item::default() };
    let suite = item("outer", "", vec![item("inner", "", vec![leaf])]);
    let root = item("p", "summary", vec![item("n1", "node", vec![item("junit.xml", "file", vec![suite])])]);
    let mut leaves = root.leaves();
    let leaf = leaves.next().unwrap();
    let id = TestId::of(leaves.walk().ancestors(), leaf);
    assert_eq!((id.node.as_deref(), id.place().as_str()), (Some("n1"), "outer › inner"));
    assert_eq!((id.classname.as_str(), id.name.as_str()), ("tests.a", "test_x"));
}

fn reason_of(name: &str, details: Value) -> Option<String> {
    let Value::Object(details) = details else { panic!("no object") };
    reason(name, &details, &Meta::new())
}

#[test]
fn the_first_line_that_says_something_new_is_the_reason() {
    for (details, want) in [
        (json!({"failure": "\n  timed out \nmore"}), Some("timed out")),
        (json!({"error": "t"}), None),
        (json!({"error": "t", "output": "one\nlast words\n"}), Some("last words")),
        (json!({"failure": "m trace", "failure-message": "m"}), Some("m")),
        (
            json!({"failure": "/workspace/src/k8s.io/test/e2e/framework/framework.go:630\nneeds two nodes\nmore"}),
            Some("needs two nodes"),
        ),
        (json!({"failure": "/workspace/framework.go:630"}), None),
        (json!({"failure": "tests/test_dns.py:21: \nC:\\src\\a.cs:4:11\n/src/a.go:7 +0x25\nboom"}), Some("boom")),
        (json!({"failure": "In [It] at: /src/job.go:90 @ 06/30/26 22:11:44.2\nboom"}), Some("boom")),
        (
            json!({
                "failure": "thread 't' (7) panicked at src/lib.rs:4:24 thread 't' (7) panicked at src/lib.rs:4:24:\nleft is not right",
                "failure-message": "thread 't' (7) panicked at src/lib.rs:4:24",
            }),
            Some("left is not right"),
        ),
        (
            json!({"failure": "thread 't' panicked at 'boom', src/lib.rs:4:24"}),
            Some("thread 't' panicked at 'boom', src/lib.rs:4:24"),
        ),
        (json!({"failure": "a.go:7: want 3, got 2"}), Some("a.go:7: want 3, got 2")),
        (json!({"failure": "10.0.0.1:443"}), Some("10.0.0.1:443")),
        (
            json!({"failure": "Failed === RUN   TestA\n    a_test.go:3: x", "failure-message": "Failed"}),
            Some("a_test.go:3: x"),
        ),
        (json!({"failure": "=== RUN   TestA\n    a_test.go:3: want 1\n--- FAIL: TestA"}), Some("a_test.go:3: want 1")),
        (
            json!({"failure": "Expected\n    <int>: 1\nto be >\n    <int>: 1\n/src/a.go:1"}),
            Some("Expected <int>: 1 to be > <int>: 1"),
        ),
        (json!({"failure": "Unexpected error:\n  timed out"}), Some("Unexpected error: timed out")),
        (json!({"failure": 7, "error": "x"}), Some("x")),
        (json!({}), None),
    ] {
        assert_eq!(reason_of("t", details.clone()).as_deref(), want, "{details}");
    }
    assert_eq!(reason_of("t", json!({"failure": "x".repeat(1000)})).unwrap().len(), MAX_REASON);
}

#[test]
fn a_body_is_shown_without_the_message_before_it() {
    let details = json!({"failure": "m body", "failure-message": "m", "error": "e"});
    let details = details.as_object().unwrap();
    assert_eq!(message_and_body("failure", details), (Some("m"), Some("body")));
    assert_eq!(message_and_body("error", details), (None, Some("e")));
    assert_eq!(message_and_body("other", details), (None, None));
}
