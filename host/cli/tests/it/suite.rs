//! The conformance suite: its modes, its definition for each of its options, and what is rejected
//! before anything starts.

use plumbline_app::profiles::modes;
use serde_json::{Value, json};

use crate::attestations::statement;
use crate::bed::{Bed, dev_program};
use crate::generate::{documents, of_kind};
use crate::signing::keygen;

const FAILURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

const VERSION: [&str; 2] = ["--kubernetes-version", "v1.30.2"];

/// The definition that `gen plugin e2e` prints.
fn definition(bed: &Bed, more: &[&str]) -> Value {
    let args = [&["gen", "plugin", "e2e"], more].concat();
    serde_saphyr::from_str(&bed.plumbline(&args).expect(0).out).unwrap()
}

fn variable(definition: &Value, name: &str) -> Option<String> {
    let env = definition["spec"]["env"].as_array().unwrap();
    let found = env.iter().find(|variable| variable["name"] == name)?;
    Some(found["value"].as_str().unwrap().to_owned())
}

#[test]
fn modes_are_explained() {
    let bed = Bed::new();
    insta::assert_snapshot!(bed.plumbline(&["modes"]).expect(0).out);
    let data = bed.plumbline(&["modes", "-o", "json"]).expect(0).out;
    let data: Value = serde_json::from_str(&data).unwrap();
    assert_eq!((&data["modes"][3]["name"], &data["modes"][3]["skip"]), (&"quick".into(), &Value::Null));
    assert!(data["modes"][1]["skip"].as_str().is_some_and(|skip| skip.len() > 1000), "all of it");
    let whole = bed.plumbline(&["modes", "--verbose"]).expect(0).out;
    for mode in modes() {
        let skip = mode.set.get("skip").map(String::as_str).unwrap_or_default();
        assert!(whole.contains(format!("E2E_SKIP: {skip}").trim_end()), "{}", mode.name);
    }
}

#[test]
fn each_mode_has_its_definition() {
    let bed = Bed::new();
    let plain = bed.plumbline(&["gen", "plugin", "e2e"]).expect(0).out;
    let mut text = plain.clone();
    for mode in modes() {
        let made = bed.plumbline(&["gen", "plugin", "e2e", "--mode", &mode.name]).expect(0).out;
        if mode.default {
            assert_eq!(made, plain, "the default mode is what nothing said is");
        }
        let from = made.find("  env:").unwrap();
        text += &format!("--- {}\n{}", mode.name, &made[from..]);
    }
    insta::assert_snapshot!(text);
}

