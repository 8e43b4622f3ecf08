//! The container of a check: Plumbline's own image, which runs the component of the plugin. The
//! component is in ConfigMaps that the aggregator creates, however it got there itself. Its compiled
//! code is in further ones, so that no pod compiles it.

use std::collections::BTreeSet;

use k8s_openapi::ByteString;
use plumbline_aggregator::{CompiledCheck, Launch};
use plumbline_core::definition::Definition;
use plumbline_core::size::Bytes;
use plumbline_core::{CHECK_VARIABLE, CheckRun, CompiledCode, Digest, ModuleLimits};
use serde_json::{Value, json};

use super::error::DriverError;
use super::stage::{Stage, WorkerSecurity};
use crate::chunks::chunks_of;
use crate::names;
use crate::parts::{
    config_maps_volume, confined, field_variable, name, names_of, object, put, put_missing, set_owner, take_list,
    variable,
};

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

/// The maximum size of compiled code in bytes: 16 MiB. Larger code is compiled in each pod, as before
/// the aggregator did it.
const MAX_CODE: u64 = 16 << 20;

/// The maximum number of bytes of compiled code that the pods of a plugin read from the API server
/// together: 16 GiB. With 5,000 nodes, that is 3.3 MiB for each.
const MAX_CODE_OF_ALL: u64 = 16 << 30;

/// Components above this size in bytes contain a language runtime. Compiling one takes up to 1 GiB.
const SMALL_COMPONENT: usize = 4 << 20;
const COMPILE_MEMORY: u64 = 1024;

/// A check to run in a pod.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckPod {
    /// The ConfigMaps with the chunks of the component and of its code.
    pub config_maps: Vec<Value>,
    run: CheckRun,
    memory: u64,
}

impl CheckPod {
    /// Reads the component of a plugin in its bundle. Returns `None` if the plugin runs an image.
    /// Without `code`, each pod compiles the component.
    ///
    /// # Errors
    /// Returns an error if the component is missing, or does not fit into ConfigMaps. The same
    /// applies to options that do not fit into a variable.
    pub fn of(
        stage: &Stage,
        launch: &Launch,
        session: &str,
        code: Option<&CompiledCheck>,
    ) -> Result<Option<Self>, DriverError> {
        let definition = &launch.definition;
        let Some(file) = &definition.plumbline.component else { return Ok(None) };
        let plugin = || definition.name.clone();
        let sent = launch.bundle.as_deref().zip(launch.check.clone());
        let (bundle, check) = sent.ok_or_else(|| DriverError::CheckMissing(plugin()))?;
        let component = std::fs::read(bundle.join(file)).map_err(|error| DriverError::CheckRead {
            plugin: plugin(),
            file: file.clone(),
            cause: error.to_string(),
        })?;
        Self::new(stage, definition, session, &component, code, launch.missing.len(), check.limits).map(Some)
    }

    /// Creates the check of a plugin from its component, and its code if it is small enough for this
    /// number of pods.
    ///
    /// # Errors
    /// Returns the same errors as [`CheckPod::of`].
    pub fn new(
        stage: &Stage,
        definition: &Definition,
        session: &str,
        component: &[u8],
        code: Option<&CompiledCheck>,
        expected_results: usize,
        limits: ModuleLimits,
    ) -> Result<Self, DriverError> {
        let file = definition.plumbline.component.as_deref().unwrap_or_default();
        // The owner is part of the name: what another pod of this aggregator created may be deleted
        // with it. So an object of this name has this content.
        let owner = stage.owner.as_ref().and_then(|owner| owner.uid.get(..8));
        let name =
            [Some(names::CHECK_CONFIG_MAP), Some(session), owner].into_iter().flatten().collect::<Vec<_>>().join("-");
        let mut config_maps = config_maps(stage, &name, chunks_of(&definition.name, file, component)?);
        let guest = limits.memory.div_ceil(1 << 20).saturating_add(OWN_MEMORY);
        let memory = if component.len() > SMALL_COMPONENT { guest.max(COMPILE_MEMORY) } else { guest };
        let mut run = CheckRun::new(definition, COMPONENT_DIR.into(), expected_results, limits);
        run.digest = Some(Digest::of(component));
        match code.map(|code| carried(definition, file, code, expected_results)) {
            Some(Ok((code, chunks))) => {
                // The digest is part of the name: a restarted aggregator may be of another release.
                let digest = code.digest.hex();
                let name = format!("{name}-code-{}", digest.get(..8).unwrap_or_default());
                config_maps.extend(self::config_maps(stage, &name, chunks));
                run.code = Some(code);
            }
            Some(Err(why)) => tracing::info!(plugin = %definition.name, "each pod compiles the check: {why}"),
            None => {}
        }
        HOST_DIR.clone_into(&mut run.root);
        // The container of a DaemonSet is restarted when it ends.
        run.stay = definition.driver.is_per_node();
        Ok(Self { config_maps, run, memory })
    }

