//! Prepares definitions for a cluster.

use std::collections::BTreeMap;

use plumbline_core::config::{PullPolicy, Toleration};
use plumbline_core::definition::K8S_VERSION_VARIABLE;
use plumbline_core::{Config, Definition, Driver, PluginName};
use serde_json::{Map, Value, json};

use super::defaults::default_pod_spec;
use super::env::merged;
use super::error::ManifestError;
use crate::driver::set_job_tolerations;
use crate::names;

/// Maximum length of a volume name (DNS-1123 label).
const MAX_VOLUME_NAME: usize = 63;

/// The changes to make to a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transform {
    /// The image that replaces the definition's.
    pub image: Option<String>,
    /// The image of the run, for a container without an image. It contains all roles of this
    /// program.
    pub run_image: String,
    /// The pull policy for the image of the run, where it is filled in and the container has no
    /// policy.
    pub run_pull_policy: PullPolicy,
    /// The pull policy that replaces the policy of every image of the plugin.
    pub pull_policy: Option<PullPolicy>,
    /// The value of [`K8S_VERSION_VARIABLE`], such as `v1.30.2`. With `None`, the variable is kept
    /// unchanged.
    pub kubernetes_version: Option<String>,
    /// The results directory, which plugin and worker share.
    pub results_dir: String,
    /// The port of the worker's progress relay.
    pub progress_port: String,
    /// Environment variables that take precedence over all others. An empty value removes a
    /// variable.
    pub env: BTreeMap<String, String>,
    /// Whether to write out the driver's default pod spec if the definition has none.
    pub show_pod_spec: bool,
    /// Tolerations that replace those of a Job's default pod.
    pub job_tolerations: Option<Vec<Toleration>>,
}

impl Transform {
    /// Returns the changes that `config` asks for, for every plugin.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            image: None,
            run_image: config.worker_image.clone(),
            run_pull_policy: config.image_pull_policy,
            pull_policy: config.force_image_pull_policy.then_some(config.image_pull_policy),
            kubernetes_version: Some(config.plumbline.kubernetes_version.clone()).filter(|text| !text.is_empty()),
            results_dir: config.results_dir.clone(),
            progress_port: config.progress_updates_port.clone(),
            env: BTreeMap::new(),
            show_pod_spec: false,
            job_tolerations: config.plumbline.job_tolerations.clone(),
        }
    }
}

/// Returns the name of the ConfigMap with the files of a plugin.
#[must_use]
pub fn config_map_name(plugin: &PluginName) -> String {
    format!("plugin-{plugin}-cm")
}

/// Gives the plugin's container the image of the run, if it has a command but no image.
///
/// Without a command, nothing says what to execute. Such a definition is unchanged here, and
/// rejected later where an image is needed. A pull policy of the container is kept.
pub fn image_of_run(definition: &mut Value, image: &str, pull_policy: PullPolicy) {
    let Some(Value::Object(container)) = definition.get_mut("spec") else { return };
    let given =
        |key: &str| container.get(key).is_some_and(|value| !value.is_null() && value != "" && *value != json!([]));
    if given("image") || !given("command") || image.is_empty() {
        return;
    }
    if !given("imagePullPolicy") {
        container.insert("imagePullPolicy".to_owned(), json!(pull_policy));
    }
    container.insert("image".to_owned(), json!(image));
}

/// Returns the definition as it goes into a cluster, with images, environment, and the mounts of
/// results and files.
///
/// This is idempotent.
///
/// # Errors
/// Returns [`ManifestError::Shape`] if a field that Kubernetes requires to be a list or a mapping
/// is something else.
pub fn prepare_definition(definition: &Definition, transform: &Transform) -> Result<Definition, ManifestError> {
    let name = &definition.name;
    let mut json = definition.to_json();
    if transform.show_pod_spec
        && definition.pod_spec.is_none()
        && let Value::Object(top) = &mut json
    {
        let mut spec = default_pod_spec(definition.driver);
        set_job_tolerations(&mut spec, definition.driver, transform.job_tolerations.as_deref());
        top.insert("podSpec".to_owned(), spec);
    }
    if let (Some(image), Some(Value::Object(spec))) = (&transform.image, json.get_mut("spec")) {
        spec.insert("image".to_owned(), json!(image));
    }
    if definition.driver != Driver::Process {
        image_of_run(&mut json, &transform.run_image, transform.run_pull_policy);
    }
    if let (Some(version), Some(Value::String(image))) =
        (&transform.kubernetes_version, json.pointer_mut("/spec/image"))
    {
        *image = image.replace(K8S_VERSION_VARIABLE, version);
    }
    let files = !definition.config_map.is_empty();
    if files {
        add_volume(name, &mut json)?;
    }
    let volume = volume_name(name);
    let automatic = automatic_env(transform);
    for (path, container) in containers(name, &mut json)? {
        if let Some(policy) = transform.pull_policy {
            container.insert("imagePullPolicy".to_owned(), json!(policy));
        }
        let mounts = list(name, &path, container, "volumeMounts")?;
        if files {
            mount(mounts, &volume, names::PLUGIN_CONFIG_DIR);
        }
        mount(mounts, names::RESULTS_VOLUME, &transform.results_dir);
        let env = list(name, &path, container, "env")?;
        *env = merged(merged(std::mem::take(env), &automatic), &transform.env);
    }
    Ok(Definition::from_json(json)?.definition)
}

