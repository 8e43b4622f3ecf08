//! ConfigMaps with the configuration, the definitions and the files of plugins.

use plumbline_core::Config;
use serde_json::{Map, Value, json};

use super::error::{MAX_CONFIG_MAP_BYTES, ManifestError};
use super::objects::labels;
use super::options::{ManifestOptions, ManifestPlugin};
use super::prepare::config_map_name;
use super::yaml::to_document;
use crate::names;

/// Returns the ConfigMap with the configuration.
///
/// The run ID is empty: every run chooses its own, even if the same manifest is applied twice.
pub(super) fn config(options: &ManifestOptions) -> Result<Value, ManifestError> {
    let mut config = options.config.clone();
    config.uuid = String::new();
    if config.plumbline.kubernetes_version.is_empty()
        && let Some(server) = &options.server
    {
        config.plumbline.kubernetes_version = server.image_version();
    }
    let json = config.to_json().map_err(|error| ManifestError::Write(error.to_string()))?;
    Ok(config_map(&config, names::CONFIG_MAP, json!({"config.json": json})))
}

/// Returns the ConfigMaps with the definitions, as `plugin-0.yaml` and so on, in the order of
/// `plugins`.
///
/// Sonobuoy puts all of them into one ConfigMap. Here a full one is followed by another, so that
/// only a single definition can be too large. There is always at least one.
pub(super) fn definitions(config: &Config, plugins: &[&ManifestPlugin]) -> Result<Vec<Value>, ManifestError> {
    let mut maps = vec![Map::new()];
    let mut filled = 0;
    for (at, plugin) in plugins.iter().enumerate() {
        let definition = &plugin.definition;
        let yaml = to_document(&definition.to_json());
        if yaml.len() > MAX_CONFIG_MAP_BYTES {
            let what = "the definition (with the files under `config-map`)";
            return Err(ManifestError::TooLarge { what, plugin: definition.name.clone(), bytes: yaml.len() });
        }
        if filled + yaml.len() > MAX_CONFIG_MAP_BYTES {
            maps.push(Map::new());
            filled = 0;
        }
        filled += yaml.len();
        if let Some(map) = maps.last_mut() {
            map.insert(format!("plugin-{at}.yaml"), Value::String(yaml));
        }
    }
    let name = |at| match at {
        0 => names::PLUGINS_CONFIG_MAP.to_owned(),
        _ => format!("{}-{at}", names::PLUGINS_CONFIG_MAP),
    };
    Ok(maps.into_iter().enumerate().map(|(at, map)| config_map(config, &name(at), Value::Object(map))).collect())
}

/// Returns the ConfigMaps with the files of plugins, one for each plugin that has any.
///
/// Unlike Sonobuoy's, they are labelled. In a shared namespace they must be found when the run is
/// deleted.
pub(super) fn files(config: &Config, plugins: &[&ManifestPlugin]) -> Result<Vec<Value>, ManifestError> {
    let with_files = plugins.iter().map(|plugin| &plugin.definition).filter(|it| !it.config_map.is_empty());
    with_files
        .map(|definition| {
            let bytes = definition.config_map.iter().map(|(key, text)| key.len() + text.len()).sum();
            if bytes > MAX_CONFIG_MAP_BYTES {
                let what = "what stands under `config-map`";
                return Err(ManifestError::TooLarge { what, plugin: definition.name.clone(), bytes });
            }
            Ok(config_map(config, &config_map_name(&definition.name), json!(definition.config_map)))
        })
        .collect()
}

fn config_map(config: &Config, name: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": config.namespace, "labels": labels()},
        "data": data,
    })
}
