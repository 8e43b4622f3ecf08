//! The pod spec of a plugin: the definition's containers and the worker.

use std::collections::{BTreeMap, BTreeSet};

use plumbline_aggregator::WorkerAccess;
use plumbline_core::config::{PodSecurity, Toleration};
use plumbline_core::definition::Definition;
use plumbline_core::{CHECK_VARIABLE, Driver, PluginName};
use serde_json::{Value, json};

use super::account::{PluginAccount, reserved_secret};
use super::check::{CheckPod, reads_files};
use super::error::DriverError;
use super::stage::{Stage, WorkerSecurity};
use super::worker::{self, PROGRESS_PORT_VARIABLE, RESULTS_VARIABLES};
use crate::names;
use crate::parts::{mount, name, put, put_missing, take_list, variable, wrong_type};

/// Default grace period in seconds of a pod with a native sidecar.
///
/// When the plugin's container has ended, the kubelet also asks the worker to stop. The worker
/// continues for its drain period of 60 s, and then needs time to send the result.
const SIDECAR_GRACE_SECONDS: u64 = 90;

/// The user and group of pods whose definition sets none: `nonroot` of Plumbline's image.
const USER: u32 = 65532;

/// Returns the pod spec of a definition that has none. A Job's pod has these tolerations, if any
/// are given.
///
/// A DaemonSet's pod uses the node's own namespaces, unless the namespace of the run admits no such
/// pods. It runs on every Linux node regardless of taints. [`Driver::Process`] has no pod and gets
/// the spec of a Job.
#[must_use]
pub fn default_pod_spec(driver: Driver, level: PodSecurity, job_tolerations: Option<&[Toleration]>) -> Value {
    match driver {
        Driver::Job | Driver::Process => json!({
            "containers": [],
            "restartPolicy": "Never",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": job_tolerations.map_or_else(default_tolerations, |tolerations| json!(tolerations)),
        }),
        Driver::DaemonSet if level != PodSecurity::Privileged => json!({
            "containers": [],
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"operator": "Exists"}],
        }),
        Driver::DaemonSet => json!({
            "containers": [],
            "hostNetwork": true,
            "hostPID": true,
            "hostIPC": true,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"operator": "Exists"}],
            "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
        }),
    }
}

/// Returns the tolerations of a Job's pod without a `podSpec`.
///
/// `control-plane` replaced `master` in Kubernetes 1.20. Both are tolerated, or the pod might not
/// be schedulable on a cluster of control-plane nodes.
fn default_tolerations() -> Value {
    json!([
        {"key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": "kubernetes.io/e2e-evict-taint-key", "operator": "Exists"},
    ])
}

pub(crate) fn uses_host_network(definition: &Definition, level: PodSecurity) -> bool {
    match &definition.pod_spec {
        Some(spec) => spec.get("hostNetwork").and_then(Value::as_bool).unwrap_or(false),
        None => definition.driver.is_per_node() && level_of(definition, level) == PodSecurity::Privileged,
    }
}

/// Returns the level with which the default pod spec of a plugin complies: that of the namespace.
/// A check needs no more than the strictest one.
pub(crate) fn level_of(definition: &Definition, level: PodSecurity) -> PodSecurity {
    if definition.plumbline.component.is_some() { PodSecurity::Restricted } else { level }
}

/// Assigns ports to plugins that share the network of their nodes.
///
/// Two workers on one network cannot listen on one port, and a plugin would report its progress
/// through another plugin's worker. The first plugin in name order keeps `first`, and each further
/// one gets the next port. Plugins with a network of their own use `first` and are not in the
/// result.
#[must_use]
pub fn progress_ports<'a>(
    definitions: impl IntoIterator<Item = &'a Definition>,
    level: PodSecurity,
    first: &str,
) -> BTreeMap<PluginName, String> {
    // Any other value is for the worker to reject, or lets the system choose a port.
    let Some(first) = first.parse::<u16>().ok().filter(|port| *port > 0) else { return BTreeMap::new() };
    let sharing = definitions.into_iter().filter(|definition| uses_host_network(definition, level));
    let sharing: BTreeSet<&PluginName> = sharing.map(|definition| &definition.name).collect();
    // At the end of the range, plugins share the last port. Nobody has so many plugins.
    let ports = (first..=u16::MAX).chain(std::iter::repeat(u16::MAX));
    sharing.into_iter().zip(ports).map(|(name, port)| (name.clone(), port.to_string())).collect()
}

