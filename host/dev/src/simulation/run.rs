//! The whole run: cluster, aggregator and workers, from the start to the archive, with its
//! measurements.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use plumbline_core::run_status::{RunPhase, RunStatus};
use plumbline_kubernetes::{Cluster, ConnectOptions, names};
use serde_json::{Value, json};

use super::traffic::Traffic;
use super::{chaos, controller, objects};
use crate::proc::cpu_seconds;
use crate::process::{Kind, Process, Start, passed};
use crate::{ApiDouble, Result};

const PLUGINS: [&str; 2] = ["first", "second"];
/// Interval for polling the status.
const LOOK: Duration = Duration::from_millis(100);

/// A run in a simulated cluster.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The program that runs as the aggregator.
    pub program: PathBuf,
    /// Number of nodes in the cluster; two DaemonSets run on each.
    pub nodes: usize,
    /// Number of workers that concurrently talk to the aggregator.
    pub at_once: usize,
    /// Time after which the run has failed.
    pub patience: Duration,
    /// The seed of the faults that the API server has until the run is complete; `None` for no
    /// faults.
    pub chaos: Option<u64>,
}

/// The measurements of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Time in seconds from the start of the process until the status is complete.
    pub seconds: f64,
    /// Processor time of the aggregator in seconds, user and system.
    pub cpu_seconds: f64,
    /// Processor time in seconds of everything else: API server, controller, kubelets, workers.
    pub crowd_cpu_seconds: f64,
    /// Peak resident memory of the aggregator in KiB.
    pub peak_kib: u64,
    /// The requests to the API server.
    pub traffic: Traffic,
    /// Number of results that arrived and passed, according to the full status.
    pub passed: usize,
    /// Number of expected results.
    pub expected: usize,
    /// Size of the archive in bytes.
    pub archive_bytes: u64,
    /// Number of objects of plugins that still existed at the end: DaemonSets, pods and Secrets.
    pub left: usize,
    /// Number of heartbeats that workers had to send again, because the first got no response.
    pub repeated: u64,
}

impl Simulation {
    /// Simulates the run, with all files below `dir`.
    ///
    /// # Errors
    /// The run did not complete in time, or a worker was rejected.
    pub async fn run(&self, dir: &Path) -> Result<Outcome> {
        let double = ApiDouble::start().await?;
        double
            .put("namespaces", json!({"metadata": {"name": names::DEFAULT_NAMESPACE}, "status": {"phase": "Active"}}));
        double.put("pods", objects::aggregator_pod(names::DEFAULT_NAMESPACE));
        for n in 0..self.nodes {
            double.put("nodes", objects::node(n));
        }
        let repeated = Arc::new(AtomicU64::new(0));
        let (start, cpu) = (Instant::now(), cpu_seconds("self")?);
        let mut process = Process::start(&Start {
            program: &self.program,
            kind: Kind::Plumbline,
            kubeconfig: double.kubeconfig(),
            plugins: &PLUGINS,
            format: "gojson",
            check: None,
            dir,
        })?;
        let last = tokio::select! {
            last = tokio::time::timeout(self.patience, complete(&double, &mut process)) => match last {
                Ok(last) => last?,
                Err(_) => return Err(self.late(&double).into()),
            },
            played = controller::play(double.clone(), self.nodes, self.at_once, Arc::clone(&repeated)) => {
                played?;
                return Err("nobody plays the cluster any more".into());
            }
            () = unreliable(&double, self.chaos) => return Err("nobody disturbs the cluster any more".into()),
        };
        double.clear_faults();
        let seconds = start.elapsed().as_secs_f64();
        // Before this process makes requests of its own.
        let traffic = Traffic::of(&double.requests());
        let kubeconfig = dir.join("reader.kubeconfig");
        std::fs::write(&kubeconfig, double.kubeconfig())?;
        let cluster = Cluster::connect(&ConnectOptions { kubeconfig: Some(kubeconfig), context: None }).await?;
        let archive = process.dir.join(&last.tar_info.name);
        let passed = passed(&cluster, last).await?;
        Ok(Outcome {
            seconds,
            cpu_seconds: process.cpu_seconds()?,
            crowd_cpu_seconds: cpu_seconds("self")? - cpu,
            peak_kib: process.peak_kib()?,
            traffic,
            passed,
            expected: self.nodes * PLUGINS.len(),
            archive_bytes: archive.metadata()?.len(),
            left: left(&double),
            repeated: repeated.load(Ordering::Relaxed),
        })
    }

    fn late(&self, double: &ApiDouble) -> String {
        let text = status_of(double).map(|status| serde_json::to_string(&status).unwrap_or_default());
        let text: String = text.unwrap_or_default().chars().take(2000).collect();
        format!("the run was not complete after {} s; its status: {text}", self.patience.as_secs())
    }
}

/// Disturbs the API server until dropped, if a seed is given.
async fn unreliable(double: &ApiDouble, chaos: Option<u64>) {
    match chaos {
        Some(seed) => chaos::play(double, seed).await,
        None => std::future::pending().await,
    }
}

async fn complete(double: &ApiDouble, process: &mut Process) -> Result<RunStatus> {
    loop {
        process.alive()?;
        if let Some(status) = status_of(double) {
            match status.status {
                RunPhase::Complete => return Ok(status),
                RunPhase::Failed => {
                    let reason = status.failure.map(|failure| failure.reason).unwrap_or_default();
                    return Err(process.explain(&format!("the run has failed: {reason}")).into());
                }
                _ => {}
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns the status on the aggregator's pod.
fn status_of(double: &ApiDouble) -> Option<RunStatus> {
    let pod = double.get("pods", names::DEFAULT_NAMESPACE, names::AGGREGATOR_POD)?;
    let text = pod.pointer("/metadata/annotations")?.get(names::STATUS_ANNOTATION)?.as_str()?;
    serde_json::from_str(text).ok()
}

fn left(double: &ApiDouble) -> usize {
    let of_plugin = |object: &Value| {
        let role = object.pointer("/metadata/labels").and_then(|labels| labels.get(names::ROLE_LABEL));
        role.and_then(Value::as_str) == Some(names::PLUGIN)
    };
    ["daemonsets", "pods", "secrets"].iter().flat_map(|resource| double.list(resource)).filter(of_plugin).count()
}
