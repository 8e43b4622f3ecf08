//! Compares with the trees that existing users get. Additions of this module are removed before the
//! comparison.

use std::fs;

use plumbline_module_junit::Junit;
use plumbline_sdk::testing::Case;
use serde_json::Value;

use crate::common;

fn json(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(common::data(path)).unwrap()).unwrap()
}

/// Tests a plugin directory, of which the host has selected these files.
fn case(name: &str, files: &[&str]) {
    let case = Case::new()
        .plugin(name)
        .directory(common::data(&format!("golden-cases/{name}")), |path| {
            path.rsplit('/').next().is_some_and(|file| files.contains(&file))
        })
        .unwrap();
    let run = case.run::<Junit>();
    assert_eq!(run.outcome, Ok(()));
    assert_eq!(
        common::without_extras(common::rolled_up(&run, name)),
        json(&format!("golden-cases/{name}/{name}.golden.json"))
    );
}

#[test]
fn one_file_of_three_is_named() {
    case("job-junit-01", &["output.xml"]);
}

#[test]
fn every_xml_file_is_read_in_order() {
    case("job-junit-02", &["output.xml", "output2.xml"]);
}

#[test]
fn two_files_of_three_are_named() {
    case("job-junit-03", &["output.xml", "output2.xml"]);
}

#[test]
fn an_error_does_not_pass() {
    case("job-junit-falsepositive", &["output.xml"]);
}

/// Tests a single file: the golden tree is the file's item, without name and metadata. The file's
/// totals belong to a longer report, which the module reports.
fn file(input: &str, golden: &str) {
    let mut run = common::read(fs::read(common::data(&format!("golden-junit/{input}"))).unwrap());
    let items = run.items.len();
    run.items.retain(|item| item.name != "missing failures");
    assert!(run.items.len() < items);
    let root = common::rolled_up(&run, "root");
    let mut golden = json(&format!("golden-junit/{golden}"));
    skip_what_ran_nothing(&mut golden);
    assert_eq!(bare(&root["items"][0]), golden);
}

/// Changes suites whose tests were all skipped to `skipped`. Sonobuoy calls them passed.
fn skip_what_ran_nothing(tree: &mut Value) {
    let Some(items) = tree.get_mut("items").and_then(Value::as_array_mut) else { return };
    items.iter_mut().for_each(skip_what_ran_nothing);
    if items.iter().all(|item| item["status"] == "skipped") {
        tree["status"] = "skipped".into();
    }
}

fn bare(item: &Value) -> Value {
    let mut item = common::without_extras(item.clone());
    item["name"] = Value::String(String::new());
    let meta = item["meta"].as_object_mut().unwrap();
    meta.remove("file");
    meta.remove("type");
    if meta.is_empty() {
        item.as_object_mut().unwrap().remove("meta");
    }
    item
}

#[test]
fn a_real_benchmark_report() {
    file("junit_good_junit.xml", "item_good_junit.json");
}

#[test]
fn several_suites() {
    file("junit_multiple_suites.xml", "item_multiple_suites.json");
}

#[test]
fn a_file_that_cannot_be_read() {
    let run = Case::new().broken_file("results/global/junit.xml", "", "testErr").run::<Junit>();
    assert_eq!(run.items.len(), 1);
    let root = common::rolled_up(&run, "root");
    assert_eq!(bare(&root["items"][0]), json("golden-junit/item_badjunit.json"));
}

#[test]
fn goldens_do_not_depend_on_where_the_host_cuts() {
    for path in ["golden-junit/junit_good_junit.xml", "golden-cases/job-junit-01/results/global/output2.xml"] {
        let bytes = fs::read(common::data(path)).unwrap();
        let whole = common::read(bytes.clone());
        for chunk in [1, 2, 3, 7, 64] {
            let cut = Case::new().file("results/global/junit.xml", bytes.clone()).chunk(chunk).run::<Junit>();
            assert_eq!(cut, whole, "{path}, {chunk} bytes at a time");
        }
    }
}
