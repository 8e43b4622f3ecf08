//! The objects that a run begins with, as they are printed and as the API server reads them.

mod golden;
mod prepared;
mod refused;
mod variants;

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use plumbline_core::config::Permissions;
use plumbline_core::{Config, Definition};
use plumbline_kubernetes::manifest::{ManifestOptions, ManifestPlugin, Transform, manifest, prepare_definition};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) const JOB: &str = r#"
sonobuoy-config: {driver: Job, plugin-name: probe, result-format: junit}
spec:
  name: plugin
  image: example.org/probe:$SONOBUOY_K8S_VERSION
  command: ["./run.sh"]
config-map:
  settings.yaml: |
    deep: [1, 2]
"#;

pub(super) const DAEMON_SET: &str = r#"
sonobuoy-config: {driver: DaemonSet, plugin-name: disks, result-format: raw, order: 2}
spec:
  name: plugin
  image: example.org/disks:v1
  command: [/bin/sh, -c]
  args: ["df > $RESULTS_DIR/df\nprintf '%s' \"$RESULTS_DIR/df\" > $RESULTS_DIR/done\n"]
podSpec:
  tolerations: [{operator: Exists}]
  containers: [{name: helper, image: "example.org/helper:v1", env: [{name: A, value: "1"}]}]
"#;

pub(super) fn definition(yaml: &str) -> Definition {
    Definition::parse(yaml).unwrap().definition
}

/// The version of this program changes, these documents do not.
pub(super) fn config() -> Config {
    Config {
        version: "v0.0.0".to_owned(),
        worker_image: "example.org/plumbline:v0.0.0".to_owned(),
        ..Config::default()
    }
}

pub(super) fn transform(config: &Config) -> Transform {
    Transform { kubernetes_version: Some("v1.30.2".to_owned()), ..Transform::of(config) }
}

/// Options for a plugin, as `gen` makes them.
pub(super) fn options(mode: Permissions, yaml: &str) -> ManifestOptions {
    let config = Config { aggregator_permissions: mode, ..config() };
    let prepared = prepare_definition(&definition(yaml), &transform(&config)).unwrap();
    let plugin = ManifestPlugin { definition: Arc::new(prepared), modules: Vec::new() };
    let create_namespace = matches!(mode, Permissions::Minimal | Permissions::ClusterAdmin);
    ManifestOptions { create_namespace, ..ManifestOptions::new(config, vec![plugin]) }
}

/// The objects, each of which an API server understands to the last field.
pub(super) fn made(options: &ManifestOptions) -> Vec<Value> {
    let objects = manifest(options).unwrap();
    objects.iter().for_each(understood);
    objects
}

pub(super) fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

/// A field that the type does not know would be lost on the way through it; one of another type is refused by it.
fn understood(object: &Value) {
    fn through<T: DeserializeOwned + Serialize>(object: &Value) {
        let typed: T = serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object:#}"));
        assert_eq!(&serde_json::to_value(typed).unwrap(), object);
    }
    match object["kind"].as_str().unwrap() {
        "Namespace" => through::<Namespace>(object),
        "ServiceAccount" => through::<ServiceAccount>(object),
        "Secret" => through::<Secret>(object),
        "ConfigMap" => through::<ConfigMap>(object),
        "ClusterRole" => through::<ClusterRole>(object),
        "ClusterRoleBinding" => through::<ClusterRoleBinding>(object),
        "Role" => through::<Role>(object),
        "RoleBinding" => through::<RoleBinding>(object),
        "PersistentVolumeClaim" => through::<PersistentVolumeClaim>(object),
        "Pod" => through::<Pod>(object),
        "Service" => through::<Service>(object),
        other => panic!("an object of kind `{other}`"),
    }
}
