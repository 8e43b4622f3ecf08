//! Profiles of suites: what commands show of them, what a run sets, and what is rejected before a
//! run starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use plumbline_app::Context;
use plumbline_app::attest::{SubmittedSuite, attest_folder};
use plumbline_app::context::Silent;
use plumbline_app::signing::signing_key;
use plumbline_dev::ApiDouble;
use serde_json::{Value, json};

use crate::bed::{Bed, Done};
use crate::signing::keygen;

/// A suite with one test per word in its variable `TESTS`. A word that begins with `-` fails.
const RUN: &str = r#"#!/bin/sh
[ "${CRASH:-false}" = false ] || { echo "panic: nil pointer" >&2; exit 2; }
[ "${SILENT:-false}" = false ] || exit 0
{
    echo "<testsuite name='toy'>"
    for test in $TESTS; do
        case $test in
        -*) echo "<testcase name='${test#-}'><failure message='broken'/></testcase>" ;;
        *) echo "<testcase name='$test'/>" ;;
        esac
    done
    echo "</testsuite>"
} >"$RESULTS_DIR/junit.xml"
echo "args: $*; password: $PASSWORD; file: $(cat "$SONOBUOY_CONFIG_DIR/parameters.yaml" 2>/dev/null)" >"$RESULTS_DIR/seen.txt"
"#;

const PLUGIN: &str = "\
sonobuoy-config: {driver: Job, plugin-name: toy, description: A toy, result-format: junit, result-files: [junit.xml]}
spec: {name: suite, image: r.example/toy:1, command: [/run.sh]}
";

const PROFILE: &str = "\
name: toy
title: Toy suite
description: Tests toys.
version: {option: spec}
local: {command: [./run.sh]}
options:
- {name: spec, help: Version of toys, type: enum, values: ['1', '2'], default: '2', env: SPEC}
- {name: names, help: Tests to run, type: string, required: true, env: TESTS}
- {name: retries, help: Number of attempts, type: integer, default: 1, arg: '--retries={value}'}
- {name: crash, help: Crash at the start, type: bool, env: CRASH}
- {name: silent, help: Write no report, type: bool, env: SILENT}
- {name: parameters, help: Parameters of toys, type: file, file: parameters.yaml}
- {name: password, help: Password of toys, type: string, secret: true, env: PASSWORD}
- {name: image, help: Image with the suite, type: string, image: true}
- {name: tool, help: Tool of the suite, type: path, env: TOOL}
modes:
- {name: full, description: All tests, default: true, required: 'lists/required-{version}.txt'}
- {name: quick, description: One test, set: {names: ball, retries: 3}}
tests: lists/tests.txt
submission:
- {name: junit.xml, from: plugins/toy/results/global/junit.xml}
";

/// Writes the bundle to `toy/`.
fn toy(bed: &Bed) {
    bed.write("toy/plugin.yaml", PLUGIN);
    bed.write("toy/profile.yaml", PROFILE);
    bed.write("toy/lists/tests.txt", "ball\nkite\ntop\n");
    bed.write("toy/lists/required-1.txt", "ball\n");
    bed.write("toy/lists/required-2.txt", "ball\nkite\n");
    let script = bed.write("toy/run.sh", RUN);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
}

