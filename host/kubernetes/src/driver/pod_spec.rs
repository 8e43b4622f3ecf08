//! The pod spec of a plugin: the definition's containers and the worker.

use std::collections::BTreeSet;

use plumbline_aggregator::WorkerAccess;
use plumbline_core::definition::Definition;
use serde_json::{Map, Value, json};

use super::account::{PluginAccount, reserved_secret};
use super::defaults::{default_pod_spec, set_job_tolerations};
use super::error::DriverError;
use super::lists;
use super::naming::container_name;
use super::progress_port;
use super::reconcile::{entry, reconcile};
use super::stage::Stage;
use super::worker;
use crate::names;

/// Default grace period in seconds of a pod with a native sidecar.
///
/// When the plugin's container has ended, the kubelet also asks the worker to stop. The worker
/// continues for its drain period of 60 s, and then needs time to send the result.
pub const SIDECAR_GRACE_SECONDS: u64 = 90;

/// Returns the pod spec: the user's containers, the plugin's and the worker's, in this order.
pub(super) fn pod_spec(
    stage: &Stage,
    definition: &Definition,
    access: &WorkerAccess,
) -> Result<Map<String, Value>, DriverError> {
    let spec = match &definition.pod_spec {
        Some(spec) => spec.clone(),
        None => {
            let mut spec = default_pod_spec(definition.driver);
            set_job_tolerations(&mut spec, definition.driver, stage.job_tolerations.as_deref());
            spec
        }
    };
    let Value::Object(mut spec) = spec else {
        return Err(lists::wrong(definition, "podSpec".to_owned(), "a mapping"));
    };
    if let Some(secret) = reserved_secret(definition) {
        return Err(DriverError::SecretReserved { plugin: definition.name.to_string(), secret });
    }
    match &stage.plugin_account {
        Some(shared) => PluginAccount::of(definition, &stage.service_account).apply(&mut spec, shared),
        None if definition.pod_spec.is_none() => {
            spec.insert("serviceAccountName".to_owned(), json!(stage.service_account));
        }
        None => {}
    }
    let mut containers = lists::take_maps(definition, &mut spec, "podSpec", "containers")?;
    let mut init = lists::take_maps(definition, &mut spec, "podSpec", "initContainers")?;
    let mut plugin = definition.spec.raw().clone();
    plugin.insert("name".to_owned(), json!(container_name(definition)));
    give_image(stage, definition, &mut plugin)?;
    if !stage.disable_reconciliation {
        for (i, container) in containers.iter_mut().enumerate() {
            reconcile(definition, container, &format!("podSpec.containers[{i}]"), &stage.results_dir)?;
        }
        reconcile(definition, &mut plugin, "spec", &stage.results_dir)?;
    }
    for container in containers.iter_mut().chain([&mut plugin]) {
        progress_port::give(stage, definition, container)?;
    }
    check_names(definition, init.iter().chain(&containers).chain([&plugin]))?;

    let mut worker = worker::container(stage, definition, access, &spec, &plugin)?;
    containers.push(plugin);
    // A DaemonSet's pod never ends by itself, and its worker keeps running. A native sidecar has no
    // advantage there.
    if stage.native_sidecar && !definition.driver.is_per_node() {
        worker.insert("restartPolicy".to_owned(), json!("Always"));
        init.push(worker);
        if spec.get("terminationGracePeriodSeconds").is_none_or(Value::is_null) {
            spec.insert("terminationGracePeriodSeconds".to_owned(), json!(SIDECAR_GRACE_SECONDS));
        }
    } else {
        containers.push(worker);
    }
    lists::put(&mut spec, "containers", containers);
    lists::put(&mut spec, "initContainers", init);

    add_volumes(definition, &mut spec)?;
    add_pull_secret(stage, definition, &mut spec)?;
    Ok(spec)
}

/// Gives a container without an image the worker's image, which contains all roles of this program.
///
/// Definitions prepared by `gen` or `run` have an image. A hand-written ConfigMap may lack it.
fn give_image(stage: &Stage, definition: &Definition, plugin: &mut Map<String, Value>) -> Result<(), DriverError> {
    if definition.spec.image().is_some() {
        return Ok(());
    }
    if definition.spec.command().is_empty() {
        return Err(DriverError::NoImage(definition.name.to_string()));
    }
    plugin.insert("image".to_owned(), json!(stage.worker_image));
    if plugin.get("imagePullPolicy").is_none_or(Value::is_null) {
        plugin.insert("imagePullPolicy".to_owned(), json!(stage.image_pull_policy));
    }
    Ok(())
}

/// Adds the volume that plugin and worker share, and the definition's extra volumes.
fn add_volumes(definition: &Definition, spec: &mut Map<String, Value>) -> Result<(), DriverError> {
    let mut volumes = lists::take_maps(definition, spec, "podSpec", "volumes")?;
    let extra = definition.extra_volumes.iter().enumerate().map(|(i, volume)| match volume {
        Value::Object(volume) => Ok(volume.clone()),
        _ => Err(lists::wrong(definition, format!("extra-volumes[{i}]"), "a mapping")),
    });
    let extra = extra.collect::<Result<Vec<_>, _>>()?;
    // A definition may bring the volume itself, for example one with a size limit. The server
    // rejects two volumes of one name.
    if !volumes.iter().chain(&extra).any(|volume| lists::name(volume) == Some(names::RESULTS_VOLUME)) {
        let mut results = entry(&[("name", names::RESULTS_VOLUME)]);
        results.insert("emptyDir".to_owned(), json!({}));
        volumes.push(results);
    }
    volumes.extend(extra);
    lists::put(spec, "volumes", volumes);
    Ok(())
}

fn add_pull_secret(stage: &Stage, definition: &Definition, spec: &mut Map<String, Value>) -> Result<(), DriverError> {
    let mut secrets = lists::take_maps(definition, spec, "podSpec", "imagePullSecrets")?;
    let wanted = stage.image_pull_secrets.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = wanted.filter(|name| !secrets.iter().any(|secret| lists::name(secret) == Some(name))) {
        secrets.push(entry(&[("name", name)]));
    }
    lists::put(spec, "imagePullSecrets", secrets);
    Ok(())
}

fn check_names<'a>(
    definition: &Definition,
    containers: impl Iterator<Item = &'a Map<String, Value>>,
) -> Result<(), DriverError> {
    let plugin = || definition.name.to_string();
    let mut seen = BTreeSet::new();
    for name in containers.filter_map(lists::name) {
        if name == names::WORKER_CONTAINER {
            return Err(DriverError::ContainerReserved { plugin: plugin(), name: names::WORKER_CONTAINER });
        }
        if !seen.insert(name) {
            return Err(DriverError::ContainerTwice { plugin: plugin(), name: name.to_owned() });
        }
    }
    Ok(())
}
