//! Measures 5,000 nodes with two plugins in a simulated cluster ([`plumbline_dev::simulation`]) and
//! with a real API server ([`plumbline_dev::scale`]), and Plumbline's aggregator next to Sonobuoy's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plumbline_dev::scale::{self, ApiServer, Counted, KUBELET, KUBELET_PORT, Scale};
use plumbline_dev::simulation::{self, Simulation};
use plumbline_dev::{Kind, Result};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::bench::tools::{mib, percentile, plumbline, print_table, print_values};

/// Options of the benchmarks with a cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterOptions {
    /// Number of nodes (`cluster`, `scale`)
    #[arg(long, default_value_t = 5_000)]
    pub(crate) nodes: usize,
    /// Directory of a plugin with a check, which runs on each node in place of two plugins (`scale`)
    #[arg(long, value_name = "DIR")]
    check: Option<PathBuf>,
    /// Directory for the files of the run, such as the aggregator's log (`cluster`, `scale`)
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) keep: Option<PathBuf>,
    /// Kubeconfig of the cluster for `scale`, `sonobuoy` and `downloads`. It is modified, and must
    /// have no nodes of its own, except for `downloads`
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Path of kwok, which simulates the nodes of that cluster
    #[arg(long, value_name = "FILE")]
    kwok: Option<PathBuf>,
    /// Certificate that the API server trusts as a kubelet's; its key is in FILE.key
    #[arg(long, value_name = "FILE.crt")]
    kubelet_certificate: Option<PathBuf>,
    /// Path of Sonobuoy, to compare with (`sonobuoy`, `worker`, `downloads`)
    #[arg(long, value_name = "FILE")]
    pub(crate) sonobuoy: Option<PathBuf>,
    /// Path of the program that post-processes results with Sonobuoy's library (`sonobuoy`)
    #[arg(long, value_name = "FILE")]
    pub(crate) postprocess: Option<PathBuf>,
    /// Image with Plumbline and `plumbline-dev`, which the nodes have (`downloads`)
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<String>,
    /// Program to measure, such as the static one of the image (`worker`, `scale`, `sonobuoy`,
    /// `downloads`; default: the one next to this program)
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
}

/// Number of concurrent workers.
const AT_ONCE: usize = 200;
/// Timeout of one run: many times the expected duration.
const PATIENCE: Duration = Duration::from_secs(1800);

pub(crate) fn simulated(args: &ClusterOptions) -> Result<()> {
    let Some(program) = plumbline("a simulated cluster", None)? else { return Ok(()) };
    let (dir, nodes) = (tempfile::tempdir()?, args.nodes);
    let simulation = Simulation { program, nodes, at_once: AT_ONCE, patience: PATIENCE, chaos: None };
    let outcome = Runtime::new()?.block_on(simulation.run(args.keep.as_deref().unwrap_or(dir.path())))?;
    print_simulated(nodes, &outcome);
    all_passed(outcome.passed, outcome.expected)?;
    match outcome.left {
        0 => Ok(()),
        left => Err(format!("{left} objects of plugins were left behind").into()),
    }
}

