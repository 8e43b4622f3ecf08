//! The binary when it is called as `sonobuoy`.

use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use crate::bed::Bed;

pub(crate) fn sonobuoy(bed: &Bed, args: &[&str]) -> Output {
    let link = bed.path("sonobuoy");
    if !link.exists() {
        symlink(env!("CARGO_BIN_EXE_plumbline"), &link).unwrap();
    }
    Command::new(link).args(args).current_dir(bed.root()).env("HOME", bed.root()).output().unwrap()
}

#[test]
fn errors_have_the_one_code_that_its_callers_know() {
    let bed = Bed::new();
    assert_eq!(sonobuoy(&bed, &["no-such-command"]).status.code(), Some(1));
    assert_eq!(sonobuoy(&bed, &["results", "nobody.tar.gz"]).status.code(), Some(1));
    assert_eq!(sonobuoy(&bed, &["worker", "global", "--level=trace", "-v=6", "--logtostderr"]).status.code(), Some(1));
    assert_eq!(bed.plumbline(&["no-such-command"]).code, 2);
    assert_eq!(bed.plumbline(&["results", "nobody.tar.gz"]).code, 2);
}

#[test]
fn failed_tests_are_not_a_failure_of_the_tool() {
    let bed = Bed::new();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");
    assert_eq!(sonobuoy(&bed, &["results", archive]).status.code(), Some(0));
    assert_eq!(bed.plumbline(&["results", archive]).code, 1);
}

#[test]
fn help_shows_the_name_that_was_called() {
    let bed = Bed::new();
    let help = sonobuoy(&bed, &["results", "--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("sonobuoy results"), "{help}");
}

#[test]
fn plugins_are_installed_as_its_scripts_do() {
    let bed = Bed::new();
    bed.plugin("smoke", "result-format: junit", "true");
    let installed = sonobuoy(&bed, &["plugin", "install", "nightly", "smoke.yaml"]);
    assert_eq!(installed.status.code(), Some(0), "{}", String::from_utf8_lossy(&installed.stderr));
    let text = std::fs::read_to_string(bed.path(".sonobuoy/nightly.yaml")).unwrap();
    assert_eq!(text, std::fs::read_to_string(bed.path("smoke.yaml")).unwrap());
    let list = sonobuoy(&bed, &["plugin", "list"]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("nightly"), "{list:?}");
    // An invalid definition is not installed, and nothing is written outside of the directory.
    bed.write("broken.yaml", "a: [");
    assert_eq!(sonobuoy(&bed, &["plugin", "install", "broken", "broken.yaml"]).status.code(), Some(1));
    assert_eq!(sonobuoy(&bed, &["plugin", "install", "../outside", "smoke.yaml"]).status.code(), Some(1));
    assert!(!bed.path(".sonobuoy/broken.yaml").exists() && !bed.path("outside.yaml").exists());
}
