//! The container of a check: Plumbline's own image, which runs the component of the plugin. The
//! component is in ConfigMaps that the aggregator creates, however it got there itself.

use std::collections::BTreeSet;

use k8s_openapi::ByteString;
use plumbline_aggregator::Launch;
use plumbline_core::definition::Definition;
use plumbline_core::{CHECK_VARIABLE, CheckRun, Digest, ModuleLimits};
use serde_json::{Map, Value, json};

use super::error::DriverError;
use super::pod_spec::container_name;
use super::stage::{Stage, WorkerSecurity};
use crate::manifest::{chunks_of, config_maps_volume};
use crate::names;
use crate::parts::{confined, field_variable, name, object, put, variable};

/// The directory with the chunks of the component.
const COMPONENT_DIR: &str = "/check";

/// The directory below which directories of the node are mounted.
const HOST_DIR: &str = "/host";

const VOLUME: &str = "plumbline-check";

/// Requests of the container. A check of some hundred KiB needs less.
const CPU: &str = "10m";
const MEMORY: &str = "64Mi";

/// The memory beyond that of the check, in MiB: this program, and the compiler of a small component.
const OWN_MEMORY: u64 = 128;

/// Components above this size in bytes contain a language runtime. Compiling one takes up to 1 GiB.
const SMALL_COMPONENT: usize = 4 << 20;
const COMPILE_MEMORY: u64 = 1024;

/// A check to run in a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckPod {
    /// The ConfigMaps with the chunks of the component.
    pub config_maps: Vec<Value>,
    run: CheckRun,
    memory: u64,
}

impl CheckPod {
    /// Reads the component of a plugin in its bundle. Returns `None` if the plugin runs an image.
    ///
    /// # Errors
    /// Returns an error if the component is missing, or does not fit into ConfigMaps. The same
    /// applies to options that do not fit into a variable.
    pub fn of(stage: &Stage, launch: &Launch, session: &str) -> Result<Option<Self>, DriverError> {
        let definition = &launch.definition;
        let Some(file) = &definition.plumbline.component else { return Ok(None) };
        let failed = |why: String| DriverError::Check(definition.name.clone(), why);
        let limits = launch.check.clone();
        let (bundle, limits) = launch
            .bundle
            .as_deref()
            .zip(limits)
            .ok_or_else(|| failed(format!("check `{file}` did not reach the aggregator")))?;
        let component = std::fs::read(bundle.join(file));
        let component = component.map_err(|error| failed(format!("failed to read check `{file}`: {error}")))?;
        Self::new(stage, definition, session, &component, launch.missing.len(), limits).map(Some)
    }

    /// Creates the check of a plugin from its component.
    ///
    /// # Errors
    /// Returns the same errors as [`CheckPod::of`].
    pub fn new(
        stage: &Stage,
        definition: &Definition,
        session: &str,
        component: &[u8],
        expected_results: usize,
        limits: ModuleLimits,
    ) -> Result<Self, DriverError> {
        let failed = |why: String| DriverError::Check(definition.name.clone(), why);
        let file = definition.plumbline.component.as_deref().unwrap_or_default();
        let chunks = chunks_of(&definition.name, file, component).map_err(|error| failed(error.to_string()))?;
        // The owner is part of the name: what another pod of this aggregator created may be deleted
        // with it. So an object of this name has this content.
        let owner = stage.owner.as_ref().and_then(|owner| owner.uid.get(..8)).unwrap_or_default();
        let map = |(at, (key, bytes)): (usize, (String, Vec<u8>))| {
            let name =
                format!("{}-{session}-{owner}{}{at}", names::CHECK_CONFIG_MAP, if owner.is_empty() { "" } else { "-" });
            let fields = json!({"binaryData": {key: ByteString(bytes)}, "immutable": true});
            let mut map = object(&stage.namespace, "v1", "ConfigMap", &name, fields);
            if let (Some(owners), Some(metadata)) = (stage.owner_references(), map.get_mut("metadata")) {
                put(metadata, "ownerReferences", json!(owners));
            }
            map
        };
        let config_maps = chunks.into_iter().enumerate().map(map).collect();
        let guest = limits.memory.div_ceil(1 << 20).saturating_add(OWN_MEMORY);
        let memory = if component.len() > SMALL_COMPONENT { guest.max(COMPILE_MEMORY) } else { guest };
        let mut run = CheckRun::new(definition, COMPONENT_DIR.into(), expected_results, limits);
        run.digest = Some(Digest::of(component));
        HOST_DIR.clone_into(&mut run.root);
        // The container of a DaemonSet is restarted when it ends.
        run.stay = definition.driver.is_per_node();
        Ok(Self { config_maps, run, memory })
    }

