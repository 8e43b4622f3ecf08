//! A run in a cluster of thousands of nodes with a real API server.
//!
//! ```text
//! aggregator ──HTTP──▶ counting proxy ──▶ API server, etcd, controllers, scheduler
//!     ▲                                       ▲
//!     └── mutual TLS ── workers ◀── pods ─────┴── kwok, which simulates the kubelets
//! ```
//!
//! These parts are real: the aggregator, its uploads and their TLS, the API server with its API
//! priority and fairness, the DaemonSet controller and the scheduler. The aggregator uses its
//! service account. kwok simulates the nodes, and this process simulates the workers.

mod check;
mod crowd;
mod proxy;
mod server;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plumbline_core::run_status::RunPhase;
use plumbline_kubernetes::Cluster;

pub use check::CheckReads;
pub use proxy::{Counted, Requests};
pub use server::{ApiServer, KUBELET, KUBELET_PORT, StatusSizes};

use crate::Result;
use crate::process::{Kind, Process, Start, passed};
use proxy::Proxy;

/// Interval for polling the status.
const LOOK: Duration = Duration::from_millis(500);

/// A run in a large cluster.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The program whose aggregator runs.
    pub program: PathBuf,
    /// The project that the program is from.
    pub kind: Kind,
    /// Number of DaemonSets that run on each node.
    pub plugins: usize,
    /// The directory of a plugin with a check, which runs as the only DaemonSet. Each worker reads
    /// its ConfigMaps as a kubelet does.
    pub check: Option<PathBuf>,
    /// Number of nodes in the cluster.
    pub nodes: usize,
    /// Size of each result in bytes; `None` for a result with one passed test.
    pub bytes: Option<usize>,
    /// Number of workers that concurrently talk to the aggregator.
    pub at_once: usize,
    /// Whether uploads start only when all pods run, so that the measurement covers only the
    /// aggregator.
    pub together: bool,
    /// Whether one of the workers sends its result at 10 kB/s, for 20 s.
    pub slow: bool,
    /// Time after which the run has failed.
    pub patience: Duration,
}

/// The measurements of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Time of each upload in seconds, from its connection to the response.
    pub uploads: Vec<f64>,
    /// Time in seconds from the start of the first upload to the response to the last, except the
    /// slow one.
    pub uploading: f64,
    /// Time in seconds from the start of the process until the status is complete.
    pub complete: f64,
    /// Number of results that arrived and passed, according to the status.
    pub passed: usize,
    /// Processor time of the aggregator in seconds.
    pub cpu_seconds: f64,
    /// Peak resident memory of the aggregator in KiB.
    pub peak_kib: u64,
    /// Processor time of the API server in seconds, from the start until all objects of the run are
    /// removed.
    pub server_cpu_seconds: f64,
    /// Sizes of the last status.
    pub sizes: StatusSizes,
    /// The aggregator's requests to the API server.
    pub requests: Requests,
    /// What the kubelets of all nodes read for the check.
    pub check: CheckReads,
}

impl Scale {
    /// Runs this in a cluster whose nodes exist, with the aggregator's files below `dir`.
    ///
    /// # Errors
    /// The run did not complete in time, or a worker was rejected.
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
            check: self.check.as_deref(),
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
        let last = server.run_status().await?.ok_or("the aggregator's pod has no status")?;
        let passed = passed(&Cluster::new(server.client(), "bench"), last).await?;
        let (cpu_seconds, peak_kib) = (process.cpu_seconds()?, process.peak_kib()?);
        drop(process);
        let sizes = server.status_sizes().await?;
        server.clear().await?;
        Ok(Outcome {
            uploads: crowd.uploads,
            uploading: crowd.seconds,
            complete,
            passed,
            cpu_seconds,
            peak_kib,
            server_cpu_seconds: server.cpu_seconds().await? - before,
            sizes,
            requests: proxy.requests(),
            check: crowd.check,
        })
    }

    /// Waits for the status to be complete. Returns the time since `start` in seconds.
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
}
