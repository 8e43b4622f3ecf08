//! Shared helpers of the tests.

use std::fmt::Write;
use std::path::PathBuf;

use plumbline_core::{FlatItem, Item, item, rollup};
use plumbline_module_junit::Junit;
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Status};
use serde_json::Value;

/// Returns a path below `tests/data`.
pub(crate) fn data(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// Runs the module on one file.
pub(crate) fn read(content: impl Into<Vec<u8>>) -> Run {
    run(&Case::new().file("results/global/junit.xml", content))
}

/// Runs the module on one file that it reads in pieces of this many bytes.
pub(crate) fn read_in_pieces(content: impl Into<Vec<u8>>, bytes: u32) -> Run {
    run(&Case::new().file("results/global/junit.xml", content).chunk(bytes))
}

pub(crate) fn run(case: &Case) -> Run {
    let run = case.run::<Junit>();
    assert_eq!(run.outcome, Ok(()));
    run
}

/// Returns a suite `s` with this content.
pub(crate) fn suite(content: &str) -> String {
    format!("<testsuite name=\"s\">{content}</testsuite>")
}

/// Returns the text of a detail.
pub(crate) fn text<'r>(run: &'r Run, item: &str, key: &str) -> &'r str {
    let item = run.item(item).unwrap_or_else(|| panic!("no item `{item}` in\n{}", run.outline()));
    match item.details.iter().find(|(known, _)| known == key) {
        Some((_, Detail::Text(text))) => text,
        other => panic!("detail `{key}` is {other:?}"),
    }
}

/// Returns the reason why the file could not be read. The item with it must be `unknown`.
pub(crate) fn error(run: &Run) -> &str {
    let item = run.items.last().expect("an item");
    assert_eq!(item.status, Some(Status::Unknown), "{}", run.outline());
    item.meta.iter().find(|(key, _)| key == "error").map(|(_, reason)| reason.as_str()).expect("a reason")
}

/// Returns the tree as the host writes it: rolled up, below a root with this name.
pub(crate) fn rolled_up(run: &Run, root: &str) -> Value {
    serde_json::to_value(tree(run, root)).expect("a tree is JSON")
}

/// Returns the tree without what other tools do not keep: the metadata keys `duration` and
/// `classname`, and separate messages.
pub(crate) fn without_extras(mut tree: Value) -> Value {
    for (map, extras) in
        [("meta", &["duration", "classname"][..]), ("details", &["failure-message", "error-message"][..])]
    {
        if let Some(entries) = tree.get_mut(map).and_then(Value::as_object_mut) {
            entries.retain(|key, _| !extras.contains(&key.as_str()));
            if entries.is_empty() {
                tree.as_object_mut().map(|item| item.remove(map));
            }
        }
    }
    if let Some(items) = tree.get_mut("items").and_then(Value::as_array_mut) {
        for item in items {
            *item = without_extras(item.take());
        }
    }
    tree
}

fn tree(run: &Run, root: &str) -> Item {
    let items: Vec<FlatItem> = serde_json::from_value(run.to_json()).expect("the harness writes the host's form");
    let items = item::build(items).expect("pre-order");
    let mut root = Item { name: root.to_owned(), items, ..Item::default() };
    root.meta.insert("type".to_owned(), "summary".to_owned());
    rollup::roll_up(&mut root);
    root
}

/// Returns the rolled-up tree as text: a line per item, with its metadata and details below it.
pub(crate) fn shown(run: &Run) -> String {
    let mut lines = String::new();
    for item in &tree(run, "root").items {
        show(item, 0, &mut lines);
    }
    lines
}

fn show(item: &Item, depth: usize, lines: &mut String) {
    let indent = "  ".repeat(depth);
    writeln!(lines, "{indent}{}: {}", item.name, item.status).unwrap();
    for (key, value) in &item.meta {
        writeln!(lines, "{indent}    [{key}] {value}").unwrap();
    }
    for (key, value) in &item.details {
        writeln!(lines, "{indent}    {key} = {value}").unwrap();
    }
    for item in &item.items {
        show(item, depth + 1, lines);
    }
}
