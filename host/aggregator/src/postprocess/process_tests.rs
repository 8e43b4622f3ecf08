//! Tests that the tree written from spools follows the same rules as the tree in memory.

use std::fs;
use std::sync::Arc;

use plumbline_core::item::build;
use plumbline_core::rollup::{counts, roll_up};
use plumbline_core::{Item, Meta, ModuleLimits};
use plumbline_sandbox::{Entry, PluginInfo, ResultSource};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::TREE_FILE;
use super::super::replay::Replay;
use super::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z][a-z0-9 ._-]{0,8}[a-z]",
        1 => prop::sample::select(vec!["true", "null", "1.0", "- a", "a: b", "#", "~", "a\nb", " \t", "\"'\\", "ü€😀", "0x1f", "=", "2026-01-02"])
            .prop_map(str::to_owned),
        1 => any::<String>().prop_filter("a name is not empty", |text| !text.is_empty()),
    ]
}

fn status(custom: bool) -> impl Strategy<Value = Option<Status>> {
    let standard = prop::sample::select(vec!["passed", "failed", "skipped", "timeout", "unknown", "not-read"]);
    let own = if custom { 1 } else { 0 };
    prop_oneof![
        2 => Just(None),
        4 => standard.prop_map(|word| Some(Status::from(word))),
        own => prop::sample::select(vec!["warning", "complete: maybe", "failed: 2, warning: 3", "no"]).prop_map(|word| Some(Status::from(word))),
    ]
}

fn detail() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(Value::from),
        Just(json!({"kind": "Pod", "n": [1, -2, true, null, {"deep: key": "a #b"}]})),
        any::<i32>().prop_map(Value::from),
    ]
}

/// Generates items in pre-order, each at most one level below the previous one.
fn items() -> impl Strategy<Value = Vec<FlatItem>> {
    any::<bool>().prop_flat_map(|custom| {
        let one = (
            0..4_u32,
            text(),
            status(custom),
            prop::collection::btree_map(text(), text(), 0..2),
            prop::collection::btree_map(text(), detail(), 0..2),
        );
        prop::collection::vec(one, 0..40).prop_map(|all| {
            let mut deepest = 0;
            all.into_iter()
                .map(|(depth, name, status, meta, details)| {
                    let depth = depth.min(deepest);
                    deepest = depth + 1;
                    FlatItem { depth, name, status, meta, details: details.into_iter().collect() }
                })
                .collect()
        })
    })
}

fn subject(files: &[String]) -> Subject<'_> {
    let plugin = PluginInfo {
        name: "p".into(),
        driver: "Job".into(),
        format: String::new(),
        expected_results: 1,
        options: Value::Null,
    };
    Subject {
        plugin,
        per_node: false,
        detectors: Vec::new(),
        stdout: None,
        result_files: files,
        limits: ModuleLimits::default(),
        summarizer: None,
        keep_items: None,
        allow_empty: false,
        warnings: Vec::new(),
        nothing_expected: None,
    }
}

/// Returns the tree written to disk. Items at depth 0 whose number is a multiple of `every` start a
/// new spool.
fn on_disk(items: &[FlatItem], every: usize) -> (Item, Outcome) {
    let dir = tempfile::tempdir().unwrap();
    let mut spools = Vec::new();
    let mut writer = SpoolWriter::create(dir.path(), false, true).unwrap();
    let mut roots = 0;
    for item in items {
        if item.depth == 0 {
            if roots > 0 && roots % every == 0 {
                let next = SpoolWriter::create(dir.path(), false, true).unwrap();
                spools.push(std::mem::replace(&mut writer, next).finish().unwrap());
            }
            roots += 1;
        }
        writer.push(item).unwrap();
    }
    spools.push(writer.finish().unwrap());
    spools.retain(|spool| spool.items > 0);
    let spools = read_again(spools, items);
    let path = dir.path().join(TREE_FILE);
    let kept = dir.path().join("items");
    let subject = Subject { keep_items: Some(kept.clone()), ..subject(&[]) };
    let outcome = write_tree(&subject, &path, spools, None, Decided::default()).unwrap();
    let yaml = fs::read_to_string(path).unwrap();
    let tree: Item = serde_saphyr::from_str(&yaml).unwrap_or_else(|error| panic!("{error}:\n{yaml}"));
    // Judges read the same items in a run and from an archive.
    let again = dir.path().join("again");
    crate::judging::keep_tree(&tree, &again).unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), fs::read_to_string(again).unwrap());
    (tree, outcome)
}

/// Checks that a summarizer would read the items that were pushed, with the statuses of the tree.
fn read_again(mut spools: Vec<Spool>, items: &[FlatItem]) -> Vec<Spool> {
    let custom_mode = spools.iter().any(|spool| spool.custom_leaf);
    spools.iter_mut().for_each(|spool| drop(spool.resolve(custom_mode, false).unwrap()));
    let spools = Arc::new(spools);
    let mut replay = Replay::new(Arc::clone(&spools), false);
    let mut rolled = in_memory(items);
    let mut expected = Vec::new();
    let mut open: Vec<Item> = rolled.items.drain(..).rev().collect();
    while let Some(mut item) = open.pop() {
        open.extend(item.items.drain(..).rev());
        expected.push((item.name, item.status, item.meta, item.details));
    }
    let mut read = Vec::new();
    while let Some(Entry { set, item }) = replay.next().unwrap() {
        assert_eq!((set.as_str(), item.depth), ("global", items[read.len()].depth));
        read.push((item.name, item.status.unwrap(), item.meta, item.details));
    }
    assert_eq!(read, expected);
    drop(replay);
    Arc::try_unwrap(spools).unwrap_or_else(|_| panic!("nobody reads any more"))
}

fn in_memory(items: &[FlatItem]) -> Item {
    let meta: Meta = [("type".to_owned(), "summary".to_owned())].into();
    let mut root = Item { name: "p".into(), meta, items: build(items.iter().cloned()).unwrap(), ..Item::default() };
    roll_up(&mut root);
    root
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_tree_on_disk_is_the_one_in_memory(items in items(), every in 1..4_usize) {
        let (written, outcome) = on_disk(&items, every);
        let mut expected = in_memory(&items);
        expected.meta.extend(outcome.reason.iter().map(|reason| (REASON.to_owned(), reason.clone())));
        prop_assert_eq!(&written, &expected);
        prop_assert_eq!(&outcome.total.status, &expected.status);
        prop_assert_eq!(outcome.items, items.len() as u64);
        if !items.is_empty() {
            prop_assert_eq!(&outcome.total.counts, &counts(&expected));
        }
    }
}

/// Uses more items than the backward pass holds at once, so that parents and children are in
/// different chunks.
#[test]
fn chunks_make_no_difference() {
    let mut items = vec![FlatItem { name: "suite".into(), ..FlatItem::default() }];
    for n in 0..10_000 {
        let status = if n == 5_000 { Status::Failed } else { Status::Passed };
        items.push(FlatItem { depth: 1, name: format!("t{n}"), status: Some(status), ..FlatItem::default() });
    }
    items.push(FlatItem { name: "last".into(), status: Some(Status::Passed), ..FlatItem::default() });
    let (written, outcome) = on_disk(&items, 1);
    assert_eq!(written, in_memory(&items));
    assert_eq!((written.items[0].status.clone(), outcome.total.counts["failed"]), (Status::Failed, 1));
}
