//! The rules of the drivers, one test for each.

use k8s_openapi::api::core::v1::Secret;
use plumbline_core::RunId;
use plumbline_core::config::PodSecurity;
use plumbline_kubernetes::driver::{DriverError, Stage, WorkerSecurity, progress_ports, secret, workload};
use plumbline_phonehome::{RunCa, Timestamp, client_config};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::samples::{DAEMON_SET, JOB, SESSION, access, definition, stage};

fn job(pod_spec: &str, spec: &str) -> String {
    format!("sonobuoy-config: {{driver: Job, plugin-name: p}}\nspec: {spec}\npodSpec: {pod_spec}\n")
}

fn refused(yaml: &str) -> DriverError {
    workload(&stage(), &definition(yaml), SESSION, &access(), None).unwrap_err()
}

fn container<'a>(pod: &'a Value, list: &str, name: &str) -> &'a Value {
    pod["spec"][list].as_array().unwrap().iter().find(|container| container["name"] == name).unwrap()
}

fn variable<'a>(container: &'a Value, name: &str) -> Vec<&'a Value> {
    container["env"].as_array().unwrap().iter().filter(|variable| variable["name"] == name).collect()
}

#[test]
fn a_definition_that_cannot_run_is_rejected_by_name() {
    let long = "a".repeat(64);
    let error = refused(&JOB.replace("hello", &long));
    assert!(matches!(&error, DriverError::LabelTooLong { value, .. } if *value == long), "{error}");
    let error = refused(&JOB.replace("hello", &"a".repeat(250)));
    assert!(error.to_string().contains("too long"), "{error}");
    let error = refused(&JOB.replace("Job", "Process"));
    assert!(matches!(error, DriverError::Process(_)), "{error}");
    let error = refused(&job("{containers: [{name: sonobuoy-worker}]}", "{name: plugin, image: i}"));
    assert!(matches!(error, DriverError::ContainerReserved(_)), "{error}");
    let error = refused(&job("{initContainers: [{name: same}]}", "{name: same, image: i}"));
    assert!(matches!(error, DriverError::ContainerTwice(..)), "{error}");
    let error = refused(&job("{containers: {name: a}}", "{name: plugin, image: i}"));
    assert_eq!(error.to_string(), "plugin `p`: `podSpec.containers` is not a list");
    let error = refused(&job("{containers: [{name: a}, 7]}", "{name: plugin, image: i}"));
    assert_eq!(error.to_string(), "plugin `p`: `podSpec.containers[1]` is not a mapping");
    let error = refused(&job("{}", "{name: plugin, image: i, volumeMounts: all}"));
    assert_eq!(error.to_string(), "plugin `p`: `spec.volumeMounts` is not a list");
}

#[test]
fn plugin_and_sidecars_find_the_results_directory_of_the_run() {
    let yaml = job(
        "{containers: [{name: side}]}",
        "{name: plugin, image: i, env: [{name: RESULTS_DIR, value: /tmp/results}], volumeMounts: [{name: results, mountPath: /tmp/results}]}",
    );
    let stage = Stage { results_dir: "/results".into(), ..stage() };
    let object = workload(&stage, &definition(&yaml), SESSION, &access(), None).unwrap();
    for name in ["side", "plugin", "sonobuoy-worker"] {
        let container = container(&object, "containers", name);
        assert_eq!(container["volumeMounts"], json!([{"name": "results", "mountPath": "/results"}]), "{name}");
        for dir in ["RESULTS_DIR", "SONOBUOY_RESULTS_DIR"] {
            assert_eq!(variable(container, dir), [&json!({"name": dir, "value": "/results"})], "{name}");
        }
    }
    let stage = Stage { disable_reconciliation: true, ..stage };
    let object = workload(&stage, &definition(&yaml), SESSION, &access(), None).unwrap();
    let plugin = container(&object, "containers", "plugin");
    assert_eq!(plugin["volumeMounts"], json!([{"name": "results", "mountPath": "/tmp/results"}]));
    assert_eq!(plugin["env"], json!([{"name": "RESULTS_DIR", "value": "/tmp/results"}]));
    assert_eq!(container(&object, "containers", "side"), &json!({"name": "side"}));
    assert_eq!(container(&object, "containers", "sonobuoy-worker")["volumeMounts"][0]["mountPath"], "/results");
}

