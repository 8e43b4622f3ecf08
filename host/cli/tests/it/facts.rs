//! `worker facts`, from the command line.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::bed::{Bed, wait_for};

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn facts_are_printed_or_written_as_a_plugin_does() {
    let bed = Bed::new();
    let printed = document(&bed.plumbline(&["worker", "facts"]).expect(0).out);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(printed["ansible_facts"]["ansible_kernel"], kernel.trim());
    assert_eq!(printed["gathered_by"], "plumbline");

    let results = bed.path("results");
    fs::create_dir(&results).unwrap();
    let mut command = bed.command(&["worker", "facts", "--done"]);
    assert!(command.env("SONOBUOY_RESULTS_DIR", &results).status().unwrap().success());
    let done = fs::read_to_string(results.join("done")).unwrap();
    assert_eq!(done, results.join("host-facts.json").display().to_string());
    assert!(document(&fs::read_to_string(done).unwrap())["plumbline_facts"]["cgroup"].is_object());

    let mut command = bed.command(&["worker", "facts", "--done"]);
    let output = command.env("SONOBUOY_RESULTS_DIR", bed.path("nowhere")).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("nowhere/host-facts.json"));
}

#[test]
fn the_variable_names_a_root_as_the_flag_does() {
    let bed = Bed::new();
    bed.write("node/proc/sys/kernel/osrelease", "1.2.3-other\n");
    let by_variable = bed.command(&["worker", "facts"]).env("CHROOT_DIR", bed.path("node")).output().unwrap();
    let by_flag = bed.plumbline(&["worker", "facts", "--root", "node"]).expect(0).out;
    for text in [String::from_utf8(by_variable.stdout).unwrap(), by_flag] {
        let facts = document(&text);
        assert_eq!(facts["ansible_facts"]["ansible_kernel"], "1.2.3-other");
        assert!(facts["errors"].as_array().unwrap().iter().any(|error| error["fact"] == "ansible_memtotal_mb"));
    }
}

#[test]
fn a_collector_below_another_root_runs_with_that_root() {
    let bed = Bed::new();
    symlink("/", bed.path("node")).unwrap();
    let script = bed.write("facts.d/where.fact", "#!/bin/sh\nprintf '{\"place\": \"%s\"}' \"$(pwd)\"\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let (root, facts_dir) = (bed.path("node"), bed.path("facts.d"));
    let args = ["worker", "facts", "--root", root.to_str().unwrap(), "--facts-dir", facts_dir.to_str().unwrap()];
    let facts = document(&bed.plumbline(&[&args[..], &["--run-collectors"]].concat()).expect(0).out);
    let local = &facts["ansible_facts"]["ansible_local"];
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        assert_eq!(local, &json!({"where": {"place": "/"}}), "{}", facts["errors"]);
    } else {
        eprintln!("SKIPPED: only root can enter another root");
        assert_eq!(local, &json!({}));
        assert!(facts["errors"].to_string().contains("only root can run a program below another root"));
    }
}

#[test]
fn staying_ends_with_a_signal() {
    let bed = Bed::new();
    let staying = bed.start("staying", &["worker", "facts", "--file", "facts.json", "--stay"]);
    wait_for("the facts", || bed.path("facts.json").exists());
    staying.signal("TERM");
    staying.wait().expect(0);
}

#[test]
fn without_an_ansible_there_is_a_reason_and_a_way_on() {
    let bed = Bed::new();
    let empty = bed.path("empty");
    fs::create_dir(&empty).unwrap();
    let done = bed.plumbline(&["worker", "facts", "--via", "ansible", "--root", "empty"]);
    assert!(done.code != 0 && done.out.is_empty());
    assert!(done.err.contains("no program `ansible`") && done.err.contains("remove `--via ansible`"), "{}", done.err);
}
