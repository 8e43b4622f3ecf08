//! Memory of a worker that waits: the program itself, beside a real aggregator's receiving end, and in a pod of a cluster that is played.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plumbline_aggregator::journal::Journal;
use plumbline_aggregator::{Server, State, Store};
use plumbline_apidouble::ApiDouble;
use plumbline_bench::proc::status_kib;
use plumbline_core::ledger::{Event, Ledger};
use plumbline_core::{PluginName, ReceiveLimits, ResultKey, RunId};
use plumbline_kubernetes::names;
use plumbline_phonehome::{RunCa, server_config};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{Result, table, tls_front};

/// How long the worker may take to say hello.
const HELLO: Duration = Duration::from_secs(20);
/// How long it waits then, for what it does at its start to be over.
const SETTLE: Duration = Duration::from_secs(3);
/// The pod of the worker.
const POD: &str = "bench-1";
/// The node of the worker.
const NODE: &str = "node-1";

pub(crate) fn measure() -> Result<()> {
    let program = std::env::current_exe()?.with_file_name("plumbline");
    if !program.is_file() {
        println!("\nskipped: memory of a worker: there is no `{}`; build it first", program.display());
        return Ok(());
    }
    let runtime = Runtime::new()?;
    let alone = runtime.block_on(waiting(&program, false))?;
    let in_pod = runtime.block_on(waiting(&program, true))?;
    let row = |what: &str, memory: &Memory| {
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        [what.to_owned(), mib(memory.resident), mib(memory.anonymous), mib(memory.file)]
    };
    let rows = [
        row("`plumbline worker global`, after its hello", &alone),
        row("`plumbline worker single-node`, in a pod that it watches", &in_pod),
    ];
    let header = ["what", "resident", "of which its own", "of which pages of the program"];
    table::print("Resident memory of a worker that waits", header, &rows);
    Ok(())
}

/// KiB.
struct Memory {
    resident: u64,
    anonymous: u64,
    file: u64,
}

/// An aggregator that accepts one result.
struct Receiving {
    dir: TempDir,
    state: State,
    server: Server,
    key: ResultKey,
    environment: Vec<(&'static str, String)>,
}

async fn receiving() -> Result<Receiving> {
    let dir = tempfile::tempdir()?;
    let plugin: PluginName = "bench".parse()?;
    let key = ResultKey::new(plugin.clone(), NODE.parse()?);
    let ca = RunCa::generate(&RunId::random(), RunCa::validity_for(None), Timestamp::now())?;
    let certificate = ca.issue_server(&["127.0.0.1".to_owned()])?;
    let client = ca.issue_client(&plugin)?;
    let (journal, _) = Journal::open(&dir.path().join("journal"))?;
    let (state, mut effects) = State::new(Ledger::replay([])?, journal);
    tokio::spawn(async move { while effects.recv().await.is_some() {} });
    let global = ResultKey::global(plugin.clone());
    state.apply_durable(Event::Planned { plugin, keys: vec![key.clone(), global] }).await?;
    let limits = ReceiveLimits::default();
    let store = Store::create(dir.path().join("incoming"), dir.path().join("tree"), &limits)?;
    let tls = Arc::new(server_config(&ca, &certificate)?);
    let server = Server::start("127.0.0.1:0".parse()?, tls, state.clone(), store, limits).await?;
    let environment = vec![
        ("AGGREGATOR_URL", format!("https://{}", server.address())),
        ("CA_CERT", ca.certificate_pem().to_owned()),
        ("CLIENT_CERT", client.certificate_pem),
        ("CLIENT_KEY", client.key_pem),
        ("NODE_NAME", NODE.to_owned()),
        ("RESULT_TYPE", "bench".to_owned()),
        ("SONOBUOY_RESULTS_DIR", dir.path().to_string_lossy().into_owned()),
        ("SONOBUOY_PROGRESS_PORT", "0".to_owned()),
    ];
    Ok(Receiving { dir, state, server, key, environment })
}

/// A worker, which ends when this is dropped.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn waiting(program: &Path, in_pod: bool) -> Result<Memory> {
    let receiving = receiving().await?;
    let mut command = Command::new(program);
    command.env_clear().envs(receiving.environment.clone()).stdout(Stdio::null()).stderr(Stdio::null());
    let double = ApiDouble::start().await?;
    let key = if in_pod {
        let kubeconfig: PathBuf = tls_front::start(&double, receiving.dir.path()).await?;
        double.put("pods", pod());
        command.args(["worker", "single-node", "--sleep=-1", "--kubeconfig"]).arg(kubeconfig);
        command.env("SONOBUOY_NS", names::DEFAULT_NAMESPACE).env("SONOBUOY_PLUGIN_POD", POD);
        command.env("SONOBUOY_WORKER_CONTAINER", names::WORKER_CONTAINER);
        receiving.key.clone()
    } else {
        command.args(["worker", "global"]).env("NODE_NAME", "global");
        ResultKey::global(receiving.key.plugin.clone())
    };
    let worker = Worker(command.spawn()?);
    heard(&receiving.state, &key).await?;
    if in_pod {
        double.requested(|requests| requests.iter().any(|request| request.path.contains("/pods"))).await;
    }
    tokio::time::sleep(SETTLE).await;
    let pid = worker.0.id().to_string();
    let kib = |key| status_kib(&pid, key);
    let memory = Memory { resident: kib("VmRSS")?, anonymous: kib("RssAnon")?, file: kib("RssFile")? };
    drop(worker);
    receiving.server.stop().await;
    Ok(memory)
}

/// The pod of the worker: its plugin runs.
fn pod() -> serde_json::Value {
    let running = |name: &str| json!({"name": name, "image": "x", "imageID": "", "ready": true, "restartCount": 0, "state": {"running": {}}});
    json!({
        "metadata": {"name": POD, "namespace": names::DEFAULT_NAMESPACE},
        "spec": {"nodeName": NODE, "containers": [{"name": "plugin", "image": "x"}, {"name": names::WORKER_CONTAINER, "image": "x"}]},
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
        // A change, or time to look at the clock.
        let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
    }
    Ok(())
}
