//! Golden objects, and a check that the API server's types know all of their fields.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Pod, Secret};
use plumbline_kubernetes::driver::{Stage, secret, workload};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::samples::{DAEMON_SET, FULL, JOB, SESSION, access, definition, shown, stage};

/// Checks that an object is unchanged after parsing it as its type and serializing it, so that no
/// field is misspelled or misplaced.
fn known<T: DeserializeOwned + Serialize>(object: &Value) {
    let read: T = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(shown(&serde_json::to_value(read).unwrap()), shown(object));
}

fn full_stage() -> Stage {
    Stage {
        image_pull_secrets: Some("registry".into()),
        custom_annotations: [("team".into(), "a".into()), ("sonobuoy-driver".into(), "lie".into())].into(),
        ..stage()
    }
}

#[test]
fn a_job_is_a_pod_with_the_defaults() {
    let pod = workload(&stage(), &definition(JOB), SESSION, &access(), None).unwrap();
    known::<Pod>(&pod);
    insta::assert_snapshot!(shown(&pod));
}

#[test]
fn with_a_manifest_of_sonobuoy_plugins_have_the_account_that_it_gives_them() {
    let stage = Stage { plugin_account: None, ..stage() };
    let account = |text: &str| workload(&stage, &definition(text), SESSION, &access(), None).unwrap()["spec"].clone();
    assert_eq!(account(JOB)["serviceAccountName"], stage.service_account.as_str());
    let own = account(&format!("{JOB}podSpec: {{serviceAccountName: own, restartPolicy: Never, containers: []}}\n"));
    assert_eq!(own["serviceAccountName"], "own");
    assert!(own.get("automountServiceAccountToken").is_none(), "{own}");
}

#[test]
fn a_worker_gets_the_file_and_patterns_of_the_progress() {
    let progress = "plumbline: {progress: {file: e2e.log, completed: '^ok'}}\n";
    let pod = workload(&stage(), &definition(&format!("{JOB}{progress}")), SESSION, &access(), None).unwrap();
    let env = |container: &str| {
        let containers = pod["spec"]["containers"].as_array().unwrap();
        let container = containers.iter().find(|one| one["name"] == container).unwrap();
        let env = container["env"].as_array().unwrap().clone();
        env.into_iter().find(|variable| variable["name"] == "PLUMBLINE_PROGRESS")
    };
    assert_eq!(env("sonobuoy-worker").unwrap()["value"], r#"{"completed":"^ok","file":"e2e.log"}"#);
    assert_eq!(env("plugin"), None, "the plugin has no use for it");
}

#[test]
fn a_daemon_set_sees_its_node() {
    let daemon_set = workload(&stage(), &definition(DAEMON_SET), SESSION, &access(), None).unwrap();
    known::<DaemonSet>(&daemon_set);
    insta::assert_snapshot!(shown(&daemon_set));
}

#[test]
fn a_pod_spec_is_taken_as_it_is() {
    let pod = workload(&full_stage(), &definition(FULL), SESSION, &access(), None).unwrap();
    known::<Pod>(&pod);
    insta::assert_snapshot!(shown(&pod));
}

#[test]
fn a_native_sidecar_is_the_last_init_container() {
    let stage = Stage { native_sidecar: true, ..full_stage() };
    let pod = workload(&stage, &definition(FULL), SESSION, &access(), None).unwrap();
    known::<Pod>(&pod);
    insta::assert_snapshot!(shown(&pod));
}

#[test]
fn a_definition_without_an_image_gets_the_workers() {
    let of = |spec: &str| {
        let yaml = format!("sonobuoy-config: {{driver: Job, plugin-name: bare}}\nspec: {spec}");
        workload(&stage(), &definition(&yaml), SESSION, &access(), None)
    };
    let containers = of("{command: [/sonobuoy, worker, facts]}").unwrap()["spec"]["containers"].clone();
    for key in ["image", "imagePullPolicy"] {
        assert!(containers[0][key].is_string());
        assert_eq!(containers[0][key], containers[1][key], "{key}");
    }
    let error = of("{name: plugin}").unwrap_err().to_string();
    assert_eq!(error, "plugin `bare` has no image");
}

#[test]
fn the_secret_holds_certificate_and_key() {
    let run = "7f3a9c00-0000-4000-8000-000000000001".parse().unwrap();
    let secret = secret(&stage(), &definition(JOB), &run, &access());
    known::<Secret>(&secret);
    insta::assert_snapshot!(shown(&secret));
}

#[test]
fn unknown_fields_are_sent_to_the_server() {
    let yaml = "
sonobuoy-config: {driver: Job, plugin-name: new}
spec: {name: plugin, image: i, checkpointPolicy: {every: 5m}}
podSpec: {futureField: [1, {a: null}], containers: [{name: s, image: i, novelty: true}], volumes: [{name: v, dream: {size: 1}}]}
extra-volumes: [{name: w, wish: 2}]
";
    let pod = workload(&stage(), &definition(yaml), SESSION, &access(), None).unwrap();
    let spec = &pod["spec"];
    assert_eq!(spec["futureField"], json!([1, {"a": null}]));
    assert_eq!(spec["containers"][0]["novelty"], true);
    assert_eq!(spec["containers"][1]["checkpointPolicy"], json!({"every": "5m"}));
    assert_eq!(spec["volumes"][0]["dream"], json!({"size": 1}));
    assert_eq!(spec["volumes"][2]["wish"], 2);
    assert!(spec.get("restartPolicy").is_none(), "no defaults are merged into a podSpec");
}