fn local(bed: &Bed, more: &[&str]) -> Done {
    let args = [&["conformance", "run", "./toy", "--local", "--dir", "out"], more].concat();
    bed.plumbline(&args)
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

#[test]
fn profiles_are_listed_and_shown() {
    let bed = Bed::new();
    toy(&bed);
    let next = bed.plumbline(&["plugin", "install", "toy"]).expect(0).err;
    assert!(next.contains("next: `plumbline conformance show toy`"), "{next}");
    insta::assert_snapshot!("list", bed.plumbline(&["conformance", "list"]).expect(0).out);
    let all = json(&bed.plumbline(&["conformance", "list", "-o", "json"]).expect(0));
    let names: Vec<_> = all["profiles"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["kubernetes", "toy"]);
    assert_eq!((&all["profiles"][1]["version"], &all["profiles"][1]["local"]), (&json!("2"), &json!(true)));

    let shown = bed.plumbline(&["conformance", "show", "toy"]).expect(0).out;
    let shown: String =
        shown.lines().filter(|line| !line.starts_with("origin:")).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!("show", shown);
    let data = json(&bed.plumbline(&["conformance", "show", "./toy", "-o", "json"]).expect(0));
    assert_eq!((&data["options"][2]["type"], &data["options"][2]["default"]), (&json!("integer"), &json!("1")));
    assert_eq!(data["places"], json!(["local", "cluster"]));
    let kubernetes = bed.plumbline(&["conformance", "show", "kubernetes"]).expect(0).out;
    assert!(kubernetes.contains("--e2e-focus REGEX") && kubernetes.contains("certified-conformance"), "{kubernetes}");
    let data = json(&bed.plumbline(&["conformance", "show", "kubernetes", "-o", "json"]).expect(0));
    assert_eq!((data["modes"].as_array().unwrap().len(), &data["options"][0]["name"]), (4, &json!("focus")));
    assert_eq!((&data["origin"], &data["version"], &data["local"]), (&json!("built-in"), &Value::Null, &json!(false)));
    assert!(bed.plumbline(&["plugin", "show", "toy"]).expect(0).out.contains("profile:     Toy suite"));
    assert_eq!(
        json(&bed.plumbline(&["plugin", "show", "toy", "-o", "json"]).expect(0))["bundle"]["profile"]["suite"],
        "Toy suite"
    );
}

#[test]
fn every_profile_of_the_repository_is_installed_and_listed() {
    // Two of them have components.
    if !crate::ai_conformance::is_built() {
        return;
    }
    let bed = Bed::new();
    crate::check_languages::plumbline(&bed, &["plugin", "build", &crate::suites::profile("gateway-api")]).expect(0);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/profiles");
    let mut dirs: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    dirs.sort();
    let names: Vec<_> = dirs.iter().map(|dir| dir.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["ai-conformance", "csi", "gateway-api", "network-policy", "oci-distribution"]);
    for dir in &dirs {
        bed.plumbline(&["plugin", "install", dir.to_str().unwrap()]).expect(0);
    }
    let listed = json(&bed.plumbline(&["conformance", "list", "-o", "json"]).expect(0));
    let listed: Vec<_> = listed["profiles"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    let expected: Vec<_> = ["kubernetes"].into_iter().chain(names.iter().map(String::as_str)).collect();
    assert_eq!(listed, expected);
    for name in &names {
        assert!(!bed.plumbline(&["conformance", "tests", name]).expect(0).out.is_empty(), "{name}");
    }
    let images =
        |name: &str| bed.plumbline(&["images", "list", "-p", name, "--image", "r.example/plumbline:1"]).expect(0).out;
    assert!(images("network-policy").contains("registry.k8s.io/e2e-test-images/agnhost:2.43"));
    assert!(images("gateway-api").contains("registry.k8s.io/gateway-api/echo-basic:v1.5.1"));
}

#[test]
fn the_help_of_a_run_has_the_options_of_its_profile() {
    let bed = Bed::new();
    toy(&bed);
    let help = |profile: &[&str]| bed.plumbline(&[&["conformance", "run"], profile, &["--help"]].concat()).expect(0);
    let of_toy = help(&["./toy"]).out;
    assert!(of_toy.contains("\nProfile `toy`") && of_toy.contains("Tests to run"), "{of_toy}");
    assert!(of_toy.contains("quick") && of_toy.contains("--submission-dir"), "{of_toy}");
    assert!(help(&["kubernetes"]).out.contains("Take the images of all tests from this registry"));
    for other in [&[][..], &["./nothing"], &["oci://localhost:1/toy:1"]] {
        let done = help(other);
        assert!(!done.out.contains("\nProfile `") && done.err.is_empty(), "{other:?}: {}{}", done.out, done.err);
    }
}

#[test]
fn the_tests_of_a_profile_are_listed() {
    let bed = Bed::new();
    toy(&bed);
    assert_eq!(bed.plumbline(&["conformance", "tests", "./toy"]).expect(0).out, "ball\nkite\ntop\n");
    assert_eq!(bed.plumbline(&["conformance", "tests", "./toy", "--focus", "^k"]).expect(0).out, "kite\n");
    let stderr = bed.plumbline(&["conformance", "tests", "./toy", "--focus", "bal$"]).expect(2).err;
    assert!(stderr.contains("selects none"), "{stderr}");
    let rejected = |input: &str| bed.plumbline(&["conformance", "tests", "./toy", "--input", input]).expect(2).err;
    assert!(rejected("online").contains("`--input online` is for the tests of Kubernetes"));
    assert!(rejected("image").contains("no program in the image of profile `toy` prints its tests"));
}

#[test]
fn a_suite_runs_on_this_machine_and_passes() {
    let bed = Bed::new();
    toy(&bed);
    bed.write("secret.txt", "s3cret\n");
    bed.write("p.yaml", "size: 1\n");
    let done = local(
        &bed,
        &[
            "--set",
            "names=ball kite",
            "--set",
            "retries=5",
            "--set-file",
            "password=secret.txt",
            "--set-file",
            "parameters=p.yaml",
        ],
    )
    .expect(0);
    assert!(done.err.contains("profile `toy`: Toy suite 2, mode `full`, 2 required tests"), "{}", done.err);
    let seen = bed.member("plugins/toy/results/global/seen.txt");
    assert_eq!(seen, "args: --retries=5; password: s3cret; file: size: 1\n");
    // The value of a secret is nowhere else in the archive.
    let definition = bed.member("plugins/toy/definition.json");
    assert!(!definition.contains("s3cret") && definition.contains("toy.password"), "{definition}");
    assert!(!bed.member("meta/run.log").contains("s3cret"));
}

#[test]
fn a_run_without_the_required_tests_does_not_pass() {
    let bed = Bed::new();
    toy(&bed);
    // All tests that ran passed, but a required one did not run.
    let done = local(&bed, &["--set", "names=ball top"]).expect(3);
    assert!(done.out.contains("kite"), "{}", done.out);
    // Another version requires less.
    local(&bed, &["--set", "names=ball top", "--set", "spec=1"]).expect(0);
    local(&bed, &["--mode", "quick"]).expect(0);
    assert!(local(&bed, &["--set", "names=ball -kite"]).expect(1).out.contains("kite"));
}

#[test]
fn a_suite_that_crashes_or_selects_nothing_is_never_green() {
    let bed = Bed::new();
    toy(&bed);
    for (set, codes) in [("crash=true", [1, 3]), ("silent=true", [3, 3]), ("names=", [3, 5])] {
        let done = local(&bed, &["--mode", "quick", "--set", set]);
        assert!(codes.contains(&done.code), "{set}: {} {}", done.code, done.out);
    }
}

#[test]
fn what_is_submitted_is_copied_after_a_run_that_passed() {
    let bed = Bed::new();
    toy(&bed);
    let submit = |name: &str| local(&bed, &["--submission-dir", "sub", "--set", name]);
    let failed = submit("names=ball -kite").expect(1);
    assert!(failed.err.contains("the run did not pass, so nothing was submitted"), "{}", failed.err);
    assert!(!bed.path("sub").exists());
    // The verdict decides, not the exit code.
    let compat = local(&bed, &["--exit-code", "compat", "--submission-dir", "sub", "--set", "names=ball -kite"]);
    assert!(compat.expect(0).err.contains("the run did not pass, so nothing was submitted"));
    assert!(!bed.path("sub").exists());
    let done = submit("names=ball kite").expect(0);
    assert!(done.err.contains("submission: sub (junit.xml)"), "{}", done.err);
    assert!(fs::read_to_string(bed.path("sub/junit.xml")).unwrap().contains("testcase name='kite'"));
    assert!(submit("names=ball kite").expect(2).err.contains("`sub` exists"));
}

#[test]
fn results_are_submitted_of_one_mode_if_the_profile_says_so() {
    let bed = Bed::new();
    toy(&bed);
    let marked = PROFILE.replace("set: {names: ball, retries: 3}}", "set: {names: ball, retries: 3}, submit: true}");
    bed.write("toy/profile.yaml", &marked);
    let refused = local(&bed, &["--mode", "full", "--set", "names=ball kite", "--submission-dir", "sub"]).expect(2);
    assert!(
        refused.err.contains("results of the mode `full` are not submitted, only those of `quick`"),
        "{}",
        refused.err
    );
    // Without `--mode`, it is the mode of the run.
    let done = local(&bed, &["--submission-dir", "sub"]).expect(0);
    assert!(done.err.contains("mode `quick`") && bed.path("sub/junit.xml").exists(), "{}", done.err);
    fs::remove_dir_all(bed.path("out")).unwrap();
    local(&bed, &["--set", "names=ball kite"]).expect(0);
    let archive = bed.archive();
    let assemble = ["conformance", "submission", "assemble", "--profile", "./toy", "--archive", &archive, "--dir", "b"];
    let refused = bed.plumbline(&assemble).expect(2);
    assert!(refused.err.contains("its mode is not `quick`"), "{}", refused.err);
}

/// A program in the place of csi-sanity, which passes if it can read the credentials of the driver.
const DRIVER_SUITE: &str = r#"#!/bin/sh
for argument in "$@"; do
    case $argument in
    --csi.secrets=*) file=${argument#*=} ;;
    --ginkgo.junit-report=*) report=${argument#*=} ;;
    esac
done
[ "$(cat "$file")" = "CreateVolumeSecret: {key: s3cret}" ] && [ -z "${CSI_CREDENTIALS:-}" ] || exit 1
printf %s "$file" >"${report%/*}/where.txt"
echo "<testsuite name='CSI'><testcase name='[It] a'/></testsuite>" >"$report"
"#;

#[test]
fn credentials_of_a_storage_driver_reach_its_suite_and_stay_nowhere() {
    let bed = Bed::new();
    let suite = bed.write("csi-sanity", DRIVER_SUITE);
    fs::set_permissions(&suite, fs::Permissions::from_mode(0o755)).unwrap();
    bed.write("credentials.yaml", "CreateVolumeSecret: {key: s3cret}\n");
    let set = ["--mode", "identity", "--set", "endpoint=dns:///driver", "--set-file", "credentials=credentials.yaml"];
    crate::suites::run(&bed, "csi", &suite.into_os_string(), &set).expect(0);
    let written = bed.member("plugins/csi/results/global/where.txt");
    assert!(!written.is_empty() && !std::path::Path::new(&written).exists(), "{written}");
    for member in ["plugins/csi/definition.json", "plugins/csi/results/global/csi-sanity.log", "meta/run.log"] {
        assert!(!bed.member(member).contains("s3cret"), "{member}");
    }
}

/// A profile is the first plugin of its run, and others may follow.
#[test]
fn a_profile_runs_together_with_other_plugins() {
    let bed = Bed::new();
    toy(&bed);
    let script = bed.write("other/run.sh", RUN);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let with = |test: &str| {
        let plugin = PLUGIN.replace("plugin-name: toy", "plugin-name: other").replace("driver: Job", "driver: Process");
        let command = format!("command: [./run.sh], env: [{{name: TESTS, value: {test}}}]");
        let plugin = plugin.replace("image: r.example/toy:1, command: [/run.sh]", &command);
        bed.write("other/plugin.yaml", &plugin);
        local(&bed, &["--mode", "quick", "-p", "./other"])
    };
    with("hoop").expect(0);
    let of = |plugin: &str| bed.member(&format!("plugins/{plugin}/results/global/junit.xml"));
    assert!(of("toy").contains("name='ball'") && of("other").contains("name='hoop'"));
    let archive = bed.archive();
    fs::rename(&archive, bed.path("before.tar.gz")).unwrap();
    fs::remove_dir_all(bed.path("out")).unwrap();
    // The verdict is about both.
    assert!(with("-hoop").expect(1).out.contains("hoop"));
    // Judges are for the plugin of the profile.
    fs::remove_dir_all(bed.path("out")).unwrap();
    let judged = ["--mode", "quick", "-p", "./other", "--baseline", "before.tar.gz"];
    let failed = local(&bed, &judged).expect(1);
    assert!(!failed.err.contains("--judge-plugin"), "{}", failed.err);
    let chain = |plugin: &str| bed.member(&format!("plugins/{plugin}/definition.json")).contains("baseline");
    assert!(chain("toy") && !chain("other"));
    // `results` judges the same plugin as the run.
    let again = bed.plumbline(&["results", &bed.archive(), "--baseline", "before.tar.gz"]).expect(1);
    assert!(!again.err.contains("--judge-plugin"), "{}", again.err);
    // The definition of a profile's run alone does not choose the plugin.
    let saved: Value = serde_json::from_str(&bed.member("plugins/toy/definition.json")).unwrap();
    bed.write("saved.yaml", &saved["Definition"].to_string());
    let run = ["run", "--local", "-p", "saved.yaml", "-p", "./other", "--baseline", "before.tar.gz"];
    let asked = bed.plumbline(&run).expect(2).err;
    assert!(asked.contains("choose one with `--judge-plugin`; plugins: `toy`, `other`"), "{asked}");
}

#[test]
fn what_does_not_fit_is_an_error_before_anything_starts() {
    let bed = Bed::new();
    toy(&bed);
    bed.write("plain/plugin.yaml", PLUGIN);
    bed.write("broken/plugin.yaml", PLUGIN);
    bed.write("broken/profile.yaml", &PROFILE.replace("options:", "optoins:"));
    bed.plumbline(&["plugin", "install", "toy"]).expect(0);
    let run = ["conformance", "run"];
    let cases: &[&[&str]] = &[
        &["toyy"],
        &["./plain", "--local"],
        &["./broken", "--local"],
        &["toy", "--local"],
        &["toy", "--local", "--set", "nams=ball"],
        &["toy", "--local", "--set", "names"],
        &["toy", "--local", "--mode", "ful"],
        &["toy", "--local", "--mode", "quick", "--set", "retries=many"],
        &["toy", "--local", "--mode", "quick", "--set", "spec=3"],
        &["toy", "--local", "--mode", "quick", "--set", "password=x"],
        &["toy", "--local", "--mode", "quick", "--set", "parameters=x"],
        &["toy", "--local", "--mode", "quick", "--set-file", "parameters=missing.yaml"],
        &["toy", "--local", "--mode", "quick", "--set", "tool=./missing"],
        &["toy", "--local", "--mode", "quick", "--e2e-focus", "x"],
        &["toy", "--local", "--mode", "quick", "--submission-dir", "sub", "--product", "P.yaml"],
        &["--set", "names=ball"],
        &["kubernetes", "--set", "names=ball"],
        &["kubernetes", "--set", "focus=a", "--e2e-focus", "b"],
        &["kubernetes", "--set", "dry-run=true", "--submission-dir", "sub", "--product", "P.yaml"],
        &["kubernetes", "--local"],
        &["--mode", "quik"],
        &["--submission-dir", "sub"],
    ];
    let mut report = String::new();
    for args in cases {
        let done = bed.plumbline(&[&run[..], args].concat());
        report.push_str(&format!(
            "$ plumbline conformance run {}\n{}exit code {}\n\n",
            args.join(" "),
            done.err,
            done.code
        ));
    }
    insta::assert_snapshot!("rejected", report.replace(bed.root().to_str().unwrap(), "DIR"));
    let left: Vec<_> = fs::read_dir(bed.root()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".plumbline")), "{left:?}");
}

