//! Attestations that must not count: about other files, another profile or another result.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use plumbline_app::Context;
use plumbline_app::attest::{SubmittedSuite, attest_folder};
use plumbline_app::context::Silent;
use plumbline_app::signing::signing_key;
use plumbline_bundle::signing::{
    Attestation, Envelope, PAYLOAD_TYPE, Signature, SignatureFile, Subject, TEST_RESULT, pae, read_private,
    sign_statement,
};
use plumbline_core::Digest;
use serde_json::{Value, json};

use crate::bed::{Bed, Done};
use crate::signing::keygen;

/// A suite with the tests `ball` and `kite`. Those in `BAD` fail.
const RUN: &str = r#"#!/bin/sh
{
    echo "<testsuite name='toy'>"
    for test in ball kite; do
        echo "$test" | grep -Eq "${FOCUS:-.}" || continue
        case " $BAD " in
        *" $test "*) echo "<testcase name='$test'><failure message='broken'/></testcase>" ;;
        *) echo "<testcase name='$test'/>" ;;
        esac
    done
    echo "</testsuite>"
} >"$RESULTS_DIR/junit.xml"
echo "bad: $BAD" >"$RESULTS_DIR/report.yaml"
"#;

const PLUGIN: &str = "\
sonobuoy-config: {driver: Job, plugin-name: toy, result-format: junit, result-files: [junit.xml]}
spec: {name: suite, image: r.example/toy:1, command: [/run.sh]}
";

const PROFILE: &str = "\
name: toy
title: Toy suite
version: '1'
local: {command: [./run.sh]}
selection: {focus: focus}
submission:
- {name: junit.xml, from: plugins/toy/results/global/junit.xml}
- {name: report.yaml, from: plugins/toy/results/global/report.yaml}
- {name: parameters.yaml, option: parameters}
options:
- {name: focus, help: Tests to run, type: string, env: FOCUS}
- {name: bad, help: Tests that fail, type: string, env: BAD}
- {name: parameters, help: Parameters of toys, type: file, file: parameters.yaml}
";

/// Writes the bundle to `toy/`, and creates the key pair `vendor`. `options` are further options of
/// the profile.
fn toy(options: &str) -> Bed {
    let bed = Bed::new();
    bed.write("toy/plugin.yaml", PLUGIN);
    bed.write("toy/profile.yaml", &format!("{PROFILE}{options}"));
    let script = bed.write("toy/run.sh", RUN);
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    bed.write("p.yaml", "size: 1\n");
    keygen(&bed, "vendor");
    bed
}

fn local(bed: &Bed, more: &[&str]) -> Done {
    bed.plumbline(&[&["conformance", "run", "./toy", "--local"], more].concat())
}

/// Runs the suite, and signs the submission in `dir`.
fn submitted(bed: &Bed, dir: &str) {
    let submission = ["--set-file", "parameters=p.yaml", "--submission-dir", dir, "--sign", "vendor.key"];
    local(bed, &[&["--dir", "out"], &submission[..]].concat()).expect(0);
}

/// Checks the submission in `dir`, and returns the text.
#[track_caller]
fn check(bed: &Bed, dir: &str, code: i32) -> String {
    let args = ["conformance", "submission", "check", dir, "--profile", "./toy", "--key", "vendor.pub"];
    bed.plumbline(&args).expect(code).out
}

fn verify(bed: &Bed, file: &str, more: &[&str]) -> Done {
    bed.plumbline(&[&["results", "verify", file, "--key", "vendor.pub"], more].concat())
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err))
}

/// Writes the attestations of `archive`: statements about it with these predicates, by `vendor`.
fn state(bed: &Bed, archive: &str, predicates: &[Value]) {
    let key = read_private(&bed.path("vendor.key")).unwrap();
    let sha256 = *Digest::of(&fs::read(bed.path(archive)).unwrap()).as_bytes();
    let subject = [Subject { name: archive.to_owned(), sha256 }];
    let file = SignatureFile::next_to(&bed.path(archive));
    let _ = fs::remove_file(file.path());
    for predicate in predicates {
        file.append(sign_statement(&subject, TEST_RESULT, predicate, &key).unwrap()).unwrap();
    }
}

