//! The profile `network-policy`: its suite against simulated clusters, and recorded results of a
//! real one. The end-to-end tests run it against real networks.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::bed::{Bed, Done};
use crate::suites::{profile, program, run, tests};

const NAME: &str = "network-policy";

/// The first test: without a policy, all connections work.
const CONTROL: &str = "no policy: all connections are allowed";

/// Writes a program for the profile that runs this script. In it, `$report` is the file for items.
fn script(bed: &Bed, text: &str) -> OsString {
    let find = "for argument; do case $argument in --results=*) report=${argument#--results=} ;; esac; done";
    let path = bed.write("suite.sh", &format!("#!/bin/sh\n{find}\n{text}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.into()
}

/// Runs a mode with the suite, against a simulated cluster: in `allow`, all connections work, and
/// in `fail`, no probe does.
fn simulated(bed: &Bed, suite: &OsString, cluster: &str, more: &[&str]) -> Done {
    let suite = suite.to_str().unwrap();
    let wrapped = script(bed, &format!("exec '{suite}' \"$@\" --mock={cluster} --wait=0s --retries=0"));
    run(bed, NAME, &wrapped, more)
}

/// Returns a script that leaves a recorded report, without the lines that match `left_out`.
fn recorded(bed: &Bed, case: &str, left_out: &str, after: &str) -> OsString {
    let report = format!("{}/tests/{case}/results/global/network-policy.jsonl", profile(NAME));
    assert!(Path::new(&report).is_file(), "{report}");
    script(bed, &format!("grep -v '{left_out}' '{report}' >\"$report\"\n{after}"))
}

#[test]
fn a_network_that_enforces_nothing_fails_with_the_right_tests() {
    let Some(suite) = program("PLUMBLINE_NETWORK_POLICY") else { return };
    let bed = Bed::new();
    let done = simulated(&bed, &suite, "allow", &["--mode", "quick"]).expect(1);
    assert!(done.err.contains("NetworkPolicy v0.5.6, mode `quick`, 5 required tests"), "{}", done.err);
    assert_eq!(tests(&bed, NAME, "passed"), [CONTROL]);
    assert_eq!(tests(&bed, NAME, "failed").len(), 7);
    let tree = bed.member("plugins/network-policy/sonobuoy_results.yaml");
    assert!(tree.contains("y/a -> x/a TCP/80: expected blocked, got allowed"), "{tree}");
    // Tests of policies that allow everything pass, and are not enough in any mode.
    fs::remove_dir_all(bed.path("out")).unwrap();
    let harmless = ["--set", "tests=should support allow-all policy"];
    simulated(&bed, &suite, "allow", &[&harmless[..], &["--mode", "full"]].concat()).expect(3);
    assert!(tests(&bed, NAME, "failed").is_empty());
}

#[test]
fn all_tests_of_the_suite_are_in_the_list_and_run() {
    let Some(suite) = program("PLUMBLINE_NETWORK_POLICY") else { return };
    let bed = Bed::new();
    simulated(&bed, &suite, "allow", &["--mode", "full", "--set", "protocols=TCP"]).expect(1);
    let mut reported: Vec<String> =
        ["passed", "failed", "skipped", "unknown"].iter().flat_map(|status| tests(&bed, NAME, status)).collect();
    reported.sort();
    let listed = bed.plumbline(&["conformance", "tests", &profile(NAME)]).expect(0).out;
    let mut listed: Vec<&str> = listed.lines().collect();
    listed.sort_unstable();
    assert_eq!(reported, listed);
    // The program prints the same names, for `conformance tests --input image`.
    let printed = Command::new(&suite).arg("--list").output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let mut printed: Vec<&str> = printed.lines().collect();
    printed.sort_unstable();
    printed.dedup();
    assert_eq!(printed, listed);
}

#[test]
fn failed_tests_run_again_after_the_first_test() {
    let Some(suite) = program("PLUMBLINE_NETWORK_POLICY") else { return };
    let bed = Bed::new();
    let focus = ["--mode", "selection", "--set", "focus=^egress: allow all$|^Create/delete policy$"];
    simulated(&bed, &suite, "allow", &[&focus[..], &["--retry-failed", "1"]].concat()).expect(1);
    let failed = tests(&bed, NAME, "failed");
    assert!(!failed.is_empty(), "{failed:?}");
    assert_eq!(tests(&bed, "network-policy-retry-1", "failed"), failed);
    let archive = bed.archive();
    fs::rename(&archive, bed.path("before.tar.gz")).unwrap();
    // The default mode leaves out tests with some tags, and a rerun does not.
    simulated(&bed, &suite, "allow", &["--rerun-failed", "before.tar.gz"]).expect(1);
    assert_eq!((tests(&bed, NAME, "failed"), tests(&bed, NAME, "passed")), (failed, vec![CONTROL.to_owned()]));
    let missing = ["--mode", "selection", "--set", "focus=egress: alow all"];
    let done = simulated(&bed, &suite, "allow", &missing).expect(2);
    assert!(done.err.contains("no test selected"), "{}", done.err);
}

#[test]
fn probes_that_do_not_run_are_never_green() {
    let Some(suite) = program("PLUMBLINE_NETWORK_POLICY") else { return };
    let bed = Bed::new();
    // Every connection looks blocked, as most tests expect.
    let done = simulated(&bed, &suite, "fail", &["--mode", "selection"]).expect(1);
    assert!(tests(&bed, NAME, "passed").is_empty(), "{}", done.out);
    assert_eq!(tests(&bed, NAME, "failed"), [CONTROL]);
    assert_eq!(tests(&bed, NAME, "unknown"), ["tests of policies"]);
}

#[test]
fn a_selection_without_tests_and_a_cluster_that_is_not_there_are_never_green() {
    let Some(suite) = program("PLUMBLINE_NETWORK_POLICY") else { return };
    let bed = Bed::new();
    let mode = ["--mode", "selection"];
    for (set, error) in [
        ("tests=no such test", "no test has the name"),
        ("tags=no-such-tag", "invalid tags"),
        ("exclude-tags=ingress,egress,rule,action,target,port,peer-pods,miscellaneous,direction", "no test matches"),
    ] {
        simulated(&bed, &suite, "allow", &[&mode[..], &["--set", set]].concat()).expect(1);
        assert_eq!(tests(&bed, NAME, "unknown"), ["selection of tests"], "{set}");
        let log = bed.member("plugins/network-policy/results/global/network-policy.log");
        assert!(log.contains(error), "{set}: {log}");
        fs::remove_dir_all(bed.path("out")).unwrap();
    }
    let kubeconfig = bed.write(
        "kubeconfig",
        "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], \
         contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}]}",
    );
    let wrapped =
        script(&bed, &format!("KUBECONFIG='{}' exec '{}' \"$@\"", kubeconfig.display(), suite.to_str().unwrap()));
    run(&bed, NAME, &wrapped, &mode).expect(1);
    assert_eq!(tests(&bed, NAME, "unknown"), ["connection to the cluster"]);
    assert!(bed.member("plugins/network-policy/sonobuoy_results.yaml").contains("127.0.0.1:1"));
}

#[test]
fn recorded_results_of_a_network_with_kube_router_pass() {
    let bed = Bed::new();
    let suite = recorded(&bed, "kube-router", "nothing is left out", "");
    run(&bed, NAME, &suite, &["--mode", "quick", "--submission-dir", "sub"]).expect(0);
    assert_eq!(tests(&bed, NAME, "passed").len(), 8);
    assert!(bed.path("sub/network-policy.jsonl").exists() && bed.path("sub/network-policy.log").exists());
}

#[test]
fn a_suite_that_does_not_finish_is_never_green() {
    for (left_out, after, code, expected) in [
        ("ingress: deny all", "", 3, "REQUIRED-002"),
        (CONTROL, "", 3, "REQUIRED-001"),
        ("nothing is left out", "exit 137", 1, "137"),
        ("nothing is left out", "printf '{\"depth\":0,\"na' >>\"$report\"", 3, "unknown"),
        ("depth", "exit 0", 1, "code 70"),
    ] {
        let bed = Bed::new();
        let suite = recorded(&bed, "kube-router", left_out, after);
        let done = run(&bed, NAME, &suite, &["--mode", "quick"]).expect(code);
        assert!(done.out.contains(expected), "{left_out}, {after}: {}", done.out);
    }
    let bed = Bed::new();
    run(&bed, NAME, &script(&bed, "exit 0"), &["--mode", "selection"]).expect(1);
}

#[test]
fn the_golden_cases_hold() {
    let bed = Bed::new();
    bed.plumbline(&["plugin", "test", &profile(NAME)]).expect(0);
}

#[test]
fn the_tests_of_the_suite_pass() {
    if program("PLUMBLINE_NETWORK_POLICY").is_none() {
        return;
    }
    let suite = format!("{}/suite", profile(NAME));
    let done = Command::new("go").args(["test", "-p=2", "."]).current_dir(suite).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}