#[test]
fn an_invalid_profile_is_found_by_the_commands_for_authors() {
    let bed = Bed::new();
    toy(&bed);
    bed.write("toy/profile.yaml", &PROFILE.replace("type: integer", "type: number"));
    let lint = bed.plumbline(&["plugin", "lint", "toy"]).expect(1);
    assert!(
        lint.out.contains("`options[2].type`: unknown type `number`") && lint.out.contains("(line 9)"),
        "{}",
        lint.out
    );
    for command in ["pack", "install"] {
        let stderr = bed.plumbline(&["plugin", command, "toy"]).expect(2).err;
        assert!(stderr.contains("unknown type `number`"), "{stderr}");
    }
    bed.write("toy/profile.yaml", PROFILE);
    fs::remove_file(bed.path("toy/lists/tests.txt")).unwrap();
    let stderr = bed.plumbline(&["plugin", "pack", "toy"]).expect(2).err;
    assert!(stderr.contains("`tests`: file `lists/tests.txt` is not in the bundle"), "{stderr}");
}

#[test]
fn names_options_and_modes_are_completed() {
    let bed = Bed::new();
    toy(&bed);
    bed.plumbline(&["plugin", "install", "toy"]).expect(0);
    let has = |words: &[&str], wanted: &str| {
        let found = crate::completion::candidates(&bed, words);
        assert!(found.iter().any(|one| one == wanted), "{words:?}: {wanted} is not in {found:?}");
    };
    has(&["plumbline", "conformance", "run", "to"], "toy");
    has(&["plumbline", "conformance", "show", ""], "kubernetes");
    has(&["plumbline", "conformance", "run", "toy", "--set", ""], "names=");
    has(&["plumbline", "conformance", "run", "toy", "--mode", ""], "quick");
    has(&["plumbline", "conformance", "run", "toy", "--mode", ""], "full");
}

