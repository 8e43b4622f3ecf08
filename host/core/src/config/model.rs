//! What a configuration holds.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::config::choice::{Permissions, PodSecurity, PullPolicy, SecurityContextMode};
use crate::config::own::Own;
use crate::config::toleration::Toleration;

/// The port of the aggregator if nothing else is said.
const DEFAULT_PORT: u16 = 8080;

/// How long a plugin may take if nothing else is said: 6 h, in seconds.
const DEFAULT_TIMEOUT: u64 = 21_600;

/// The configuration of a run in a cluster. Serialized, it has Sonobuoy's keys in Sonobuoy's order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Config {
    /// Free text.
    pub description: String,
    /// The id of the run; empty until the aggregator chooses one.
    #[serde(rename = "UUID")]
    pub uuid: String,
    /// The version that wrote this.
    pub version: String,
    /// The directory for results *in the pods of plugins*.
    pub results_dir: String,
    /// Where `query` writes; empty: a directory named by the run's id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub query_dir: String,
    /// Which resources of the cluster are recorded, by their plural names; `None`: all but secrets.
    pub resources: Option<Vec<String>>,
    /// Of what they are recorded.
    pub filters: Filters,
    /// How much of it is recorded.
    pub limits: QueryLimits,
    /// Requests per second for recording.
    #[serde(rename = "QPS", serialize_with = "whole_if_it_is")]
    pub qps: f64,
    /// Requests at once for recording.
    pub burst: u32,
    /// The aggregator's server.
    pub server: Server,
    /// Which of the plugins that are found are run; `None`: all.
    pub plugins: Option<Vec<Selection>>,
    /// Directories with definitions.
    pub plugin_search_path: Vec<String>,
    /// The run's namespace.
    pub namespace: String,
    /// No plugins at all: only the cluster is recorded.
    #[serde(skip_serializing_if = "is_false")]
    pub skip_plugins: bool,
    /// The image of aggregator and workers.
    pub worker_image: String,
    /// When it is pulled.
    pub image_pull_policy: PullPolicy,
    /// Plugins' images are pulled by the same policy, whatever their definitions say.
    #[serde(skip_serializing_if = "is_false")]
    pub force_image_pull_policy: bool,
    /// The *name* of one Secret with credentials for registries; empty: none.
    pub image_pull_secrets: String,
    /// Annotations on the aggregator's pod and on pods and DaemonSets of plugins.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_annotations: BTreeMap<String, String>,
    /// What the aggregator's service account may do.
    pub aggregator_permissions: Permissions,
    /// Taints that the aggregator's pod tolerates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aggregator_tolerations: Vec<Toleration>,
    /// The service account of aggregator and plugins.
    pub service_account_name: String,
    /// The service account is there already.
    #[serde(skip_serializing_if = "is_false")]
    pub existing_service_account: bool,
    /// A file with credentials for registries; read where the manifest is made.
    #[serde(rename = "E2EDockerConfigFile", skip_serializing_if = "String::is_empty")]
    pub e2e_docker_config_file: String,
    /// The Pod Security level that the run's namespace enforces.
    #[serde(rename = "NamespacePSAEnforceLevel")]
    pub namespace_psa_enforce_level: PodSecurity,
    /// The port on which a plugin tells its worker about its progress.
    pub progress_updates_port: String,
    /// How the aggregator's pod is confined.
    pub security_context_mode: SecurityContextMode,
    /// Our own section.
    pub plumbline: Own,
    /// Whether Sonobuoy wrote this configuration, and so the manifest of the run: it has no section of ours. Only the aggregator, which
    /// reads what others wrote, ever sees `true` ([`Config::over_zero`]).
    #[serde(skip)]
    pub of_sonobuoy: bool,
}

/// Of what resources are recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Filters {
    /// Namespaces: a regular expression, not anchored.
    pub namespaces: String,
    /// A label selector.
    pub label_selector: String,
}

/// How much is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct QueryLimits {
    /// Of the logs of pods.
    pub pod_logs: PodLogLimits,
}

/// Which logs of pods are recorded, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PodLogLimits {
    /// Namespaces: a regular expression, not anchored.
    pub namespaces: String,
    /// The run's own namespace too.
    pub sonobuoy_namespace: bool,
    /// Further pods, wherever they are: field selectors.
    pub field_selectors: Vec<String>,
    /// Only pods with these labels.
    pub label_selector: String,
    /// The logs of the containers before the last restart.
    pub previous: bool,
    /// Not older than so many seconds. Excludes `since_time`.
    pub since_seconds: Option<u64>,
    /// Not older than this. Excludes `since_seconds`.
    pub since_time: Option<Timestamp>,
    /// With the time of each line.
    pub timestamps: bool,
    /// So many lines from the end.
    pub tail_lines: Option<u64>,
    /// At most so many bytes.
    pub limit_bytes: Option<u64>,
}

/// The aggregator's server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Server {
    /// The address to listen at.
    #[serde(rename = "bindaddress")]
    pub bind_address: String,
    /// The port to listen at.
    #[serde(rename = "bindport")]
    pub bind_port: u16,
    /// The address that workers are told; empty: see [`Server::advertised`].
    #[serde(rename = "advertiseaddress")]
    pub advertise_address: String,
    /// How long each plugin may take from its launch, in seconds; 0: as long as it wants.
    #[serde(rename = "timeoutseconds")]
    pub timeout_seconds: u64,
}

/// A plugin that is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// Its name.
    pub name: String,
}

/// The image of this version.
#[must_use]
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
            plumbline: Own::default(),
            of_sonobuoy: false,
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
    /// What Sonobuoy's aggregator begins with: nothing. Settings with a fixed set of values, and our own section, have their
    /// defaults, since no value stands for "none" there.
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
            of_sonobuoy: true,
            ..Self::default()
        }
    }

    /// The configuration as one line of JSON, as it stands in the ConfigMap.
    ///
    /// # Errors
    /// None is known: every value has a form in JSON.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

impl Server {
    /// The address and port that workers are told: the configured ones, else the pod's address (`SONOBUOY_ADVERTISE_IP`), else the
    /// host's name. An address of version 6 stands in brackets.
    #[must_use]
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

    /// What stands for "not said" becomes what works: port 0 would be any port, which nobody could be told.
    pub(super) fn settle(&mut self) {
        if self.bind_port == 0 {
            self.bind_port = DEFAULT_PORT;
        }
        if self.bind_address.is_empty() {
            "0.0.0.0".clone_into(&mut self.bind_address);
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(truth: &bool) -> bool {
    !truth
}

/// `30`, not `30.0`: Sonobuoy writes it so.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn whole_if_it_is<S: Serializer>(rate: &f64, to: S) -> Result<S::Ok, S::Error> {
    match u32::try_from(*rate as i64) {
        Ok(whole) if f64::from(whole) == *rate => to.serialize_u32(whole),
        _ => to.serialize_f64(*rate),
    }
}
