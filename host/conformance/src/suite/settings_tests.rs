//! Tests of settings with a definition of the suite.

use super::*;

const DEFINITION: &str = r#"
sonobuoy-config:
  driver: Job
  plugin-name: e2e
  description: The conformance tests of Kubernetes, from the image of the cluster's version
  source-url: https://github.com/kubernetes/kubernetes/tree/master/test/conformance
  result-format: junit
spec:
  name: e2e
  image: registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION
  imagePullPolicy: IfNotPresent
  command: ["/run_e2e.sh"]
  env:
  - {name: E2E_EXTRA_ARGS, value: --progress-report-url=http://localhost:8099/progress}
  - {name: E2E_FOCUS, value: '\[Conformance\]'}
  - {name: E2E_PARALLEL, value: "false"}
  - {name: E2E_SKIP, value: '\[Disruptive\]|NoExecuteTaintManager'}
  - {name: E2E_USE_GO_RUNNER, value: "true"}
plumbline:
  progress: {file: e2e.log, format: ginkgo}
  permissions:
    cluster:
    - {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
    - {nonResourceURLs: ["/", "/*"], verbs: ["get"]}
"#;

fn built_in() -> Definition {
    Definition::parse(DEFINITION).unwrap().definition
}

fn env(definition: &Definition) -> Vec<(String, String)> {
    let raw = definition.spec.raw()["env"].as_array().unwrap();
    let pair = |variable: &Value| {
        let value = variable.get("value").and_then(Value::as_str).unwrap_or("(from the cluster)");
        (variable["name"].as_str().unwrap().to_owned(), value.to_owned())
    };
    raw.iter().map(pair).collect()
}

fn value(definition: &Definition, name: &str) -> Option<String> {
    env(definition).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

#[test]
fn without_settings_nothing_changes() {
    assert_eq!(Settings::default().apply(&built_in()).unwrap(), built_in());
}

#[test]
fn progress_goes_to_the_port_of_the_worker_and_arguments_are_appended() {
    let settings = Settings {
        progress_port: Some("9000".to_owned()),
        extra_args: vec!["--a=1".to_owned(), "--b".to_owned()],
        ..Settings::default()
    };
    let made = settings.apply(&built_in()).unwrap();
    let args = "--progress-report-url=http://localhost:9000/progress --a=1 --b";
    assert_eq!(value(&made, "E2E_EXTRA_ARGS").as_deref(), Some(args));
    assert_eq!(env(&made).len(), env(&built_in()).len());
}

#[test]
fn files_and_secrets_are_mounted() {
    let settings = Settings {
        repo_config: Some(ConfigFile { name: "repos.yaml".to_owned(), text: "gcRegistry: m".to_owned() }),
        credentials: Some("auth-repo-cred".to_owned()),
        ssh_key: true,
        ..Settings::default()
    };
    let made = settings.apply(&built_in()).unwrap();
    assert_eq!(settings.apply(&made).unwrap().extra_volumes, made.extra_volumes, "twice is once");
    assert_eq!(made.config_map["repos.yaml"], "gcRegistry: m");
    insta::assert_snapshot!(serde_json::to_string_pretty(&made.to_json()).unwrap());
}

#[test]
fn arguments_that_only_the_cluster_knows_are_kept_and_cannot_be_extended() {
    let mut json = built_in().to_json();
    let from = json!({"configMapKeyRef": {"name": "n", "key": "k"}});
    json["spec"]["env"] = json!([{"name": "E2E_EXTRA_ARGS", "valueFrom": from}]);
    let definition = Definition::from_json(json).unwrap().definition;
    assert_eq!(Settings::default().apply(&definition).unwrap(), definition);
    let more = Settings { extra_args: vec!["--a".to_owned()], ..Settings::default() };
    assert!(matches!(more.apply(&definition), Err(SettingsError::FromCluster("E2E_EXTRA_ARGS"))));
}

const OWN: &str = "--progress-report-url=http://localhost:8099/progress";

#[test]
fn the_address_for_progress_is_there_once_and_stays() {
    assert_eq!(with_progress("", "8099", " "), OWN);
    assert_eq!(with_progress("--a --b=1", "8099", " "), format!("{OWN} --a --b=1"));
    assert_eq!(with_progress(&format!("--a {OWN}"), "9000", " "), format!("{} --a", OWN.replace("8099", "9000")));
    let elsewhere = "--progress-report-url=http://collector/p --a";
    assert_eq!(with_progress(elsewhere, "8099", " "), elsewhere);
}

#[test]
fn given_arguments_are_appended() {
    assert_eq!(appended(OWN, "--node-os-distro=windows --a", " "), format!("{OWN} --node-os-distro=windows --a"));
    assert_eq!(appended(OWN, "", " "), OWN);
    assert_eq!(appended("", "--a", " "), "--a");
    assert_eq!(appended(OWN, "-progress-report-url=http://x", " "), "-progress-report-url=http://x");
    assert_eq!(appended(OWN, "--a=b c;--d", ";"), format!("{OWN};--a=b c;--d"));
}

fn chosen_of(env: Value) -> Option<Chosen> {
    let json = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "e2e"}, "spec": {"image": "i", "env": env}});
    chosen(&Definition::from_json(json).unwrap().definition)
}

#[test]
fn focus_and_skip_are_those_that_the_image_uses() {
    let expected =
        |focus: &str, skip: Option<&str>| Some(Chosen { focus: focus.to_owned(), skip: skip.map(str::to_owned) });
    assert_eq!(chosen_of(json!([])), expected(r"\[Conformance\]", None));
    let parallel = json!([{"name": "E2E_PARALLEL", "value": "y"}, {"name": "E2E_FOCUS", "value": "a"}]);
    assert_eq!(chosen_of(parallel), expected("a", Some(r"\[Serial\]")));
    let both = json!([{"name": "E2E_PARALLEL", "value": "true"}, {"name": "E2E_SKIP", "value": "b"}]);
    assert_eq!(chosen_of(both), expected(r"\[Conformance\]", Some("b")));
    let from_cluster = json!([{"name": "E2E_FOCUS", "valueFrom": {"configMapKeyRef": {"name": "n", "key": "k"}}}]);
    assert_eq!(chosen_of(from_cluster), None);
}
