//! The data types of a configuration.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::config::values::{
    NativeSidecar, Permissions, PodSecurity, PullPolicy, SecurityContextMode, Storage, Toleration,
};
use crate::schedule::Schedule;

const DEFAULT_PORT: u16 = 8080;

/// The default timeout of a plugin in seconds: 6 h.
const DEFAULT_TIMEOUT: u64 = 21_600;

/// The configuration of a run in a cluster. The serialized form has Sonobuoy's keys in Sonobuoy's
/// order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Config {
    /// A free-form description.
    pub description: String,
    /// The ID of the run, empty until the aggregator chooses one.
    #[serde(rename = "UUID")]
    pub uuid: String,
    /// The version that wrote this configuration.
    pub version: String,
    /// The results directory *in the pods of plugins*.
    pub results_dir: String,
    /// The directory to which `query` writes. If empty, a directory named after the run's ID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub query_dir: String,
    /// The plural names of the cluster resources to record. `None` records all but secrets.
    pub resources: Option<Vec<String>>,
    /// Which objects are recorded.
    pub filters: Filters,
    /// How much of the objects is recorded.
    pub limits: QueryLimits,
    /// The rate limit for recording, in requests per second.
    #[serde(rename = "QPS", serialize_with = "whole_if_it_is")]
    pub qps: f64,
    /// The burst limit for recording, in requests.
    pub burst: u32,
    /// The settings of the aggregator's server.
    pub server: Server,
    /// The plugins to run out of those that are found. `None` runs all of them.
    pub plugins: Option<Vec<Selection>>,
    /// Directories with plugin definitions.
    pub plugin_search_path: Vec<String>,
    /// The run's namespace.
    pub namespace: String,
    /// Runs no plugins and only records the cluster. Nothing is created for plugins.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub skip_plugins: bool,
    /// The image of aggregator and workers.
    pub worker_image: String,
    /// When the worker image is pulled.
    pub image_pull_policy: PullPolicy,
    /// Applies `image_pull_policy` to the images of plugins too, whatever their definitions say.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub force_image_pull_policy: bool,
    /// The *name* of one Secret with registry credentials. If empty, none is used.
    pub image_pull_secrets: String,
    /// Annotations of the aggregator's pod, and of pods and DaemonSets of plugins.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_annotations: BTreeMap<String, String>,
    /// The permissions of the aggregator's service account.
    pub aggregator_permissions: Permissions,
    /// Taints that the aggregator's pod tolerates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aggregator_tolerations: Vec<Toleration>,
    /// The service account of aggregator and plugins.
    pub service_account_name: String,
    /// Whether the service account already exists.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub existing_service_account: bool,
    /// A file with registry credentials, read where the manifest is generated.
    #[serde(rename = "E2EDockerConfigFile", skip_serializing_if = "String::is_empty")]
    pub e2e_docker_config_file: String,
    /// The Pod Security level that the run's namespace enforces.
    #[serde(rename = "NamespacePSAEnforceLevel")]
    pub namespace_psa_enforce_level: PodSecurity,
    /// The port on which a plugin reports its progress to its worker.
    pub progress_updates_port: String,
    /// The security context of the aggregator's pod.
    pub security_context_mode: SecurityContextMode,
    /// The section `Plumbline`.
    pub plumbline: PlumblineConfig,
    /// Whether Sonobuoy wrote this configuration, and therefore the manifest of the run. Such a
    /// configuration has no section `Plumbline`. Only the aggregator reads such configurations, by
    /// [`Config::over_zero`].
    #[serde(skip)]
    pub from_sonobuoy: bool,
}

/// Selects the objects to record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Filters {
    /// An unanchored regular expression for namespaces.
    pub namespaces: String,
    /// A label selector.
    pub label_selector: String,
}

/// Limits what is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct QueryLimits {
    /// The limits for the logs of pods.
    pub pod_logs: PodLogLimits,
}

/// Which logs of pods are recorded, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PodLogLimits {
    /// An unanchored regular expression for namespaces.
    pub namespaces: String,
    /// Whether to record the run's own namespace too.
    pub sonobuoy_namespace: bool,
    /// Field selectors for further pods in any namespace.
    pub field_selectors: Vec<String>,
    /// A label selector that restricts the pods.
    pub label_selector: String,
    /// Whether to record the logs of the containers before their last restart.
    pub previous: bool,
    /// The maximum age of log lines in seconds. Excludes `since_time`.
    pub since_seconds: Option<u64>,
    /// The time of the oldest log lines. Excludes `since_seconds`.
    pub since_time: Option<Timestamp>,
    /// Whether each line has a timestamp.
    pub timestamps: bool,
    /// The number of lines from the end of each log.
    pub tail_lines: Option<u64>,
    /// The maximum size of each log in bytes.
    pub limit_bytes: Option<u64>,
}

