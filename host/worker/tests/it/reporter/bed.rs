//! A Job with a pod in an API double, and a results directory.

use std::collections::BTreeMap;
use std::fs;
use std::future::{Future, pending};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plumbline_dev::{ApiDouble, Fault, FaultKind, Recorded};
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions};
use plumbline_worker::reporter::{Access, Config, Pace, Processor, Reported, run};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Far longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Like the defaults for a cluster, but shorter.
pub(crate) fn pace() -> Pace {
    let ms = Duration::from_millis;
    Pace {
        pod: ms(50),
        hurry: ms(20),
        again: ms(10),
        last_look: ms(3000),
        patience: ms(30_000),
        last_patience: ms(10_000),
    }
}

pub(crate) struct Bed {
    pub(crate) double: ApiDouble,
    pub(crate) config: Config,
    pub(crate) processor: Option<Arc<Processor>>,
    access: Arc<Access>,
    dir: TempDir,
}

impl Bed {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// Creates the environment with additional variables.
    pub(crate) async fn with(variables: &[(&str, &str)]) -> Self {
        let (dir, double) = (tempfile::tempdir().unwrap(), ApiDouble::start().await.unwrap());
        fs::create_dir(dir.path().join("results")).unwrap();
        let path = dir.path().join("results/adapter-result.json");
        let mut env: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in [("JOB_NAME", "j"), ("JOB_NAMESPACE", "default"), ("POD_NAME", "j-1")] {
            env.insert(name.into(), value.into());
        }
        env.insert("RESULTS_PATH".into(), path.to_str().unwrap().into());
        env.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let mut config = Config::from_env(&env).unwrap();
        config.poll_interval = Duration::from_millis(100);
        config.settle = Duration::from_millis(300);
        double.put("jobs", json!({"metadata": {"name": "j", "uid": "job-uid"}, "status": {"active": 1}}));
        fs::write(dir.path().join("kubeconfig"), double.kubeconfig()).unwrap();
        let options = ConnectOptions { kubeconfig: Some(dir.path().join("kubeconfig")), context: None };
        let access = Arc::new(Access::with(Cluster::connect(&options).await.unwrap()));
        let bed = Self { double, config, processor: None, access, dir };
        bed.pod(json!({"running": {}}));
        bed
    }

    /// Connects to the API server with this kubeconfig.
    pub(crate) async fn through(mut self, kubeconfig: PathBuf) -> Self {
        let options = ConnectOptions { kubeconfig: Some(kubeconfig), context: None };
        self.access = Arc::new(Access::connect(options).await.unwrap());
        self
    }

    /// Returns the path of the API server's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.dir.path().join("results")
    }

    /// Writes the result file atomically, as a careful adapter does.
    pub(crate) fn write(&self, text: &str) {
        let partial = self.results().join(".partial");
        fs::write(&partial, text).unwrap();
        fs::rename(partial, &self.config.results_path).unwrap();
    }

    /// Sets the pod, with the adapter's container in this state.
    pub(crate) fn pod(&self, state: Value) {
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": self.job_uid()});
        self.double.put(
            "pods",
            json!({
                "metadata": {"name": "j-1", "uid": "pod-uid", "ownerReferences": [owner]},
                "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 2,
                    "containers": [{"name": "status-reporter"}, {"name": "adapter"}]},
                "status": {"phase": "Running", "containerStatuses": [
                    {"name": "adapter", "state": state}, {"name": "status-reporter", "state": {"running": {}}},
                ]},
            }),
        );
    }

    fn job_uid(&self) -> Value {
        self.double.get("jobs", "default", "j").map_or(Value::Null, |job| job["metadata"]["uid"].clone())
    }

    /// Ends the adapter's container.
    pub(crate) fn ends(&self, code: i32, reason: &str) {
        self.pod(json!({"terminated": {"exitCode": code, "reason": reason}}));
    }

    /// Denies all permissions except those of the contract, because users may not grant more.
    pub(crate) fn promised_permissions(&self) {
        for verb in ["create", "delete", "list", "patch", "update", "watch"] {
            self.double.deny(verb, "jobs");
        }
        for verb in ["create", "delete", "patch", "update", "watch"] {
            self.double.deny(verb, "pods");
        }
        for resource in ["events", "configmaps"] {
            self.double.deny("*", resource);
        }
    }

    /// Applies a fault to this many requests to `path`.
    pub(crate) fn fault(&self, method: &'static str, path: &str, kind: FaultKind, times: u32) {
        self.double.fault(Fault { method: Some(method), path_contains: path.into(), kind, times });
    }

    pub(crate) fn refuse(&self, method: &'static str, path: &str, code: u16, times: u32) {
        self.fault(method, path, FaultKind::Status { code, message: "on order".into(), retry_after: None }, times);
    }

    /// Runs the reporter concurrently with `other`.
    pub(crate) async fn try_run_with(
        &self,
        terminate: impl Future<Output = ()>,
        other: impl Future<Output = ()>,
    ) -> Result<Reported, ClusterError> {
        let report = run(&self.config, Arc::clone(&self.access), self.processor.clone(), pace(), terminate);
        let both = async { tokio::join!(report, other).0 };
        tokio::time::timeout(PATIENCE, Box::pin(both)).await.expect("it ends")
    }

    pub(crate) async fn run_with(&self, other: impl Future<Output = ()>) -> Reported {
        self.try_run_with(pending(), other).await.unwrap()
    }

    pub(crate) async fn report(&self) -> Reported {
        self.run_with(async {}).await
    }

    /// Waits until the reporter has read the pod, which shows that it is running.
    pub(crate) async fn looked(&self) {
        self.double.requested(|all| all.iter().any(|one| one.path.ends_with("/pods/j-1"))).await;
    }

    /// Waits until the reporter knows the pod and watches it.
    pub(crate) async fn watched(&self) {
        self.double.requested(|all| all.iter().any(|one| one.query.contains("watch="))).await;
    }

    /// Returns the only condition: status, reason and message.
    #[track_caller]
    pub(crate) fn condition(&self) -> (String, String, String) {
        let all = self.conditions();
        assert_eq!(all.len(), 1, "{all:?}");
        let text = |field: &str| all[0][field].as_str().unwrap().to_owned();
        assert_eq!(text("type"), "Available");
        assert!(text("lastTransitionTime").ends_with('Z') && text("lastProbeTime").ends_with('Z'));
        (text("status"), text("reason"), text("message"))
    }

    pub(crate) fn conditions(&self) -> Vec<Value> {
        let job = self.double.get("jobs", "default", "j").unwrap();
        job["status"]["conditions"].as_array().cloned().unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn expect(&self, status: &str, reason: &str, message: &str) {
        assert_eq!(self.condition(), (status.to_owned(), reason.to_owned(), message.to_owned()));
    }

    /// Returns the requests that wrote something.
    pub(crate) fn writes(&self) -> Vec<Recorded> {
        self.double.requests().into_iter().filter(|one| one.method != "GET").collect()
    }
}
