//! A dispatcher over the double.

use std::path::PathBuf;

use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use plumbline_aggregator::{DispatchError, Dispatcher as _, Heard, Launch, Report};
use plumbline_apidouble::{ApiDouble, Fault, FaultKind};
use plumbline_core::{ResultKey, RunId, session_id};
use plumbline_kubernetes::driver::Stage;
use plumbline_kubernetes::monitor::Graces;
use plumbline_kubernetes::status::WorkerPods;
use plumbline_kubernetes::{Cluster, KubernetesDispatcher, KubernetesOptions};
use serde_json::Value;
use tokio::sync::mpsc;

use super::samples::{access, definition, stage};

const RUN: &str = "7f3a9c00-0000-4000-8000-000000000001";

/// The uid of the aggregator's pod in [`stage`].
pub(crate) const OWNER: &str = "11111111-2222-3333-4444-555555555555";

pub(crate) async fn cluster(double: &ApiDouble) -> Cluster {
    let kubeconfig = Kubeconfig::from_yaml(&double.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    // The client retries some answers by itself; what is tested here is what the dispatcher does.
    config.default_retry = false;
    Cluster::new(config.try_into().unwrap(), "double")
}

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

    /// The aggregator was killed, and comes back.
    pub(crate) async fn restart(self) -> Self {
        Self { dispatcher: dispatcher(&self.double, stage()).await, ..self }
    }

    pub(crate) async fn launch(&self, yaml: &str) -> Result<(), DispatchError> {
        self.dispatcher.launch(launch(yaml), self.reports.clone()).await
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

    /// What was asked with this method below this collection.
    pub(crate) fn asked(&self, method: &str, resource: &str) -> Vec<plumbline_apidouble::Recorded> {
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
        access: access(),
        heard: Heard::new(|_| None),
    }
}

async fn dispatcher(double: &ApiDouble, stage: Stage) -> KubernetesDispatcher {
    KubernetesDispatcher::new(KubernetesOptions {
        cluster: cluster(double).await,
        stage,
        graces: Graces::default(),
        // Nothing is written there: no logs are captured in these tests.
        tree: PathBuf::from("/nonexistent/tree"),
        workers: WorkerPods::default(),
        fail_fast: None,
        survey: None,
    })
}
