//! The preparation of definitions for a cluster.

use plumbline_core::config::PullPolicy;
use plumbline_core::{Config, Definition};
use plumbline_kubernetes::manifest::{Transform, prepare_definition, to_document};
use serde_json::{Value, json};

use super::{DAEMON_SET, JOB, config, definition, prepare, versioned};

fn prepared(yaml: &str, transform: &Transform) -> Definition {
    prepare(yaml, &config(), transform)
}

#[test]
fn files_results_images_and_environment() {
    let of = |yaml| to_document(&prepared(yaml, &Transform::default()).to_json());
    insta::assert_snapshot!("prepared-job", of(JOB));
    insta::assert_snapshot!("prepared-daemonset", of(DAEMON_SET));
}

#[test]
fn doing_it_twice_is_doing_it_once() {
    for yaml in [JOB, DAEMON_SET] {
        let transform = Transform { show_pod_spec: true, ..Transform::default() };
        let once = prepared(yaml, &transform);
        assert_eq!(prepare_definition(&once, &versioned(&config()), &transform).unwrap(), once);
    }
}

#[test]
fn requested_changes_take_precedence() {
    let transform = Transform {
        image: Some("mirror/disks:v2".to_owned()),
        env: [("A", ""), ("SONOBUOY", "no"), ("NEW", "x")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        show_pod_spec: false,
    };
    let config = Config { image_pull_policy: PullPolicy::Always, force_image_pull_policy: true, ..config() };
    let json = prepare(DAEMON_SET, &config, &transform).to_json();
    assert_eq!(json["spec"]["image"], "mirror/disks:v2");
    assert_eq!(json["podSpec"]["containers"][0]["image"], "example.org/helper:v1", "only the plugin's own image");
    for container in [&json["spec"], &json["podSpec"]["containers"][0]] {
        assert_eq!(container["imagePullPolicy"], "Always");
        let env = container["env"].as_array().unwrap();
        let value = |name: &str| env.iter().find(|one| one["name"] == name).map(|one| one["value"].clone());
        assert_eq!(value("A"), None);
        assert_eq!(value("SONOBUOY"), Some(json!("no")));
        assert_eq!(value("NEW"), Some(json!("x")));
    }
}

#[test]
fn a_mount_of_results_elsewhere_is_moved() {
    let yaml = "
sonobuoy-config: {driver: Job, plugin-name: a.b}
spec: {image: i, volumeMounts: [{name: results, mountPath: /tmp/results, readOnly: false}]}
config-map: {x: y}";
    let json = prepared(yaml, &Transform::default()).to_json();
    let mounts = json["spec"]["volumeMounts"].as_array().unwrap();
    assert!(mounts.contains(&json!({"name": "results", "mountPath": "/tmp/sonobuoy/results", "readOnly": false})));
    // A volume name has no dots.
    let volume = json!({"name": "sonobuoy-a-b-vol", "configMap": {"name": "plugin-a.b-cm"}});
    assert_eq!(json["extra-volumes"], json!([volume]));
}

#[test]
fn the_default_pod_is_written_if_there_is_none() {
    let transform = Transform { show_pod_spec: true, ..Transform::default() };
    let job = prepared(JOB, &transform).to_json();
    assert!(job["podSpec"].get("serviceAccountName").is_none(), "each plugin gets an account of its own");
    let keys: Vec<&Value> = job["podSpec"]["tolerations"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert!(keys.contains(&&json!("node-role.kubernetes.io/control-plane")), "{keys:?}");
    assert!(prepared(DAEMON_SET, &transform).to_json()["podSpec"].get("hostPID").is_none(), "its own is left alone");
}

#[test]
fn a_container_without_an_image_gets_that_of_the_run() {
    let of = |spec: &str, transform: &Transform| {
        let yaml = format!("sonobuoy-config: {{driver: DaemonSet, plugin-name: p}}\nspec: {spec}");
        prepared(&yaml, transform).to_json()["spec"].clone()
    };
    let run = Transform::default();
    let filled = of("{command: [/sonobuoy], image: ''}", &run);
    assert_eq!(
        (&filled["image"], &filled["imagePullPolicy"]),
        (&json!("example.org/plumbline:v0.0.0"), &json!("IfNotPresent"))
    );
    let kept = of("{command: [/sonobuoy], imagePullPolicy: Never}", &run);
    assert_eq!((&kept["image"], &kept["imagePullPolicy"]), (&json!("example.org/plumbline:v0.0.0"), &json!("Never")));
    assert_eq!(of("{command: [a], image: i}", &run)["image"], "i");
    assert!(of("{name: plugin}", &run).get("image").is_none(), "nothing says what to execute in it");
    let other = Transform { image: Some("mirror/p:v2".to_owned()), ..run };
    assert_eq!(of("{command: [/sonobuoy]}", &other)["image"], "mirror/p:v2");
}

#[test]
fn an_invalid_list_is_rejected_with_the_reason() {
    let yaml = "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {image: i}\npodSpec: {containers: [{env: 1}]}";
    let error = prepare_definition(&definition(yaml), &config(), &Transform::default()).unwrap_err();
    assert_eq!(error.to_string(), "plugin `p`: `podSpec.containers[0].env` must be a list");
}
