//! The aggregator: its pod, storage, Service and NetworkPolicy.

use std::collections::BTreeMap;

use plumbline_core::config::{SecurityContextMode, Storage};
use plumbline_core::limits::POD_MEMORY;
use plumbline_core::{Config, Definition};
use serde_json::{Map, Value, json};

use super::objects::{labels, put};
use super::options::ManifestOptions;
use crate::driver::default_pod_spec;
use crate::names;

/// The name of the volume claim for the run and its archive.
const CLAIM: &str = "plumbline-output";

const CONFIG_VOLUME: &str = "sonobuoy-config-volume";
const PLUGINS_VOLUME: &str = "sonobuoy-plugins-volume";
const MODULES_VOLUME: &str = "plumbline-modules-volume";
const PULL_SECRET_VOLUME: &str = "plumbline-pull-secret-volume";
const OUTPUT_VOLUME: &str = "output-volume";
const SCRATCH_VOLUME: &str = "scratch-volume";

/// A directory on the volume for temporary files.
const CACHE_DIR: &str = "/tmp/cache";

/// The user and group IDs of Sonobuoy's aggregator.
const USER: u32 = 1000;
const GROUP: u32 = 3000;
const FILES_GROUP: u32 = 2000;

/// Returns the volume claim. It outlives the pod, so the archive can be read from it if the
/// aggregator's node is lost.
pub(super) fn claim(config: &Config, size: &str, class: Option<&str>) -> Value {
    let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
    if let Some(class) = class {
        put(&mut spec, "storageClassName", json!(class));
    }
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "namespace": config.namespace, "labels": labels()},
        "spec": spec,
    })
}