    /// Returns the container. The definition adds environment, mounts and resources.
    pub(super) fn container(&self, stage: &Stage, definition: &Definition) -> Result<Value, DriverError> {
        let text = self.run.to_variable();
        let text = text.map_err(|error| DriverError::CheckRun { plugin: definition.name.clone(), error })?;
        let mut container = Value::Object(definition.spec.raw().clone());
        let mut env = take_list(definition, &mut container, "spec", "env")?;
        if !env.iter().any(|variable| name(variable) == Some("NODE_NAME")) {
            env.push(field_variable("NODE_NAME", "spec.nodeName"));
        }
        // Kubernetes expands `$(NAME)` in values.
        env.push(variable(CHECK_VARIABLE, &text.replace('$', "\\u0024")));
        let mut mounts = take_list(definition, &mut container, "spec", "volumeMounts")?;
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
        for (key, value) in defaults {
            put_missing(&mut container, key, value);
        }
        put(&mut container, "name", json!(names::plugin_container(definition)));
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

    pub(super) fn volumes(&self, definition: &Definition) -> Vec<Value> {
        let host = |(name, path): (String, String)| json!({"name": name, "hostPath": {"path": path}});
        let maps = config_maps_volume(VOLUME, &names_of(&self.config_maps));
        std::iter::once(maps).chain(host_volumes(definition).map(host)).collect()
    }
}

/// Chunks with their keys.
type Chunks = Vec<(String, Vec<u8>)>;

/// Returns the compiled code of the component in `file`, described and split. The error says why it
/// does not go along with the component.
fn carried(
    definition: &Definition,
    file: &str,
    code: &CompiledCheck,
    pods: usize,
) -> Result<(CompiledCode, Chunks), String> {
    let (bytes, pods) = (code.bytes.len() as u64, pods.max(1) as u64);
    let limit = MAX_CODE.min(MAX_CODE_OF_ALL / pods);
    if bytes > limit {
        return Err(format!("its code has {}, more than {} for {pods} pods", Bytes(bytes), Bytes(limit)));
    }
    let name = format!("{}.code", file.strip_suffix(".wasm").unwrap_or(file));
    let chunks = chunks_of(&definition.name, &name, &code.bytes).map_err(|error| error.to_string())?;
    Ok((CompiledCode { file: name, digest: Digest::of(&code.bytes), target: code.target.clone() }, chunks))
}

/// Returns a ConfigMap for each chunk, named `name` with a number.
fn config_maps(stage: &Stage, name: &str, chunks: Chunks) -> Vec<Value> {
    let map = |(at, (key, bytes)): (usize, (String, Vec<u8>))| {
        let fields = json!({"binaryData": {key: ByteString(bytes)}, "immutable": true});
        let mut map = object(&stage.namespace, "v1", "ConfigMap", &format!("{name}-{at}"), fields);
        set_owner(&mut map, stage.owner.as_ref());
        map
    };
    chunks.into_iter().enumerate().map(map).collect()
}

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
