//! Our own section of the configuration, `Plumbline`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::choice::NativeSidecar;
use crate::config::storage::Storage;
use crate::config::toleration::Toleration;

/// The section `Plumbline`. Other tools ignore it, and an absent key always has its default: what other tools write has no such section.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Own {
    /// How long troubles may last.
    pub graces: Graces,
    /// The run ends when names do not resolve in the cluster, or a worker cannot reach the aggregator.
    pub fail_fast: bool,
    /// How the worker stands beside a Job plugin.
    pub native_sidecar: NativeSidecar,
    /// Tolerations of pods of Job plugins without a `podSpec`, in place of the default ones;
    /// `None`: the default ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_tolerations: Option<Vec<Toleration>>,
    /// Where the aggregator keeps the run and its archive.
    pub storage: Storage,
    /// Where the archive is sent at the end; empty: nowhere.
    #[serde(rename = "UploadURL")]
    pub upload_url: String,
    /// The Secret in the run's namespace with the credentials for `UploadURL`; empty: none.
    pub upload_secret: String,
    /// How long the whole run may take, in seconds; 0: as long as it wants.
    pub deadline_seconds: u64,
    /// The version of the cluster that plugins are told, such as `v1.30.2`; empty: that of the API server.
    pub kubernetes_version: String,
    /// Further labels of the run's namespace, when the run makes it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub namespace_labels: BTreeMap<String, String>,
    /// Annotations of the run's namespace, when the run makes it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub namespace_annotations: BTreeMap<String, String>,
    /// Where plugins that came as packed bundles are from, by plugin: told in the archive.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub plugin_sources: BTreeMap<String, String>,
    /// The digests of these bundles, by plugin.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub plugin_bundles: BTreeMap<String, String>,
    /// Bundles whose modules the aggregator fetches itself; those of other plugins are carried in ConfigMaps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bundles: Vec<BundleSource>,
    /// The configuration and health of kubelets are recorded where nodes are. That needs the permission `nodes/proxy`,
    /// which also allows commands in every container of every node.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub query_kubelets: bool,
    /// How the aggregator reaches the registries of [`Own::bundles`].
    #[serde(skip_serializing_if = "RegistryAccess::is_default")]
    pub registry: RegistryAccess,
}

/// Bundles that an aggregator fetches: more than a run has plugins.
pub const MAX_BUNDLES: usize = 256;

/// A bundle that the aggregator fetches itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct BundleSource {
    /// The plugin whose modules it has.
    pub plugin: String,
    /// Where it is: a reference to a registry with the digest of the manifest. Empty: in the aggregator's image.
    pub reference: String,
    /// The digest of the bundle: what is found elsewhere must have it.
    pub digest: String,
}

/// How registries are reached from the cluster. Credentials are not among this: they are in the Secret that `ImagePullSecrets` names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct RegistryAccess {
    /// Registries that are spoken to without encryption, each `HOST` or `HOST:PORT`.
    pub insecure: Vec<String>,
    /// Token servers that may have the credentials of a registry under another name, each
    /// `REGISTRY=HOST[:PORT]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_servers: Vec<String>,
    /// Authorities that are trusted beside the image's: certificates as PEM text.
    #[serde(rename = "CA")]
    pub ca: String,
}

impl RegistryAccess {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How long a trouble may last before it counts as a result, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Graces {
    /// An image cannot be pulled, or a container cannot be created.
    pub image_pull: u32,
    /// A container is being created, and has not started.
    pub starting: u32,
    /// A pod cannot be scheduled.
    pub unschedulable: u32,
    /// A node is gone, or not ready.
    pub node_gone: u32,
    /// A pod is gone and was not replaced.
    pub pod_gone: u32,
    /// A container crashes again and again.
    pub crash_loop: u32,
    /// The plugin's container ended and no result came.
    pub no_result: u32,
    /// A worker's container runs and was not heard of.
    pub hello: u32,
    /// No pod was made for an expected node.
    pub no_pod: u32,
    /// A worker that sent heartbeats before has sent none for so long: it is reported.
    pub silent: u32,
    /// How much longer the run waits for the result of such a worker; 0: for as long as the API
    /// server shows its container running.
    pub silent_lost: u32,
}

impl Default for Graces {
    fn default() -> Self {
        Self {
            image_pull: 300,
            starting: 600,
            unschedulable: 300,
            node_gone: 60,
            pod_gone: 60,
            crash_loop: 60,
            no_result: 60,
            hello: 60,
            no_pod: 300,
            silent: 60,
            silent_lost: 300,
        }
    }
}
