//! The settings that all plugins of a run share in a cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_core::config::{PodSecurity, Toleration};
use plumbline_core::definition::Definition;
use plumbline_core::{PluginName, RunId};

/// The settings that all plugins of a run share: where they run, and with what worker.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The ID of the run. The cleanup finds its objects by it, also those of an earlier aggregator.
    pub run: RunId,
    /// The namespace of the run.
    pub namespace: String,
    /// The service account of the aggregator. Plugins get it only under a manifest that Sonobuoy
    /// made.
    pub service_account: String,
    /// The service account of plugins without permissions.
    ///
    /// `None` means that Sonobuoy made the manifest, which has no such account. Plugins then get
    /// the account that they get there.
    pub plugin_account: Option<String>,
    /// The image of the worker.
    pub worker_image: String,
    /// The pull policy of the worker's image: `Always`, `IfNotPresent` or `Never`.
    pub image_pull_policy: String,
    /// A Secret with registry credentials, which is added to every pod.
    pub image_pull_secrets: Option<String>,
    /// Annotations for every pod and DaemonSet.
    pub custom_annotations: BTreeMap<String, String>,
    /// The results directory, mounted in both the plugin's and the worker's container.
    pub results_dir: String,
    /// The port of the worker's progress relay.
    pub progress_port: String,
    /// The ports of plugins that share the network of their nodes (see [`super::progress_ports`]).
    pub progress_ports: BTreeMap<PluginName, String>,
    /// Tolerations of pods of Jobs without a `podSpec`. `None` means the default ones.
    pub job_tolerations: Option<Vec<Toleration>>,
    /// The aggregator's pod, which owns the created objects. With `None`, they stay until the
    /// cleanup.
    pub owner: Option<OwnerReference>,
    /// Whether the worker of a Job is a native sidecar, which is an init container that keeps
    /// running.
    ///
    /// Kubernetes supports these since 1.29 (see [`crate::ServerVersion::has_native_sidecars`]).
    pub native_sidecar: bool,
    /// The Pod Security level that the namespace enforces. Pods of definitions that say nothing
    /// else comply with it.
    pub pod_security: PodSecurity,
    /// The user and privileges of the worker.
    pub security: WorkerSecurity,
    /// Whether to keep the results directories of definitions unchanged, for plugins with
    /// hand-written mounts.
    pub disable_reconciliation: bool,
}

impl Stage {
    pub(super) fn port_of(&self, plugin: &PluginName) -> &str {
        self.progress_ports.get(plugin).unwrap_or(&self.progress_port)
    }

    /// A DaemonSet's pod never ends by itself, and its worker keeps running. A native sidecar has
    /// no advantage there.
    pub(super) fn has_sidecar(&self, definition: &Definition) -> bool {
        self.native_sidecar && !definition.driver.is_per_node()
    }
}

/// The user and privileges of the worker.
///
/// Except with [`WorkerSecurity::Off`], it cannot gain privileges, and its root file system is
/// read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkerSecurity {
    /// The same user as the plugin, so that the worker can read everything that the plugin wrote.
    #[default]
    LikePlugin,
    /// No user is set, so that the platform decides. For clusters that assign users to namespaces
    /// and reject others, such as OpenShift.
    Platform,
    /// No security context.
    Off,
}
