//! Prepares definitions for a cluster.

use std::collections::BTreeMap;

use plumbline_core::config::PullPolicy;
use plumbline_core::definition::K8S_VERSION_VARIABLE;
use plumbline_core::{Config, Definition, Driver, PluginName};
use serde_json::{Value, json};

use super::error::ManifestError;
use crate::driver::{default_pod_spec, level_of};
use crate::names;
use crate::parts::{merged, mount, name, put, put_missing};

/// Maximum length of a volume name (DNS-1123 label).
const MAX_VOLUME_NAME: usize = 63;

/// The changes to make to a definition, in addition to those that the configuration asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transform {
    /// The image that replaces the definition's.
    pub image: Option<String>,
    /// Environment variables that take precedence over all others. An empty value removes a
    /// variable.
    pub env: BTreeMap<String, String>,
    /// Whether to write out the driver's default pod spec if the definition has none.
    pub show_pod_spec: bool,
}

/// Returns the name of the ConfigMap with the files of a plugin.
pub(super) fn config_map_name(plugin: &PluginName) -> String {
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
pub fn prepare_definition(
    definition: &Definition,
    config: &Config,
    transform: &Transform,
) -> Result<Definition, ManifestError> {
    let plugin = &definition.name;
    let mut json = definition.to_json();
    if transform.show_pod_spec && definition.pod_spec.is_none() {
        put(
            &mut json,
            "podSpec",
            default_pod_spec(
                definition.driver,
                level_of(definition, config.namespace_psa_enforce_level),
                config.plumbline.job_tolerations.as_deref(),
            ),
        );
    }
    if let (Some(image), Some(spec)) = (&transform.image, json.get_mut("spec")) {
        put(spec, "image", json!(image));
    }
    if definition.driver != Driver::Process {
        image_of_run(&mut json, &config.worker_image, config.image_pull_policy);
    }
    let version = &config.plumbline.kubernetes_version;
    if let Some(Value::String(image)) = json.pointer_mut("/spec/image").filter(|_| !version.is_empty()) {
        *image = image.replace(K8S_VERSION_VARIABLE, version);
    }
    let volume = (!definition.config_map.is_empty()).then(|| volume_name(plugin));
    if let Some(volume) = &volume {
        let volumes = list(plugin, "", &mut json, "extra-volumes")?;
        // A definition that `gen` printed already contains the volume.
        volumes.retain(|one| name(one) != Some(volume));
        volumes.push(json!({"name": volume, "configMap": {"name": config_map_name(plugin)}}));
    }
    let automatic = automatic_env(config);
    for (path, container) in containers(plugin, &mut json)? {
        if config.force_image_pull_policy {
            put(container, "imagePullPolicy", json!(config.image_pull_policy));
        }
        let mounts = list(plugin, &path, container, "volumeMounts")?;
        if let Some(volume) = &volume {
            mount(mounts, volume, names::PLUGIN_CONFIG_DIR);
        }
        mount(mounts, names::RESULTS_VOLUME, &config.results_dir);
        let env = list(plugin, &path, container, "env")?;
        *env = merged(merged(std::mem::take(env), &automatic), &transform.env);
    }
    Ok(Definition::from_json(json)?.definition)
}

/// Returns the variables that every container of a plugin gets.
fn automatic_env(config: &Config) -> BTreeMap<String, String> {
    let results = config.results_dir.as_str();
    let version = config.plumbline.kubernetes_version.as_str();
    let variables = [
        ("SONOBUOY", "true"),
        ("SONOBUOY_RESULTS_DIR", results),
        ("RESULTS_DIR", results),
        ("SONOBUOY_PROGRESS_PORT", &config.progress_updates_port),
        ("SONOBUOY_CONFIG_DIR", names::PLUGIN_CONFIG_DIR),
        ("SONOBUOY_K8S_VERSION", version),
    ];
    // Without a version, the variable of the definition is kept.
    let given = variables.into_iter().filter(|(key, _)| *key != "SONOBUOY_K8S_VERSION" || !version.is_empty());
    given.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Returns the plugin's container and those of its pod, each with its path.
fn containers<'a>(plugin: &PluginName, json: &'a mut Value) -> Result<Vec<(String, &'a mut Value)>, ManifestError> {
    let mut found = Vec::new();
    for (key, value) in json.as_object_mut().into_iter().flatten() {
        match key.as_str() {
            "spec" if value.is_object() => found.push(("spec".to_owned(), value)),
            "podSpec" if value.get("containers").is_some_and(|containers| !containers.is_null()) => {
                for (at, container) in list(plugin, "podSpec", value, "containers")?.iter_mut().enumerate() {
                    let path = format!("podSpec.containers[{at}]");
                    if !container.is_object() {
                        return Err(ManifestError::Shape(plugin.clone(), path, "a mapping"));
                    }
                    found.push((path, container));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the list at `key` of the object at `path`, and inserts an empty one if there is none.
fn list<'a>(
    plugin: &PluginName,
    path: &str,
    object: &'a mut Value,
    key: &str,
) -> Result<&'a mut Vec<Value>, ManifestError> {
    put_missing(object, key, json!([]));
    match object.get_mut(key) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(ManifestError::Shape(plugin.clone(), format!("{path}.{key}"), "a list")),
    }
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
