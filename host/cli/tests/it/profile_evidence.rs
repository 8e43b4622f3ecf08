//! What a run of a profile shows: reruns that did not run, variables of the environment, and bundles
//! that change under a run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::bed::{Bed, wait_for};

const PLUGIN: &str = "\
sonobuoy-config: {driver: Process, plugin-name: t, result-format: junit}
spec: {command: [./run.sh]}
";

const PROFILE: &str = "\
name: t
title: T
version: '1'
options:
- {name: focus, help: Tests to run, type: string, env: FOCUS}
- {name: skip, help: Tests to skip, type: string, env: SKIP}
- {name: home, help: Directory of the tests, type: path, env: TESTS_HOME}
local: {}
modes:
- {name: full, description: All tests, default: true}
selection: {focus: focus, skip: skip}
submission:
- {name: junit.xml, from: plugins/t/results/global/junit.xml}
";

/// Writes the bundle to `t/`, whose suite is this script.
fn profile(bed: &Bed, suite: &str) {
    bed.write("t/plugin.yaml", PLUGIN);
    bed.write("t/profile.yaml", PROFILE);
    run_script(bed, suite);
}

fn run_script(bed: &Bed, suite: &str) {
    let script = bed.write("t/run.sh", &format!("#!/bin/sh\ncd \"$RESULTS_DIR\"\n{suite}\n"));
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
}

const RUN: [&str; 4] = ["conformance", "run", "./t", "--local"];

#[test]
fn a_rerun_passes_only_if_each_failed_test_ran_and_no_failure_counts() {
    let first = "<testsuite name='s'><testcase name='a (1)'><failure/></testcase><testcase name='b'/></testsuite>";
    for (again, code) in [
        ("<testcase name='a (1)'><skipped/></testcase><testcase name='z'/>", 1),
        ("<testcase name='z'/>", 3),
        ("<testcase name='a (1)'><failure/></testcase>", 1),
        ("<testcase name='a (1)'/>", 0),
    ] {
        let bed = Bed::new();
        let report = format!(
            "if [ -n \"$FOCUS\" ]; then echo \"<testsuite name='s'>{again}</testsuite>\" >junit.xml; exit 0; fi
            echo \"{first}\" >junit.xml; exit 1"
        );
        profile(&bed, &report);
        bed.plumbline(&[&RUN[..], &["--dir", "out"]].concat()).expect(1);
        let archive = bed.archive();
        bed.plumbline(&[&RUN[..], &["--dir", "again", "--rerun-failed", &archive]].concat()).expect(code);
        // A baseline excuses a test that ran, and not one that did not.
        let excused = if again.contains("<failure/>") { 0 } else { code };
        let baseline = ["--dir", "more", "--rerun-failed", &archive, "--baseline", &archive];
        bed.plumbline(&[&RUN[..], &baseline].concat()).expect(excused);
    }
}

#[test]
fn the_environment_selects_no_tests() {
    let bed = Bed::new();
    profile(&bed, "echo \"<testsuite name='$FOCUS$SKIP$TESTS_HOME'><testcase name='a'/></testsuite>\" >junit.xml");
    let mut command = bed.command(&[&RUN[..], &["--dir", "out"]].concat());
    command.envs([("FOCUS", "one"), ("SKIP", "two"), ("TESTS_HOME", "/three")]);
    assert!(command.status().unwrap().success());
    // A path may come from the environment.
    assert!(bed.member("plugins/t/results/global/junit.xml").contains("name='/three'"));
    assert!(bed.member("plugins/t/definition.json").contains(r#""unset":["FOCUS","SKIP"]"#));
}

#[test]
fn a_run_is_not_continued_with_another_bundle() {
    let bed = Bed::new();
    profile(&bed, "touch started; sleep 600");
    let run = bed.start("run", &[&RUN[..], &["--dir", "out"]].concat());
    let work = || fs::read_dir(bed.path("out")).ok()?.flatten().map(|entry| entry.path()).next();
    let started = || work().is_some_and(|work| work.join("local/t/global/results/started").exists());
    wait_for("the suite", started);
    run.signal("KILL");
    run.wait();
    run_script(&bed, "echo \"<testsuite name='s'><testcase name='a'/></testsuite>\" >junit.xml");
    let work = work().unwrap();
    let done = bed.plumbline(&["run", "--local", "--continue", work.to_str().unwrap()]).expect(2);
    assert!(done.err.contains("/t` was changed since the run started"), "{}", done.err);
    assert!(bed.archives().is_empty());
}
