//! A run in a cluster of thousands of nodes whose API server is real.
//!
//! ```text
//! aggregator ──HTTP──▶ proxy, which counts ──▶ API server, etcd, controllers, scheduler
//!     ▲                                             ▲
//!     └── mutual TLS ── crowd of workers ◀─ pods ───┴── kwok, which plays the kubelets
//! ```
//!
//! What is real: the aggregator, its uploads and their TLS, the API server with its priorities and fairness (the aggregator comes as
//! its service account), the DaemonSet controller and the scheduler. What is played: nodes, by kwok, and workers, by the crowd.

mod crowd;
mod proxy;
mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plumbline_core::Status;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunPhase, RunStatus};
use plumbline_kubernetes::{Cluster, names, status};

pub use proxy::{Counted, Requests};
pub use server::{ApiServer, KUBELET, KUBELET_PORT};

use crate::Result;
use crate::process::{Kind, Process, Start};
use proxy::Proxy;

/// Between two looks at the status.
const LOOK: Duration = Duration::from_millis(500);
/// How long the status in full may follow the last status.
const FULL: Duration = Duration::from_secs(30);

/// A run in a large cluster.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The program whose aggregator runs.
    pub program: PathBuf,
    /// Whose program it is.
    pub kind: Kind,
    /// DaemonSets that run on each node.
    pub plugins: usize,
    /// Nodes of the cluster.
    pub nodes: usize,
    /// Bytes of each result; `None`: a test that has passed.
    pub bytes: Option<usize>,
    /// Workers that talk to the aggregator at one moment.
    pub at_once: usize,
    /// Uploads begin when all pods run, so that what is measured is the aggregator alone.
    pub together: bool,
    /// One of the workers sends its result at 10 kB/s, for 20 s.
    pub slow: bool,
    /// After this time the run has failed.
    pub patience: Duration,
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// Seconds of each upload, from its connection to its answer.
    pub uploads: Vec<f64>,
    /// Seconds from the first upload's start to the last one's answer, the slow one excepted.
    pub uploading: f64,
    /// Seconds from the start of the process to the status that says the run is complete.
    pub complete: f64,
    /// Results that arrived and passed, by the status.
    pub passed: usize,
    /// Seconds of processor time that the aggregator used.
    pub cpu_seconds: f64,
    /// The most memory that the aggregator had, resident, in KiB.
    pub peak_kib: u64,
    /// Seconds of processor time that the API server used from the start until nothing of the run was left.
    pub server_cpu_seconds: f64,
    /// Bytes of all annotations of the aggregator's pod at its end.
    pub annotation_bytes: usize,
    /// What the aggregator asked of the API server.
    pub requests: Requests,
}

impl Scale {
    /// Runs it on a cluster whose nodes are there, with the aggregator's files below `dir`.
    ///
    /// # Errors
    /// The run did not complete within its time, or a worker was turned away.
    pub async fn run(&self, server: &ApiServer, dir: &Path) -> Result<Outcome> {
        server.fresh().await?;
        let proxy = Proxy::start(server.as_aggregator()?).await?;
        let names: Vec<String> = (0..self.plugins).map(|n| format!("plugin-{n}")).collect();
        let plugins: Vec<&str> = names.iter().map(String::as_str).collect();
        let before = server.cpu_seconds().await?;
        let start = Instant::now();
        let mut process = Process::start(&Start {
            program: &self.program,
            kind: self.kind,
            kubeconfig: proxy.kubeconfig(),
            plugins: &plugins,
            format: if self.bytes.is_some() { "raw" } else { "gojson" },
            dir,
        })?;
        let work = async {
            let crowd = crowd::play(self, server).await?;
            let complete = self.complete(server, &mut process, start).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>((crowd, complete))
        };
        let done = tokio::time::timeout(self.patience, work).await;
        let (crowd, complete) = match done {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => return Err(process.explain(&error.to_string()).into()),
            Err(_) => {
                let what = format!("the run was not complete after {} s", self.patience.as_secs());
                return Err(process.explain(&what).into());
            }
        };
        let entries = self.entries(server).await?;
        let good = |entry: &&PluginStatus| {
            entry.status == EntryStatus::Complete && entry.result_status == Some(Status::Passed)
        };
        let (cpu_seconds, peak_kib) = (process.cpu_seconds()?, process.peak_kib()?);
        drop(process);
        let annotation_bytes = server.annotation_bytes().await?;
        server.clear().await?;
        Ok(Outcome {
            uploads: crowd.uploads,
            uploading: crowd.seconds,
            complete,
            passed: entries.iter().filter(good).count(),
            cpu_seconds,
            peak_kib,
            server_cpu_seconds: server.cpu_seconds().await? - before,
            annotation_bytes,
            requests: proxy.requests(),
        })
    }

    /// Seconds from `start` until the status says that the run is complete.
    async fn complete(&self, server: &ApiServer, process: &mut Process, start: Instant) -> Result<f64> {
        loop {
            process.alive()?;
            match server.run_status().await?.map(|status| status.status) {
                Some(RunPhase::Complete) => return Ok(start.elapsed().as_secs_f64()),
                Some(RunPhase::Failed) => return Err("the run has failed".into()),
                _ => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// Every result's own entry, read as any client reads it.
    async fn entries(&self, server: &ApiServer) -> Result<Vec<PluginStatus>> {
        let last: RunStatus = server.run_status().await?.ok_or("the aggregator's pod has no status")?;
        if last.compacted.is_none() {
            return Ok(last.plugins.unwrap_or_default());
        }
        let cluster = Cluster::new(server.client(), "bench");
        let deadline = Instant::now() + FULL;
        while Instant::now() < deadline {
            let full = status::full(&cluster, names::DEFAULT_NAMESPACE).await?;
            if let Some(full) = full.filter(|full| full.status == RunPhase::Complete) {
                return Ok(full.plugins.unwrap_or_default());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err("the status in full did not follow the last status".into())
    }
}