fn all_passed(passed: usize, expected: usize) -> Result<()> {
    match passed == expected {
        true => Ok(()),
        false => Err(format!("{passed} of {expected} results are in and passed").into()),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.1} s")
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

fn print_simulated(nodes: usize, outcome: &simulation::Outcome) {
    let traffic = &outcome.traffic;
    let values = [
        ("results that arrived and passed", format!("{} of {}", outcome.passed, outcome.expected)),
        ("from the start of the process to `complete`", seconds(outcome.seconds)),
        ("processor time of the aggregator", seconds(outcome.cpu_seconds)),
        ("processor time of everybody else", seconds(outcome.crowd_cpu_seconds)),
        ("peak memory of the aggregator", mib(outcome.peak_kib as f64)),
        ("signs of life that were sent again", outcome.repeated.to_string()),
        ("largest status, under each of two keys", kib(traffic.status_bytes as u64)),
        ("all annotations of the aggregator's pod, at most", kib(traffic.annotation_bytes as u64)),
        ("writes of the status", traffic.status_writes.to_string()),
        ("status in full, in its ConfigMap", kib(traffic.full_bytes as u64)),
        ("archive", kib(outcome.archive_bytes)),
        ("requests to the API server", traffic.total().to_string()),
        ("requests that were answered with an error", traffic.refused.to_string()),
    ];
    print_values(&format!("{nodes} nodes × 2 plugins, against an API server that is played"), &values);
    let rows: Vec<_> = traffic.requests.iter().map(|(request, count)| [request.clone(), count.to_string()]).collect();
    print_table("Requests to the API server", ["request", "how often"], &rows);
}

/// The log of every container, in the format of a node.
const LOG: &str = "2026-01-01T00:00:00.000000000Z stdout F what a plugin says\n";

/// A running kwok, which is stopped when this is dropped.
struct Kwok {
    child: Child,
    _dir: TempDir,
}

impl Kwok {
    fn start(program: &Path, kubeconfig: &Path, certificate: Option<&Path>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let (log, config) = (dir.path().join("log"), dir.path().join("config.yaml"));
        fs::write(&log, LOG)?;
        let logs = json!({"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterLogs", "metadata": {"name": "all"},
            "spec": {"logs": [{"logsFile": log}]}});
        fs::write(&config, logs.to_string())?;
        let mut command = Command::new(program);
        if let Some(certificate) = certificate {
            command.arg("--tls-cert-file").arg(certificate);
            command.arg("--tls-private-key-file").arg(certificate.with_extension("key"));
        }
        let child = command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--config")
            .arg(&config)
            .arg("--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake")
            .args(["--cidr=10.128.0.1/9", "--node-lease-duration-seconds=3600", "--v=1"])
            .arg(format!("--server-address={KUBELET}:{KUBELET_PORT}"))
            .arg(format!("--node-port={KUBELET_PORT}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { child, _dir: dir })
    }
}

impl Drop for Kwok {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The prerequisites of a run with a real API server.
struct Prerequisites {
    server: ApiServer,
    program: PathBuf,
    _kwok: Kwok,
}

impl Prerequisites {
    /// Sets up the prerequisites. Returns `None` if something is missing, and prints what it is on
    /// stdout.
    fn of(args: &ClusterOptions, what: &str, runtime: &Runtime) -> Result<Option<Self>> {
        let (Some(kubeconfig), Some(kwok)) = (&args.kubeconfig, &args.kwok) else {
            println!("\nskipped: {what}: it needs `--kubeconfig FILE` and `--kwok FILE`");
            return Ok(None);
        };
        let Some(program) = plumbline(what, args.program.as_deref())? else { return Ok(None) };
        let server = runtime.block_on(ApiServer::connect(kubeconfig))?;
        let kwok = Kwok::start(kwok, kubeconfig, args.kubelet_certificate.as_deref())?;
        Ok(Some(Self { server, program, _kwok: kwok }))
    }
}

/// Measures 5,000 nodes with two plugins.
pub(crate) fn scale(args: &ClusterOptions) -> Result<()> {
    let runtime = Runtime::new()?;
    let Some(ground) = Prerequisites::of(args, "a large cluster with a real API server", &runtime)? else {
        return Ok(());
    };
    let dir = tempfile::tempdir()?;
    let scale = Scale {
        program: ground.program.clone(),
        kind: Kind::Plumbline,
        plugins: if args.check.is_some() { 1 } else { 2 },
        check: args.check.clone(),
        nodes: args.nodes,
        bytes: None,
        at_once: AT_ONCE,
        together: false,
        slow: false,
        patience: PATIENCE,
    };
    let (without, outcome) = runtime.block_on(async {
        let server = &ground.server;
        server.nodes(args.nodes).await?;
        let without = server.without_aggregator(scale.plugins, scale.nodes).await?;
        let outcome = scale.run(server, args.keep.as_deref().unwrap_or(dir.path())).await?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((without, outcome))
    })?;
    print_real(&scale, without, &outcome);
    all_passed(outcome.passed, scale.plugins * scale.nodes)
}

fn print_real(scale: &Scale, without: f64, outcome: &scale::Outcome) {
    let total = |count: fn(&Counted) -> u64| outcome.requests.values().map(count).sum::<u64>().to_string();
    let mut values = vec![
        ("results that arrived and passed", format!("{} of {}", outcome.passed, scale.plugins * scale.nodes)),
        ("from the start of the process to `complete`", seconds(outcome.complete)),
        ("processor time of the aggregator", seconds(outcome.cpu_seconds)),
        ("peak memory of the aggregator", mib(outcome.peak_kib as f64)),
        ("processor time of the API server", seconds(outcome.server_cpu_seconds)),
        ("the same pods without an aggregator", seconds(without)),
        ("status in the annotation", kib(outcome.sizes.status as u64)),
        ("all annotations of the aggregator's pod", kib(outcome.sizes.annotations as u64)),
        ("full status in its ConfigMap, compressed", kib(outcome.sizes.full as u64)),
        ("requests to the API server", total(|counted| counted.requests)),
        ("requests that were refused", total(|counted| counted.refused)),
    ];
    if scale.check.is_some() {
        let read = outcome.check;
        values.push(("from the first pod that runs to the last result", seconds(outcome.uploading)));
        values.push(("requests of kubelets for the check", read.requests.to_string()));
        values.push(("bytes that they read", format!("{:.2} GB", read.bytes as f64 / 1e9)));
    }
    print_values(&format!("{} nodes × {} plugins, with a real API server", scale.nodes, scale.plugins), &values);
    let row = |(kind, counted): (&String, &Counted)| {
        let Counted { requests, refused, sent, received } = *counted;
        [kind.clone(), requests.to_string(), refused.to_string(), kib(sent), kib(received)]
    };
    let rows: Vec<_> = outcome.requests.iter().map(row).collect();
    print_table("Requests to the API server", ["request", "how often", "refused", "sent", "received"], &rows);
}

/// Measures 500 results of 256 KiB and 30 of 20 MiB, to Plumbline's aggregator and to Sonobuoy's
/// alternately.
pub(crate) fn sonobuoy(args: &ClusterOptions) -> Result<()> {
    let runtime = Runtime::new()?;
    let what = "uploads into our aggregator and into Sonobuoy's";
    let Some(ground) = Prerequisites::of(args, what, &runtime)? else { return Ok(()) };
    let Some(theirs) = &args.sonobuoy else {
        println!("\nskipped: {what}: it needs `--sonobuoy FILE`");
        return Ok(());
    };
    let mut rows = Vec::new();
    for (nodes, bytes, slow) in
        [(30, 20 << 20, false), (30, 20 << 20, true), (500, 256 << 10, false), (500, 256 << 10, true)]
    {
        runtime.block_on(ground.server.nodes(nodes))?;
        for (name, program, kind) in
            [("Plumbline", &ground.program, Kind::Plumbline), ("Sonobuoy", theirs, Kind::Sonobuoy)]
        {
            let dir = tempfile::tempdir()?;
            let scale = Scale {
                program: program.clone(),
                kind,
                plugins: 1,
                check: None,
                nodes,
                bytes: Some(bytes),
                at_once: AT_ONCE,
                together: true,
                slow,
                patience: PATIENCE,
            };
            let outcome = runtime.block_on(scale.run(&ground.server, dir.path()))?;
            let note = if slow { ", with a client at 10 kB/s" } else { "" };
            eprintln!("{name}, {nodes} × {} KiB: {:.1} s", bytes >> 10, outcome.uploading);
            rows.push([
                format!("{nodes} × {} KiB{note}", bytes >> 10),
                name.to_owned(),
                format!("{:.2} s", percentile(&outcome.uploads, 50.0)),
                format!("{:.2} s", percentile(&outcome.uploads, 99.0)),
                seconds(outcome.uploading),
                seconds(outcome.complete),
                mib(outcome.peak_kib as f64),
                seconds(outcome.cpu_seconds),
            ]);
        }
    }
    let heads = ["results", "aggregator", "p50", "p99", "all uploads", "complete", "peak memory", "processor time"];
    print_table("Uploads into both aggregators, clients included", heads, &rows);
    Ok(())
}
