//! The aggregator: its pod, storage, Service and NetworkPolicy.

use std::collections::BTreeMap;

use plumbline_core::Config;
use plumbline_core::config::{SecurityContextMode, Storage};
use plumbline_core::limits::POD_MEMORY;
use serde_json::{Value, json};

use super::options::{ManifestOptions, ManifestPlugin};
use crate::driver::uses_host_network;
use crate::names;
use crate::parts::{
    config_maps_volume, confined, field_variable, labels, merged, name, object, put, variable, without_nulls,
};

/// The name of the volume claim for the run and its archive.
const CLAIM: &str = "plumbline-output";

/// The name of the port for metrics, by which monitors find it.
const METRICS: &str = "metrics";

const OUTPUT_VOLUME: &str = "output-volume";

/// A directory on the volume for temporary files.
const CACHE_DIR: &str = "/tmp/cache";

/// Returns the volume claim. It outlives the pod, so the archive can be read from it if the
/// aggregator's node is lost.
pub(super) fn claim(config: &Config, size: &str, class: Option<&str>) -> Value {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": class,
    });
    object(&config.namespace, "v1", "PersistentVolumeClaim", CLAIM, json!({"spec": without_nulls(spec)}))
}

/// Returns the pod, with definitions from the ConfigMaps `plugins` and modules from `modules`.
pub(super) fn pod(options: &ManifestOptions, plugins: &[String], modules: &[String]) -> Value {
    let config = &options.config;
    let annotations = Some(&config.custom_annotations).filter(|all| !all.is_empty());
    let mut labels = role_labels();
    put(&mut labels, names::TIER_LABEL, json!(names::TIER_VALUE));
    let metadata = json!({
        "name": names::AGGREGATOR_POD,
        "namespace": config.namespace,
        "labels": labels,
        "annotations": annotations,
    });
    // The image exists only for Linux. On a mixed cluster, the pod must not be scheduled elsewhere.
    let mut nodes: BTreeMap<&str, &str> = BTreeMap::from([("kubernetes.io/os", "linux")]);
    nodes.extend(options.aggregator_node_selector.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let pull_secret = Some(&config.image_pull_secrets).filter(|name| !name.is_empty());
    let volumes = volumes(config, plugins, modules);
    let spec = json!({
        "containers": [container(options, &volumes)],
        "imagePullSecrets": pull_secret.map(|name| json!([{"name": name}])),
        "nodeSelector": nodes,
        // A killed aggregator resumes from its journal. Sonobuoy's uses `Never` and loses the run.
        "restartPolicy": "OnFailure",
        "securityContext": pod_security(config.security_context_mode),
        "serviceAccountName": config.service_account_name,
        "tolerations": tolerations(config),
        "volumes": volumes.into_iter().map(|(_, volume)| volume).collect::<Vec<_>>(),
    });
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": without_nulls(metadata), "spec": without_nulls(spec)})
}

fn container(options: &ManifestOptions, volumes: &[(&str, Value)]) -> Value {
    let config = &options.config;
    let level = options.log_level.as_str();
    let verbosity = match level {
        "trace" => 6,
        "debug" => 5,
        _ => 4,
    };
    // The end of a scheduled run is the end of its Job.
    let stays = config.plumbline.schedule.is_none().then(|| "--no-exit".to_owned());
    let log = [format!("--level={level}"), format!("-v={verbosity}"), "--alsologtostderr".to_owned()];
    let args: Vec<String> = ["aggregator".to_owned()].into_iter().chain(stays).chain(log).collect();
    let own = &config.plumbline;
    let secrets = [&own.upload_secret, &own.telemetry.otlp_secret].into_iter().filter(|name| !name.is_empty());
    let secrets: Vec<Value> = secrets.map(|name| json!({"secretRef": {"name": name}})).collect();
    let confined = (config.security_context_mode != SecurityContextMode::None).then(confined);
    without_nulls(json!({
        "name": names::AGGREGATOR_CONTAINER,
        "image": config.worker_image,
        "imagePullPolicy": config.image_pull_policy,
        "command": [names::BINARY],
        "args": args,
        "env": env(options),
        // All keys are passed on, because only the storage client knows which ones it needs.
        "envFrom": (!secrets.is_empty()).then_some(secrets),
        "ports": metrics_port(config).map(|port| json!([{"containerPort": port, "name": METRICS, "protocol": "TCP"}])),
        "volumeMounts": mounts(volumes),
        // The requests cover an idle aggregator. The memory limit leaves room for modules. There is
        // no CPU limit, because a slow aggregator helps nobody. If a node's disk is full, pods that
        // use more than they request are evicted first, so the journal, errors and archive get 1
        // GiB.
        "resources": {
            "requests": {"cpu": "50m", "ephemeral-storage": "1Gi", "memory": "64Mi"},
            "limits": {"memory": format!("{}Gi", POD_MEMORY >> 30)},
        },
        "securityContext": confined,
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
    }))
}

fn env(options: &ManifestOptions) -> Vec<Value> {
    let mut variables = vec![
        field_variable("SONOBUOY_ADVERTISE_IP", "status.podIP"),
        field_variable("SONOBUOY_NAMESPACE", "metadata.namespace"),
        field_variable("SONOBUOY_POD", "metadata.name"),
        // The directory for compiled modules. By default it is below the home directory, which this
        // user does not have.
        variable("XDG_CACHE_HOME", CACHE_DIR),
    ];
    if pull_secret(&options.config).is_some() {
        variables.push(variable("DOCKER_CONFIG", names::PULL_SECRET_DIR));
    }
    if options.config.plumbline.schedule.is_some() {
        let of_job = [(names::JOB_VARIABLE, names::JOB_LABEL), (names::JOB_UID_VARIABLE, names::JOB_UID_LABEL)];
        variables.extend(of_job.map(|(name, label)| field_variable(name, &format!("metadata.labels['{label}']"))));
    }
    let mut variables = merged(variables, &options.aggregator_env);
    variables.sort_by(|one, other| name(one).cmp(&name(other)));
    variables
}

/// Returns the volumes, each with its mount point.
fn volumes(config: &Config, plugins: &[String], modules: &[String]) -> Vec<(&'static str, Value)> {
    let output = match config.plumbline.storage {
        Storage::Pod => json!({"name": OUTPUT_VOLUME, "emptyDir": {}}),
        Storage::Claim { .. } => json!({"name": OUTPUT_VOLUME, "persistentVolumeClaim": {"claimName": CLAIM}}),
    };
    let config_volume = json!({"name": "sonobuoy-config-volume", "configMap": {"name": names::CONFIG_MAP}});
    let mut volumes = vec![(names::CONFIG_DIR, config_volume)];
    if !plugins.is_empty() {
        volumes.push((names::PLUGINS_DIR, config_maps_volume("sonobuoy-plugins-volume", plugins)));
    }
    // The root file system is read-only, and libraries expect a directory for temporary files.
    volumes.push(("/tmp", json!({"name": "scratch-volume", "emptyDir": {}})));
    volumes.push((names::AGGREGATOR_DIR, output));
    if !modules.is_empty() {
        volumes.push((names::MODULES_DIR, config_maps_volume("plumbline-modules-volume", modules)));
    }
    if let Some(secret) = pull_secret(config) {
        let secret = json!({
            "secretName": secret,
            "items": [{"key": ".dockerconfigjson", "path": "config.json"}],
            // The pod must not wait for a missing Secret or one of another type, because images may
            // be pullable without it.
            "optional": true,
        });
        volumes.push((names::PULL_SECRET_DIR, json!({"name": "plumbline-pull-secret-volume", "secret": secret})));
    }
    volumes
}

fn mounts(volumes: &[(&str, Value)]) -> Vec<Value> {
    let mount = |(path, volume): &(&str, Value)| {
        let read_only = volume.get("secret").is_some().then_some(true);
        without_nulls(json!({"name": volume.get("name"), "mountPath": path, "readOnly": read_only}))
    };
    volumes.iter().map(mount).collect()
}

/// Returns the Secret that the aggregator itself needs to download bundles from registries.
///
/// The kubelet reads it, so no permission on Secrets is needed.
fn pull_secret(config: &Config) -> Option<&str> {
    let fetches = config.plumbline.bundles.iter().any(|bundle| !bundle.reference.is_empty());
    (fetches && !config.image_pull_secrets.is_empty()).then_some(config.image_pull_secrets.as_str())
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
/// `nonroot` uses the user and group IDs of Sonobuoy's aggregator, and satisfies the Pod Security
/// level `restricted`. `platform` leaves the IDs to the cluster: OpenShift assigns a range to each
/// namespace and rejects all other IDs.
fn pod_security(mode: SecurityContextMode) -> Option<Value> {
    let (user, group, files_group) = match mode {
        SecurityContextMode::None => return None,
        SecurityContextMode::Platform => (None, None, None),
        SecurityContextMode::NonRoot => (Some(1000), Some(3000), Some(2000)),
    };
    Some(without_nulls(json!({
        "runAsNonRoot": true,
        "runAsUser": user,
        "runAsGroup": group,
        "fsGroup": files_group,
        "seccompProfile": {"type": "RuntimeDefault"},
    })))
}

fn metrics_port(config: &Config) -> Option<u16> {
    Some(config.plumbline.telemetry.metrics_port).filter(|port| *port != 0)
}

/// Returns the labels that distinguish the aggregator from plugins.
fn role_labels() -> Value {
    json!({(names::COMPONENT_LABEL): names::COMPONENT_VALUE, (names::ROLE_LABEL): names::AGGREGATOR})
}

pub(super) fn service(config: &Config) -> Value {
    let port = json!({
        "port": names::AGGREGATOR_PORT,
        "protocol": "TCP",
        "targetPort": config.server.bind_port,
    });
    let selector = json!({(names::ROLE_LABEL): names::AGGREGATOR});
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": names::AGGREGATOR_SERVICE, "namespace": config.namespace, "labels": role_labels()},
        "spec": {"type": "ClusterIP", "selector": selector, "ports": [port]},
    })
}

