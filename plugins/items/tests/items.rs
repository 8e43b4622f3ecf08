//! Tests of reading lines of items.

use plumbline_module_items::{Items, MAX_LINE};
use plumbline_sdk::Status;
use plumbline_sdk::testing::{Case, Run};
use serde_json::json;

fn case(content: impl Into<Vec<u8>>) -> Case {
    Case::new().file("results/global/check.jsonl", content)
}

fn read(content: impl Into<Vec<u8>>) -> Run {
    let run = case(content).run::<Items>();
    assert_eq!(run.outcome, Ok(()));
    run
}

fn errors(run: &Run) -> Vec<&str> {
    let errors = run.items.iter().filter(|item| item.status == Some(Status::Unknown));
    errors.flat_map(|item| item.meta.iter().find(|(key, _)| key == "error")).map(|(_, value)| value.as_str()).collect()
}

const THREE: &str = concat!(
    r#"{"depth":0,"name":"kubelet","status":null}"#,
    "\n",
    r#"{"depth":1,"name":"a","status":"passed","meta":{"file":"/etc/x"}}"#,
    "\n\n",
    r#"{"depth":1,"name":"b","status":"degraded","details":{"failure":"no","config":{"a":[1]}}}"#,
    "\n",
);

#[test]
fn items_are_emitted_unchanged() {
    let run = read(THREE);
    let want = json!([
        {"depth": 0, "name": "kubelet", "status": null},
        {"depth": 1, "name": "a", "status": "passed", "meta": {"file": "/etc/x"}},
        {"depth": 1, "name": "b", "status": "degraded", "details": {"failure": "no", "config": {"a": [1]}}},
    ]);
    assert_eq!(run.to_json(), want);
    assert_eq!(case(THREE).chunk(1).run::<Items>(), run, "where the host cuts makes no difference");
}

#[test]
fn a_broken_line_is_unknown_and_reading_continues() {
    let lines = [
        "{",
        r#"{"depth":0,"name":"x","stats":"passed"}"#,
        r#"{"depth":0,"name":""}"#,
        r#"{"depth":0,"name":"x","status":""}"#,
        r#"{"depth":0,"name":"x","meta":{"a":1}}"#,
        r#"{"depth":7,"name":"x","status":"passed"}"#,
        r#"{"depth":-1,"name":"x"}"#,
        r#"["x"]"#,
        "\u{1b}[2J",
    ];
    for line in lines {
        let run = read(format!(
            "{}\n{line}\n{}\n",
            r#"{"depth":0,"name":"a","status":"passed"}"#, r#"{"depth":0,"name":"b","status":"passed"}"#
        ));
        assert_eq!(run.outline(), "a: passed\nline 2: unknown\nb: passed\n", "{line}");
        assert!(errors(&run)[0].starts_with("line 2: "), "{:?}", errors(&run));
    }
}

#[test]
fn a_broken_line_is_never_a_parent() {
    let item = |depth: u32| format!("{{\"depth\":{depth},\"name\":\"{depth}\",\"status\":\"passed\"}}");
    for (before, after, outline) in
        [(0, 1, "0: passed\n  line 2: unknown\n  1: passed\n"), (0, 0, "0: passed\nline 2: unknown\n0: passed\n")]
    {
        let run = read(format!("{}\nbroken\n{}\n", item(before), item(after)));
        assert_eq!(run.outline(), outline);
    }
    let run = read(format!("broken\n{}\n{}\n", item(1), item(0)));
    assert_eq!(run.outline(), "line 1: unknown\nline 2: unknown\n0: passed\n");
}

#[test]
fn an_incomplete_file_is_never_green() {
    // Every cut leaves an unknown item, except for cuts after whole lines.
    for end in 0..THREE.len() {
        let run = read(&THREE[..end]);
        let whole = THREE[..end].ends_with('\n');
        assert_eq!(errors(&run).is_empty(), whole, "{end}: {}", run.outline());
    }
    assert_eq!(errors(&read("")), ["the file has no items"]);
    assert_eq!(errors(&read("\n \n")), ["the file has no items"]);
    let run = case("").broken_file("results/global/b.jsonl", "{\"depth\":0", "the disk is gone").run::<Items>();
    assert_eq!(errors(&run), ["the file has no items", "line 1: the disk is gone"]);
}

#[test]
fn long_lines_and_many_broken_lines_are_bounded() {
    let long = format!("{{\"depth\":0,\"name\":\"{}\"}}\n{}", "x".repeat(MAX_LINE), THREE);
    let run = read(long);
    assert_eq!(run.outline(), "line 1: unknown\nkubelet: -\n  a: passed\n  b: degraded\n");
    assert_eq!(errors(&run), ["line 1: more than 17 MiB"]);
    let run = read("x\n".repeat(5000));
    assert_eq!((run.items.len(), errors(&run).last().copied()), (1001, Some("4000 more lines are broken")));
}
