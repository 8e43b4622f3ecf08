//! Memory of a worker that waits: the program itself, beside a real aggregator.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plumbline_aggregator::journal::Journal;
use plumbline_aggregator::{Server, State, Store};
use plumbline_bench::proc::status_kib;
use plumbline_core::ledger::{Event, Ledger};
use plumbline_core::{PluginName, ReceiveLimits, ResultKey, RunId};
use plumbline_phonehome::{RunCa, server_config};
use tokio::runtime::Runtime;

use crate::{Result, table};

/// How long the worker may take to say hello.
const HELLO: Duration = Duration::from_secs(20);

pub(crate) fn measure() -> Result<()> {
    let program = std::env::current_exe()?.with_file_name("plumbline");
    if !program.is_file() {
        println!("\nskipped: memory of a worker: there is no `{}`; build it first", program.display());
        return Ok(());
    }
    let rss = Runtime::new()?.block_on(waiting(program))?;
    let rows = [["`plumbline worker global`, after its hello".to_owned(), format!("{:.1} MiB", rss as f64 / 1024.0)]];
    table::print("Resident memory of a worker that waits", ["what", "memory"], &rows);
    Ok(())
}

async fn waiting(program: PathBuf) -> Result<u64> {
    let dir = tempfile::tempdir()?;
    let plugin: PluginName = "bench".parse()?;
    let key = ResultKey::global(plugin.clone());
    let ca = RunCa::generate(&RunId::random(), RunCa::validity_for(None), Timestamp::now())?;
    let certificate = ca.issue_server(&["127.0.0.1".to_owned()])?;
    let client = ca.issue_client(&plugin)?;
    let (journal, _) = Journal::open(&dir.path().join("journal"))?;
    let (state, mut effects) = State::new(Ledger::replay([])?, journal);
    tokio::spawn(async move { while effects.recv().await.is_some() {} });
    state.apply_durable(Event::Planned { plugin, keys: vec![key.clone()] }).await?;
    let limits = ReceiveLimits::default();
    let store = Store::create(dir.path().join("incoming"), dir.path().join("tree"), &limits)?;
    let tls = Arc::new(server_config(&ca, &certificate)?);
    let server = Server::start("127.0.0.1:0".parse()?, tls, state.clone(), store, limits).await?;
    let mut worker = Command::new(program)
        .args(["worker", "global"])
        .env_clear()
        .env("AGGREGATOR_URL", format!("https://{}", server.address()))
        .env("CA_CERT", ca.certificate_pem())
        .env("CLIENT_CERT", client.certificate_pem)
        .env("CLIENT_KEY", client.key_pem)
        .env("NODE_NAME", "global")
        .env("RESULT_TYPE", "bench")
        .env("SONOBUOY_RESULTS_DIR", dir.path())
        .env("SONOBUOY_PROGRESS_PORT", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let measured = heard(&state, &key).await.and_then(|()| status_kib(&worker.id().to_string(), "VmRSS"));
    worker.kill()?;
    worker.wait()?;
    server.stop().await;
    measured
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
