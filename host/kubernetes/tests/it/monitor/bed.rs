//! A monitor with a simulated cluster.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_aggregator::{Exit, Report, WorkerContact};
use plumbline_core::ResultKey;
use plumbline_core::ledger::ErrorRecord;
use plumbline_core::timeline::TimelineEntry;
use plumbline_dev::ApiDouble;
use plumbline_kubernetes::monitor::{GracePeriods, Monitor, MonitorOptions, SettledPlugin, Watched};
use plumbline_kubernetes::status::WorkerPods;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cluster;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Bed {
    pub(crate) double: ApiDouble,
    pub(crate) monitor: Monitor,
    pub(crate) fail_fast: CancellationToken,
    options: MonitorOptions,
    reports: mpsc::Receiver<Report>,
    sender: mpsc::Sender<Report>,
    dir: TempDir,
}

/// Returns the same grace period for every problem.
pub(crate) fn graces(millis: u64) -> GracePeriods {
    let grace = Duration::from_millis(millis);
    GracePeriods {
        image_pull: grace,
        starting: grace,
        unschedulable: grace,
        node_gone: grace,
        pod_gone: grace,
        crash_loop: grace,
        no_result: grace,
        hello: grace,
        no_pod: grace,
        silent: grace,
        silent_lost: Some(grace),
    }
}

impl Bed {
    /// Starts a monitor with the double in its current state.
    pub(crate) async fn new(double: ApiDouble, graces: GracePeriods) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tree")).unwrap();
        let fail_fast = CancellationToken::new();
        let options = MonitorOptions {
            cluster: cluster(&double).await,
            namespace: "ns".into(),
            graces,
            tree: dir.path().join("tree"),
            all_warnings: true,
            workers: WorkerPods::default(),
            fail_fast: Some(fail_fast.clone()),
        };
        let monitor = Monitor::start(options.clone());
        let (sender, reports) = mpsc::channel(100);
        Self { double, monitor, options, fail_fast, reports, sender, dir }
    }

    /// Starts another monitor with the same directory.
    pub(crate) async fn restart(&mut self) {
        self.monitor.stop().await;
        self.monitor = Monitor::start(self.options.clone());
    }

    /// Returns the cluster timeline so far.
    pub(crate) fn timeline(&self) -> Vec<TimelineEntry> {
        let text = std::fs::read(self.dir.path().join("tree/meta/timeline.jsonl")).unwrap();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| TimelineEntry::parse(line).unwrap()).collect()
    }

    /// Waits until the cluster timeline meets a condition.
    pub(crate) async fn recorded(&self, until: impl Fn(&[TimelineEntry]) -> bool) {
        let wait = async {
            while !until(&self.timeline()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("not recorded: {:#?}", self.timeline()));
    }

    pub(crate) async fn watch(&self, watched: Watched) {
        self.monitor.watch(watched, self.sender.clone()).await;
    }

    /// Settles plugin `scan`, whose results of these nodes have arrived, or its only result if there
    /// are none.
    pub(crate) async fn settle(&self, nodes: &[&str]) -> Vec<Exit> {
        let Watched { plugin, session, per_node, missing, container, .. } = watched(nodes);
        let failed = Default::default();
        self.monitor.settle(SettledPlugin { plugin, session, per_node, container, received: missing, failed }).await
    }

    /// Returns the next result that counts as missing.
    pub(crate) async fn failed(&mut self) -> (String, ErrorRecord) {
        loop {
            if let Report::Failed { key, error } = self.report().await {
                return (key.to_string(), error);
            }
        }
    }

    /// Returns the next result whose problem is reported, with the reason, or `None` if the problem
    /// is over.
    pub(crate) async fn trouble(&mut self) -> (String, Option<String>) {
        loop {
            if let Report::Problem { key, reason } = self.report().await {
                return (key.to_string(), reason);
            }
        }
    }

    pub(crate) async fn report(&mut self) -> Report {
        let report = tokio::time::timeout(PATIENCE, self.reports.recv()).await.expect("a report in time");
        report.expect("a report")
    }

    /// Returns true if no further result has been reported as missing.
    pub(crate) fn is_silent(&mut self) -> bool {
        while let Ok(report) = self.reports.try_recv() {
            if matches!(report, Report::Failed { .. }) {
                return false;
            }
        }
        true
    }

    pub(crate) fn log(&self, pod: &str, file: &str) -> PathBuf {
        self.dir.path().join("tree/podlogs/ns").join(pod).join("logs").join(file)
    }

    /// Waits for a request whose path and query contain all of `parts`.
    pub(crate) async fn asked(&self, parts: &[&str]) {
        self.asked_times(parts, 1).await;
    }

    /// Waits for as many such requests.
    pub(crate) async fn asked_times(&self, parts: &[&str], times: usize) {
        let meets = |request: &plumbline_dev::Recorded| {
            let target = format!("{}?{}", request.path, request.query);
            parts.iter().all(|part| target.contains(part))
        };
        let asked = || self.double.requests().iter().filter(|&request| meets(request)).count() >= times;
        let wait = async {
            while !asked() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("nobody asked for {parts:?}"));
    }
}

/// Returns plugin `scan` with recent heartbeats, on these nodes, or once per cluster if there are
/// none.
pub(crate) fn watched(nodes: &[&str]) -> Watched {
    let keys = if nodes.is_empty() { &["global"] } else { nodes };
    Watched {
        plugin: "scan".parse().unwrap(),
        session: "s1".into(),
        per_node: !nodes.is_empty(),
        missing: keys.iter().map(|node| format!("scan/{node}").parse::<ResultKey>().unwrap()).collect(),
        container: "main".into(),
        // The last heartbeat is always recent.
        heard: WorkerContact::new(|_| Some(Timestamp::MAX)),
    }
}

/// Returns a pod with the plugin's container in `state`, and a running worker.
pub(crate) fn pod(name: &str, node: &str, state: Value) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns", "managedFields": [{"manager": "kubelet"}], "labels":
            {"component": "sonobuoy", "sonobuoy-component": "plugin", "sonobuoy-plugin": "scan", "sonobuoy-run": "s1"}},
        "spec": {"nodeName": node, "containers": [
            {"name": "main", "image": "example.org/scan:1"},
            {"name": "sonobuoy-worker", "image": "example.org/worker:1"},
        ]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "main", "restartCount": 0, "state": state},
            {"name": "sonobuoy-worker", "restartCount": 0, "state": {"running": {}}},
        ]},
    })
}

pub(crate) fn running() -> Value {
    json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})
}

pub(crate) fn ended(code: i64, reason: &str) -> Value {
    json!({"terminated": {"exitCode": code, "reason": reason}})
}

pub(crate) fn pulling() -> Value {
    json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image: not found"}})
}

pub(crate) fn node(name: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
}

pub(crate) async fn double(nodes: &[&str]) -> ApiDouble {
    let double = ApiDouble::start().await.unwrap();
    nodes.iter().for_each(|name| double.put("nodes", node(name)));
    double
}