    /// Returns the container. The definition adds environment, mounts and resources.
    pub(super) fn container(&self, stage: &Stage, definition: &Definition) -> Result<Value, DriverError> {
        let text = self.run.to_variable();
        let text = text.map_err(|error| DriverError::Check(definition.name.clone(), error.to_string()))?;
        let mut raw = definition.spec.raw().clone();
        let mut env = take_list(&mut raw, "env");
        if !env.iter().any(|variable| name(variable) == Some("NODE_NAME")) {
            env.push(field_variable("NODE_NAME", "spec.nodeName"));
        }
        // Kubernetes expands `$(NAME)` in values.
        env.push(variable(CHECK_VARIABLE, &text.replace('$', "\\u0024")));
        let mut mounts = take_list(&mut raw, "volumeMounts");
        mounts.push(json!({"name": VOLUME, "mountPath": COMPONENT_DIR, "readOnly": true}));
        mounts.extend(
            host_volumes(definition)
                .map(|(name, path)| json!({"name": name, "mountPath": format!("{HOST_DIR}{path}"), "readOnly": true})),
        );
        let limit = format!("{}Mi", self.memory);
        let defaults = [
            ("imagePullPolicy", json!(stage.image_pull_policy)),
            ("resources", json!({"requests": {"cpu": CPU, "memory": MEMORY}, "limits": {"memory": limit}})),
            // The monitor quotes the termination message.
            ("terminationMessagePolicy", json!("FallbackToLogsOnError")),
        ];
        let mut container = Value::Object(raw);
        for (key, value) in defaults {
            if container.get(key).is_none_or(Value::is_null) {
                put(&mut container, key, value);
            }
        }
        put(&mut container, "name", json!(container_name(definition)));
        put(&mut container, "image", json!(stage.worker_image));
        put(&mut container, "command", json!([names::BINARY]));
        put(&mut container, "args", json!(["run-check"]));
        put(&mut container, "env", Value::Array(env));
        put(&mut container, "volumeMounts", Value::Array(mounts));
        if let Some(context) = security_context(stage.security, reads_files(definition)) {
            put(&mut container, "securityContext", context);
        }
        Ok(container)
    }

    /// Returns the volumes of the container.
    pub(super) fn volumes(&self, definition: &Definition) -> Vec<Value> {
        let of = |map: &Value| map.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        let maps: Vec<String> = self.config_maps.iter().filter_map(of).collect();
        let host = |(name, path): (String, String)| json!({"name": name, "hostPath": {"path": path}});
        std::iter::once(config_maps_volume(VOLUME, &maps)).chain(host_volumes(definition).map(host)).collect()
    }
}

/// Returns whether the check of a plugin reads directories of its node.
pub(crate) fn reads_files(definition: &Definition) -> bool {
    !definition.plumbline.grants.files.is_empty()
}

/// Returns the volumes with directories of the node, and their paths there.
///
/// Container runtimes create a missing directory of a mount on the node. So a pod mounts the
/// directories of the root that contain the granted ones, which exist on every node. The sandbox
/// shows the check only what is granted.
fn host_volumes(definition: &Definition) -> impl Iterator<Item = (String, String)> {
    let top = |path: &String| path.split('/').nth(1).map(str::to_owned);
    let tops: BTreeSet<String> = definition.plumbline.grants.files.iter().filter_map(top).collect();
    tops.into_iter().enumerate().map(|(at, top)| (format!("plumbline-host-{at}"), format!("/{top}")))
}

/// Returns the security context of a check.
///
/// It has no capability in any case. Files of the node belong to root, and most of them cannot be
/// read by others. So a check that reads files is root, and any other is not.
fn security_context(security: WorkerSecurity, reads_files: bool) -> Option<Value> {
    let mut context = match security {
        WorkerSecurity::Off => return None,
        WorkerSecurity::LikePlugin | WorkerSecurity::Platform => json!(confined()),
    };
    put(&mut context, "seccompProfile", json!({"type": "RuntimeDefault"}));
    match (security, reads_files) {
        (WorkerSecurity::LikePlugin, true) => {
            put(&mut context, "runAsUser", json!(0));
            put(&mut context, "runAsGroup", json!(0));
            put(&mut context, "runAsNonRoot", json!(false));
        }
        (_, false) => put(&mut context, "runAsNonRoot", json!(true)),
        _ => {}
    }
    Some(context)
}

fn take_list(fields: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match fields.remove(key) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}
