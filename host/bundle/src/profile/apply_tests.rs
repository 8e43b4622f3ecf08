use plumbline_core::definition::SuiteRun;

use super::*;
use crate::profile::read::tests::WHOLE;
use crate::profile::settings::Given;
use crate::profile::{Profile, Settings};

const DEFINITION: &str = "
sonobuoy-config: {driver: Job, plugin-name: storage, result-format: junit}
spec:
  name: suite
  image: r.example/suite:1
  command: [/run.sh]
  args: [--all]
  env: [{name: SPEC, value: '0.9'}, {name: KEPT, value: x}]
  volumeMounts: [{name: s, mountPath: /csi}]
extra-volumes: [{name: s, hostPath: {path: /var/lib}}]
podSpec: {hostNetwork: true}
";

fn definition() -> Definition {
    Definition::parse(DEFINITION).unwrap().definition
}

fn given(name: &str, value: &str, from_file: bool) -> Given {
    Given { name: name.to_owned(), value: value.to_owned(), from_file }
}

fn profile() -> Profile {
    Profile::parse(WHOLE.replace("required: true, ", "").as_bytes()).unwrap()
}

fn applied(place: Place, more: &[Given]) -> Result<Applied, ApplyError> {
    let profile = profile();
    let settings = Settings::choose(&profile, None, more).unwrap();
    settings.apply(&definition(), place, &["a [b]".to_owned()])
}

#[test]
fn values_reach_the_suite_in_a_cluster() {
    let given = [
        given("features", "x,y", false),
        given("image", "r.example/suite:2", false),
        given("parameters", "a: 1\n", true),
        given("password", "s3cret", true),
        given("strict", "true", false),
        given("levels", "a, b", false),
        given("product", "vendor: x\n", true),
    ];
    let Applied { definition, secrets } = applied(Place::Cluster, &given).unwrap();
    let profile = profile();
    let value = |name: &str| profile.option(name).unwrap().value_in(&definition);
    assert_eq!((value("parameters"), value("product")), (Some("a: 1\n"), Some("vendor: x\n")));
    assert_eq!((value("size"), value("password")), (None, None));
    insta::assert_snapshot!("cluster", serde_json::to_string_pretty(&definition.to_json()).unwrap());
    assert_eq!(secrets.into_iter().collect::<Vec<_>>(), [("storage.password".to_owned(), "s3cret".to_owned())]);
}

#[test]
fn failed_tests_run_again_whatever_the_definition_selects() {
    let definition =
        DEFINITION.replace("value: '0.9'}", "value: '0.9'}, {name: SKIP, value: a}, {name: SNAPSHOTS, value: 'true'}");
    let definition = Definition::parse(&definition).unwrap().definition;
    let profile = profile();
    let mut settings = Settings::choose(&profile, None, &[]).unwrap();
    settings.select_failed("a|b".to_owned()).unwrap();
    let Applied { definition, .. } = settings.apply(&definition, Place::Cluster, &[]).unwrap();
    let env: Vec<&str> = definition.spec.env().iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(env, ["KEPT", "SPEC", "FOCUS"]);
}

#[test]
fn on_this_machine_the_suite_is_a_process() {
    let given = [given("endpoint", "/run/csi.sock", false), given("image", "r.example/suite:2", false)];
    let Applied { definition, .. } = applied(Place::Local, &given).unwrap();
    insta::assert_snapshot!("local", serde_json::to_string_pretty(&definition.to_json()).unwrap());
}

