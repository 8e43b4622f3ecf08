//! What `results` shows of archives: the same as Sonobuoy, and more formats.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::bed::Bed;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results");
const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../archive/tests/data");

fn failures() -> String {
    format!("{DATA}/results-4-e2e-failures.tar.gz")
}

fn cluster() -> String {
    format!("{DATA}/cluster")
}

fn quick() -> String {
    format!("{OLD}/results-quick-no-failures.tar.gz")
}

fn expected(name: &str) -> String {
    let path = format!("{DATA}/expected/{name}");
    let mut text = String::new();
    if Path::new(&path).exists() {
        fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
    } else {
        GzDecoder::new(fs::File::open(format!("{path}.gz")).unwrap()).read_to_string(&mut text).unwrap();
    }
    text
}

/// Fails with the first line that differs, because the texts have megabytes.
#[track_caller]
fn assert_same(what: &str, got: &str, want: &str) {
    for (at, (got, want)) in got.lines().zip(want.lines()).enumerate() {
        assert_eq!(got, want, "{what}, line {}", at + 1);
    }
    assert_eq!(got.len(), want.len(), "{what}: one is longer");
}

#[test]
fn modes_print_what_scripts_expect() {
    let (failures, cluster, quick) = (failures(), cluster(), quick());
    let cases: &[(&str, &[&str], &str, i32)] = &[
        (&cluster, &[], "cluster-report.txt", 3),
        (&cluster, &["-m", "detailed"], "cluster-detailed.txt", 3),
        (&cluster, &["-p", "sweep", "-m", "detailed", "-s"], "cluster-sweep-contents.txt", 3),
        (&cluster, &["-p", "sweep", "-m", "detailed", "--node", "worker-1"], "cluster-sweep-node.txt", 0),
        (&cluster, &["-p", "suite", "--node", "second"], "cluster-suite-second.txt", 3),
        (&cluster, &["-p", "suite", "--node", "quick"], "cluster-suite-quick.txt", 0),
        (&cluster, &["-p", "suite", "-m", "readable"], "cluster-suite-readable.txt", 3),
        (&cluster, &["-p", "suite", "-m", "DUMP"], "cluster-suite-dump.txt", 3),
        (&cluster, &["-p", "sonobuoy"], "cluster-health-report.txt", 0),
        (&cluster, &["-p", "sonobuoy", "-m", "detailed"], "cluster-health-detailed.txt", 0),
        (&failures, &["-p", "e2e"], "failures-e2e-report.txt", 1),
        (&failures, &["-p", "e2e", "-m", "detailed"], "failures-e2e-detailed.txt", 1),
        (&failures, &["-p", "systemd-logs"], "failures-systemd-logs-report.txt", 5),
        (&quick, &["-p", "e2e"], "quick-e2e-report.txt", 0),
        (&quick, &["-p", "systemd-logs", "-m", "detailed", "-s"], "quick-systemd-logs-contents.txt", 5),
    ];
    let bed = Bed::new();
    for (archive, args, file, code) in cases {
        let args: Vec<&str> = [&["results", archive], *args].concat();
        let done = bed.plumbline(&args).expect(*code);
        assert_same(file, &done.out, &expected(file));
    }
    let dump = bed.plumbline(&["results", &cluster, "-p", "sonobuoy", "-m", "dump"]).expect(0).out;
    assert_same("health", &format!("{dump}\n"), &expected("cluster-health-dump.txt"));
}

#[test]
fn data_formats() {
    let bed = Bed::new();
    let show = |format: &str| bed.plumbline(&["results", &cluster(), "-o", format]).expect(3).out;
    for format in ["json", "yaml", "junit", "markdown"] {
        insta::assert_snapshot!(format, show(format));
    }
    for (mode, format) in [("junit", "junit"), ("markdown", "markdown"), ("HTML", "html")] {
        let by_mode = bed.plumbline(&["results", &cluster(), "--mode", mode]).expect(3).out;
        assert_eq!(by_mode, show(format), "another word for it");
    }
    let trees: Value = serde_json::from_str(&show("json")).unwrap();
    assert_eq!(trees[1]["items"][0]["items"][1]["details"]["free"], 12);
    let node = bed.plumbline(&["results", &cluster(), "-p", "sweep", "-n", "worker-1", "-o", "json"]).expect(0).out;
    let mut node: Value = serde_json::from_str(&node).unwrap();
    // The verdict is that over what is shown.
    assert_eq!(node[0].as_object_mut().unwrap().remove("run").unwrap()["verdict"], "passed");
    assert_eq!(node[0], trees[1]["items"][1]);
}

#[test]
fn a_plugin_that_is_its_own_reader_reads_its_junit() {
    let bed = Bed::new();
    let junit = bed.plumbline(&["results", &cluster(), "-p", "suite", "-o", "junit"]).expect(3).out;
    bed.write("dir/results/global/all.xml", &junit);
    let done =
        bed.plumbline(&["plugin", "process", "dir", "--name", "again", "--result-format", "junit", "-o", "json"]);
    let tree: Value = serde_json::from_str(&done.out).unwrap();
    let cases = tree["items"][0]["items"][0]["items"].as_array().unwrap();
    let statuses: Vec<_> = cases.iter().map(|case| case["status"].as_str().unwrap()).collect();
    // JUnit has no status for tests that timed out or are unknown, so they are errors there.
    assert_eq!(statuses, ["failed", "passed", "skipped", "failed", "passed", "failed"]);
    assert_eq!(cases[0]["name"], "[It] a => b & <c>");
}

#[test]
fn archives_of_old_versions_are_read() {
    let bed = Bed::new();
    for (version, total) in [("0.8", 693), ("0.9", 693), ("0.10", 698)] {
        let archive = format!("{OLD}/results-{version}.tar.gz");
        let done = bed.plumbline(&["results", &archive, "-p", "e2e"]).expect(0);
        assert!(done.out.contains(&format!("Total: {total}\nPassed: 1\nFailed: 0\n")), "{version}: {}", done.out);
        assert!(done.err.contains("it is computed now"), "{}", done.err);
    }
    let all = bed.plumbline(&["results", &format!("{OLD}/results-0.10.tar.gz")]).expect(0);
    // The format of this plugin is not known today, so its files are listed.
    assert!(
        all.out.contains("Plugin: systemd_logs\nStatus: not-read\nTotal: 3\n"),
        "names that are none today: {}{}",
        all.out,
        all.err
    );
}
