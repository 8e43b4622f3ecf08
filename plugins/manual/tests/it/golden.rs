//! Compares with the trees that existing users get.

use std::path::PathBuf;

use plumbline_core::{FlatItem, Item, item, rollup};
use plumbline_module_manual::Manual;
use plumbline_sdk::testing::{Case, Run};
use serde_json::Value;

/// Returns the tree as the host writes it: rolled up, below a root with this name.
pub(crate) fn rolled_up(run: &Run, root: &str) -> Value {
    assert_eq!(run.outcome, Ok(()));
    let items: Vec<FlatItem> = serde_json::from_value(run.to_json()).unwrap();
    let mut root = Item { name: root.to_owned(), items: item::build(items).unwrap(), ..Item::default() };
    root.meta.insert("type".to_owned(), "summary".to_owned());
    rollup::roll_up(&mut root);
    serde_json::to_value(&root).unwrap()
}

/// Tests a plugin directory, of which the host has selected these files, or all YAML files if none
/// are given.
fn case(name: &str, files: &[&str]) {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let selected = |path: &str| {
        let file = path.rsplit('/').next().unwrap();
        path.starts_with("results/") && if files.is_empty() { file.ends_with(".yaml") } else { files.contains(&file) }
    };
    let run = Case::new().plugin(name).directory(&directory, selected).unwrap().run::<Manual>();
    let golden = std::fs::read_to_string(directory.join(format!("{name}.golden.json"))).unwrap();
    assert_eq!(rolled_up(&run, name), serde_json::from_str::<Value>(&golden).unwrap());
}

#[test]
fn all_files_of_one() {
    case("job-manual-01", &[]);
}

#[test]
fn two_files_are_named() {
    case("job-manual-02", &["manual-results-1.yaml", "manual-results-2.yaml"]);
}

#[test]
fn one_file_of_two_is_named() {
    case("job-manual-03", &["manual-results.yaml"]);
}

#[test]
fn all_files_of_two_in_order() {
    case("job-manual-04", &[]);
}

#[test]
fn details_of_any_shape_and_a_custom_status() {
    case("job-manual-arbitrary-details", &["manual-results-arbitrary-details.yaml"]);
}
