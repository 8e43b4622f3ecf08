//! Compares with the trees of Sonobuoy, except that a file that was not read is not passed here.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;

use plumbline_core::{FlatItem, Item, item, rollup};
use plumbline_module_raw::Raw;
use plumbline_sdk::testing::Case;
use serde_json::Value;

/// Tests a plugin directory. The host selects these files, or all if none are given.
fn case(name: &str, files: &[&str]) {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let selected = |path: &str| {
        path.strip_prefix("results/")
            .and_then(|path| path.rsplit('/').next())
            .is_some_and(|file| files.is_empty() || files.contains(&file))
    };
    let run = Case::new().plugin(name).directory(&directory, selected).unwrap().run::<Raw>();
    assert_eq!(run.outcome, Ok(()));
    let items: Vec<FlatItem> = serde_json::from_value(run.to_json()).unwrap();
    let mut root = Item { name: name.to_owned(), items: item::build(items).unwrap(), ..Item::default() };
    root.meta.insert("type".to_owned(), "summary".to_owned());
    rollup::roll_up(&mut root);
    let golden = std::fs::read_to_string(directory.join(format!("{name}.golden.json"))).unwrap();
    let golden = golden.replace("\"passed\"", "\"not-read\"");
    assert_eq!(serde_json::to_value(&root).unwrap(), serde_json::from_str::<Value>(&golden).unwrap());
}

#[test]
fn one_file_is_named() {
    case("job-raw-01", &["output.xml"]);
}

#[test]
fn all_files_are_taken() {
    case("job-raw-02", &[]);
}

#[test]
fn two_files_of_three_are_named() {
    case("job-raw-03", &["output.xml", "output2.xml"]);
}

#[test]
fn a_definition_without_format_and_with_a_file() {
    case("job-default-01", &["output.xml"]);
}

#[test]
fn a_definition_without_format_and_without_files() {
    case("job-default-02", &[]);
}