/// Creates a named pipe. `None`, and a message, if that is not possible.
fn pipe(bed: &Bed, name: &str) -> Option<()> {
    let made = Command::new("mkfifo").arg(bed.path(name)).status().is_ok_and(|status| status.success());
    if !made {
        eprintln!("SKIPPED: `mkfifo` not found");
    }
    made.then_some(())
}

#[test]
fn each_file_of_a_submission_has_the_name_that_was_signed() {
    let bed = toy("");
    submitted(&bed, "sub");
    check(&bed, "sub", 0);
    let read = |name: &str| fs::read_to_string(bed.path(name)).unwrap();
    let (junit, report, parameters) = (read("sub/junit.xml"), read("sub/report.yaml"), read("sub/parameters.yaml"));
    // Swapped.
    bed.write("sub/junit.xml", &report);
    bed.write("sub/report.yaml", &junit);
    assert!(check(&bed, "sub", 1).contains("about another file `junit.xml`"));
    // The vendor wrote this file.
    bed.write("sub/junit.xml", &parameters);
    bed.write("sub/report.yaml", &parameters);
    assert!(check(&bed, "sub", 1).contains("about another file `junit.xml`"));
    bed.write("sub/junit.xml", &junit);
    bed.write("sub/report.yaml", &report);
    check(&bed, "sub", 0);
    // The parameters of the run are missing.
    fs::remove_file(bed.path("sub/parameters.yaml")).unwrap();
    assert!(check(&bed, "sub", 1).contains("about `parameters.yaml`, which is missing"));
    // The archive in the place of a file that the statement is about.
    fs::copy(bed.archive(), bed.path("sub/parameters.yaml")).unwrap();
    assert!(check(&bed, "sub", 1).contains("about another file `parameters.yaml`"));
}

#[test]
fn a_statement_about_a_submission_is_not_one_about_an_archive() {
    let bed = toy("");
    submitted(&bed, "sub");
    let archive = bed.archive();
    verify(&bed, &archive, &[]).expect(0);
    for file in ["sub/junit.xml", "sub/report.yaml", &archive] {
        let done = verify(&bed, file, &["--attestation", "sub.sigstore.json"]).expect(1);
        assert!(done.out.contains("that is not about this archive alone"), "{file}: {}", done.out);
    }
    // The other way round.
    fs::copy(format!("{archive}.sigstore.json"), bed.path("run.sigstore.json")).unwrap();
    fs::create_dir(bed.path("run")).unwrap();
    fs::copy(&archive, bed.path("run/junit.xml")).unwrap();
    fs::copy(&archive, bed.path("run/report.yaml")).unwrap();
    assert!(check(&bed, "run", 1).contains("that is not about a folder"));
}

#[test]
fn a_submission_for_kubernetes_is_of_the_suite_of_kubernetes() {
    let bed = toy("");
    local(&bed, &["--dir", "out"]).expect(0);
    for file in ["PRODUCT.yaml", "README.md", "e2e.log", "junit_01.xml"] {
        bed.write(&format!("v1.30/engine/{file}"), "name: engine\n");
    }
    let context = Context::new(Silent);
    let key = signing_key(&context, Some(&bed.path("vendor.key"))).unwrap();
    let (archive, folder) = (bed.archive(), bed.path("v1.30/engine"));
    let attest = |profile: &str| {
        let suite = SubmittedSuite { profile: profile.to_owned(), ..SubmittedSuite::default() };
        attest_folder(&context, archive.as_ref(), None, &folder, &suite, &key).unwrap();
    };
    let finding = || {
        let args = ["conformance", "submission", "check", "v1.30/engine", "--key", "vendor.pub", "-o", "json"];
        let document = json(&bed.plumbline(&args).expect(1));
        let findings = document["findings"].as_array().unwrap();
        findings.iter().find(|one| one["rule"] == "attestation").unwrap().clone()
    };
    attest("toy");
    let other = finding();
    assert_eq!(other["outcome"], "failed", "{other}");
    assert!(other["what"].as_str().unwrap().contains("is about another profile"), "{other}");
    attest("kubernetes");
    assert_eq!(finding()["outcome"], "passed", "{}", finding());
}