/// Returns the pod spec: the user's containers, the plugin's and the worker's, in this order.
pub(super) fn pod_spec(
    stage: &Stage,
    definition: &Definition,
    access: &WorkerAccess,
    check: Option<&CheckPod>,
) -> Result<Value, DriverError> {
    let mut spec = with_account(stage, definition)?;
    let mut containers = take_list(definition, &mut spec, "podSpec", "containers")?;
    let mut init = take_list(definition, &mut spec, "podSpec", "initContainers")?;
    let mut plugin = match check {
        Some(check) => check.container(stage, definition)?,
        None => plugin_container(stage, definition)?,
    };
    if !stage.disable_reconciliation {
        for (i, container) in containers.iter_mut().enumerate() {
            reconcile(stage, definition, container, &format!("podSpec.containers[{i}]"))?;
        }
        reconcile(stage, definition, &mut plugin, "spec")?;
    }
    for container in containers.iter_mut().chain([&mut plugin]) {
        set_progress_port(stage, definition, container)?;
    }
    check_names(definition, init.iter().chain(&containers).chain([&plugin]))?;

    let modest = check.is_some() && !reads_files(definition);
    if modest || stage.pod_security == PodSecurity::Restricted {
        let all = init.iter_mut().chain(&mut containers).chain([&mut plugin]);
        complete_restricted(&mut spec, all, stage.security == WorkerSecurity::LikePlugin);
    }
    let mut env = take_list(definition, &mut plugin.clone(), "spec", "env")?;
    env.retain(|variable| name(variable) != Some(CHECK_VARIABLE));
    let security = worker::security_context(stage.security, &spec, &plugin);
    let mut worker = worker::container(stage, definition, access, env, security);
    containers.push(plugin);
    if stage.has_sidecar(definition) {
        put(&mut worker, "restartPolicy", json!("Always"));
        init.push(worker);
        put_missing(&mut spec, "terminationGracePeriodSeconds", json!(SIDECAR_GRACE_SECONDS));
    } else {
        containers.push(worker);
    }
    put_list(&mut spec, "containers", containers);
    put_list(&mut spec, "initContainers", init);
    add_volumes(definition, &mut spec, check.map(|check| check.volumes(definition)).unwrap_or_default())?;
    add_pull_secret(stage, definition, &mut spec)?;
    Ok(spec)
}

/// Fills in what the Pod Security level `restricted` requires and the definition leaves open
/// (kubernetes.io/docs/concepts/security/pod-security-standards). What the definition sets stays,
/// so the API server may still refuse the pod, and says why.
///
/// With `set_user`, a pod without a user gets one. The worker then has the same user and can read
/// every file of its plugin. Pods for Windows have none of the fields but one.
fn complete_restricted<'a>(pod: &mut Value, containers: impl IntoIterator<Item = &'a mut Value>, set_user: bool) {
    fill(pod, "runAsNonRoot", json!(true));
    if pod.pointer("/os/name").and_then(Value::as_str) == Some("windows") {
        return;
    }
    fill(pod, "seccompProfile", json!({"type": "RuntimeDefault"}));
    if set_user && pod.pointer("/securityContext/runAsUser").is_none_or(Value::is_null) {
        fill(pod, "runAsUser", json!(USER));
        fill(pod, "runAsGroup", json!(USER));
        fill(pod, "fsGroup", json!(USER));
    }
    for container in containers {
        fill(container, "allowPrivilegeEscalation", json!(false));
        fill(container, "capabilities", json!({"drop": ["ALL"]}));
    }
}

/// Sets a field of the security context of a pod or a container, unless it is set.
fn fill(of: &mut Value, field: &str, value: Value) {
    put_missing(of, "securityContext", json!({}));
    // The API server rejects a context that is not a mapping.
    if let Some(context) = of.get_mut("securityContext") {
        put_missing(context, field, value);
    }
}

/// Returns the pod spec of the definition, or that of its driver, with the account of the plugin.
fn with_account(stage: &Stage, definition: &Definition) -> Result<Value, DriverError> {
    let level = level_of(definition, stage.pod_security);
    let mut spec = match &definition.pod_spec {
        Some(spec) if spec.is_object() => spec.clone(),
        Some(_) => return Err(wrong_type(definition, "podSpec".to_owned(), "a mapping")),
        None => default_pod_spec(definition.driver, level, stage.job_tolerations.as_deref()),
    };
    if let Some(secret) = reserved_secret(definition) {
        return Err(DriverError::SecretReserved(definition.name.clone(), secret));
    }
    match &stage.plugin_account {
        Some(shared) => PluginAccount::of(definition, &stage.service_account).apply(&mut spec, shared),
        None if definition.pod_spec.is_none() => put(&mut spec, "serviceAccountName", json!(stage.service_account)),
        None => {}
    }
    Ok(spec)
}

/// Adds the pull secret of the run, unless the definition names it already.
fn add_pull_secret(stage: &Stage, definition: &Definition, spec: &mut Value) -> Result<(), DriverError> {
    let mut secrets = take_list(definition, spec, "podSpec", "imagePullSecrets")?;
    let wanted = stage.image_pull_secrets.as_deref().filter(|name| !name.is_empty());
    if let Some(wanted) = wanted.filter(|wanted| !secrets.iter().any(|secret| name(secret) == Some(wanted))) {
        secrets.push(json!({"name": wanted}));
    }
    put_list(spec, "imagePullSecrets", secrets);
    Ok(())
}

