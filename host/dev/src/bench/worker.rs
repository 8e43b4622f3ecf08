//! Measures the memory of waiting workers. Several processes of the program run at once, as on a
//! node. They talk to a real receiving end of an aggregator, in a pod of a simulated cluster.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use plumbline_aggregator::State;
use plumbline_core::ResultKey;
use plumbline_dev::proc::rollup_kib;
use plumbline_dev::{ApiDouble, Kind, Result};
use plumbline_kubernetes::names;
use rustls::ServerConfig;
use rustls::crypto::ring;
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::bench::receiver::{Receiver, authority, chain_and_key};
use crate::bench::tools::{plumbline, print_table};

/// How long the worker may take to send its hello.
const HELLO: Duration = Duration::from_secs(20);
/// How long to wait after that, until the work of its start is over.
const SETTLE: Duration = Duration::from_secs(3);
const POD: &str = "bench-1";
/// Number of concurrent workers. Their plugins are on one node, and they share the pages of one
/// program. A node has one worker for each plugin of a run that needs one.
const WORKERS: usize = 4;

/// Measures workers of `program`, and of Sonobuoy if it is given.
pub(crate) fn measure(program: Option<&Path>, sonobuoy: Option<&Path>) -> Result<()> {
    let Some(program) = plumbline("memory of a worker", program)? else { return Ok(()) };
    let runtime = Runtime::new()?;
    let alone = runtime.block_on(waiting(&program, Kind::Plumbline, false))?;
    let in_pod = runtime.block_on(waiting(&program, Kind::Plumbline, true))?;
    let row = |what: &str, memory: &Memory| {
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        [what.to_owned(), mib(memory.resident), mib(memory.share), mib(memory.own)]
    };
    let mut rows = vec![
        row("`plumbline worker single-node`, after its hello", &alone),
        row("the same in a pod that it watches", &in_pod),
    ];
    if let Some(sonobuoy) = sonobuoy {
        let theirs = runtime.block_on(waiting(sonobuoy, Kind::Sonobuoy, false))?;
        rows.push(row("`sonobuoy worker single-node`", &theirs));
    }
    let share = format!("its share, of {WORKERS} on a node");
    let header = ["what", "resident", share.as_str(), "of which its own"];
    print_table("Memory of a worker that waits", header, &rows);
    Ok(())
}

/// Memory of one worker in KiB, on average.
#[derive(Default)]
struct Memory {
    /// All mapped pages (Rss).
    resident: u64,
    /// The same, with shared pages divided among the workers that map them (Pss).
    share: u64,
    /// Private pages that it has written (Private_Dirty).
    own: u64,
}

impl Memory {
    fn of(workers: &[Worker]) -> Result<Self> {
        let mut sum = Self::default();
        for worker in workers {
            let pid = worker.0.id().to_string();
            sum.resident += rollup_kib(&pid, "Rss")?;
            sum.share += rollup_kib(&pid, "Pss")?;
            sum.own += rollup_kib(&pid, "Private_Dirty")?;
        }
        let n = workers.len().max(1) as u64;
        Ok(Self { resident: sum.resident / n, share: sum.share / n, own: sum.own / n })
    }
}