/// Returns the pod, with definitions from the ConfigMaps `plugins` and modules from `modules`.
pub(super) fn pod(options: &ManifestOptions, plugins: &[String], modules: &[String]) -> Value {
    let config = &options.config;
    let mut metadata = json!({
        "name": names::AGGREGATOR_POD,
        "namespace": config.namespace,
        "labels": {
            (names::COMPONENT_LABEL): names::COMPONENT_VALUE,
            (names::ROLE_LABEL): names::AGGREGATOR,
            (names::TIER_LABEL): names::TIER_VALUE,
        },
    });
    if !config.custom_annotations.is_empty() {
        put(&mut metadata, "annotations", json!(config.custom_annotations));
    }

    // The image exists only for Linux. On a mixed cluster, the pod must not be scheduled elsewhere.
    let mut nodes: BTreeMap<&str, &str> = BTreeMap::from([("kubernetes.io/os", "linux")]);
    nodes.extend(options.aggregator_node_selector.iter().map(|(key, value)| (key.as_str(), value.as_str())));

    let mut spec = json!({
        "containers": [container(options, modules)],
        "nodeSelector": nodes,
        // A killed aggregator resumes from its journal. Sonobuoy's uses `Never` and loses the run.
        "restartPolicy": "OnFailure",
        "serviceAccountName": config.service_account_name,
        "tolerations": tolerations(config),
        "volumes": volumes(config, plugins, modules),
    });
    if !config.image_pull_secrets.is_empty() {
        put(&mut spec, "imagePullSecrets", json!([{"name": config.image_pull_secrets}]));
    }
    if let Some(context) = pod_security(config.security_context_mode) {
        put(&mut spec, "securityContext", context);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

fn container(options: &ManifestOptions, modules: &[String]) -> Value {
    let config = &options.config;
    let level = options.log_level.as_str();
    let verbosity = match level {
        "trace" => 6,
        "debug" => 5,
        _ => 4,
    };
    let mut mounts = vec![
        json!({"name": CONFIG_VOLUME, "mountPath": names::CONFIG_DIR}),
        json!({"name": PLUGINS_VOLUME, "mountPath": names::PLUGINS_DIR}),
        // The root file system is read-only, and libraries expect a directory for temporary files.
        json!({"name": SCRATCH_VOLUME, "mountPath": "/tmp"}),
        json!({"name": OUTPUT_VOLUME, "mountPath": names::AGGREGATOR_DIR}),
    ];
    if !modules.is_empty() {
        mounts.push(json!({"name": MODULES_VOLUME, "mountPath": names::MODULES_DIR}));
    }
    if pull_secret(config).is_some() {
        mounts.push(json!({"name": PULL_SECRET_VOLUME, "mountPath": names::PULL_SECRET_DIR, "readOnly": true}));
    }
    let mut container = json!({
        "name": names::AGGREGATOR_CONTAINER,
        "image": config.worker_image,
        "imagePullPolicy": config.image_pull_policy,
        "command": [names::BINARY],
        "args": ["aggregator", "--no-exit", format!("--level={level}"), format!("-v={verbosity}"), "--alsologtostderr"],
        "env": env(options),
        "volumeMounts": mounts,
        // The requests cover an idle aggregator. The memory limit leaves room for modules. There is
        // no CPU limit, because a slow aggregator helps nobody. If a node's disk is full, pods that
        // use more than they request are evicted first, so the journal, errors and archive get 1
        // GiB.
        "resources": {
            "requests": {"cpu": "50m", "ephemeral-storage": "1Gi", "memory": "64Mi"},
            "limits": {"memory": format!("{}Gi", POD_MEMORY >> 30)},
        },
        // The probe runs until it first succeeds: the pod is ready when the binary runs on this
        // node. There is no later probe. The server closes when the run is over, while the pod
        // stays for the download of the archive. A port probe would then restart the pod. In a run
        // of a few seconds it might never see the port open. The heartbeat in the status shows that
        // the aggregator is alive.
        "startupProbe": {
            "exec": {"command": [names::BINARY, "version", "--short"]},
            "periodSeconds": 2,
            "timeoutSeconds": 10,
            "failureThreshold": 60,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    });
    let own = &config.plumbline;
    if !own.upload_secret.is_empty() {
        // All keys are passed on, because only the storage client knows which ones it needs.
        put(&mut container, "envFrom", json!([{"secretRef": {"name": own.upload_secret}}]));
    }
    if config.security_context_mode != SecurityContextMode::None {
        let context = json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        });
        put(&mut container, "securityContext", context);
    }
    container
}

fn env(options: &ManifestOptions) -> Value {
    let field = |name: &str, path: &str| (name.to_owned(), json!({"valueFrom": {"fieldRef": {"fieldPath": path}}}));
    let mut variables: BTreeMap<String, Value> = BTreeMap::from([
        field("SONOBUOY_ADVERTISE_IP", "status.podIP"),
        field("SONOBUOY_NAMESPACE", "metadata.namespace"),
        field("SONOBUOY_POD", "metadata.name"),
        // The directory for compiled modules. By default it is below the home directory, which this
        // user does not have.
        ("XDG_CACHE_HOME".to_owned(), json!({"value": CACHE_DIR})),
    ]);
    if pull_secret(&options.config).is_some() {
        variables.insert("DOCKER_CONFIG".to_owned(), json!({"value": names::PULL_SECRET_DIR}));
    }
    for (name, value) in &options.aggregator_env {
        match value.as_str() {
            "" => drop(variables.remove(name)),
            value => drop(variables.insert(name.clone(), json!({"value": value}))),
        }
    }
    let list = variables.into_iter().map(|(name, mut variable)| {
        put(&mut variable, "name", Value::String(name));
        variable
    });
    list.collect()
}

fn volumes(config: &Config, plugins: &[String], modules: &[String]) -> Value {
    let output = match config.plumbline.storage {
        Storage::Pod => json!({"name": OUTPUT_VOLUME, "emptyDir": {}}),
        Storage::Claim { .. } => json!({"name": OUTPUT_VOLUME, "persistentVolumeClaim": {"claimName": CLAIM}}),
    };
    let mut volumes = vec![
        json!({"name": CONFIG_VOLUME, "configMap": {"name": names::CONFIG_MAP}}),
        from_config_maps(PLUGINS_VOLUME, plugins),
        json!({"name": SCRATCH_VOLUME, "emptyDir": {}}),
        output,
    ];
    if !modules.is_empty() {
        volumes.push(from_config_maps(MODULES_VOLUME, modules));
    }
    if let Some(secret) = pull_secret(config) {
        volumes.push(json!({
            "name": PULL_SECRET_VOLUME,
            "secret": {
                "secretName": secret,
                "items": [{"key": ".dockerconfigjson", "path": "config.json"}],
                // The pod must not wait for a missing Secret or one of another type, because images
                // may be pullable without it.
                "optional": true,
            },
        }));
    }
    Value::Array(volumes)
}

/// Returns the Secret that the aggregator itself needs to download bundles from registries.
///
/// The kubelet reads it, so no permission on Secrets is needed.
fn pull_secret(config: &Config) -> Option<&str> {
    let fetches = config.plumbline.bundles.iter().any(|bundle| !bundle.reference.is_empty());
    (fetches && !config.image_pull_secrets.is_empty()).then_some(config.image_pull_secrets.as_str())
}

/// Returns a volume with the files of all these ConfigMaps in one directory.
fn from_config_maps(volume: &str, maps: &[String]) -> Value {
    match maps {
        [one] => json!({"name": volume, "configMap": {"name": one}}),
        maps => {
            let sources: Vec<_> = maps.iter().map(|map| json!({"configMap": {"name": map}})).collect();
            json!({"name": volume, "projected": {"sources": sources}})
        }
    }
}

/// Returns the tolerations: control planes under both names, for clusters without other nodes, and
/// then the configured ones.
fn tolerations(config: &Config) -> Value {
    let mut list = vec![
        json!({"key": "kubernetes.io/e2e-evict-taint-key", "operator": "Exists"}),
        json!({"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}),
        json!({"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"}),
    ];
    list.extend(config.aggregator_tolerations.iter().map(|toleration| json!(toleration)));
    Value::Array(list)
}

/// Returns the pod's security context.
///
/// `nonroot` uses Sonobuoy's IDs and satisfies the Pod Security level `restricted`. `platform`
/// leaves the IDs to the cluster: OpenShift assigns a range to each namespace and rejects all other
/// IDs.
fn pod_security(mode: SecurityContextMode) -> Option<Value> {
    let mut context = Map::from_iter([
        ("runAsNonRoot".to_owned(), json!(true)),
        ("seccompProfile".to_owned(), json!({"type": "RuntimeDefault"})),
    ]);
    match mode {
        SecurityContextMode::None => return None,
        SecurityContextMode::Platform => {}
        SecurityContextMode::NonRoot => context.extend([
            ("runAsUser".to_owned(), json!(USER)),
            ("runAsGroup".to_owned(), json!(GROUP)),
            ("fsGroup".to_owned(), json!(FILES_GROUP)),
        ]),
    }
    Some(Value::Object(context))
}

/// Returns the Service in front of the aggregator.
pub(super) fn service(config: &Config) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": names::AGGREGATOR_SERVICE,
            "namespace": config.namespace,
            "labels": {
                (names::COMPONENT_LABEL): names::COMPONENT_VALUE,
                (names::ROLE_LABEL): names::AGGREGATOR,
            },
        },
        "spec": {
            "type": "ClusterIP",
            "selector": {(names::ROLE_LABEL): names::AGGREGATOR},
            "ports": [{
                "port": names::AGGREGATOR_PORT,
                "protocol": "TCP",
                "targetPort": config.server.bind_port,
            }],
        },
    })
}