/// The settings of the aggregator's server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Server {
    /// The address to listen on.
    #[serde(rename = "bindaddress")]
    pub bind_address: String,
    /// The port to listen on.
    #[serde(rename = "bindport")]
    pub bind_port: u16,
    /// The host and port that workers connect to. If empty, [`Server::advertised`] chooses them.
    #[serde(rename = "advertiseaddress")]
    pub advertise_address: String,
    /// The timeout of each plugin in seconds, from its launch. With 0, there is no timeout.
    #[serde(rename = "timeoutseconds")]
    pub timeout_seconds: u64,
}

/// A plugin to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// The name of the plugin.
    pub name: String,
}

/// Returns the image of this version.
pub fn default_image() -> String {
    format!("ghcr.io/plumbline-dev/plumbline:{}", version())
}

fn version() -> String {
    format!("v{}", env!("CARGO_PKG_VERSION"))
}

impl Default for Config {
    fn default() -> Self {
        Self {
            description: "DEFAULT".to_owned(),
            uuid: String::new(),
            version: version(),
            results_dir: "/tmp/sonobuoy/results".to_owned(),
            query_dir: String::new(),
            resources: None,
            filters: Filters { namespaces: ".*".to_owned(), label_selector: String::new() },
            limits: QueryLimits {
                pod_logs: PodLogLimits {
                    namespaces: "kube-system".to_owned(),
                    sonobuoy_namespace: true,
                    ..PodLogLimits::default()
                },
            },
            qps: 30.0,
            burst: 50,
            server: Server::default(),
            plugins: None,
            plugin_search_path: ["./plugins.d", "/etc/sonobuoy/plugins.d", "~/sonobuoy/plugins.d"]
                .map(str::to_owned)
                .to_vec(),
            namespace: "sonobuoy".to_owned(),
            skip_plugins: false,
            worker_image: default_image(),
            image_pull_policy: PullPolicy::default(),
            force_image_pull_policy: false,
            image_pull_secrets: String::new(),
            custom_annotations: BTreeMap::new(),
            aggregator_permissions: Permissions::default(),
            aggregator_tolerations: Vec::new(),
            service_account_name: "sonobuoy-serviceaccount".to_owned(),
            existing_service_account: false,
            e2e_docker_config_file: String::new(),
            namespace_psa_enforce_level: PodSecurity::default(),
            progress_updates_port: "8099".to_owned(),
            security_context_mode: SecurityContextMode::default(),
            plumbline: PlumblineConfig::default(),
            from_sonobuoy: false,
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self {
            bind_address: "0.0.0.0".to_owned(),
            bind_port: DEFAULT_PORT,
            advertise_address: String::new(),
            timeout_seconds: DEFAULT_TIMEOUT,
        }
    }
}

impl Config {
    /// Returns the configuration that Sonobuoy's aggregator starts from, in which everything is
    /// empty or zero.
    ///
    /// Settings with a fixed set of values and the section `Plumbline` have their defaults, because
    /// they have no empty value.
    pub(super) fn zero() -> Self {
        let none = String::new;
        Self {
            description: none(),
            version: none(),
            results_dir: none(),
            filters: Filters::default(),
            limits: QueryLimits::default(),
            qps: 0.0,
            burst: 0,
            server: Server { bind_address: none(), bind_port: 0, advertise_address: none(), timeout_seconds: 0 },
            plugin_search_path: Vec::new(),
            namespace: none(),
            worker_image: none(),
            service_account_name: none(),
            progress_updates_port: none(),
            from_sonobuoy: true,
            ..Self::default()
        }
    }

    /// Returns the configuration as one line of JSON, as written to the ConfigMap.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

impl Server {
    /// Returns the host and port that workers connect to: the configured ones, or the pod's IP
    /// address (`SONOBUOY_ADVERTISE_IP`), or the host name. IPv6 addresses are in brackets.
    pub fn advertised(&self, pod_ip: Option<&str>, host_name: &str) -> String {
        if !self.advertise_address.is_empty() {
            return self.advertise_address.clone();
        }
        match pod_ip.filter(|ip| !ip.is_empty()) {
            Some(ip) if ip.parse::<Ipv4Addr>().is_ok() => format!("{ip}:{}", self.bind_port),
            Some(ip) => format!("[{}]:{}", ip.trim_matches(['[', ']']), self.bind_port),
            None => format!("{host_name}:{}", self.bind_port),
        }
    }

    /// Replaces empty values by working defaults. Port 0 would listen on an arbitrary port that no
    /// worker knows.
    pub(super) fn settle(&mut self) {
        if self.bind_port == 0 {
            self.bind_port = DEFAULT_PORT;
        }
        if self.bind_address.is_empty() {
            "0.0.0.0".clone_into(&mut self.bind_address);
        }
    }
}

/// Serializes whole numbers as `30` and not `30.0`, as Sonobuoy does.
fn whole_if_it_is<S: Serializer>(rate: &f64, to: S) -> Result<S::Ok, S::Error> {
    match u32::try_from(*rate as i64) {
        Ok(whole) if f64::from(whole) == *rate => to.serialize_u32(whole),
        _ => to.serialize_f64(*rate),
    }
}

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
    /// The deadline of the whole run in seconds. With 0, there is no deadline.
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