fn automatic_env(transform: &Transform) -> BTreeMap<String, String> {
    let results = transform.results_dir.as_str();
    let mut env: BTreeMap<String, String> = [
        ("SONOBUOY", "true"),
        ("SONOBUOY_RESULTS_DIR", results),
        ("RESULTS_DIR", results),
        ("SONOBUOY_PROGRESS_PORT", &transform.progress_port),
        ("SONOBUOY_CONFIG_DIR", names::PLUGIN_CONFIG_DIR),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    if let Some(version) = &transform.kubernetes_version {
        env.insert("SONOBUOY_K8S_VERSION".to_owned(), version.clone());
    }
    env
}

/// The path of a container, and the container.
type Place<'a> = (String, &'a mut Map<String, Value>);

/// Returns the plugin's container and those of its pod.
fn containers<'a>(plugin: &PluginName, json: &'a mut Value) -> Result<Vec<Place<'a>>, ManifestError> {
    let shape = |path: String, expected| ManifestError::Shape { plugin: plugin.clone(), path, expected };
    let mut found = Vec::new();
    let Value::Object(top) = json else { return Ok(found) };
    for (key, value) in top {
        match (key.as_str(), value) {
            ("spec", Value::Object(spec)) => found.push(("spec".to_owned(), spec)),
            ("podSpec", Value::Object(pod)) => match pod.get_mut("containers") {
                None | Some(Value::Null) => {}
                Some(Value::Array(items)) => {
                    for (at, item) in items.iter_mut().enumerate() {
                        let path = format!("podSpec.containers[{at}]");
                        match item {
                            Value::Object(container) => found.push((path, container)),
                            _ => return Err(shape(path, "a mapping")),
                        }
                    }
                }
                Some(_) => return Err(shape("podSpec.containers".to_owned(), "a list")),
            },
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the list at `key` of a container, and inserts an empty one if there is none.
fn list<'a>(
    plugin: &PluginName,
    path: &str,
    container: &'a mut Map<String, Value>,
    key: &str,
) -> Result<&'a mut Vec<Value>, ManifestError> {
    let value = container.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = json!([]);
    }
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(ManifestError::Shape { plugin: plugin.clone(), path: format!("{path}.{key}"), expected: "a list" }),
    }
}

/// Mounts `volume` at `path`, and moves a mount of it that is elsewhere.
///
/// A plugin that hard-codes another directory would write where nothing reads it.
fn mount(mounts: &mut Vec<Value>, volume: &str, path: &str) {
    let is_it = |mount: &&mut Value| mount.get("name").and_then(Value::as_str) == Some(volume);
    match mounts.iter_mut().find(is_it) {
        Some(Value::Object(mount)) => drop(mount.insert("mountPath".to_owned(), json!(path))),
        _ => mounts.push(json!({"name": volume, "mountPath": path})),
    }
}

fn add_volume(plugin: &PluginName, json: &mut Value) -> Result<(), ManifestError> {
    let Value::Object(top) = json else { return Ok(()) };
    let volume = volume_name(plugin);
    let volumes = list(plugin, "", top, "extra-volumes")?;
    // A definition that `gen` printed already contains the volume.
    volumes.retain(|one| one.get("name").and_then(Value::as_str) != Some(&volume));
    volumes.push(json!({"name": volume, "configMap": {"name": config_map_name(plugin)}}));
    Ok(())
}

/// Returns the name of the volume for the plugin's files.
///
/// A plugin name may contain dots, but a volume name may not. Sonobuoy's pod is rejected in that
/// case.
fn volume_name(plugin: &PluginName) -> String {
    let plugin: String = plugin.as_str().replace('.', "-");
    let room = MAX_VOLUME_NAME - "sonobuoy--vol".len();
    let plugin = plugin.get(..room).unwrap_or(&plugin);
    format!("sonobuoy-{plugin}-vol")
}
