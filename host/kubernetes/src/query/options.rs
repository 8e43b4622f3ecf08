//! The options of a survey.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::names;

/// Default of [`QueryOptions::qps`].
const QPS: f64 = 30.0;
/// Default of [`QueryOptions::burst`].
const BURST: u32 = 50;

/// The options of a survey. The default corresponds to an empty configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryOptions {
    /// The plural names of the resources to list, and `podlogs`, `servergroups`, `serverversion`.
    /// `nodes` also selects host data.
    ///
    /// `None` selects everything that can be listed, except `secrets`.
    pub resources: Option<Vec<String>>,
    /// Whether to query kubelets for their configuration and health, if `nodes` are selected.
    pub kubelets: bool,
    /// The namespaces whose resources are listed: a regular expression that may match anywhere in
    /// the name.
    pub namespaces: String,
    /// A label selector for all resource lists, or empty for all objects.
    pub label_selector: String,
    /// Selects the logs to collect.
    pub pod_logs: PodLogOptions,
    /// Sustained rate in requests per second. Zero or less means the default, 30.
    pub qps: f64,
    /// Maximum number of requests at once after a pause. Zero means the default, 50.
    pub burst: u32,
    /// The namespace of the run, which is surveyed if namespaces cannot be listed.
    pub own_namespace: String,
    /// The output directory according to the configuration, if the caller has no other: its
    /// `QueryDir`, or else its `UUID`.
    pub directory: Option<PathBuf>,
}

/// Selects pods, and parts of their logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodLogOptions {
    /// A regular expression for namespaces whose pods are selected, or empty for none.
    pub namespaces: String,
    /// Whether to also select pods of the run's own namespace.
    pub own_namespace: bool,
    /// Field selectors for further pods in any namespace.
    pub field_selectors: Vec<String>,
    /// A label selector that restricts the pods, or empty for all.
    pub label_selector: String,
    /// Whether to read the log of the previous instance.
    pub previous: bool,
    /// Only lines of the last seconds.
    pub since_seconds: Option<i64>,
    /// Only lines since this time. Cannot be combined with `since_seconds`.
    pub since_time: Option<Timestamp>,
    /// Whether to prefix every line with its time.
    pub timestamps: bool,
    /// Only this many lines from the end.
    pub tail_lines: Option<i64>,
    /// Only this many bytes from the beginning. The limit per container is always 64 MiB.
    pub limit_bytes: Option<i64>,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            resources: None,
            kubelets: false,
            namespaces: ".*".to_owned(),
            label_selector: String::new(),
            pod_logs: PodLogOptions::default(),
            qps: QPS,
            burst: BURST,
            own_namespace: names::DEFAULT_NAMESPACE.to_owned(),
            directory: None,
        }
    }
}

impl Default for PodLogOptions {
    fn default() -> Self {
        Self {
            namespaces: "kube-system".to_owned(),
            own_namespace: true,
            field_selectors: Vec::new(),
            label_selector: String::new(),
            previous: false,
            since_seconds: None,
            since_time: None,
            timestamps: false,
            tail_lines: None,
            limit_bytes: None,
        }
    }
}
