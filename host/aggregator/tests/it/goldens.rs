//! Tests that compare trees with those that Sonobuoy creates from real directories.

use std::fs;
use std::path::Path;

use plumbline_aggregator::{TREE_FILE, post_process};
use plumbline_core::{Item, Status};
use serde_json::Value;

use crate::harness::{modules, subject};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/postprocess");

/// Name, format and result files of each case.
const CASES: [(&str, &str, &[&str]); 17] = [
    ("job-complex-err", "", &[]),
    ("job-default-01", "", &["output.xml"]),
    ("job-default-02", "", &[]),
    ("job-errors", "", &[]),
    ("job-junit-01", "junit", &["output.xml"]),
    ("job-junit-02", "junit", &[]),
    ("job-junit-03", "junit", &["output.xml", "output2.xml"]),
    ("job-junit-falsepositive", "junit", &[]),
    ("job-manual-01", "manual", &[]),
    ("job-manual-02", "manual", &["manual-results-1.yaml", "manual-results-2.yaml"]),
    ("job-manual-03", "manual", &["manual-results.yaml"]),
    ("job-manual-04", "manual", &[]),
    ("job-manual-arbitrary-details", "manual", &["manual-results-arbitrary-details.yaml"]),
    ("job-raw-01", "raw", &["output.xml"]),
    ("job-raw-02", "raw", &[]),
    ("job-raw-03", "raw", &["output.xml", "output2.xml"]),
    ("job-timeout", "", &[]),
];

/// Returns the tree of the directory of `case`, and checks it against the outcome.
fn processed(case: &str, format: &str, files: &[&str]) -> Item {
    let module = modules().post_processor(None, format).unwrap();
    let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
    let subject = subject(case, format, &files);
    let out = tempfile::tempdir().unwrap();
    let tree = out.path().join(TREE_FILE);
    let outcome = post_process(&subject, &Path::new(DATA).join(case), &module, out.path(), &tree).unwrap();
    let tree: Item = serde_saphyr::from_str(&fs::read_to_string(tree).unwrap()).unwrap();
    assert_eq!(outcome.total.status, tree.status, "{case}");
    assert_eq!(outcome.total.counts, plumbline_core::rollup::counts(&tree), "{case}");
    tree
}

/// Removes what Sonobuoy does not keep: durations, classes, and messages that are separate from
/// their bodies.
fn without_extras(mut item: Item) -> Item {
    item.meta.retain(|key, _| key != "duration" && key != "classname");
    item.details.retain(|key, _| key != "failure-message" && key != "error-message");
    item.items = std::mem::take(&mut item.items).into_iter().map(without_extras).collect();
    item
}

fn unread(item: Item) -> Item {
    Item { status: Status::NotRead, items: item.items.into_iter().map(unread).collect(), ..item }
}

#[test]
fn every_case_gives_the_tree_that_it_should() {
    for (case, format, files) in CASES {
        let golden = fs::read(format!("{DATA}/{case}/{case}.golden.json")).unwrap();
        let mut golden: Item = serde_json::from_slice(&golden).unwrap();
        if case == "job-complex-err" {
            // Sonobuoy prints the pod as a Go map. Here it keeps its form in the document.
            let document = fs::read(format!("{DATA}/{case}/errors/error.json")).unwrap();
            let document: Value = serde_json::from_slice(&document).unwrap();
            let printed = golden.items[0].details.insert("pod".into(), document["pod"].clone()).unwrap();
            assert!(printed.as_str().unwrap().starts_with("map[metadata:map["));
        }
        let mut tree = without_extras(processed(case, format, files));
        if matches!(format, "" | "raw") && golden.status == Status::Passed {
            // Sonobuoy marks a file that was not read as passed.
            let reason = tree.meta.remove("reason").unwrap();
            assert!(reason.contains("collected, none read"), "{reason}");
            golden = unread(golden);
        }
        assert_eq!(tree, golden, "{case}");
    }
}

#[test]
fn no_case_is_left_out() {
    let mut on_disk: Vec<String> =
        fs::read_dir(DATA).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    on_disk.sort();
    assert_eq!(on_disk, CASES.map(|(case, ..)| case.to_owned()));
}
