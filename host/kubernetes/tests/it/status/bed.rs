//! A run in a simulated cluster: the aggregator's pod, a ledger, and the options to publish it.

use std::path::PathBuf;
use std::time::Duration;

use plumbline_aggregator::State;
use plumbline_aggregator::journal::Journal;
use plumbline_core::ledger::{Event, Ledger};
use plumbline_core::{NodeName, ResultKey, RunStatus};
use plumbline_dev::{ApiDouble, Fault, FaultKind};
use plumbline_kubernetes::monitor::{GracePeriods, Monitor, MonitorOptions};
use plumbline_kubernetes::status::{Pace, PublishOptions, WorkerPods, publish};
use plumbline_kubernetes::{Cluster, names};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cluster;

pub(super) const NAMESPACE: &str = "checks";
pub(super) const POD: &str = "sonobuoy";
pub(super) const RUN: &str = "7f3a9c00-0000-4000-8000-000000000000";

pub(super) struct Bed {
    pub(super) double: ApiDouble,
    pub(super) cluster: Cluster,
    workers: WorkerPods,
}

impl Bed {
    /// Creates a cluster with an empty namespace.
    pub(super) async fn empty() -> Self {
        let double = ApiDouble::start().await.unwrap();
        double.put("namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
        Self { cluster: cluster(&double).await, double, workers: WorkerPods::default() }
    }

    /// Creates a cluster with a running aggregator.
    pub(super) async fn running() -> Self {
        let bed = Self::empty().await;
        bed.double.put("pods", aggregator("Running", None));
        bed
    }

    pub(super) fn options(&self, pace: Pace) -> PublishOptions {
        PublishOptions {
            cluster: self.cluster.clone(),
            namespace: NAMESPACE.to_owned(),
            pod: POD.to_owned(),
            run: RUN.parse().unwrap(),
            owner: None,
            workers: self.workers.clone(),
            pace,
        }
    }

    /// Starts a monitor that sees the pods of plugins until it is dropped.
    pub(super) fn monitor(&self) -> Monitor {
        Monitor::start(MonitorOptions {
            cluster: self.cluster.clone(),
            namespace: NAMESPACE.to_owned(),
            graces: GracePeriods::default(),
            tree: PathBuf::from("/nonexistent/tree"),
            all_warnings: false,
            workers: self.workers.clone(),
            fail_fast: None,
        })
    }

    pub(super) fn fault(&self, method: &'static str, path: &str, code: u16, times: u32) {
        let kind = FaultKind::Status { code, message: format!("refused with {code}"), retry_after: None };
        self.double.fault(Fault { method: Some(method), path_contains: path.to_owned(), kind, times });
    }

    /// Returns the number of requests that changed this pod.
    pub(super) fn patches(&self, pod: &str) -> usize {
        let path = format!("/pods/{pod}");
        self.double
            .requests()
            .iter()
            .filter(|request| request.method == "PATCH" && request.path.ends_with(&path))
            .count()
    }

    /// Waits until the annotation of the aggregator's pod satisfies `until`.
    pub(super) async fn published(&self, until: impl Fn(&RunStatus) -> bool) -> RunStatus {
        let pods =
            self.double.changed("pods", |pods| pods.iter().filter_map(status_of).any(|status| until(&status))).await;
        pods.iter().filter_map(status_of).next().unwrap()
    }
}

/// Short intervals for tests.
pub(super) fn pace() -> Pace {
    Pace {
        pause: Duration::from_millis(50),
        heartbeat: Duration::from_millis(400),
        full: Duration::from_millis(100),
        attempt: Duration::from_secs(5),
        last: Duration::from_secs(5),
        worker: Duration::from_millis(2),
        worker_refresh: Duration::from_secs(300),
    }
}

pub(super) fn aggregator(phase: &str, status: Option<&str>) -> Value {
    let annotations = status.map(|status| json!({names::STATUS_ANNOTATION: status})).unwrap_or_else(|| json!({}));
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": POD, "namespace": NAMESPACE, "annotations": annotations,
            "labels": {names::ROLE_LABEL: names::AGGREGATOR, names::COMPONENT_LABEL: names::COMPONENT_VALUE}},
        "spec": {"nodeName": "node-1", "containers": [{"name": names::AGGREGATOR_CONTAINER, "image": "r/plumbline:1"}]},
        "status": {"phase": phase},
    })
}

pub(super) fn plugin_pod(name: &str, plugin: &str, node: &str, waiting: Option<&str>) -> Value {
    let state = match waiting {
        Some(reason) => json!({"waiting": {"reason": reason}}),
        None => json!({"running": {}}),
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE,
            "labels": {names::ROLE_LABEL: names::PLUGIN, names::PLUGIN_LABEL: plugin, names::COMPONENT_LABEL: names::COMPONENT_VALUE}},
        "spec": {"nodeName": node, "containers": [{"name": "plugin", "image": "r/i:1"}]},
        "status": {"phase": "Pending", "containerStatuses": [
            {"name": "plugin", "image": "r/i:1", "imageID": "", "ready": false, "restartCount": 0, "state": state}]},
    })
}

pub(super) fn status_of(pod: &Value) -> Option<RunStatus> {
    serde_json::from_str(pod["metadata"]["annotations"][names::STATUS_ANNOTATION].as_str()?).ok()
}

pub(super) fn key(plugin: &str, node: &str) -> ResultKey {
    ResultKey { plugin: plugin.parse().unwrap(), node: node.parse::<NodeName>().unwrap() }
}

/// A ledger that expects results of plugins on nodes.
pub(super) struct Ledgered {
    pub(super) state: State,
    _dir: TempDir,
}

impl Ledgered {
    pub(super) fn new(plan: &[(&str, &[&str])]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(&dir.path().join("journal")).unwrap();
        let (state, _effects) = State::new(Ledger::default(), journal);
        for (plugin, nodes) in plan {
            let keys = nodes.iter().map(|node| key(plugin, node)).collect();
            state.apply(Event::Planned { plugin: plugin.parse().unwrap(), keys }).unwrap();
        }
        Self { state, _dir: dir }
    }
}

pub(super) struct Publishing {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Publishing {
    pub(super) fn start(options: PublishOptions, state: &State) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(publish(options, state.clone(), stop.clone()));
        Self { stop, task }
    }

    pub(super) async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(Duration::from_secs(20), self.task).await.expect("it stops when it is cancelled").unwrap();
    }
}
