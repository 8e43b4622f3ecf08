//! What is done to a definition before it goes into a cluster.

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

/// The longest name of a volume (DNS-1123 label).
const MAX_VOLUME_NAME: usize = 63;

/// What is done to one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transform {
    /// The image, in place of the definition's.
    pub image: Option<String>,
    /// The image of the run, for a container that names none: it holds this program with all its roles.
    pub run_image: String,
    /// The policy for the image of the run, where it is filled in and the container names none.
    pub run_pull_policy: PullPolicy,
    /// The policy for every image of the plugin, in place of the definition's.
    pub pull_policy: Option<PullPolicy>,
    /// What [`K8S_VERSION_VARIABLE`] stands for, such as `v1.30.2`; `None`: it stays as it is.
    pub kubernetes_version: Option<String>,
    /// Where plugin and worker meet.
    pub results_dir: String,
    /// The port of the worker for progress.
    pub progress_port: String,
    /// Variables that win over all others; an empty value removes one.
    pub env: BTreeMap<String, String>,
    /// The driver's default pod is written out where the definition has none.
    pub show_pod_spec: bool,
    /// Tolerations of the default pod of a Job, in place of its own.
    pub job_tolerations: Option<Vec<Toleration>>,
}

impl Transform {
    /// What `config` asks for, for every plugin.
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

/// The ConfigMap with the files of a plugin.
#[must_use]
pub fn config_map_name(plugin: &PluginName) -> String {
    format!("plugin-{plugin}-cm")
}

/// Gives the plugin's container the image of the run, if it names a command and no image. Without a command nothing would say what to
/// execute: such a definition stays as it is, and is refused where an image is needed. A policy that the container names is kept.
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

/// The definition as it goes into a cluster: images, environment, the mounts of results and files. Doing it twice is doing it once.
///
/// # Errors
/// [`ManifestError::Shape`] where Kubernetes wants a list or a mapping and the definition has something else.
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

/// The plugin's container and those of its pod.
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

/// The list at `key` of a container; an empty one, if it has none.
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

/// Mounts `volume` at `path`, and moves a mount of it that is elsewhere: whoever hard-codes another directory would write to nobody.
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
    // A definition that was printed by `gen` has it already.
    volumes.retain(|one| one.get("name").and_then(Value::as_str) != Some(&volume));
    volumes.push(json!({"name": volume, "configMap": {"name": config_map_name(plugin)}}));
    Ok(())
}

/// A plugin may be called `a.b`; a volume may not, and Sonobuoy's pod is refused then.
fn volume_name(plugin: &PluginName) -> String {
    let plugin: String = plugin.as_str().replace('.', "-");
    let room = MAX_VOLUME_NAME - "sonobuoy--vol".len();
    let plugin = plugin.get(..room).unwrap_or(&plugin);
    format!("sonobuoy-{plugin}-vol")
}
