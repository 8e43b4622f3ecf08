//! Measures 500 uploads: sequentially, all at once, and all at once next to a client that sends 10
//! kB/s.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use plumbline_aggregator::journal::Journal;
use plumbline_aggregator::{Server, State, Store};
use plumbline_core::ledger::{Event, Ledger};
use plumbline_core::{NodeName, PluginName, ReceiveLimits, ResultKey, RunId};
use plumbline_phonehome::{
    Client, ClientConfig, Issued, RetryPolicy, RunCa, Source, Upload, client_config, server_config,
};
use rustls::pki_types::ServerName;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::stats::{median, percentile};
use plumbline_bench::Result;

use crate::table;

/// Number of uploads in one measurement.
const UPLOADS: usize = 500;
/// Size of each upload in bytes.
const BYTES: usize = 256 << 10;
/// Number of bytes that the slow client sends ten times a second: 10 kB/s.
const SLOW_PIECE: usize = 1_000;

/// The receiving end of an aggregator, with everything that it needs.
struct Receiving {
    server: Server,
    config: ClientConfig,
    keys: Vec<ResultKey>,
    slow: ResultKey,
    _dir: TempDir,
}

/// Creates the CA of a run, and certificates of the aggregator and the workers.
pub(crate) fn authority(plugin: &PluginName) -> Result<(RunCa, Issued, Issued)> {
    let ca = RunCa::generate(&RunId::random(), RunCa::validity_for(None), Timestamp::now())?;
    let server = ca.issue_server(&["127.0.0.1".to_owned()])?;
    let client = ca.issue_client(plugin)?;
    Ok((ca, server, client))
}

async fn receiving() -> Result<Receiving> {
    let dir = tempfile::tempdir()?;
    let plugin: PluginName = "bench".parse()?;
    let (ca, server, client) = authority(&plugin)?;
    let node = |n: usize| -> Result<ResultKey> {
        Ok(ResultKey::new(plugin.clone(), format!("node-{n:04}").parse::<NodeName>()?))
    };
    let keys = (0..UPLOADS).map(node).collect::<Result<Vec<_>>>()?;
    let slow = node(UPLOADS)?;
    let (journal, _) = Journal::open(&dir.path().join("journal"))?;
    let (state, mut effects) = State::new(Ledger::replay([])?, journal);
    // No effects are executed here.
    tokio::spawn(async move { while effects.recv().await.is_some() {} });
    let all = keys.iter().cloned().chain([slow.clone()]).collect();
    state.apply_durable(Event::Planned { plugin: plugin.clone(), keys: all }).await?;
    let limits = ReceiveLimits::default();
    let store = Store::create(
        &plumbline_archive::disk::Disk::default(),
        dir.path().join("incoming"),
        dir.path().join("tree"),
        &limits,
    )?;
    let tls = Arc::new(server_config(&ca, &server)?);
    let server = Server::start("127.0.0.1:0".parse()?, tls, state, store, limits).await?;
    let config = ClientConfig {
        aggregator_url: format!("https://{}", server.address()),
        ca_cert: ca.certificate_pem().to_owned(),
        client_cert: client.certificate_pem,
        client_key: client.key_pem,
    };
    Ok(Receiving { server, config, keys, slow, _dir: dir })
}

/// Returns the time of one upload in seconds, from its connection to the response.
async fn upload(config: Arc<ClientConfig>, key: ResultKey, body: Bytes) -> Result<f64> {
    let start = Instant::now();
    let client = Client::new(&config)?;
    let upload = Upload::result(Source::Bytes(body), "application/octet-stream", Some("result.bin".into()));
    client.put_result(&key, &upload, &RetryPolicy::never()).await?;
    Ok(start.elapsed().as_secs_f64())
}

/// Sends a body at 10 kB/s until it is aborted.
async fn crawl(config: Arc<ClientConfig>, key: ResultKey) -> Result<()> {
    let tls = client_config(&config.ca_cert, &config.client_cert, &config.client_key)?;
    let address = config.aggregator_url.trim_start_matches("https://").to_owned();
    let stream = TcpStream::connect(&address).await?;
    let mut stream = TlsConnector::from(Arc::new(tls)).connect(ServerName::try_from("127.0.0.1")?, stream).await?;
    let head = format!(
        "PUT /api/v1/results/by-node/{}/{} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        key.node,
        key.plugin,
        1 << 30
    );
    stream.write_all(head.as_bytes()).await?;
    let piece = [0; SLOW_PIECE];
    loop {
        stream.write_all(&piece).await?;
        stream.flush().await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

struct Crowd {
    total: f64,
    each: Vec<f64>,
}

async fn run(at_once: bool, with_slow: bool) -> Result<Crowd> {
    let receiving = receiving().await?;
    let config = Arc::new(receiving.config);
    let slow = with_slow.then(|| tokio::spawn(crawl(Arc::clone(&config), receiving.slow)));
    let body = Bytes::from(vec![b'x'; BYTES]);
    let start = Instant::now();
    let mut each = Vec::with_capacity(UPLOADS);
    if at_once {
        let mut uploads = JoinSet::new();
        for key in receiving.keys {
            uploads.spawn(upload(Arc::clone(&config), key, body.clone()));
        }
        while let Some(done) = uploads.join_next().await {
            each.push(done??);
        }
    } else {
        for key in receiving.keys {
            each.push(upload(Arc::clone(&config), key, body.clone()).await?);
        }
    }
    let total = start.elapsed().as_secs_f64();
    if let Some(slow) = slow {
        if slow.is_finished() {
            return Err("the slow client was turned away".into());
        }
        slow.abort();
        let _ = slow.await;
    }
    receiving.server.stop().await;
    Ok(Crowd { total, each })
}

pub(crate) fn measure(runs: usize) -> Result<()> {
    let runtime = Runtime::new()?;
    let mut measured: [Vec<Crowd>; 3] = Default::default();
    for _ in 0..runs.max(1) {
        for ((at_once, slow), to) in [(false, false), (true, false), (true, true)].into_iter().zip(&mut measured) {
            to.push(runtime.block_on(run(at_once, slow))?);
        }
    }
    let row = |what: &str, runs: &[Crowd]| {
        let of = |value: &dyn Fn(&Crowd) -> f64| median(&runs.iter().map(value).collect::<Vec<_>>());
        [
            what.to_owned(),
            format!("{:.2} s", of(&|crowd| crowd.total)),
            format!("{:.0} ms", of(&|crowd| percentile(&crowd.each, 50.0)) * 1e3),
            format!("{:.0} ms", of(&|crowd| percentile(&crowd.each, 99.0)) * 1e3),
        ]
    };
    let [one, all, beside] = &measured;
    let rows = [
        row("one after the other", one),
        row("all at once", all),
        row("all at once, beside a client at 10 kB/s", beside),
    ];
    let title =
        format!("{UPLOADS} uploads of {} KiB over mutual TLS, clients included (median of {runs})", BYTES >> 10);
    table::print(&title, ["what", "all of them", "p50", "p99"], &rows);
    let p99 = |runs: &[Crowd]| median(&runs.iter().map(|crowd| percentile(&crowd.each, 99.0)).collect::<Vec<_>>());
    println!("\nthe slow client changes the others' p99 by {:+.1} %", (p99(beside) / p99(all) - 1.0) * 100.0);
    Ok(())
}