/// Returns the variables of a worker, as its pod sets them.
fn environment(receiver: &Receiver) -> [(&'static str, String); 7] {
    let config = &receiver.config;
    [
        ("AGGREGATOR_URL", config.aggregator_url.clone()),
        ("CA_CERT", config.ca_cert.clone()),
        ("CLIENT_CERT", config.client_cert.clone()),
        ("CLIENT_KEY", config.client_key.clone()),
        ("RESULT_TYPE", "bench".to_owned()),
        ("SONOBUOY_RESULTS_DIR", receiver.dir.path().to_string_lossy().into_owned()),
        ("SONOBUOY_PROGRESS_PORT", "0".to_owned()),
    ]
}

/// A worker, which is stopped when this is dropped.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn waiting(program: &Path, kind: Kind, in_pod: bool) -> Result<Memory> {
    let receiving = Receiver::start(WORKERS).await?;
    let double = ApiDouble::start().await?;
    let kubeconfig = tls_front(&double, receiving.dir.path()).await?;
    double.put("pods", pod());
    let mut workers = Vec::new();
    for key in &receiving.keys {
        let mut command = Command::new(program);
        command.env_clear().envs(environment(&receiving)).env("NODE_NAME", key.node.as_str());
        command.stdout(Stdio::null()).stderr(Stdio::null()).args(["worker", "single-node", "--sleep=-1"]);
        if in_pod {
            command.arg("--kubeconfig").arg(&kubeconfig);
            command.env("SONOBUOY_NS", names::DEFAULT_NAMESPACE).env("SONOBUOY_PLUGIN_POD", POD);
            command.env("SONOBUOY_WORKER_CONTAINER", names::WORKER_CONTAINER);
        }
        workers.push(Worker(command.spawn()?));
    }
    // Sonobuoy's worker sends nothing before its result.
    for key in receiving.keys.iter().filter(|_| kind == Kind::Plumbline) {
        heard(&receiving.state, key).await?;
    }
    if in_pod {
        let watched = |path: &str| path.contains("/pods");
        double.requested(|requests| requests.iter().filter(|request| watched(&request.path)).count() >= WORKERS).await;
    }
    tokio::time::sleep(SETTLE).await;
    let memory = Memory::of(&workers)?;
    drop(workers);
    receiving.server.stop().await;
    Ok(memory)
}

/// Returns the pod of the worker, whose plugin runs.
fn pod() -> serde_json::Value {
    let running = |name: &str| json!({"name": name, "image": "x", "imageID": "", "ready": true, "restartCount": 0, "state": {"running": {}}});
    json!({
        "metadata": {"name": POD, "namespace": names::DEFAULT_NAMESPACE},
        "spec": {"nodeName": "node-0", "containers": [{"name": "plugin", "image": "x"}, {"name": names::WORKER_CONTAINER, "image": "x"}]},
        "status": {"phase": "Running", "containerStatuses": [running("plugin"), running(names::WORKER_CONTAINER)]},
    })
}

async fn heard(state: &State, key: &ResultKey) -> Result<()> {
    let mut changes = state.changes();
    let deadline = Instant::now() + HELLO;
    while state.read(|ledger| ledger.last_heard(key).is_none()) {
        if Instant::now() > deadline {
            return Err("the worker did not say hello".into());
        }
        // Wait for a change, or for the next check of the clock.
        let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
    }
    Ok(())
}

/// Listens with TLS in front of an API double, so that a client behaves as with a real server:
/// certificates, sessions, a token. Writes a kubeconfig to `dir`, and serves as long as the runtime
/// lives.
async fn tls_front(double: &ApiDouble, dir: &Path) -> Result<PathBuf> {
    let (ca, server, _) = authority()?;
    let (chain, key) = chain_and_key(&server)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let behind: SocketAddr = double.url().trim_start_matches("http://").parse()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), behind));

    let authority = serde_json::to_value(ByteString(ca.certificate_pem().as_bytes().to_vec()))?;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "front",
        "clusters": [{"name": "front", "cluster": {"server": format!("https://{address}"), "certificate-authority-data": authority}}],
        "users": [{"name": "front", "user": {"token": "not-looked-at"}}],
        "contexts": [{"name": "front", "context": {"cluster": "front", "user": "front"}}],
    });
    let path = dir.join("kubeconfig");
    fs::write(&path, kubeconfig.to_string())?;
    Ok(path)
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, behind: SocketAddr) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(mut tls) = acceptor.accept(stream).await else { return };
            let Ok(mut plain) = TcpStream::connect(behind).await else { return };
            // Both ends notice an error.
            let _ = copy_bidirectional(&mut tls, &mut plain).await;
        });
    }
}
