//! The data types of a configuration.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::config::section::PlumblineConfig;
use crate::config::values::{Permissions, PodSecurity, PullPolicy, SecurityContextMode, Toleration};

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