/// Returns a policy that lets only pods of the run connect to the aggregator's port.
///
/// A pod on the host network has the IP address of its node, which no selector describes. With such
/// a plugin the port is open to every address, and every other port is closed.
pub(super) fn network_policy(options: &ManifestOptions) -> Value {
    let config = &options.config;
    let port = json!({"port": config.server.bind_port, "protocol": "TCP"});
    let mut rule = json!({"ports": [port]});
    if !options.plugins.iter().any(|plugin| uses_host_network(&plugin.definition)) {
        put(&mut rule, "from", json!([{"podSelector": {"matchLabels": labels()}}]));
    }
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": names::NETWORK_POLICY, "namespace": config.namespace, "labels": labels()},
        "spec": {
            "podSelector": {"matchLabels": {
                (names::COMPONENT_LABEL): names::COMPONENT_VALUE,
                (names::ROLE_LABEL): names::AGGREGATOR,
            }},
            "policyTypes": ["Ingress"],
            "ingress": [rule],
        },
    })
}

/// Returns true if the plugin's pods use the network of their node.
pub(super) fn uses_host_network(definition: &Definition) -> bool {
    let spec = definition.pod_spec.clone().unwrap_or_else(|| default_pod_spec(definition.driver));
    spec.get("hostNetwork").and_then(Value::as_bool).unwrap_or_default()
}
