//! The data types of the section `Plumbline`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::values::{NativeSidecar, Storage, Toleration};
use crate::schedule::Schedule;

/// The section `Plumbline`. Other tools ignore it and do not write it, so an absent key always has
/// its default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PlumblineConfig {
    /// How long problems may last.
    pub graces: GracePeriods,
    /// Whether the run ends when names do not resolve in the cluster, or a worker cannot reach the
    /// aggregator.
    pub fail_fast: bool,
    /// Whether the worker of a Job plugin is a native sidecar.
    pub native_sidecar: NativeSidecar,
    /// Tolerations of pods of Job plugins without a `podSpec`. `None` applies the default ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_tolerations: Option<Vec<Toleration>>,
    /// Where the aggregator keeps the run and its archive.
    pub storage: Storage,
    /// The URL to which the finished archive is uploaded. If empty, it is not uploaded.
    #[serde(rename = "UploadURL")]
    pub upload_url: String,
    /// The Secret in the run's namespace with the credentials for `UploadURL`. If empty, none is
    /// used.
    pub upload_secret: String,
    /// The deadline of the whole run in seconds. 0 means without a deadline.
    pub deadline_seconds: u64,
    /// When runs start by themselves. `None` starts one run, at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// The Kubernetes version that plugins see, such as `v1.30.2`. If empty, that of the API
    /// server.
    pub kubernetes_version: String,
    /// Additional labels of the run's namespace, if the run creates it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub namespace_labels: BTreeMap<String, String>,
    /// Annotations of the run's namespace, if the run creates it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub namespace_annotations: BTreeMap<String, String>,
    /// The sources of plugins that came as packed bundles, by plugin. The archive records them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub plugin_sources: BTreeMap<String, String>,
    /// The digests of the bundles of plugins, by plugin. The archive records them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub plugin_bundles: BTreeMap<String, String>,
    /// Bundles whose modules the aggregator downloads itself. ConfigMaps carry the modules of other
    /// plugins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bundles: Vec<BundleSource>,
    /// Whether to record the configuration and health of kubelets along with nodes. This needs the
    /// permission `nodes/proxy`, which also allows running commands in every container of every
    /// node.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub query_kubelets: bool,
    /// Metrics and traces of the run.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub telemetry: Telemetry,
    /// How the aggregator connects to the registries of [`PlumblineConfig::bundles`].
    #[serde(skip_serializing_if = "crate::is_default")]
    pub registry: RegistryAccess,
}

/// How the aggregator reports metrics and traces. By default, it does not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Telemetry {
    /// The port on which the aggregator serves metrics. With 0, it does not.
    pub metrics_port: u16,
    /// The URL of a collector that gets metrics and traces (OTLP over HTTP). If empty, nothing is
    /// sent.
    #[serde(rename = "OTLPEndpoint")]
    pub otlp_endpoint: String,
    /// The Secret in the run's namespace with variables for the export, such as its headers. If
    /// empty, none is used.
    #[serde(rename = "OTLPSecret")]
    pub otlp_secret: String,
    /// The trace context of the pipeline that started the run (W3C `traceparent`). May be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trace_parent: String,
    /// The `tracestate` of that context.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub trace_state: String,
}

/// The maximum number of bundles that an aggregator downloads, more than a run has plugins.
pub const MAX_BUNDLES: usize = 256;

/// A bundle that the aggregator downloads itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct BundleSource {
    /// The plugin whose modules the bundle contains.
    pub plugin: String,
    /// A registry reference with the digest of the manifest. If empty, the bundle is in the
    /// aggregator's image.
    pub reference: String,
    /// The digest of the bundle. A downloaded bundle must have it.
    pub digest: String,
}

/// How to connect to registries from the cluster. Credentials are not included: they are in the
/// Secret that `ImagePullSecrets` names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct RegistryAccess {
    /// Registries that use plain HTTP, each `HOST` or `HOST:PORT`.
    pub insecure: Vec<String>,
    /// Token servers on another host that may receive the credentials of a registry, each
    /// `REGISTRY=HOST[:PORT]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub token_servers: Vec<String>,
    /// Additional trusted CA certificates as PEM text, in addition to those of the image.
    #[serde(rename = "CA")]
    pub ca: String,
}

/// The grace periods, in seconds: how long a problem may last before it makes a result missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GracePeriods {
    /// An image cannot be pulled, or a container cannot be created.
    pub image_pull: u32,
    /// A container is being created, and has not started.
    pub starting: u32,
    /// A pod is unschedulable.
    pub unschedulable: u32,
    /// A node is gone, or not ready.
    pub node_gone: u32,
    /// A pod is gone and has not been replaced.
    pub pod_gone: u32,
    /// A container is in a crash loop.
    pub crash_loop: u32,
    /// The plugin's container has ended, and no result was received.
    pub no_result: u32,
    /// A worker's container is running, and the worker has not sent any message.
    pub hello: u32,
    /// No pod was created for an expected node.
    pub no_pod: u32,
    /// A worker that sent heartbeats before has stopped sending them. It is reported as silent.
    pub silent: u32,
    /// How much longer the run waits for the result of a silent worker. With 0, it waits for as
    /// long as the API server shows the container as running.
    pub silent_lost: u32,
}

impl Default for GracePeriods {
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
