//! What a run of a profile shows: reruns that did not run, variables of the environment, and bundles
//! that change under a run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

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
fn results_of_a_run_with_reruns_judge_the_plugin_that_the_run_judged() {
    let bed = Bed::new();
    profile(
        &bed,
        "[ -n \"$FOCUS\" ] || broken='<failure/>'
        echo \"<testsuite name='s'><testcase name='a'>$broken</testcase><testcase name='b'/></testsuite>\" >junit.xml",
    );
    bed.plumbline(&[&RUN[..], &["--dir", "out", "--retry-failed", "1"]].concat());
    assert!(bed.member("plugins/t-retry-1/results/global/junit.xml").contains("name='a'"));
    let again = bed.plumbline(&["results", &bed.archive(), "--required-tests", "b"]);
    assert!(again.code != 2 && !again.err.contains("--judge-plugin"), "{}", again.err);
}

const IN_CLUSTER: &str = "\
sonobuoy-config: {driver: Job, plugin-name: t, result-format: junit}
spec: {name: suite, image: r.example/t:1, command: [/run.sh], env: [{name: SKIP, value: slow}]}
";

#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_failed_tests_run_again_with_a_baseline_and_images_of_a_mirror() {
    let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
    let plumbline = |args: &[&str]| tokio::task::block_in_place(|| bed.plumbline(args));
    let report = "<testsuite name='s'><testcase name='a (1)'><failure/></testcase><testcase name='b'/></testsuite>";
    profile(&bed, &format!("echo \"{report}\" >junit.xml; exit 1"));
    plumbline(&[&RUN[..], &["--dir", "out"]].concat()).expect(1);
    let archive = bed.archive();
    bed.write("t/plugin.yaml", IN_CLUSTER);
    let kubeconfig = bed.write("kubeconfig", &double.kubeconfig());
    let run = ["conformance", "run", "./t", "--wait=0", "--kubeconfig", kubeconfig.to_str().unwrap()];
    let again = ["--rerun-failed", &archive, "--baseline", &archive, "--retry-failed", "1", "--registry", "lan.test:1"];
    plumbline(&[&run[..], &again].concat()).expect(0);
    let plugins = double.get("configmaps", "sonobuoy", "sonobuoy-plugins-cm").unwrap();
    let plugins: Vec<Value> = plugins["data"]
        .as_object()
        .unwrap()
        .values()
        .map(|text| serde_saphyr::from_str(text.as_str().unwrap()).unwrap())
        .collect();
    let named = |name: &str| plugins.iter().find(|one| one["sonobuoy-config"]["plugin-name"] == name).unwrap();
    let (suite, retry) = (named("t"), named("t-retry-1"));
    for plugin in [suite, retry] {
        assert_eq!(plugin["spec"]["image"], "lan.test:1/t:1");
        // The definition skips tests, which may have failed.
        let env = plugin["spec"]["env"].as_array().unwrap();
        assert!(env.contains(&json!({"name": "FOCUS", "value": r"a \(1\)"})), "{env:?}");
        assert!(env.iter().all(|variable| variable["name"] != "SKIP"), "{env:?}");
    }
    let chain: Vec<_> = suite["plumbline"]["verdict"].as_array().unwrap().iter().map(|one| &one["judge"]).collect();
    assert!(["baseline", "checks", "reruns"].iter().all(|judge| chain.contains(&&json!(judge))), "{chain:?}");
    let reruns = &retry["plumbline"]["reruns"];
    assert_eq!((&reruns["plugin"], &reruns["focus"]), (&json!("t"), &json!("FOCUS")));
    assert_eq!(reruns["clear"], json!(["SKIP"]));
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