#[test]
fn each_option_has_its_place_in_the_definition() {
    let bed = Bed::new();
    bed.write("repos.yaml", "gcRegistry: mirror.example.org/gcr\n");
    bed.write("docker.json", r#"{"auths": {}}"#);
    bed.write("id", "a key");
    let cases: [&[&str]; 11] = [
        &["--e2e-focus", "sig-network", "--e2e-skip", ""],
        &["--e2e-skip", "Slow"],
        &["--e2e-parallel", "true"],
        &["--e2e-repo", "mirror.example.org"],
        &["--e2e-repo-config", "repos.yaml"],
        &["--e2e-docker-config-file", "docker.json", "--kubernetes-version", "v1.27.0"],
        &["--ssh-key", "id", "--ssh-user", "core"],
        &["--e2e-dry-run"],
        &["--e2e-extra-args", "--node-os-distro=windows --a", "--e2e-extra-args=--b"],
        &["--plugin-env", "e2e.E2E_EXTRA_ARGS=--mine", "--plugin-env", "e2e.E2E_SKIP="],
        &["--kube-conformance-image", "mirror.example.org/conformance:v9", "--show-default-podspec"],
    ];
    let plain: Vec<String> =
        bed.plumbline(&["gen", "plugin", "e2e"]).expect(0).out.lines().map(str::to_owned).collect();
    let mut text = String::new();
    for args in cases {
        let made = bed.plumbline(&[&["gen", "plugin", "e2e"], args].concat()).expect(0).out;
        let lines: Vec<String> = made.lines().map(str::to_owned).collect();
        text += &format!("$ plumbline gen plugin e2e {}\n", args.join(" "));
        // The differences from the definition without options.
        text.extend(plain.iter().filter(|line| !lines.contains(line)).map(|line| format!("-{line}\n")));
        text.extend(lines.iter().filter(|line| !plain.contains(line)).map(|line| format!("+{line}\n")));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_focus_of_a_rerun_is_what_failed() {
    let bed = Bed::new();
    let made = definition(&bed, &["--rerun-failed", FAILURES]);
    assert_eq!(
        variable(&made, "E2E_FOCUS").unwrap(),
        r"\[sig-scheduling\] SchedulerPreemption \[Serial\] validates basic preemption works \[Conformance\]|\[sig-apps\] Daemon set \[Serial\] should rollback without unnecessary restarts \[Conformance\]|\[sig-scheduling\] SchedulerPreemption \[Serial\] validates lower priority pod preemption by critical pod \[Conformance\]|\[sig-scheduling\] SchedulerPredicates \[Serial\] validates resource limits of pods that are allowed to run  \[Conformance\]"
    );
    assert_eq!(variable(&made, "E2E_SKIP"), None, "what failed is not left out again");
}

/// In parallel and without a skip, the image omits serial tests, so reruns are not parallel.
#[test]
fn failed_tests_are_rerun_one_after_the_other() {
    let bed = Bed::new();
    let side_by_side = bed.plumbline(&["gen", "plugin", "e2e", "--e2e-parallel", "true"]).expect(0).out;
    bed.write("e2e.yaml", &side_by_side);
    let again = |more: &[&str]| {
        let args = [&["gen", "-p", "e2e.yaml", "--rerun-failed", FAILURES], &VERSION[..], more].concat();
        bed.plumbline(&args)
    };
    let documents = documents(&again(&[]).expect(0).out);
    let maps = of_kind(&documents, "ConfigMap");
    let suite: Value = serde_saphyr::from_str(maps[1]["data"]["plugin-0.yaml"].as_str().unwrap()).unwrap();
    assert_eq!(variable(&suite, "E2E_PARALLEL"), None);
    let asked = again(&["--e2e-parallel", "true"]).expect(2);
    assert!(asked.err.contains("'--rerun-failed <ARCHIVE>' cannot be used with '--e2e-parallel"), "{}", asked.err);
}

#[test]
fn without_a_plugin_a_run_has_the_suite_and_the_logs_of_nodes() {
    let bed = Bed::new();
    let done = bed.plumbline(&[&["gen", "--mode", "quick"], &VERSION[..]].concat()).expect(0);
    let documents = documents(&done.out);
    let maps = of_kind(&documents, "ConfigMap");
    let plugins: Vec<&String> = maps[1]["data"].as_object().unwrap().keys().collect();
    assert_eq!(plugins, ["plugin-0.yaml", "plugin-1.yaml"]);
    let suite: Value = serde_saphyr::from_str(maps[1]["data"]["plugin-0.yaml"].as_str().unwrap()).unwrap();
    assert_eq!(suite["sonobuoy-config"]["plugin-name"], "e2e");
    assert_eq!(suite["spec"]["image"], "registry.k8s.io/conformance:v1.30.2");
    assert_eq!(variable(&suite, "E2E_FOCUS").unwrap(), "Pods should be submitted and removed");
    assert_eq!(variable(&suite, "SONOBUOY_K8S_VERSION").unwrap(), "v1.30.2");
    assert!(maps[1]["data"]["plugin-1.yaml"].as_str().unwrap().contains("plugin-name: systemd-logs"));
    assert!(done.err.contains(" of the ") && done.err.contains("tests of v1.30.14"), "{}", done.err);
    // These tests need all permissions, because they create and delete objects of every kind.
    let roles = of_kind(&documents, "ClusterRole");
    let powerful = |role: &&Value| role["rules"].to_string().contains(r#""verbs":["*"]"#);
    let names: Vec<_> = roles.into_iter().filter(powerful).map(|role| role["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["sonobuoy-serviceaccount-sonobuoy-plugin-e2e"]);
}

#[test]
fn secrets_stay_out_of_definitions() {
    let bed = Bed::new();
    bed.write("docker.json", r#"{"auths": {"r.example.org": {"auth": "b3BlbiBzZXNhbWU="}}}"#);
    bed.write("id", "a private key");
    let more = ["--e2e-docker-config-file", "docker.json", "--ssh-key", "id", "-p", "e2e"];
    let documents = documents(&bed.plumbline(&[&["gen"], &VERSION[..], &more].concat()).expect(0).out);
    let secrets = of_kind(&documents, "Secret");
    let names: Vec<_> = secrets.iter().map(|secret| secret["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["auth-repo-cred", "ssh-key"]);
    let maps = of_kind(&documents, "ConfigMap");
    let text: String = maps.iter().map(|map| map.to_string()).collect();
    assert!(!text.contains("b3BlbiBzZXNhbWU=") && !text.contains("a private key"), "{text}");
    let suite: Value = serde_saphyr::from_str(maps[1]["data"]["plugin-0.yaml"].as_str().unwrap()).unwrap();
    let args = variable(&suite, "E2E_EXTRA_ARGS").unwrap();
    assert!(
        args.starts_with("--progress-report-url=http://localhost:8099/progress --e2e-docker-config-file=/"),
        "{args}"
    );
    let volumes = suite["extra-volumes"].to_string();
    assert!(
        volumes.contains(r#""secretName":"auth-repo-cred""#) && volumes.contains(r#""secretName":"ssh-key""#),
        "{volumes}"
    );
}

#[test]
fn a_definition_that_was_printed_is_taken_as_it_is() {
    let bed = Bed::new();
    let printed = bed.plumbline(&["gen", "plugin", "e2e", "--mode", "quick", "--e2e-extra-args=--a"]).expect(0).out;
    bed.write("e2e.yaml", &printed);
    let plugin = |args: &[&str]| {
        let documents =
            documents(&bed.plumbline(&[&["gen", "-p", "e2e.yaml"], &VERSION[..], args].concat()).expect(0).out);
        let text = of_kind(&documents, "ConfigMap")[1]["data"]["plugin-0.yaml"].as_str().unwrap().to_owned();
        serde_saphyr::from_str::<Value>(&text).unwrap()
    };
    let kept = plugin(&[]);
    assert_eq!(variable(&kept, "E2E_FOCUS").unwrap(), "Pods should be submitted and removed");
    assert_eq!(variable(&kept, "E2E_EXTRA_ARGS").unwrap(), "--progress-report-url=http://localhost:8099/progress --a");
    let more = plugin(&["--plugin-env", "e2e.E2E_EXTRA_ARGS=--b"]);
    assert_eq!(
        variable(&more, "E2E_EXTRA_ARGS").unwrap(),
        "--progress-report-url=http://localhost:8099/progress --a --b"
    );
}

#[test]
fn invalid_settings_of_the_suite_are_rejected() {
    let bed = Bed::new();
    bed.write("docker.json", "{}");
    bed.write("empty.yaml", "{}\n");
    bed.write("lists/v1.99.0", "[sig-a] one\n[sig-a] two\n");
    bed.write("smoke.yaml", "sonobuoy-config: {driver: Job, plugin-name: smoke}\nspec: {image: i}\n");
    let cases: [&[&str]; 17] = [
        &["gen", "--mode", "quik"],
        &["gen", "--mode", "quick", "--e2e-focus", "a"],
        &["gen", "--rerun-failed", "a.tar.gz", "--mode", "quick"],
        &["gen", "--e2e-repo", "a", "--e2e-repo-config", "empty.yaml"],
        &["gen", "--e2e-repo-config", "empty.yaml"],
        &["gen", "-p", "smoke.yaml", "--mode", "quick"],
        &["gen", "-p", "smoke.yaml", "--systemd-logs-image", "i"],
        &["run", "--local", "-p", "host-facts", "--mode", "quick"],
        &["run", "-f", "manifest.yaml", "--mode", "quick"],
        &["run", "-f", "manifest.yaml", "--registry", "lan:5000/mirror"],
        &["gen", "--e2e-focus", "[sig-network"],
        &["gen", "--e2e-focus", "sig-netwrok Services should serve"],
        &["gen", "--e2e-lists", "lists", "--e2e-focus", "three", "--kubernetes-version", "v1.99.0"],
        &["gen", "--e2e-lists", "nowhere"],
        &["gen", "--e2e-docker-config-file", "docker.json", "--kubernetes-version", "v1.26.3"],
        &["gen", "--rerun-failed", "nowhere.tar.gz"],
        &["gen", "plugin", "host-facts", "--mode", "quick"],
    ];
    let mut report = String::new();
    for args in cases {
        let version =
            if args[0] == "gen" && !args.contains(&VERSION[0]) && args[1] != "plugin" { &VERSION[..] } else { &[] };
        let done = bed.plumbline(&[args, version].concat());
        assert!(done.out.is_empty(), "{args:?}: {}", done.out);
        report += &format!("$ plumbline {}\nexit code: {}\n{}\n", args.join(" "), done.code, done.err);
    }
    insta::assert_snapshot!(report);
}

#[test]
fn lists_of_ones_own_say_what_is_chosen() {
    let bed = Bed::new();
    bed.write("lists/v1.99.0", "[sig-a] one [Conformance]\n[sig-a] two\n");
    let args = ["gen", "-p", "e2e", "--e2e-lists", "lists", "--kubernetes-version", "v1.99.0"];
    let done = bed.plumbline(&args).expect(0);
    assert!(done.err.contains("selected 1 of the 2 tests of v1.99.0"), "{}", done.err);
    // Another image may have tests that are not in the list.
    let other = ["--kube-conformance-image", "example.org/own:v1", "--e2e-focus", "mine"];
    let done = bed.plumbline(&[&args[..], &other].concat()).expect(0);
    assert!(done.err.contains("the image may have other tests"), "{}", done.err);
}

#[test]
fn a_newer_version_is_checked_with_the_newest_list_and_a_way_to_the_real_one() {
    let bed = Bed::new();
    let done = bed.plumbline(&["gen", "-p", "e2e", "--e2e-focus", "DNS", "--kubernetes-version", "v1.99.0"]).expect(0);
    assert!(
        done.err.contains("no list of the tests of v1.99.0 in this program: using that of v1.37.2"),
        "{}",
        done.err
    );
    assert!(done.err.contains("conformance tests --input image") && done.err.contains("--e2e-lists"), "{}", done.err);
}

/// Writes the definition that the options make, as a process on this machine with the stand-in for
/// the suite's image.
fn played(bed: &Bed, options: &[&str], more: &[(&str, &str)]) {
    let mut definition = definition(bed, options);
    definition["sonobuoy-config"]["driver"] = "Process".into();
    let spec = definition["spec"].as_object_mut().unwrap();
    spec.remove("image");
    spec.insert("command".to_owned(), json!([dev_program(), "suite"]));
    let env = spec["env"].as_array_mut().unwrap();
    // No worker listens at this address here, and a worker of another test must not get the
    // messages.
    env.retain(|variable| variable["name"] != "E2E_EXTRA_ARGS");
    let given = [("FAKE_E2E_LIST_VERSION", "v1.30.14"), ("FAKE_E2E_TEST_TIME", "0s")];
    env.extend(given.iter().chain(more).map(|(name, value)| json!({"name": name, "value": value})));
    bed.write("e2e.yaml", &definition.to_string());
}

/// The names and statuses of the tests that ran.
fn outcomes(bed: &Bed, archive: &str) -> Vec<(String, String)> {
    let printed = bed.plumbline(&["results", archive, "-p", "e2e", "-o", "json"]).out;
    let trees: Value = serde_json::from_str(&printed).unwrap();
    let tree: plumbline_core::Item = serde_json::from_value(trees[0].clone()).unwrap();
    let run = tree.leaves().filter(|leaf| leaf.status.as_str() != "skipped" && leaf.name.contains("[sig-"));
    run.map(|leaf| (leaf.name.clone(), leaf.status.as_str().to_owned())).collect()
}

#[test]
fn the_configured_suite_runs_and_its_failures_are_rerun() {
    let (bed, again) = (Bed::new(), Bed::new());
    played(&bed, &["--mode", "certified-conformance"], &[("FAKE_E2E_FAIL", "should (not )?be submitted and removed")]);
    bed.run(&["e2e"], &[]).expect(1);
    let archive = bed.archive();
    let first = outcomes(&bed, &archive);
    assert_eq!(first.len(), 402, "the conformance tests of v1.30");
    let failed: Vec<_> = first.iter().filter(|(_, status)| status == "failed").map(|(name, _)| name.clone()).collect();
    assert!(!failed.is_empty() && failed.len() < 10, "{failed:?}");

    played(&again, &["--rerun-failed", &archive], &[]);
    again.run(&["e2e"], &[]).expect(0);
    let second = outcomes(&again, &again.archive());
    let plain = |name: &str| name.trim_start_matches("[It] ").to_owned();
    let names = |all: Vec<String>| all.iter().map(|name| plain(name)).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(names(second.into_iter().map(|(name, _)| name).collect()), names(failed), "these, and no others");
    // A run without failures has nothing to rerun.
    let nothing = bed.plumbline(&["gen", "plugin", "e2e", "--rerun-failed", &again.archive()]).expect(2);
    assert!(nothing.err.contains("no test failed"), "{}", nothing.err);
}

#[test]
fn a_dry_run_of_the_suite_has_nothing_to_judge() {
    for judges in [&["--known-failures", "known.yaml"][..], &[]] {
        let bed = Bed::new();
        keygen(&bed, "release");
        bed.write("known.yaml", "- {pattern: c, reason: known}\n");
        played(&bed, &["--mode", "certified-conformance", "--e2e-dry-run"], &[]);
        let done = bed.run(&["e2e"], &[judges, &["--sign", "release.key"]].concat());
        assert!(matches!(done.code, 3 | 5), "{judges:?}: {} {}", done.code, done.err);
        let archive = bed.archive();
        assert!(outcomes(&bed, &archive).is_empty(), "no test ran");
        let report = bed.plumbline(&["results", &archive, "-p", "e2e"]);
        assert!(report.out.contains("Total: 7203\nPassed: 0\nFailed: 0\nSkipped: 7203\n"), "{}", report.out);
        assert_ne!(report.code, 0, "{judges:?}");
        let predicate = &statement(&bed, &archive)["predicate"];
        assert_eq!((&predicate["result"], &predicate["passedTests"]), (&json!("FAILED"), &json!([])), "{judges:?}");
    }
}

#[test]
fn an_archive_without_results_of_the_suite_has_nothing_to_run_again() {
    let bed = Bed::new();
    for (dir, tree) in [
        ("empty", "name: e2e\nstatus: unknown\n"),
        (
            "lost",
            "name: e2e\nstatus: failed\nitems:\n- {name: timed out, status: timeout, meta: {file: errors/global/error.json}}\n",
        ),
    ] {
        bed.write(&format!("{dir}/meta/info.json"), r#"{"plugins": ["e2e"]}"#);
        bed.write(&format!("{dir}/plugins/e2e/sonobuoy_results.yaml"), tree);
        let done = bed.plumbline(&["gen", "plugin", "e2e", "--rerun-failed", dir]).expect(2);
        assert!(
            done.err.contains(&format!("archive `{dir}` has no results of `e2e`: no test in it ran")),
            "{}",
            done.err
        );
    }
}