#[test]
fn options_reach_a_check() {
    const CHECK: &str = "\
sonobuoy-config: {driver: Job, plugin-name: storage}
plumbline: {component: storage.wasm, grants: {files: [/proc]}, options: {strict: false, kept: 1}}
";
    let check = Definition::parse(CHECK).unwrap().definition;
    let yaml = "\
name: storage
title: S
version: '1'
local: {}
options:
- {name: strict, help: h, type: bool, option: strict}
- {name: size, help: h, type: integer, default: 7, option: size}
- {name: unset, help: h, type: string, option: unset}
";
    let profile = Profile::parse(yaml.as_bytes()).unwrap();
    let settings = Settings::choose(&profile, None, &[given("strict", "true", false)]).unwrap();
    for (place, driver) in [(Place::Cluster, "Job"), (Place::Local, "Process")] {
        let Applied { definition, .. } = settings.apply(&check, place, &[]).unwrap();
        let options = json!({"strict": true, "kept": 1, "size": 7});
        assert_eq!(Value::Object(definition.plumbline.options), options);
        assert_eq!(
            (definition.driver.as_str(), definition.plumbline.component.as_deref()),
            (driver, Some("storage.wasm"))
        );
        assert_eq!(definition.plumbline.grants, check.plumbline.grants);
    }
}

#[test]
fn a_secret_is_in_no_definition() {
    for place in [Place::Local, Place::Cluster] {
        let given = [given("password", "s3cret", true), given("credentials", "node: s3cret\n", true)];
        let Applied { definition, secrets } = applied(place, &given).unwrap();
        assert!(!definition.to_json().to_string().contains("s3cret"), "{place:?}");
        // A file is a secret as it is, with its last line break.
        let values: Vec<&str> = secrets.values().map(String::as_str).collect();
        assert_eq!(values, ["node: s3cret\n", "s3cret"]);
    }
}

#[test]
fn a_path_of_this_machine_is_useless_in_a_cluster() {
    let error = applied(Place::Cluster, &[given("endpoint", "/run/csi.sock", false)]).unwrap_err();
    assert_eq!(error.to_string(), "option `endpoint` is a path on this machine, and the run is in a cluster");
}

#[test]
fn a_profile_without_a_local_form_runs_only_where_its_definition_does() {
    let profile = Profile::parse(b"name: storage\ntitle: S\nversion: '1'\n").unwrap();
    let settings = Settings::choose(&profile, None, &[]).unwrap();
    let error = settings.apply(&definition(), Place::Local, &[]).unwrap_err();
    assert_eq!(error.to_string(), "profile `storage` runs only in a cluster");
    let process = DEFINITION.replace("driver: Job", "driver: Process");
    let process = Definition::parse(&process).unwrap().definition;
    let mut applied = settings.apply(&process, Place::Local, &[]).unwrap().definition;
    let run = SuiteRun { version: Some("1".to_owned()), ..SuiteRun::default() };
    assert_eq!(applied.plumbline.suite.take(), Some(run));
    assert_eq!(applied, process);
}

#[test]
fn names_of_tests_are_literal_in_expressions() {
    assert_eq!(literal("[It] a (b) 1.0|c"), r"\[It\] a \(b\) 1\.0\|c");
}

#[test]
fn required_tests_are_found_with_the_prefix_of_names_in_results() {
    let matching = |yaml: &str| {
        let profile = Profile::parse(yaml.as_bytes()).unwrap();
        let settings = Settings::choose(&profile, None, &[]).unwrap();
        let applied = settings.apply(&definition(), Place::Cluster, &["a.b".to_owned()]).unwrap();
        applied.definition.plumbline.verdict[0].options["checks"][0]["matching"].as_str().unwrap().to_owned()
    };
    assert_eq!(matching(&WHOLE.replace("required: true, ", "")), r"^(\[It\] )?a\.b$");
    let other = WHOLE.replace("required: true, ", "").replace("strip: '[It] '", "strip: 'suite/1.0/'");
    assert_eq!(matching(&other), r"^(\[It\] )?(suite/1\.0/)?a\.b$");
}

#[test]
fn a_required_name_that_no_check_can_look_for_is_an_error() {
    let settings_of = profile();
    let settings = Settings::choose(&settings_of, None, &[]).unwrap();
    let error = settings.apply(&definition(), Place::Cluster, &["(".repeat(1_900)]).unwrap_err();
    assert!(error.to_string().contains("is too long"), "{error}");
}
