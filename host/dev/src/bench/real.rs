//! Measures runs with a real API server: 5,000 nodes, and Plumbline's aggregator next to
//! Sonobuoy's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plumbline_dev::Kind;
use plumbline_dev::Result;
use plumbline_dev::scale::{ApiServer, KUBELET, KUBELET_PORT, Outcome, Scale};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::bench::program::plumbline;
use crate::bench::stats::percentile;
use crate::bench::table;

/// Options of the benchmarks with a cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterOptions {
    /// Number of nodes (`cluster`, `scale`)
    #[arg(long, default_value_t = 5_000)]
    pub(crate) nodes: usize,
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

/// Timeout of one run: many times the expected duration.
const PATIENCE: Duration = Duration::from_secs(1800);
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
        plugins: 2,
        nodes: args.nodes,
        bytes: None,
        at_once: 200,
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
    print(&scale, without, &outcome);
    match outcome.passed == scale.plugins * scale.nodes {
        true => Ok(()),
        false => Err(format!("{} of {} results are in and passed", outcome.passed, scale.plugins * scale.nodes).into()),
    }
}

fn print(scale: &Scale, without: f64, outcome: &Outcome) {
    let row = |what: &str, value: String| [what.to_owned(), value];
    let kib = |bytes: u64| format!("{} KiB", bytes.div_ceil(1024));
    let rows = [
        row("results that arrived and passed", format!("{} of {}", outcome.passed, scale.plugins * scale.nodes)),
        row("from the start of the process to `complete`", format!("{:.1} s", outcome.complete)),
        row("processor time of the aggregator", format!("{:.1} s", outcome.cpu_seconds)),
        row("peak memory of the aggregator", mib(outcome)),
        row("processor time of the API server", format!("{:.1} s", outcome.server_cpu_seconds)),
        row("the same pods without an aggregator", format!("{without:.1} s")),
        row("status in the annotation", kib(outcome.sizes.status as u64)),
        row("all annotations of the aggregator's pod", kib(outcome.sizes.annotations as u64)),
        row("full status in its ConfigMap, compressed", kib(outcome.sizes.full as u64)),
        row("requests to the API server", outcome.requests.values().map(|c| c.requests).sum::<u64>().to_string()),
        row("requests that were refused", outcome.requests.values().map(|c| c.refused).sum::<u64>().to_string()),
    ];
    let title = format!("{} nodes × {} plugins, with a real API server", scale.nodes, scale.plugins);
    table::print(&title, ["what", "value"], &rows);
    let row = |(kind, counted): (&String, &plumbline_dev::scale::Counted)| {
        [
            kind.clone(),
            counted.requests.to_string(),
            counted.refused.to_string(),
            kib(counted.sent),
            kib(counted.received),
        ]
    };
    let rows: Vec<_> = outcome.requests.iter().map(row).collect();
    table::print("Requests to the API server", ["request", "how often", "refused", "sent", "received"], &rows);
}

fn mib(outcome: &Outcome) -> String {
    format!("{:.0} MiB", outcome.peak_kib as f64 / 1024.0)
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
                nodes,
                bytes: Some(bytes),
                at_once: 200,
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
                format!("{:.1} s", outcome.uploading),
                format!("{:.1} s", outcome.complete),
                mib(&outcome),
                format!("{:.1} s", outcome.cpu_seconds),
            ]);
        }
    }
    let heads = ["results", "aggregator", "p50", "p99", "all uploads", "complete", "peak memory", "processor time"];
    table::print("Uploads into both aggregators, clients included", heads, &rows);
    Ok(())
}