/// Returns a policy that lets only pods of the run connect to the aggregator's port. The port for
/// metrics is open, because a policy cannot know where the monitoring of the cluster is.
///
/// A pod on the host network has the IP address of its node, which no selector describes. With such
/// a plugin the port is open to every address, and every other port is closed.
pub(super) fn network_policy(options: &ManifestOptions) -> Value {
    let config = &options.config;
    let on_host = |plugin: &&ManifestPlugin| uses_host_network(&plugin.definition, config.namespace_psa_enforce_level);
    let from_run = !options.sorted_plugins().iter().any(on_host);
    let rule = json!({
        "ports": [{"port": config.server.bind_port, "protocol": "TCP"}],
        "from": from_run.then(|| json!([{"podSelector": {"matchLabels": labels()}}])),
    });
    let metrics = metrics_port(config).map(|port| json!({"ports": [{"port": port, "protocol": "TCP"}]}));
    let rules: Vec<Value> = std::iter::once(without_nulls(rule)).chain(metrics).collect();
    let spec = json!({
        "podSelector": {"matchLabels": role_labels()},
        "policyTypes": ["Ingress"],
        "ingress": rules,
    });
    object(&config.namespace, "networking.k8s.io/v1", "NetworkPolicy", names::NETWORK_POLICY, json!({"spec": spec}))
}