#[test]
fn a_definition_may_bring_the_results_volume() {
    let yaml = job("{volumes: [{name: results, emptyDir: {sizeLimit: 5Gi}}]}", "{name: plugin, image: i}");
    let object = workload(&stage(), &definition(&yaml), SESSION, &access(), None).unwrap();
    assert_eq!(object["spec"]["volumes"], json!([{"name": "results", "emptyDir": {"sizeLimit": "5Gi"}}]));
}

#[test]
fn a_pull_secret_is_not_named_twice() {
    let yaml = job("{imagePullSecrets: [{name: registry}]}", "{name: plugin, image: i}");
    let stage = Stage { image_pull_secrets: Some("registry".into()), ..stage() };
    let object = workload(&stage, &definition(&yaml), SESSION, &access(), None).unwrap();
    assert_eq!(object["spec"]["imagePullSecrets"], json!([{"name": "registry"}]));
}

#[test]
fn a_grace_period_of_the_user_stays_and_daemon_sets_have_no_native_sidecar() {
    let stage = Stage { native_sidecar: true, ..stage() };
    let yaml = job("{terminationGracePeriodSeconds: 5}", "{name: plugin, image: i}");
    let object = workload(&stage, &definition(&yaml), SESSION, &access(), None).unwrap();
    assert_eq!(object["spec"]["terminationGracePeriodSeconds"], 5);
    assert_eq!(container(&object, "initContainers", "sonobuoy-worker")["restartPolicy"], "Always");
    let object = workload(&stage, &definition(DAEMON_SET), SESSION, &access(), None).unwrap();
    let spec = &object["spec"]["template"]["spec"];
    assert!(spec.get("initContainers").is_none());
    assert_eq!(spec["containers"][1]["name"], "sonobuoy-worker");
}

#[test]
fn a_worker_without_a_security_context_has_none() {
    let stage = Stage { security: WorkerSecurity::Off, ..stage() };
    let object = workload(&stage, &definition(JOB), SESSION, &access(), None).unwrap();
    assert!(container(&object, "containers", "sonobuoy-worker").get("securityContext").is_none());
}

#[test]
fn the_secret_serves_a_tls_client() {
    let run = RunId::random();
    let ca = RunCa::generate(&run, std::time::Duration::from_secs(3600), Timestamp::now()).unwrap();
    let issued = ca.issue_client(&"hello".parse().unwrap()).unwrap();
    let mut access = access();
    access.client_cert = issued.certificate_pem;
    access.client_key = issued.key_pem;
    let object = secret(&stage(), &definition(JOB), &run, &access);
    let data = serde_json::from_value::<Secret>(object).unwrap().data.unwrap();
    let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
    assert!(text("hello.key").starts_with("-----BEGIN EC PRIVATE KEY-----"), "workers in Go read SEC1 only");
    client_config(ca.certificate_pem(), &text("hello.crt"), &text("hello.key")).unwrap();
}

/// Generates JSON with a few levels, and with keys that have a meaning here.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "results|sonobuoy-worker|[a-z]{0,3}".prop_map(Value::from),
    ];
    let key =
        "containers|initContainers|volumes|imagePullSecrets|env|volumeMounts|securityContext|runAsUser|name|[a-z]{1,3}";
    leaf.prop_recursive(4, 40, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..5).prop_map(|map| Value::Object(Map::from_iter(map))),
        ]
    })
}

