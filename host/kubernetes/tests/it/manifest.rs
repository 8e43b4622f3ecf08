//! The initial objects of a run, as printed and as the API server parses them.

mod golden;
mod prepared;
mod refused;
mod variants;

use std::sync::Arc;

use plumbline_core::config::Permissions;
use plumbline_core::{Config, Definition};
use plumbline_dev::schema;
use plumbline_kubernetes::manifest::{ManifestOptions, ManifestPlugin, Transform, manifest, prepare_definition};
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

/// These documents must not depend on the version of this program.
pub(super) fn config() -> Config {
    Config {
        version: "v0.0.0".to_owned(),
        worker_image: "example.org/plumbline:v0.0.0".to_owned(),
        ..Config::default()
    }
}

/// Returns the definition as `gen` prepares it for a cluster with a known version.
pub(super) fn prepare(yaml: &str, config: &Config, transform: &Transform) -> Definition {
    prepare_definition(&definition(yaml), &versioned(config), transform).unwrap()
}

pub(super) fn versioned(config: &Config) -> Config {
    let mut config = config.clone();
    config.plumbline.kubernetes_version = "v1.30.2".to_owned();
    config
}

/// Returns options for a plugin, as `gen` creates them.
pub(super) fn options(mode: Permissions, yaml: &str) -> ManifestOptions {
    let config = Config { aggregator_permissions: mode, ..config() };
    let prepared = prepare(yaml, &config, &Transform::default());
    let plugin = ManifestPlugin { definition: Arc::new(prepared), modules: Vec::new() };
    let create_namespace = matches!(mode, Permissions::Minimal | Permissions::ClusterAdmin);
    ManifestOptions { create_namespace, ..ManifestOptions::new(config, vec![plugin]) }
}

/// Returns the objects after checking that an API server accepts each one and knows all of its
/// fields.
pub(super) fn made(options: &ManifestOptions) -> Vec<Value> {
    let objects = manifest(options).unwrap();
    for object in &objects {
        schema::check(object).unwrap_or_else(|what| panic!("{what}"));
    }
    objects
}

pub(super) fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}
