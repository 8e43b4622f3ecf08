//! What all plugins of a run have in common in a cluster.

use std::collections::BTreeMap;

use plumbline_core::PluginName;
use plumbline_core::config::Toleration;

/// What all plugins of a run have in common: where they run, and what stands beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The namespace of the run.
    pub namespace: String,
    /// The service account of the aggregator, which no plugin gets unless Sonobuoy made the manifest.
    pub service_account: String,
    /// The service account of plugins that ask for no permissions. `None`: Sonobuoy made the manifest, which has no such account, and
    /// plugins get what they get there.
    pub plugin_account: Option<String>,
    /// The worker's image.
    pub worker_image: String,
    /// `Always`, `IfNotPresent` or `Never`, for the worker's image.
    pub image_pull_policy: String,
    /// A Secret with credentials for registries; added to every pod.
    pub image_pull_secrets: Option<String>,
    /// Annotations for every pod and DaemonSet.
    pub custom_annotations: BTreeMap<String, String>,
    /// Where plugin and worker meet, in both of their containers.
    pub results_dir: String,
    /// The port of the worker's progress relay.
    pub progress_port: String,
    /// The same, by plugin, of plugins that share the network of their nodes: see
    /// [`super::progress_ports`].
    pub progress_ports: BTreeMap<PluginName, String>,
    /// Tolerations of pods of Jobs without a `podSpec`; `None`: [`super::default_tolerations`].
    pub job_tolerations: Option<Vec<Toleration>>,
    /// The aggregator's pod: what is created goes when it goes. `None`: it stays until the cleanup.
    pub owner: Option<Owner>,
    /// Whether the worker of a Job is a native sidecar: an init container that stays. Kubernetes knows these from 1.29 on, see
    /// [`crate::ServerVersion::has_native_sidecars`].
    pub native_sidecar: bool,
    /// Who the worker runs as.
    pub security: WorkerSecurity,
    /// Leaves results directories in definitions as they were written, for plugins whose mounts were made by hand.
    pub disable_reconciliation: bool,
}

impl Stage {
    /// The port of the progress relay in the pods of a plugin.
    pub(super) fn port_of(&self, plugin: &PluginName) -> &str {
        self.progress_ports.get(plugin).unwrap_or(&self.progress_port)
    }
}

/// The pod that owns what is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// Who the worker runs as. In every case but [`WorkerSecurity::Off`] it cannot gain privileges, and its root file system is read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkerSecurity {
    /// As the plugin does, so that it can read whatever the plugin wrote.
    #[default]
    LikePlugin,
    /// As the platform decides: no user is named. For clusters that assign users to namespaces and refuse others, such as OpenShift.
    Platform,
    /// No security context at all.
    Off,
}
