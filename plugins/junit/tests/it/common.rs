//! What the test files share.

use std::fmt::Write;
use std::path::PathBuf;

use plumbline_core::{FlatItem, Item, flat, rollup};
use plumbline_module_junit::Junit;
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Status};
use serde_json::Value;

/// A path below `tests/data`.
pub(crate) fn data(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// What the module makes of one file.
pub(crate) fn read(content: impl Into<Vec<u8>>) -> Run {
    run(&Case::new().file("results/global/junit.xml", content))
}

/// What the module makes of one file that it gets in pieces of so many bytes.
pub(crate) fn read_in_pieces(content: impl Into<Vec<u8>>, bytes: u32) -> Run {
    run(&Case::new().file("results/global/junit.xml", content).chunk(bytes))
}

pub(crate) fn run(case: &Case) -> Run {
    let run = case.run::<Junit>();
    assert_eq!(run.outcome, Ok(()));
    run
}

/// A suite `s` around some XML.
pub(crate) fn suite(content: &str) -> String {
    format!("<testsuite name=\"s\">{content}</testsuite>")
}

/// The text of a detail.
pub(crate) fn text<'r>(run: &'r Run, item: &str, key: &str) -> &'r str {
    let item = run.item(item).unwrap_or_else(|| panic!("no item `{item}` in\n{}", run.outline()));
    match item.details.iter().find(|(known, _)| known == key) {
        Some((_, Detail::Text(text))) => text,
        other => panic!("detail `{key}` is {other:?}"),
    }
}

/// The reason why the file could not be read, which makes the item that bears it `unknown`.
pub(crate) fn error(run: &Run) -> &str {
    let item = run.items.last().expect("an item");
    assert_eq!(item.status, Some(Status::Unknown), "{}", run.outline());
    item.meta.iter().find(|(key, _)| key == "error").map(|(_, reason)| reason.as_str()).expect("a reason")
}

/// The tree as the host writes it: below a root of that name, rolled up.
pub(crate) fn rolled_up(run: &Run, root: &str) -> Value {
    serde_json::to_value(tree(run, root)).expect("a tree is JSON")
}

/// The same without what other tools do not keep: the meta keys `duration` and `classname`, and messages apart from their bodies.
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
    let items = flat::build(items).expect("pre-order");
    let mut root = Item { name: root.to_owned(), items, ..Item::default() };
    root.meta.insert("type".to_owned(), "summary".to_owned());
    rollup::roll_up(&mut root);
    root
}

/// The rolled-up tree for a person: a line per item, its meta and details below it.
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
