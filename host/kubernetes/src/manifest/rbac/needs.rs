//! What a run needs to be allowed, in its own words.

use std::collections::BTreeSet;

use super::super::options::ManifestOptions;

/// What a run needs to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// What of the cluster is recorded.
    pub queries: Queries,
    /// Whether the kubelets of nodes are queried.
    pub kubelets: bool,
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
        Self { queries, kubelets: options.config.plumbline.query_kubelets }
    }

    /// Whether the configuration and health of kubelets are recorded, through the API server's proxy to them.
    pub(super) fn asks_nodes(&self) -> bool {
        let recorded = match &self.queries {
            Queries::Nothing => false,
            Queries::Everything => true,
            Queries::Named(names) => names.contains("nodes"),
        };
        self.kubelets && recorded
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
