//! Tests of valid and invalid documents.

use plumbline_module_manual::Manual;
use plumbline_sdk::Status;
use plumbline_sdk::testing::{Case, Run};
use serde_json::json;

use crate::golden::rolled_up;

pub(crate) fn read(content: impl Into<Vec<u8>>) -> Run {
    let run = Case::new().file("results/global/out.yaml", content).run::<Manual>();
    assert_eq!(run.outcome, Ok(()));
    run
}

/// Returns the reason why the file is `unknown`. There must be no other item.
pub(crate) fn reason(run: &Run) -> &str {
    assert_eq!(run.outline(), "out.yaml: unknown\n", "{:?}", run.items);
    run.items[0].meta.iter().find(|(key, _)| key == "error").map(|(_, reason)| reason.as_str()).unwrap()
}

#[test]
fn everything_of_an_item_is_taken() {
    let run = read(
        "name: ignored\nmeta: {ignored: yes}\nstatus: failed\ndetails: {total: 2}\nunknown: [1, {a: b}]\nitems:\n\
         - name: one\n  status: warning\n  meta: {device: /dev/vda, size: 12, none: }\n  details:\n    failure: |\n      line 1\n      line 2\n\
    \x20   number: 1.5\n    whole: -3\n    yes: true\n    nothing: null\n    list: [a, \"b\", {c: [1]}]\n    map: {1: x, y: ~}\n    empty: {}\n    nan: .nan\n    mode: 0644\n    large: 18446744073709551615\n\
         - name: 7\n  status: passed\n  other: key\n  items: []\n",
    );
    assert_eq!(
        run.to_json(),
        json!([
            {"depth": 0, "name": "out.yaml", "status": "failed", "meta": {"file": "results/global/out.yaml", "type": "file"}, "details": {"total": 2}},
            {
                "depth": 1, "name": "one", "status": "warning", "meta": {"device": "/dev/vda", "size": "12", "none": ""},
                "details": {
                    "failure": "line 1\nline 2\n", "number": 1.5, "whole": -3, "yes": true, "nothing": null,
                    "list": ["a", "b", {"c": [1]}], "map": {"1": "x", "y": null}, "empty": {}, "nan": ".nan", "mode": 420,
                    "large": 18_446_744_073_709_551_615_u64,
                },
            },
            {"depth": 1, "name": "7", "status": "passed"},
        ])
    );
}

#[test]
fn a_misspelled_key_hides_no_failure() {
    let hidden = read(
        "items:\n- name: a\n  status: passed\n- name: b\n  status: passed\n  itmes: [{name: c, status: failed}]\n",
    );
    let unknown = "b: unknown key `itmes`: did you mean `items`?";
    assert_eq!(hidden.outline(), format!("out.yaml: -\n  a: passed\n  b: passed\n  {unknown}: unknown\n"));
    let file = read("status: passed\nItems: [{name: c, status: failed}]\n");
    assert_eq!(file.outline(), "out.yaml: passed\nout.yaml: unknown key `Items`: did you mean `items`?: unknown\n");
    let status = read("items:\n- {name: a, stauts: failed}\n");
    assert_eq!(status.count(&Status::Unknown), 1, "{}", status.outline());
    // The keys that count are there.
    let other = read("stats: {a: 1}\nitem: x\nitems:\n- {name: a, status: passed, stats: 3}\n");
    assert_eq!(other.outline(), "out.yaml: -\n  a: passed\n");
}

#[test]
fn a_key_that_hides_nothing_is_ignored() {
    for leaf in [
        "{name: a, status: passed, item: 1.1.1}",
        "{name: a, status: passed, item: \"1.1.1\"}",
        "{name: a, item: {number: 7}, status: passed}",
        "{name: a, status: passed, item: null}",
        "{name: a, status: passed, Status: passed}",
        "{name: a, Status: PASSED, status: passed}",
        "{name: a, status: passed, stats: 3}",
    ] {
        let run = read(format!("items:\n- {leaf}\n"));
        assert_eq!(run.outline(), "out.yaml: -\n  a: passed\n", "{leaf}");
    }
}

#[test]
fn two_statuses_that_differ_are_unknown() {
    for leaf in [
        "{name: a, status: passed, stauts: failed}",
        "{name: a, Status: failed, status: passed}",
        "{name: a, Status: failed, status: passed, statuss: passed}",
    ] {
        let run = read(format!("items:\n- {leaf}\n"));
        assert_eq!(run.count(&Status::Unknown), 1, "{leaf}: {}", run.outline());
    }
}

