//! What a manifest is made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumbline_core::{Config, Definition};

use crate::cluster::ServerVersion;

/// What a manifest is made of. The configuration has the rest: namespace, images, permissions, service account, Pod Security level.
#[derive(Debug, Clone)]
pub struct ManifestOptions {
    /// The configuration, which the aggregator gets too.
    pub config: Config,
    /// The plugins, with definitions that [`super::prepare_definition`] went over.
    pub plugins: Vec<ManifestPlugin>,
    /// Whether roles and their bindings are made.
    pub rbac: bool,
    /// Whether the namespace is made.
    pub create_namespace: bool,
    /// Labels of nodes that the aggregator may run on.
    pub aggregator_node_selector: BTreeMap<String, String>,
    /// Further variables for the aggregator; they win over those that it gets anyway.
    pub aggregator_env: BTreeMap<String, String>,
    /// How much the aggregator's log tells: `info`, `debug`, `trace`, ...
    pub log_level: String,
    /// Credentials for registries: becomes the Secret that `ImagePullSecrets` names.
    pub docker_config: Option<DockerConfig>,
    /// A private key for plugins that log in to nodes: becomes the Secret `ssh-key`.
    pub ssh_key: Option<Vec<u8>>,
    /// The cluster's version, if it was asked: plugins are told it, unless the configuration names another.
    pub server: Option<ServerVersion>,
}

/// A plugin of the run.
#[derive(Debug, Clone)]
pub struct ManifestPlugin {
    /// Its definition.
    pub definition: Arc<Definition>,
    /// The modules of its bundle: file name and content.
    pub modules: Vec<(String, Vec<u8>)>,
}

/// Credentials for registries.
#[derive(Debug, Clone)]
pub struct DockerConfig {
    /// The name of the Secret.
    pub name: String,
    /// The content of a docker `config.json`.
    pub json: Vec<u8>,
}

impl ManifestOptions {
    /// Options for `config` and `plugins`, with defaults for the rest.
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
            server: None,
        }
    }
}