#[test]
fn a_dry_run_shows_what_would_run() {
    let bed = Bed::new();
    toy(&bed);
    let done = local(&bed, &["--mode", "quick", "--dry-run"]).expect(0);
    assert!(done.err.contains("would run `toy` (Process)"), "{}", done.err);
    assert!(bed.archives().is_empty());
}

/// A bundle with a profile is packed, signed, locked and run as any other.
#[test]
fn a_profile_is_signed_and_locked_with_its_bundle() {
    let bed = Bed::new();
    toy(&bed);
    keygen(&bed, "release");
    bed.plumbline(&["plugin", "pack", "toy"]).expect(0);
    bed.plumbline(&["plugin", "sign", "toy.bundle.tar", "--key", "release.key"]).expect(0);
    bed.write(
        "policy.yaml",
        "version: 1\nkeys: {release: {file: release.pub}}\nrules: [{names: ['*'], keys: [release]}]\n",
    );
    bed.plumbline(&["plugin", "install", "toy.bundle.tar"]).expect(0);
    // A directory of this name would be used in place of the installed bundle.
    fs::rename(bed.path("toy"), bed.path("source")).unwrap();
    bed.plumbline(&["plugin", "lock", "-p", "toy"]).expect(0);
    let run = |more: &[&str]| {
        let args = ["conformance", "run", "toy", "--local", "--dir", "out", "--mode", "quick", "--locked"];
        bed.plumbline(&[&args[..], &["--require-signed", "--policy", "policy.yaml"], more].concat())
    };
    run(&[]).expect(0);
    // Another profile is another bundle.
    bed.write("source/profile.yaml", &PROFILE.replace("names: ball", "names: kite"));
    bed.plumbline(&["plugin", "install", "./source"]).expect(0);
    assert!(run(&[]).expect(2).err.contains("toy"));
}