#[test]
fn json_is_yaml() {
    let run = read(r#"{"items": [{"name": "a\u00e4\n", "status": "skipped", "details": {"x": {"y": [1e3, false]}}}]}"#);
    assert_eq!(run.outline(), "out.yaml: -\n  aä\n: skipped\n");
    assert_eq!(run.to_json()[1]["details"], json!({"x": {"y": [1000.0, false]}}));
}

#[test]
fn custom_statuses_are_counted_above_and_standard_ones_rolled_up() {
    let custom =
        read("items:\n- {name: a, status: warning}\n- {name: b, status: warning}\n- {name: c, status: passed}\n");
    assert_eq!(rolled_up(&custom, "p")["status"], "passed: 1, warning: 2");
    let standard = read("status: warning\nitems:\n- {name: a, status: timeout}\n- {name: c, status: passed}\n");
    assert_eq!(rolled_up(&standard, "p")["status"], "failed");
    let whole = read("status: passed\n");
    assert_eq!(rolled_up(&whole, "p")["status"], "passed");
}

#[test]
fn a_missing_status_is_unknown_and_a_missing_name_is_generated() {
    let run = read(
        "items:\n- status: passed\n-\n- name: ''\n  status: ''\n- name: z\n  status: null\n  items: null\n  meta:\n  details:\n",
    );
    assert_eq!(run.outline(), "out.yaml: -\n  item-001: passed\n  item-002: -\n  item-003: unknown\n  z: -\n");
    assert_eq!(rolled_up(&run, "p")["status"], "unknown");
}

#[test]
fn aliases_and_merges_are_resolved() {
    let run = read(
        "items:\n- &a {name: a, status: passed, details: &d {x: 1}}\n- *a\n- {<<: *a, name: b}\n- {name: c, details: *d}\n",
    );
    assert_eq!(run.outline(), "out.yaml: -\n  a: passed\n  a: passed\n  b: passed\n  c: -\n");
    assert_eq!(run.to_json()[3]["details"], json!({"x": 1}));
}

#[test]
fn marks_and_separators_around_the_document_do_not_count() {
    for content in [
        "\u{FEFF}---\nstatus: passed\n",
        "---\nstatus: passed\n---\n",
        "# c\nstatus: passed\n...\n",
        "status: passed\r\n",
    ] {
        assert_eq!(read(content).outline(), "out.yaml: passed\n", "{content:?}");
    }
}

#[test]
fn an_invalid_tree_is_unknown_with_a_reason() {
    for (content, want) in [
        ("", "the file has no document"),
        ("# only words\n", "the file has no document"),
        ("---\n", "the file has no document"),
        ("status: passed\n---\nstatus: failed\n", "the file holds 2 documents, where one is expected"),
        ("items: [", "not a result tree: "),
        ("status: passed\nstatus: failed\n", "not a result tree: "),
        ("details: {a: 1, a: 2}\n", "not a result tree: "),
        ("- name: a\n", "not a result tree: "),
        ("just text", "not a result tree: "),
        ("items: {name: a}\n", "not a result tree: "),
        ("items: [a, b]\n", "not a result tree: "),
        ("status: [passed]\n", "not a result tree: "),
        ("details: text\n", "not a result tree: "),
        ("meta: {a: {b: c}}\n", "not a result tree: "),
        ("items:\n\t- name: a\n", "not a result tree: "),
        ("items: *nobody\n", "not a result tree: "),
    ] {
        let run = read(content);
        assert_eq!(run.count(&Status::Unknown), 1, "{content:?}");
        assert!(reason(&run).starts_with(want), "{content:?}: {}", reason(&run));
        assert!(reason(&run).len() < 600);
    }
    assert_eq!(reason(&read(b"status: \xFF".to_vec())), "not UTF-8: invalid byte at offset 8");
}

#[test]
fn one_bad_file_does_not_touch_the_others() {
    let run = Case::new()
        .file("results/global/a.yaml", "status: passed")
        .broken_file("results/global/b.yaml", "status:", "the disk is gone")
        .file("results/global/c.yml", "items: [{name: x, status: failed}]")
        .run::<Manual>();
    assert_eq!(run.outline(), "a.yaml: passed\nb.yaml: unknown\nc.yml: -\n  x: failed\n");
    assert_eq!(run.items[1].meta[2], ("error".to_owned(), "the disk is gone".to_owned()));
    assert!(Case::new().run::<Manual>().items.is_empty());
}