#[test]
fn all_options_of_the_vendor_are_shown() {
    let name = |number: u8| format!("an-option-with-quite-a-long-name-{number}");
    let options: String = (10..30)
        .map(|number| format!("- {{name: {}, help: Another option, type: string, env: O{number}}}\n", name(number)))
        .collect();
    let bed = toy(&options);
    let set: Vec<String> = (10..30).map(|number| format!("{}=x", name(number))).collect();
    let set = set.iter().flat_map(|set| ["--set", set.as_str()]);
    let args: Vec<&str> =
        ["--dir", "out", "--submission-dir", "sub", "--sign", "vendor.key"].into_iter().chain(set).collect();
    local(&bed, &args).expect(0);
    let shown = check(&bed, "sub", 0);
    assert!((10..30).all(|number| shown.contains(&name(number))), "{shown}");
}

#[test]
fn the_attestation_is_next_to_the_folder_however_its_path_is_written() {
    let bed = toy("");
    for (written, name) in [("one/", "one"), ("two/.", "two"), ("./three", "three")] {
        submitted(&bed, written);
        assert!(bed.path(&format!("{name}.sigstore.json")).is_file(), "{written}");
        let mut files: Vec<_> = fs::read_dir(bed.path(name))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, ["junit.xml", "parameters.yaml", "report.yaml"], "{written}");
        for dir in [name.to_owned(), format!("{name}/"), format!("{name}/."), format!("./{name}/./")] {
            check(&bed, &dir, 0);
        }
    }
    let (profile, key) = (bed.path("toy"), bed.path("vendor.pub"));
    let args = ["conformance", "submission", "check", ".", "--profile", profile.to_str().unwrap()];
    let mut command = bed.command(&[&args[..], &["--key", key.to_str().unwrap()]].concat());
    command.current_dir(bed.path("one"));
    Done::of(command).expect(0);
}

#[test]
fn a_pipe_in_the_place_of_an_attestation_is_an_error() {
    let bed = toy("");
    submitted(&bed, "sub");
    bed.write("run.tar.gz", "bytes");
    fs::remove_file(bed.path("sub.sigstore.json")).unwrap();
    if pipe(&bed, "run.tar.gz.sigstore.json").and(pipe(&bed, "sub.sigstore.json")).is_none() {
        return;
    }
    let args = ["conformance", "submission", "check", "sub", "--profile", "./toy", "--key", "vendor.pub"];
    for done in [verify(&bed, "run.tar.gz", &[]), bed.plumbline(&args)] {
        let done = done.expect(2);
        assert!(done.err.contains("it is a named pipe"), "{}", done.err);
    }
}

#[test]
fn a_statement_with_two_results_states_none() {
    let bed = toy("");
    bed.write("run.tar.gz", "bytes");
    let predicate = r#"{"result":"FAILED","result":"PASSED"}"#;
    let digest = Digest::of(b"bytes").hex();
    let payload = format!(
        r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"name":"run.tar.gz","digest":{{"sha256":"{digest}"}}}}],"predicateType":"{TEST_RESULT}","predicate":{predicate}}}"#
    );
    let key = read_private(&bed.path("vendor.key")).unwrap();
    let bytes = key.sign(&pae(PAYLOAD_TYPE, payload.as_bytes())).unwrap();
    let signatures = vec![Signature { key_id: String::new(), bytes }];
    let envelope = Envelope { payload_type: PAYLOAD_TYPE.to_owned(), payload: payload.into_bytes(), signatures };
    let attestation = Attestation::of_key(envelope, &key.public().hint());
    SignatureFile::next_to(&bed.path("run.tar.gz")).append(attestation).unwrap();
    let done = verify(&bed, "run.tar.gz", &[]).expect(1);
    assert!(done.out.contains("duplicate key `result`"), "{}", done.out);
}

