//! A dispatcher with an API double.

use std::path::{Path, PathBuf};

use plumbline_aggregator::{
    CheckCompiler, CheckLaunch, CompiledCheck, Completed, DispatchError, Dispatcher as _, Exit, Launch, Report,
    WorkerContact,
};
use plumbline_core::{ModuleLimits, ResultKey, RunId, session_id};
use plumbline_dev::{ApiDouble, Fault, FaultKind};
use plumbline_kubernetes::KubernetesDispatcher;
use plumbline_kubernetes::driver::Stage;
use plumbline_kubernetes::monitor::{GracePeriods, MonitorOptions};
use plumbline_kubernetes::status::WorkerPods;
use serde_json::Value;
use tokio::sync::mpsc;

use super::samples::{RUN, access, definition, stage};
use crate::cluster;

/// The UID of the aggregator's pod in [`stage`].
pub(crate) const OWNER: &str = "11111111-2222-3333-4444-555555555555";

pub(crate) struct Bed {
    pub(crate) double: ApiDouble,
    pub(crate) dispatcher: KubernetesDispatcher,
    reports: mpsc::Sender<Report>,
}

impl Bed {
    pub(crate) async fn new() -> Self {
        let double = ApiDouble::start().await.unwrap();
        Self { dispatcher: dispatcher(&double, stage()).await, double, reports: mpsc::channel(16).0 }
    }

    /// Restarts the aggregator, as after it was killed.
    pub(crate) async fn restart(self) -> Self {
        Self { dispatcher: dispatcher(&self.double, stage()).await, ..self }
    }

    /// Starts an aggregator in another pod of the same run.
    pub(crate) async fn in_another_pod(self) -> Self {
        let mut stage = stage();
        stage.owner.as_mut().unwrap().uid = "of-another-pod".to_owned();
        Self { dispatcher: dispatcher(&self.double, stage).await, ..self }
    }

    pub(crate) async fn launch(&self, yaml: &str) -> Result<(), DispatchError> {
        self.dispatcher.launch(launch(yaml), self.reports.clone()).await
    }

    /// Launches a plugin while the API server fails, without waiting for retries. Returns the error.
    pub(crate) async fn launch_in_vain(&self, yaml: &str) -> DispatchError {
        tokio::time::pause();
        let launched = self.launch(yaml).await;
        tokio::time::resume();
        self.double.clear_faults();
        launched.unwrap_err()
    }

    /// Gives up a plugin whose launch failed.
    pub(crate) async fn abandon(&self, yaml: &str) {
        self.dispatcher.abandon(&launch(yaml)).await;
    }

    /// Launches a plugin whose check is in `bundle`, and whose compiler has this result.
    pub(crate) async fn launch_check(
        &self,
        yaml: &str,
        bundle: &Path,
        code: Result<CompiledCheck, String>,
    ) -> Result<(), DispatchError> {
        let compiler = CheckCompiler::new(move || code.clone());
        let (bundle, check) =
            (Some(bundle.to_owned()), Some(CheckLaunch { limits: ModuleLimits::default(), compiler }));
        self.dispatcher.launch(Launch { bundle, check, ..launch(yaml) }, self.reports.clone()).await
    }

    /// Settles a plugin whose result has arrived.
    pub(crate) async fn settle(&self, yaml: &str) -> Vec<Exit> {
        let Launch { run, definition, missing, .. } = launch(yaml);
        let received = missing.into_iter().collect();
        self.dispatcher.settle(&Completed { run, definition, received, failed: Default::default() }).await
    }

    pub(crate) fn names(&self, resource: &str) -> Vec<String> {
        let mut names: Vec<String> =
            self.double.list(resource).iter().map(|object| text(&object["metadata"]["name"])).collect();
        names.sort();
        names
    }

    pub(crate) fn fault(&self, method: &'static str, path_contains: &str, kind: FaultKind, times: u32) {
        self.double.fault(Fault { method: Some(method), path_contains: path_contains.to_owned(), kind, times });
    }

    /// Returns the requests with this method below this collection.
    pub(crate) fn asked(&self, method: &str, resource: &str) -> Vec<plumbline_dev::Recorded> {
        let below = format!("/{resource}");
        let mut requests = self.double.requests();
        requests.retain(|request| request.method == method && request.path.contains(&below));
        requests
    }
}

pub(crate) fn refusal(code: u16, message: &str) -> FaultKind {
    FaultKind::Status { code, message: message.to_owned(), retry_after: None }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(crate) fn session(plugin: &str) -> String {
    session_id(&RUN.parse::<RunId>().unwrap(), &plugin.parse().unwrap())
}

fn launch(yaml: &str) -> Launch {
    let definition = definition(yaml);
    let node = if definition.driver.is_per_node() { "n1" } else { "global" };
    Launch {
        run: RUN.parse().unwrap(),
        missing: vec![ResultKey::new(definition.name.clone(), node.parse().unwrap())],
        definition,
        bundle: None,
        check: None,
        access: access(),
        heard: WorkerContact::new(|_| None),
    }
}

async fn dispatcher(double: &ApiDouble, stage: Stage) -> KubernetesDispatcher {
    let monitor = MonitorOptions {
        cluster: cluster(double).await,
        namespace: stage.namespace.clone(),
        graces: GracePeriods::default(),
        // Nothing is written there, because these tests capture no logs and
        // read no timeline.
        tree: PathBuf::from("/nonexistent/tree"),
        all_warnings: true,
        workers: WorkerPods::default(),
        fail_fast: None,
    };
    KubernetesDispatcher::new(stage, monitor, None)
}