#[test]
fn an_installed_profile_that_was_changed_does_not_run() {
    let bed = Bed::new();
    toy(&bed);
    bed.plumbline(&["plugin", "install", "toy"]).expect(0);
    let file = bed.path("home/data/plumbline/bundles/toy/bundle/lists/required-2.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&file, "top\n").unwrap();
    let done = bed.plumbline(&["conformance", "run", "toy", "--local", "--set", "names=top"]);
    assert_ne!(done.code, 0, "{}", done.err);
    assert!(bed.plumbline(&["conformance", "list"]).expect(0).out.lines().all(|line| !line.starts_with("toy")));
}

#[test]
fn a_profile_goes_through_a_registry() {
    let bed = Bed::new();
    let Some(registry) = crate::registries::Registry::start(&bed, "storage") else { return };
    toy(&bed);
    let name = format!("oci://{}/team/toy:1", registry.host);
    registry.plumbline(&bed, &["plugin", "push", "toy", &name]).expect(0);
    registry.plumbline(&bed, &["plugin", "save", &name, "-f", "toy.oci.tar"]).expect(0);
    let mirror = format!("oci://{}/mirror/toy:1", registry.host);
    registry.plumbline(&bed, &["plugin", "load", "toy.oci.tar", "--to", &mirror]).expect(0);
    for reference in [&name, &mirror] {
        let args = ["conformance", "run", reference, "--local", "--dir", "out", "--mode", "quick"];
        registry.plumbline(&bed, &args).expect(0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_values_are_in_the_definition_and_secrets_in_a_secret() {
    let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
    toy(&bed);
    bed.write("kubeconfig", &double.kubeconfig());
    bed.write("secret.txt", "s3cret\n");
    let kubeconfig = bed.path("kubeconfig");
    let run = |more: &[&str]| {
        let args = ["conformance", "run", "./toy", "--kubeconfig", kubeconfig.to_str().unwrap(), "--wait=0"];
        let args = [&args[..], &["--set", "names=ball", "--set", "image=r.example/toy:2"], more].concat();
        tokio::task::block_in_place(|| bed.plumbline(&args))
    };
    run(&["--set-file", "password=secret.txt"]).expect(0);
    let secret = double.get("secrets", "sonobuoy", "plumbline-options").unwrap();
    assert_eq!(secret["data"]["toy.password"], "czNjcmV0");
    let plugins = double.get("configmaps", "sonobuoy", "sonobuoy-plugins-cm").unwrap();
    let definition = plugins["data"]["plugin-0.yaml"].as_str().unwrap();
    let definition: Value = serde_saphyr::from_str(definition).unwrap();
    assert_eq!(
        (&definition["sonobuoy-config"]["driver"], &definition["spec"]["image"]),
        (&json!("Job"), &json!("r.example/toy:2"))
    );
    assert_eq!(
        (&definition["spec"]["command"], &definition["spec"]["args"]),
        (&json!(["/run.sh"]), &json!(["--retries=1"]))
    );
    let reference = json!({"name": "plumbline-options", "key": "toy.password"});
    let variables = definition["spec"]["env"].as_array().unwrap();
    assert!(
        variables.contains(&json!({"name": "PASSWORD", "valueFrom": {"secretKeyRef": reference}})),
        "{variables:?}"
    );
    assert!(variables.contains(&json!({"name": "TESTS", "value": "ball"})), "{variables:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_cluster_a_dry_run_and_a_wrong_option_create_nothing() {
    let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
    toy(&bed);
    bed.write("kubeconfig", &double.kubeconfig());
    bed.write("secret.txt", "s3cret\n");
    let kubeconfig = bed.path("kubeconfig");
    let run = |more: &[&str]| {
        let args = ["conformance", "run", "./toy", "--kubeconfig", kubeconfig.to_str().unwrap()];
        let args = [&args[..], &["--set", "names=ball"], more].concat();
        tokio::task::block_in_place(|| bed.plumbline(&args))
    };
    let dry = run(&["--set-file", "password=secret.txt", "--dry-run"]).expect(0);
    assert!(dry.err.contains("would create secret `plumbline-options`"), "{}", dry.err);
    assert!(double.list("secrets").is_empty());
    let rejected = run(&["--set", "tool=/bin/sh"]).expect(2);
    assert!(rejected.err.contains("option `tool` is a path on this machine"), "{}", rejected.err);
}

/// Returns the example of docs/profiles.md: the code blocks whose first or second line is the name
/// of a file.
fn example() -> Vec<(String, String)> {
    let text = include_str!("../../../../docs/profiles.md");
    let blocks = text.split("\n```").skip(1).step_by(2);
    let named = |block: &str| {
        let content = block.split_once('\n')?.1;
        let name = content.lines().take(2).find_map(|line| line.strip_prefix("# "))?;
        let is_name = !name.contains(' ') && name.contains('.');
        is_name.then(|| (name.to_owned(), format!("{content}\n")))
    };
    blocks.filter_map(named).collect()
}

#[test]
fn the_example_of_the_documentation_runs() {
    let bed = Bed::new();
    let files = example();
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["plugin.yaml", "profile.yaml", "run.sh", "required.txt"]);
    for (name, content) in &files {
        bed.write(&format!("mail/{name}"), content);
    }
    fs::set_permissions(bed.path("mail/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let suite = "#!/bin/sh\nout=${1#--report=}\n[ \"$2\" = --slow=true ] || exit 1\n\
        echo \"<testsuite name='mail'><testcase name='accepts a message'/><testcase name='rejects an unknown recipient'/></testsuite>\" >$out\n";
    let suite = bed.write("bin/mail-suite", suite);
    fs::set_permissions(suite, fs::Permissions::from_mode(0o755)).unwrap();
    let lint = bed.plumbline(&["plugin", "lint", "mail"]).expect(0);
    assert!(lint.out.contains("0 errors, 0 warnings"), "{}{}", lint.out, lint.err);
    let mut command = bed.command(&["conformance", "run", "./mail", "--local", "--dir", "out", "--mode", "full"]);
    let path = format!("{}:{}", bed.path("bin").display(), std::env::var("PATH").unwrap());
    command.args(["--set", "server=mail.example.com:25", "--submission-dir", "sub"]).env("PATH", path);
    Done::of(command).expect(0);
    assert!(bed.path("sub/junit.xml").exists());
}

#[test]
fn modes_are_listed_with_their_values() {
    let bed = Bed::new();
    toy(&bed);
    let text = bed.plumbline(&["conformance", "modes", "./toy"]).expect(0).out;
    assert_eq!(
        text,
        "Mode: full (default)\nDescription: All tests\nRequired tests: lists/required-{version}.txt\n\n\
         Mode: quick\nDescription: One test\nnames: ball\nretries: 3\n"
    );
    let data = json(&bed.plumbline(&["conformance", "modes", "./toy", "-o", "json"]).expect(0));
    assert_eq!(data["modes"][1]["set"], json!({"names": "ball", "retries": "3"}));
}

#[test]
fn a_submission_has_an_attestation_of_its_run() {
    let bed = Bed::new();
    toy(&bed);
    keygen(&bed, "vendor");
    let sign = ["--set", "names=ball kite", "--submission-dir", "sub", "--sign", "vendor.key", "-o", "json"];
    let done = local(&bed, &sign).expect(0);
    assert_eq!(json(&done)["submission"], json!({"dir": "sub", "files": ["junit.xml"]}));
    assert!(done.err.contains("attested: sub.sigstore.json"), "{}", done.err);
    let check = |dir: &str, more: &[&str]| {
        let args = ["conformance", "submission", "check", dir, "--profile", "./toy"];
        bed.plumbline(&[&args[..], more].concat())
    };
    let key = ["--key", "vendor.pub"];
    let checked = check("sub", &key).expect(0).out;
    assert!(checked.contains("3 rules passed, 0 failed, 0 not checked"), "{checked}");
    assert!(checked.contains("a run that passed in mode `full` (options of the user: names) wrote"), "{checked}");
    assert!(check("sub", &[]).expect(3).out.contains("`sub.sigstore.json` was not verified"));
    // The rules of another bundle are not those of this one.
    bed.write("toy/lists/required-2.txt", "ball\n");
    assert!(check("sub", &key).expect(1).out.contains("is about another profile"));
    bed.write("toy/lists/required-2.txt", "ball\nkite\n");
    keygen(&bed, "other");
    assert!(check("sub", &["--key", "other.pub"]).expect(1).out.contains("no attestation counts"));

    // From an archive, the same folder follows, which needs a signature of its own.
    let archive = bed.archive();
    let assemble = ["conformance", "submission", "assemble", "--profile", "./toy", "--archive", &archive, "--dir"];
    bed.plumbline(&[&assemble[..], &["again"]].concat()).expect(0);
    assert!(check("again", &[]).expect(3).out.contains("the files are not signed"));
    assert!(check("again", &key).expect(1).out.contains("does not exist"));
    fs::copy(bed.path("sub.sigstore.json"), bed.path("again.sigstore.json")).unwrap();
    check("again", &key).expect(0);

    // The statement is about these bytes, and not about files that somebody adds.
    bed.write("again/junit.xml", "<testsuite name='toy'><testcase name='ball'/></testsuite>");
    assert!(check("again", &key).expect(1).out.contains("another file"));
    bed.write("sub/notes.txt", "more");
    let added = check("sub", &key).expect(0).out;
    assert!(added.contains("the attestation does not cover: notes.txt"), "{added}");
    fs::remove_file(bed.path("sub/junit.xml")).unwrap();
    assert!(check("sub", &key).expect(1).out.contains("files are missing or empty"));
}

#[test]
fn a_run_that_did_not_pass_is_not_submitted_later_either() {
    let bed = Bed::new();
    toy(&bed);
    local(&bed, &["--set", "names=ball -kite"]).expect(1);
    let archive = bed.archive();
    let assemble = ["conformance", "submission", "assemble", "--profile", "./toy", "--archive", &archive, "--dir"];
    let done = bed.plumbline(&[&assemble[..], &["sub"]].concat()).expect(1);
    assert!(done.err.contains("its verdict is `failed`") && !bed.path("sub").exists(), "{}", done.err);
}

#[test]
fn a_run_that_passed_only_because_failures_were_excused_is_not_submitted() {
    let bed = Bed::new();
    toy(&bed);
    bed.write("known.yaml", "- {test: kite, reason: no wind}\n");
    let excused = ["--mode", "quick", "--set", "names=ball -kite", "--known-failures", "known.yaml"];
    let done = local(&bed, &[&excused[..], &["--submission-dir", "sub"]].concat()).expect(1);
    assert!(
        done.err.contains("warning: if `--known-failures` excuses a failure, nothing is submitted"),
        "{}",
        done.err
    );
    assert!(done.out.contains("1 of them failed and excused"), "{}", done.out);
    assert!(done.err.contains("only because failures were excused") && !bed.path("sub").exists(), "{}", done.err);

    // A statement about such a run does not count either, however it was made.
    keygen(&bed, "vendor");
    bed.write("sub/junit.xml", "<testsuite name='toy'><testcase name='ball'/></testsuite>");
    let context = Context::new(Silent);
    let key = signing_key(&context, Some(&bed.path("vendor.key"))).unwrap();
    let (archive, suite) = (bed.archive(), SubmittedSuite::default());
    attest_folder(&context, archive.as_ref(), None, &bed.path("sub"), &suite, &key).unwrap();
    let check = ["conformance", "submission", "check", "sub", "--profile", "./toy", "--key", "vendor.pub"];
    let done = bed.plumbline(&check).expect(1);
    assert!(done.out.contains("attests a run whose failures were excused"), "{}", done.out);
}

#[test]
fn only_a_whole_run_with_the_rules_of_the_profile_is_submitted() {
    let bed = Bed::new();
    toy(&bed);
    let rejected = |why: &str| {
        let archive = bed.archive();
        let args =
            ["conformance", "submission", "assemble", "--profile", "./toy", "--archive", &archive, "--dir", "sub"];
        let done = bed.plumbline(&args).expect(2);
        assert!(done.err.contains(why) && !bed.path("sub").exists(), "{}", done.err);
        fs::remove_dir_all(bed.path("out")).unwrap();
    };
    // The run kept weaker rules.
    bed.write("toy/lists/required-2.txt", "ball\n");
    local(&bed, &["--set", "names=ball"]).expect(0);
    bed.write("toy/lists/required-2.txt", "ball\nkite\n");
    rejected("the digest of its bundle is sha256:");
    // Without the profile, nothing is required.
    let process = "spec: {name: suite, command: [./run.sh], env: [{name: TESTS, value: ball}]}\n";
    bed.write("toy/plugin.yaml", &[PLUGIN.replace("Job", "Process").lines().next().unwrap(), "\n", process].concat());
    bed.plumbline(&["run", "--local", "-p", "./toy", "--dir", "out"]).expect(0);
    rejected("it ran the plugin `toy` without its profile");
}

#[test]
fn the_images_of_a_suite_are_its_own_and_those_of_its_tests() {
    let bed = Bed::new();
    toy(&bed);
    bed.write("toy/images.txt", "# Images of the tests\nr.example/ball:2\n");
    bed.write("toy/profile.yaml", &PROFILE.replace("submission:", "images: images.txt\nsubmission:"));
    let list = |more: &[&str]| {
        let args = ["images", "list", "-p", "./toy", "--image", "r.example/plumbline:1", "-o", "json"];
        json(&bed.plumbline(&[&args[..], more].concat()).expect(0)).to_string()
    };
    let listed = list(&[]);
    assert!(["r.example/toy:1", "r.example/ball:2", "r.example/plumbline:1"].iter().all(|name| listed.contains(name)));
    let own = list(&["--set", "image=other.test/toy:1"]);
    assert!(own.contains("other.test/toy:1") && !own.contains("r.example/toy:1\""), "{own}");
    let args = ["images", "list", "-p", "host-facts", "--image", "r.example/plumbline:1", "--set", "image=x"];
    assert!(bed.plumbline(&args).expect(2).err.contains("plugin `host-facts` has no profile"));
}