#[test]
fn of_several_trusted_results_the_worst_counts() {
    let bed = toy("");
    bed.write("run.tar.gz", "bytes");
    let [passed, warned, failed] = ["PASSED", "WARNED", "FAILED"].map(|result| json!({"result": result}));
    for (all, code, worst) in [
        ([&passed, &failed], 1, "FAILED"),
        ([&failed, &passed], 1, "FAILED"),
        ([&warned, &failed], 1, "FAILED"),
        ([&passed, &warned], 0, "WARNED"),
        ([&passed, &passed], 0, "PASSED"),
    ] {
        state(&bed, "run.tar.gz", &all.map(Value::clone));
        let document = json(&verify(&bed, "run.tar.gz", &["-o", "json"]).expect(code));
        assert_eq!(document["result"], worst, "{all:?}");
        assert_eq!(document["disputed"], json!(all[0] != all[1]), "{all:?}");
        assert_eq!(document["attestations"].as_array().unwrap().len(), 2);
        let text = verify(&bed, "run.tar.gz", &[]).expect(code).out;
        assert_eq!(text.contains("the worst result counts"), all[0] != all[1], "{text}");
    }
    // A result that is not valid could be a failure.
    state(&bed, "run.tar.gz", &[passed, json!({"result": "FAILED", "configuration": 7})]);
    let done = verify(&bed, "run.tar.gz", &[]).expect(1);
    assert!(done.out.starts_with("not verified") && done.out.contains("is not the result of a test"), "{}", done.out);
}

#[test]
fn an_attestation_says_that_only_failed_tests_were_run_again() {
    let bed = toy("");
    local(&bed, &["--dir", "first", "--set", "bad=kite"]).expect(1);
    let first =
        crate::bed::entries(&bed.path("first")).into_iter().find(|path| path.extension().is_some_and(|e| e == "gz"));
    let first = first.unwrap();
    let rerun = ["--dir", "out", "--rerun-failed", first.to_str().unwrap(), "--sign", "vendor.key"];
    let done = local(&bed, &rerun).expect(0);
    let archive = bed.archive();
    assert!(done.err.contains("the attestation says that `toy` ran only the failed tests"), "{}", done.err);
    let text = verify(&bed, &archive, &[]).expect(0).out;
    assert!(text.contains("\nrerun:    `toy` ran only the failed tests of another run\n"), "{text}");
    let document = json(&verify(&bed, &archive, &["-o", "json"]).expect(0));
    assert_eq!(document["reruns"], json!(["toy"]));
    let configuration = document["statement"]["configuration"].as_array().unwrap();
    let suite = configuration.iter().find(|one| one["name"] == "suite of toy").unwrap();
    assert_eq!(suite["annotations"]["rerun"], "true");

    // It is not submitted either, however the statement was made.
    bed.write("sub/junit.xml", "<testsuite/>");
    bed.write("sub/report.yaml", "bad:\n");
    let context = Context::new(Silent);
    let key = signing_key(&context, Some(&bed.path("vendor.key"))).unwrap();
    attest_folder(&context, archive.as_ref(), None, &bed.path("sub"), &SubmittedSuite::default(), &key).unwrap();
    assert!(check(&bed, "sub", 1).contains("a run of only the failed tests of another run"));

    // A whole run has no such line.
    fs::remove_dir_all(bed.path("out")).unwrap();
    local(&bed, &["--dir", "out", "--sign", "vendor.key"]).expect(0);
    let document = json(&verify(&bed, &bed.archive(), &["-o", "json"]).expect(0));
    assert_eq!((&document["reruns"], &document["disputed"]), (&json!([]), &json!(false)));
}
