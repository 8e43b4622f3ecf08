//! The inputs of `results`: archives of all kinds, several of them, directories, result files,
//! standard input.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::bed::{Bed, Done};

const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../archive/tests/data");
const PASSING: &str = "<testsuite name=\"unit\"><testcase classname=\"a\" name=\"works\"/></testsuite>";
const FAILING: &str = "<testsuites><testsuite name=\"unit\"><testcase name=\"breaks\"><failure message=\"no\"/></testcase></testsuite></testsuites>";

/// Writes the directory of an archive with plugins and their trees.
fn archive_dir(bed: &Bed, dir: &str, plugins: &[(&str, &str)]) {
    let names: Vec<&str> = plugins.iter().map(|(name, _)| *name).collect();
    bed.write(&format!("{dir}/meta/info.json"), &serde_json::json!({"plugins": names}).to_string());
    for (name, tree) in plugins {
        bed.write(&format!("{dir}/plugins/{name}/sonobuoy_results.yaml"), tree);
        bed.write(&format!("{dir}/plugins/{name}/results/global/out"), "x\n");
    }
}

fn tree(name: &str, status: &str) -> String {
    format!("name: {name}\nstatus: {status}\nitems:\n- name: check of {name}\n  status: {status}\n")
}

/// Packs a directory with the system's `tar`.
fn pack(bed: &Bed, dir: &str, to: &str, flags: &str) {
    let to = bed.path(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let packed = Command::new("tar").arg(flags).arg(&to).arg("-C").arg(bed.path(dir)).arg(".").status().unwrap();
    assert!(packed.success());
}

fn with_stdin(bed: &Bed, args: &[&str], path: &Path) -> Done {
    let output = bed.command(args).stdin(File::open(path).unwrap()).output().unwrap();
    Done {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn archives_of_version_0_10_show_the_files_of_their_nodes() {
    let bed = Bed::new();
    let archive = format!("{OLD}/results-0.10.tar.gz");
    let done = bed.plumbline(&["results", &archive, "-p", "systemd_logs", "-m", "detailed"]);
    assert!(!done.err.contains("error"), "{}", done.err);
    let nodes: Vec<&str> = done.out.lines().filter(|line| line.starts_with("systemd_logs|ip-")).collect();
    assert_eq!(nodes.len(), 3, "{}", &done.out[..done.out.len().min(500)]);
    assert!(done.out.len() > 100_000, "the contents of the files: {}", done.out.len());
}

#[test]
fn a_dump_of_a_node_is_that_node_alone() {
    let bed = Bed::new();
    let text = "name: p\nstatus: failed\nitems:\n- name: n1\n  status: failed\n  items:\n  - name: t\n    status: failed\n    details:\n      failure: \"a\\nb\"\n- name: n2\n  status: passed\n";
    archive_dir(&bed, "run", &[("p", text)]);
    let show = |more: &[&str]| bed.plumbline(&[&["results", "run", "-p", "p"], more].concat());
    assert_eq!(show(&["-m", "dump"]).expect(1).out, text);
    let dump = show(&["-m", "dump", "-n", "n1"]).expect(1).out;
    let node: Value = serde_saphyr::from_str(&dump).unwrap();
    assert_eq!(node["name"], "n1");
    assert_eq!(node["items"][0]["details"]["failure"], "a\nb");
    assert!(!dump.contains("n2"), "{dump}");
    let readable = show(&["-m", "readable", "-n", "n2"]).expect(0).out;
    assert!(readable.contains("n2") && !readable.contains("n1"), "{readable}");
    let all = show(&["-m", "readable"]).expect(1).out;
    assert!(all.contains("failure: \"a\nb\""), "{all}");
}

#[test]
fn several_archives_are_shown_under_their_names_and_the_worst_verdict_counts() {
    let bed = Bed::new();
    archive_dir(&bed, "good", &[("p", &tree("p", "passed"))]);
    archive_dir(&bed, "bad", &[("p", &tree("p", "failed"))]);
    bed.plumbline(&["results", "good", "good"]).expect(0);
    let done = bed.plumbline(&["results", "good", "bad"]).expect(1);
    insta::assert_snapshot!(done.out);
    let json: Value =
        serde_json::from_str(&bed.plumbline(&["results", "good", "bad", "-o", "json"]).expect(1).out).unwrap();
    assert_eq!((json[0]["archive"].as_str(), json[0]["status"].as_str()), (Some("good"), Some("passed")));
    assert_eq!((json[1]["archive"].as_str(), json[1]["status"].as_str()), (Some("bad"), Some("failed")));
    let alone: Value = serde_json::from_str(&bed.plumbline(&["results", "good", "-o", "json"]).expect(0).out).unwrap();
    assert_eq!(alone[0].get("archive"), None);
    for format in ["junit", "markdown", "html"] {
        let out = bed.plumbline(&["results", "good", "bad", "-o", format]).expect(1).out;
        assert!(out.contains("good: p") && out.contains("bad: p"), "{format}: {out}");
    }
    // An input that cannot be read does not hide the others, but it prevents a verdict of passed.
    let done = bed.plumbline(&["results", "nobody.tar.gz", "good"]).expect(3);
    assert!(done.out.contains("check of p") || done.out.contains("Passed: 1"), "{}", done.out);
    assert!(done.err.contains("nobody.tar.gz"), "{}", done.err);
    bed.plumbline(&["results", "nobody.tar.gz", "nothing.tar.gz"]).expect(2);
}

#[test]
fn of_a_directory_the_newest_archive_is_shown() {
    let bed = Bed::new();
    archive_dir(&bed, "old", &[("p", &tree("p", "failed"))]);
    archive_dir(&bed, "new", &[("p", &tree("p", "passed"))]);
    pack(&bed, "old", "runs/b.tar.gz", "-czf");
    pack(&bed, "new", "runs/a.tar", "-cf");
    bed.write("runs/notes.txt", "nothing");
    bed.write("runs/.hidden.tar.gz", "under way");
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(bed.path("runs/b.tar.gz")).unwrap().set_modified(hour_ago).unwrap();
    let done = bed.plumbline(&["results", "runs"]).expect(0);
    assert!(done.err.contains("the newest archive in `runs`: runs/a.tar"), "{}", done.err);
    assert!(done.out.contains("Plugin: p\nStatus: passed\n"), "{}", done.out);
    bed.write("empty/README", "");
    let done = bed.plumbline(&["results", "empty"]).expect(2);
    assert!(done.err.contains("is not a results archive, and contains none"), "{}", done.err);
}

#[test]
fn a_plain_tar_and_standard_input_are_archives_too() {
    let bed = Bed::new();
    archive_dir(&bed, "run", &[("p", &tree("p", "failed"))]);
    pack(&bed, "run", "run.tar", "-cf");
    pack(&bed, "run", "run.tar.gz", "-czf");
    fs::copy(bed.path("run.tar.gz"), bed.path("renamed")).unwrap();
    let want = bed.plumbline(&["results", "run"]).expect(1).out;
    for file in ["run.tar", "run.tar.gz", "renamed"] {
        assert_eq!(bed.plumbline(&["results", file]).expect(1).out, want, "{file}");
        assert_eq!(with_stdin(&bed, &["results", "-"], &bed.path(file)).expect(1).out, want, "{file}");
    }
    bed.write("junit.xml", PASSING);
    let done = with_stdin(&bed, &["results", "-"], &bed.path("junit.xml")).expect(0);
    assert!(done.out.contains("Total: 1\nPassed: 1\n"), "{}{}", done.out, done.err);
    let done = with_stdin(&bed, &["results", "-"], Path::new("/dev/null")).expect(2);
    assert!(done.err.contains("standard input"), "{}", done.err);
}

#[test]
fn result_files_are_read_as_what_they_are() {
    let bed = Bed::new();
    bed.write("a/junit.xml", PASSING);
    bed.write("b/junit.xml", FAILING);
    bed.write("go.json", "{\"Action\":\"run\",\"Test\":\"TestX\"}\n{\"Action\":\"fail\",\"Test\":\"TestX\"}\n");
    bed.write("odd.txt", "neither this nor that");
    let done = bed.plumbline(&["results", "a/junit.xml"]).expect(0);
    assert!(done.out.starts_with("Plugin: junit.xml\nStatus: passed\n"), "{}", done.out);
    assert!(done.err.contains("is read as JUnit"), "{}", done.err);
    let done = bed.plumbline(&["results", "a/junit.xml", "b/junit.xml", "go.json"]).expect(1);
    for name in ["==> a/junit.xml <==", "==> b/junit.xml <==", "==> go.json <==", "TestX"] {
        assert!(done.out.contains(name), "{name}: {}", done.out);
    }
    // The detection rules of modules find the format, whatever the file is called.
    bed.write("checks", "TAP version 14\n1..2\nok 1 - one\nnot ok 2 - two\n");
    bed.write("report.xml", "<html><testsuite/></html>");
    let done = bed.plumbline(&["results", "checks"]).expect(1);
    assert!(done.err.contains("`checks` is read as TAP"), "{}", done.err);
    for file in ["odd.txt", "report.xml"] {
        let done = bed.plumbline(&["results", file]).expect(2);
        assert!(done.err.contains("neither an archive nor a result file of a known format"), "{}", done.err);
    }
    let done = bed.plumbline(&["results", "odd.txt"]).expect(2);
    assert!(done.err.contains("--result-format"), "{}", done.err);
    // The format in the option overrides detection, whatever the file is called.
    fs::copy(bed.path("b/junit.xml"), bed.path("report.log")).unwrap();
    let done = bed.plumbline(&["results", "report.log", "--result-format", "junit", "-o", "json"]).expect(1);
    let json: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(json[0]["status"], "failed");
    bed.plumbline(&["results", "report.log", "--result-format", "gojson"]).expect(5);
    let done = bed.plumbline(&["results", "report.log", "--result-format", "junt"]).expect(2);
    assert!(done.err.contains("unknown result format `junt`"), "{}", done.err);
}

#[test]
fn a_plugin_that_cannot_be_read_does_not_hide_the_others() {
    let bed = Bed::new();
    archive_dir(&bed, "run", &[("a", &tree("a", "passed")), ("broken", "- no\n- tree\n"), ("z", &tree("z", "passed"))]);
    let done = bed.plumbline(&["results", "run"]).expect(3);
    for want in ["Plugin: a\n", "Plugin: z\n", "Plugin: broken\nStatus: unknown\n"] {
        assert!(done.out.contains(want), "{}", done.out);
    }
    assert!(done.err.contains("plugin `broken`"), "{}", done.err);
    let json: Value = serde_json::from_str(&bed.plumbline(&["results", "run", "-o", "json"]).expect(3).out).unwrap();
    assert_eq!(json[1]["name"], "broken");
    assert!(json[1]["meta"]["error"].as_str().unwrap().contains("result tree"), "{json}");
    for format in ["yaml", "junit", "markdown", "html"] {
        let out = bed.plumbline(&["results", "run", "-o", format]).expect(3).out;
        assert!(out.contains("broken"), "{format}: {out}");
    }
    bed.plumbline(&["results", "run", "-p", "broken"]).expect(2);
}

#[test]
fn thousands_of_statuses_make_no_endless_line() {
    let bed = Bed::new();
    let leaves: String = (0..9_990).map(|n| format!("- name: t{n}\n  status: status-{n:05}\n")).collect();
    let counts: Vec<String> = (0..9_990).map(|n| format!("status-{n:05}: 1")).collect();
    archive_dir(&bed, "run", &[("p", &format!("name: p\nstatus: '{}'\nitems:\n{leaves}", counts.join(", ")))]);
    for more in [&["-m", "report"], &["-o", "markdown"], &["-o", "html"]] {
        let out = bed.plumbline(&[&["results", "run"], &more[..]].concat()).expect(0).out;
        let status = out.lines().find(|line| line.contains("status-00001: 1")).unwrap_or_default();
        assert!(more[1] == "markdown" || out.contains("… 9980 more"), "{more:?}");
        assert!(status.len() < 4_000, "{more:?}: {}", status.len());
    }
}

#[test]
fn an_archive_that_names_half_a_million_plugins_is_refused_at_once() {
    let bed = Bed::new();
    let names: Vec<String> = (0..500_000).map(|n| format!("p{n}")).collect();
    bed.write("run/meta/info.json", &serde_json::json!({"plugins": names}).to_string());
    let done = bed.plumbline(&["results", "run"]).expect(2);
    assert!(done.err.contains("500000 plugins"), "{}", done.err);
    // The most plugins that an archive may list, none of which has results.
    bed.write("run/meta/info.json", &serde_json::json!({"plugins": &names[..9_999]}).to_string());
    let done = bed.plumbline(&["results", "run"]).expect(3);
    assert!(done.err.contains("… 9979 more plugins are unreadable"), "{}", done.err);
    assert!(done.err.lines().count() < 100, "{}", done.err);
}
