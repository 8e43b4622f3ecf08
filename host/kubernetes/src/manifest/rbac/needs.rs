//! What a run needs permissions for.

use std::collections::BTreeSet;

use super::super::options::ManifestOptions;

/// What a run needs permissions for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// The resources that are recorded.
    pub queries: Queries,
    /// Whether the kubelets of nodes are queried.
    pub kubelets: bool,
}

/// The resources of the cluster that are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queries {
    /// No resources.
    Nothing,
    /// All resources that can be listed, except secrets.
    Everything,
    /// These resources, by their plural names, and the special items `podlogs`, `servergroups` and
    /// `serverversion`.
    Named(BTreeSet<String>),
}

impl Needs {
    /// Returns the needs of a run with these options.
    #[must_use]
    pub fn of(options: &ManifestOptions) -> Self {
        let queries = match &options.config.resources {
            None => Queries::Everything,
            Some(names) if names.is_empty() => Queries::Nothing,
            Some(names) => Queries::Named(names.iter().map(|name| name.to_lowercase()).collect()),
        };
        Self { queries, kubelets: options.config.plumbline.query_kubelets }
    }

    /// Returns true if configuration and health of kubelets are recorded, through the API server's
    /// node proxy.
    pub(super) fn asks_nodes(&self) -> bool {
        let recorded = match &self.queries {
            Queries::Nothing => false,
            Queries::Everything => true,
            Queries::Named(names) => names.contains("nodes"),
        };
        self.kubelets && recorded
    }

    /// Returns true if logs of pods outside the run's namespace are recorded.
    pub(super) fn reads_logs(&self) -> bool {
        match &self.queries {
            Queries::Nothing => false,
            Queries::Everything => true,
            Queries::Named(names) => names.contains("podlogs"),
        }
    }
}
