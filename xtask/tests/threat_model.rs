//! Checks that the tests that the threat model and the list of guarantees refer to exist.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_test_that_the_threat_model_names_exists() {
    every_test_exists("docs/threat-model.md", 4);
}

#[test]
fn every_test_that_the_guarantees_name_exists() {
    every_test_exists("docs/guarantees.md", 3);
}

/// Fails if a row of a table names a test that does not exist. Tests are in the last column of
/// tables with at least `bars` bars in a row.
fn every_test_exists(page: &str, bars: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = fs::read_to_string(root.join(page)).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && (bars..=4).contains(&line.matches('|').count()));
    let named: BTreeSet<&str> = rows.flat_map(tests).collect();
    assert!(named.len() > 30, "{named:?}");
    let mut functions = BTreeSet::new();
    for directory in ["host", "plugins"] {
        collect(&root.join(directory), &mut functions);
    }
    let missing: Vec<&&str> = named.iter().filter(|name| !functions.contains(**name)).collect();
    assert!(missing.is_empty(), "{page} names tests that do not exist: {missing:?}");
}

/// Returns the names in the last column of a row.
fn tests(row: &str) -> impl Iterator<Item = &str> {
    let column = row.trim_end_matches([' ', '|']).rsplit_once('|').map_or("", |(_, column)| column);
    column.split('`').skip(1).step_by(2)
}

fn collect(dir: &Path, functions: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, functions);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let names = text.lines().filter_map(|line| line.trim_start().split_once("fn ")?.1.split_once('('));
            functions.extend(names.map(|(name, _)| name.to_owned()));
        }
    }
}
