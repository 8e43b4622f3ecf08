//! The environment of plugin and worker: the same as in a pod (docs/protocol.md, "Environment").

use std::collections::BTreeMap;
use std::path::Path;

use plumbline_aggregator::Launch;
use plumbline_core::ResultKey;
use plumbline_core::definition::{EnvValue, PROGRESS_VARIABLE};
use serde_json::json;

/// The paths and the port of one execution.
pub(crate) struct Places<'a> {
    pub(crate) results: &'a Path,
    pub(crate) config: &'a Path,
    pub(crate) progress_port: u16,
    pub(crate) binary: &'a Path,
}

/// Returns the plugin's variables, in addition to those of this process. As in a cluster, the
/// automatic variables override those of the definition.
pub(crate) fn plugin(launch: &Launch, key: &ResultKey, node: &str, places: &Places<'_>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for variable in launch.definition.spec.env() {
        match &variable.value {
            EnvValue::Text(text) => drop(variables.insert(variable.name.clone(), text.clone())),
            EnvValue::From(_) => tracing::warn!(
                plugin = %key.plugin,
                "variable `{}` is not set: its value comes from the cluster, and this is a local run", variable.name
            ),
        }
    }
    let results = places.results.display().to_string();
    let directory = launch.bundle.as_deref().map(|bundle| bundle.display().to_string());
    let automatic = [
        ("SONOBUOY", Some("true".to_owned())),
        ("SONOBUOY_RESULTS_DIR", Some(results.clone())),
        ("RESULTS_DIR", Some(results)),
        ("SONOBUOY_PROGRESS_PORT", Some(places.progress_port.to_string())),
        ("SONOBUOY_CONFIG_DIR", Some(places.config.display().to_string())),
        ("NODE_NAME", Some(node.to_owned())),
        ("RESULT_TYPE", Some(key.plugin.to_string())),
        ("PLUMBLINE_BIN", Some(places.binary.display().to_string())),
        ("PLUMBLINE_PLUGIN_DIR", directory),
    ];
    variables.extend(automatic.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    variables
}

/// Returns the complete environment of the worker.
pub(crate) fn worker(launch: &Launch, key: &ResultKey, places: &Places<'_>) -> BTreeMap<String, String> {
    let access = &launch.access;
    let results = places.results.display().to_string();
    let progress = launch.definition.plumbline.progress.as_ref().map(|progress| json!(progress).to_string());
    [
        ("AGGREGATOR_URL", access.aggregator_url.clone()),
        ("CA_CERT", access.ca_cert.clone()),
        ("CLIENT_CERT", access.client_cert.clone()),
        ("CLIENT_KEY", access.client_key.clone()),
        ("NODE_NAME", key.node.to_string()),
        ("RESULT_TYPE", key.plugin.to_string()),
        ("RESULTS_DIR", results.clone()),
        ("SONOBUOY_RESULTS_DIR", results),
        ("SONOBUOY_PROGRESS_PORT", places.progress_port.to_string()),
        // On this machine, plugin and worker share a file system without any volumes in between, so
        // a short delay is enough.
        ("SONOBUOY_DONE_FILE_DELAY", "100ms".to_owned()),
    ]
    .into_iter()
    .chain(progress.map(|progress| (PROGRESS_VARIABLE, progress)))
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}