/// Returns the plugin's own container. Without an image, it gets the worker's, which contains all
/// roles of this program.
///
/// Definitions prepared by `gen` or `run` have an image. A hand-written ConfigMap may lack it.
fn plugin_container(stage: &Stage, definition: &Definition) -> Result<Value, DriverError> {
    let mut plugin = Value::Object(definition.spec.raw().clone());
    put(&mut plugin, "name", json!(names::plugin_container(definition)));
    if definition.spec.image().is_some() {
        return Ok(plugin);
    }
    if definition.plumbline.component.is_some() {
        return Err(DriverError::CheckMissing(definition.name.clone()));
    }
    if definition.spec.command().is_empty() {
        return Err(DriverError::NoImage(definition.name.clone()));
    }
    put(&mut plugin, "image", json!(stage.worker_image));
    put_missing(&mut plugin, "imagePullPolicy", json!(stage.image_pull_policy));
    Ok(plugin)
}

/// Points the mount and the variables of the results directory in a user's container, which is at
/// `path` of its definition, to the directory of this run.
///
/// Existing definitions have one of two directories hard-coded. If a plugin writes outside the
/// shared volume, its results never arrive.
fn reconcile(stage: &Stage, definition: &Definition, container: &mut Value, path: &str) -> Result<(), DriverError> {
    let mut mounts = take_list(definition, container, path, "volumeMounts")?;
    mount(&mut mounts, names::RESULTS_VOLUME, &stage.results_dir);
    put_list(container, "volumeMounts", mounts);
    let mut env = take_list(definition, container, path, "env")?;
    for name in RESULTS_VARIABLES.into_iter().rev() {
        set_variable(&mut env, name, &stage.results_dir);
    }
    put_list(container, "env", env);
    Ok(())
}

/// Replaces the variable in place, or prepends it, because a variable may refer only to earlier
/// ones.
fn set_variable(env: &mut Vec<Value>, key: &str, value: &str) {
    let wanted = variable(key, value);
    let mut found = false;
    for entry in env.iter_mut().filter(|entry| name(entry) == Some(key)) {
        *entry = wanted.clone();
        found = true;
    }
    if !found {
        env.insert(0, wanted);
    }
}

/// Sets the port variable in a container of the plugin, if its port is not the default one.
fn set_progress_port(stage: &Stage, definition: &Definition, container: &mut Value) -> Result<(), DriverError> {
    let port = stage.port_of(&definition.name);
    if port == stage.progress_port {
        return Ok(());
    }
    let shown = name(container).unwrap_or("spec").to_owned();
    let mut env = take_list(definition, container, &shown, "env")?;
    set_variable(&mut env, PROGRESS_PORT_VARIABLE, port);
    put_list(container, "env", env);
    let text = container.to_string();
    let written = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{}", stage.progress_port));
    if written.iter().any(|address| text.contains(address)) {
        let (plugin, port) = (definition.name.clone(), stage.progress_port.clone());
        return Err(DriverError::ProgressPort { plugin, container: shown, port });
    }
    Ok(())
}

/// Adds the volume that plugin and worker share, the definition's extra volumes, and those of its
/// check.
fn add_volumes(definition: &Definition, spec: &mut Value, of_check: Vec<Value>) -> Result<(), DriverError> {
    let mut volumes = take_list(definition, spec, "podSpec", "volumes")?;
    let extra = &definition.extra_volumes;
    if let Some(i) = extra.iter().position(|volume| !volume.is_object()) {
        return Err(wrong_type(definition, format!("extra-volumes[{i}]"), "a mapping"));
    }
    // A definition may bring the volume itself, for example one with a size limit. The server
    // rejects two volumes of one name.
    if !volumes.iter().chain(extra).any(|volume| name(volume) == Some(names::RESULTS_VOLUME)) {
        volumes.push(json!({"name": names::RESULTS_VOLUME, "emptyDir": {}}));
    }
    volumes.extend(extra.iter().cloned());
    volumes.extend(of_check);
    put_list(spec, "volumes", volumes);
    Ok(())
}

fn check_names<'a>(definition: &Definition, containers: impl Iterator<Item = &'a Value>) -> Result<(), DriverError> {
    let mut seen = BTreeSet::new();
    for name in containers.filter_map(name) {
        if name == names::WORKER_CONTAINER {
            return Err(DriverError::ContainerReserved(definition.name.clone()));
        }
        if !seen.insert(name) {
            return Err(DriverError::ContainerTwice(definition.name.clone(), name.to_owned()));
        }
    }
    Ok(())
}

/// Puts a list back, unless it is empty.
fn put_list(object: &mut Value, key: &str, items: Vec<Value>) {
    if !items.is_empty() {
        put(object, key, Value::Array(items));
    }
}
