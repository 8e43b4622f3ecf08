//! Tests that memory does not grow with the size of a result.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use plumbline_aggregator::{Outcome, TREE_FILE, post_process};

use crate::harness::{modules, subject};

const LARGE: usize = 100 << 20;
/// Maximum growth of the process in KiB.
const GROWTH: u64 = 64 << 10;

#[test]
fn a_large_result_is_read_in_little_memory() {
    in_a_process_of_its_own("memory::measure");
}

#[test]
fn lists_of_statuses_take_little_memory() {
    in_a_process_of_its_own("memory::measure_statuses");
}

/// Runs a test in its own process, because peak memory is a property of a process.
fn in_a_process_of_its_own(test: &str) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&child.stdout);
    let err = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

#[test]
#[ignore = "started by `a_large_result_is_read_in_little_memory` in a process of its own"]
fn measure() {
    let (_, items) = processed(10 << 10);
    let before = peak();
    let (outcome, large) = processed(LARGE);
    let grown = peak() - before;
    assert!(large > 1000 * items, "{large} items");
    assert_eq!(outcome.items, large as u64 + 2, "every case, the suite and the file");
    assert!(grown < GROWTH, "grown by {grown} KiB over {before} KiB");
}

/// Every group has 100 statuses of 200 bytes below twenty levels, each of which counts one more.
/// The lists of counts are twenty times as large as the leaves, and all of them differ.
#[test]
#[ignore = "started by `lists_of_statuses_take_little_memory` in a process of its own"]
fn measure_statuses() {
    let write = |groups: usize| {
        move |dir: &Path| {
            let mut out = BufWriter::new(File::create(dir.join("manual.yaml")).unwrap());
            let list = |group: usize| {
                let leaf = |n: usize| format!("{{name: a, status: \"{:03}{}\"}}", (group + n) % 900, "s".repeat(200));
                let leaves: Vec<_> = (0..100).map(leaf).collect();
                let above = |items: String, _| format!("{}, {{name: g, items: [{items}]}}", leaf(0));
                let items = (0..20).fold(leaves.join(", "), above);
                format!("- {{name: g, items: [{items}]}}\n")
            };
            out.write_all(b"items:\n").unwrap();
            (0..groups).for_each(|group| out.write_all(list(group).as_bytes()).unwrap());
            out.flush().unwrap();
        }
    };
    let results = |dir: &Path| std::fs::metadata(dir.join("results/global/manual.yaml")).unwrap().len();
    post_processed("manual", write(1), |_, _| {});
    let before = peak();
    post_processed("manual", write(1000), |dir, outcome| {
        let (input, tree) = (results(dir), dir.join(TREE_FILE).metadata().unwrap().len());
        assert!(input > 20 << 20, "{input}");
        assert!(outcome.items > 140_000, "{}", outcome.items);
        assert!(tree < 3 * input, "a tree of {tree} bytes of {input}");
    });
    let grown = peak() - before;
    // The module holds the file, and its memory is part of the process.
    assert!(grown < 256 << 10, "grown by {grown} KiB over {before} KiB");
}

fn processed(bytes: usize) -> (Outcome, usize) {
    let mut result = None;
    let cases = std::cell::Cell::new(0);
    post_processed(
        "junit",
        |dir| cases.set(write(&dir.join("junit.xml"), bytes)),
        |dir, outcome| {
            let tree = dir.join(TREE_FILE).metadata().unwrap().len();
            assert!(tree as usize > bytes / 2, "the texts are in the tree");
            result = Some(outcome);
        },
    );
    (result.unwrap(), cases.get())
}

/// Post-processes the files that `write` creates, and calls `look` with the plugin's directory.
fn post_processed(format: &str, write: impl FnOnce(&Path), look: impl FnOnce(&Path, Outcome)) {
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().join("results/global");
    std::fs::create_dir_all(&results).unwrap();
    write(&results);
    let subject = subject("large", format, &[]);
    let module = modules().post_processor(None, format).unwrap();
    let tree = dir.path().join(TREE_FILE);
    let outcome = post_process(&subject, dir.path(), &module, dir.path(), &tree).unwrap();
    look(dir.path(), outcome);
}

/// Writes failed test cases of about `bytes` bytes, and returns their number.
fn write(path: &Path, bytes: usize) -> usize {
    let mut out = BufWriter::new(File::create(path).unwrap());
    out.write_all(b"<testsuites><testsuite name=\"suite\">").unwrap();
    let text = "a line of a log that nobody reads\n".repeat(60);
    let (mut written, mut cases) = (0, 0);
    while written < bytes {
        let case = format!("<testcase name=\"case {cases}\"><failure message=\"no\">{text}</failure></testcase>");
        out.write_all(case.as_bytes()).unwrap();
        written += case.len();
        cases += 1;
    }
    out.write_all(b"</testsuite></testsuites>").unwrap();
    out.flush().unwrap();
    cases
}

/// Returns the peak memory of this process in KiB.
pub(crate) fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
