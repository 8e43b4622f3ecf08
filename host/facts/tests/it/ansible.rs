//! Compares the facts with those of the real Ansible, if `PLUMBLINE_ANSIBLE` names its program
//! (`cargo xtask test` installs it).

use std::path::{Path, PathBuf};
use std::process::Command;

use plumbline_facts::{Options, gather, gather_via_ansible};
use serde_json::{Map, Value};

use crate::compare::{Comparison, neutral};
use crate::differences::RULES;

/// Number of attempts at a comparison, for machines whose interfaces come and go.
const ATTEMPTS: usize = 4;

/// Returns the program, or prints that the test is skipped and returns `None`.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("PLUMBLINE_ANSIBLE").filter(|named| !named.is_empty());
    if named.is_none() {
        eprintln!("SKIPPED: PLUMBLINE_ANSIBLE does not name the program `ansible` (`pip install ansible-core`)");
    }
    named.map(PathBuf::from)
}

/// Returns the facts of Ansible itself, called as its documentation describes, without code of this
/// crate.
fn setup(program: &Path) -> Map<String, Value> {
    let output = Command::new(program)
        .args([
            "localhost",
            "-c",
            "local",
            "-m",
            "setup",
            "-e",
            "ansible_python_interpreter={{ansible_playbook_python}}",
        ])
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let begin = text.find("=> {").unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr))) + 3;
    let document: Value = serde_json::from_str(&text[begin..]).unwrap();
    document["ansible_facts"].as_object().unwrap_or_else(|| panic!("{document}")).clone()
}

fn ours() -> Map<String, Value> {
    gather(&Options::new("/")).ansible_facts
}

/// Returns the facts that change while other processes use the machine. If these are equal, so are
/// two runs in a row.
fn surroundings(facts: &Map<String, Value>) -> Vec<String> {
    let mounts = facts["ansible_mounts"].as_array().unwrap().iter().map(|mount| mount["mount"].to_string());
    let names =
        ["ansible_interfaces", "ansible_all_ipv4_addresses", "ansible_all_ipv6_addresses", "ansible_default_ipv4"];
    names.iter().map(|name| facts[*name].to_string()).chain(mounts).collect()
}

#[test]
fn every_fact_that_both_have_is_the_same() {
    let Some(program) = program() else { return };
    let mut last = Vec::new();
    for _ in 0..ATTEMPTS {
        let before = ours();
        let theirs = setup(&program);
        let after = ours();
        if surroundings(&before) != surroundings(&after) {
            continue;
        }
        let mut comparison = Comparison::default();
        comparison.compare(&RULES, "", &neutral(&theirs), &neutral(&before));
        if comparison.differences.is_empty() {
            assert!(comparison.equal > 150, "only {} values were compared", comparison.equal);
            eprintln!("{} values of Ansible's are ours too", comparison.equal);
            return;
        }
        last = comparison.differences;
    }
    assert!(last.is_empty(), "{}", last.join("\n"));
    eprintln!("SKIPPED: interfaces or mounts of this machine come and go, so there is nothing to compare");
}

#[test]
fn the_machines_own_ansible_fills_the_same_document() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().unwrap();
    let mark = place.path().join("ran");
    let script = place.path().join("script.fact");
    std::fs::write(&script, format!("#!/bin/sh\ntouch {}\necho '{{\"rack\": 7}}'\n", mark.display())).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(place.path().join("plain.fact"), "[team]\nname = ops\n").unwrap();
    let facts_dir = place.path().to_str().unwrap().to_owned();
    let mut options = Options { ansible: Some(program), facts_dir, ..Options::new("/") };

    let document = gather_via_ansible(&options).unwrap();
    assert_eq!(document.gathered_by, "ansible");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(document.fact("kernel").unwrap(), kernel.trim());
    assert!(document.fact("python_version").is_some(), "this is Ansible's word");
    assert!(document.fact("env").is_none(), "the environment is left out");
    assert!(document.plumbline_facts.contains_key("cgroup"), "what Ansible does not know is added");
    assert_eq!(document.fact("local").unwrap(), &serde_json::json!({"plain": {"team": {"name": "ops"}}}));
    assert!(!mark.exists(), "no collector runs without leave");

    options.run_collectors = true;
    let document = gather_via_ansible(&options).unwrap();
    assert_eq!(document.fact("local").unwrap()["script"], serde_json::json!({"rack": 7}));
    assert!(mark.exists());
}

#[test]
fn a_machine_without_ansible_says_so() {
    let place = tempfile::tempdir().unwrap();
    let error = gather_via_ansible(&Options::new(place.path())).unwrap_err().to_string();
    assert!(error.starts_with("no program `ansible` in the usual directories below "), "{error}");
    let options = Options { ansible: Some("/there/is/none".into()), ..Options::new("/") };
    let error = gather_via_ansible(&options).unwrap_err().to_string();
    assert!(error.starts_with("failed to run /there/is/none: "), "{error}");
}
