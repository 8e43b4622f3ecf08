//! What is asked of the cluster.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::names;

/// Requests per second in the long run, if nothing else is said.
const QPS: f64 = 30.0;
/// Requests at once after a pause, if nothing else is said.
const BURST: u32 = 50;

/// What a survey asks of the cluster. The default is what a configuration says that says nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryOptions {
    /// The plural names of the resources that are listed, and `podlogs`, `servergroups`, `serverversion`; `nodes` also stands for host
    /// data. `None`: everything that can be listed, except `secrets`.
    pub resources: Option<Vec<String>>,
    /// Whether kubelets are asked for their configuration and health, where `nodes` are asked for.
    pub kubelets: bool,
    /// Whose namespaced resources are listed: a regular expression that is searched for anywhere in a namespace's name.
    pub namespaces: String,
    /// Restricts all lists of resources; empty for all objects.
    pub label_selector: String,
    /// Which logs are collected.
    pub pod_logs: PodLogOptions,
    /// Requests per second in the long run. Zero or less: the default, 30.
    pub qps: f64,
    /// Requests at once after a pause. Zero: the default, 50.
    pub burst: u32,
    /// The namespace of the run: looked at when namespaces cannot be listed.
    pub own_namespace: String,
    /// Where the configuration wants the files to go, for who has no other wish: its `QueryDir`, else its `UUID`.
    pub directory: Option<PathBuf>,
}

/// Which logs of which pods are collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodLogOptions {
    /// Pods of namespaces whose name this regular expression is found in; empty for none.
    pub namespaces: String,
    /// Pods of the run's own namespace as well.
    pub own_namespace: bool,
    /// Pods anywhere that one of these field selectors selects, as well.
    pub field_selectors: Vec<String>,
    /// Only pods that this selects; empty for all.
    pub label_selector: String,
    /// The log of the instance before the current one.
    pub previous: bool,
    /// Only lines of so many seconds before now.
    pub since_seconds: Option<i64>,
    /// Only lines from then on; not together with `since_seconds`.
    pub since_time: Option<Timestamp>,
    /// Every line begins with its time.
    pub timestamps: bool,
    /// Only so many lines from the end.
    pub tail_lines: Option<i64>,
    /// Only so many bytes from the beginning. Never more than 64 MiB per container, whatever is asked for.
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