proptest! {
    #[test]
    fn any_pod_spec_is_taken_or_refused_and_nothing_in_it_is_lost(pod_spec in json(), native_sidecar: bool) {
        let Value::Object(fields) = &pod_spec else { return Ok(()) };
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "p"},
            "spec": {"name": "plugin"},
            "podSpec": pod_spec,
        });
        let Ok(parsed) = plumbline_core::definition::Definition::from_json(document) else { return Ok(()) };
        let stage = Stage { native_sidecar, ..stage() };
        if let Ok(object) = workload(&stage, &parsed.definition, SESSION, &access(), None) {
            let spec = object["spec"].as_object().unwrap();
            for (key, value) in fields {
                let added = |value: &Value| value.as_array().map(Vec::len).unwrap_or_default();
                match key.as_str() {
                    "containers" | "initContainers" | "volumes" | "imagePullSecrets" =>
                        prop_assert!(spec.get(key).map(added).unwrap_or_default() >= added(value)),
                    _ => prop_assert_eq!(spec.get(key), Some(value)),
                }
            }
        }
    }
}

#[test]
fn plugins_on_the_network_of_their_nodes_have_ports_of_their_own() {
    let named = |name: &str| definition(&DAEMON_SET.replace("plugin-name: each", &format!("plugin-name: {name}")));
    let (first, second, third) = (named("a-logs"), named("b-logs"), named("c-logs"));
    let apart = definition(&job("{}", "{name: plugin, image: i}"));
    // The order of the run does not matter, and a Job has a network of its own.
    let ports = progress_ports([&*third, &*apart, &*first, &*second], PodSecurity::Privileged, "8099");
    let lines: Vec<String> = ports.iter().map(|(name, port)| format!("{name} {port}")).collect();
    assert_eq!(lines, ["a-logs 8099", "b-logs 8100", "c-logs 8101"]);
    assert!(progress_ports([&*first], PodSecurity::Privileged, "0").is_empty(), "the system chooses");

    let stage = Stage { progress_ports: ports, ..stage() };
    let object = workload(&stage, &second, SESSION, &access(), None).unwrap();
    for name in ["plugin", "sonobuoy-worker"] {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        let is_worker = |container: &&Value| container["name"] == "sonobuoy-worker";
        let container = containers.iter().find(|of| is_worker(of) == (name == "sonobuoy-worker")).unwrap();
        let variables = variable(container, "SONOBUOY_PROGRESS_PORT");
        assert_eq!(variables, [&json!({"name": "SONOBUOY_PROGRESS_PORT", "value": "8100"})], "{name}");
    }
}

#[test]
fn a_port_of_another_plugin_that_is_written_into_a_plugin_is_refused() {
    let yaml = "sonobuoy-config: {driver: DaemonSet, plugin-name: b}\nspec: {name: plugin, image: i, \
                args: ['--report=http://localhost:8099/progress']}\n";
    let (first, second) = (definition(&yaml.replace("plugin-name: b", "plugin-name: a")), definition(yaml));
    let stage =
        Stage { progress_ports: progress_ports([&*first, &*second], PodSecurity::Privileged, "8099"), ..stage() };
    assert!(workload(&stage, &first, SESSION, &access(), None).is_ok(), "its own");
    let error = workload(&stage, &second, SESSION, &access(), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plugin `b` uses the host network, and its container `plugin` has the progress port 8099 of another plugin: use the variable `SONOBUOY_PROGRESS_PORT`, or set `hostNetwork: false` in its `podSpec`"
    );
}

#[test]
fn a_run_may_set_what_jobs_tolerate() {
    let tolerations = |stage: &Stage, yaml: &str| {
        workload(stage, &definition(yaml), SESSION, &access(), None).unwrap()["spec"]["tolerations"].clone()
    };
    let of_run = Stage { job_tolerations: Some(vec!["gpu=true:NoSchedule".parse().unwrap()]), ..stage() };
    let wanted = json!([{"key": "gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}]);
    assert_eq!(tolerations(&of_run, JOB), wanted);
    assert_eq!(tolerations(&Stage { job_tolerations: Some(Vec::new()), ..stage() }, JOB), json!([]));
    // A definition with its own pod spec also defines the tolerations.
    assert_eq!(tolerations(&of_run, &job("{}", "{name: plugin, image: i}")), Value::Null);
    assert_eq!(tolerations(&stage(), JOB).as_array().map(Vec::len), Some(4));
}
