//! Sample definitions and their environment.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_aggregator::WorkerAccess;
use plumbline_core::config::PodSecurity;
use plumbline_core::definition::Definition;
use plumbline_kubernetes::driver::{Stage, WorkerSecurity};
use serde_json::{Map, Value};

/// The run of [`stage`].
pub(crate) const RUN: &str = "7f3a9c00-0000-4000-8000-000000000001";

pub(crate) const SESSION: &str = "0123456789abcdef";

pub(crate) const JOB: &str = "
sonobuoy-config: {driver: Job, plugin-name: hello, result-format: raw}
spec: {name: plugin, image: 'example/hello:v1', command: [./run.sh]}
";

pub(crate) const DAEMON_SET: &str = "
sonobuoy-config: {driver: DaemonSet, plugin-name: each}
spec:
  name: probe
  image: example/probe:v1
  securityContext: {privileged: true}
  env: [{name: CHROOT_DIR, value: /node}, {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
  volumeMounts: [{name: root, mountPath: /node}, {name: results, mountPath: /tmp/results}]
";

/// A definition that was prepared for its cluster, with every supported field.
pub(crate) const FULL: &str = "
sonobuoy-config: {driver: Job, plugin-name: full, skip-cleanup: true}
spec:
  name: main
  image: example/full:v1
  imagePullPolicy: Always
  env:
    - {name: SONOBUOY_DONE_FILE_DELAY, value: 1s}
    - {name: AGGREGATOR_URL, value: 'https://elsewhere'}
    - {name: TARGET, value: $(RESULTS_DIR)/x}
    - {name: RESULTS_DIR, value: /tmp/results}
  volumeMounts:
    - {name: results, mountPath: /tmp/results, subPath: deep}
    - {name: sonobuoy-full-vol, mountPath: /tmp/sonobuoy/config}
podSpec:
  serviceAccountName: special
  restartPolicy: OnFailure
  priorityClassName: high
  securityContext: {runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000}
  imagePullSecrets: [{name: theirs}]
  containers:
    - {name: helper, image: 'example/helper:v1', ports: [{containerPort: 80}]}
  initContainers:
    - {name: prepare, image: 'example/prepare:v1'}
  volumes:
    - {name: cache, emptyDir: {sizeLimit: 1Gi}}
extra-volumes:
  - {name: sonobuoy-full-vol, configMap: {name: plugin-full-cm}}
config-map: {a.txt: text}
";

pub(crate) fn definition(yaml: &str) -> Arc<Definition> {
    Arc::new(Definition::parse(yaml).unwrap().definition)
}

pub(crate) fn stage() -> Stage {
    Stage {
        run: RUN.parse().unwrap(),
        namespace: "checks".into(),
        service_account: "sonobuoy-serviceaccount".into(),
        plugin_account: Some("plumbline-plugin".into()),
        worker_image: "example/plumbline:v1".into(),
        image_pull_policy: "IfNotPresent".into(),
        image_pull_secrets: None,
        custom_annotations: BTreeMap::new(),
        results_dir: "/tmp/sonobuoy/results".into(),
        progress_port: "8099".into(),
        progress_ports: BTreeMap::new(),
        job_tolerations: None,
        owner: Some(OwnerReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: "sonobuoy".into(),
            uid: "11111111-2222-3333-4444-555555555555".into(),
            ..OwnerReference::default()
        }),
        native_sidecar: false,
        pod_security: PodSecurity::Privileged,
        security: WorkerSecurity::LikePlugin,
        disable_reconciliation: false,
    }
}

pub(crate) fn access() -> WorkerAccess {
    WorkerAccess {
        aggregator_url: "https://10.0.0.7:8080".into(),
        ca_cert: "-----BEGIN CERTIFICATE-----\nca\n-----END CERTIFICATE-----\n".into(),
        client_cert: "certificate".into(),
        client_key: "key".into(),
    }
}

/// Formats JSON for people, independent of whether the build preserves key order.
pub(crate) fn shown(value: &Value) -> String {
    serde_json::to_string_pretty(&sorted(value)).unwrap()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            Value::Object(Map::from_iter(fields))
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
