//! What a run needs to be allowed, in its own words.

use std::collections::BTreeSet;

use super::super::options::ManifestOptions;

/// Plugins that are known to need everything: the conformance tests create and delete whatever Kubernetes has.
const NEED_EVERYTHING: [&str; 1] = ["e2e"];

/// What a run needs to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// What of the cluster is recorded.
    pub queries: Queries,
    /// Plugins that need everything, by their names.
    pub cluster_admin: BTreeSet<String>,
}

/// What of the cluster is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queries {
    /// Nothing.
    Nothing,
    /// Everything that can be listed, but secrets.
    Everything,
    /// These resources, by their plural names, and the special items `podlogs`, `servergroups` and `serverversion`.
    Named(BTreeSet<String>),
}

impl Needs {
    /// What a run with these options needs.
    #[must_use]
    pub fn of(options: &ManifestOptions) -> Self {
        let queries = match &options.config.resources {
            None => Queries::Everything,
            Some(names) if names.is_empty() => Queries::Nothing,
            Some(names) => Queries::Named(names.iter().map(|name| name.to_lowercase()).collect()),
        };
        let names = options.plugins.iter().map(|plugin| plugin.definition.name.as_str());
        let cluster_admin = names.filter(|name| NEED_EVERYTHING.contains(name)).map(str::to_owned).collect();
        Self { queries, cluster_admin }
    }

    /// Whether the configuration and health of nodes are recorded, through the API server's proxy to them.
    pub(super) fn asks_nodes(&self) -> bool {
        match &self.queries {
            Queries::Nothing => false,
            Queries::Everything => true,
            Queries::Named(names) => names.contains("nodes"),
        }
    }

    /// Whether logs of pods outside the run's namespace are recorded.
    pub(super) fn reads_logs(&self) -> bool {
        match &self.queries {
            Queries::Nothing => false,
            Queries::Everything => true,
            Queries::Named(names) => names.contains("podlogs"),
        }
    }
}
