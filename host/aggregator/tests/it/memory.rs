//! Memory does not grow with the size of a result.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use plumbline_aggregator::{Outcome, Subject, TREE_FILE, post_process};
use plumbline_core::ModuleLimits;
use plumbline_sandbox::PluginInfo;

use crate::harness::modules;

const LARGE: usize = 100 << 20;
/// KiB by which the process may grow on the way.
const GROWTH: u64 = 64 << 10;

/// Peak memory is a property of a process, so the measurement has one of its own.
#[test]
fn a_large_result_is_read_in_little_memory() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::measure", "--ignored", "--nocapture"])
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

fn processed(bytes: usize) -> (Outcome, usize) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("results/global")).unwrap();
    let cases = write(&dir.path().join("results/global/junit.xml"), bytes);
    let subject = Subject {
        plugin: PluginInfo {
            name: "large".into(),
            driver: "Job".into(),
            format: "junit".into(),
            expected_results: 1,
            options: serde_json::json!({}),
        },
        per_node: false,
        result_files: &[],
        limits: ModuleLimits::default(),
        summarizer: None,
        keep_items: None,
        allow_empty: false,
        detectors: Vec::new(),
        stdout: None,
        warnings: Vec::new(),
    };
    let module = modules().post_processor(None, "junit").unwrap();
    let tree = dir.path().join(TREE_FILE);
    let outcome = post_process(&subject, dir.path(), &module, dir.path(), &tree).unwrap();
    assert!(tree.metadata().unwrap().len() as usize > bytes / 2, "the texts are in the tree");
    (outcome, cases)
}

/// About as many bytes of failed cases; how many cases.
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

/// The most that this process ever held in memory, in KiB.
pub(crate) fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
