//! The input of a manifest.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumbline_core::{Config, Definition};

/// The input of a manifest, in addition to the configuration.
///
/// The configuration has namespace, images, permissions, service account and Pod Security level.
#[derive(Debug, Clone)]
pub struct ManifestOptions {
    /// The configuration, which the aggregator gets too.
    pub config: Config,
    /// The plugins, whose definitions were prepared by [`super::prepare_definition`]. If the
    /// configuration skips plugins, they are ignored.
    pub plugins: Vec<ManifestPlugin>,
    /// Whether to create roles and bindings.
    pub rbac: bool,
    /// Whether to create the namespace.
    pub create_namespace: bool,
    /// A label selector for the nodes on which the aggregator may run.
    pub aggregator_node_selector: BTreeMap<String, String>,
    /// Further environment variables of the aggregator. They take precedence over the default ones.
    pub aggregator_env: BTreeMap<String, String>,
    /// The log level of the aggregator: `info`, `debug`, `trace`, and so on.
    pub log_level: String,
    /// Registry credentials, which become the Secret that `ImagePullSecrets` names.
    pub docker_config: Option<DockerConfig>,
    /// A private key for plugins that log in to nodes, which becomes the Secret `ssh-key`.
    pub ssh_key: Option<Vec<u8>>,
    /// Further Secrets, whose values plugins take into their environment: by name and key.
    pub secrets: BTreeMap<String, BTreeMap<String, String>>,
}

/// A plugin of the run.
#[derive(Debug, Clone)]
pub struct ManifestPlugin {
    /// The definition of the plugin.
    pub definition: Arc<Definition>,
    /// The modules of the plugin's bundle: file name and content.
    pub modules: Vec<(String, Vec<u8>)>,
}

/// Registry credentials.
#[derive(Debug, Clone)]
pub struct DockerConfig {
    /// The name of the Secret.
    pub name: String,
    /// The content of a docker `config.json`.
    pub json: Vec<u8>,
}

impl ManifestOptions {
    /// Creates options for `config` and `plugins`, with defaults for the rest.
    #[must_use]
    pub fn new(config: Config, plugins: Vec<ManifestPlugin>) -> Self {
        Self {
            config,
            plugins,
            rbac: true,
            create_namespace: true,
            aggregator_node_selector: BTreeMap::new(),
            aggregator_env: BTreeMap::new(),
            log_level: "info".to_owned(),
            docker_config: None,
            ssh_key: None,
            secrets: BTreeMap::new(),
        }
    }

    /// Returns the plugins that run, in name order.
    pub(super) fn sorted_plugins(&self) -> Vec<&ManifestPlugin> {
        let mut plugins: Vec<&ManifestPlugin> = self.plugins.iter().filter(|_| !self.config.skip_plugins).collect();
        plugins.sort_by_key(|plugin| plugin.definition.name.as_str());
        plugins
    }
}
